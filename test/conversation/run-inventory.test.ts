/** Groups P, Q and W of the inventory, as far as they speak of runs: what was seen of others, tried on the run loop under its own name. */

import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import type { StepInput } from '../../src/conversation/run/step.ts'
import type { Event } from '../../src/event/types.ts'
import { begun, call, gate, logOf, result, says, script, silent, status } from './script.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }

const count = async (conversation: Conversation, line: string): Promise<number> =>
  (await logOf(conversation)).filter((each) => each.startsWith(line)).length

/** A conversation that waits for consent to the given calls. */
async function waiting(...calls: readonly Event[]) {
  const { conversation } = await begun()
  await conversation.setConfirmationPolicy(ALWAYS)
  const { step, asked, executed } = script([calls])
  await conversation.run(step)
  expect(await status(conversation)).toBe('waiting_for_confirmation')
  return { conversation, step, asked, executed }
}

describe('group P: status transitions', () => {
  it('P1 new: idle; during a tool: running; after a text reply: finished', async () => {
    const { conversation } = await begun()
    const seen: string[] = [await status(conversation)]
    const { step } = script([[call('a')]], async function* ({ approved }) {
      seen.push(await status(conversation))
      yield approved.map(result)
    })
    await conversation.run(step)
    expect([...seen, await status(conversation)]).toEqual(['idle', 'running', 'finished'])
  })

  it('P2 pause before run: paused, one PauseEvent of the user; run clears it', async () => {
    const { conversation } = await begun()
    expect((await conversation.pause()).map(({ fact }) => fact)).toMatchObject([
      { kind: 'PauseEvent', source: 'user' },
    ])
    expect(await status(conversation)).toBe('paused')
    expect((await conversation.run(script([]).step)).status).toBe('finished')
  })

  it('P3 three pauses: one PauseEvent', async () => {
    const { conversation } = await begun()
    await Promise.all([conversation.pause(), conversation.pause(), conversation.pause()])
    expect(await count(conversation, 'PauseEvent')).toBe(1)
  })

  it('P4 pause inside a tool call of an agent that goes round and round: the run returns, paused, one PauseEvent', async () => {
    const { conversation } = await begun()
    const replies = Array.from({ length: 50 }, (_, n) => [
      call(`a${n}`, 'work', { llm_response_id: `r${n}` }),
    ])
    const { step, executed } = script(replies, async function* ({ approved }) {
      if (executed.length === 3) await conversation.pause()
      yield approved.map(result)
    })
    expect(await conversation.run(step)).toEqual({ status: 'paused', iterations: 3 })
    expect(await count(conversation, 'PauseEvent')).toBe(1)
  })

  it('P5 AlwaysConfirm: the run waits without an observation; W13 says that only an approval goes on, and then there is one', async () => {
    const { conversation, step } = await waiting(call('a'))
    expect(await count(conversation, 'call')).toBe(1)
    expect(await count(conversation, 'result')).toBe(0)
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await count(conversation, 'result')).toBe(1)
  })

  it('P6 pause before run with AlwaysConfirm: the run waits all the same', async () => {
    const { conversation } = await begun()
    await conversation.setConfirmationPolicy(ALWAYS)
    await conversation.pause()
    expect((await conversation.run(script([[call('a')]]).step)).status).toBe('waiting_for_confirmation')
  })

  it('P7 waiting and rejected: one UserRejectObservation, no observation; the model is told, and nothing is executed', async () => {
    const { conversation, step, executed, asked } = await waiting(call('a'))
    await conversation.reject(undefined, 'x')
    expect(await status(conversation)).toBe('idle')
    expect(await count(conversation, 'user rejects')).toBe(1)
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual([])
    expect(JSON.stringify(asked[1]?.messages)).toContain('Action rejected: x')
  })

  it('P8 waiting and pause: still waiting', async () => {
    const { conversation } = await waiting(call('a'))
    expect(await conversation.pause()).toEqual([])
    expect(await status(conversation)).toBe('waiting_for_confirmation')
  })

  it('P9 AlwaysConfirm and a plain reply: finished, no wait', async () => {
    const { conversation } = await begun()
    await conversation.setConfirmationPolicy(ALWAYS)
    await conversation.run(script([]).step)
    expect(await logOf(conversation)).not.toContain('= waiting_for_confirmation')
    expect(await status(conversation)).toBe('finished')
  })

  it('P10 AlwaysConfirm and a finish alone, or a thought and then a finish: executed', async () => {
    for (const replies of [
      [[call('f', 'finish')]],
      [[call('t', 'think')], [call('f', 'finish', { llm_response_id: 'r2' })]],
    ]) {
      const { conversation } = await begun()
      await conversation.setConfirmationPolicy(ALWAYS)
      const { step, executed } = script(replies)
      expect((await conversation.run(step)).status).toBe('finished')
      expect(executed).toEqual(replies.flat().map(({ id }) => id))
      expect(await count(conversation, 'result')).toBe(replies.length)
    }
    const { conversation, executed } = await waiting(call('a'), call('f', 'finish'))
    expect(await status(conversation)).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
  })

  it('P11 rejecting with nothing pending: no event, no error', async () => {
    const { conversation } = await begun()
    expect(await conversation.reject()).toEqual([])
  })

  it('P12 finished and a message: idle; run: finished again; run on finished: no request', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([])
    await conversation.run(step)
    const before = await logOf(conversation)
    expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 0 })
    expect(await logOf(conversation)).toEqual(before)
    await conversation.sendMessage('more')
    expect(await status(conversation)).toBe('idle')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(asked).toHaveLength(2)
  })

  it('P13 stuck and run: it goes on and finishes when nothing is the matter any more; stuck and a message: idle', async () => {
    for (const then of ['run', 'send'] as const) {
      const { conversation } = await begun()
      const { step } = script([])
      expect((await conversation.run(step, { stuck: () => 'again' })).status).toBe('stuck')
      if (then === 'send') {
        await conversation.sendMessage('more')
        expect(await status(conversation)).toBe('idle')
      }
      expect((await conversation.run(step)).status).toBe('finished')
    }
  })

  it('P14 at most two requests and calls without end: error, one ConversationErrorEvent that says so', async () => {
    const { conversation } = await begun()
    const replies = Array.from({ length: 9 }, (_, n) => [call(`a${n}`, 'work', { llm_response_id: `r${n}` })])
    expect((await conversation.run(script(replies).step, { maxIterations: 2 })).status).toBe('error')
    expect(await count(conversation, 'failed')).toBe(1)
    expect((await conversation.state()).header.error).toMatchObject({ code: 'MaxIterationsReached' })
  })

  it('P15 finishing exactly on the last request: finished, no error event', async () => {
    const { conversation } = await begun()
    const { step } = script([[call('a')], [says('done')]])
    expect((await conversation.run(step, { maxIterations: 2 })).status).toBe('finished')
    expect(await count(conversation, 'failed')).toBe(0)
  })

  it('P17 interrupt while the model is waited for: paused, one InterruptEvent, nothing thrown; three in a row are fine', async () => {
    const { conversation } = await begun()
    const thinking = gate()
    const running = conversation.run(silent(thinking))
    await thinking.reached
    await Promise.all([conversation.interrupt(), conversation.interrupt(), conversation.interrupt()])
    expect(await running).toEqual({ status: 'paused', iterations: 1 })
    expect(await count(conversation, 'InterruptEvent')).toBe(1)
  })

  it('P18 interrupt when the status is running and no run is live: paused', async () => {
    const { conversation } = await begun()
    await conversation.append(call('a'))
    expect(await status(conversation)).toBe('running')
    await conversation.interrupt()
    expect(await status(conversation)).toBe('paused')
  })

  it('P19 interrupt after the end: it stays finished, and nothing is appended', async () => {
    const { conversation } = await begun()
    await conversation.run(script([]).step)
    expect(await conversation.interrupt()).toEqual([])
    expect(await status(conversation)).toBe('finished')
  })

  it('P20 the signal is fresh for each run, and stays aborted after an interrupt', async () => {
    const { conversation } = await begun()
    const signals: AbortSignal[] = []
    const step = async function* ({ signal }: StepInput) {
      signals.push(signal)
      if (signals.length === 1) await conversation.interrupt()
      yield says('done')
    }
    await conversation.run(step)
    await conversation.run(step)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  })

  it('P21 a signal that was aborted before: nothing is executed', async () => {
    const { conversation, step, executed } = await waiting(call('a'), call('b'), call('c'))
    await conversation.approve(['a', 'b', 'c'])
    await conversation.run(step, { signal: AbortSignal.abort() })
    expect(executed).toEqual([])
    expect(await count(conversation, 'result')).toBe(0)
  })

  it('P22 a message that is sent while the finishing step runs is answered by another request of the same run', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([[call('f', 'finish')]], async function* ({ approved }) {
      await conversation.sendMessage('one more thing')
      yield approved.map(result)
    })
    expect((await conversation.run(step)).status).toBe('finished')
    expect(asked).toHaveLength(2)
    expect(JSON.stringify(asked[1]?.messages)).toContain('one more thing')
  })

  it('P23 an empty reply: the loop goes on; one with content: finished', async () => {
    const { conversation } = await begun()
    const { step } = script([[], [says('')], [says('done')]])
    expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 3 })
  })
})

describe('group Q: batches', () => {
  it('Q1 what is kept of work and finish in one reply is what stands before the finish, and the finish', async () => {
    const cases: [string[], string[], boolean][] = [
      [['a', 'b'], ['a', 'b'], false],
      [['finish'], ['finish'], true],
      [['a', 'finish'], ['a', 'finish'], true],
      [['a', 'finish', 'b', 'c'], ['a', 'finish'], true],
    ]
    for (const [tools, kept, finishes] of cases) {
      const { conversation } = await begun()
      const { step, asked, executed } = script([tools.map((tool) => call(tool, tool))])
      await conversation.run(step)
      expect(executed).toEqual(kept)
      expect(asked).toHaveLength(finishes ? 1 : 2)
    }
  })

  it('Q2 a blocked call is not executed and its reason is recorded; the others are; Q4 all blocked: nothing is executed', async () => {
    for (const blocked of [['b'], ['a', 'b']]) {
      const { conversation } = await begun()
      const { step, executed } = script([[call('a', 'a'), call('b', 'b')]])
      const hook = ({ tool_name = '' }): object => ({
        blocked: blocked.includes(tool_name),
        reason: 'forbidden',
      })
      await conversation.run(step, { hooks: [{ on: 'PreToolUse', name: 'guard', run: hook }] })
      expect(executed).toEqual(['a', 'b'].filter((id) => !blocked.includes(id)))
      const { log } = await conversation.state()
      const answers = [...log.entries].flatMap(({ event }) =>
        event?.kind === 'UserRejectObservation' ? [event] : [],
      )
      expect(answers.map((each) => [each.action_id, each.rejection_reason, each.rejection_source])).toEqual(
        blocked.map((id) => [id, 'forbidden', 'hook']),
      )
    }
  })

  it('Q3 what comes after a finish is cut off before hooks are asked', async () => {
    const { conversation } = await begun()
    const told: unknown[] = []
    const { step } = script([[call('f', 'finish'), call('x', 'danger')]])
    await conversation.run(step, {
      hooks: [{ on: 'PreToolUse', name: 'guard', run: ({ tool_name }) => void told.push(tool_name) }],
    })
    expect(told).toEqual(['finish'])
  })

  it('Q5 answers stand in the order in which the step gives them, several events for a call among them', async () => {
    const { conversation } = await begun()
    const token: Event = {
      kind: 'TokenEvent',
      source: 'agent',
      prompt_token_ids: [1],
      response_token_ids: [2],
    }
    const { step } = script([[call('a'), call('b')]], async function* ({ approved }) {
      for (const each of approved) yield [token, result(each)]
    })
    await conversation.run(step)
    expect((await logOf(conversation)).slice(5, 9)).toEqual([
      'TokenEvent',
      'result a',
      'TokenEvent',
      'result b',
    ])
  })

  it('Q6 a finish that is blocked finishes nothing', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([[call('f', 'finish')]])
    const hook: Hook = { on: 'PreToolUse', name: 'guard', run: () => ({ blocked: true, reason: 'not yet' }) }
    await conversation.run(step, { hooks: [hook] })
    expect(asked).toHaveLength(2)
  })

  it('Q8 an unknown tool: its answer comes with it, the others are executed', async () => {
    const { conversation } = await begun()
    const error: Event = {
      kind: 'AgentErrorEvent',
      tool_name: 'odd',
      tool_call_id: 'x',
      error: 'no such tool',
    }
    const { step, executed } = script([[call('x', 'odd', { action: null }), error, call('a')]])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a'])
    expect(await count(conversation, 'error x')).toBe(1)
  })

  it('Q9 a tool that fails is answered with an error, and the run goes on to its end', async () => {
    const { conversation } = await begun()
    const { step } = script([[call('a')]], async function* () {
      yield { kind: 'AgentErrorEvent', tool_name: 'work', tool_call_id: 'a', error: 'ValueError' }
    })
    expect((await conversation.run(step)).status).toBe('finished')
  })
})

describe('group W: what others get wrong', () => {
  it('W10 a reply of a call, a call that nothing can run, and a call: one message with three calls, three results', async () => {
    const { conversation } = await begun()
    const error: Event = {
      kind: 'AgentErrorEvent',
      tool_name: 'odd',
      tool_call_id: 'b',
      error: 'no such tool',
    }
    const { step, asked } = script([[call('a'), call('b', 'odd', { action: null }), error, call('c')]])
    await conversation.run(step)
    expect(asked[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool'])
  })

  it('W11 work, finish, danger, and then a message and another run: danger is never executed', async () => {
    const { conversation } = await begun()
    const { step, executed } = script([[call('a'), call('f', 'finish'), call('x', 'danger')]])
    await conversation.run(step)
    await conversation.sendMessage('more')
    await conversation.run(step)
    expect(executed).toEqual(['a', 'f'])
  })

  it('W12 waiting, another process, approve: the model is sent the call with its result', async () => {
    const { conversation } = await begun()
    await conversation.setConfirmationPolicy(ALWAYS)
    const { step, asked } = script([[call('a')]])
    await conversation.run(step)
    const store = memoryStore()
    await store.createConversation({ id: 'c' })
    const { log } = await conversation.state()
    await store.append(
      'c',
      [...log.entries].flatMap(({ event }) => event ?? []),
      { mode: 'import' },
    )
    const again = await createEngine({ store }).open('c')
    await again.approve(['a'])
    expect((await again.run(step)).status).toBe('finished')
    expect(asked.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  it('W13 waiting, a message, run: nothing is executed without an approval, and then the result follows its call', async () => {
    const { conversation, step, asked, executed } = await waiting(call('a'))
    await conversation.sendMessage('what are you waiting for?')
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(asked.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('W14 waiting, fork, run the fork: the policy came along, and the call waits there too', async () => {
    const { conversation, step, executed } = await waiting(call('a'))
    await conversation.approve(['a'])
    const fork = await conversation.fork({ id: 'fork' })
    expect((await fork.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
  })

  it('W15 waiting, and a condensation is wished for: nothing is executed, and the wish stays', async () => {
    const { conversation, step, executed } = await waiting(call('a'))
    await conversation.append({ kind: 'CondensationRequest' })
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
    expect((await conversation.state()).branch.view.unhandledCondensationRequest).toBe(true)
  })

  it('W26 HEAD to nothing, a message, run: the model is sent what the new branch holds', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([])
    await conversation.run(step)
    await conversation.navigate(null)
    await conversation.sendMessage('anew')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(asked.at(-1)?.messages).toMatchObject([{ role: 'user', content: [{ text: 'anew' }] }])
  })

  it('W28 a hook before a tool stands in line: call, hook, result', async () => {
    const { conversation } = await begun()
    await conversation.run(script([[call('a')]]).step, {
      hooks: [{ on: 'PreToolUse', name: 'guard', run: () => ({}) }],
    })
    const { log } = await conversation.state()
    const path: string[] = []
    for (let at = log.head; at !== null; at = at.parent as typeof at) path.unshift(at.event?.kind ?? '')
    expect(path).toEqual([
      'MessageEvent',
      'ActionEvent',
      'HookExecutionEvent',
      'ObservationEvent',
      'MessageEvent',
    ])
  })

  it('W29 a hook that blocks a prompt and has something to add: the block wins, and the model is not asked', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([])
    const hook: Hook = {
      on: 'UserPromptSubmit',
      name: 'guard',
      run: () => ({ blocked: true, reason: 'no', additionalContext: 'yes' }),
    }
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(asked).toEqual([])
    expect(await logOf(conversation)).not.toContain('environment: yes')
  })

  it('W30 a second message while the model thinks, and a text reply: it is answered', async () => {
    const { conversation } = await begun('first')
    const { step, asked } = script([
      async function* () {
        await conversation.sendMessage('second')
        yield says('to the first')
      },
    ])
    await conversation.run(step)
    expect(asked).toHaveLength(2)
  })

  it('W31 pause while the model thinks, and a text reply: paused after the reply is recorded', async () => {
    const { conversation } = await begun()
    const { step } = script([
      async function* () {
        await conversation.pause()
        yield says('done')
      },
    ])
    expect((await conversation.run(step)).status).toBe('paused')
    expect((await logOf(conversation)).at(-1)).toBe('agent: done')
  })

  it('W32 and W33 pause while the model thinks, and calls: paused before they are executed, with and without AlwaysConfirm', async () => {
    for (const policy of [null, ALWAYS]) {
      const { conversation } = await begun()
      await conversation.setConfirmationPolicy(policy)
      const { step, executed } = script([
        async function* () {
          await conversation.pause()
          yield call('a')
        },
      ])
      expect((await conversation.run(step)).status).toBe('paused')
      expect(executed).toEqual([])
      expect((await conversation.run(step)).status).toBe(
        policy === null ? 'finished' : 'waiting_for_confirmation',
      )
    }
  })

  it('W46 stuck, and run again without a message: stuck again, said again', async () => {
    const { conversation } = await begun()
    const { step, asked } = script([])
    const options = { stuck: () => 'again' }
    await conversation.run(step, options)
    expect((await conversation.run(step, options)).status).toBe('stuck')
    expect(await count(conversation, 'stuck_reason')).toBe(2)
    expect(asked).toEqual([])
  })
})
