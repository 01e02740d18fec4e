/** Group E of the inventory: position and forgetting of several summaries in a view. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { summaryId } from '../../src/view/condense.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { condensation, user, users } from '../build.ts'
import { fold, ids } from './inspect.ts'

/** A view with two summaries: `C1-summary m1 C2-summary m3`. */
const TWO_SUMMARIES: readonly Event[] = [
  user('m0'),
  condensation('C1', ['m0'], 'A', 0),
  ...users('m1', 'm2'),
  condensation('C2', ['m2'], 'B', 2),
  user('m3'),
]

/** A view with three summaries: `C1-summary m0 C2-summary m1 C3-summary m2`. */
const THREE_SUMMARIES: readonly Event[] = [
  ...users('m0', 'm1', 'm2'),
  condensation('C1', [], 'A', 0),
  condensation('C2', [], 'B', 2),
  condensation('C3', [], 'C', 4),
]

/** Summary texts of the view, in order. */
const summaries = (...events: readonly Event[]): string[] =>
  [...viewEventsIn(fold(...events).branch.view)].flatMap(({ event }) =>
    event.kind === 'CondensationSummaryEvent' ? [event.summary] : [],
  )

/** A summary at offset 1 that forgets nothing. */
const summaryAt1 = (id: string): Event => condensation(id, [], id, 1)

describe('group E: several summaries', () => {
  it('E1 two condensations place each summary at its offset', () => {
    const state = fold(
      ...users('m0', 'm1'),
      condensation('C1', ['m0'], 'A', 0),
      ...users('m2', 'm3'),
      condensation('C2', ['m2'], 'B', 2),
      user('m4'),
    )
    expect(ids(state)).toEqual(['C1-summary', 'm1', 'C2-summary', 'm3', 'm4'])
  })

  it('E2 three summaries that forget nothing are at their offsets', () => {
    const state = fold(
      ...users('m0', 'm1'),
      condensation('C1', [], 'A', 0),
      ...users('m2', 'm3'),
      condensation('C2', [], 'B', 3),
      ...users('m4', 'm5'),
      condensation('C3', [], 'C', 5),
    )
    const result = ids(state)
    expect(['C1', 'C2', 'C3'].map((id) => result.indexOf(`${id}-summary`))).toEqual([0, 3, 5])
    expect(result).toHaveLength(9)
  })

  it('E3 summaries and messages alternate in the view', () => {
    expect(ids(fold(...TWO_SUMMARIES))).toEqual(['C1-summary', 'm1', 'C2-summary', 'm3'])
    expect(summaries(...TWO_SUMMARIES)).toEqual(['A', 'B'])
  })

  it('E4 a condensation can forget an earlier summary', () => {
    expect(summaries(...TWO_SUMMARIES, condensation('C3', ['C1-summary']))).toEqual(['B'])
  })

  it('E5 forgetting the middle of three summaries leaves the others', () => {
    expect(summaries(...THREE_SUMMARIES)).toEqual(['A', 'B', 'C'])
    expect(summaries(...THREE_SUMMARIES, condensation('C4', ['C2-summary']))).toEqual(['A', 'C'])
  })

  it('E6 forgetting the latest summary leaves the earlier one', () => {
    expect(summaries(...TWO_SUMMARIES, condensation('C3', ['C2-summary']))).toEqual(['A'])
  })

  it('E7 events after a forgotten summary move up', () => {
    const log = [...users('m0', 'm1'), condensation('C1', [], 'A', 0), condensation('C2', [], 'B', 2)]
    expect(ids(fold(...log))).toEqual(['C1-summary', 'm0', 'C2-summary', 'm1'])
    expect(ids(fold(...log, condensation('C3', ['C1-summary'])))).toEqual(['m0', 'C2-summary', 'm1'])
  })

  it('E8 a condensation can forget two summaries', () => {
    expect(summaries(...THREE_SUMMARIES, condensation('C4', ['C1-summary', 'C3-summary']))).toEqual(['B'])
  })

  it('E9 forgetting all summaries leaves the messages', () => {
    const all = ['C1-summary', 'C2-summary', 'C3-summary']
    expect(ids(fold(...THREE_SUMMARIES, condensation('C4', all)))).toEqual(['m0', 'm1', 'm2'])
  })

  it('E10 two condensations can forget one summary each', () => {
    expect(
      summaries(
        ...THREE_SUMMARIES,
        condensation('C4', ['C1-summary']),
        user('m3'),
        condensation('C5', ['C2-summary']),
      ),
    ).toEqual(['C'])
  })

  it('E11 the id of a summary derives from its condensation', () => {
    expect(summaryId('C1')).toBe('C1-summary')
    expect(ids(fold(...TWO_SUMMARIES))).toEqual(ids(fold(...TWO_SUMMARIES)))
    expect(ids(fold(...TWO_SUMMARIES))).toContain(summaryId('C1'))
  })

  it('E12 each summary has the text of its condensation', () => {
    const view = [...viewEventsIn(fold(...TWO_SUMMARIES).branch.view)]
    const byId = new Map(
      view.map(({ id, event }) => [id, event.kind === 'CondensationSummaryEvent' ? event.summary : null]),
    )
    expect(byId.get(summaryId('C1'))).toBe('A')
    expect(byId.get(summaryId('C2'))).toBe('B')
  })

  it('E13 a summary can replace the summary before it', () => {
    const log = [
      ...users('m0', 'm1'),
      condensation('C1', ['m0'], 'Old', 0),
      condensation('C2', ['C1-summary'], 'New', 0),
    ]
    expect(ids(fold(...log))).toEqual(['C2-summary', 'm1'])
    expect(summaries(...log)).toEqual(['New'])
  })

  it('E14 the offset counts the events that remain', () => {
    const state = fold(
      ...users('m0', 'm1', 'm2'),
      condensation('C', ['m0', 'm1'], 'S', 1),
      ...users('m3', 'm4'),
    )
    expect(ids(state)).toEqual(['m2', 'C-summary', 'm3', 'm4'])
  })

  it('E15 a summary can be first or last', () => {
    const three = users('m0', 'm1', 'm2')
    expect(ids(fold(...three, condensation('C', [], 'S', 0))).indexOf('C-summary')).toBe(0)
    expect(ids(fold(...three, condensation('C', [], 'S', 3))).indexOf('C-summary')).toBe(3)
  })

  it('E16 summaries at one offset appear in reverse order', () => {
    expect(ids(fold(...users('m0', 'm1'), summaryAt1('C1'), summaryAt1('C2')))).toEqual([
      'm0',
      'C2-summary',
      'C1-summary',
      'm1',
    ])
    expect(summaries(...users('m0', 'm1'), summaryAt1('C1'), summaryAt1('C2'), summaryAt1('C3'))).toEqual([
      'C3',
      'C2',
      'C1',
    ])
  })

  it('E17 a summary can replace messages and an earlier summary', () => {
    const state = fold(
      ...users('m0', 'm1'),
      condensation('C1', ['m0'], 'Old', 0),
      ...users('m2', 'm3', 'm4'),
      condensation('C2', ['m1', 'm2', 'C1-summary'], 'New', 0),
    )
    expect(ids(state)).toEqual(['C2-summary', 'm3', 'm4'])
  })

  it('E18 an offset at the end of the remaining events appends the summary', () => {
    const state = fold(...users('m0', 'm1', 'm2', 'm3'), condensation('C', ['m0', 'm1'], 'S', 2), user('m4'))
    expect(ids(state).indexOf('C-summary')).toBe(2)
    expect(ids(state)).toEqual(['m2', 'm3', 'C-summary', 'm4'])
  })

  it('E19 two condensations can summarize every other message', () => {
    const state = fold(
      ...users('m0', 'm1'),
      condensation('C1', ['m1'], 'A', 1),
      ...users('m2', 'm3'),
      condensation('C2', ['m3'], 'B', 3),
      ...users('m4', 'm5'),
    )
    expect(ids(state)).toEqual(['m0', 'C1-summary', 'm2', 'C2-summary', 'm4', 'm5'])
  })

  it('E20 a condensation without a summary only forgets', () => {
    const log = [...users('m0', 'm1', 'm2'), condensation('C', ['m1'])]
    expect(ids(fold(...log))).toEqual(['m0', 'm2'])
    expect(summaries(...log)).toEqual([])
  })

  it('E21 a summary can replace every event', () => {
    const state = fold(...users('m0', 'm1', 'm2'), condensation('C', ['m0', 'm1', 'm2'], 'S', 0))
    expect(ids(state)).toEqual(['C-summary'])
  })

  it('E22 a condensation ignores an unknown id', () => {
    expect(ids(fold(...users('m0', 'm1', 'm2'), condensation('C', ['nope'])))).toEqual(['m0', 'm1', 'm2'])
  })
})
