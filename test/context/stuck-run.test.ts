/** Runs with a loop detector: the cases of group R about whole runs, over the memory store. */

import { describe, expect, it } from 'vitest'
import { nudgeMessage, stuckDetector } from '../../src/context/stuck.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step, StepInput, Yielded } from '../../src/conversation/run/step.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { action, agent, fail, user } from '../build.ts'

const { nudge, reason } = stuckDetector()

async function begin(): Promise<Conversation> {
  const made = await createEngine({ store: memoryStore() }).create({ id: 'c' })
  await made.append([user('u')])
  return made
}

/**
 * An agent that gives these replies in turn and repeats the last. All its calls fail, and it nudges the
 * model about repeated errors.
 */
function failing(...replies: readonly ((index: number) => Event)[]): Step {
  let requestCount = 0
  return function* ({ approved, state }: StepInput): Generator<Yielded> {
    if (approved.length > 0) {
      for (const { id, event } of approved) yield fail(`e-${id}`, { ...event, id }, 'no such file')
      return
    }
    const text = nudge(state)
    if (text !== null) yield { ...nudgeMessage(text), id: `nudge-${requestCount}` }
    const reply = replies[Math.min(requestCount, replies.length - 1)] as (index: number) => Event
    requestCount += 1
    yield reply(requestCount)
  }
}

const call = (index: number): Event => action(`a${index}`)
const empty = (index: number): Event => agent(`empty${index}`, '')
const reply = (index: number): Event => agent(`m${index}`, 'It is not there.')

/** The log without state updates. */
const story = async (made: Conversation): Promise<string[]> =>
  [...(await made.state()).log.entries].flatMap(({ id, event }) =>
    event === null || event.kind === 'ConversationStateUpdateEvent' ? [] : [id ?? ''],
  )

const FAILED_THRICE = ['u', 'a1', 'e-a1', 'a2', 'e-a2', 'a3', 'e-a3']

describe('group R: runs', () => {
  it('R11 four failing calls end the run, with one nudge before the fourth', async () => {
    const made = await begin()
    expect(await made.run(failing(call), { stuck: reason })).toMatchObject({ status: 'stuck', iterations: 4 })
    expect(await story(made)).toEqual([...FAILED_THRICE, 'nudge-3', 'a4', 'e-a4'])
    const reasons = [...(await made.state()).log.entries].flatMap(({ event }) =>
      event?.kind === 'ConversationStateUpdateEvent' && event.key === 'stuck_reason' ? [event.value] : [],
    )
    expect(reasons).toEqual(['The same call of "ls" failed 4 times in a row.'])
  })

  it('R12 three failures, then a reply', async () => {
    const made = await begin()
    expect(await made.run(failing(call, call, call, reply), { stuck: reason })).toMatchObject({
      status: 'finished',
    })
    expect(await story(made)).toEqual([...FAILED_THRICE, 'nudge-3', 'm4'])
  })

  it('R13 three failures, an empty reply, then a reply: no second nudge', async () => {
    const made = await begin()
    expect(await made.run(failing(call, call, call, empty, reply), { stuck: reason })).toMatchObject({
      status: 'finished',
    })
    expect(await story(made)).toEqual([...FAILED_THRICE, 'nudge-3', 'empty4', 'm5'])
  })
})

describe('a run that was stuck', () => {
  it('W46 is stuck at once when nothing was said, and goes on after a message', async () => {
    const made = await begin()
    await made.run(failing(call), { stuck: reason })
    expect(await made.run(failing(reply), { stuck: reason })).toMatchObject({
      status: 'stuck',
      iterations: 0,
    })
    await made.sendMessage('Then leave it.')
    expect(await made.run(failing(reply), { stuck: reason })).toMatchObject({
      status: 'finished',
      iterations: 1,
    })
  })

  it('goes on without end where nobody watches', async () => {
    const made = await begin()
    expect(await made.run(failing(call), { maxIterations: 9 })).toMatchObject({
      status: 'error',
      iterations: 9,
    })
  })

  it('has nudges in its log only: another process gives none again', async () => {
    const store = memoryStore()
    const first = await createEngine({ store }).create({ id: 'c' })
    await first.append([user('u')])
    await first.run(failing(call, call, call, empty), { stuck: reason, maxIterations: 4 })
    const second = await createEngine({ store }).open('c')
    expect(nudge(await second.state())).toBe(null)
    await second.run(failing(reply), { stuck: reason })
    expect((await story(second)).filter((id) => id.startsWith('nudge'))).toEqual(['nudge-3'])
  })
})
