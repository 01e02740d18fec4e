/** Group D of the inventory: how events enter the view, and effects of condensations and requests. */

import { describe, expect, it } from 'vitest'
import { loadLine } from '../../src/event/load.ts'
import type { Event } from '../../src/event/types.ts'
import { work } from '../../src/log/work.ts'
import { switchTo } from '../../src/state/at.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { listPendingBatchesIn, viewEventsIn } from '../../src/view/view.ts'
import { action, condensation, observe, pause, request, status, user, users } from '../build.ts'
import { droppedResults, fold, ids, pendingIds, decode, reopen, isCondensationRequested } from './inspect.ts'

const FIVE = ['m0', 'm1', 'm2', 'm3', 'm4']

/** The state after each `reduce`. */
function steps(events: readonly Event[]): State[] {
  let state = initialState()
  return events.map((event) => (state = reduce(state, decode(event))))
}

describe('group D: the view', () => {
  it('D1 five messages appear in order', () => {
    const state = fold(...users(...FIVE))
    expect(ids(state)).toEqual(FIVE)
    expect(state.branch.view.length).toBe(5)
  })

  it('D2 a condensation can forget all messages', () => {
    const state = fold(...users(...FIVE), condensation('C', FIVE))
    expect(ids(state)).toEqual([])
    expect(state.branch.view.length).toBe(0)
  })

  it.each(FIVE)('D3 a condensation can forget a single message: %s', (gone) => {
    expect(ids(fold(...users(...FIVE), condensation('C', [gone])))).toEqual(FIVE.filter((id) => id !== gone))
  })

  it.each([0, 1, 2, 3, 4])('D4 a summary that forgets nothing is placed at offset %i', (offset) => {
    const state = fold(...users(...FIVE), condensation('C', [], 'S', offset))
    expect(ids(state)).toEqual(FIVE.toSpliced(offset, 0, 'C-summary'))
    expect(state.branch.view.length).toBe(6)
  })

  it('D5 a condensation is not in the view, and messages after it are', () => {
    const state = fold(...users('m0', 'm1'), condensation('C', ['m0']), ...users('m2', 'm3'))
    expect(ids(state)).toEqual(['m1', 'm2', 'm3'])
    expect([...viewEventsIn(state.branch.view)].map((item) => item.event.kind)).not.toContain('Condensation')
  })

  it('D6 a request is pending and not in the view', () => {
    const state = fold(...users('m0', 'm1'), request('Q'), user('m2'))
    expect(isCondensationRequested(state)).toBe(true)
    expect(ids(state)).toEqual(['m0', 'm1', 'm2'])
  })

  it('D7 a condensation handles the request before it', () => {
    const state = fold(
      ...users('m0', 'm1'),
      request('Q'),
      user('m2'),
      condensation('C', ['m0', 'm1']),
      user('m3'),
    )
    expect(isCondensationRequested(state)).toBe(false)
    expect(ids(state)).toEqual(['m2', 'm3'])
  })

  it('D8 a second request after the condensation is pending', () => {
    const state = fold(
      user('m0'),
      request('Q1'),
      user('m1'),
      condensation('C', []),
      user('m2'),
      request('Q2'),
      user('m3'),
    )
    expect(isCondensationRequested(state)).toBe(true)
    expect(ids(state)).toEqual(['m0', 'm1', 'm2', 'm3'])
  })

  it('D9 a request after an unrequested condensation is pending', () => {
    const state = fold(user('m0'), condensation('C', []), user('m1'), request('Q'), user('m2'))
    expect(isCondensationRequested(state)).toBe(true)
    expect(ids(state)).toEqual(['m0', 'm1', 'm2'])
  })

  it('D10 a log without a request has none pending', () => {
    expect(isCondensationRequested(fold(...users('m0', 'm1')))).toBe(false)
    expect(isCondensationRequested(fold())).toBe(false)
  })

  it('D11 a message enters an empty view, a call or a result alone does not', () => {
    const message = decode(user('m'))
    const [item] = viewEventsIn(replay([message]).branch.view)
    expect(item?.event).toBe(message)

    const call = action('a', { thinking: true })
    const waiting = fold(call)
    expect(ids(waiting)).toEqual([])
    expect(listPendingBatchesIn(waiting.branch.view)).toHaveLength(1)
    expect(pendingIds(waiting)).toEqual(['a'])

    const orphan = fold(observe('o', call))
    expect(ids(orphan)).toEqual([])
    expect(droppedResults(orphan)).toEqual(['o orphan_result'])
  })

  it('D12 a message does not change the request', () => {
    expect(isCondensationRequested(fold(request('Q'), user('m')))).toBe(true)
    expect(isCondensationRequested(fold(user('m0'), user('m1')))).toBe(false)
  })

  it('D13 a condensation can forget some or all messages, or apply to an empty view', () => {
    const three = ['m0', 'm1', 'm2']
    expect(ids(fold(...users(...three), condensation('C', ['m0', 'm2'])))).toEqual(['m1'])
    expect(ids(fold(...users(...three), condensation('C', three)))).toEqual([])
    expect(ids(fold(condensation('C', [])))).toEqual([])
  })

  it('D14 a summary can be at the front or at the end', () => {
    expect(ids(fold(...users('m0', 'm1', 'm2'), condensation('C', ['m0'], 'S', 0)))).toEqual([
      'C-summary',
      'm1',
      'm2',
    ])
    expect(ids(fold(...users('m0', 'm1'), condensation('C', [], 'S', 2)))).toEqual(['m0', 'm1', 'C-summary'])
  })

  it('D15 a condensation handles a request, if any, and is not in the view', () => {
    for (const before of [[user('m')], [user('m'), request('Q')]]) {
      const state = fold(...before, condensation('C', []))
      expect(isCondensationRequested(state)).toBe(false)
      expect(ids(state)).toEqual(['m'])
    }
  })

  it('D16 a request is not in the view, and a second one changes nothing', () => {
    for (const requests of [[request('Q1')], [request('Q1'), request('Q2')]]) {
      const state = fold(...requests)
      expect(isCondensationRequested(state)).toBe(true)
      expect(state.branch.view.length).toBe(0)
    }
  })

  it('D17 a state update changes neither the view nor the request', () => {
    const before = fold(user('m'), request('Q'))
    const after = reduce(before, decode(status('S', 'running')))
    expect(after.branch.view).toBe(before.branch.view)
    expect(isCondensationRequested(after)).toBe(true)
  })

  it('D18 a later condensation keeps earlier events forgotten', () => {
    const states = steps([
      ...users('m0', 'm1', 'm2', 'm3'),
      condensation('C1', ['m0', 'm1']),
      condensation('C2', ['m2']),
    ])
    expect(states.slice(3).map((state) => ids(state).length)).toEqual([4, 2, 1])
    expect(ids(states[5] as State)).toEqual(['m3'])
  })

  it('D19 a summary is before the events that follow', () => {
    expect(ids(fold(user('m0'), condensation('C', ['m0'], 'S', 0), user('m1')))).toEqual(['C-summary', 'm1'])
  })

  it('D20 a condensation handles a request and inserts its summary', () => {
    const state = fold(
      ...users('m0', 'm1', 'm2'),
      request('Q'),
      condensation('C', ['m0', 'm1'], 'S', 0),
      user('m3'),
    )
    expect(ids(state)).toEqual(['C-summary', 'm2', 'm3'])
    expect(isCondensationRequested(state)).toBe(false)
  })

  it('D21 a fresh state has an empty view', () => {
    expect(ids(initialState())).toEqual([])
    expect(initialState().branch.view.length).toBe(0)
  })

  it('D22 the view has one event after the first and five after the fifth', () => {
    const states = steps(users(...FIVE))
    expect(ids(states[0] as State)).toEqual(['m0'])
    expect(ids(states[4] as State)).toEqual(FIVE)
  })

  it('D23 folding event by event equals folding from the start', () => {
    const ten: Event[] = users(...FIVE, 'm5', 'm6', 'm7', 'm8', 'm9')
    for (const events of [ten, ten.toSpliced(6, 0, condensation('C', ['m1', 'm3'], 'S', 1))]) {
      for (const [index, state] of steps(events).entries()) {
        expect(encodeState(state)).toBe(encodeState(fold(...events.slice(0, index + 1))))
      }
    }
    expect(ids(fold(...ten.slice(0, 6), condensation('C', ['m1', 'm3'], 'S', 1)))).toEqual([
      'm0',
      'C-summary',
      'm2',
      'm4',
      'm5',
    ])
  })

  it('D24 only a condensation visits the events of the view', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `m${index}`)
    const before = fold(...users(...names))
    const visited = (event: Event): number => {
      const start = work.units
      reduce(before, decode(event))
      return work.units - start
    }
    expect(visited(user('next'))).toBe(0)
    expect(visited(condensation('C', ['m0']))).toBeGreaterThanOrEqual(1_000)
  })

  it('D25 returning to an event returns the same view object', () => {
    const state = fold(...users('m0', 'm1'), pause('p'))
    expect(state.branch.view).toBe(switchTo(state, 'm1').branch.view)
    expect(switchTo(switchTo(state, 'm0'), 'p').branch.view).toBe(state.branch.view)
  })

  it('D26 the view continues after writing and reading', () => {
    const again = reopen(fold(...users('m0', 'm1'), condensation('C', ['m0'], 'S', 0)))
    expect(ids(again)).toEqual(['C-summary', 'm1'])
    expect(ids(reduce(again, decode(user('m2'))))).toEqual(['C-summary', 'm1', 'm2'])
  })

  it('D27 an unreadable event does not affect the others in the view', () => {
    const bad = loadLine('{"kind":"MessageEvent","id":"bad","source":"user","llm_message":7}')
    expect(bad.fact).toMatchObject({ quarantined: true, id: 'bad' })
    const state = replay([decode(user('m0')), bad.fact, decode(user('m1'))])
    expect(ids(state)).toEqual(['m0', 'm1'])
    expect(state.log.head?.parent?.id).toBe('bad')
  })
})
