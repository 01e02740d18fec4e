/** Groups Q and W of the inventory, as far as they speak of runs: batches, and what others get wrong, tried on the run loop. */

import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import type { Event } from '../../src/event/types.ts'
import { begun, call, logOf, result, says, script } from './script.ts'
import { ALWAYS, count, waiting } from './run-inventory-calls.ts'

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
