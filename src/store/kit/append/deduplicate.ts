/** Finds the events of an append that are in the log already, so that appending again changes nothing (law S). */

import { ColloquyError } from '../../../event/errors.ts'
import type { Fact } from '../../../event/quarantine.ts'
import type { AppendOptions, ExpectedVersion } from '../../contract/append.ts'
import { sameBody } from './body.ts'
import type { AppendContext } from './append-context.ts'
import type { StoredEvent } from '../../contract/stored-event.ts'

/**
 * What is known of a fact: the stored event that it is, the place in the batch where it was given before, or that it is
 * new.
 */
export type Existing = StoredEvent | number | null

/**
 * Finds the facts that are in the log. A live append and an import at any version know them by id; an import that names
 * its version continues or repeats a copy, and knows them by position. O(facts) lookups.
 *
 * @throws `id_conflict` for another body under a known id, in a live append; `version_conflict` for another body at a
 * position.
 */
export function deduplicate(
  context: AppendContext,
  facts: readonly Fact[],
  options: AppendOptions,
): readonly Existing[] {
  const { mode = 'live', expected = 'any' } = options
  return mode === 'import' && expected !== 'any'
    ? byPosition(context, facts, expected)
    : byId(context, facts, mode === 'live')
}

function byId(context: AppendContext, facts: readonly Fact[], refuse: boolean): readonly Existing[] {
  const given = new Map<string, number>()
  return facts.map((fact, i): Existing => {
    const { id } = fact
    if (id === undefined) return null
    const before = given.get(id)
    const node = before === undefined ? context.find(id) : undefined
    if (before === undefined && node === undefined) {
      given.set(id, i)
      return null
    }
    const existing = before === undefined ? context.at((node as { seq: number }).seq) : before
    if (sameBody(typeof existing === 'number' ? (facts[existing] as Fact) : existing.fact, fact))
      return existing
    if (!refuse) return null
    throw new ColloquyError(
      'id_conflict',
      `Another event stands under the id ${JSON.stringify(id)}; give the new one an id of its own.`,
      { conversationId: context.conversationId, id },
    )
  })
}

function byPosition(
  context: AppendContext,
  facts: readonly Fact[],
  expected: Exclude<ExpectedVersion, 'any'>,
): readonly Existing[] {
  const { version } = context.tip
  const base = versionOf(expected)
  if (base > version) throw versionConflict(context, base)
  return facts.map((fact, i): Existing => {
    if (base + i >= version) return null
    const stored = context.at(base + i)
    if (sameBody(stored.fact, fact)) return stored
    throw versionConflict(context, base)
  })
}

/** The number of events that a writer believes the log to have. */
export function versionOf(expected: ExpectedVersion): number {
  return typeof expected === 'number' ? expected : 0
}

/** The error of a writer who was overtaken; `data.version` says how far the log is. */
export function versionConflict(context: AppendContext, expected: number): ColloquyError {
  const { conversationId, tip } = context
  return new ColloquyError(
    'version_conflict',
    `The log has ${tip.version} events where ${expected} were expected; read what came in between and decide again.`,
    { conversationId, version: tip.version, expected },
  )
}
