/** The form of a chunk, for those who write and read it: flags, codes of kinds, and what few rows have. */

import { EVENT_KINDS, KINDS } from '../../event/kinds.ts'
import type { LogWarning } from '../entry.ts'
import { KEY_SECTIONS } from './keys.ts'

/** Bits of a row's flags. */
export const IN_TREE = 1
export const CAN_BE_HEAD = 2
export const IS_EVENT = 4
export const HAS_REPORTS = 8
export const DROPPED_SECOND = 16
export const DROPPED_ORPHAN = 32

/** Kinds that are not one of the 19: none at all, or a text that the chunk lists apart. */
const NO_KIND = 0
export const OTHER_KIND = 255

/** Sections before the columns of keys, and all of them. */
export const PLAIN_SECTIONS = 10
export const SECTIONS = PLAIN_SECTIONS + 3 * KEY_SECTIONS

const CODES = new Map<string, number>(EVENT_KINDS.map((kind) => [kind, KINDS[kind].code]))
const KINDS_BY_CODE = new Map<number, string>(EVENT_KINDS.map((kind) => [KINDS[kind].code, kind]))

/** The number that stands for a kind. */
export const codeOf = (kind: string | null): number =>
  kind === null ? NO_KIND : (CODES.get(kind) ?? OTHER_KIND)

/** The kind that a number stands for, unless it is one that is listed apart. */
export const kindFrom = (code: number): string | null => KINDS_BY_CODE.get(code) ?? null

/** What few rows have. */
export interface Rare {
  readonly kinds: readonly (readonly [number, string])[]
  readonly warnings: readonly LogWarning[]
}
