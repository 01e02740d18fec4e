import { isQuarantined } from '../../event/quarantine.ts'
import type { StoredEvent } from '../contract/query.ts'
import { referencesText, splitBody } from '../kit/blobs.ts'
import { type CheckedReplacement, checkReplaced } from '../kit/append/replace.ts'
import { unknownConversation } from '../kit/errors.ts'
import { messageText } from '../kit/query/message-text.ts'
import { saveBlobs } from './blobs.ts'
import { type Dialect, first, sql, statement, type Work } from './dialect.ts'
import type { eventReads } from './events.ts'
import { textRow, type TextRow } from './texts.ts'

/** Finds the text by `time` and `seq`. */
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
    yield* replaceEvent(d, log, { ...before, fact: replacement.after }, function* (event, time) {
      if (event.seq < row.text_version) yield* replaceText(log, event.seq, time, textRow(event, true, time))
    })
  }
  yield statement(`DELETE FROM ${d.table('snapshot')} WHERE number = ?`, log)
}

function* replaceEvent(
  d: Dialect,
  log: number,
  event: StoredEvent,
  replaceText: (event: StoredEvent, time: bigint) => Work<void>,
): Work<void> {
  const { seq, fact } = event
  const time = BigInt(event.time)
  const split = splitBody(fact)
  yield statement(`DELETE FROM ${d.table('blob_use')} WHERE log = ? AND seq = ?`, log, seq)
  const body = split === null ? JSON.stringify(fact) : split.body
  const blobs = split === null ? null : referencesText(split.strings)
  const message = isQuarantined(fact) ? null : messageText(fact)
  yield sql`UPDATE ${statement(d.table('event'))} SET body = ${body}, blobs = ${blobs}, message = ${message}
    WHERE log = ${log} AND seq = ${seq}`
  if (split !== null) yield* saveBlobs(d, log, seq, split.strings)
  yield* replaceText(event, time)
}
