import { canonicalJson } from '../../../event/encode.ts'
import { ColloquyError, unknownEvent } from '../../../event/errors.ts'
import { type Fact, isQuarantined } from '../../../event/quarantine.ts'
import type { StoredEvent } from '../../contract/query.ts'
import type { Replacement } from '../../contract/store.ts'
import { invalidArgument } from '../../../event/check-value.ts'
import { ownFact } from './body.ts'
import { checkIsFact } from './decide-append.ts'

export interface CheckedReplacement extends Replacement {
  readonly id: string
}

/**
 * Checks replacements of stored bodies. O(size).
 * @throws `invalid_event`; `invalid_argument` if `after` has another id, kind, source, parent or time, or if
 *   an id is repeated.
 * @example
 * const before = { kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'a secret' }
 * const [replacement] = checkReplacements([{ before, after: { ...before, error: '[erased]' } }])
 * replacement.id // 'e'
 * checkReplaced('c', replacement, { fact: before })
 */
export function checkReplacements(replacements: readonly Replacement[]): CheckedReplacement[] {
  const ids = new Set<string>()
  return replacements.map(({ before, after }) => {
    checkIsFact(before)
    checkIsFact(after)
    const { id } = after
    if (typeof id !== 'string' || (before.id !== undefined && before.id !== id))
      return invalidArgument('after', 'must have the same id as `before`')
    if (ids.has(id)) invalidArgument('replacements', 'must not contain an id twice')
    ids.add(id)
    if (placementOf(before) !== placementOf(after))
      invalidArgument('after', 'must have the kind, source, parent and timestamp of `before`')
    return { id, before, after: ownFact(after) }
  })
}

/** Checks that a stored body is `before`. @throws `unknown_event`, or `version_conflict` if it differs. */
export function checkReplaced(
  conversationId: string,
  { id, before }: CheckedReplacement,
  stored: StoredEvent | null | undefined,
): asserts stored is StoredEvent {
  if (stored === null || stored === undefined) throw unknownEvent(JSON.stringify(id), { conversationId, id })
  if (canonicalJson(stored.fact) !== canonicalJson(before))
    throw new ColloquyError(
      'version_conflict',
      `The body of event ${JSON.stringify(id)} has changed. Read it again and retry.`,
      { conversationId, id },
    )
}

const placementOf = (fact: Fact): string =>
  isQuarantined(fact)
    ? canonicalJson(['quarantined', fact.event_kind ?? null, fact.parent_id ?? null])
    : canonicalJson([fact.kind, fact.source ?? null, fact.parent_id ?? null, fact.timestamp ?? null])
