/**
 * Holds a stored secret to where it was stored for: else a client that may change an address could have the secret sent
 * to its own, and read it.
 */

import { canonicalJson } from '../../event/encode.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { invalid } from '../http/problem.ts'
import { isSecret, textsIn } from '../conversations/secrets.ts'

/** Fields that say where something goes, or what is run with it. */
const NAMES = /(?:url|uri|host|endpoint|proxy|api_?base|headers|command|args)$/i
const URL_LIKE = /^[a-z][\w+.-]*:\/\//i

type Path = readonly string[]

/**
 * Refuses a change that would take a secret that was not given with it to another address: one beside the secret, above
 * or below it. O(size · depth).
 *
 * @param loc where the changed value stands in the request
 * @param group whether the value only groups others, as the settings do: what stands in it does not go where its
 * neighbours' parts go
 * @throws HttpProblem 422 that names the field of the secret
 */
export function checkDestination(
  before: JsonObject,
  after: JsonObject,
  given: JsonObject,
  loc: Path,
  group = false,
): void {
  const known = new Set(textsIn(given))
  const isKept = (value: JsonValue): boolean => textsIn(value).some((text) => text !== '' && !known.has(text))
  const check = (old: JsonValue, now: JsonValue, at: Path, moved: boolean, isGroup: boolean): void => {
    if (!isObject(now)) {
      if (Array.isArray(now)) now.forEach((item) => check(null, item, at, moved, false))
      return
    }
    const was = isObject(old) ? old : {}
    const here = moved || !isSame(addressesBeside(was), addressesBeside(now))
    const below = here || (!isGroup && !isSame(addressesBelow(was), addressesBelow(now)))
    for (const [name, value] of Object.entries(now) as [string, JsonValue][]) {
      if (!isSecret(name, value)) check(was[name] ?? null, value, [...at, name], here && !isGroup, false)
      else if (below && isKept(value)) throw refusal([...at, name])
    }
  }
  check(before, after, loc, false, group)
}

const refusal = (loc: Path) =>
  invalid({
    type: 'value_error',
    loc: ['body', ...loc],
    msg: 'Value error, The secret that is stored here was given for another address; give it anew, or leave the address and the headers as they were.',
  })

const isSame = (a: JsonObject, b: JsonObject): boolean => canonicalJson(a) === canonicalJson(b)

const isAddress = (name: string, value: JsonValue | undefined): boolean =>
  value !== null && (NAMES.test(name) || (typeof value === 'string' && URL_LIKE.test(value)))

/** The addresses that are fields of a value. */
const addressesBeside = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([name, one]) => isAddress(name, one)))

/** The addresses at any depth. */
function addressesBelow(value: JsonValue): JsonObject {
  if (typeof value !== 'object' || value === null) return {}
  const inner = Object.entries(value as JsonObject).flatMap(([name, one]): [string, JsonValue][] => {
    if (isAddress(name, one)) return [[name, one ?? null]]
    const found = addressesBelow(one ?? null)
    return Object.keys(found).length === 0 ? [] : [[name, found]]
  })
  return Object.fromEntries(inner)
}
