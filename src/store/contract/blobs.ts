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
   * The bytes of the range, in pieces of at most 1 MiB, each read when it is needed. @throws `store_unavailable` when the
   * blob was deleted meanwhile or is damaged.
   */
  readonly content: AsyncIterable<Uint8Array>
}

/** What an audit of the blobs has found. Nothing is wrong when all three lists are empty. */
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
   * Returns the bytes of a long string, by the SHA-256 of a reference; null if no event of the conversation
   * contains it. Streams: a string of any length needs O(1 MiB) of memory. O(log n), and O(bytes of the
   * range) to read it.
   * @throws `invalid_argument` for an invalid range.
   */
  readBlob(conversationId: string, hash: string, range?: BlobRange): Promise<BlobContent | null>

  /** Compares all blobs with the events that use them, and with their hashes. O(events + bytes of blobs). */
  auditBlobs(): Promise<BlobAudit>
}
