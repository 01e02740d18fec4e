/** Prints pages of events and of conversations, with the command that prints the next page. */

import {
  type ConversationRecord,
  isQuarantined,
  maskSecrets,
  type Store,
  type StoredEvent,
  type TextHit,
} from '../../index.ts'
import { describeEvent } from '../../inspector/index.ts'

import type { Options, RequestOf } from '../commands.ts'
import type { Address } from '../db/address.ts'
import { getConversation, getEvent, withStore } from '../db/store.ts'
import { aboutStored, answer, attempt, type Io, writeLines } from '../print/io.ts'
import { counted, fit, glimpse, pad, padStart, quoted, safe, width } from '../print/text.ts'
import { CALLED, eventRow, heading, idWidth, type Page, shownId } from './page.ts'

interface PageOf<Item> {
  readonly items: readonly Item[]
  readonly cursor: string | null
}

type ListCommand = 'search' | 'search-text' | 'conversations'

interface List<Name extends ListCommand, Item> {
  readonly unit: string
  readonly find: (store: Store, options: Options<Name>, io: Io) => Promise<PageOf<Item>>
  readonly json: (item: Item) => object
  readonly rows: (page: Page, items: readonly Item[]) => Iterable<string>
}

const search: List<'search', StoredEvent> = {
  unit: 'event',
  async find(store, { conversation, kind: kinds, source, since, until, text, leaf, ...options }) {
    const { id } = await getConversation(store, conversation)
    // The store finds nothing above an unknown event; the user who typed its id needs to know.
    if (leaf !== undefined) await getEvent(store, id, leaf)
    const { desc, limit, cursor } = options
    const filter = given({ kinds, source, timestampGte: since, timestampLt: until, text, leafId: leaf })
    const order = desc === true ? 'timestamp_desc' : 'timestamp'
    return store.search({ conversationId: id, order, ...filter, ...given({ limit, cursor }) })
  },
  // The body of an imported event may lack its id.
  json: ({ id, fact }) => maskSecrets(fact.id === undefined ? { id, ...fact } : fact),
  rows: eventRows,
}

const searchText: List<'search-text', TextHit> = {
  unit: 'event',
  async find(store, { query, conversation: id, owner, role, since: from, until: to, ...options }, io) {
    const { index, rank, results, limit, cursor } = options
    if (index === true) await completeIndex(store, io)
    const conversation = id === undefined ? undefined : (await getConversation(store, id)).id
    const filter = given({ conversation, owner, role, from, to, limit, cursor })
    const order = rank === true ? 'rank' : 'time'
    return store.searchText({ query, order, includeResults: results === true, ...filter })
  },
  json: ({ conversationId, id, seq, ...hit }) => ({
    conversation_id: conversationId,
    event_id: id,
    position: seq,
    ...hit,
  }),
  rows: textRows,
}

const conversations: List<'conversations', ConversationRecord> = {
  unit: 'conversation',
  find: (store, { owner, limit, cursor }) => store.listConversations(given({ owner, limit, cursor })),
  json: recordJson,
  rows: recordRows,
}

const LISTS = { search, 'search-text': searchText, conversations }

const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof T]?: Exclude<T[Name], undefined>
  }

export async function printPage(request: RequestOf<ListCommand>, io: Io, page: Page): Promise<number> {
  const { command, options } = request
  const list = LISTS[command] as List<ListCommand, unknown>
  const about = aboutStored(
    options.db,
    'conversation' in options ? options.conversation : undefined,
    options.json,
  )
  const isText = command === 'search-text'
  const access = { write: isText && request.options.index === true, fullText: isText }
  return attempt(about, io, async () => {
    const find = (store: Store) => list.find(store, options, io)
    const { items, cursor: next } = await withStore(options.db, access, find)
    const remark = counted(items.length, list.unit) + (next === null ? '' : ', more follow')
    const more = next === null ? null : commandLine(command, { ...options, cursor: next })
    await answer(io, options.json, { items: items.map(list.json), cursor: next }, [
      heading(page, safe(about.name), remark),
      ...(items.length === 0 ? [page.paint('dim', '  nothing')] : list.rows(page, items)),
      ...(more === null
        ? []
        : [page.paint('dim', 'The next page:'), `  ${page.paint('strong', safe(more))}`]),
    ])
    return 0
  })
}

function* eventRows(page: Page, items: readonly StoredEvent[]): IterableIterator<string> {
  const idColumns = idWidth(page, items)
  for (const { id, time, fact } of items) {
    if (isQuarantined(fact)) continue
    const lead = `  ${shownTime(new Date(Number(BigInt(time) / 1000n)).toISOString())}  `
    yield eventRow(page, { lead, gutter: '', described: describeEvent(fact), id, idColumns })
  }
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

/** Prints an audit of long strings. Resolves to 1 where it finds a fault. */
export async function auditBlobs({ options }: RequestOf<'audit-blobs'>, io: Io, page: Page): Promise<number> {
  const about = aboutStored(options.db, undefined, options.json)
  return attempt(about, io, async () => {
    const audit = await withStore(options.db, { write: false }, (store) => store.auditBlobs())
    const { blobs, bytes, events, unused, damaged, missing } = audit
    const remark = `${counted(blobs, 'long string')} of ${counted(bytes, 'byte')} in ${counted(events, 'event')}`
    await answer(io, options.json, audit, [
      heading(page, safe(about.name), remark),
      ...unused.map((hash) => `  unused   ${safe(hash)}`),
      ...damaged.map((hash) => `  damaged  ${safe(hash)}`),
      ...missing.map(({ conversationId, seq }) => `  missing  ${quoted(conversationId)}, position ${seq}`),
    ])
    return unused.length + damaged.length + missing.length === 0 ? 0 : 1
  })
}

/** A record without its metadata, which may contain an agent's configuration with its keys. */
function recordJson(record: ConversationRecord): object {
  return {
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
  }
}

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

function commandLine(command: string, options: { readonly db: Address; readonly cursor: string }): string {
  const words = Object.entries<unknown>({ ...options, db: options.db.label }).flatMap(([name, value]) => {
    if (name === 'index') return []
    if (value === true) return [`--${name}`]
    // A value that begins like an option must be in one word with its name.
    return [value]
      .flat()
      .flatMap((text) =>
        String(text).startsWith('-') ? [inShell(`--${name}=${text}`)] : [`--${name}`, inShell(String(text))],
      )
  })
  return [CALLED, command, ...words].join(' ')
}

const inShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
