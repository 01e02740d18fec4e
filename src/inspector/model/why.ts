/** What is wrong or remarkable in a log, in words, with the events that show it. */

import { stuckDetector } from '../../context/stuck/detector.ts'
import { checkLog } from '../../laws/check-log.ts'
import { listDroppedResults, listWarnings } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import type { Replayed } from './replayed.ts'

/** One thing that is wrong or remarkable. */
export interface Finding {
  readonly kind: string
  readonly severity: 'error' | 'warning' | 'note'
  readonly text: string
  readonly rule: string | null
  readonly law: string | null
  readonly seq: number
  readonly ids: readonly string[]
}

/** By the published thresholds. */
const LOOPS = stuckDetector()

const SEVERITIES = ['error', 'warning', 'note'] as const

/** All that is found in a log, the worst first. O(n log n). */
export function findingsOf({ states, loaded, document }: Replayed): Finding[] {
  const state = states.at(-1) as State
  const found: Finding[] = checkLog(loaded, { conversationId: document.conversation }).map(
    ({ law, id, seq, message }) => ({
      kind: 'law',
      severity: 'warning',
      text: message,
      rule: null,
      law,
      seq,
      ids: id === null ? [] : [id],
    }),
  )
  for (const { seq, id, code, message } of listWarnings(state))
    found.push({
      kind: code === 'quarantined' ? 'quarantined' : 'repaired',
      severity: code === 'quarantined' ? 'error' : 'warning',
      text: `${code.replaceAll('_', ' ')}: ${message}`,
      rule: null,
      law: null,
      seq,
      ids: id === null ? [] : [id],
    })
  const verdict = LOOPS.verdict(state)
  if (verdict !== null)
    found.push({
      kind: 'loop',
      severity: 'error',
      text: verdict.reason,
      rule: null,
      law: null,
      seq: states.length - 2,
      ids: verdict.eventIds,
    })
  for (const { id, reason } of listDroppedResults(state))
    found.push({
      kind: reason,
      severity: 'warning',
      text:
        reason === 'duplicate_result'
          ? 'A result is left out of the view: its call has one already.'
          : 'A result is left out of the view: it ends no pending call of the view.',
      rule: 'U3',
      law: 'P4',
      seq: state.log.entries.length - 1,
      ids: [id],
    })
  return found.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
}

/** The worst that is said of each position. */
export function flagsOf(found: readonly Finding[], find: (id: string) => number | null): Map<number, string> {
  const flags = new Map<number, string>()
  for (const { severity, seq, ids } of found.toReversed()) {
    if (severity === 'note') continue
    const places = ids.length === 0 ? [seq] : ids.slice(0, 50).map(find)
    for (const at of places) if (at !== null) flags.set(at, severity)
  }
  return flags
}
