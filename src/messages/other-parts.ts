/** Parts of a reply that no standard field holds: their bytes, and the digest of these. */

import { type Digest, digestBeside, digestOf, digestOfAll } from './digest.ts'

/** The JSON of values seen before, beside each. */
const JSON_OF = new WeakMap<object, string | null>()

/** A lone surrogate, as `JSON.stringify` escapes it. */
const LONE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/

/**
 * The JSON text of a value; null where it has none that could be sent: nested too deep, or with a lone surrogate.
 * O(size) the first time.
 */
export function jsonOf(value: object): string | null {
  const known = JSON_OF.get(value)
  if (known !== undefined) return known
  const json = written(value)
  JSON_OF.set(value, json)
  return json
}

function written(value: object): string | null {
  try {
    const json = JSON.stringify(value)
    return LONE.test(json) ? null : json
  } catch {
    return null
  }
}

const [OTHER, UNSENT] = [digestOf('other'), digestOf('unsent')] as const

/** The digest of a part as it is sent. O(size) the first time. */
export function otherDigest(value: object): Digest {
  const json = jsonOf(value)
  return json === null ? UNSENT : digestOfAll(OTHER, digestBeside(value, 0, json))
}
