import { hashText } from './text.ts'
import { canonicalJson } from './encode.ts'
import type { Event } from './types.ts'

/** The `parent_id` of an event without a parent (design D8). */
export const ROOT = '__root__'

/**
 * Pattern of a legal id: 1 to 200 characters of well-formed Unicode, no control characters, not {@link ROOT}
 * (design D19). It has no `\p{…}`, so validators in other languages can read it from a JSON Schema.
 */
// oxlint-disable-next-line no-control-regex -- the pattern rejects control characters
export const LEGAL_ID = /^(?!__root__$)[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/u

export const ID_RULE =
  '1 to 200 characters of well-formed Unicode, without control characters, and not "__root__"'

/** Pattern of the usual ids. It is faster to check than {@link LEGAL_ID}. */
const PLAIN_ID = /^[\w.:-]{1,200}$/

/**
 * Whether a text can be the id of an event or a conversation. O(length).
 * @example
 * isLegalId('01J9Z3') // true
 * isLegalId('__root__') // false
 */
export function isLegalId(text: string): boolean {
  // `test` would convert a value of another type to a string.
  if (typeof text !== 'string') return false
  return PLAIN_ID.test(text) ? text !== ROOT : LEGAL_ID.test(text)
}

/** Derives an id from kind, conversation and key. Every process derives the same id. */
export const keyedId = (
  kind: 'message' | 'policy' | 'edit' | 'erasure' | 'work' | 'child',
  conversationId: string,
  key: string,
): string => `${kind}-${hashText(`${conversationId}\n${key}`)}`

/**
 * Derives an id for an event without an id, from its conversation, position and body. So each import and
 * replay derives the same id (design D15). O(size).
 * @example
 * deriveEventId('c1', 7, { kind: 'PauseEvent' }) // 'derived-7-…'
 */
export function deriveEventId(conversationId: string, seq: number, event: Event): string {
  // No legal id contains a line feed, so the three parts stay distinct.
  return `derived-${seq}-${hashText(`${conversationId}\n${seq}\n${canonicalJson(event)}`)}`
}
