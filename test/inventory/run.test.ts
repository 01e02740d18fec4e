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

async function conversation(...events: readonly Event[]): Promise<Conversation> {
  const made = await createEngine({ store: memoryStore() }).create({ id: 'c' })
  await made.append([user('m'), ...events])
  return made
}

const kinds = async (made: Conversation): Promise<string[]> =>
  [...(await made.state()).log.entries].flatMap(({ event }) =>
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
  return { step, executed, asked: () => requestCount }
}

/** The calls of one reply; `finish` calls the finish tool. */
const reply = (...names: readonly string[]): ActionEvent[] =>
  names.map((name) => action(name, { response: 'r', tool: name === 'finish' ? 'finish' : 'ls' }))

const guard = (blocks: (id: string) => boolean, requests: string[] = []): Hook => ({
  on: 'PreToolUse',
  name: 'guard',
  run: ({ action_id: id = '' }) => {
    requests.push(id)
    return blocks(id) ? { blocked: true, reason: `not ${id}` } : {}
  },
})

async function runOf(calls: readonly ActionEvent[], options: RunOptions = {}) {
  const made = await conversation()
  const { step, executed } = worker(calls)
  const result = await made.run(step, options)
  return { made, executed: executed.flat(), result, state: await made.state() }
}

describe('group P: runs', () => {
  it('P15 finishing on the last iteration', async () => {
    const { result, made } = await runOf(reply('finish'), { maxIterations: 1 })
    expect(result.status).toBe('finished')
    expect(await kinds(made)).not.toContain('ConversationErrorEvent')
  })

  it('P17 an interrupt while the model is asked', async () => {
    const made = await conversation()
    const requests = Promise.withResolvers<void>()
    const run = made.run(() => {
      requests.resolve()
      return new Promise(() => undefined)
    })
    await requests.promise
    await Promise.all([made.interrupt(), made.interrupt(), made.interrupt()])
    expect(await run).toEqual({ status: 'paused', iterations: 1 })
    expect((await kinds(made)).filter((kind) => kind === 'InterruptEvent').length).toBe(1)
    expect(await made.interrupt()).toEqual([])
  })

  it('P20 each run has a signal of its own', async () => {
    const made = await conversation()
    const signals: AbortSignal[] = []
    const step = function* ({ signal }: StepInput) {
      signals.push(signal)
      yield agent(`m${signals.length}`)
    }
    await made.run(step)
    await made.sendMessage('again')
    await made.run(async ({ signal }) => {
      signals.push(signal)
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      await made.interrupt()
      await aborted
      return [agent('late')]
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
    await made.resume()
    await made.run(step)
    expect(new Set(signals).size).toBe(signals.length)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true, false])
  })

  it('P21 a run that was cancelled before it began', async () => {
    const made = await conversation(...reply('a', 'b', 'd'), status('w', 'waiting_for_confirmation'))
    await made.approve(['a', 'b', 'd'])
    const { step, executed } = worker([])
    await made.run(step, { signal: AbortSignal.abort() })
    expect(executed).toEqual([])
    expect(await kinds(made)).not.toContain('ObservationEvent')
    expect((await made.state()).header.callStatuses).toEqual(
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
  ])('Q1 of the calls %j those are executed: %j', async (names, expected, finishes) => {
    const { executed, made, state } = await runOf(reply(...names))
    expect(executed).toEqual(expected)
    expect(state.header.status).toBe('finished')
    expect(
      (await kinds(made)).includes('MessageEvent') && (await kinds(made)).at(-1) !== 'MessageEvent',
    ).toBe(finishes)
  })

  it('Q2 a blocked call is answered with the reason, the others are executed', async () => {
    const { executed, state } = await runOf(reply('a', 'b', 'd'), { hooks: [guard((id) => id === 'b')] })
    expect(executed).toEqual(['a', 'd'])
    const answer = [...state.log.entries].find(({ event }) => event?.kind === 'UserRejectObservation')?.event
    expect(answer).toMatchObject({ action_id: 'b', rejection_reason: 'not b', rejection_source: 'hook' })
  })

  it('Q3 hooks are not asked for what comes behind the finish', async () => {
    const requests: string[] = []
    await runOf(reply('a', 'finish', 'b'), { hooks: [guard(() => false, requests)] })
    expect(requests).toEqual(['a', 'finish'])
  })

  it('Q4 all blocked: nothing is executed', async () => {
    const { executed, state } = await runOf(reply('a', 'b'), { hooks: [guard(() => true)] })
    expect(executed).toEqual([])
    const refused = [...state.log.entries].flatMap(({ event }) =>
      event?.kind === 'UserRejectObservation' ? [event] : [],
    )
    expect(refused.map((each) => [each.action_id, each.rejection_reason, each.rejection_source])).toEqual([
      ['a', 'not a', 'hook'],
      ['b', 'not b', 'hook'],
    ])
  })

  it('Q5 answers stand as the step gives them, behind those that are blocked', async () => {
    const made = await conversation()
    const { step } = worker(reply('a', 'b', 'd'), (call) => [
      observe(`o-${call.id}`, call),
      user(`u-${call.id}`),
    ])
    await made.run(step, { hooks: [guard((id) => id === 'b')] })
    const results = [...(await made.state()).log.entries].flatMap(({ event }) =>
      event !== null && 'action_id' in event && event.kind !== 'HookExecutionEvent' ? [event.action_id] : [],
    )
    expect(results).toEqual(['b', 'a', 'd'])
  })

  it('Q6 a blocked finish does not finish', async () => {
    const made = await conversation()
    const { step, asked: requests } = worker(reply('finish'))
    await made.run(step, { hooks: [guard((id) => id === 'finish')] })
    expect(requests()).toBe(2)
  })

  it('Q8 a call of no tool that there is', async () => {
    const made = await conversation()
    const { step, executed } = worker([action('a', { action: null, tool: 'nope' })])
    expect((await made.run(step)).status).toBe('finished')
    expect(executed).toEqual([])
    expect(await kinds(made)).toEqual(['MessageEvent', 'ActionEvent', 'AgentErrorEvent', 'MessageEvent'])
    const other = await conversation()
    const odd = action('odd', { action: null, tool: 'nope' })
    const others = worker([odd, fail('e', odd, 'no such tool'), action('a')])
    expect((await other.run(others.step)).status).toBe('finished')
    expect(others.executed).toEqual([['a']])
    expect((await kinds(other)).filter((kind) => kind === 'AgentErrorEvent').length).toBe(1)
  })

  it('Q9 a tool that fails', async () => {
    const made = await conversation()
    const { step } = worker(reply('a'), (call) => fail('e', call, 'no such file'))
    expect((await made.run(step)).status).toBe('finished')
    const other = await conversation()
    const broken = worker(reply('a'), () => {
      throw new RangeError('out of range')
    })
    expect((await other.run(broken.step)).status).toBe('error')
    expect((await other.state()).header.error).toMatchObject({ code: 'RangeError', detail: 'out of range' })
  })
})

describe('group W: runs', () => {
  it('W11 calls behind the finish are answered at once, and a message later runs none of them', async () => {
    const made = await conversation()
    const { step, executed } = worker(reply('work', 'finish', 'danger'))
    expect((await made.run(step)).status).toBe('finished')
    expect((await made.state()).branch.pendingCalls).toBeNull()
    await made.sendMessage('on')
    await made.run(step)
    expect(executed.flat()).toEqual(['work', 'finish'])
  })

  it('W29 a hook that blocks a message and adds to it blocks, under the id that is stored', async () => {
    const made = await conversation()
    const { step, asked: requests } = worker([])
    const reports: string[] = []
    const hook: Hook = {
      on: 'UserPromptSubmit',
      name: 'censor',
      run: ({ message_id: id = '' }) => {
        reports.push(id)
        return { blocked: true, reason: 'no', additionalContext: 'more' }
      },
    }
    expect((await made.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(requests()).toBe(0)
    expect(reports).toEqual(['m'])
    expect(await kinds(made)).toEqual(['MessageEvent', 'HookExecutionEvent', 'Condensation'])
  })

  it('W46 a stuck conversation run again says again why', async () => {
    const made = await conversation()
    const { step, asked: requests } = worker([])
    for (let n = 0; n < 2; n += 1) {
      expect((await made.run(step, { stuck: () => 'the same again and again' })).status).toBe('stuck')
    }
    expect(requests()).toBe(0)
    const reasons = [...(await made.state()).log.entries].filter(
      ({ event }) => event?.kind === 'ConversationStateUpdateEvent' && event.key === 'stuck_reason',
    )
    expect(reasons).toHaveLength(2)
    await made.append(pause('p'))
    expect((await made.state()).header.status).toBe('stuck')
  })
})
