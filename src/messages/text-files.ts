/** Decodes text files, which every grammar can send as text. A bare JavaScript engine has no decoder. */

import { attempt } from '../event/json.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Media types of text, and unspecific types, for which only the content shows whether a file is text. */
const TEXT_TYPE =
  /^(?:text\/|message\/|image\/svg\+xml|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)(?:$|;)|application\/(?:yaml|toml|ndjson|jsonl|jsonlines|json-lines|javascript|ecmascript|typescript|sh|sql|graphql|csv|markdown)(?:$|;)|(?:application\/(?:octet-stream|x-[\w.-]+|vnd\.ms-excel)|video\/mp2t)?$)/i

/** Whether a file may be text. Windows labels CSV as Excel, and browsers label TypeScript as video. */
export const isTextFile = (mediaType: string | null): boolean => TEXT_TYPE.test(mediaType ?? '')

export function decodeBase64(base64: string): Uint8Array {
  const data = withoutPadding(base64)
  const bytes = new Uint8Array(Math.floor((data.length * 3) / 4))
  let bits = 0
  let count = 0
  let index = 0
  for (let offset = 0; offset < data.length; offset += 1) {
    bits = ((bits << 6) | base64Value(data.charCodeAt(offset))) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    bytes[index++] = bits >> count
  }
  return bytes
}

function base64Value(code: number): number {
  if (code >= 97) return code - 71
  if (code >= 65) return code - 65
  if (code >= 48) return code + 4
  return code === 43 ? 62 : 63
}

export function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let offset = 0; offset < bytes.length; offset += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(offset, offset + 3)
    const rest = bytes.length - offset
    text += digit(a >> 2) + digit(((a & 3) << 4) | (b >> 4))
    text += rest < 2 ? '==' : digit(((b & 15) << 2) | (c >> 6)) + (rest < 3 ? '=' : digit(c & 63))
  }
  return text
}

const digit = (value: number): string => ALPHABET.charAt(value)

/** Decodes UTF-8, UTF-16 with a byte order mark, or else Latin-1; null for binary data. O(length). */
export function decodeText(bytes: Uint8Array): string | null {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return decodeUtf16(bytes.subarray(2), first === 0xff)
  // Binary files have such bytes near their beginning.
  if (bytes.some((byte) => byte < 9)) return null
  const text = decodeUtf8(bytes) ?? charactersOf(bytes)
  // Control characters that occur near the beginning of binary files, and never in text.
  // oxlint-disable-next-line no-control-regex
  return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text
}

export function decodeUtf8(bytes: Uint8Array): string | null {
  let escaped = ''
  for (const byte of bytes)
    escaped +=
      byte < 0x80 && byte !== 0x25 ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`
  return attempt(() => decodeURIComponent(escaped).replace(/^\uFEFF/, ''), null)
}

function decodeUtf16(bytes: Uint8Array, littleEndian: boolean): string {
  const units = new Uint16Array(bytes.length >> 1).map((_, index) => {
    const [a = 0, b = 0] = bytes.subarray(2 * index)
    return littleEndian ? a | (b << 8) : (a << 8) | b
  })
  return charactersOf(units).toWellFormed()
}

function charactersOf(codes: Iterable<number>): string {
  let text = ''
  for (const code of codes) text += String.fromCharCode(code)
  return text
}

export function withoutPadding(base64: string): string {
  let end = base64.length
  while (base64[end - 1] === '=') end -= 1
  return base64.slice(0, end)
}
