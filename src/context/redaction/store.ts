import { copyJson } from '../../event/freeze.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { AppendOptions, Replacement, Store } from '../../store/contract/store.ts'
import { ownFact } from '../../store/kit/append/body.ts'
import { checkIsFact } from '../../store/kit/append/decide-append.ts'
import { MAX_TAG, MAX_TAG_KEY } from '../../store/kit/record.ts'
import type { ConversationPatch } from '../../store/contract/conversation-record.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { redact, redactJson, redactLog, redactReplies } from './redact.ts'
import { redactText } from './redact-text.ts'
import type { RedactionRules } from './rules.ts'

/**
 * Wraps a store, so that facts, titles, tags, metadata and quarantined lines are redacted before they are
 * written. `append` returns what was stored, so tools see masks and must get secrets from elsewhere.
 *
 * A retry with the original body is recognized while the rules stay the same. If an event of a reply is
 * masked, all events of that reply in the same append lose their signatures. Earlier appends do not change.
 * In an import with an expected version, a redacted event without an id gets the id derived from its original
 * body (design D15). Queries, ids, the store's items (`changeItems`) and unstored deltas are not redacted. An
 * append costs O(size of the facts) more.
 * @throws the store's errors.
 * @example
 * const store = redactingStore(memoryStore(), redactionRules({ secrets: ['correct horse battery'] }))
 * await store.createConversation({ id: 'c', title: 'On correct horse battery' })
 * const { title } = await store.getConversation('c')
 * title // 'On [redacted]'
 * await store.close()
 */
export function redactingStore(store: Store, rules: RedactionRules): Store {
  const passed = UNCHANGED.map((name) => [
    name,
    (...args: readonly unknown[]): unknown => Reflect.apply(store[name], store, args),
  ])
  return {
    ...(Object.fromEntries(passed) as Pick<Store, (typeof UNCHANGED)[number]>),
    name: store.name,
    redacts: true,
    append: async (id, facts, options) => store.append(id, redactFacts(id, facts, rules, options), options),
    ...(store.replaceEvents !== undefined && {
      replaceEvents: async (id: string, replacements: readonly Replacement[]) =>
        store.replaceEvents?.(
          id,
          replacements.map(({ before, after }) => {
            checkIsFact(after)
            return { before, after: redact(after, rules) }
          }),
        ),
    }),
    createConversation: async (conversation) => store.createConversation(redactRecord(conversation, rules)),
    updateConversation: async (id, patch, options) =>
      store.updateConversation(id, redactRecord(patch, rules), options),
  }
}

/** Store methods that the redacting store does not change. */
// oxfmt-ignore
const UNCHANGED = [
  'read', 'get', 'getMany', 'readBlob', 'auditBlobs', 'search', 'count', 'searchText', 'textIndex',
  'getConversation', 'listConversations', 'countConversations', 'setStatus', 'deleteConversation',
  'acquireLease', 'releaseLease', 'getLease', 'listLeases', 'saveSnapshot', 'loadSnapshot', 'deleteSnapshot',
  'feed', 'getItem', 'changeItems', 'listItems', 'countItems', 'claimItems', 'watch', 'close',
] as const satisfies readonly (keyof Store)[]

/**
 * Redacts stored events after they are read. Unchanged events are the same objects. If an event of a reply is
 * masked, all events of the reply lose their signatures. O(size).
 * @param masked the response ids of replies with masked events on other pages. Adds the ids of those in `events`.
 * @example
 * const place = { conversationId: 'c', seq: 0, id: 'p', parentId: null, inTree: true, time: '0' }
 * const event = { ...place, fact: { kind: 'PauseEvent', id: 'p' } }
 * redactStored([event], redactionRules())[0] === event // true
 */
export function redactStored(
  events: readonly StoredEvent[],
  rules: RedactionRules,
  masked?: Set<string>,
): StoredEvent[] {
  const before = events.map(({ fact }) => fact)
  const facts = redactReplies(before, rules, masked)
  return events.map((event, i) => withFact(event, facts[i] ?? event.fact))
}

function withFact(event: StoredEvent, fact: Fact): StoredEvent {
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
  // A store writes a copy of a mutable fact. The copy may differ from the fact, so the copy is redacted.
  const copies = facts.map(ownFact)
  if (mode !== 'import' || expected === 'any') return redactReplies(copies, rules)
  return redactLog(copies, rules, { conversationId, from: expected === 'none' ? 0 : expected })
}

const MAX_TITLE = 200

/**
 * Redacts title, tags and metadata of a record. Returns the same object if there is no secret. A text that a
 * mask makes too long is cut to the maximum length. O(size).
 * @example
 * const rules = redactionRules({ secrets: ['correct horse battery'] })
 * redactRecord({ title: 'On correct horse battery', public: true }, rules) // { title: 'On [redacted]', public: true }
 */
export function redactRecord<R extends ConversationPatch>(record: R, rules: RedactionRules): R {
  const { title, tags, metadata } = record
  const redacted = {
    ...(typeof title === 'string' && { title: cut(redactText(title, rules), title, MAX_TITLE) }),
    ...(isJson(tags) && { tags: redactTags(tags, rules) }),
    ...(isJson(metadata) && { metadata: redactJson(metadata, rules) as JsonObject }),
  }
  const isSame = Object.entries(redacted).every(([key, value]) => value === record[key as keyof R])
  return isSame ? record : { ...record, ...redacted }
}

const isJson = <T>(value: T): value is T & JsonObject =>
  typeof value === 'object' && value !== null && copyJson(value).issues.length === 0

type Tags = Readonly<Record<string, string>>

function redactTags(tags: Tags, rules: RedactionRules): Tags {
  const redacted = redactJson(tags, rules) as Tags
  if (redacted === tags) return tags
  const out: Record<string, string> = {}
  const values = Object.values(tags)
  for (const [i, [maskedKey, value]] of Object.entries(redacted).entries()) {
    let key = maskedKey
    if (!Object.hasOwn(tags, key)) {
      // A tag's key may not contain a mask's brackets.
      const bare = key.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
      key = bare.slice(0, MAX_TAG_KEY)
      for (let n = 0; Object.hasOwn(tags, key) || Object.hasOwn(out, key); n += 1)
        key = `${bare.slice(0, MAX_TAG_KEY - String(n).length)}${n}`
    }
    out[key] = cut(value, values[i] ?? '', MAX_TAG)
  }
  return out
}

function cut(redacted: string, original: string, limit: number): string {
  const characters = [...redacted]
  const fits = characters.length <= limit || [...original].length > limit
  return fits ? redacted : `${characters.slice(0, limit - 1).join('')}…`
}
