/** The entry `colloquy/openai-agents`: a session of the OpenAI Agents SDK, with its items in a conversation. */

import type { AgentInputItem, SessionHistoryRewriteAwareSession } from '@openai/agents-core'
import type { SessionHistoryTransactionAwareSession } from '@openai/agents-core'
import type { Conversation } from '../conversation/conversation.ts'
import { headUpdate, updateEvent } from '../conversation/decide.ts'
import { checkOptionNames, invalid } from '../event/check-value.ts'
import { wholeEvent } from '../conversation/replica.ts'
import { canonicalJson } from '../event/encode.ts'
import { ColloquyError } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import { hashText } from '../event/text.ts'
import type { ActionEvent, Event } from '../event/types.ts'
import { isToolResult } from '../event/kinds.ts'
import { resultMessage } from '../messages/results.ts'
import { switchTo } from '../state/at.ts'
import { findEvent, listPendingCalls, pathTo } from '../state/read.ts'
import type { State } from '../state/state.ts'
import { retryConflicts } from '../store/kit/items.ts'
import { eventsOfItems, itemsIn, itemsOfEvents, resultItem } from './agent-items.ts'

/** A session of OpenAI Agents, with transactions and rewrites of its history. */
export type ColloquySession = SessionHistoryTransactionAwareSession & SessionHistoryRewriteAwareSession

const OPERATION = 'openai_agents.operation'

const CLEARED = 'openai_agents.cleared'

/** Items from one event, one reply, or adjacent events of other writers. Their removal moves HEAD to `parentId`. */
interface Segment {
  readonly parentId: string | null
  readonly items: readonly AgentInputItem[]
}

interface Change<T> {
  readonly head?: string | null
  readonly items?: readonly AgentInputItem[]
  /** State update whose id identifies the change, so that a repetition is recognized. */
  readonly operation?: Event
  readonly result: T
}

/**
 * Returns a session of the OpenAI Agents SDK over a conversation.
 *
 * Items are stored as events that every reader understands, and returned unchanged. Events of other writers
 * are returned as items. `popItem`, `clearSession` and rewrites delete nothing: they move HEAD, and
 * `conversation.navigate` moves it back. Changes are atomic, and retried after a conflict. `getItems` is
 * O(events of the branch).
 * @throws ColloquyError the conversation's errors; `id_conflict` when an operation id was used for another
 *   transaction, or the history does not end with `expectedSuffix`; `invalid_argument` for an invalid
 *   transaction.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const session = colloquySession({ conversation: await engine.create() })
 * await session.addItems([{ role: 'user', content: 'Hello' }])
 * await session.getItems() // [{ role: 'user', content: 'Hello' }]
 * await engine.close()
 */
export function colloquySession(options: { readonly conversation: Conversation }): ColloquySession {
  checkOptionNames(options, 'conversation')
  const { conversation } = options
  const change = <T>(decide: (history: () => readonly Segment[], state: State) => Change<T>): Promise<T> =>
    retryConflicts(async () => {
      const { result, events, expected } = await conversation.read((state) => {
        const { result: value, head, items = [], operation } = decide(() => segmentsOf(state), state)
        const moved = head === undefined ? [] : [headUpdate(head)]
        const appended = eventsOfItems(items, pendingIds(state, head))
        const made = operation === undefined ? [] : [operation]
        return { result: value, events: [...moved, ...appended, ...made], expected: state.log.entries.length }
      })
      if (events.length > 0) await conversation.append(events, { expected })
      return result
    })

  return {
    getSessionId: async () => conversation.id,
    async getItems(limit) {
      const items = (await conversation.read(segmentsOf)).flatMap((segment) => segment.items)
      if (limit === undefined) return items
      return limit <= 0 ? [] : items.slice(-limit)
    },
    addItems: (items) => change(() => ({ items, result: undefined })),
    popItem: () =>
      change((history) => {
        const segments = history()
        const result = itemsOf(segments).at(-1)
        return result === undefined ? { result } : { ...replaceLast(segments, 1, []), result }
      }),
    clearSession: () =>
      change((history, state) => {
        const cleared = { ...updateEvent(CLEARED, null), id: clearedId(clearsIn(state) + 1) }
        return { ...replaceLast(history(), Infinity, []), operation: cleared, result: undefined }
      }),
    replaceHistoryWithCompaction: (items) =>
      change((history) => ({ ...replaceLast(history(), Infinity, items), result: undefined })),
    applyHistoryMutations: ({ mutations }) =>
      change((history) => {
        const segments = history()
        const items = itemsOf(segments)
        const rewritten = mutations.reduce(replaceCall, items)
        const first = rewritten.findIndex((item, index) => item !== items[index])
        if (first < 0) return { result: undefined }
        return { ...replaceLast(segments, items.length - first, rewritten.slice(first)), result: undefined }
      }),
    async applyHistoryTransaction(args) {
      const { operationId, transaction } = checkTransaction(args)
      await change((history, state) => {
        const digest = hashText(canonicalJson(transaction))
        const id = `${OPERATION}-${hashText([conversation.id, operationId, clearsIn(state)].join('\n'))}`
        const earlier = findEvent(state, id)?.event
        if (earlier?.kind === 'ConversationStateUpdateEvent') {
          if (earlier.value === digest) return { result: undefined }
          throw new ColloquyError(
            'id_conflict',
            'This `operationId` was used for another transaction. Use a new one.',
          )
        }
        const operation = { ...updateEvent(OPERATION, digest), id }
        if (transaction.type === 'append_items')
          return { items: transaction.items, operation, result: undefined }
        const { expectedSuffix, replacement } = transaction
        const segments = history()
        const suffix = expectedSuffix.length === 0 ? [] : itemsOf(segments).slice(-expectedSuffix.length)
        if (canonicalJson(suffix) !== canonicalJson(expectedSuffix))
          throw new ColloquyError(
            'id_conflict',
            'The history does not end with `expectedSuffix`. Read the history again, and pass its last items instead.',
          )
        return { ...replaceLast(segments, suffix.length, replacement), operation, result: undefined }
      })
    },
  }
}

type Mutation = Parameters<ColloquySession['applyHistoryMutations']>[0]['mutations'][number]

function replaceCall(
  items: readonly AgentInputItem[],
  { callId, replacement }: Mutation,
): readonly AgentInputItem[] {
  const isCall = (item: AgentInputItem): boolean => item.type === 'function_call' && item.callId === callId
  const first = items.findIndex(isCall)
  return items.flatMap((item, index) => (index === first ? [replacement] : isCall(item) ? [] : [item]))
}

const clearedId = (count: number): string => `${CLEARED}-${count}`

/** Counts the session's clears. Event ids depend on the count, so operation ids can be reused after a clear. */
function clearsIn(state: State): number {
  let count = 0
  while (findEvent(state, clearedId(count + 1)) !== undefined) count += 1
  return count
}

type TransactionArgs = Parameters<ColloquySession['applyHistoryTransaction']>[0]

const MUTATION_FIELDS = {
  append_items: ['items'],
  replace_suffix: ['expectedSuffix', 'replacement'],
} as const

/** Checks a transaction. Errors do not quote it. @throws ColloquyError `invalid_argument`. */
function checkTransaction(args: TransactionArgs): TransactionArgs {
  let copy: TransactionArgs
  try {
    const { operationId, transaction } = args
    if (!isJson({ operationId, transaction })) throw new TypeError('not JSON')
    copy = structuredClone({ operationId, transaction })
  } catch {
    throw invalid('The transaction contains values that are not JSON. Pass plain JSON only.')
  }
  const { operationId, transaction } = copy
  if (typeof operationId !== 'string' || operationId.trim() === '')
    throw invalid('`operationId` must be a non-blank string.')
  const lists: readonly string[] | undefined = MUTATION_FIELDS[transaction?.type]
  const fields = Object.entries(transaction ?? {}).filter(([name]) => name !== 'type')
  const isValid = fields.every(
    ([name, items]) => lists?.includes(name) && Array.isArray(items) && items.every((item) => isObject(item)),
  )
  if (lists === undefined || fields.length !== lists.length || !isValid)
    throw invalid('Pass a transaction of type `append_items` or `replace_suffix`, with lists of items.')
  return copy
}

/** Whether a value is JSON. Bytes and undefined are also accepted. */
function isJson(value: unknown, above: readonly unknown[] = []): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return ['string', 'boolean', 'undefined'].includes(typeof value)
  if (value === null || value instanceof Uint8Array) return true
  if (above.includes(value)) return false
  const keys = Reflect.ownKeys(value)
  const prototype: unknown = Object.getPrototypeOf(value)
  const isList = Array.isArray(value) && keys.length === value.length + 1
  if (!isList && prototype !== Object.prototype && prototype !== null) return false
  return keys.every((key) => {
    if (isList && key === 'length') return true
    const property = Object.getOwnPropertyDescriptor(value, key)
    const isField = typeof key === 'string' && property?.enumerable === true && 'value' in property
    return isField && isJson(property.value, [...above, value])
  })
}

const itemsOf = (history: readonly Segment[]): AgentInputItem[] => history.flatMap(({ items }) => items)

/**
 * Replaces the last `count` items. Returns the HEAD to move to, and the items to append there. These include the
 * earlier items of the first replaced item's segment, because a segment can only be removed whole.
 */
function replaceLast(
  history: readonly Segment[],
  count: number,
  items: readonly AgentInputItem[],
): { readonly head?: string | null; readonly items: readonly AgentInputItem[] } {
  let remaining = count
  for (const segment of history.toReversed()) {
    if (remaining <= 0) break
    const stored = segment.items.slice(0, Math.max(0, segment.items.length - remaining))
    remaining -= segment.items.length
    if (remaining <= 0 || segment === history[0])
      return { head: segment.parentId, items: [...stored, ...items] }
  }
  return { items }
}

function segmentsOf(state: State): Segment[] {
  /** Adjacent events of other writers form one segment, whose items are computed at the end. */
  const segments: { parentId: string | null; items: Segment['items'] | null; others: Event[] }[] = []
  const calls = new Map<string, ActionEvent>()
  for (const entry of pathTo(state)) {
    const event = wholeEvent(entry)
    if (event === null) continue
    // If another writer appended the result of a call of this session, the result is an item of its own.
    const call = isToolResult(event) ? calls.get(event.tool_call_id) : undefined
    const result = isToolResult(event) && call !== undefined ? [resultItem(resultMessage(event, call))] : null
    const items = itemsIn(event) ?? result
    if (event.kind === 'ActionEvent' && items !== null) calls.set(event.tool_call_id, event)
    else if ('tool_call_id' in event) calls.delete(event.tool_call_id)
    const last = segments.at(-1)
    if (items === null && last?.items === null) last.others.push(event)
    else if (items === null || items.length > 0 || last === undefined)
      segments.push({ parentId: entry.parent?.id ?? null, items, others: items === null ? [event] : [] })
  }
  return segments.map(({ parentId, items, others }) => ({ parentId, items: items ?? itemsOfEvents(others) }))
}

function pendingIds(state: State, head?: string | null): Map<string, string> {
  const calls = listPendingCalls(head === undefined ? state : switchTo(state, head))
  return new Map(calls.map(({ entry: { id, event } }) => [event.tool_call_id, id]))
}
