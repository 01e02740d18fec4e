/** A snapshot as a store keeps it: numbered parts of bytes that it does not look into. */

/** One part of a snapshot, opaque bytes; parts are numbered from 0. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/** How a snapshot is saved. */
export interface SaveSnapshotOptions {
  /** Removes the parts that are not named, so that these are the whole snapshot. Default: false. */
  readonly complete?: boolean
}
