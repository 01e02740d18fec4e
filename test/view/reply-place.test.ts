/** Where a reply stands (U10), at the edges that chance does not reach. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { listWarningsIn } from '../../src/log/log.ts'
import { evict, decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { MOST_PASSED } from '../../src/view/reply-place.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { call, condensation, result, update, user } from '../../properties/pinned.ts'

const asked = (after: unknown) => ({ reply: { after } })

const reply = (id: string, after: unknown): Event =>
  ({
    kind: 'MessageEvent',
    id,
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: id }], ...asked(after) },
  }) as Event

const callAt = (id: string, callId: string, response: string, after: unknown): Event => {
  const event = call(id, callId, response) as Extract<Event, { kind: 'ActionEvent' }>
  return { ...event, tool_call: { ...event.tool_call, ...asked(after) } as typeof event.tool_call }
}

const shown = (state: State): string[] => [...viewEventsIn(state.branch.view)].map(({ id }) => id)
const view = (...events: readonly Event[]): string[] => shown(replay(events))

describe('U10, a reply stands before what came after it was asked for', () => {
  it('pieces keep their order, and replies do not overtake each other', () => {
    expect(view(user('u'), user('v'), reply('1', 'u'), reply('2', 'u'))).toEqual(['u', '1', '2', 'v'])
    expect(view(user('u'), user('v'), reply('1', 'u'), reply('2', null))).toEqual(['u', '1', '2', 'v'])
    expect(view(user('u'), user('v'), reply('1', 'nothing'), user('w'), reply('2', 'u'))).toEqual([
      'u',
      'v',
      '1',
      '2',
      'w',
    ])
  })

  it('what was asked for at an empty HEAD stands before all messages', () => {
    expect(view(user('u'), reply('1', null))).toEqual(['1', 'u'])
  })

  it.each([['u2'], ['1'], ['s'], [7], [undefined], [['u']]])('after %j it stands at the end', (after) => {
    const events = [user('u'), update('s', 'title', 'x'), user('v'), reply('1', after), user('u2')]
    expect(view(...events)).toEqual(['u', 'v', '1', 'u2'])
  })

  it('what it was asked at may be forgotten, with its summary before it', () => {
    const events = [user('u'), user('v'), condensation('C', ['u'], 0), reply('1', 'u')]
    expect(view(...events)).toEqual(['C-summary', '1', 'v'])
  })

  it('a call joins its own batch before a message, and its answer finds it there', () => {
    const events = [
      user('u'),
      callAt('a', 'c', 'r', 'u'),
      user('v'),
      callAt('b', 'd', 'r', 'u'),
      result('o', 'd', 'b'),
      result('p', 'c', 'a'),
    ]
    expect(view(...events)).toEqual(['u', 'a', 'b', 'o', 'p', 'v'])
    const cut = replay(events.slice(0, 4))
    for (const state of [evict(cut), decodeSnapshot(encodeSnapshot(cut), '') as State]) {
      expect(shown(events.slice(4).reduce(reduce, state))).toEqual(['u', 'a', 'b', 'o', 'p', 'v'])
    }
  })

  it('batches of one rank are told apart', () => {
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
    expect(view(...events)).toEqual(['u', 'a', 'p', 'b', 'o', 'e', 'q', 'v'])
  })

  it('it passes so many units and no more, and what is beyond is reported', () => {
    const later = Array.from({ length: MOST_PASSED }, (_, n) => user(`v${n}`))
    const near = replay([user('u'), ...later, reply('1', 'u')])
    expect(shown(near).slice(0, 3)).toEqual(['u', '1', 'v0'])
    expect(listWarningsIn(near.log)).toEqual([])
    const far = replay([user('u'), ...later, user('w'), reply('1', 'u'), user('x'), reply('2', 'w')])
    expect(shown(far).slice(-4)).toEqual(['w', '1', '2', 'x'])
    expect(listWarningsIn(far.log)).toMatchObject([{ code: 'reply_not_placed', id: '1' }])
    expect(listWarningsIn(evict(far).log)).toMatchObject([{ code: 'reply_not_placed', id: '1' }])
  })
})
