/** Deletes conversations of a database, and erases the content of an event, as a service does over HTTP. */

import { createEngine } from '../conversation/index.ts'
import { isQuarantined, type Store } from '../index.ts'
import { describeEvent } from '../inspector/index.ts'

import type { RequestOf } from './commands.ts'
import { getConversation, getEvent, withStore } from './db/store.ts'
import { FileError } from './failure.ts'
import { aboutStored, answer, attempt, type Io } from './print/io.ts'
import { counted, quoted, safe } from './print/text.ts'
import { eventRow, heading, type Page } from './show/page.ts'

const ZERO_COUNTS = { conversations: 0, events: 0, snapshots: 0, leases: 0, items: 0 }

export async function deleteConversations(
  { options }: RequestOf<'delete'>,
  io: Io,
  page: Page,
): Promise<number> {
  const { db, conversation, owner, tag, before, json, 'dry-run': dryRun = false } = options
  const about = aboutStored(db, undefined, json)
  return attempt(about, io, async () => {
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
    const sum = { ...ZERO_COUNTS, more: false }
    await withStore(db, { write: !dryRun }, async (store) => {
      for (let isOver = false; !isOver;) {
        const report = await post<typeof sum>(store, '/api/conversations/delete', body)
        for (const name of Object.keys(ZERO_COUNTS) as (keyof typeof ZERO_COUNTS)[]) sum[name] += report[name]
        sum.more = report.more
        isOver = dryRun || !report.more
      }
    })
    const what = `${counted(sum.conversations, 'conversation')} with ${counted(sum.events, 'event')}${sum.more ? ', and more' : ''}`
    const line = heading(page, safe(about.name), `${dryRun ? 'would delete' : 'deleted'} ${what}`)
    await answer(io, json, { ...sum, dry_run: dryRun }, [line])
    return 0
  })
}

export async function eraseEvent({ options }: RequestOf<'erase'>, io: Io, page: Page): Promise<number> {
  const { db, conversation, event: eventId, reason, json, 'dry-run': dryRun = false } = options
  return attempt(aboutStored(db, conversation, json), io, async () => {
    const { id, stored } = await withStore(db, { write: false }, async (store) => {
      const { id } = await getConversation(store, conversation)
      return { id, stored: await getEvent(store, id, eventId) }
    })
    const [conversationPath, eventPath] = [id, eventId].map(encodeURIComponent)
    const path = `/api/conversations/${conversationPath}/events/${eventPath}/erase`
    if (!dryRun) await withStore(db, { write: true }, (store) => post(store, path, { reason }))
    const described = isQuarantined(stored.fact) || !dryRun ? null : describeEvent(stored.fact)
    await answer(io, json, { conversation: id, event: eventId, dry_run: dryRun }, [
      `${dryRun ? 'would erase' : 'erased'} ${quoted(eventId)}`,
      ...(described === null
        ? []
        : [eventRow(page, { lead: '  ', gutter: '', described, id: null, idColumns: 0 })]),
    ])
    return 0
  })
}

/** Sends a request to a service over the store. @throws FileError for an error response. */
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
    throw new FileError(
      'unexpected',
      typeof detail === 'string' ? detail : detail.map(({ msg }) => msg).join('; '),
    )
  } finally {
    // The service that runs a sandbox deletes it.
    await service.controlPlane.deletions.worker.settle()
    await engine.close()
  }
}
