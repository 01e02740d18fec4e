/** Pages of conversations as the agent server shows them. */

import { type Count, MAX_PAGE_SIZE, type Page } from '../../store/contract/query.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Status } from '../../state/status.ts'
import type { ConversationOrder, ConversationRecord } from '../../store/contract/conversation-record.ts'
import { infoOf } from '../conversations/info.ts'
import { listPage, walkConversations } from '../conversations/listing.ts'
import { pageInBytes } from '../http/page-bytes.ts'
import { find, isUnknown, type Lifecycle } from '../conversations/conversations.ts'

/** Which conversations. */
export interface Filter {
  readonly status: Status | null
  /** Tags that must be there with these values. */
  readonly tags?: Readonly<Record<string, string>>
}

/** Which page of which conversations. */
export interface Search extends Filter {
  readonly order: ConversationOrder
  readonly cursor: string | null
  readonly limit: number
}

/**
 * One page. With a status those that are listed by it, for as long as all have one; else each is looked at, so many of
 * them at most. So a page may be short, or empty, and still have one after it, as it may where conversations are large.
 */
export async function search(
  lifecycle: Lifecycle,
  { status, tags = {}, order, cursor, limit }: Search,
): Promise<Page<JsonObject>> {
  const { store } = lifecycle.engine
  const isListed = status !== null && (await settle(lifecycle, MAX_PAGE_SIZE))
  const asked = { tags, ...(isListed && { status }) }
  const list = { list: 'agent-conversations', order, filter: { status, tags } }
  return pageInBytes({
    cursor,
    limit,
    isCompared: status === null || isListed,
    read: (place, most) => listPage(store, asked, { ...list, cursor: place, limit: most }),
    show: async (records) => {
      const infos = await mapSequential(records, (record) => describeIfThere(lifecycle, record))
      return infos.map((info) => (info !== null && fits(info, status) ? info : null))
    },
  })
}

/** How many there are; to be exact, with a status, each of which none is known is looked at, once. */
export async function count(
  lifecycle: Lifecycle,
  { status, tags = {} }: Filter,
  exact: boolean,
): Promise<Count> {
  const { store } = lifecycle.engine
  if (status === null) return store.countConversations({ tags }, { exact })
  const isListed = await settle(lifecycle, exact ? Number.POSITIVE_INFINITY : MAX_PAGE_SIZE)
  const { count: found, more } = await store.countConversations({ status, tags }, { exact })
  return { count: found, more: more || !isListed }
}

/**
 * Looks at conversations of which no status is known, as those that an import has left, and so has it said (`Replica`); each of them once, and so many at most. Gives whether it is known of all: where it cannot be
 * written, it never is.
 */
async function settle(lifecycle: Lifecycle, most: number): Promise<boolean> {
  const { store } = lifecycle.engine
  const unknown = { status: '', order: 'created_at' } as const
  let looked = 0
  for await (const record of walkConversations(store, unknown)) {
    if (looked >= most) return false
    await describeIfThere(lifecycle, record)
    looked += 1
  }
  return looked === 0 || (await store.listConversations({ ...unknown, limit: 1 })).items.length === 0
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
