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

async function startConversation(): Promise<Conversation> {
  const conversation = await createEngine({ store: memoryStore() }).create({ id: 'c' })
  await conversation.append([user('u')])
  return conversation
}

/**
 * Returns a step that yields these replies in turn and repeats the last. All its calls fail, and it nudges the
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
const eventIds = async (conversation: Conversation): Promise<string[]> =>
  [...(await conversation.state()).log.entries].flatMap(({ id, event }) =>
    event === null || event.kind === 'ConversationStateUpdateEvent' ? [] : [id ?? ''],
  )

const FAILED_THRICE = ['u', 'a1', 'e-a1', 'a2', 'e-a2', 'a3', 'e-a3']

describe('group R: runs with a stuck detector', () => {
  it('R11 four failing calls end the run, with one nudge before the fourth', async () => {
    const conversation = await startConversation()
    expect(await conversation.run(failing(call), { stuck: reason })).toMatchObject({
      status: 'stuck',
      iterations: 4,
    })
    expect(await eventIds(conversation)).toEqual([...FAILED_THRICE, 'nudge-3', 'a4', 'e-a4'])
    const reasons = [...(await conversation.state()).log.entries].flatMap(({ event }) =>
      event?.kind === 'ConversationStateUpdateEvent' && event.key === 'stuck_reason' ? [event.value] : [],
    )
    expect(reasons).toEqual(['The same call of "ls" failed 4 times in a row.'])
  })

  it('R12 a reply after three failures and a nudge finishes the run', async () => {
    const conversation = await startConversation()
    expect(await conversation.run(failing(call, call, call, reply), { stuck: reason })).toMatchObject({
      status: 'finished',
    })
    expect(await eventIds(conversation)).toEqual([...FAILED_THRICE, 'nudge-3', 'm4'])
  })

  it('R13 an empty reply after a nudge causes no second nudge', async () => {
    const conversation = await startConversation()
    expect(await conversation.run(failing(call, call, call, empty, reply), { stuck: reason })).toMatchObject({
      status: 'finished',
    })
    expect(await eventIds(conversation)).toEqual([...FAILED_THRICE, 'nudge-3', 'empty4', 'm5'])
  })
})

describe('a stuck conversation', () => {
  it('W46 stays stuck without a new message, and runs again after one', async () => {
    const conversation = await startConversation()
    await conversation.run(failing(call), { stuck: reason })
    expect(await conversation.run(failing(reply), { stuck: reason })).toMatchObject({
      status: 'stuck',
      iterations: 0,
    })
    await conversation.sendMessage('Then leave it.')
    expect(await conversation.run(failing(reply), { stuck: reason })).toMatchObject({
      status: 'finished',
      iterations: 1,
    })
  })

  it('runs until maxIterations without a stuck detector', async () => {
    const conversation = await startConversation()
    expect(await conversation.run(failing(call), { maxIterations: 9 })).toMatchObject({
      status: 'error',
      iterations: 9,
    })
  })

  it('has its nudges in the log, so that another engine does not repeat them', async () => {
    const store = memoryStore()
    const first = await createEngine({ store }).create({ id: 'c' })
    await first.append([user('u')])
    await first.run(failing(call, call, call, empty), { stuck: reason, maxIterations: 4 })
    const second = await createEngine({ store }).open('c')
    expect(nudge(await second.state())).toBe(null)
    await second.run(failing(reply), { stuck: reason })
    expect((await eventIds(second)).filter((id) => id.startsWith('nudge'))).toEqual(['nudge-3'])
  })
})
