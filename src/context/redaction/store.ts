/** A store and rules go in; out comes a store that writes nothing of what the rules call secret. */

import type { Fact } from '../../event/quarantine.ts'
import type { AppendOptions } from '../../store/append.ts'
import { ownFact } from '../../store/body.ts'
import { checkIsFact } from '../../store/placement.ts'
import type { Store } from '../../store/store.ts'
import { redactRecord } from './record.ts'
import { redact, redactLog } from './redact.ts'
import type { RedactionRules } from './rules.ts'

/**
 * The same store, but that facts, titles, tags and metadata are redacted before they are written, quarantined lines too. What `append`
 * returns is what was stored, so a conversation over such a store lives by the redacted log: tools that are run by it get masks, and take
 * secrets from elsewhere.
 *
 * An append may be made again with the body as it was: it is redacted the same way and so known again, as long as the rules stay the same.
 * In an import that names its version, an event without an id gets the one that its body as it was gives it (design D15), so that whatever
 * refers to it still does. Everything else passes through as it is: what is searched for, ids, and the bytes of snapshots, which an engine
 * makes of what was stored. What an engine publishes without storing it never comes here: redact it before.
 *
 * @throws what the store throws. An append costs O(size of the facts) more.
 *
 * @example
 * const store = redactingStore(memoryStore(), redactionRules({ secrets: ['correct horse battery'] }))
 * await store.createConversation({ id: 'c', title: 'On correct horse battery' })
 * const { title } = await store.getConversation('c')
 * title // 'On [redacted]'
 * await store.close()
 */
export function redactingStore(store: Store, rules: RedactionRules): Store {
  return {
    name: store.name,
    append: async (id, facts, options) => store.append(id, redactFacts(id, facts, rules, options), options),
    read: (id, options) => store.read(id, options),
    get: (id, eventId) => store.get(id, eventId),
    getMany: (id, ids) => store.getMany(id, ids),
    search: (query) => store.search(query),
    count: (filter) => store.count(filter),
    createConversation: async (conversation) => store.createConversation(redactRecord(conversation, rules)),
    getConversation: (id) => store.getConversation(id),
    listConversations: (query) => store.listConversations(query),
    countConversations: (filter) => store.countConversations(filter),
    updateConversation: async (id, patch) => store.updateConversation(id, redactRecord(patch, rules)),
    deleteConversation: (id) => store.deleteConversation(id),
    acquireLease: (id, owner, ttl) => store.acquireLease(id, owner, ttl),
    releaseLease: (lease) => store.releaseLease(lease),
    getLease: (id) => store.getLease(id),
    saveSnapshot: (id, parts, options) => store.saveSnapshot(id, parts, options),
    loadSnapshot: (id) => store.loadSnapshot(id),
    deleteSnapshot: (id) => store.deleteSnapshot(id),
    watch: (id, wake) => store.watch(id, wake),
    close: () => store.close(),
  }
}

function redactFacts(
  conversationId: string,
  facts: readonly Fact[],
  rules: RedactionRules,
  { mode = 'live', expected = 'any' }: AppendOptions = {},
): readonly Fact[] {
  facts.forEach(checkIsFact)
  // A store keeps a copy of what may still be changed; it is the copy that must hold nothing.
  const own = facts.map(ownFact)
  if (mode !== 'import' || expected === 'any') return own.map((fact) => redact(fact, rules))
  return redactLog(own, rules, { conversationId, from: expected === 'none' ? 0 : expected })
}
