/** Reads the texts that base64 stands for. */

/** The digits by their value. */
export const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The value of a digit, by its code. */
const VALUES = new Uint8Array(128)
for (const [at, digit] of [...DIGITS, '-', '_'].entries()) VALUES[digit.charCodeAt(0)] = at < 64 ? at : at - 2

/** Of how many bytes a secret is that is written in another way: of more than the secret. They take twelve digits. */
const LEAST_BYTES = 9
const RUN = /[A-Za-z0-9+/_-]{12}[A-Za-z0-9+/_-]*={0,2}/g

/** What a text holds that may be encoded once more: a secret of eight bytes takes eleven digits. */
const ENCODED = /[\\%+]|[A-Za-z0-9+/_-]{11}/

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Gives every run of base64, of either alphabet, that stands for text in which something may be encoded once more,
 * with the texts in it: one may begin anywhere, as what stands before it may be other bytes, or look like base64. What
 * stands in base64 as it is needs no decoding to be found. O(length).
 */
export function readBase64(text: string, tell: (start: number, length: number, said: string) => void): void {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const texts = textsIn(run).filter((said) => ENCODED.test(said))
    if (texts.length > 0) tell(index, run.length, texts.join('\ufffd'))
  }
}

function textsIn(run: string): string[] {
  const length = run.endsWith('=') ? run.indexOf('=') : run.length
  const digits = new Uint8Array(length)
  for (let at = 0; at < length; at += 1) digits[at] = VALUES[run.charCodeAt(at)] ?? 0
  const texts: string[] = []
  // A byte begins at the first, third or fifth bit of a digit.
  for (let bit = 0; bit + LEAST_BYTES * 8 <= length * 6;) {
    const bytes = textLength(digits, bit)
    if (bytes < LEAST_BYTES) bit += 2
    else {
      const from = bit
      texts.push(UTF8.decode(Uint8Array.from({ length: bytes }, (_, at) => byteAt(digits, from + at * 8))))
      bit += bytes * 8
    }
  }
  return texts
}

/** The byte that begins at a bit of the digits; -1 behind the last. */
function byteAt(digits: Uint8Array, bit: number): number {
  const digit = (bit / 6) | 0
  if (digit + 1 >= digits.length) return -1
  const pair = ((digits[digit] ?? 0) << 6) | (digits[digit + 1] ?? 0)
  return (pair >> (4 - (bit - digit * 6))) & 0xff
}

/** How many bytes from a bit on are UTF-8 of what people write. O(bytes). */
function textLength(digits: Uint8Array, bit: number): number {
  for (let at = 0; ;) {
    const rest = restOf(byteAt(digits, bit + at * 8))
    if (rest < 0) return at
    for (let i = 1; i <= rest; i += 1) if ((byteAt(digits, bit + (at + i) * 8) & 0xc0) !== 0x80) return at
    at += 1 + rest
  }
}

/** How many bytes follow the first one of a character; -1 when none begins so, or one that controls. */
function restOf(lead: number): number {
  if (lead < 0x20) return lead === 0x09 || lead === 0x0a || lead === 0x0d ? 0 : -1
  if (lead < 0x80) return 0
  if (lead < 0xc2) return -1
  if (lead < 0xe0) return 1
  if (lead < 0xf0) return 2
  return lead < 0xf5 ? 3 : -1
}
