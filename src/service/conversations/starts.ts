import { LRUCache } from 'lru-cache'
import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { hasSecret, MASK, masked, withoutSecrets } from '../mask-secrets.ts'
import { type Records, recordsOf } from '../records.ts'
import type { Sealed, SecretBox } from '../settings/secret-box.ts'
import { changeRecord, findConversation } from './find-conversation.ts'

const MAX_CHARS = 2 ** 19
const MAX_CHARS_IN_MEMORY = 2 ** 26

export interface StartMetadata {
  readonly start: JsonObject
  /** Id of the record with the secrets; null without secrets. */
  readonly start_ref: string | null
}

type Planned = Pick<ConversationRecord, 'id' | 'metadata'>

/**
 * Stores the fields of a start request that agents receive. Responses contain these fields without secrets.
 * Without an encryption key, secrets are only in this process's memory.
 */
export class Starts {
  readonly #store: Store
  readonly #box: SecretBox
  readonly #records: Records<Sealed>
  readonly #inMemory = new LRUCache<string, JsonObject>({
    maxSize: MAX_CHARS_IN_MEMORY,
    sizeCalculation: (start) => JSON.stringify(start).length,
  })

  constructor(store: Store, box: SecretBox) {
    this.#store = store
    this.#box = box
    this.#records = recordsOf<Sealed>(store, 'conversation-starts')
  }

  /**
   * Stores the secrets of a start request. Drops masked values.
   * @param otherFields the other fields of the request: they count towards the maximum, and are not stored here
   * @throws HttpProblem 413 for too many characters.
   */
  async store(request: JsonObject, otherFields: object = {}): Promise<StartMetadata> {
    const start = withoutMasks(request)
    if (JSON.stringify({ ...start, ...otherFields }).length > MAX_CHARS)
      throw new HttpProblem(413, `The start request exceeds ${MAX_CHARS} characters.`)
    if (!hasSecret(start)) return { start, start_ref: null }
    const ref = crypto.randomUUID()
    if (this.#box.isOpen) this.#inMemory.set(ref, start)
    else await this.#records.update(ref, () => this.#box.seal(ref, start))
    return { start: withMasks(start), start_ref: ref }
  }

  /**
   * Returns the whole start request, for the agent. Secrets in the memory of one process are missing in other
   * processes, and after that process ends.
   * @throws HttpProblem 409 for secrets that were sealed with another key.
   */
  async of({ id, metadata }: Pick<ConversationRecord, 'id' | 'metadata'>): Promise<JsonObject> {
    const { start, start_ref: ref } = startOf(metadata)
    if (ref === null) return start
    const inMemory = this.#inMemory.get(ref)
    if (inMemory !== undefined) return inMemory
    const sealed = (await this.#records.find(ref))?.record ?? null
    if (sealed !== null) return this.#box.open(ref, sealed)
    const now = await this.#store.getConversation(id)
    // The conversation may have changed since the record was read.
    return now === null || startOf(now.metadata).start_ref === ref ? withoutSecrets(start) : this.of(now)
  }

  async copy(record: Pick<ConversationRecord, 'id' | 'metadata'>): Promise<StartMetadata> {
    return this.store(await this.of(record))
  }

  /** Changes a start request; concurrent changes are all applied. @throws HttpProblem 404, 413. */
  async change(id: string, change: (before: JsonObject) => JsonObject): Promise<StartMetadata> {
    let before: Pick<ConversationRecord, 'metadata'> = { metadata: {} }
    let after: StartMetadata = { start: {}, start_ref: null }
    await changeRecord(this.#store, id, async (record) => {
      // Remove the secrets of an attempt that lost the race.
      await this.forget({ metadata: { ...after } })
      before = record
      after = await this.store(change(await this.of(record)))
      return { metadata: { ...record.metadata, ...after } }
    }).catch(async (error: unknown) => {
      await this.forgetUnlessMade({ id, metadata: { ...after } }).catch(() => undefined)
      throw error
    })
    await this.forget(before)
    return after
  }

  async forget({ metadata }: Pick<ConversationRecord, 'metadata'>): Promise<void> {
    const { start_ref: ref } = startOf(metadata)
    if (ref === null) return
    this.#inMemory.delete(ref)
    await this.#records.remove(ref)
  }

  async forgetUnlessMade({ id, metadata }: Planned): Promise<void> {
    const { start_ref: ref } = startOf(metadata)
    if (ref === null) return
    const record = await findConversation(this.#store, id)
    if (record === null || startOf(record.metadata).start_ref !== ref) await this.forget({ metadata })
  }

  async orForget<T>(planned: Planned, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // If the store fails now too, the first error is reported.
      await this.forgetUnlessMade(planned).catch(() => undefined)
      throw error
    }
  }
}

export function startOf(metadata: JsonObject): StartMetadata {
  const { start, start_ref: ref } = metadata
  return { start: isObject(start) ? start : {}, start_ref: typeof ref === 'string' ? ref : null }
}

export const withMasks = (value: JsonObject): JsonObject => masked(value) as JsonObject

function withoutMasks(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, JsonValue>>).flatMap(([name, inner]) =>
      inner === MASK ? [] : [[name, isObject(inner) ? withoutMasks(inner) : inner]],
    ),
  )
}
