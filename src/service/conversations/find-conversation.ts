import { isLegalId } from '../../event/ids.ts'
import type { ConversationPatch, ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import { HttpProblem, invalidValue } from '../http/problem.ts'

const MAX_COUNT = 0xfff

let lastTime = 0
let counter = 0

/**
 * Returns a UUID of version 7 (RFC 9562): 48 bits of milliseconds, then a 12-bit counter from a random start.
 * The ids that a process makes sort by creation, even when its clock stops or moves back.
 */
export function newConversationId(now = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const [high = 0, low = 0] = bytes.subarray(6, 8)
  if (now > lastTime || counter === MAX_COUNT) {
    lastTime = Math.max(now, lastTime + 1)
    // The counter starts in the lower half of its range, so that later ids of this millisecond fit.
    counter = ((high & 0x07) << 8) | low
  } else counter += 1
  for (let index = 0; index < 6; index += 1)
    bytes[index] = Math.floor(lastTime / 2 ** (8 * (5 - index))) % 256
  bytes[6] = 0x70 | (counter >> 8)
  bytes[7] = counter & 0xff
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/** Path segments that are not ids: the names of other operations, and dot segments. */
const NOT_IN_PATHS: ReadonlySet<string> = new Set(['.', '..', 'search', 'search-text', 'count'])

export function refuseReserved(id: string | null, field: string): void {
  if (id === null || !NOT_IN_PATHS.has(id)) return
  throw invalidValue(['body', field], 'the id is reserved: URLs use it for another path', id)
}

export const formsOf = (id: string): string[] => [...new Set([id, plainId(id), dashedId(id)])]

/** Returns an id in the agent server's form: a UUID in lowercase with dashes; any other id unchanged. */
export const dashedId = (id: string): string => UUID.exec(id)?.slice(1).join('-').toLowerCase() ?? id

/** Returns an id in the control plane's form: a UUID in lowercase without dashes; any other id unchanged. */
export const plainId = (id: string): string => (UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : id)

/**
 * Returns a stored id in the control plane's form. A UUID stored in uppercase stays unchanged, because a
 * lookup in lower case would not find it.
 */
export const shownId = (id: string): string => (id === dashedId(id) ? plainId(id) : id)

/** Finds a conversation by its id; a UUID may be in any form. Null for an unknown or invalid id. */
export async function findConversation(
  store: Pick<Store, 'getConversation'>,
  id: string,
): Promise<ConversationRecord | null> {
  if (!isLegalId(id)) return null
  const record = await store.getConversation(id)
  if (record !== null || !UUID.test(id)) return record
  return (await store.getConversation(plainId(id))) ?? store.getConversation(dashedId(id))
}

/** Returns the record of a public conversation, or null. Makes the same number of store calls in both cases. */
export async function findPublicConversation(
  store: Pick<Store, 'getConversation'>,
  id: string,
): Promise<ConversationRecord | null> {
  const records = await Promise.all(formsOf(id).map((form) => store.getConversation(form)))
  const record = records.find((each) => each !== null) ?? null
  return record?.public === true ? record : null
}

export async function getConversationOr404(store: Store, id: string): Promise<ConversationRecord> {
  const record = await findConversation(store, id)
  if (record !== null) return record
  throw new HttpProblem(404, `Conversation ${JSON.stringify(id)} was not found.`)
}

export async function findParent(store: Store, id: string | null): Promise<ConversationRecord | null> {
  const record = id === null ? null : await findConversation(store, id)
  if (id !== null && record === null) throw missing('parent_conversation_id', 'conversation', id)
  return record
}

export const missing = (field: string, what: string, id: string): HttpProblem =>
  invalidValue(['body', field], `${what} ${JSON.stringify(id)} was not found`, id)

export const idInUse = (id: string): HttpProblem =>
  new HttpProblem(409, `Conversation ${JSON.stringify(id)} already exists. Use another id.`)

type Decide = (before: ConversationRecord) => ConversationPatch | Promise<ConversationPatch>

export async function changeRecord(store: Store, id: string, decide: Decide): Promise<ConversationRecord> {
  return retryConflicts(async () => {
    const before = await getConversationOr404(store, id)
    return store.updateConversation(before.id, await decide(before), { expected: before })
  })
}
