/** The facts of an append go in; out comes, for each, the event that it already is, or that it is new (law S). */

import { ColloquyError } from '../event/errors.ts'
import type { Fact } from '../event/quarantine.ts'
import type { AppendOptions, ExpectedVersion } from './append.ts'
import { sameBody } from './body.ts'
import type { Lookup } from './lookup.ts'
import type { StoredEvent } from './stored-event.ts'

/** What is known of a fact: the stored event that it is, the place in the batch where it was given before, or that it is new. */
export type Known = StoredEvent | number | null

/**
 * Finds the facts that are in the log. A live append and an import at any version know them by id; an import that names its version
 * continues or repeats a copy, and knows them by position. O(facts) lookups.
 *
 * @throws `id_conflict` for another body under a known id, in a live append; `version_conflict` for another body at a position.
 */
export function recognise(lookup: Lookup, facts: readonly Fact[], options: AppendOptions): readonly Known[] {
  const { mode = 'live', expected = 'any' } = options
  return mode === 'import' && expected !== 'any'
    ? byPosition(lookup, facts, expected)
    : byId(lookup, facts, mode === 'live')
}

function byId(lookup: Lookup, facts: readonly Fact[], refuse: boolean): readonly Known[] {
  const given = new Map<string, number>()
  return facts.map((fact, i): Known => {
    const { id } = fact
    if (id === undefined) return null
    const before = given.get(id)
    const spot = before === undefined ? lookup.find(id) : undefined
    if (before === undefined && spot === undefined) {
      given.set(id, i)
      return null
    }
    const twin = before === undefined ? lookup.at((spot as { seq: number }).seq) : before
    if (sameBody(typeof twin === 'number' ? (facts[twin] as Fact) : twin.fact, fact)) return twin
    if (!refuse) return null
    throw new ColloquyError(
      'id_conflict',
      `Another event stands under the id ${JSON.stringify(id)}; give the new one an id of its own.`,
      { conversationId: lookup.conversationId, id },
    )
  })
}

function byPosition(
  lookup: Lookup,
  facts: readonly Fact[],
  expected: Exclude<ExpectedVersion, 'any'>,
): readonly Known[] {
  const { version } = lookup.tip
  const base = versionOf(expected)
  if (base > version) throw versionConflict(lookup, base)
  return facts.map((fact, i): Known => {
    if (base + i >= version) return null
    const stored = lookup.at(base + i)
    if (sameBody(stored.fact, fact)) return stored
    throw versionConflict(lookup, base)
  })
}

/** The number of events that a writer believes the log to have. */
export function versionOf(expected: Exclude<ExpectedVersion, 'any'>): number {
  return typeof expected === 'number' ? expected : 0
}

/** The error of a writer who was overtaken; `data.version` says how far the log is. */
export function versionConflict(lookup: Lookup, expected: number): ColloquyError {
  const { conversationId, tip } = lookup
  return new ColloquyError(
    'version_conflict',
    `The log has ${tip.version} events where ${expected} were expected; read what came in between and decide again.`,
    { conversationId, version: tip.version, expected },
  )
}
