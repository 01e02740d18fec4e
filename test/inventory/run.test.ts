/** Groups P, Q and W of the inventory on the run loop. */

import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import type { StepInput, Yielded } from '../../src/conversation/run/step.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { action, agent, fail, observe, pause, status, user } from '../build.ts'

async function createConversation(...events: readonly Event[]): Promise<Conversation> {
  const conversation = await createEngine({ store: memoryStore() }).create({ id: 'c' })
  await conversation.append([user('m'), ...events])
  return conversation
}

const kinds = async (conversation: Conversation): Promise<string[]> =>
  [...(await conversation.state()).log.entries].flatMap(({ event }) =>
    event === null || event.kind === 'ConversationStateUpdateEvent' ? [] : [event.kind],
  )

/** An agent that makes these calls, executes the allowed ones and ends; with the executed ids. */
function worker(
  calls: readonly Event[],
  answer = (call: ActionEvent): Yielded => observe(`o-${call.id}`, call),
) {
  const executed: string[][] = []
  let requestCount = 0
  function* step({ approved }: StepInput): Generator<Yielded> {
    if (approved.length > 0) {
      executed.push(approved.map(({ id }) => id))
      for (const { id, event } of approved) yield answer({ ...event, id })
      return
    }
    requestCount += 1
    yield requestCount === 1 && calls.length > 0 ? calls : agent(`done-${requestCount}`)
  }
  return { step, executed, requestCount: () => requestCount }
}

/** The calls of one reply; `finish` calls the finish tool. */
const reply = (...names: readonly string[]): ActionEvent[] =>
  names.map((name) => action(name, { response: 'r', tool: name === 'finish' ? 'finish' : 'ls' }))

const guard = (blocks: (id: string) => boolean, checkedIds: string[] = []): Hook => ({
  on: 'PreToolUse',
  name: 'guard',
  run: ({ action_id: id = '' }) => {
    checkedIds.push(id)
    return blocks(id) ? { blocked: true, reason: `not ${id}` } : {}
  },
})

async function runOf(calls: readonly ActionEvent[], options: RunOptions = {}) {
  const conversation = await createConversation()
  const { step, executed } = worker(calls)
  const result = await conversation.run(step, options)
  return { conversation, executed: executed.flat(), result, state: await conversation.state() }
}

describe('group P: runs', () => {
  it('P15 finishing on the last iteration is not an error', async () => {
    const { result, conversation } = await runOf(reply('finish'), { maxIterations: 1 })
    expect(result.status).toBe('finished')
    expect(await kinds(conversation)).not.toContain('ConversationErrorEvent')
  })

  it('P17 three interrupts end the run at once and append one event', async () => {
    const conversation = await createConversation()
    const requested = Promise.withResolvers<void>()
    const run = conversation.run(() => {
      requested.resolve()
      return new Promise(() => undefined)
    })
    await requested.promise
    await Promise.all([conversation.interrupt(), conversation.interrupt(), conversation.interrupt()])
    expect(await run).toEqual({ status: 'paused', iterations: 1 })
    expect((await kinds(conversation)).filter((kind) => kind === 'InterruptEvent').length).toBe(1)
    expect(await conversation.interrupt()).toEqual([])
  })

  it('P20 each run has its own abort signal', async () => {
    const conversation = await createConversation()
    const signals: AbortSignal[] = []
    const step = function* ({ signal }: StepInput) {
      signals.push(signal)
      yield agent(`m${signals.length}`)
    }
    await conversation.run(step)
    await conversation.sendMessage('again')
    await conversation.run(async ({ signal }) => {
      signals.push(signal)
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      await conversation.interrupt()
      await aborted
      return [agent('late')]
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
    await conversation.resume()
    await conversation.run(step)
    expect(new Set(signals).size).toBe(signals.length)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true, false])
  })

  it('P21 a run aborted before its start executes nothing and leaves its calls approved', async () => {
    const conversation = await createConversation(
      ...reply('a', 'b', 'd'),
      status('w', 'waiting_for_confirmation'),
    )
    await conversation.approve(['a', 'b', 'd'])
    const { step, executed } = worker([])
    await conversation.run(step, { signal: AbortSignal.abort() })
    expect(executed).toEqual([])
    expect(await kinds(conversation)).not.toContain('ObservationEvent')
    expect((await conversation.state()).header.callStatuses).toEqual(
      ['a', 'b', 'd'].map((action_id) => ({ action_id, grant: 'approved' })),
    )
  })
})

describe('group Q: batches', () => {
  it.each([
    [[], [], false],
    [['a', 'b'], ['a', 'b'], false],
    [['finish'], ['finish'], true],
    [['a', 'finish'], ['a', 'finish'], true],
    [['a', 'finish', 'b', 'd'], ['a', 'finish'], true],
  ])('Q1 a reply with the calls %j executes %j', async (names, expected, finishes) => {
    const { executed, conversation, state } = await runOf(reply(...names))
    expect(executed).toEqual(expected)
    expect(state.header.status).toBe('finished')
    expect(
      (await kinds(conversation)).includes('MessageEvent') &&
        (await kinds(conversation)).at(-1) !== 'MessageEvent',
    ).toBe(finishes)
  })

  it('Q2 a blocked call is answered with its reason, and the others are executed', async () => {
    const { executed, state } = await runOf(reply('a', 'b', 'd'), { hooks: [guard((id) => id === 'b')] })
    expect(executed).toEqual(['a', 'd'])
    const answer = [...state.log.entries].find(({ event }) => event?.kind === 'UserRejectObservation')?.event
    expect(answer).toMatchObject({ action_id: 'b', rejection_reason: 'not b', rejection_source: 'hook' })
  })

  it('Q3 hooks do not run for calls after the finish call', async () => {
    const checkedIds: string[] = []
    await runOf(reply('a', 'finish', 'b'), { hooks: [guard(() => false, checkedIds)] })
    expect(checkedIds).toEqual(['a', 'finish'])
  })

  it('Q4 a reply whose calls are all blocked executes nothing', async () => {
    const { executed, state } = await runOf(reply('a', 'b'), { hooks: [guard(() => true)] })
    expect(executed).toEqual([])
    const rejections = [...state.log.entries].flatMap(({ event }) =>
      event?.kind === 'UserRejectObservation' ? [event] : [],
    )
    expect(rejections.map((each) => [each.action_id, each.rejection_reason, each.rejection_source])).toEqual([
      ['a', 'not a', 'hook'],
      ['b', 'not b', 'hook'],
    ])
  })

  it('Q5 results follow the rejections, in the order the step yields them', async () => {
    const conversation = await createConversation()
    const { step } = worker(reply('a', 'b', 'd'), (call) => [
      observe(`o-${call.id}`, call),
      user(`u-${call.id}`),
    ])
    await conversation.run(step, { hooks: [guard((id) => id === 'b')] })
    const results = [...(await conversation.state()).log.entries].flatMap(({ event }) =>
      event !== null && 'action_id' in event && event.kind !== 'HookExecutionEvent' ? [event.action_id] : [],
    )
    expect(results).toEqual(['b', 'a', 'd'])
  })

  it('Q6 a blocked finish call does not end the run', async () => {
    const conversation = await createConversation()
    const { step, requestCount } = worker(reply('finish'))
    await conversation.run(step, { hooks: [guard((id) => id === 'finish')] })
    expect(requestCount()).toBe(2)
  })

  it('Q8 a call of an unknown tool gets one error and is not executed', async () => {
    const conversation = await createConversation()
    const { step, executed } = worker([action('a', { action: null, tool: 'nope' })])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual([])
    expect(await kinds(conversation)).toEqual([
      'MessageEvent',
      'ActionEvent',
      'AgentErrorEvent',
      'MessageEvent',
    ])
    const other = await createConversation()
    const odd = action('odd', { action: null, tool: 'nope' })
    const others = worker([odd, fail('e', odd, 'no such tool'), action('a')])
    expect((await other.run(others.step)).status).toBe('finished')
    expect(others.executed).toEqual([['a']])
    expect((await kinds(other)).filter((kind) => kind === 'AgentErrorEvent').length).toBe(1)
  })

  it('Q9 a run continues after a failed tool and ends in error if the step throws', async () => {
    const conversation = await createConversation()
    const { step } = worker(reply('a'), (call) => fail('e', call, 'no such file'))
    expect((await conversation.run(step)).status).toBe('finished')
    const other = await createConversation()
    const broken = worker(reply('a'), () => {
      throw new RangeError('out of range')
    })
    expect((await other.run(broken.step)).status).toBe('error')
    expect((await other.state()).header.error).toMatchObject({ code: 'RangeError', detail: 'out of range' })
  })
})

describe('group W: runs', () => {
  it('W11 calls after the finish call are answered at once and never executed', async () => {
    const conversation = await createConversation()
    const { step, executed } = worker(reply('work', 'finish', 'danger'))
    expect((await conversation.run(step)).status).toBe('finished')
    expect((await conversation.state()).branch.pendingCalls).toBeNull()
    await conversation.sendMessage('on')
    await conversation.run(step)
    expect(executed.flat()).toEqual(['work', 'finish'])
  })

  it('W29 a hook that both blocks a message and adds context blocks it under its stored id', async () => {
    const conversation = await createConversation()
    const { step, requestCount } = worker([])
    const messageIds: string[] = []
    const hook: Hook = {
      on: 'UserPromptSubmit',
      name: 'censor',
      run: ({ message_id: id = '' }) => {
        messageIds.push(id)
        return { blocked: true, reason: 'no', additionalContext: 'more' }
      },
    }
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(requestCount()).toBe(0)
    expect(messageIds).toEqual(['m'])
    expect(await kinds(conversation)).toEqual(['MessageEvent', 'HookExecutionEvent', 'Condensation'])
  })

  it('W46 a second run of a stuck conversation is stuck and records the reason again', async () => {
    const conversation = await createConversation()
    const { step, requestCount } = worker([])
    for (let n = 0; n < 2; n += 1) {
      expect((await conversation.run(step, { stuck: () => 'the same again and again' })).status).toBe('stuck')
    }
    expect(requestCount()).toBe(0)
    const reasons = [...(await conversation.state()).log.entries].filter(
      ({ event }) => event?.kind === 'ConversationStateUpdateEvent' && event.key === 'stuck_reason',
    )
    expect(reasons).toHaveLength(2)
    await conversation.append(pause('p'))
    expect((await conversation.state()).header.status).toBe('stuck')
  })
})
