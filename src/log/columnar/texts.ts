/** A column of texts, each readable by itself; any text, lone surrogates too. */

/** How the texts stand in the bytes: as UTF-8, or where that cannot hold them, as UTF-16. */
const UTF_8 = 0
const UTF_16 = 1

/** Code units that one call turns into text: beyond some 100,000 arguments engines give up. */
const AT_ONCE = 8_192

/** The bytes of a list or typed array of numbers. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** The 32-bit numbers of a section. */
export const wordsIn = ({ buffer, byteOffset, byteLength }: Uint8Array): Int32Array =>
  new Int32Array(buffer, byteOffset, byteLength >>> 2)

/** The column as two sections: where each text ends, and all of them in a row. O(length). */
export function writeTexts(texts: readonly string[]): [Uint8Array, Uint8Array] {
  const ends = new Int32Array(texts.length + 1)
  let end = 0
  texts.forEach((text, at) => (ends[at + 1] = end += text.length))
  const all = texts.join('')
  ends[0] = all.isWellFormed() ? UTF_8 : UTF_16
  return [bytesOf(ends), ends[0] === UTF_8 ? new TextEncoder().encode(all) : utf16(all)]
}

function utf16(text: string): Uint8Array {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < units.length; at += 1) units[at] = text.charCodeAt(at)
  return bytesOf(units)
}

/** The texts of a column; the bytes are read when the first is asked for. */
export class Texts {
  readonly #ends: Int32Array
  readonly #bytes: Uint8Array
  #all: string | null = null

  constructor(ends: Uint8Array, bytes: Uint8Array) {
    this.#ends = wordsIn(ends)
    this.#bytes = bytes
  }

  /** How many texts there are. */
  get count(): number {
    return this.#ends.length - 1
  }

  /** The text at an index. O(length), the first time O(column). */
  at(index: number): string {
    this.#all ??= this.#read()
    return this.#all.slice(index === 0 ? 0 : this.#ends[index], this.#ends[index + 1])
  }

  #read(): string {
    // A byte order mark at the beginning belongs to the text.
    if (this.#ends[0] === UTF_8) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#bytes)
    const { buffer, byteOffset, byteLength } = this.#bytes
    const units = new Uint16Array(buffer, byteOffset, byteLength >>> 1)
    let text = ''
    for (let at = 0; at < units.length; at += AT_ONCE) {
      text += String.fromCharCode(...units.subarray(at, at + AT_ONCE))
    }
    return text
  }
}
