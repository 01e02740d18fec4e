/** Finds a conversation's record by the id as a client writes it: UUIDs with and without dashes. */

import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { isLegalId } from '../../event/ids.ts'
import { HttpProblem, invalid } from '../http/problem.ts'

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/** Words that stand in paths where an id may, and steps that no path keeps. */
const NOT_IN_PATHS: ReadonlySet<string> = new Set(['.', '..', 'search', 'count'])

/** Rejects an id for a new conversation that no URL could contain. @throws HttpProblem 422. */
export function refuseReserved(id: string | null, field: string): void {
  if (id === null || !NOT_IN_PATHS.has(id)) return
  const msg = 'Value error, no URL could contain this id'
  throw invalid({ type: 'value_error', loc: ['body', field], msg, input: id })
}

/** A text as it is, and a UUID then in its other forms, in small letters. */
export const formsOf = (id: string): string[] => [...new Set([id, plainId(id), dashedId(id)])]

/**
 * An id as the agent server makes a conversation under it: a UUID in small letters with dashes, so that those who ask
 * for it at once, each in a form of its own, ask for one conversation; any other as it is.
 */
export const dashedId = (id: string): string => UUID.exec(id)?.slice(1).join('-').toLowerCase() ?? id

/** An id as the control plane writes it: a UUID in small letters without dashes, any other as it is. */
export const plainId = (id: string): string => (UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : id)

/** The same where it is found by that again: what an earlier version has kept in capitals goes as it is. */
export const shownId = (id: string): string => (id === dashedId(id) ? plainId(id) : id)

/** The record of a conversation, or null; also null for what can be no id. */
export async function findConversation(
  store: Pick<Store, 'getConversation'>,
  id: string,
): Promise<ConversationRecord | null> {
  if (!isLegalId(id)) return null
  for (const form of formsOf(id)) {
    const found = await store.getConversation(form)
    if (found !== null) return found
  }
  return null
}

/** The same, for callers that need it. @throws HttpProblem 404. */
export async function getConversationOr404(store: Store, id: string): Promise<ConversationRecord> {
  const found = await findConversation(store, id)
  if (found !== null) return found
  throw new HttpProblem(404, `Conversation ${JSON.stringify(id)} is not known.`)
}
