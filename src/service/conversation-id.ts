/** A conversation's id as a client writes it goes in, the record that it means comes out: a UUID is found with and without dashes. */

import type { ConversationRecord } from '../store/conversation-record.ts'
import type { Store } from '../store/store.ts'
import { isLegalId } from '../event/ids.ts'
import { HttpProblem, invalid } from './http/problem.ts'

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/** How the ids of the service's own records begin: they stand in the store as conversations do, and are none to anybody else. */
export const OWN_RECORDS = 'colloquy:'

/** Whether an id belongs to the service itself. */
export const isReserved = (id: string): boolean => id.startsWith(OWN_RECORDS)

/** Refuses such an id for a new conversation. @throws HttpProblem 422. */
export function refuseReserved(id: string | null, field: string): void {
  if (id === null || !isReserved(id)) return
  const msg = `Value error, ids that begin with ${OWN_RECORDS} belong to the service's own records`
  throw invalid({ type: 'value_error', loc: ['body', field], msg, input: id })
}

/** The other forms of a UUID, in small letters; none for any other text. */
export function otherForms(id: string): string[] {
  const parts = UUID.exec(id)
  if (parts === null) return []
  const dashed = parts.slice(1).join('-').toLowerCase()
  return [dashed.replaceAll('-', ''), dashed].filter((form) => form !== id)
}

/** The record of a conversation, or null; also null for what can be no id, and for the service's own records. */
export async function findConversation(store: Store, id: string): Promise<ConversationRecord | null> {
  if (!isLegalId(id) || isReserved(id)) return null
  for (const form of [id, ...otherForms(id)]) {
    const found = await store.getConversation(form)
    if (found !== null) return found
  }
  return null
}

/** The same, for whoever must be told. @throws HttpProblem 404. */
export async function theConversation(store: Store, id: string): Promise<ConversationRecord> {
  const found = await findConversation(store, id)
  if (found !== null) return found
  throw new HttpProblem(404, `Conversation ${JSON.stringify(id)} is not known.`)
}
