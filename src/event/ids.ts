/** Which texts may be an event's id, and which id an event gets that came without one. */

import { hashText } from './text.ts'
import { canonicalJson } from './encode.ts'
import type { Event } from './types.ts'

/** The `parent_id` that says "no parent, on purpose" (design D8). Never an id. */
export const ROOT = '__root__'

/**
 * What a legal id matches: 1 to 200 characters of well-formed Unicode, no control characters, not {@link ROOT}
 * (design D19). Written without property escapes, so that a JSON Schema can carry it to other languages.
 */
// oxlint-disable-next-line no-control-regex -- they are what it is there to refuse
export const LEGAL_ID = /^(?!__root__$)[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/u

/** What most ids look like, which is told faster. */
const PLAIN_ID = /^[\w.:-]{1,200}$/

/**
 * Whether a text may be the id of an event or a conversation. O(length).
 *
 * @example
 * isLegalId('01J9Z3') // true
 * isLegalId('__root__') // false
 */
export function isLegalId(text: string): boolean {
  // A pattern takes anything for a text.
  if (typeof text !== 'string') return false
  return PLAIN_ID.test(text) ? text !== ROOT : LEGAL_ID.test(text)
}

/**
 * The id of an event that came without one: the same event at the same place of the same conversation always gets
 * the same id, so replaying twice gives the same bytes and importing twice changes nothing (design D15). O(size).
 *
 * The position alone makes it unique within a conversation; the hash ties it to the body.
 *
 * @example
 * deriveEventId('c1', 7, { kind: 'PauseEvent' }) // 'derived-7-…'
 */
export function deriveEventId(conversationId: string, seq: number, event: Event): string {
  // A line feed is in no legal id, so the three parts cannot run into each other.
  return `derived-${seq}-${hashText(`${conversationId}\n${seq}\n${canonicalJson(event)}`)}`
}
