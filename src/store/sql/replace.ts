import type { StoredEvent } from '../contract/query.ts'
import { referencesText, splitBody } from '../kit/blobs.ts'
import { type CheckedReplacement, checkReplaced } from '../kit/append/replace.ts'
import { unknownConversation } from '../kit/errors.ts'
import { messageText } from '../kit/query/message-text.ts'
import { saveBlobs } from './blobs.ts'
import { type Dialect, first, sql, statement, type Work } from './dialect.ts'
import type { eventReads } from './events.ts'
import { textRow, type TextRow } from './texts.ts'

/** Replaces an event's indexed text, or removes it if `row` is null. Finds the text by `time` and `seq`. */
export type ReplaceText = (log: number, seq: number, time: bigint, row: TextRow | null) => Work<void>

const lockLog = (d: Dialect): string =>
  `SELECT number, text_version FROM ${d.table('log')} WHERE conversation_id = ?${d.lock}`

export function* replaceEvents(
  d: Dialect,
  events: ReturnType<typeof eventReads>,
  replaceText: ReplaceText,
  conversationId: string,
  replacements: readonly CheckedReplacement[],
): Work<void> {
  const row = yield* first<{ readonly number: number | string; readonly text_version: number }>(
    lockLog(d),
    conversationId,
  )
  if (row === undefined) throw unknownConversation(conversationId)
  const log = Number(row.number)
  const ids = replacements.map(({ id }) => id)
  const stored = yield* events.getMany(conversationId, ids, false)
  for (const [index, replacement] of replacements.entries()) {
    const before: StoredEvent | null = stored[index] ?? null
    checkReplaced(conversationId, replacement, before)
    const event = { ...before, fact: replacement.after }
    const { seq, fact } = event
    const split = splitBody(fact)
    yield statement(`DELETE FROM ${d.table('blob_use')} WHERE log = ? AND seq = ?`, log, seq)
    const body = split?.body ?? JSON.stringify(fact)
    yield sql`UPDATE ${statement(d.table('event'))}
      SET body = ${body}, blobs = ${split && referencesText(split.strings)}, message = ${messageText(fact)}
      WHERE log = ${log} AND seq = ${seq}`
    if (split !== null) yield* saveBlobs(d, log, seq, split.strings)
    const time = BigInt(event.time)
    if (seq < row.text_version) yield* replaceText(log, seq, time, textRow(event, true, time))
  }
  yield statement(`DELETE FROM ${d.table('snapshot')} WHERE number = ?`, log)
}
