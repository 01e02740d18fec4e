import { kindOf } from '../../log/entry.ts'
import { memoize } from '../../messages/digest.ts'
import type { Replayed } from './replayed.ts'

export interface SearchFilter {
  readonly text: string
  readonly hidden: ReadonlySet<string>
}

const SLICE = 2048

export const kindCounts = memoize(({ states }: Replayed): readonly (readonly [string, number])[] => {
  const counts = new Map<string, number>()
  for (const entry of states.at(-1)?.log.entries ?? []) {
    const kind = kindName(entry.event === null ? null : kindOf(entry))
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].toSorted((a, b) => b[1] - a[1])
})

const kindName = (kind: string | null): string => kind ?? 'quarantined'

/** Yields all matching positions so far, after every {@link SLICE} events. */
export function* matching(
  { states }: Replayed,
  filter: SearchFilter,
): Generator<readonly number[], readonly number[]> {
  const wanted = filter.text.trim().toLowerCase()
  const matches: number[] = []
  let seen = 0
  for (const entry of states.at(-1)?.log.entries ?? []) {
    const { event, quarantined, seq } = entry
    seen += 1
    if (seen % SLICE === 0) yield matches
    if (filter.hidden.has(kindName(event?.kind ?? null))) continue
    const text = event === null ? (quarantined?.raw ?? '') : JSON.stringify(event)
    if (wanted === '' || text.toLowerCase().includes(wanted)) matches.push(seq)
  }
  return matches
}

export const isOpen = ({ text, hidden }: SearchFilter): boolean => text.trim() === '' && hidden.size === 0
