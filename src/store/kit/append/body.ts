import { withDefaults } from '../../../event/nested-shapes.ts'
import { canonicalJson } from '../../../event/encode.ts'
import { ColloquyError } from '../../../event/errors.ts'
import { copyJson, freezeJson, isFrozenJson, MAX_DEPTH } from '../../../event/freeze.ts'
import { attempt, isObject } from '../../../event/json.ts'
import { isQuarantined, type Fact } from '../../../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../../../event/shapes.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Whether an event equals the stored event (law S). Compares only the fields of `input`, without key order and
 * `ReplyRecord`. For a field that `stored` lacks, the field's default is compared, or null if it has none. Quarantined
 * lines compare by text. O(size).
 */
export function sameBody(stored: Fact, input: Fact): boolean {
  if (isQuarantined(stored) || isQuarantined(input))
    return isQuarantined(stored) && isQuarantined(input) && stored.raw === input.raw
  if (stored.kind !== input.kind) return false
  const before = withDefaults(stored) as object as Fields
  const now = withDefaults(input) as object as Fields
  return Object.keys(input).every((key) => {
    // A null parent means HEAD, like a missing parent, so it is not compared.
    if (key === 'parent_id' && (input.parent_id ?? null) === null) return true
    const text = (fields: Fields) => canonicalJson(withoutReply(input.kind, key, fields[key] ?? null))
    return text(before) === text(now)
  })
}

/** Returns the value without the record of a model's reply: if a request is retried, its record differs. */
function withoutReply(kind: string, key: string, value: unknown): unknown {
  const holds =
    (kind === 'ActionEvent' && key === 'tool_call') || (kind === 'MessageEvent' && key === 'llm_message')
  if (!holds || !isObject(value as JsonValue)) return value
  const { reply: _, ...rest } = value as JsonObject
  return rest
}

/**
 * Returns the fact itself if it is deeply frozen JSON, as a decoded fact is; otherwise a frozen copy. Callers
 * cannot change the stored fact afterwards. O(size).
 */
export function ownFact(fact: Fact): Fact {
  // The issues of a quarantined line contain its invalid values, nested some levels deeper.
  const isAside = isQuarantined(fact)
  if (isFrozenJson(fact, isAside ? 2 * MAX_DEPTH : MAX_DEPTH)) return fact
  const { value, issues } = copyJson(fact)
  if (issues.length === 0) return value as object as Fact
  const copy = jsonCopy(fact)
  if (copy !== undefined && (freezeJson(copy).length === 0 || isAside)) return copy as object as Fact
  throw new ColloquyError(
    'invalid_event',
    `An appended event must be plain JSON, nested at most ${MAX_DEPTH} levels deep. Decode it with \`decodeEvent\`.`,
  )
}

/** Copies JSON; undefined for cycles, bigints, throwing getters, and values that are nested too deeply. */
const jsonCopy = (value: object): JsonValue | undefined =>
  attempt(() => JSON.parse(JSON.stringify(value)) as JsonValue, undefined)
