import { ColloquyError } from '../event/errors.ts'
import { ERASED, erasedFact } from '../event/erase.ts'
import { copyJson } from '../event/freeze.ts'
import { editObject, without } from '../event/json.ts'
import type { Fact } from '../event/quarantine.ts'
import { isOfReply } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event } from '../event/types.ts'
import { unsignReply } from '../event/unsign.ts'
import { type Entry, isOnPathIn } from '../log/entry.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import { entryOf } from '../state/at.ts'
import type { State } from '../state/state.ts'
import type { Replacement } from '../store/contract/store.ts'

export const ERASURE = 'erased'

interface PlannedReplacement extends Replacement {
  readonly seq: number
}

/**
 * Returns the replacements that erase an event. The event's contents become placeholders. The other events of
 * the same reply, and all later replies on the event's branches, lose their signed parts and digests. A
 * provider rejects signed parts if earlier text has changed, and a digest could reveal the erased text.
 * O(events).
 * @param state a state from which no body was evicted
 */
export function planErasure(state: State, id: string): PlannedReplacement[] {
  const { log } = state
  const erased = entryOf(log, id)
  const plan: PlannedReplacement[] = []
  const replace = (entry: Entry, after: Fact): void => {
    const before = factOf(entry)
    if (before === after) return
    // An id that was derived from the body must stay.
    const hasId = after.id !== undefined || entry.id === null
    plan.push({ seq: entry.seq, before, after: hasId ? after : { ...after, id: entry.id } })
  }
  const fact = factOf(erased)
  replace(erased, erasedFact(fact.id === undefined ? { ...fact, id } : fact))
  const response = responseId(erased)
  for (const entry of log.entries) {
    const { event } = entry
    if (event === null || entry === erased || !isOfReply(event)) continue
    const hasSeen = entry.inTree && entry.seq > erased.seq && isOnPathIn(erased, entry)
    if (hasSeen || (response !== null && responseId(entry) === response)) replace(entry, unsigned(event))
  }
  return plan
}

/** Whether an event is a pending call, whose arguments must not be erased. O(k) for k pending calls. */
export const isPendingCall = ({ branch }: State, id: string): boolean =>
  listPendingCallsIn(branch.pendingCalls).some(({ entry }) => entry.id === id)

export const erasureRecord = (
  id: string,
  eventId: string,
  reason: string,
  unsignedIds: readonly (string | null)[],
): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  id,
  key: ERASURE,
  value: { event_id: eventId, reason, placeholder: ERASED, unsigned_event_ids: unsignedIds },
})

function factOf({ event, quarantined }: Entry): Fact {
  const fact = event ?? quarantined
  if (fact === null)
    throw new ColloquyError('evicted', 'The body of the event is not in memory. Replay the whole log.')
  return fact
}

const responseId = ({ event }: Entry): string | null => {
  const id = event !== null && isOfReply(event) ? event.llm_response_id : null
  return typeof id === 'string' && id !== '' ? id : null
}

function unsigned(event: Event): Event {
  const before = event as object as JsonObject
  const after = withoutDigests(unsignReply(before, () => ERASED))
  return JSON.stringify(after) === JSON.stringify(before) ? event : (copyJson(after).value as object as Event)
}

/** Removes the record's digests. From a digest, one could find a short erased text by trying all short texts. */
function withoutDigests(event: JsonObject): JsonObject {
  const field = event['kind'] === 'ActionEvent' ? 'tool_call' : 'llm_message'
  return editObject(event, field, (holder) =>
    editObject(holder, 'reply', (reply) => without(reply, 'prefix', 'digest', 'cuts')),
  )
}
