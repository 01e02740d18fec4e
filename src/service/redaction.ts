/** Keeps secrets out of the conversations that a service stores, and out of those that anybody may read. */

import { redactStored, redactingStore } from '../context/redaction/store.ts'
import type { RedactionRules } from '../context/redaction/rules.ts'
import type { Store } from '../store/contract/store.ts'
import { isReservedId } from '../store/system-conversations.ts'

/**
 * The store, but that conversations of users are redacted before they are written. What a service keeps for itself
 * stays as it is: it needs the keys of its sandboxes, and seals those of models. So does what waits to be sent, until
 * it is.
 */
export function redactedWrites(store: Store, rules: RedactionRules): Store {
  const redacting = redactingStore(store, rules)
  const storeOf = (id: string): Store => (isReservedId(id) ? store : redacting)
  return {
    ...redacting,
    append: (id, facts, options) => storeOf(id).append(id, facts, options),
    createConversation: (conversation) => storeOf(conversation.id).createConversation(conversation),
    updateConversation: (id, patch) => storeOf(id).updateConversation(id, patch),
  }
}

/** The shared events as they are read: redacted, whenever they were written. */
export type SharedReads = Pick<Store, 'getConversation' | 'search' | 'getMany' | 'count'>

/** The reads, with masks for what the rules call secret. O(size of what is read). */
export const redactedReads = (store: SharedReads, rules: RedactionRules): SharedReads => ({
  getConversation: (id) => store.getConversation(id),
  count: (filter) => store.count(filter),
  search: async (query) => {
    const page = await store.search(query)
    return { ...page, items: page.items.map((event) => redactStored(event, rules)) }
  },
  getMany: async (id, ids) => {
    const events = await store.getMany(id, ids)
    return events.map((event) => (event === null ? null : redactStored(event, rules)))
  },
})
