/** Hashes of secrets, compared in a time that shows nothing of either. */

const encoder = new TextEncoder()

/** SHA-256 of a text, in hexadecimal. O(length). */
export async function sha256(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Whether two hashes are the same, in a time that depends on their length only. */
export function isSameHash(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at += 1) difference |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return difference === 0
}
