/** The entry `colloquy/langgraph`: a LangGraph checkpointer that keeps its checkpoints in a Colloquy store. */

import type { RunnableConfig } from '@langchain/core/runnables'
import * as langgraph from '@langchain/langgraph-checkpoint'
import type { Checkpoint, CheckpointPendingWrite, CheckpointTuple } from '@langchain/langgraph-checkpoint'
import { LRUCache } from 'lru-cache'
import { checkOptionNames } from '../event/check-value.ts'
import { ColloquyError } from '../event/errors.ts'
import type { Item, ItemChange, ItemQuery, Items } from '../store/contract/items.ts'
import { retryConflicts } from '../store/kit/items.ts'
import { allItems, allPages } from '../store/kit/query/page.ts'
import { ChannelValues, digest, type SerializedValue } from './channel-values.ts'

interface CheckpointBody {
  readonly id: string
  readonly namespace: string
  readonly parent: string | null
  readonly checkpoint: SerializedValue
  readonly metadata: SerializedValue
}
type Position = Readonly<{ thread: string; namespace: string; checkpoint: string | undefined }>
type StoredWrite = readonly [index: number, channel: string, ...SerializedValue]
type Saver = langgraph.BaseCheckpointSaver
type Serializer = langgraph.SerializerProtocol
type History = Saver['getDeltaChannelHistory']
type WritesBody = Readonly<{ task: string; path: string; writes: readonly StoredWrite[] }>

const THREADS = 'langgraph'
const BATCH = 100

/**
 * Returns a LangGraph checkpointer over a Colloquy store.
 *
 * Versions of a growing list share elements, so a thread's size is linear in its messages, not quadratic. A
 * run from an earlier `checkpoint_id` starts a branch. Two runs of a thread are not mixed: `put` throws
 * `id_conflict` when another run has moved the thread to another checkpoint. Pending writes are idempotent by
 * task and index. `serde` converts values to bytes. Default: LangGraph's serializer. `getTuple` is O(size of
 * the values).
 * @throws ColloquyError `invalid_argument` without a store. `put` and `putWrites` throw it for a
 *   configuration without `thread_id`, and `putWrites` also for a configuration without `checkpoint_id`. All
 *   methods throw the store's errors.
 * @example
 * const saver = colloquySaver({ store: memoryStore() })
 * await saver.getTuple({ configurable: { thread_id: 'thread-1' } }) // undefined
 */
export function colloquySaver(options: { readonly store: Items; readonly serde?: Serializer }): Saver {
  if (typeof options?.store?.changeItems !== 'function')
    throw new ColloquyError('invalid_argument', '`store` must be a Colloquy store, such as `memoryStore()`.')
  checkOptionNames(options, 'store serde')
  return new ColloquySaver(options.store, options.serde)
}

class ColloquySaver extends langgraph.BaseCheckpointSaver {
  readonly #items: Items
  readonly #values: ChannelValues
  /**
   * Checkpoints that were the latest when this saver read or wrote them. A `put` after such a checkpoint
   * fails if the thread has since moved to another checkpoint.
   */
  readonly #latest = new LRUCache<string, true>({ maxSize: 100_000, sizeCalculation: () => 1 })

  constructor(items: Items, serde?: Serializer) {
    super(serde)
    this.#items = items
    this.#values = new ChannelValues(items, this.serde)
  }

  /** Returns the next version plus a random fraction, so that two branches never use the same version. */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(super.getNextVersion(current)) + Math.random()
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.['thread_id'] === undefined) return undefined
    const { thread, namespace, checkpoint } = positionIn(config)
    const latest = (await this.#get(thread, headId(namespace)))?.body['checkpoint'] as string | undefined
    const position = { thread, namespace, checkpoint: checkpoint ?? latest }
    if (position.checkpoint === latest) this.#latest.set(positionKey(position), true)
    else this.#latest.delete(positionKey(position))
    return this.#read(position)
  }

  override getDeltaChannelHistory(options: Parameters<History>[0]): ReturnType<History> {
    // Does not change `#latest`: reading an ancestor here starts no branch from it.
    const getTuple = (config: RunnableConfig) => this.#read(positionIn(config))
    return super.getDeltaChannelHistory.call(Object.assign(Object.create(this), { getTuple }), options)
  }

  async *list(
    config: RunnableConfig,
    { filter = {}, before, limit = Infinity }: langgraph.CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: only } = config.configurable ?? {}
    const end: unknown = before?.configurable?.['checkpoint_id']
    const range =
      namespace === undefined ? {} : { from: `${digest(namespace)}/`, below: `${digest(namespace)}0` }
    const threads = thread === undefined ? this.#walk(THREADS) : [{ body: { thread } }]
    let count = 0
    for await (const { body: owner } of threads) {
      const id = String(owner['thread'])
      for await (const item of this.#walk(collectionOf(id), { by: 'lane', descending: true, ...range })) {
        if (count >= limit) return
        const body = itemBody<CheckpointBody>(item)
        if ((only ?? body.id) !== body.id || (typeof end === 'string' && body.id >= end)) continue
        const metadata = (await this.#values.load(body.metadata)) as Record<string, unknown>
        if (Object.entries(filter).some(([key, value]) => metadata[key] !== value)) continue
        count += 1
        yield await this.#tuple(id, item)
      }
    }
  }

  async put(...[config, checkpoint, metadata, versions]: Parameters<Saver['put']>): Promise<RunnableConfig> {
    const position = positionIn(config)
    const { thread, namespace, checkpoint: parent } = position
    const { channel_values: values, ...rest } = langgraph.copyCheckpoint(checkpoint)
    const collection = collectionOf(thread)
    const dumped = { checkpoint: await this.#values.dump(rest), metadata: await this.#values.dump(metadata) }
    const body = { id: checkpoint.id, namespace, parent: parent ?? null, ...dumped } satisfies CheckpointBody
    const keys = { lane: `${digest(namespace)}/${checkpoint.id}` }
    const changed = Object.entries(versions).filter(([channel]) => Object.hasOwn(values, channel))
    await retryConflicts(async () => {
      const head = await this.#get(thread, headId(namespace))
      const latest = head?.body['checkpoint']
      const isMoved = latest !== parent && latest !== checkpoint.id && metadata.source !== 'fork'
      if (isMoved && this.#latest.has(positionKey(position)))
        throw new ColloquyError(
          'id_conflict',
          `Another run has moved thread ${thread} to checkpoint ${String(latest)}. Read the latest state and run again.`,
        )
      const epoch = String(head?.body['epoch'] ?? crypto.randomUUID())
      // Clocks differ, so a checkpoint that extends the latest one is the latest, whatever its id.
      const isNewest = typeof latest !== 'string' || latest === parent || latest <= checkpoint.id
      const parts = await Promise.all(
        changed.map(([channel, version]) =>
          this.#values.parts(epoch, valueId(namespace, channel, version), values[channel]),
        ),
      )
      const unique = [...new Map(parts.flat())]
      const changes: ItemChange[] = unique.map(([id, part]) => ({ collection, id, put: { body: part } }))
      // The checkpoint and the head are written last. Until then, no reader finds the values.
      // oxlint-disable-next-line no-await-in-loop
      while (changes.length > BATCH - 3) await this.#items.changeItems(changes.splice(0, BATCH - 3))
      const put = { body: { checkpoint: isNewest ? checkpoint.id : latest, epoch } }
      changes.push({ collection, id: checkpointId(namespace, checkpoint.id), put: { body, keys } })
      changes.push({ collection, id: headId(namespace), expected: head?.version ?? null, put })
      if (head === null) changes.push({ collection: THREADS, id: digest(thread), put: { body: { thread } } })
      await this.#items.changeItems(changes)
      this.#values.markStored(epoch, unique)
      if (isNewest) this.#latest.set(positionKey({ ...position, checkpoint: checkpoint.id }), true)
    })
    return configOf(thread, namespace, checkpoint.id)
  }

  async putWrites(...[config, writes, task, path = '']: Parameters<Saver['putWrites']>): Promise<void> {
    const { thread, namespace, checkpoint } = positionIn(config)
    if (checkpoint === undefined) throw missing('checkpoint_id')
    const collection = collectionOf(thread)
    const keys = { writes: `${digest(namespace)}/${checkpoint}` }
    const id = `writes/${digest(namespace, checkpoint, task)}`
    const dumped = await Promise.all(
      writes.map(async ([channel, value], position) => {
        const index = langgraph.WRITES_IDX_MAP[channel] ?? position
        return [index, channel, ...(await this.#values.dump(value))] satisfies StoredWrite
      }),
    )
    await retryConflicts(async () => {
      const item = await this.#get(thread, id)
      const earlier = item === null ? [] : itemBody<WritesBody>(item).writes
      const stored = new Map(earlier.map((write) => [write[0], write]))
      // Errors and interrupts have a negative index, and replace earlier writes. Other stored writes stay.
      for (const write of dumped) if (write[0] < 0 || !stored.has(write[0])) stored.set(write[0], write)
      const body = { task, path, writes: [...stored.values()] }
      const expected = item?.version ?? null
      await this.#items.changeItems([{ collection, id, expected, put: { body, keys } }])
    })
  }

  async deleteThread(thread: string): Promise<void> {
    for await (const page of allPages((start) => this.#items.listItems(collectionOf(thread), start)))
      await this.#items.changeItems(page.map(({ collection, id }) => ({ collection, id, put: null })))
    await this.#items.changeItems([{ collection: THREADS, id: digest(thread), put: null }])
  }

  async #read({ thread, namespace, checkpoint = '' }: Position): Promise<CheckpointTuple | undefined> {
    const item = await this.#get(thread, checkpointId(namespace, checkpoint))
    return item === null ? undefined : this.#tuple(thread, item)
  }

  async #tuple(thread: string, item: Item): Promise<CheckpointTuple> {
    const { id, namespace, parent, ...dumped } = itemBody<CheckpointBody>(item)
    const rest = (await this.#values.load(dumped.checkpoint)) as Omit<Checkpoint, 'channel_values'>
    const channels = await Promise.all(
      Object.entries(rest.channel_versions).map(async ([channel, version]) => {
        const value = await this.#get(thread, valueId(namespace, channel, version))
        if (value === null) return []
        return [[channel, await this.#values.read(value.collection, value.body)] as const]
      }),
    )
    const checkpoint: Checkpoint = { ...rest, channel_values: Object.fromEntries(channels.flat()) }
    if (checkpoint.v < 4 && parent !== null) {
      // Before version 4 of the format, a step's sends were stored with its parent's pending writes.
      const writes = await this.#writes(thread, namespace, parent)
      const sends = writes.filter(([, channel]) => channel === langgraph.TASKS).map(([, , value]) => value)
      const versions = Object.values(checkpoint.channel_versions)
      checkpoint.channel_values[langgraph.TASKS] = sends
      checkpoint.channel_versions[langgraph.TASKS] =
        versions.length > 0 ? langgraph.maxChannelVersion(...versions) : this.getNextVersion(undefined)
    }
    return {
      config: configOf(thread, namespace, id),
      checkpoint,
      metadata: (await this.#values.load(dumped.metadata)) as langgraph.CheckpointMetadata,
      pendingWrites: await this.#writes(thread, namespace, id),
      ...(parent === null ? {} : { parentConfig: configOf(thread, namespace, parent) }),
    }
  }

  async #writes(thread: string, namespace: string, checkpoint: string): Promise<CheckpointPendingWrite[]> {
    const rows: (readonly [key: langgraph.WritesSortKey, write: CheckpointPendingWrite])[] = []
    const query = { by: 'writes', value: `${digest(namespace)}/${checkpoint}` }
    for await (const item of this.#walk(collectionOf(thread), query)) {
      const { task, path, writes } = itemBody<WritesBody>(item)
      for (const [index, channel, ...value] of writes)
        rows.push([
          langgraph.writesSortKey(path, task, index),
          [task, channel, await this.#values.load(value)],
        ])
    }
    return rows.toSorted(([a], [b]) => langgraph.compareWritesSortKeys(a, b)).map(([, write]) => write)
  }

  #get(thread: string, id: string): Promise<Item | null> {
    return this.#items.getItem(collectionOf(thread), id)
  }

  #walk(collection: string, query?: ItemQuery): AsyncGenerator<Item> {
    return allItems((start) => this.#items.listItems(collection, { ...query, ...start }))
  }
}

function positionIn({ configurable }: RunnableConfig): Position {
  const { thread_id: thread, checkpoint_ns: namespace = '', checkpoint_id: checkpoint } = configurable ?? {}
  if (typeof thread !== 'string' || thread === '') throw missing('thread_id')
  return { thread, namespace: String(namespace), checkpoint: checkpoint ? String(checkpoint) : undefined }
}

const missing = (field: string): ColloquyError =>
  new ColloquyError('invalid_argument', `\`configurable.${field}\` must be a non-empty string.`, { field })
const configOf = (thread_id: string, checkpoint_ns: string, checkpoint_id: string): RunnableConfig => ({
  configurable: { thread_id, checkpoint_ns, checkpoint_id },
})

const itemBody = <T>(item: Item): T => item.body as unknown as T
const collectionOf = (thread: string): string => `${THREADS}/${digest(thread)}`
const positionKey = (key: Position): string => digest(key.thread, key.namespace, key.checkpoint ?? '')
const headId = (namespace: string): string => `head/${digest(namespace)}`
const checkpointId = (namespace: string, id: string): string => `checkpoint/${digest(namespace, id)}`
const valueId = (namespace: string, channel: string, version: string | number): string =>
  `value/${digest(namespace, channel, String(version))}`
