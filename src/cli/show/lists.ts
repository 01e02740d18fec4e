/** Prints one page of a stored conversation's events. */

import {
  type ConversationRecord,
  hasCode,
  isQuarantined,
  maskSecrets,
  type Store,
  type StoredEvent,
} from '../../index.ts'
import { describeEvent } from '../../inspector/index.ts'
import type { EventPage, Page as PageOf } from '../../store/kit/index.ts'
import type { ConversationsRequest, SearchRequest } from '../args/request.ts'
import { attempt } from '../attempt.ts'
import { getConversation, withStore } from '../db/store.ts'
import { FileError } from '../failure.ts'
import { type Io, progressOn, writeAll, writeLines } from '../print/io.ts'
import { counted, fit, glimpse, jsonLine, pad, padStart, quoted, safe, width } from '../print/text.ts'
import { commandLine, eventRow, heading, idWidth, instant, type Page, shownId } from './page.ts'

/** Prints one page. Resolves to the exit code. */
export async function searchEvents(request: SearchRequest, io: Io, page: Page): Promise<number> {
  const { db, conversation, json } = request
  const name = `${conversation} in ${db.label}`
  const progress = progressOn(name, io)
  const about = { name, fields: { file: db.label, conversation }, json }
  return attempt(about, io, progress, async () => {
    const found = await withStore(db, { write: false }, (store) => findEvents(store, request))
    if (json) {
      const items = found.items.map(eventItem)
      await writeAll(io.stdout, jsonLine({ items, next_page_id: found.next_page_id }))
    } else await writeLines(io.stdout, showSearch(page, request, found))
    return 0
  })
}

async function findEvents(store: Store, request: SearchRequest) {
  const { filter, descending, limit, page } = request
  const { id } = await getConversation(store, request.conversation)
  const { leafId } = filter
  // The store finds nothing above an event that is not there; the user who typed its id wants to know.
  if (leafId !== undefined && (await store.get(id, leafId).catch(noSuchId)) === null)
    throw new FileError('unknown_event', `no event ${quoted(leafId)} in this conversation`)
  return store.search({
    conversationId: id,
    ...filter,
    order: descending ? 'timestamp_desc' : 'timestamp',
    ...(limit !== null && { limit }),
    ...(page !== null && { cursor: page }),
  })
}

/** An id that nothing can have is the id of nothing. */
function noSuchId(error: unknown): null {
  if (hasCode(error, 'invalid_id') || hasCode(error, 'invalid_query')) return null
  throw error
}

/** An event as a page has it: with an id, which the body of an imported one may lack, and without secrets. */
const eventItem = ({ id, fact }: StoredEvent): object =>
  maskSecrets(fact.id === undefined ? { id, ...fact } : fact)

/** Prints one page. Resolves to the exit code. */
export async function listConversations(request: ConversationsRequest, io: Io, page: Page): Promise<number> {
  const { db, limit, page: cursor, json } = request
  const progress = progressOn(db.label, io)
  const about = { name: db.label, fields: { file: db.label }, json }
  return attempt(about, io, progress, async () => {
    const found = await withStore(db, { write: false }, (store) =>
      store.listConversations({
        ...(limit !== null && { limit }),
        ...(cursor !== null && { cursor }),
      }),
    )
    if (json) {
      const items = found.items.map(recordItem)
      await writeAll(io.stdout, jsonLine({ items, next_page_id: found.next_page_id }))
    } else await writeLines(io.stdout, showConversations(page, request, found))
    return 0
  })
}

/** A record as a page has it. Its metadata is left out: it may hold an agent's configuration with its keys. */
const recordItem = (record: ConversationRecord): object => ({
  id: record.id,
  title: record.title,
  public: record.public,
  tags: record.tags,
  time_zone: record.timeZone,
  parent_conversation_id: record.parentConversationId,
  created_at: record.createdAt,
  updated_at: record.updatedAt,
  events: record.version,
  head: record.headId,
})

/** Shows a page to people. */
export function* showSearch(
  page: Page,
  request: SearchRequest,
  { items, next_page_id: next }: EventPage,
): IterableIterator<string> {
  const title = safe(`${request.conversation} in ${request.db.label}`)
  yield heading(page, title, counted(items.length, 'event') + (next === null ? '' : ', more follow'))
  const idColumns = idWidth(
    page,
    items.map(({ id }) => id),
  )
  for (const item of items) yield* row(page, item, idColumns)
  if (items.length === 0) yield page.paint('dim', '  nothing')
  if (next !== null) {
    yield page.paint('dim', 'The next page:')
    yield `  ${page.paint('strong', safe(nextCommand(request, next)))}`
  }
}

function* row(page: Page, { id, time, fact }: StoredEvent, idColumns: number): IterableIterator<string> {
  if (isQuarantined(fact)) return
  yield eventRow(page, {
    lead: `  ${instant(BigInt(time))}  `,
    gutter: '',
    described: describeEvent(fact),
    id,
    idColumns,
  })
}

function nextCommand({ db, conversation, filter, descending, limit }: SearchRequest, next: string): string {
  const { kinds = [], source, timestampGte, timestampLt, text, leafId } = filter
  return commandLine('search', [
    ['db', db.label],
    ['conversation', conversation],
    ...kinds.map((kind): [string, string] => ['kind', kind]),
    ['source', source],
    ['since', timestampGte],
    ['until', timestampLt],
    ['text', text],
    ['leaf', leafId],
    ...(descending ? [['desc', true] as const] : []),
    ['limit', limit === null ? undefined : String(limit)],
    ['page', next],
  ])
}

/** Shows a page to people. */
export function* showConversations(
  page: Page,
  { db, limit }: ConversationsRequest,
  { items, next_page_id: next }: PageOf<ConversationRecord>,
): IterableIterator<string> {
  const remark = counted(items.length, 'conversation') + (next === null ? '' : ', more follow')
  yield heading(page, safe(db.label), remark)
  // Whole if they can be: an id is there to be typed.
  const ids = Math.min(Math.max(0, ...items.map(({ id }) => width(safe(id)))), Math.floor(page.columns / 2))
  const events = Math.max(0, ...items.map(({ version }) => version.toLocaleString('en').length))
  for (const { id, version, createdAt, title } of items) {
    const unit = version === 1 ? 'event ' : 'events'
    const lead = `  ${pad(shownId(id, ids), ids)}  ${padStart(version.toLocaleString('en'), events)} ${unit}`
    const when = createdAt.slice(0, 19).replace('T', ' ')
    const room = page.columns - width(lead) - when.length - 4
    yield `${lead}  ${page.paint('dim', when)}  ${fit(glimpse(title ?? ''), room)}`.trimEnd()
  }
  if (items.length === 0) yield page.paint('dim', '  nothing')
  if (next !== null) {
    yield page.paint('dim', 'The next page:')
    const command = commandLine('conversations', [
      ['db', db.label],
      ['limit', limit === null ? undefined : String(limit)],
      ['page', next],
    ])
    yield `  ${page.paint('strong', safe(command))}`
  }
}
