/** Long strings of bodies, which a store keeps once by their content, and reads as references or by range. */

export type BlobMode = 'whole' | 'refs'

export interface BlobReference {
  /** Keys and indexes from the body down to the string. At that place, the body has `blobText(hash)`. */
  readonly path: readonly (string | number)[]
  /** SHA-256 of the string's UTF-8 bytes, 64 hexadecimal digits. */
  readonly hash: string
  readonly bytes: number
}

export interface GetOptions {
  /** Default: `whole`. */
  readonly blobs?: BlobMode
}

export interface BlobRange {
  /** The first byte, from 0. Default: 0. */
  readonly start?: number
  /** The byte to stop before. Default: the length of the blob. */
  readonly end?: number
}

export interface BlobContent {
  readonly bytes: number
  /**
   * Bytes of the range, in pieces of at most 1 MiB, read lazily. @throws `store_unavailable` for a blob
   * deleted meanwhile or damaged.
   */
  readonly content: AsyncIterable<Uint8Array>
}

/** Result of an audit of the blobs. If all three lists are empty, nothing is wrong. */
export interface BlobAudit {
  readonly blobs: number
  readonly bytes: number
  readonly events: number
  readonly unused: readonly string[]
  readonly damaged: readonly string[]
  readonly missing: readonly { readonly conversationId: string; readonly seq: number }[]
}

export interface Blobs {
  /**
   * Returns a long string's bytes by a reference's SHA-256; null if not in the conversation. Any length needs
   * O(1 MiB) of memory. O(log n), and O(bytes of the range) to read it.
   * @throws `invalid_argument` for an invalid range.
   */
  readBlob(conversationId: string, hash: string, range?: BlobRange): Promise<BlobContent | null>

  /** Compares all blobs with the events that use them, and with their hashes. O(events + bytes of blobs). */
  auditBlobs(): Promise<BlobAudit>
}
