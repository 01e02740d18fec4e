/** Prints one page of a stored conversation's events. */

import { hasCode, maskSecrets, type Store, type StoredEvent } from '../../index.ts'
import { attempt } from '../attempt.ts'
import { getConversation } from '../db/conversation.ts'
import { withStore } from '../db/open.ts'
import { FileError } from '../failure.ts'
import { type Io, writeAll, writeLines } from '../print/io.ts'
import { jsonLine } from '../print/json.ts'
import { progressOn } from '../print/progress.ts'
import type { SearchRequest } from '../args/request.ts'
import type { Page } from '../show/page.ts'
import { showSearch } from '../show/search.ts'
import { quoted } from '../print/text.ts'

/** Prints one page. Resolves to the exit code. */
export async function searchEvents(request: SearchRequest, io: Io, page: Page): Promise<number> {
  const { db, conversation, json } = request
  const name = `${conversation} in ${db.label}`
  const progress = progressOn(name, io)
  const about = { name, fields: { file: db.label, conversation }, json }
  return attempt(about, io, progress, async () => {
    const found = await withStore(db, { write: false }, (store) => findEvents(store, request))
    if (json) {
      const items = found.items.map(itemOf)
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
const itemOf = ({ id, fact }: StoredEvent): object =>
  maskSecrets(fact.id === undefined ? { id, ...fact } : fact)
