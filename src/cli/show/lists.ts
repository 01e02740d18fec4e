/** Prints pages of events and of conversations, with the command that prints the next page. */

import {
  type ConversationRecord,
  hasCode,
  isQuarantined,
  maskSecrets,
  type Store,
  type StoredEvent,
  type TextHit,
} from '../../index.ts'
import { describeEvent } from '../../inspector/index.ts'
import { type About, aboutStored, attempt } from '../attempt.ts'
import type { Options, RequestOf } from '../commands.ts'
import type { Address } from '../db/address.ts'
import { type Access, getConversation, withStore } from '../db/store.ts'
import { FileError } from '../failure.ts'
import { type Io, writeAll, writeLines } from '../print/io.ts'
import { counted, fit, glimpse, jsonLine, pad, padStart, quoted, safe, width } from '../print/text.ts'
import { CALLED, eventRow, heading, idWidth, type Page, shownId } from './page.ts'

interface PageOf<Item> {
  readonly items: readonly Item[]
  readonly next_page_id: string | null
}

interface List<Item> {
  readonly about: About
  readonly db: Address
  readonly unit: string
  readonly access?: Access
  readonly find: (store: Store) => Promise<PageOf<Item>>
  readonly json: (item: Item) => object
  readonly rows: (items: readonly Item[]) => Iterable<string>
  readonly options: readonly (readonly [name: string, value: string | number | true | undefined])[]
}

async function printPage<Item>(command: string, list: List<Item>, io: Io, page: Page): Promise<number> {
  const { about, unit } = list
  return attempt(about, io, async () => {
    const { items, next_page_id: next } = await withStore(list.db, list.access ?? { write: false }, list.find)
    if (about.json === true) {
      await writeAll(io.stdout, jsonLine({ items: items.map(list.json), next_page_id: next }))
      return 0
    }
    const remark = counted(items.length, unit) + (next === null ? '' : ', more follow')
    await writeLines(io.stdout, [heading(page, safe(about.name), remark)])
    await writeLines(io.stdout, items.length === 0 ? [page.paint('dim', '  nothing')] : list.rows(items))
    if (next === null) return 0
    const line = commandLine(command, [...list.options, ['page', next]])
    await writeLines(io.stdout, [
      page.paint('dim', 'The next page:'),
      `  ${page.paint('strong', safe(line))}`,
    ])
    return 0
  })
}

export async function searchEvents({ options }: RequestOf<'search'>, io: Io, page: Page): Promise<number> {
  const { db, conversation, limit } = options
  const list: List<StoredEvent> = {
    about: aboutStored(db, conversation, options.json),
    db,
    unit: 'event',
    find: (store) => findEvents(store, conversation, options),
    // The body of an imported event may lack its id.
    json: ({ id, fact }) => maskSecrets(fact.id === undefined ? { id, ...fact } : fact),
    rows: (items) => eventRows(page, items),
    options: [
      ['db', db.label],
      ['conversation', conversation],
      ...(options.kind ?? []).map((kind) => ['kind', kind] as const),
      ['source', options.source],
      ['since', options.since],
      ['until', options.until],
      ['text', options.text],
      ['leaf', options.leaf],
      ['desc', options.desc],
      ['limit', limit],
    ],
  }
  return printPage('search', list, io, page)
}

async function findEvents(store: Store, conversation: string, options: Options<'search'>) {
  const { kind, source, since, until, text, leaf, limit, page: cursor } = options
  const { id } = await getConversation(store, conversation)
  // The store finds nothing above an unknown event; the user who typed its id needs to know.
  if (leaf !== undefined && (await store.get(id, leaf).catch(noSuchId)) === null)
    throw new FileError('unknown_event', `no event ${quoted(leaf)} in this conversation`)
  return store.search({
    conversationId: id,
    ...(kind !== undefined && { kinds: kind }),
    ...(source !== undefined && { source }),
    ...(since !== undefined && { timestampGte: since }),
    ...(until !== undefined && { timestampLt: until }),
    ...(text !== undefined && { text }),
    ...(leaf !== undefined && { leafId: leaf }),
    order: options.desc === true ? 'timestamp_desc' : 'timestamp',
    ...(limit !== undefined && { limit }),
    ...(cursor !== undefined && { cursor }),
  })
}

/** No event has an invalid id. */
function noSuchId(error: unknown): null {
  if (hasCode(error, 'invalid_id') || hasCode(error, 'invalid_query')) return null
  throw error
}

function* eventRows(page: Page, items: readonly StoredEvent[]): IterableIterator<string> {
  const idColumns = idWidth(
    page,
    items.map(({ id }) => id),
  )
  for (const { id, time, fact } of items) {
    if (isQuarantined(fact)) continue
    const lead = `  ${shownTime(new Date(Number(BigInt(time) / 1000n)).toISOString())}  `
    yield eventRow(page, { lead, gutter: '', described: describeEvent(fact), id, idColumns })
  }
}

export async function searchTexts(
  { options }: RequestOf<'search-text'>,
  io: Io,
  page: Page,
): Promise<number> {
  const { db, query, conversation, owner, role, since, until, limit, page: cursor } = options
  const list: List<TextHit> = {
    about: aboutStored(db, conversation, options.json),
    db,
    unit: 'event',
    access: { write: options.index === true, fullText: true },
    find: async (store) => {
      if (options.index === true) await completeIndex(store, io)
      const record = conversation === undefined ? null : await getConversation(store, conversation)
      return store.searchText({
        query,
        order: options.rank === true ? 'rank' : 'time',
        includeResults: options.results === true,
        ...(record !== null && { conversation: record.id }),
        ...(owner !== undefined && { owner }),
        ...(role !== undefined && { role }),
        ...(since !== undefined && { from: since }),
        ...(until !== undefined && { to: until }),
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
      })
    },
    json: ({ conversationId, id, seq, ...hit }) => ({
      conversation_id: conversationId,
      event_id: id,
      position: seq,
      ...hit,
    }),
    rows: (items) => textRows(page, items),
    options: [
      ['db', db.label],
      ['query', query],
      ['conversation', conversation],
      ['owner', owner],
      ['role', role],
      ['since', since],
      ['until', until],
      ['rank', options.rank],
      ['results', options.results],
      ['limit', limit],
    ],
  }
  return printPage('search-text', list, io, page)
}

async function completeIndex(store: Store, io: Io): Promise<void> {
  for (let last = -1; ;) {
    const { indexed, total } = await store.textIndex()
    if (indexed === total) return
    if (indexed !== last) await writeLines(io.stderr, [`indexed ${indexed} of ${counted(total, 'event')}`])
    last = indexed
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

function* textRows(page: Page, items: readonly TextHit[]): IterableIterator<string> {
  const ids = Math.min(
    Math.max(0, ...items.map(({ conversationId }) => width(safe(conversationId)))),
    Math.floor(page.columns / 3),
  )
  for (const { conversationId, seq, role, timestamp, snippet, ranges } of items) {
    const lead = `  ${shownTime(timestamp)}  ${pad(shownId(conversationId, ids), ids)}  ${padStart(`#${seq}`, 6)}  ${pad(role, 9)} `
    // From shortly before the first match, so that a narrow page shows it.
    const start = Math.max(0, (ranges[0]?.[0] ?? 0) - 20)
    const room = Math.max(20, page.columns - width(lead))
    yield `${page.paint('dim', lead)}${fit(glimpse(snippet.slice(start)), room)}`.trimEnd()
  }
}

export async function listConversations(
  { options }: RequestOf<'conversations'>,
  io: Io,
  page: Page,
): Promise<number> {
  const { db, limit, page: cursor, owner } = options
  const list: List<ConversationRecord> = {
    about: aboutStored(db, undefined, options.json),
    db,
    unit: 'conversation',
    find: (store) =>
      store.listConversations({
        ...(owner !== undefined && { owner }),
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
      }),
    json: recordJson,
    rows: (items) => recordRows(page, items),
    options: [
      ['db', db.label],
      ['owner', owner],
      ['limit', limit],
    ],
  }
  return printPage('conversations', list, io, page)
}

/** Prints an audit of long strings. Resolves to 1 where it finds a fault. */
export async function auditBlobs({ options }: RequestOf<'audit-blobs'>, io: Io, page: Page): Promise<number> {
  const about = aboutStored(options.db, undefined, options.json)
  return attempt(about, io, async () => {
    const audit = await withStore(options.db, { write: false }, (store) => store.auditBlobs())
    const { blobs, bytes, events, unused, damaged, missing } = audit
    const code = unused.length + damaged.length + missing.length === 0 ? 0 : 1
    if (options.json === true) await writeAll(io.stdout, jsonLine(audit))
    else {
      const remark = `${counted(blobs, 'long string')} of ${counted(bytes, 'byte')} in ${counted(events, 'event')}`
      await writeLines(io.stdout, [
        heading(page, safe(about.name), remark),
        ...unused.map((hash) => `  unused   ${safe(hash)}`),
        ...damaged.map((hash) => `  damaged  ${safe(hash)}`),
        ...missing.map(({ conversationId, seq }) => `  missing  ${quoted(conversationId)}, position ${seq}`),
      ])
    }
    return code
  })
}

/** A record without its metadata, which may contain an agent's configuration with its keys. */
const recordJson = (record: ConversationRecord): object => ({
  id: record.id,
  title: record.title,
  public: record.public,
  tags: record.tags,
  owner: record.owner,
  time_zone: record.timeZone,
  parent_conversation_id: record.parentConversationId,
  created_at: record.createdAt,
  updated_at: record.updatedAt,
  events: record.version,
  head: record.headId,
})

function* recordRows(page: Page, items: readonly ConversationRecord[]): IterableIterator<string> {
  // Whole where it fits: an id is shown to be typed.
  const ids = Math.min(Math.max(0, ...items.map(({ id }) => width(safe(id)))), Math.floor(page.columns / 2))
  const events = Math.max(0, ...items.map(({ version }) => version.toLocaleString('en').length))
  for (const { id, version, createdAt, title } of items) {
    const unit = version === 1 ? 'event ' : 'events'
    const lead = `  ${pad(shownId(id, ids), ids)}  ${padStart(version.toLocaleString('en'), events)} ${unit}`
    const when = shownTime(createdAt)
    const room = page.columns - width(lead) - when.length - 4
    yield `${lead}  ${page.paint('dim', when)}  ${fit(glimpse(title ?? ''), room)}`.trimEnd()
  }
}

const shownTime = (time: string): string => time.replace(/(?:\.\d+)?Z$/, '').replace('T', ' ')

function commandLine(command: string, options: List<never>['options']): string {
  const words = options.flatMap(([name, value]) => {
    if (value === undefined) return []
    if (value === true) return [`--${name}`]
    const text = String(value)
    // A value that begins like an option must be in one word with its name.
    return text.startsWith('-') ? [inShell(`--${name}=${text}`)] : [`--${name}`, inShell(text)]
  })
  return [CALLED, command, ...words].join(' ')
}

const inShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
