/** Decodes percent-encoding without throwing on a malformed text. */

/** As it is, where it is not encoded well. O(length). */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
