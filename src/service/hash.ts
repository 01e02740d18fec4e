/** A text goes in, its SHA-256 comes out. */

const encoder = new TextEncoder()

/** SHA-256 of a text. */
export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
}
