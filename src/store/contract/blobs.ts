/** How an event's long strings are returned: as strings in the body (`whole`), or as references (`refs`). */
export type BlobMode = 'whole' | 'refs'

/** Reference to a long string that is stored outside the body. */
export interface BlobReference {
  /** Keys and indices that lead to the string. In the mode `refs`, the body has `blobText(hash)` at this place. */
  readonly path: readonly (string | number)[]
  /** SHA-256 of the string in UTF-8, 64 hexadecimal digits. */
  readonly hash: string
  readonly bytes: number
}

export interface GetOptions {
  /** Default: `whole`. */
  readonly blobs?: BlobMode
}

export interface BlobRange {
  /** Index of the first byte. Default: 0. */
  readonly start?: number
  /** Index after the last byte. Default: the length of the blob. */
  readonly end?: number
}

export interface BlobContent {
  readonly bytes: number
  /** Yields pieces of at most 1 MiB. @throws `store_unavailable` if the string was deleted or damaged. */
  readonly content: AsyncIterable<Uint8Array>
}

/** Result of an audit. The store is intact if `unused`, `damaged` and `missing` are empty. */
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
   * Returns the bytes of a long string by its SHA-256; null if no event of the conversation contains it. The
   * call costs O(log n). Reading the content costs O(bytes of the range), and needs about 1 MiB of memory.
   * @throws `invalid_argument` for an invalid range.
   */
  readBlob(conversationId: string, hash: string, range?: BlobRange): Promise<BlobContent | null>

  /** Checks that all blobs are intact and used, and that none is missing. O(events + bytes of blobs). */
  auditBlobs(): Promise<BlobAudit>
}
