/** A store and rules go in; out comes what reads its logs as if they had been redacted before they were written. */

import { isQuarantined, redact, type RedactionRules, type Store, type StoredEvent } from '../../index.ts'

/** The store's logs, redacted. An event that came without an id and is redacted bears the one that the store derived for it. */
export function redactedReads(store: Pick<Store, 'read'>, rules: RedactionRules): Pick<Store, 'read'> {
  return {
    read: async (id, options) => (await store.read(id, options)).map((event) => redacted(event, rules)),
  }
}

function redacted(event: StoredEvent, rules: RedactionRules): StoredEvent {
  const fact = redact(event.fact, rules)
  if (fact === event.fact) return event
  const isNameless = fact.id === undefined && event.id !== null && !isQuarantined(fact)
  return { ...event, fact: isNameless ? { ...fact, id: event.id } : fact }
}
