/**
 * 64-bit digests of texts, which show whether the prefix of a reply has changed. An attacker could construct
 * collisions.
 */

import { attempt } from '../event/json.ts'
import { hashLanes, type Lanes } from '../event/text.ts'

export type Digest = Lanes

export const digestOf: (text: string) => Digest = hashLanes

export function followedBy(before: Digest, next: Digest): Digest {
  const high = Math.imul(before.high ^ next.high, 0x9e3779b1)
  const low = Math.imul(before.low ^ next.low, 0x5f356495)
  return {
    high: Math.imul((high << 15) | (high >>> 17), 0x85ebca6b) ^ (low >>> 11),
    low: Math.imul((low << 13) | (low >>> 19), 0xc2b2ae35) ^ (high >>> 14),
  }
}

export const digestOfAll = (tag: string, ...parts: readonly Digest[]): Digest =>
  parts.reduce(followedBy, digestOf(tag))

/**
 * Digests of texts, keyed by the object of the log that contains the text. A lookup also compares the text,
 * because the text that is sent for an object depends on the grammar and the options.
 */
const DIGESTS = new WeakMap<object, ({ readonly text: string; readonly digest: Digest } | undefined)[]>()

/** Returns a text's digest. `slot` is the index of the text in its source. O(length) the first time. */
export function cachedDigest(source: object | null, slot: number, text: string): Digest {
  if (source === null) return digestOf(text)
  let slots = DIGESTS.get(source)
  if (slots === undefined) DIGESTS.set(source, (slots = []))
  const known = slots[slot]
  if (known !== undefined && known.text === text) return known.digest
  const digest = digestOf(text)
  slots[slot] = { text, digest }
  return digest
}

export function memoize<Of extends object, T extends object | string | null>(
  make: (of: Of) => T,
): (of: Of) => T {
  const known = new WeakMap<Of, T>()
  return (of) => {
    let made = known.get(of)
    if (made === undefined) known.set(of, (made = make(of)))
    return made
  }
}

/** Matches an escaped lone surrogate in the output of `JSON.stringify`. */
const LONE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/

/** Returns a value's JSON; null if nested too deeply or with a lone surrogate. O(size) the first time. */
export const jsonOf = /* @__PURE__ */ memoize((value: object): string | null => {
  const json = attempt(() => JSON.stringify(value), null)
  return json === null || LONE.test(json) ? null : json
})

export const digestWith = (digest: Digest, more: object | null): Digest =>
  more === null ? digest : followedBy(digest, otherDigest(more))

export function otherDigest(value: object): Digest {
  const json = jsonOf(value)
  return json === null ? digestOf('unsent') : digestOfAll('other', cachedDigest(value, 0, json))
}
