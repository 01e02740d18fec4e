/** Keeps the output of a command within a bound, and marks what was left out. */

/** Bytes that are kept of each stream; the rest is read, so that the command is not held up, and counted. */
const KEPT = 256 * 1024

/** Characters of a text that had to be cut. Below what the log keeps of it, so that it is cut once. */
const SHOWN = 49_000

/** One stream of a command. */
export interface Output {
  take(chunk: Uint8Array): void
  /** All of it, as text; null when it was too much to be kept whole. */
  whole(): string | null
  /** As much of it as the log should hold. */
  shown(): string
}

/** Collects what a stream brings in one buffer, which grows as needed. Invalid UTF-8 becomes U+FFFD. O(bytes). */
export function collectOutput(): Output {
  let kept = new Uint8Array(4_096)
  let length = 0
  let total = 0
  const text = (): string => new TextDecoder().decode(kept.subarray(0, length))
  return {
    take(chunk) {
      total += chunk.length
      const part = chunk.subarray(0, KEPT - length)
      if (length + part.length > kept.length) {
        const larger = new Uint8Array(Math.min(KEPT, Math.max(2 * kept.length, length + part.length)))
        larger.set(kept.subarray(0, length))
        kept = larger
      }
      kept.set(part, length)
      length += part.length
    },
    whole: () => (total > length ? null : text()),
    shown() {
      if (total === length) return text()
      const begin = text().slice(0, SHOWN)
      // Half a character at the cut is left out.
      return `${begin.isWellFormed() ? begin : begin.slice(0, -1)}… (${total} bytes in all)`
    },
  }
}
