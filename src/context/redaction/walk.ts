/** Redacts a JSON value part by part; the same object comes back where there is nothing to redact. */

import { setOwn } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { isInstant } from '../../event/time.ts'
import { keyNumbers } from './mask.ts'
import type { RedactionRules } from './rules.ts'
import { KNOWN_TOOLS, type Shape, type Treatment } from './event-fields.ts'
import { redactField, redactNumber, redactSealed, redactText, SEALED } from './redact-text.ts'
import { redactThinking } from './thinking.ts'

/**
 * Rules, and what they must leave alone: paths of values, and of keys with `key:` before them. A list's places are all
 * one, `*`.
 */
export interface Walk {
  readonly rules: RedactionRules
  readonly left: ReadonlySet<string>
}

/** A place in a value. */
interface Place {
  readonly treatment: Treatment | undefined
  /** Known only while something is to be left alone. */
  readonly path: string
  /** Whether the texts here, or in the list here, stand under the name of a secret. */
  readonly secret: boolean
}

type Entry = [key: string, value: JsonValue]

/** Everything open. */
export const OPEN: Place = { treatment: undefined, path: '', secret: false }

/** The value with masks in place of secrets; changes no input. O(size). */
export function redactValue(value: JsonValue, walk: Walk, place: Place = OPEN): JsonValue {
  if (place.treatment === 'keep' || (walk.left.size > 0 && walk.left.has(place.path))) return value
  if (typeof value === 'string') return redactString(value, walk.rules, place)
  if (typeof value === 'number') {
    const digits = String(value)
    return place.treatment === 'secret'
      ? redactField(digits, walk.rules)
      : (redactNumber(digits, walk.rules) ?? value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) return redactObject(value as JsonObject, walk, place)
  const list = value as readonly JsonValue[]
  if (place.treatment === 'thinking') return redactThinking(list, walk.rules)
  const inside = walk.left.size > 0 ? { ...place, path: `${place.path}.*` } : place
  return mapped(list, (item) => redactValue(item, walk, inside))
}

function redactString(text: string, rules: RedactionRules, { treatment, secret }: Place): string | null {
  switch (treatment) {
    case 'sealed':
      return redactSealed(text, rules)
    case 'arguments':
      return redactText(text, rules, { json: true })
    case 'time':
      return isInstant(text) ? text : redactText(text, rules)
    case 'bytes':
      return secret ? redactField(text, rules) : redactText(text, rules, { bytes: true })
    case 'secret':
      return redactField(text, rules)
    case 'name':
      return KNOWN_TOOLS.has(text) ? text : redactText(text, rules)
    default:
      return secret ? redactField(text, rules) : redactText(text, rules)
  }
}

/** The list with each item changed; the very same list when none is. */
function mapped<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let out: T[] | null = null
  for (const [i, item] of list.entries()) {
    const after = change(item)
    if (after !== item) out ??= list.slice(0, i)
    out?.push(after)
  }
  return out ?? list
}

function redactObject(object: JsonObject, walk: Walk, { treatment, path }: Place): JsonObject {
  const shape: Shape = typeof treatment === 'object' ? treatment : {}
  const { isSecretField } = walk.rules
  const before = Object.entries(object)
  const after = mapped(before, (entry): Entry => {
    const [key, value] = entry
    const named = redactKey(key, shape, walk, path)
    const inside: Place = {
      treatment: treatmentOf(key, treatment),
      path: walk.left.size > 0 ? `${path}.${key}` : '',
      secret: isSecretField(key) || isSecretField(named),
    }
    const said = redactValue(value, walk, inside)
    return said === value && named === key ? entry : [named, said]
  })
  return after === before ? object : objectOf(after, before, object)
}

function treatmentOf(key: string, above: Treatment | undefined): Treatment | undefined {
  if (key === SEALED) return 'sealed'
  if (typeof above === 'object') return Object.hasOwn(above, key) ? above[key] : undefined
  return above === 'bytes' || above === 'secret' ? above : undefined
}

function redactKey(key: string, shape: Shape, walk: Walk, path: string): string {
  if (
    key === SEALED ||
    Object.hasOwn(shape, key) ||
    (walk.left.size > 0 && walk.left.has(`key:${path}.${key}`))
  )
    return key
  return redactText(key, walk.rules)
}

/** An object of these entries; keys that have become the same are numbered. O(entries). */
function objectOf(entries: readonly Entry[], before: readonly Entry[], original: JsonObject): JsonObject {
  const out: Record<string, JsonValue> = {}
  const numbered = keyNumbers((key) => Object.hasOwn(original, key))
  for (const [i, [key, value]] of entries.entries()) {
    setOwn(out, key === before[i]?.[0] ? key : numbered(key), value)
  }
  return out
}
