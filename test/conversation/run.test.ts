/** The run loop rule by rule: inputs of a step, outcomes of calls, and the end of a run (design laws P and I). */

import { describe, expect, it } from 'vitest'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import type { Policy } from '../../src/conversation/run/policy.ts'
import type { StepInput } from '../../src/conversation/run/step.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import type { ActionEvent } from '../../src/event/types.ts'
import type { EventEntry } from '../../src/log/entry.ts'
import { call, gate, logOf, result, says, script, startConversation } from './script.ts'

const refuse = (): never => {
  throw new TypeError('not now')
}

describe('a step', () => {
  it('receives messages, state and signal for a request, and the approved calls for an execution', async () => {
    const { conversation } = await startConversation()
    const inputs: StepInput[] = []
    const { step } = script([[call('a'), call('b')], [says('done')]])
    const result = await conversation.run((input) => {
      inputs.push(input)
      return step(input)
    })
    expect(result).toEqual({ status: 'finished', iterations: 2 })
    const [ask, execute, again] = inputs as [StepInput, StepInput, StepInput]
    expect(ask.messages).toMatchObject([{ role: 'user', content: [{ type: 'text', text: 'hello' }] }])
    expect(ask.messages).toEqual(toMessages(ask.state))
    expect(ask.approved).toEqual([])
    expect(ask.signal.aborted).toBe(false)
    expect(ask.state.header.status).toBe('running')
    expect(execute.approved.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(execute.approved.map(({ event }) => event.tool_call_id)).toEqual(['a', 'b'])
    expect(again.messages).toHaveLength(4)
    expect(inputs).toHaveLength(3)
    expect(await logOf(conversation)).toEqual([
      'user: hello',
      '= running',
      'call a',
      'call b',
      'started_actions ["a","b"]',
      'result a',
      'result b',
      'agent: done',
    ])
  })

  it('can return events, a promise of events, or a generator', async () => {
    for (const step of [
      () => [says('at once')],
      async () => [says('later')],
      function* () {
        yield [says('piece by piece')]
      },
    ]) {
      const { conversation } = await startConversation()
      expect((await conversation.run(step)).status).toBe('finished')
    }
  })

  it('publishes deltas without storing them, and fails on an invalid event', async () => {
    const { conversation } = await startConversation()
    const reader = conversation.subscribe({ after: 0 })
    const first = reader.next()
    const { error } = await conversation.run(async function* (input) {
      await first
      const delta = { kind: 'StreamingDeltaEvent', content: 'th' } as const
      yield delta
      input.publish({ ...delta, content: 'ink' })
      yield { kind: 'Nonsense' } as never
    })
    let text = ''
    for await (const item of reader) {
      if (item.type === 'delta') text += item.event.content ?? ''
      if (item.type === 'event' && 'kind' in item.fact && item.fact.kind === 'ConversationErrorEvent') break
    }
    expect(text).toBe('think')
    expect(error).toMatchObject({ code: 'invalid_event' })
    expect(await logOf(conversation)).toEqual(['user: hello', '= running', 'failed ColloquyError'])
  })
})

describe('open calls before a request', () => {
  it('are executed if approved, wait if the policy says so, and are interrupted otherwise', async () => {
    const { conversation } = await startConversation()
    await conversation.append([call('a', 'rm'), call('b', 'rm'), call('c')])
    await conversation.approve(['a'])
    const { step, requests, executed } = script([])
    const options: RunOptions = { policy: (each) => each.tool_name === 'rm' }
    const { status: ended } = await conversation.run(step, options)
    expect(ended).toBe('waiting_for_confirmation')
    expect(requests).toEqual([])
    expect(executed).toEqual(['a'])
    expect((await logOf(conversation)).slice(4)).toEqual([
      'approved_actions ["a"]',
      '= running',
      'error c',
      'started_actions ["a"]',
      'result a',
      '= waiting_for_confirmation',
    ])
    // Another run without an approval changes nothing.
    const before = await logOf(conversation)
    expect((await conversation.run(step, options)).status).toBe('waiting_for_confirmation')
    expect(await logOf(conversation)).toEqual(before)
    await conversation.approve(['b'])
    expect((await conversation.run(step, options)).status).toBe('finished')
    expect(executed).toEqual(['a', 'b'])
    expect(requests).toHaveLength(1)
  })

  it('get an error if the step yields no result for them', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([[call('a')]], async function* () {})
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await logOf(conversation)).toContain('error a')
    expect(requests).toHaveLength(2)
  })

  it('are not executed if the policy changes during their PreToolUse hook', async () => {
    const { conversation } = await startConversation()
    const { step, executed } = script([[call('a')]])
    const { status: ended } = await conversation.run(step, {
      hooks: [
        {
          on: 'PreToolUse',
          name: 'slow',
          run: async () => void (await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })),
        },
      ],
    })
    expect(ended).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
  })

  it('are confirmed under ConfirmRisky as one reply, including calls with results', async () => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy({ kind: 'ConfirmRisky' })
    const { step, executed } = script([
      [call('a', 'rm', { security_risk: 'HIGH' }), call('b', 'ls', { security_risk: 'LOW' })],
    ])
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual(['a'])
    expect(await logOf(conversation)).not.toContain('error b')
    await conversation.approve(['b'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a', 'b'])
  })

  it.each(['HIGH', 'none of the ranks', 'constructor', '__proto__', 3, null])(
    'wait if they are risky, with the threshold %j',
    async (threshold) => {
      const { conversation } = await startConversation()
      await conversation.setConfirmationPolicy({ kind: 'ConfirmRisky', threshold })
      const { step } = script([[call('a', 'rm', { security_risk: 'HIGH' })]])
      expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    },
  )

  it.each([
    [undefined, 'finished'],
    [null, 'finished'],
    ['HIGH', 'finished'],
    ['MEDIUM', 'waiting_for_confirmation'],
    ['medium', 'waiting_for_confirmation'],
    ['none of the ranks', 'waiting_for_confirmation'],
    [3, 'waiting_for_confirmation'],
  ])('of medium risk under ConfirmRisky with the threshold %j: %s', async (threshold, expected) => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy({
      kind: 'ConfirmRisky',
      ...(threshold !== undefined && { threshold }),
    })
    const { step } = script([[call('a', 'rm', { security_risk: 'MEDIUM' })]])
    expect((await conversation.run(step)).status).toBe(expected)
  })

  it.each([
    ['policy', { policy: (async () => false) as unknown as Policy }],
    ['stuck', { stuck: (async () => null) as unknown as () => null }],
  ])('an asynchronous %s ends the run with an error that names it', async (name, options) => {
    const { conversation } = await startConversation()
    const { step, executed } = script([[call('a')]])
    const { status, error } = await conversation.run(step, options)
    expect(status).toBe('error')
    expect(String(error)).toMatch(new RegExp(`^TypeError: \`${name}\` must return`))
    expect(executed).toEqual([])
  })

  it('are confirmed under ConfirmRisky as one reply, even with a message between them', async () => {
    const { conversation } = await startConversation()
    const { step, executed } = script([
      async function* () {
        yield call('a', 'rm', { security_risk: 'HIGH' })
        await conversation.sendMessage('wait')
        yield call('b', 'ls', { security_risk: 'LOW' })
        await conversation.approve(['a'])
      },
    ])
    await conversation.setConfirmationPolicy({ kind: 'ConfirmRisky' })
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual(['a'])
  })

  it('are confirmed separately after a result, even with the same response id', async () => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy({ kind: 'ConfirmRisky' })
    const { step, executed } = script([
      [call('a', 'rm', { security_risk: 'HIGH' })],
      [call('b', 'ls', { security_risk: 'LOW' })],
    ])
    await conversation.run(step)
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['a', 'b'])
  })
})

describe('calls after a finish in the same response', () => {
  it('get errors in the batch that appends them', async () => {
    const { conversation } = await startConversation()
    const { step, executed } = script([[call('w'), call('f', 'finish'), call('x', 'danger'), call('y')]])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['w', 'f'])
    expect((await logOf(conversation)).slice(2)).toEqual([
      'call w',
      'call f',
      'call x',
      'call y',
      'error x',
      'error y',
      'started_actions ["w","f"]',
      'result w',
      'result f',
    ])
  })

  it('get errors when they arrive during a pause, even if the finish call is rejected later', async () => {
    const { conversation } = await startConversation()
    const { step, executed } = script([
      async function* () {
        yield call('f', 'finish')
        await conversation.pause()
        yield call('x', 'danger')
      },
    ])
    expect((await conversation.run(step)).status).toBe('paused')
    expect(await logOf(conversation)).toContain('error x')
    await conversation.reject(['f'])
    await conversation.resume()
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual([])
  })

  it('get errors although the step itself ends the finish call before the run plans them', async () => {
    const { conversation } = await startConversation()
    const f = call('f', 'finish')
    const { step, executed } = script([
      async function* () {
        yield [f, call('x')]
        yield result({ id: 'f', event: f } as EventEntry<ActionEvent>)
      },
    ])
    expect(await conversation.run(step)).toMatchObject({ status: 'finished', iterations: 1 })
    expect((await logOf(conversation)).slice(2)).toEqual(['call f', 'call x', 'error x', 'result f'])
    expect(executed).toEqual([])
  })

  it('are executed if the finish call cannot be executed', async () => {
    const { conversation } = await startConversation()
    const { step, executed } = script([[call('f', 'finish', { action: null }), call('x')]])
    await conversation.run(step)
    expect(executed).toEqual(['x'])
  })
})

describe('a run', () => {
  it('fails if the step throws, and started calls get errors', async () => {
    const { conversation } = await startConversation()
    const thrown = new RangeError('no such tool')
    const { step } = script([[call('a'), call('b')]], async function* ({ approved }) {
      yield [
        {
          kind: 'ObservationEvent',
          tool_name: 'work',
          tool_call_id: 'a',
          action_id: approved[0]?.id ?? '',
          observation: { kind: 'O' },
        },
      ]
      throw thrown
    })
    const ended = await conversation.run(step)
    expect(ended).toEqual({ status: 'error', iterations: 1, error: thrown })
    expect((await logOf(conversation)).slice(-3)).toEqual(['result a', 'error b', 'failed RangeError'])
    const { header } = await conversation.state()
    expect(header.error).toMatchObject({ code: 'RangeError', detail: 'no such tool' })
  })

  it('fails if the policy or the stuck detector throws, or the step returns nothing', async () => {
    for (const options of [{ policy: refuse }, { stuck: refuse }]) {
      const { conversation } = await startConversation()
      const { step, executed } = script([[call('a')]])
      expect(await conversation.run(step, options)).toMatchObject({
        status: 'error',
        error: { message: 'not now' },
      })
      expect(executed).toEqual([])
    }
    const { conversation } = await startConversation()
    expect(await conversation.run((() => undefined) as never)).toMatchObject({
      status: 'error',
      error: { name: 'TypeError' },
    })
  })

  it('fails if the step yields a ConversationErrorEvent, and sends no further request', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([
      [call('a'), { kind: 'ConversationErrorEvent', source: 'agent', code: 'Budget', detail: 'spent' }],
    ])
    expect(await conversation.run(step)).toMatchObject({
      status: 'error',
      error: { name: 'Budget', message: 'spent' },
    })
    expect(requests).toHaveLength(1)
    expect((await logOf(conversation)).slice(-2)).toEqual(['failed Budget', 'error a'])
  })

  it('fails with MaxIterationsReached after maxIterations requests of its own', async () => {
    const { conversation } = await startConversation()
    const replies = ['a', 'b', 'c', 'd'].map((id) => [call(id, 'work', { llm_response_id: id })])
    const { step, requests } = script(replies)
    expect(await conversation.run(step, { maxIterations: 2 })).toEqual({
      status: 'error',
      iterations: 2,
      error: expect.objectContaining({ name: 'MaxIterationsReached' }),
    })
    expect(requests).toHaveLength(2)
    expect((await logOf(conversation)).filter((line) => line.startsWith('failed'))).toHaveLength(1)
    const { header } = await conversation.state()
    expect(header.error).toMatchObject({ code: 'MaxIterationsReached', detail: expect.stringContaining('2') })
    // Each run counts from zero.
    expect((await conversation.run(step, { maxIterations: 3 })).status).toBe('finished')
    expect(requests).toHaveLength(5)
  })

  it('finishes if the last allowed iteration is a reply or a finish call', async () => {
    for (const last of [[says('done')], [call('f', 'finish', { llm_response_id: 'r2' })]]) {
      const { conversation } = await startConversation()
      const { step } = script([[call('a')], last])
      expect(await conversation.run(step, { maxIterations: 2 })).toEqual({
        status: 'finished',
        iterations: 2,
      })
      expect((await logOf(conversation)).filter((line) => line.startsWith('failed'))).toEqual([])
    }
  })

  it('ends as stuck, with the reason in the log', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([[call('a')]])
    const stuck = (): string | null => (requests.length > 0 ? 'the same call again' : null)
    expect((await conversation.run(step, { stuck })).status).toBe('stuck')
    expect((await logOf(conversation)).slice(-2)).toEqual(['stuck_reason "the same call again"', '= stuck'])
  })

  it('rejects if its conversation is deleted, even if its step hangs', async () => {
    const { conversation } = await startConversation()
    const thinking = gate()
    const running = conversation.run(async function* () {
      await thinking.pass()
      yield says('too late')
    })
    const rejected = expect(running).rejects.toMatchObject({ code: 'unknown_conversation' })
    await thinking.reached
    await conversation.delete()
    await rejected
  })
})
