/** Records of the service under keys, alike in every process: each collection is the log of a system conversation. */

import { hasCode } from '../../event/errors.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { AppendOptions } from '../../store/contract/append.ts'
import { SYSTEM_PREFIX } from '../../store/system-conversations.ts'
import type { Store } from '../../store/contract/store.ts'
import type { StoredEvent } from '../../store/contract/stored-event.ts'

/** Records by id. */
export interface Collection<T extends object> {
  /**
   * All of them as they are now, the oldest first: one map, that later changes go into. O(changes since it was last
   * asked).
   */
  readonly all: () => Promise<ReadonlyMap<string, T>>
  /**
   * With a lease of the collection's own conversation it is refused, as `lease_lost`, when that is no longer the
   * latest.
   */
  readonly put: (id: string, record: T, lease?: LeaseProof) => Promise<void>
  /** The same for several, all or none. */
  readonly putAll: (records: Iterable<readonly [id: string, record: T]>, lease?: LeaseProof) => Promise<void>
  /** False when there was none. */
  readonly remove: (id: string, lease?: LeaseProof) => Promise<boolean>
  /**
   * Changes what a decision over all records says, in one step: when another process changes them meanwhile, it is
   * asked again. A record of null is taken out. Gives back what the decision gave.
   */
  readonly change: <R extends CollectionChanges<T>>(
    decide: (records: ReadonlyMap<string, T>) => R,
  ) => Promise<R>
}

/** What a decision changes. */
export interface CollectionChanges<T extends object> {
  readonly changes: readonly (readonly [id: string, record: T | null])[]
}

/** Says that a writer holds a lease. */
export type LeaseProof = NonNullable<AppendOptions['lease']>

/** The names of all collections. */
const COLLECTIONS = [
  'api-key-uses',
  'api-keys',
  'pending-messages',
  'profiles',
  'sandboxes',
  'settings',
  'start-tasks',
  'webhooks',
  'ready',
] as const

type CollectionName = (typeof COLLECTIONS)[number]

/** The conversation in which a collection is kept. */
export const systemConversationId = (name: CollectionName): string => `${SYSTEM_PREFIX}${name}`

/** How many of a store's conversations are collections. O(1). */
export async function countSystemConversations(store: Store): Promise<number> {
  const found = await Promise.all(
    COLLECTIONS.map((name) => store.getConversation(systemConversationId(name))),
  )
  return found.filter((record) => record !== null).length
}

/** What the changes are keyed by. */
const CHANGE = 'record'
const BATCH = 1_000
/** The form of what is remembered of them. */
const SNAPSHOT = 1

interface Change {
  readonly id: string
  readonly record: JsonValue
}

/** Records in a store under a name. Nothing is written before the first record is. */
export function collection<T extends object>(store: Store, name: CollectionName): Collection<T> {
  const conversationId = systemConversationId(name)
  const records = new Map<string, T>()
  let next = 0
  let remembered = 0
  let reading: Promise<void> = Promise.resolve()

  /** What was folded before is not folded again. Losing it costs time, not data. */
  const remember = async (): Promise<void> => {
    // As many changes as there are records pay for writing all of them.
    if (next - remembered < Math.max(BATCH, records.size)) return
    remembered = next
    const bytes = new TextEncoder().encode(JSON.stringify({ version: SNAPSHOT, next, records: [...records] }))
    await store.saveSnapshot(conversationId, [{ part: 0, bytes }], { complete: true }).catch(() => undefined)
  }
  const recall = async (): Promise<void> => {
    const [part] = await store.loadSnapshot(conversationId)
    const kept = part === undefined ? null : readSnapshot<T>(part.bytes)
    if (kept === null || kept.next <= next) return
    records.clear()
    for (const [id, record] of kept.records) records.set(id, record)
    next = kept.next
    remembered = next
  }

  /** Only what comes next: a read and a write may bring the same event. */
  const fold = (events: readonly StoredEvent[]): void => {
    for (const { fact, seq } of events) {
      if (seq !== next) continue
      next += 1
      if (isQuarantined(fact) || fact.kind !== 'ConversationStateUpdateEvent' || fact.key !== CHANGE) continue
      const { id, record } = fact.value as object as Change
      if (record === null) records.delete(id)
      else records.set(id, record as object as T)
    }
  }
  const readOn = async (): Promise<void> => {
    if (next === 0) await recall()
    for (;;) {
      const events = await store
        .read(conversationId, { from: next, limit: BATCH })
        .catch((error: unknown) => {
          if (hasCode(error, 'unknown_conversation')) return []
          throw error
        })
      fold(events)
      if (events.length < BATCH) break
    }
    await remember()
  }
  /** One reader after the other: each change is folded once. */
  const catchUp = (): Promise<void> => {
    const turn = reading.then(readOn)
    reading = turn.catch(() => undefined)
    return turn
  }
  const write = async (changes: readonly Change[], options: AppendOptions): Promise<void> => {
    const facts = changes.map(
      (change) =>
        ({
          kind: 'ConversationStateUpdateEvent',
          id: crypto.randomUUID(),
          timestamp: new Date().toISOString(),
          key: CHANGE,
          value: change as object as JsonValue,
        }) as const,
    )
    const append = () => store.append(conversationId, facts, options)
    const { events } = await append().catch(async (error: unknown) => {
      if (!hasCode(error, 'unknown_conversation')) throw error
      await store.createConversation({ id: conversationId }).catch((again: unknown) => {
        if (!hasCode(again, 'conversation_exists')) throw again
      })
      return append()
    })
    // What was written need not be read, unless others wrote before, and that was not read yet.
    fold(events)
    if (events.some(({ seq }) => seq >= next)) await catchUp()
    else await remember()
  }
  return {
    async all() {
      await catchUp()
      return records
    },
    put: (id, record, lease) => write([changeOf(id, record)], proven(lease)),
    putAll: (list, lease) =>
      write(
        Array.from(list, ([id, record]) => changeOf(id, record)),
        proven(lease),
      ),
    async remove(id, lease) {
      await catchUp()
      if (!records.has(id)) return false
      await write([changeOf(id, null)], proven(lease))
      return true
    },
    async change(decide) {
      for (;;) {
        await catchUp()
        const seen = next
        const decided = decide(records)
        const changes = decided.changes.map(([id, record]) => changeOf(id, record))
        try {
          if (changes.length > 0) await write(changes, { expected: seen })
          return decided
        } catch (error) {
          if (!hasCode(error, 'version_conflict')) throw error
        }
      }
    },
  }
}

const proven = (lease: LeaseProof | undefined): AppendOptions => (lease === undefined ? {} : { lease })

const changeOf = (id: string, record: object | null): Change => ({ id, record: record as JsonValue })

/** Null for one that cannot be read, or has another form. */
function readSnapshot<T>(
  bytes: Uint8Array,
): { readonly next: number; readonly records: readonly [string, T][] } | null {
  try {
    const kept = JSON.parse(new TextDecoder().decode(bytes)) as {
      readonly version: number
      readonly next: number
      readonly records: readonly [string, T][]
    }
    return kept.version === SNAPSHOT ? kept : null
  } catch {
    return null
  }
}
