/** Stores values of LangGraph channels as items. Versions of a growing list share its elements. */

import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { LRUCache } from 'lru-cache'
import { ColloquyError } from '../event/errors.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { Items } from '../store/contract/items.ts'

/** A value as the serializer wrote it: JSON as text, other bytes in hexadecimal digits. */
export type SerializedValue = readonly [type: string, text: string]

type ItemPart = readonly [id: string, body: JsonObject]

/**
 * A list is stored as a tree of full chunks, which the list's versions share. `levels` contains the rest of
 * each level after its last full chunk: elements on level 0, ids of chunks on higher levels.
 */
type StoredValue = { readonly value: SerializedValue } | { readonly levels: readonly (readonly string[])[] }

/** Number of elements in a chunk. Appending to a list of n elements writes O(CHUNK · log n) elements. */
const CHUNK = 8
/** Maximum size of the cache of stored chunks, in characters of texts and ids. */
const MAX_TEXT = 2 ** 24

export class ChannelValues {
  readonly #items: Items
  readonly #serde: SerializerProtocol
  /** Ids of stored chunks, by `chunkText`. A lookup is faster than computing a digest. */
  readonly #stored = new LRUCache<string, string>({ maxSize: MAX_TEXT, sizeCalculation: sizeOf })

  constructor(items: Items, serde: SerializerProtocol) {
    this.#items = items
    this.#serde = serde
  }

  /**
   * Returns the items of a value: the chunks that the store may lack, then the value itself. O(size).
   * @param epoch part of the name of each chunk, so that a chunk of a deleted thread never counts as stored
   */
  async parts(epoch: string, id: string, value: unknown): Promise<readonly ItemPart[]> {
    const elements = Array.isArray(value)
      ? await Promise.all(value.map((element) => this.dump(element)))
      : null
    if (elements === null || elements.some(([type]) => type !== 'json'))
      return [[id, { value: await this.dump(value) }]]
    const chunks = new Map<string, JsonObject>()
    const levels: string[][] = []
    for (let level = elements.map(([, text]) => text); level.length > 0;) {
      const names: string[] = []
      for (let end = CHUNK; end <= level.length; end += CHUNK) {
        const chunk = level.slice(end - CHUNK, end)
        const stored = this.#stored.get(chunkText(epoch, chunk))
        const name = stored ?? digest(epoch, ...chunk)
        names.push(name)
        if (stored === undefined) chunks.set(name, { elements: chunk })
      }
      levels.push(level.slice(names.length * CHUNK))
      level = names
    }
    return [...chunks, [id, { levels }]]
  }

  markStored(epoch: string, parts: readonly ItemPart[]): void {
    for (const [id, { elements }] of parts)
      if (elements !== undefined) this.#stored.set(chunkText(epoch, elements as readonly string[]), id)
  }

  async read(collection: string, body: JsonObject): Promise<unknown> {
    const stored = body as unknown as StoredValue
    if ('value' in stored) return this.load(stored.value)
    let list: readonly string[] = []
    for (const behind of stored.levels.toReversed()) {
      // oxlint-disable-next-line no-await-in-loop -- a level names the chunks of the next one
      const chunks = await Promise.all(list.map((id) => this.#elements(collection, id)))
      list = [...chunks.flat(), ...behind]
    }
    return Promise.all(list.map((text) => this.load(['json', text])))
  }

  async #elements(collection: string, id: string): Promise<readonly string[]> {
    const chunk = await this.#items.getItem(collection, id)
    if (chunk === null)
      throw new ColloquyError(
        'invalid_event',
        `Item ${id} of a checkpoint is missing from the store. Restore the database from a backup.`,
      )
    return chunk.body['elements'] as readonly string[]
  }

  async dump(value: unknown): Promise<SerializedValue> {
    const [type, bytes] = await this.#serde.dumpsTyped(value)
    return [type, type === 'json' ? new TextDecoder().decode(bytes) : bytesToHex(bytes)]
  }

  load([type, text]: SerializedValue): Promise<unknown> {
    return this.#serde.loadsTyped(type, type === 'json' ? text : hexToBytes(text))
  }
}

const sizeOf = (name: string, text: string): number => name.length + text.length

/** Returns a chunk as text. Elements are JSON or ids, which contain no line breaks. */
const chunkText = (epoch: string, chunk: readonly string[]): string => [epoch, ...chunk].join('\n')

/** Returns a digest of 128 bits, for names of threads and channels that may be too long for an item's id. */
export const digest = (...texts: readonly string[]): string =>
  bytesToHex(sha256(utf8ToBytes(JSON.stringify(texts))).subarray(0, 16))
