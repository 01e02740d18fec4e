/**
 * How many events of each kind and source a log holds, as one text: events are counted in, and a filter asks which it
 * lets through.
 */

import type { EventKind } from '../../event/kinds.ts'
import type { Source } from '../../event/shapes.ts'
import type { CheckedEventFilter } from '../kit/query/event-query.ts'

/** The events of a kind from a source; a search walks each such group in its own stretch of an index. */
export interface Group {
  readonly kind: EventKind
  readonly source: Source
  readonly count: number
}

/**
 * Counts more events in. O(kinds + events).
 *
 * @example
 * countKinds('PauseEvent/user 2', ['PauseEvent/user', 'ActionEvent/agent']) // 'PauseEvent/user 3,ActionEvent/agent 1'
 */
export function countKinds(kinds: string, added: readonly string[]): string {
  const counts = new Map(wordsOf(kinds))
  for (const name of added) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => `${name} ${count}`).join(',')
}

/**
 * The groups of a log that a filter lets through. O(kinds).
 *
 * @example
 * groupsOf('PauseEvent/user 2,ActionEvent/agent 1', { kinds: null, source: 'user' })
 * // [{ kind: 'PauseEvent', source: 'user', count: 2 }]
 */
export function groupsOf(
  kinds: string,
  { kinds: wanted, source }: Pick<CheckedEventFilter, 'kinds' | 'source'>,
): Group[] {
  const groups: Group[] = []
  for (const [name, count] of wordsOf(kinds)) {
    const [kind, from] = name.split('/') as [EventKind, Source]
    if (wanted?.has(kind) !== false && (source ?? from) === from) groups.push({ kind, source: from, count })
  }
  return groups
}

/** How many events are counted in all. O(kinds). */
export const countAll = (groups: readonly Group[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0)

function wordsOf(kinds: string): [name: string, count: number][] {
  if (kinds === '') return []
  return kinds.split(',').map((word) => {
    const at = word.indexOf(' ')
    return [word.slice(0, at), Number(word.slice(at + 1))]
  })
}
