/** ASCII text goes in, its base64url form comes out, and back; without padding, and with one form for each text. */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * ASCII text as base64url. O(length).
 *
 * @example
 * toBase64Url('ab?') // 'YWI_'
 */
export function toBase64Url(text: string): string {
  return recode(text, 8, 6, (i) => text.charCodeAt(i))
    .map((digit) => DIGITS[digit])
    .join('')
}

/**
 * The text that {@link toBase64Url} wrote, or undefined when it wrote no such thing. O(length).
 *
 * @example
 * fromBase64Url('YWI_') // 'ab?'
 * fromBase64Url('YWI=') // undefined
 */
export function fromBase64Url(encoded: string): string | undefined {
  if (/[^\w-]/.test(encoded)) return undefined
  const codes = recode(encoded, 6, 8, (i) => DIGITS.indexOf(encoded[i] as string))
  // What is over at the end is no whole character, only the zeros that filled the last digit.
  const text = codes
    .slice(0, Math.floor((encoded.length * 6) / 8))
    .map((code) => String.fromCharCode(code))
    .join('')
  return toBase64Url(text) === encoded ? text : undefined
}

/** The same bits in groups of another size, the last one filled with zeros. */
function recode(text: string, from: number, to: number, valueAt: (i: number) => number): number[] {
  const out: number[] = []
  let held = 0
  let bits = 0
  for (let i = 0; i < text.length; i += 1) {
    held = (held << from) | valueAt(i)
    bits += from
    while (bits >= to) {
      bits -= to
      out.push((held >> bits) & ((1 << to) - 1))
    }
    held &= (1 << bits) - 1
  }
  if (bits > 0) out.push((held << (to - bits)) & ((1 << to) - 1))
  return out
}
