/** Ids of conversations as clients write them, and the records behind them. */

import { hasCode } from '../../event/errors.ts'
import { isLegalId } from '../../event/ids.ts'
import type { ConversationPatch, ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { HttpProblem, invalid } from '../http/problem.ts'

/** Most that the counter of a millisecond holds: 12 bits. */
const MOST = 0xfff

let last = 0
let counter = 0

/**
 * A UUID of version 7 (RFC 9562): its first 48 bits are the time in milliseconds, the next 12 count within one, from a
 * random number on. So the ids of a process sort by when they were made, also when its clock
 * stands still or goes back.
 * @example
 * newConversationId().length // 36
 */
export function newConversationId(now = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const [high = 0, low = 0] = bytes.subarray(6, 8)
  if (now > last || counter === MOST) {
    last = Math.max(now, last + 1)
    // Its first bit is left free, for those to come.
    counter = ((high & 0x07) << 8) | low
  } else counter += 1
  for (let at = 0; at < 6; at += 1) bytes[at] = Math.floor(last / 2 ** (8 * (5 - at))) % 256
  bytes[6] = 0x70 | (counter >> 8)
  bytes[7] = counter & 0xff
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

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
  const record = await store.getConversation(id)
  if (record !== null || !UUID.test(id)) return record
  return (await store.getConversation(plainId(id))) ?? store.getConversation(dashedId(id))
}

/**
 * The record of a conversation that everybody may read; null for another. Whether that is private or unknown does not
 * show in the number of calls to the store.
 */
export async function findPublicConversation(
  store: Pick<Store, 'getConversation'>,
  id: string,
): Promise<ConversationRecord | null> {
  const records = await Promise.all(formsOf(id).map((form) => store.getConversation(form)))
  const found = records.find((record) => record !== null) ?? null
  return found?.public === true ? found : null
}

/** The record of a conversation, for callers that need it. @throws HttpProblem 404. */
export async function getConversationOr404(store: Store, id: string): Promise<ConversationRecord> {
  const found = await findConversation(store, id)
  if (found !== null) return found
  throw new HttpProblem(404, `Conversation ${JSON.stringify(id)} was not found.`)
}

/** Says what becomes of a record. */
type Decide = (before: ConversationRecord) => ConversationPatch | Promise<ConversationPatch>

/**
 * Changes a record to what a decision over it says, which is asked again when another request was faster, in whatever
 * process. @throws HttpProblem 404; what the decision and the store throw.
 */
export async function changeRecord(store: Store, id: string, decide: Decide): Promise<ConversationRecord> {
  for (;;) {
    const before = await getConversationOr404(store, id)
    const patch = await decide(before)
    try {
      return await store.updateConversation(before.id, patch, { expected: before })
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error
    }
  }
}

/** Ids of conversations as clients write them, and the records behind them. */
