/** A text that may be percent-encoded goes in, what it says comes out. */

/** As it is, where it is not encoded well. O(length). */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
