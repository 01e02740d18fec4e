import { setTimeout } from 'node:timers/promises'
import { createEngine, type DeletionReport } from '../conversation/index.ts'
import type { ConversationRecord, Store, StoredEvent, TextHit } from '../index.ts'
import { isQuarantined, maskSecrets } from '../index.ts'
import { describeEvent } from '../inspector/index.ts'
import type { Page as PageOf } from '../store/kit/index.ts'
import type { Options, RequestOf } from './commands.ts'
import { getConversation, getEvent, withStore } from './db/store.ts'
import { FileError } from './failure.ts'
import type { Io } from './print/io.ts'
import { counted, fit, glimpse, pad, quoted, safe, widest, width } from './print/text.ts'
import { aboutFile, aboutStored, type Page, shownId } from './show/page.ts'

type ListCommand = 'search' | 'search-text' | 'conversations'

interface List<Name extends ListCommand, Item> {
  readonly find: (store: Store, options: Options<Name>, io: Io) => Promise<PageOf<Item>>
  readonly json: (item: Item) => object
  readonly rows: (page: Page, items: readonly Item[]) => Iterable<string>
}

const search: List<'search', StoredEvent> = {
  async find(store, { conversation, kind: kinds, source, since, until, text, leaf, desc, limit, cursor }) {
    const { id } = await getConversation(store, conversation)
    // The store returns an empty path for an unknown event; the user who typed its id needs an error.
    if (leaf !== undefined) await getEvent(store, id, leaf)
    const period = { timestampGte: since, timestampLt: until }
    const filter = defined({ kinds, source, ...period, text, leafId: leaf, limit, cursor })
    const order = desc === true ? 'timestamp_desc' : 'timestamp'
    return store.search({ conversationId: id, order, ...filter })
  },
  // The body of an imported event may lack its id.
  json: ({ id, fact }) => maskSecrets(fact.id === undefined ? { id, ...fact } : fact),
  rows(page, items) {
    const rows = items.flatMap(({ id, time, fact }) => {
      if (isQuarantined(fact)) return []
      const lead = `  ${shownTime(new Date(Number(BigInt(time) / 1000n)).toISOString())}  `
      return [{ lead, described: describeEvent(fact), id }]
    })
    return page.eventRows(rows)
  },
}

const searchText: List<'search-text', TextHit> = {
  async find(store, { query, conversation: name, since: from, until: to, ...options }, io) {
    const { index, owner, role, rank, results, limit, cursor } = options
    if (index === true) await completeIndex(store, io)
    const conversation = name === undefined ? undefined : (await getConversation(store, name)).id
    return store.searchText({
      query,
      order: rank === true ? 'rank' : 'time',
      includeResults: results === true,
      ...defined({ conversation, owner, role, from, to, limit, cursor }),
    })
  },
  json: ({ conversationId: conversation_id, id: event_id, seq: position, ...hit }) => {
    return { conversation_id, event_id, position, ...hit }
  },
  rows(page, items) {
    const ids = page.idColumns(
      items.map(({ conversationId: id }) => ({ id })),
      page.columns / 4,
    )
    return items.map(({ conversationId, seq, role, timestamp, snippet, ranges }) => {
      const id = pad(shownId(conversationId, ids), ids)
      const lead = `  ${shownTime(timestamp)}  ${id}  ${`#${seq + 1}`.padStart(6)}  `
      // Start shortly before the first match, so that a narrow page shows the match.
      const text = glimpse(snippet.slice(Math.max(0, (ranges[0]?.[0] ?? 0) - 20)))
      return page.eventRow({ lead, described: { role, tone: 'text', subject: '', text } })
    })
  },
}

const conversations: List<'conversations', ConversationRecord> = {
  find: (store, { owner, limit, cursor }) => store.listConversations(defined({ owner, limit, cursor })),
  // Omit the metadata, which may contain an agent's configuration with its keys.
  json: (record) => ({
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
  }),
  *rows(page, items) {
    const ids = page.idColumns(items, page.columns / 2)
    const events = widest(items.map(({ version }) => version.toLocaleString('en')))
    for (const { id, version, createdAt, title } of items) {
      const unit = version === 1 ? 'event ' : 'events'
      const lead = `  ${pad(shownId(id, ids), ids)}  ${version.toLocaleString('en').padStart(events)} ${unit}`
      const when = shownTime(createdAt)
      const room = page.columns - width(lead) - when.length - 4
      yield `${lead}  ${page.paint('dim', when)}  ${fit(glimpse(title ?? ''), room)}`.trimEnd()
    }
  },
}

const shownTime = (time: string): string => time.replace(/(?:\.\d+)?Z$/, '').replace('T', ' ')

const defined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof T]?: Exclude<T[Name], undefined>
  }

async function completeIndex(store: Store, io: Io): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const { indexed, total } = await store.textIndex()
    if (indexed === total && isFirst) return
    await io.stderr.write(`indexed ${indexed} of ${counted(total, 'event')}\n`)
    if (indexed === total) return
    await setTimeout(1000)
  }
}

export async function printPage(request: RequestOf<ListCommand>, page: Page): Promise<number> {
  const { command, options } = request
  const list = { search, 'search-text': searchText, conversations }[command] as List<ListCommand, unknown>
  const conversation = 'conversation' in options ? options.conversation : undefined
  const about = aboutStored(options.db, conversation)
  const isText = command === 'search-text'
  const access = { write: isText && request.options.index === true, fullText: isText }
  return page.attempt(about, async () => {
    const { items, cursor } = await withStore(options.db, access, (store) =>
      list.find(store, options, page.io),
    )
    const count = counted(items.length, command === 'conversations' ? 'conversation' : 'event')
    const [more, next] = [', more follow', page.paint('dim', 'For the next page, repeat the command with')]
    await page.answer({ items: items.map(list.json), cursor }, [
      page.heading(safe(about.name), count + (cursor === null ? '' : more)),
      ...(items.length === 0 ? [page.paint('dim', '  nothing')] : list.rows(page, items)),
      ...(cursor === null ? [] : [`${next} --cursor=${safe(cursor)}`]),
    ])
    return 0
  })
}

export async function auditBlobs({ options }: RequestOf<'audit-blobs'>, page: Page): Promise<number> {
  const about = aboutFile(options.db.label)
  return page.attempt(about, async () => {
    const audit = await withStore(options.db, { write: false }, (store) => store.auditBlobs())
    const { blobs, bytes, events, unused, damaged, missing } = audit
    const remark = `${counted(blobs, 'long string')} of ${counted(bytes, 'byte')} in ${counted(events, 'event')}`
    await page.answer(audit, [
      page.heading(safe(about.name), remark),
      ...unused.map((hash) => `  unused   ${safe(hash)}`),
      ...damaged.map((hash) => `  damaged  ${safe(hash)}`),
      ...missing.map(({ conversationId, seq }) => `  missing  ${quoted(conversationId)}, position ${seq}`),
    ])
    return unused.length + damaged.length + missing.length === 0 ? 0 : 1
  })
}

export async function deleteConversations({ options }: RequestOf<'delete'>, page: Page): Promise<number> {
  const { db, conversation, owner, tag, before, 'dry-run': dryRun = false } = options
  return page.attempt(aboutFile(db.label), async () => {
    // Opening a missing database for writing would create it.
    const ids = await withStore(db, { write: false }, async (store) => {
      await store.countConversations()
      return Promise.all((conversation ?? []).map(async (text) => (await getConversation(store, text)).id))
    })
    const body = {
      ...(conversation !== undefined && { ids }),
      ...(tag !== undefined && { tags: Object.assign({}, ...tag) as object }),
      older_than_days: options['older-than'],
      keep_last: options['keep-last'],
      owner,
      before,
      dry_run: dryRun,
      limit: dryRun ? 10_000 : 100,
    }
    const sum = { conversations: 0, events: 0, snapshots: 0, leases: 0, items: 0 }
    const names = Object.keys(sum) as (keyof typeof sum)[]
    const more = await withStore(db, { write: !dryRun }, async (store) => {
      for (;;) {
        const report = await post<DeletionReport>(store, '/api/conversations/delete', body)
        for (const name of names) sum[name] += report[name]
        if (dryRun || !report.more) return report.more
      }
    })
    const what = `${counted(sum.conversations, 'conversation')} with ${counted(sum.events, 'event')}${more ? ', and more' : ''}`
    const line = page.heading(safe(db.label), `${dryRun ? 'would delete' : 'deleted'} ${what}`)
    await page.answer({ ...sum, more, dry_run: dryRun }, [line])
    return 0
  })
}

export async function eraseEvent({ options }: RequestOf<'erase'>, page: Page): Promise<number> {
  const { db, conversation, event: eventId, reason, 'dry-run': dryRun = false } = options
  return page.attempt(aboutStored(db, conversation), async () => {
    const { id, fact } = await withStore(db, { write: false }, async (store) => {
      const { id } = await getConversation(store, conversation)
      return { id, fact: (await getEvent(store, id, eventId)).fact }
    })
    const [conversationPath, eventPath] = [id, eventId].map(encodeURIComponent)
    const path = `/api/conversations/${conversationPath}/events/${eventPath}/erase`
    if (!dryRun) await withStore(db, { write: true }, (store) => post(store, path, { reason }))
    const isShown = dryRun && !isQuarantined(fact)
    await page.answer({ conversation: id, event: eventId, dry_run: dryRun }, [
      `${dryRun ? 'would erase' : 'erased'} ${quoted(eventId)}`,
      ...(isShown ? [page.eventRow({ lead: '  ', described: describeEvent(fact) })] : []),
    ])
    return 0
  })
}

/** Creates a service on the store, and sends it a request. @throws FileError for an error response. */
async function post<T>(store: Store, path: string, body: object): Promise<T> {
  const engine = createEngine({ store })
  const { createService } = await import('../service/index.ts')
  const service = createService({ engine, onFailure: () => undefined })
  try {
    const request = new Request(`http://localhost${path}`, { method: 'POST', body: JSON.stringify(body) })
    const response = await service.fetch(request)
    const reply = (await response.json()) as {
      readonly detail?: string | readonly { readonly msg: string }[]
    }
    if (response.ok) return reply as T
    const { detail = '' } = reply
    const message =
      typeof detail === 'string'
        ? detail
        : detail.map(({ msg }) => msg.replace(/^Value error, /, '')).join('; ')
    throw new FileError('unexpected', message)
  } finally {
    // Wait for background jobs. A job that deletes a sandbox is left to the service that runs the sandbox.
    await service.controlPlane.deletions.worker.settle()
    await engine.close()
  }
}
