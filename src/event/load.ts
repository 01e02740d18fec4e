/** A recorded line or value of any known dialect goes in; an event in today's shape comes out, or the line in quarantine. */

import { decodeOwn, parseLine } from './decode.ts'
import { copyJson } from './freeze.ts'
import type { Issue } from './issues.ts'
import { type Fact, quarantine } from './quarantine.ts'
import type { JsonValue } from './shapes.ts'
import { upcast } from './upcast.ts'

/**
 * A fact, and the names of the upcasters that made it what it is; none for a line in quarantine, which is as it
 * was.
 */
export interface Loaded {
  readonly fact: Fact
  readonly upcasts: readonly string[]
}

/**
 * Loads a line of JSON text: upcast, then decoded, else kept in quarantine with its text as given (design D16).
 *
 * Never throws. O(length).
 *
 * @example
 * loadLine('{"kind":"PauseEvent","id":null}') // { fact: { kind: 'PauseEvent' }, upcasts: ['nulls.identity'] }
 */
export function loadLine(text: string): Loaded {
  const parsed = parseLine(text)
  return parsed.ok ? load(parsed.value, () => text) : keep(text, [parsed.issue], undefined)
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
  return decoded.ok ? { fact: decoded.event, upcasts: applied } : keep(write(), decoded.issues, given)
}

function keep(raw: string, issues: readonly Issue[], value: JsonValue | undefined): Loaded {
  return { fact: quarantine(raw, issues, value), upcasts: [] }
}

function textOf(value: JsonValue): string {
  try {
    return JSON.stringify(value)
  } catch {
    return 'null' // longer than the engine's longest string
  }
}
