/** Decodes files of text, which every grammar can send as text; a bare JavaScript engine has no decoder of its own. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const TEXT_TYPE =
  /^(?:text\/|image\/svg\+xml|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)(?:$|;)|application\/(?:x-)?(?:yaml|toml|ndjson|jsonl|jsonlines|json-lines|javascript|ecmascript|typescript|sh|sql|graphql|csv|markdown)(?:$|;))/i

/** Types that say nothing about a file, and the type of a table under Windows: its name decides. */
const VAGUE_TYPE = /^(?:application\/(?:octet-stream|vnd\.ms-excel))?$/i

const TEXT_NAME =
  /\.(?:txt|text|log|md|markdown|csv|tsv|jsonl?|ndjson|xml|ya?ml|toml|ini|conf|html?|css|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|sh|sql|svg)$/i

/** Whether a file is text, by its media type, or by its name where the type says nothing. O(1). */
export const isTextFile = (mediaType: string | null, name: string | null): boolean =>
  TEXT_TYPE.test(mediaType ?? '') || (VAGUE_TYPE.test(mediaType ?? '') && TEXT_NAME.test(name ?? ''))

/** The bytes of standard base64. O(length). */
export function bytesOf(base64: string): Uint8Array {
  const data = base64.replace(/=+$/, '')
  const bytes = new Uint8Array(Math.floor((data.length * 3) / 4))
  let bits = 0
  let count = 0
  let index = 0
  for (let at = 0; at < data.length; at += 1) {
    bits = ((bits << 6) | valueOf(data.charCodeAt(at))) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    bytes[index++] = bits >> count
  }
  return bytes
}

function valueOf(code: number): number {
  if (code >= 97) return code - 71
  if (code >= 65) return code - 65
  if (code >= 48) return code + 4
  return code === 43 ? 62 : 63
}

/** Bytes as standard base64. O(length). */
export function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3)
    const rest = bytes.length - at
    text += digit(a >> 2) + digit(((a & 3) << 4) | (b >> 4))
    text += rest < 2 ? '==' : digit(((b & 15) << 2) | (c >> 6)) + (rest < 3 ? '=' : digit(c & 63))
  }
  return text
}

const digit = (value: number): string => ALPHABET.charAt(value)

/** The text of a file: UTF-8, UTF-16 with a mark, else Latin-1; null where it is no text. O(length). */
export function decodeText(bytes: Uint8Array): string | null {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return decodeUtf16(bytes.subarray(2), first === 0xff)
  const text = decodeUtf8(bytes) ?? charactersOf(bytes)
  // No text has these; a binary file has one of them soon.
  // oxlint-disable-next-line no-control-regex
  return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text
}

/** The text of UTF-8; null for bytes that are not UTF-8. O(length). */
export function decodeUtf8(bytes: Uint8Array): string | null {
  let escaped = ''
  for (const byte of bytes)
    escaped +=
      byte < 0x80 && byte !== 0x25 ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`
  try {
    return decodeURIComponent(escaped).replace(/^\uFEFF/, '')
  } catch {
    return null
  }
}

function decodeUtf16(bytes: Uint8Array, littleEndian: boolean): string {
  let text = ''
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    const [a = 0, b = 0] = bytes.subarray(at, at + 2)
    text += String.fromCharCode(littleEndian ? a | (b << 8) : (a << 8) | b)
  }
  return text.toWellFormed()
}

function charactersOf(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}
