/** Pages of conversations as the agent server shows them. */

import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Status } from '../../state/status.ts'
import type { ConversationOrder, ConversationRecord } from '../../store/contract/conversation-record.ts'
import { infoOf } from '../conversations/info.ts'
import { find, isUnknown, type Lifecycle } from '../conversations/conversations.ts'

/** Most conversations that one page of a search by status looks through. */
const MOST_SEEN = 1_000

/** Which page of which conversations. */
export interface Search {
  readonly status: Status | null
  /** Tags that must be there with these values. */
  readonly tags?: Readonly<Record<string, string>>
  readonly order: ConversationOrder
  readonly cursor: string | null
  readonly limit: number
}

/**
 * One page; the status stands in the log and not in the record, so a search by status looks through the records, so
 * many at most: a page may then be short, or empty, and still have one after it.
 */
export async function search(
  lifecycle: Lifecycle,
  { status, tags = {}, order, cursor, limit }: Search,
): Promise<{ readonly items: readonly JsonObject[]; readonly next_page_id: string | null }> {
  const items: JsonObject[] = []
  let next = cursor
  let seen = 0
  do {
    const page = await lifecycle.engine.store.listConversations({
      order,
      tags,
      limit: limit - items.length,
      ...(next !== null && { cursor: next }),
    })
    const infos = await mapSequential(page.items, (record) => describeIfThere(lifecycle, record))
    items.push(...infos.filter((info) => info !== null).filter((info) => fits(info, status)))
    next = page.next_page_id
    seen += page.items.length
  } while (next !== null && items.length < limit && seen < MOST_SEEN)
  return { items, next_page_id: next }
}

/** How many there are, with a status those that have it: then every conversation is looked at. */
export async function count(
  lifecycle: Lifecycle,
  status: Status | null,
  tags: Readonly<Record<string, string>>,
): Promise<number> {
  if (status === null)
    return (await lifecycle.engine.store.countConversations({ tags }, { exact: true })).count
  let found = 0
  let cursor: string | null = null
  do {
    const page = await search(lifecycle, { status, tags, order: 'created_at', cursor, limit: MAX_PAGE_SIZE })
    found += page.items.length
    cursor = page.next_page_id
  } while (cursor !== null)
  return found
}

const fits = (info: JsonObject, status: Status | null): boolean =>
  status === null || info['execution_status'] === status

/** Null for a conversation that is not there, or was deleted while it was looked at. */
export async function describeIfThere(
  lifecycle: Lifecycle,
  given: string | ConversationRecord,
): Promise<JsonObject | null> {
  try {
    const { record, state } = await find(lifecycle, given)
    return infoOf(record, state)
  } catch (error) {
    if (isUnknown(error)) return null
    throw error
  }
}

/** One after the other, so that a long list opens no more conversations at once than it must. */
export async function mapSequential<T, R>(list: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of list) results.push(await work(item))
  return results
}
