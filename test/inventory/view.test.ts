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
import { dropped, fold, ids, open, read, reopen, wanted } from './look.ts'

const FIVE = ['m0', 'm1', 'm2', 'm3', 'm4']

/** The state after each `reduce`. */
function steps(events: readonly Event[]): State[] {
  let state = initialState()
  return events.map((event) => (state = reduce(state, read(event))))
}

describe('group D: the view', () => {
  it('D1 five messages', () => {
    const state = fold(...users(...FIVE))
    expect(ids(state)).toEqual(FIVE)
    expect(state.branch.view.length).toBe(5)
  })

  it('D2 all of them forgotten', () => {
    const state = fold(...users(...FIVE), condensation('C', FIVE))
    expect(ids(state)).toEqual([])
    expect(state.branch.view.length).toBe(0)
  })

  it.each(FIVE)('D3 one of them forgotten: %s', (gone) => {
    expect(ids(fold(...users(...FIVE), condensation('C', [gone])))).toEqual(FIVE.filter((id) => id !== gone))
  })

  it.each([0, 1, 2, 3, 4])('D4 a summary alone, at %i', (offset) => {
    const state = fold(...users(...FIVE), condensation('C', [], 'S', offset))
    expect(ids(state)).toEqual(FIVE.toSpliced(offset, 0, 'C-summary'))
    expect(state.branch.view.length).toBe(6)
  })

  it('D5 messages around a condensation', () => {
    const state = fold(...users('m0', 'm1'), condensation('C', ['m0']), ...users('m2', 'm3'))
    expect(ids(state)).toEqual(['m1', 'm2', 'm3'])
    expect([...viewEventsIn(state.branch.view)].map((item) => item.event.kind)).not.toContain('Condensation')
  })

  it('D6 a request', () => {
    const state = fold(...users('m0', 'm1'), request('Q'), user('m2'))
    expect(wanted(state)).toBe(true)
    expect(ids(state)).toEqual(['m0', 'm1', 'm2'])
  })

  it('D7 a request and its condensation', () => {
    const state = fold(
      ...users('m0', 'm1'),
      request('Q'),
      user('m2'),
      condensation('C', ['m0', 'm1']),
      user('m3'),
    )
    expect(wanted(state)).toBe(false)
    expect(ids(state)).toEqual(['m2', 'm3'])
  })

  it('D8 a second request after the condensation', () => {
    const state = fold(
      user('m0'),
      request('Q1'),
      user('m1'),
      condensation('C', []),
      user('m2'),
      request('Q2'),
      user('m3'),
    )
    expect(wanted(state)).toBe(true)
    expect(ids(state)).toEqual(['m0', 'm1', 'm2', 'm3'])
  })

  it('D9 a request after a condensation that nobody asked for', () => {
    const state = fold(user('m0'), condensation('C', []), user('m1'), request('Q'), user('m2'))
    expect(wanted(state)).toBe(true)
    expect(ids(state)).toEqual(['m0', 'm1', 'm2'])
  })

  it('D10 no request at all', () => {
    expect(wanted(fold(...users('m0', 'm1')))).toBe(false)
    expect(wanted(fold())).toBe(false)
  })

  it('D11 the first event of a view', () => {
    const message = read(user('m'))
    const [item] = viewEventsIn(replay([message]).branch.view)
    expect(item?.event).toBe(message)

    const call = action('a', { thinking: true })
    const waiting = fold(call)
    expect(ids(waiting)).toEqual([])
    expect(listPendingBatchesIn(waiting.branch.view)).toHaveLength(1)
    expect(open(waiting)).toEqual(['a'])

    const orphan = fold(observe('o', call))
    expect(ids(orphan)).toEqual([])
    expect(dropped(orphan)).toEqual(['o orphan_result'])
  })

  it('D12 a message leaves the request as it was', () => {
    expect(wanted(fold(request('Q'), user('m')))).toBe(true)
    expect(wanted(fold(user('m0'), user('m1')))).toBe(false)
  })

  it('D13 forgetting some, all, and from nothing', () => {
    const three = ['m0', 'm1', 'm2']
    expect(ids(fold(...users(...three), condensation('C', ['m0', 'm2'])))).toEqual(['m1'])
    expect(ids(fold(...users(...three), condensation('C', three)))).toEqual([])
    expect(ids(fold(condensation('C', [])))).toEqual([])
  })

  it('D14 a summary at the front and at the end', () => {
    expect(ids(fold(...users('m0', 'm1', 'm2'), condensation('C', ['m0'], 'S', 0)))).toEqual([
      'C-summary',
      'm1',
      'm2',
    ])
    expect(ids(fold(...users('m0', 'm1'), condensation('C', [], 'S', 2)))).toEqual(['m0', 'm1', 'C-summary'])
  })

  it('D15 a condensation answers a request, and is not seen', () => {
    for (const before of [[user('m')], [user('m'), request('Q')]]) {
      const state = fold(...before, condensation('C', []))
      expect(wanted(state)).toBe(false)
      expect(ids(state)).toEqual(['m'])
    }
  })

  it('D16 a request is not seen, and a second one changes nothing', () => {
    for (const requests of [[request('Q1')], [request('Q1'), request('Q2')]]) {
      const state = fold(...requests)
      expect(wanted(state)).toBe(true)
      expect(state.branch.view.length).toBe(0)
    }
  })

  it('D17 a state update is not seen', () => {
    const before = fold(user('m'), request('Q'))
    const after = reduce(before, read(status('S', 'running')))
    expect(after.branch.view).toBe(before.branch.view)
    expect(wanted(after)).toBe(true)
  })

  it('D18 what is forgotten stays forgotten', () => {
    const states = steps([
      ...users('m0', 'm1', 'm2', 'm3'),
      condensation('C1', ['m0', 'm1']),
      condensation('C2', ['m2']),
    ])
    expect(states.slice(3).map((state) => ids(state).length)).toEqual([4, 2, 1])
    expect(ids(states[5] as State)).toEqual(['m3'])
  })

  it('D19 a summary in front of what follows', () => {
    expect(ids(fold(user('m0'), condensation('C', ['m0'], 'S', 0), user('m1')))).toEqual(['C-summary', 'm1'])
  })

  it('D20 from request to summary', () => {
    const state = fold(
      ...users('m0', 'm1', 'm2'),
      request('Q'),
      condensation('C', ['m0', 'm1'], 'S', 0),
      user('m3'),
    )
    expect(ids(state)).toEqual(['C-summary', 'm2', 'm3'])
    expect(wanted(state)).toBe(false)
  })

  it('D21 a fresh state', () => {
    expect(ids(initialState())).toEqual([])
    expect(initialState().branch.view.length).toBe(0)
  })

  it('D22 the view after one event and after five', () => {
    const states = steps(users(...FIVE))
    expect(ids(states[0] as State)).toEqual(['m0'])
    expect(ids(states[4] as State)).toEqual(FIVE)
  })

  it('D23 event by event and from the start', () => {
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

  it('D24 nothing visits the view but a condensation', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `m${index}`)
    const before = fold(...users(...names))
    const visited = (event: Event): number => {
      const start = work.units
      reduce(before, read(event))
      return work.units - start
    }
    expect(visited(user('next'))).toBe(0)
    expect(visited(condensation('C', ['m0']))).toBeGreaterThanOrEqual(1_000)
  })

  it('D25 a view is never built a second time', () => {
    const state = fold(...users('m0', 'm1'), pause('p'))
    expect(state.branch.view).toBe(switchTo(state, 'm1').branch.view)
    expect(switchTo(switchTo(state, 'm0'), 'p').branch.view).toBe(state.branch.view)
  })

  it('D26 after writing and reading the view goes on', () => {
    const again = reopen(fold(...users('m0', 'm1'), condensation('C', ['m0'], 'S', 0)))
    expect(ids(again)).toEqual(['C-summary', 'm1'])
    expect(ids(reduce(again, read(user('m2'))))).toEqual(['C-summary', 'm1', 'm2'])
  })

  it('D27 an unreadable event does not cost the view', () => {
    const bad = loadLine('{"kind":"MessageEvent","id":"bad","source":"user","llm_message":7}')
    expect(bad.fact).toMatchObject({ quarantined: true, id: 'bad' })
    const state = replay([read(user('m0')), bad.fact, read(user('m1'))])
    expect(ids(state)).toEqual(['m0', 'm1'])
    expect(state.log.head?.parent?.id).toBe('bad')
  })
})
