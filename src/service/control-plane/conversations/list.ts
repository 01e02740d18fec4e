/** Pages and counts of conversations by one set of filters, so that a count is that of the list. */

import type { ConversationFilter, ConversationRecord } from '../../../store/contract/conversation-record.ts'
import type { Count, Page } from '../../../store/contract/query.ts'
import type { Store } from '../../../store/contract/store.ts'
import { isLegalId } from '../../../event/ids.ts'
import { listPage } from '../../conversations/listing.ts'

/** What narrows a list, as a request has it. */
export interface FilterValues {
  readonly title__contains: string | null
  readonly created_at__gte: string | null
  readonly created_at__lt: string | null
  readonly updated_at__gte: string | null
  readonly updated_at__lt: string | null
  readonly sandbox_id__eq: string | null
  readonly include_sub_conversations: boolean
}

/**
 * One page, the newest first. O(limit) by times of creation and by a sandbox; by anything else it looks at so many
 * conversations at most, and then it may be short, or empty, and have one after it.
 * @throws ColloquyError `invalid_query`, `invalid_cursor`.
 */
export async function searchConversations(
  store: Store,
  filter: FilterValues,
  paging: { readonly cursor: string | null; readonly limit: number },
): Promise<Page<ConversationRecord>> {
  const asked = storeFilter(filter)
  if (asked === null) return { items: [], next_page_id: null }
  return listPage(store, asked, { list: 'app-conversations', order: 'created_at_desc', filter, ...paging })
}

/** How many there are. O(those that are looked at). @throws ColloquyError `invalid_query`. */
export async function countConversations(store: Store, filter: FilterValues, exact: boolean): Promise<Count> {
  const asked = storeFilter(filter)
  return asked === null ? { count: 0, more: false } : store.countConversations(asked, { exact })
}

/** Null where nothing can fit. */
function storeFilter(filter: FilterValues): ConversationFilter | null {
  const { title__contains, created_at__gte, created_at__lt, updated_at__gte, updated_at__lt } = filter
  const { sandbox_id__eq: sandboxId } = filter
  if (sandboxId !== null && !isLegalId(sandboxId)) return null
  return {
    ...(title__contains !== null && { titleContains: title__contains }),
    ...(created_at__gte !== null && { createdAtGte: created_at__gte }),
    ...(created_at__lt !== null && { createdAtLt: created_at__lt }),
    ...(updated_at__gte !== null && { updatedAtGte: updated_at__gte }),
    ...(updated_at__lt !== null && { updatedAtLt: updated_at__lt }),
    ...(sandboxId !== null && { sandboxId }),
    ...(!filter.include_sub_conversations && { parentConversationId: '' }),
  }
}
