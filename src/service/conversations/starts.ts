/**
 * What a client starts a conversation with beyond what the service itself goes by: its agent, its secrets, its plugins.
 * All of it is kept for the service's own agent, and shown without secrets.
 */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Records, recordsOf } from '../records.ts'
import type { Kept, SecretBox } from '../settings/secret-box.ts'
import { changeRecord, findConversation } from './find-conversation.ts'
import { hasSecret, MASK, masked, withoutSecrets } from './secrets.ts'

/** Characters that one start may hold, written as JSON. */
const MOST = 2 ** 19
/** Characters of those that are held in memory only. */
const MOST_HELD = 2 ** 26

/** What stands in the metadata of a conversation. */
export interface StartMetadata {
  /** Secrets masked. */
  readonly start: JsonObject
  /** Where all of it is kept; null where nothing of it is a secret. */
  readonly start_ref: string | null
}

/** A conversation to be made. */
type Planned = Pick<ConversationRecord, 'id' | 'metadata'>

/**
 * The starts of a service. Without a secret to seal with, none of their secrets is stored: they are held for as long as
 * the process lives.
 */
export class Starts {
  readonly #store: Store
  readonly #box: SecretBox
  readonly #records: Records<Kept>
  readonly #held = new Latest<JsonObject>(MOST_HELD)

  constructor(store: Store, box: SecretBox) {
    this.#store = store
    this.#box = box
    this.#records = recordsOf<Kept>(store, 'conversation-starts')
  }

  /**
   * Keeps what was given; a mask that a client was shown stands for nothing.
   *
   * @param beside what else of the request will be kept with the conversation: it counts, and is not kept here
   * @throws HttpProblem 413 for more than may be kept.
   */
  async keep(given: JsonObject, beside: object = {}): Promise<StartMetadata> {
    const start = withoutMasks(given)
    checkSize({ ...start, ...beside })
    if (!hasSecret(start)) return { start, start_ref: null }
    const ref = crypto.randomUUID()
    await this.#put(ref, start)
    return { start: withMasks(start), start_ref: ref }
  }

  /**
   * All of it, for the agent. Without its secrets where they were held by a process that is gone. @throws HttpProblem
   * 409 for what was sealed with another secret.
   */
  async of({ id, metadata }: Pick<ConversationRecord, 'id' | 'metadata'>): Promise<JsonObject> {
    const { start, start_ref: ref } = startOf(metadata)
    if (ref === null) return start
    const held = this.#held.get(ref)
    if (held !== undefined) return held
    const kept = (await this.#records.find(ref))?.record ?? null
    if (kept !== null) return this.#box.open(ref, kept)
    const now = await this.#store.getConversation(id)
    // It may have been changed since the record was read.
    return now === null || startOf(now.metadata).start_ref === ref ? withoutSecrets(start) : this.of(now)
  }

  /** The same for another conversation, which goes on by itself. */
  async copy(record: Pick<ConversationRecord, 'id' | 'metadata'>): Promise<StartMetadata> {
    return this.keep(await this.of(record))
  }

  /**
   * Changes that of a conversation; of changes at once, in whatever process, none is lost.
   * @throws HttpProblem 404, 413.
   */
  async change(id: string, change: (before: JsonObject) => JsonObject): Promise<StartMetadata> {
    let before: Pick<ConversationRecord, 'metadata'> = { metadata: {} }
    let after: StartMetadata = { start: {}, start_ref: null }
    await changeRecord(this.#store, id, async (record) => {
      // What was kept by a try that came too late.
      await this.forget({ metadata: { ...after } })
      before = record
      after = await this.keep(change(await this.of(record)))
      return { metadata: { ...record.metadata, ...after } }
    })
    await this.forget(before)
    return after
  }

  /** Takes out what was kept for a conversation. */
  async forget({ metadata }: Pick<ConversationRecord, 'metadata'>): Promise<void> {
    const { start_ref: ref } = startOf(metadata)
    if (ref === null) return
    this.#held.delete(ref)
    await this.#records.remove(ref)
  }

  /** Removes what was stored for a conversation, unless that exists with it: the failure may have come later. */
  async forgetUnlessMade({ id, metadata }: Planned): Promise<void> {
    const { start_ref: ref } = startOf(metadata)
    if (ref === null) return
    const record = await findConversation(this.#store, id)
    if (record === null || startOf(record.metadata).start_ref !== ref) await this.forget({ metadata })
  }

  /** Does some work, and calls `forgetUnlessMade` if it fails. @throws what the work throws. */
  async orForget<T>(planned: Planned, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // If the store fails now, the first error is still the one to report.
      await this.forgetUnlessMade(planned).catch(() => undefined)
      throw error
    }
  }

  async #put(ref: string, start: JsonObject): Promise<void> {
    if (!this.#box.isOpen) await this.#records.update(ref, () => this.#box.seal(ref, start))
    else this.#held.set(ref, start, JSON.stringify(start).length)
  }
}

/** What the metadata of a conversation has of it. */
export function startOf(metadata: JsonObject): StartMetadata {
  const { start, start_ref: ref } = metadata
  return { start: isObject(start) ? start : {}, start_ref: typeof ref === 'string' ? ref : null }
}

/** As it is shown: its secrets masked. O(size). */
export const withMasks = (value: JsonObject): JsonObject => masked(value) as JsonObject

function checkSize(start: object): void {
  if (JSON.stringify(start).length <= MOST) return
  throw new HttpProblem(413, `The start request exceeds ${MOST} characters.`)
}

/** Without the masks, at any depth. O(size). */
function withoutMasks(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, JsonValue>>).flatMap(([name, inner]) =>
      inner === MASK ? [] : [[name, isObject(inner) ? withoutMasks(inner) : inner]],
    ),
  )
}

/** Values by key; their sizes together stay within the bound. */
export class Latest<T> {
  readonly #most: number
  readonly #kept = new Map<string, { readonly value: T; readonly size: number }>()
  #size = 0

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): T | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    return kept.value
  }

  set(key: string, value: T, size = 1): void {
    this.delete(key)
    this.#kept.set(key, { value, size })
    this.#size += size
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#most) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0
    this.#kept.delete(key)
  }
}
