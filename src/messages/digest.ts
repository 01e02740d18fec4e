/**
 * Digests of what is written: 64 bits, made in plain JavaScript, so that a reply can be shown to stand behind the very
 * bytes that it saw. They tell texts apart; they are no defence against an attacker who looks for two that collide.
 */

import { hashLanes, hex32, type Lanes } from '../event/text.ts'

/** The digest of a text, or of several in order. */
export type Digest = Lanes

/** The digest of a text. O(length). */
export const digestOf: (text: string) => Digest = hashLanes

/** The digest of what had the digest `before`, and then of what has the digest `next`; the order counts. O(1). */
export function followedBy(before: Digest, next: Digest): Digest {
  const high = Math.imul(before.high ^ next.high, 0x9e3779b1)
  const low = Math.imul(before.low ^ next.low, 0x5f356495)
  return {
    high: Math.imul((high << 15) | (high >>> 17), 0x85ebca6b) ^ (low >>> 11),
    low: Math.imul((low << 13) | (low >>> 19), 0xc2b2ae35) ^ (high >>> 14),
  }
}

/** The digest of several in order, behind a tag that says what they are. O(parts). */
export const digestOfAll = (tag: string, ...parts: readonly Digest[]): Digest =>
  parts.reduce(followedBy, digestOf(tag))

/** The digest in 16 hexadecimal digits. */
export const nameOf = ({ high, low }: Digest): string => hex32(high) + hex32(low)

interface Known {
  readonly text: string
  readonly digest: Digest
}

/**
 * Digests of texts seen before, beside the object of the log that they come from. A text is compared with the one that
 * was read then, so that whatever grammar or option made another text of the same object, its digest is its own.
 */
const KNOWN = new WeakMap<object, (Known | undefined)[]>()

/**
 * The digest of a text, remembered beside the object it comes from; `slot` tells the texts of one object apart.
 * O(length) the first time, then as quick as comparing the text with itself.
 */
export function digestBeside(source: object | null, slot: number, text: string): Digest {
  if (source === null) return digestOf(text)
  let slots = KNOWN.get(source)
  if (slots === undefined) KNOWN.set(source, (slots = []))
  const known = slots[slot]
  if (known !== undefined && known.text === text) return known.digest
  const digest = digestOf(text)
  slots[slot] = { text, digest }
  return digest
}

/** The function, which makes its result once for each object and keeps it beside that. */
export function keptBeside<Of extends object, T extends object | string | null>(
  make: (of: Of) => T,
): (of: Of) => T {
  const known = new WeakMap<Of, T>()
  return (of) => {
    let made = known.get(of)
    if (made === undefined) known.set(of, (made = make(of)))
    return made
  }
}

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

/** The digest of a part as it is sent. O(size) the first time. */
export function otherDigest(value: object): Digest {
  const json = jsonOf(value)
  return json === null ? digestOf('unsent') : digestOfAll('other', digestBeside(value, 0, json))
}
