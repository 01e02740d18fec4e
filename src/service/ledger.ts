/** Records of the service go in, and come out as they last were, in every process: they are kept as the log of a conversation of their own. */

import { hasCode } from '../event/errors.ts'
import { isQuarantined } from '../event/quarantine.ts'
import type { JsonValue } from '../event/shapes.ts'
import type { AppendOptions } from '../store/append.ts'
import type { Store } from '../store/store.ts'
import { OWN_RECORDS } from './conversation-id.ts'

/** Records by id. */
export interface Ledger<T extends object> {
  /** All of them as they are now, the oldest first. O(changes since it was last asked). */
  readonly all: () => Promise<ReadonlyMap<string, T>>
  /** With a lease of the ledger's own conversation it is refused, as `lease_lost`, when that is no longer the latest. */
  readonly put: (id: string, record: T, lease?: LeaseProof) => Promise<void>
  /** False when there was none. */
  readonly remove: (id: string, lease?: LeaseProof) => Promise<boolean>
  /**
   * Changes what a decision over all records says, in one step: when somebody else changes them meanwhile, it is asked again. A record of
   * null is taken out. Gives back what the decision gave.
   */
  readonly change: <R extends Changes<T>>(decide: (records: ReadonlyMap<string, T>) => R) => Promise<R>
}

/** What a decision changes. */
export interface Changes<T extends object> {
  readonly changes: readonly (readonly [id: string, record: T | null])[]
}

/** Says that a writer holds a lease. */
export type LeaseProof = NonNullable<AppendOptions['lease']>

/** The conversation in which a ledger is kept. */
export const ledgerId = (name: string): string => `${OWN_RECORDS}${name}`

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
export function ledger<T extends object>(store: Store, name: string): Ledger<T> {
  const conversationId = ledgerId(name)
  const records = new Map<string, T>()
  let next = 0
  let remembered = 0
  let reading: Promise<void> = Promise.resolve()

  /** What was folded before is not folded again. Losing it costs time, not data. */
  const remember = async (): Promise<void> => {
    const bytes = new TextEncoder().encode(JSON.stringify({ version: SNAPSHOT, next, records: [...records] }))
    await store.saveSnapshot(conversationId, [{ part: 0, bytes }], { complete: true }).catch(() => undefined)
    remembered = next
  }
  const recall = async (): Promise<void> => {
    const [part] = await store.loadSnapshot(conversationId)
    const kept = part === undefined ? null : readSnapshot<T>(part.bytes)
    if (kept === null) return
    for (const [id, record] of kept.records) records.set(id, record)
    next = kept.next
    remembered = next
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
      for (const { fact, seq } of events) {
        next = seq + 1
        if (isQuarantined(fact) || fact.kind !== 'ConversationStateUpdateEvent' || fact.key !== CHANGE)
          continue
        const { id, record } = fact.value as object as Change
        if (record === null) records.delete(id)
        else records.set(id, record as object as T)
      }
      if (events.length < BATCH) break
    }
    if (next - remembered >= BATCH) await remember()
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
    await append().catch(async (error: unknown) => {
      if (!hasCode(error, 'unknown_conversation')) throw error
      await store.createConversation({ id: conversationId }).catch((again: unknown) => {
        if (!hasCode(again, 'conversation_exists')) throw again
      })
      await append()
    })
  }
  return {
    async all() {
      await catchUp()
      return records
    },
    put: (id, record, lease) =>
      write([{ id, record: record as object as JsonValue }], lease === undefined ? {} : { lease }),
    async remove(id, lease) {
      await catchUp()
      if (!records.has(id)) return false
      await write([{ id, record: null }], lease === undefined ? {} : { lease })
      return true
    },
    async change(decide) {
      for (;;) {
        await catchUp()
        const seen = next
        const decided = decide(records)
        const changes = decided.changes.map(([id, record]) => ({ id, record: record as object as JsonValue }))
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
