/** The version of the fold, and the labels that the parts of a snapshot carry. */

import type { Label } from '../../log/columnar/sealed.ts'

/**
 * What a snapshot says depends on how the fold reads the log. Raise this whenever the fold, the header or the form of a
 * part changes: snapshots of another version do not open, and the log is folded again.
 */
export const FOLD_VERSION = 6

/** The head part: the state but for its log. */
export const HEAD_LABEL: Label = { kind: 1, version: FOLD_VERSION }

/** A part of the columnar log. */
export const CHUNK_LABEL: Label = { kind: 2, version: FOLD_VERSION }

/** How many positions a complete part of the columnar log has. */
export const CHUNK_SIZE = 4_096
