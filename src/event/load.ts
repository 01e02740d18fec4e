/**
 * The lenient way in, for logs that exist already: upcasts old shapes and quarantines what does not decode, so that one
 * bad line never costs the rest.
 */

import { decodeOwn, parseLine } from './decode.ts'
import { copyJson } from './freeze.ts'
import type { Issue } from './issues.ts'
import { lossesOf } from './lossy.ts'
import { type Fact, isQuarantined, quarantine } from './quarantine.ts'
import type { JsonValue } from './shapes.ts'
import { upcast } from './upcast.ts'

/** A fact, and what there is to say of it; nothing for a line in quarantine, which is as it was. */
export interface Loaded {
  readonly fact: Fact
  /** The names of the upcasters that made it what it is. */
  readonly upcasts: readonly string[]
  /**
   * What is wrong with an event that loads all the same: payloads that do not fit their kind, and what a line's JSON
   * loses.
   */
  readonly warnings: readonly Issue[]
}

/**
 * Loads a line of JSON text: upcast, then decoded, else kept in quarantine with its text as given (design D16).
 *
 * Never throws. O(length).
 *
 * @example
 * loadLine('{"kind":"PauseEvent","id":null}') // { fact: { kind: 'PauseEvent' }, upcasts: ['nulls.identity'], warnings: [] }
 * loadLine('{"kind":"PauseEvent","id":"a","id":"b"}').warnings[0].type // 'duplicate_key'
 */
export function loadLine(text: string): Loaded {
  const parsed = parseLine(text)
  if (!parsed.ok) return keep(text, [parsed.issue], undefined)
  const loaded = load(parsed.value, () => text)
  if (isQuarantined(loaded.fact)) return loaded
  const losses = lossesOf(text, parsed.value as object)
  return losses.length === 0 ? loaded : { ...loaded, warnings: [...loaded.warnings, ...losses] }
}

/**
 * Loads a value: upcast, then decoded, else kept in quarantine as JSON text, with null in place of what JSON cannot
 * say.
 *
 * Never throws and never touches its input. O(size).
 *
 * @example
 * loadValue({ kind: 'Nonsense', id: 'n1' }).fact.raw // '{"kind":"Nonsense","id":"n1"}'
 */
export function loadValue(value: unknown): Loaded {
  const copied = copyJson(value)
  const write = (): string => textOf(copied.value)
  return copied.issues.length > 0 ? keep(write(), copied.issues, copied.value) : load(copied.value, write)
}

function load(given: JsonValue, write: () => string): Loaded {
  const { value, applied } = upcast(given)
  const decoded = decodeOwn(value)
  if (!decoded.ok) return keep(write(), decoded.issues, given)
  return { fact: decoded.event, upcasts: applied, warnings: decoded.warnings }
}

function keep(raw: string, issues: readonly Issue[], value: JsonValue | undefined): Loaded {
  return { fact: quarantine(raw, issues, value), upcasts: [], warnings: [] }
}

function textOf(value: JsonValue): string {
  try {
    return JSON.stringify(value)
  } catch {
    return 'null' // longer than the engine's longest string
  }
}
