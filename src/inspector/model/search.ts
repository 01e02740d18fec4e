/** Which events of a log a reader wants to see: by words in them, by kind, and what is wrong with them. */

import { kindOf } from '../../log/entry.ts'
import type { Replayed } from './replayed.ts'

export interface Filter {
  /** Part of the event's text, in any case; empty for all. */
  readonly text: string
  readonly hidden: ReadonlySet<string>
}

/** The kind of a quarantined line without one. */
const UNREADABLE = 'quarantined'

/** Events that are searched before the generator yields. */
const SLICE = 2048

/** The number of events of each kind, the most frequent first. O(n). */
export function kindCounts({ states }: Replayed): [string, number][] {
  const counts = new Map<string, number>()
  for (const entry of states.at(-1)?.log.entries ?? []) {
    const kind = kindName(entry.event === null ? null : kindOf(entry))
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].toSorted((a, b) => b[1] - a[1])
}

const kindName = (kind: string | null): string => kind ?? UNREADABLE

/**
 * The positions of the events that fit, in log order; yields what was found so far, some thousand events at a time.
 * O(size of the log).
 */
export function* matching(
  { states }: Replayed,
  filter: Filter,
): Generator<readonly number[], readonly number[]> {
  const wanted = filter.text.trim().toLowerCase()
  const found: number[] = []
  let seen = 0
  for (const entry of states.at(-1)?.log.entries ?? []) {
    const { event, quarantined, seq } = entry
    seen += 1
    if (seen % SLICE === 0) yield found
    if (filter.hidden.has(kindName(event?.kind ?? null))) continue
    const fits =
      wanted === '' || (JSON.stringify(event) ?? quarantined?.raw ?? '').toLowerCase().includes(wanted)
    if (fits || (event === null && (quarantined?.raw ?? '').toLowerCase().includes(wanted))) found.push(seq)
  }
  return found
}

/** Whether a filter is empty. */
export const isOpen = ({ text, hidden }: Filter): boolean => text.trim() === '' && hidden.size === 0
