/** Entries of a stored log as the text that import reads back: quarantined lines as they were, byte for byte. */

import { isQuarantined, type StoredEvent } from '../../index.ts'
import type { Quarantined } from '../../event/index.ts'
import { wrap } from '../input/envelope.ts'
import { decodePiece } from '../input/decode.ts'
import { escapeActive } from '../print/json.ts'

/** Where a text is written: among others, one on each line, or as a file of its own. */
export type Form = 'line' | 'file'

/** What stands in no JSON on one line, and may stand in a line that is none. */
// oxlint-disable-next-line no-control-regex -- they are what it is there to find
const CONTROL = /[\u0000-\u001f]/

/**
 * The text of an entry: an event as JSON, a line in quarantine as it was given, or wrapped where that would not give it
 * back. One that can be read by now is written as it was, so that it is tried again.
 */
export function textOf({ fact, seq }: Pick<StoredEvent, 'fact' | 'seq'>, form: Form): string {
  if (!isQuarantined(fact)) return JSON.stringify(fact)
  return isFaithful(fact, form, seq === 0) ? fact.raw : wrap(fact)
}

/** The same as {@link textOf} on a line, for a reader that is a terminal: nothing in it drives one. */
export function shownTextOf(stored: Pick<StoredEvent, 'fact' | 'seq'>): string {
  const text = textOf(stored, 'line')
  const shown = escapeActive(text)
  if (!isQuarantined(stored.fact) || (shown === text && !CONTROL.test(text))) return shown
  return escapeActive(wrap(stored.fact))
}

/** Whether a line that is written as it was is read as what it is. */
function isFaithful(fact: Quarantined, form: Form, first: boolean): boolean {
  const { raw } = fact
  if (/[\ud800-\udfff]/u.test(raw)) return false
  if (form === 'line' && (raw.includes('\n') || raw.trim() === '')) return false
  // Its bytes were no text; what stands for them is, and must not be taken for the event.
  if (fact.issues.some(({ type }) => type === 'unicode_error')) return false
  const { fact: again, broken } = decodePiece(Buffer.from(raw))
  // At the beginning it would say that the file is an array, or no JSON at all.
  if (first && (raw.trimStart().startsWith('[') || broken !== null)) return false
  if (!isQuarantined(again)) return true
  return (
    again.raw === raw &&
    again.id === fact.id &&
    again.parent_id === fact.parent_id &&
    again.event_kind === fact.event_kind
  )
}
