/** Tests the position of a reply (U10) in cases that random logs do not reach. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { listWarningsIn } from '../../src/log/log.ts'
import { evict } from '../../src/state/snapshot.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { MAX_PASSED, viewEventsIn } from '../../src/view/view.ts'
import { call, result, user } from '../../properties/pinned.ts'

const replyRecord = (after: unknown) => ({ reply: { after } })

const reply = (id: string, after: unknown): Event =>
  ({
    kind: 'MessageEvent',
    id,
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: id }], ...replyRecord(after) },
  }) as Event

const callAt = (id: string, callId: string, response: string, after: unknown): Event => {
  const event = call(id, callId, response) as Extract<Event, { kind: 'ActionEvent' }>
  return { ...event, tool_call: { ...event.tool_call, ...replyRecord(after) } as typeof event.tool_call }
}

const viewIds = (state: State): string[] => [...viewEventsIn(state.branch.view)].map(({ id }) => id)

describe('the position of a reply (U10)', () => {
  it('batches with equal ranks each receive their own result', () => {
    const events = [
      user('u'),
      user('v'),
      callAt('a', 'c', 'r', 'u'),
      callAt('b', 'd', 's', 'u'),
      callAt('e', 'f', 't', 'u'),
      result('o', 'd', 'b'),
      result('p', 'c', 'a'),
      result('q', 'f', 'e'),
    ]
    expect(viewIds(replay(events))).toEqual(['u', 'a', 'p', 'b', 'o', 'e', 'q', 'v'])
  })

  it('a reply passes at most MAX_PASSED units, and a warning reports one that stays', () => {
    const later = Array.from({ length: MAX_PASSED }, (_, n) => user(`v${n}`))
    const near = replay([user('u'), ...later, reply('1', 'u')])
    expect(viewIds(near).slice(0, 3)).toEqual(['u', '1', 'v0'])
    expect(listWarningsIn(near.log)).toEqual([])
    const far = replay([user('u'), ...later, user('w'), reply('1', 'u'), user('x'), reply('2', 'w')])
    expect(viewIds(far).slice(-4)).toEqual(['w', '1', '2', 'x'])
    expect(listWarningsIn(far.log)).toMatchObject([{ code: 'reply_not_placed', id: '1' }])
    expect(listWarningsIn(evict(far).log)).toMatchObject([{ code: 'reply_not_placed', id: '1' }])
  })
})
