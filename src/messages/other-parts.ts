/** Parts of a reply that no standard field holds: their bytes, and the digest of these. */

import { type Digest, digestBeside, digestOf, digestOfAll } from './digest.ts'
import { keptBeside } from './kept-beside.ts'

/** A lone surrogate, as `JSON.stringify` escapes it. */
const LONE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/

/**
 * The JSON text of a value; null where it has none that could be sent: nested too deep, or with a lone surrogate.
 * O(size) the first time.
 */
export const jsonOf = /* @__PURE__ */ keptBeside((value: object): string | null => {
  try {
    const json = JSON.stringify(value)
    return LONE.test(json) ? null : json
  } catch {
    return null
  }
})

const [OTHER, UNSENT] = [digestOf('other'), digestOf('unsent')] as const

/** The digest of a part as it is sent. O(size) the first time. */
export function otherDigest(value: object): Digest {
  const json = jsonOf(value)
  return json === null ? UNSENT : digestOfAll(OTHER, digestBeside(value, 0, json))
}
