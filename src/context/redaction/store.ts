/** A store that writes nothing of what the rules call secret. */

import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { AppendOptions } from '../../store/contract/append.ts'
import { ownFact } from '../../store/kit/append/body.ts'
import { checkIsFact } from '../../store/kit/append/decide-append.ts'
import type { Store } from '../../store/contract/store.ts'
import type { StoredEvent } from '../../store/contract/stored-event.ts'
import { redactRecord } from './record.ts'
import { redact, redactLog, redactReplies } from './redact.ts'
import type { RedactionRules } from './rules.ts'

/**
 * The same store, but that facts, titles, tags and metadata are redacted before they are written, quarantined lines
 * too. What `append` returns is what was stored, so a conversation over such a store lives by the redacted log: tools
 * that are run by it get masks, and take secrets from elsewhere.
 *
 * An append may be made again with the body as it was: it is redacted the same way and so known again, as long as the
 * rules stay the same. In an import that names its version, an event without an id gets the one that its body as it was
 * gives it (design D15), so that whatever refers to it still does. Everything else passes through as it is: what is
 * searched for, ids, and the bytes of snapshots, which an engine makes of what was stored. What an engine publishes
 * without storing it never comes here: redact it before.
 *
 * What is masked in one event of a reply takes the signatures of all events of it that come in the same append. A reply
 * that comes in several keeps those of the events that hold no secret themselves, as what is written stays.
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
    countConversations: (filter, options) => store.countConversations(filter, options),
    setStatus: (id, status, version) => store.setStatus(id, status, version),
    updateConversation: async (id, patch, options) =>
      store.updateConversation(id, redactRecord(patch, rules), options),
    deleteConversation: (id) => store.deleteConversation(id),
    acquireLease: (id, owner, ttl) => store.acquireLease(id, owner, ttl),
    releaseLease: (lease) => store.releaseLease(lease),
    getLease: (id) => store.getLease(id),
    listLeases: (query) => store.listLeases(query),
    saveSnapshot: (id, parts, options) => store.saveSnapshot(id, parts, options),
    loadSnapshot: (id) => store.loadSnapshot(id),
    deleteSnapshot: (id) => store.deleteSnapshot(id),
    feed: (query) => store.feed(query),
    getItem: (collection, id) => store.getItem(collection, id),
    changeItems: (changes) => store.changeItems(changes),
    listItems: (collection, query) => store.listItems(collection, query),
    countItems: (collection, filter, options) => store.countItems(collection, filter, options),
    claimItems: (collection, claim) => store.claimItems(collection, claim),
    watch: (id, wake) => store.watch(id, wake),
    close: () => store.close(),
  }
}

/**
 * A stored event redacted as it is read, the same object when it holds no secret. One that came without an id bears the
 * one that the store derived for it. O(size).
 * @example
 * const place = { conversationId: 'c', seq: 0, id: 'p', parentId: null, inTree: true, time: '0' }
 * const event = { ...place, fact: { kind: 'PauseEvent', id: 'p' } }
 * redactStored(event, redactionRules()) === event // true
 */
export function redactStored(event: StoredEvent, rules: RedactionRules): StoredEvent {
  const fact = redact(event.fact, rules)
  if (fact === event.fact) return event
  const isNameless = fact.id === undefined && event.id !== null && !isQuarantined(fact)
  return { ...event, fact: isNameless ? { ...fact, id: event.id } : fact }
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
  if (mode !== 'import' || expected === 'any') return redactReplies(own, rules)
  return redactLog(own, rules, { conversationId, from: expected === 'none' ? 0 : expected })
}
