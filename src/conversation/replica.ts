import { ColloquyError, hasCode } from '../event/errors.ts'
import { EVENT_KINDS } from '../event/kinds.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import type { Event } from '../event/types.ts'
import { type Entry, loadedEvent } from '../log/entry.ts'
import { columnarLength, findEventIn } from '../log/log.ts'
import { pendingCallCount } from '../log/open-calls.ts'
import { Vector, vectorOf } from '../log/vector.ts'
import { reduce } from '../state/reduce.ts'
import { completeSnapshot, encodeWithoutBodies, evict, readSnapshot } from '../state/snapshot.ts'
import { CHUNK_SIZE } from '../state/snapshot/record.ts'
import { initialState, type State } from '../state/state.ts'
import type { AppendOptions, ExpectedVersion, SnapshotPart, Store } from '../store/contract/store.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { BlobMode } from '../store/contract/blobs.ts'
import type { StoredEvent } from '../store/contract/query.ts'
import { formatInstant } from '../store/kit/record.ts'
import { versionOf } from '../store/kit/append/decide-append.ts'
import { hasLargeString } from '../store/kit/blobs.ts'
import { isTransient, unknownConversation } from '../store/kit/errors.ts'
import { invalidArgument } from '../event/check-value.ts'
import { type Unit, unitEvents, type ViewItem } from '../view/units.ts'
import type { View } from '../view/view.ts'
import { ERASURE, erasureRecord, isPendingCall, planErasure } from './erase.ts'
import { backOff, Listeners, onAbort, serialQueue } from './async.ts'
import { type AppendedEvent, toLogged } from './logged-event.ts'
import { type Stamp, stampEvents, stampUnknown } from './stamp.ts'
import { Replies } from './streamed.ts'

export type Decision = (state: State) => readonly Event[]

/** A state and the record read with it. */
export interface Look {
  readonly state: State
  readonly record: ConversationRecord
}

export interface CommitOptions {
  /** Length that the log must have. Default: `any`. */
  readonly expected?: ExpectedVersion
  /** Whether to decide again after another writer has appended. Default: false. */
  readonly depends?: boolean
  readonly lease?: NonNullable<AppendOptions['lease']>
  readonly within?: NonNullable<AppendOptions['within']>
  /** Whether to fail at once if the store hung while the commit was queued. Default: false. */
  readonly failsAfterOutage?: boolean
}

/** Milliseconds before a failed poll is retried. */
const RETRY = 200

/** Approximate bytes in memory of a loaded entry, not counting its body, and of an evicted entry. */
const ENTRY_BYTES = 1_000
const EVICTED_BYTES = 150

/** Returns the approximate bytes of a body in memory, with texts in UTF-16. O(values). */
function memoryOf(body: unknown): number {
  if (typeof body === 'string') return 2 * body.length
  if (typeof body !== 'object' || body === null) return 8
  let bytes = 16
  for (const key in body) bytes += 16 + memoryOf((body as Record<string, unknown>)[key])
  return bytes
}

const MAX_ERASE_ATTEMPTS = 20

/** The store counts as hung if an append fails after at least this many milliseconds. */
const LONG_APPEND = 1_000

/** Number of new events before an eviction: the largest of 1,000, 1/50 of the log and 1/4 of the view. */
const [EVICT_EVENTS, EVICT_LOG_PART, EVICT_VIEW_PART] = [1_000, 1 / 50, 1 / 4]

/**
 * Each snapshot contains the whole view. The next snapshot is due when the number of new events reaches this
 * fraction of the view's length.
 */
const SNAPSHOT_VIEW_PART = 3 / 4

/**
 * A conversation's state in memory. One queue prevents races within this process; across processes, the
 * store's versions detect conflicts, and the decision is repeated.
 */
export class Replica {
  readonly id: string
  readonly changes = new Listeners<State>()
  readonly replies = new Replies(() => this.#state)
  readonly failures = new Listeners<unknown>()
  readonly #gone = new AbortController()
  readonly gone: AbortSignal = this.#gone.signal
  readonly #store: Store
  readonly #stamp: Stamp
  readonly blobs: BlobMode
  readonly #read: Read
  #state: State
  /** Creation time. If the record has another creation time, the id belongs to another conversation now. */
  #createdAt: string
  #savedAt: number
  /** Log length at the last attempt to save a snapshot, even if it failed. */
  #triedAt: number
  #restedAt: number
  #isSettling = false
  /** The first `counted` entries, of which `evicted` were evicted, need about `bytes` bytes in memory. */
  #size = { bytes: 0, counted: -1, evicted: 0 }
  #writer: string | null = null
  readonly #inOrder = serialQueue()
  /** Error and end of the last append during which the store hung. */
  #outage: { readonly error: unknown; readonly endedAt: number } | null = null
  #unwatch: (() => void) | null = null
  #followed = 0
  #isStale = false
  /** Status in the store's record when it was last read or written, and the length of the log at that time. */
  readonly #listed: { status: string | null; length: number } = { status: null, length: 0 }
  #epoch = 0

  private constructor(
    store: Store,
    stamp: Stamp,
    id: string,
    blobs: BlobMode,
    { state, snapshotAt, createdAt }: Opened,
  ) {
    this.id = id
    this.#store = store
    this.blobs = blobs
    this.#read = readerOf(store, blobs)
    this.#stamp = stamp
    this.#state = state
    this.#createdAt = createdAt
    this.#savedAt = this.#triedAt = snapshotAt
    this.#restedAt = snapshotAt
  }

  static async open(store: Store, stamp: Stamp, id: string, blobs: BlobMode = 'whole'): Promise<Replica> {
    return new Replica(store, stamp, id, blobs, await openState(store, id, readerOf(store, blobs)))
  }

  get state(): State {
    return this.#state
  }

  get writer(): string | null {
    return this.#writer
  }

  /** Incremented when the log is replaced, as after a database restore. */
  get epoch(): number {
    return this.#epoch
  }

  /** Returns the latest state, with at least one read of the store. O(events of other processes). */
  async refresh(): Promise<State> {
    return (await this.look()).state
  }

  look(known?: ConversationRecord): Promise<Look> {
    return this.#inOrder(() => this.#look(known))
  }

  async read<T>(query: (state: State) => T): Promise<T> {
    try {
      return query(await this.refresh())
    } catch (error) {
      if (!hasCode(error, 'evicted')) throw error
      return query(await this.whole())
    }
  }

  /**
   * Appends and folds a decision's events, except events already in the log. Returns all the decision's
   * events.
   */
  commit(decide: Decision, options: CommitOptions = {}): Promise<readonly AppendedEvent[]> {
    const queuedAt = performance.now()
    return this.#inOrder(async () => {
      const { expected = 'any', depends = false, lease, within, failsAfterOutage = false } = options
      // Fail at once: otherwise each commit in the queue would wait for the store's whole time limit.
      if (failsAfterOutage && this.#outage !== null && queuedAt < this.#outage.endedAt)
        throw this.#outage.error
      const redecides = depends && expected === 'any'
      // Read new events first, because the decision should be made on the expected version.
      if (depends && expected !== 'any' && versionOf(expected) !== this.#state.log.entries.length)
        await this.#catchUp()
      for (let losses = 0; ; losses += 1) {
        const events = redecides ? await this.#decideLatest(decide) : await this.#decide(decide)
        if (events.length === 0) return []
        const version = redecides ? this.#state.log.entries.length : expected
        try {
          return await this.#append(events, {
            expected: version,
            // A log that was deleted and created again can have other events at the same version.
            ...(redecides && { createdAt: this.#createdAt }),
            ...(lease !== undefined && { lease }),
            ...(within !== undefined && { within }),
          })
        } catch (error) {
          // Another process may have appended the same late result under the same id.
          const isKnownId = depends && hasCode(error, 'id_conflict')
          if (!isKnownId && !(redecides && hasCode(error, 'version_conflict'))) throw error
          if (losses > 2) await backOff(losses)
          if (await this.#catchUp()) continue
          if (isKnownId) throw error
          // There is nothing newer to read, so the log was replaced.
          await this.#startOver()
        }
      }
    })
  }

  leave(): void {
    this.#gone.abort(unknownConversation(this.id))
  }

  follow(): () => void {
    this.#unwatch ??= this.#store.watch(this.id, () => this.#wake())
    this.#followed += 1
    this.#wake()
    let isFollowing = true
    return () => {
      if (!isFollowing) return
      isFollowing = false
      this.#followed -= 1
      if (this.#followed > 0) return
      this.#unwatch?.()
      this.#unwatch = null
    }
  }

  /** Returns the state with every body and checkpoint. O(n log n). */
  whole(): Promise<State> {
    return this.#inOrder(async () => {
      await this.#catchUp()
      return wholeState(this.#store, this.id)
    })
  }

  /** Erases an event. Returns the erasure record if it is new. */
  async erase(eventId: string, recordId: string, reason: string): Promise<readonly AppendedEvent[]> {
    for (let attempt = 1; ; attempt += 1) {
      const state = await this.whole()
      if (isPendingCall(state, eventId))
        invalidArgument('id', 'must not be the id of a pending call. Reject or interrupt the call first')
      const plan = planErasure(state, eventId)
      const unsigned = plan.flatMap(({ after }) => (after.id === eventId ? [] : (after.id ?? [])))
      try {
        if (this.#store.replaceEvents === undefined)
          throw new ColloquyError(
            'invalid_argument',
            `The ${this.#store.name} store cannot erase events. Use a store that implements \`replaceEvents\`.`,
          )
        await this.#store.replaceEvents(this.id, plan)
        const record = erasureRecord(recordId, eventId, reason, unsigned)
        const records = await this.commit(
          ({ log }) => (findEventIn(log, recordId) === undefined ? [record] : []),
          { depends: true },
        )
        // Needed even if the erasure was already recorded.
        await this.#inOrder(() => this.#startOver())
        return records
      } catch (error) {
        if (!hasCode(error, 'version_conflict') || attempt === MAX_ERASE_ATTEMPTS) throw error
      }
    }
  }

  /** Returns the state with its view's long strings; the same state if none is missing. O(view + bytes). */
  async withBodies(state: State): Promise<State> {
    const { branch } = state
    if (this.blobs === 'whole') return state
    const items = viewItems(branch.view).filter(hasReferences)
    const ids = items.map(({ id }) => id)
    if (ids.length === 0) return state
    const read = await this.#store.getMany(this.id, ids)
    const view = withEvents(branch.view, new Map(read.map((event, index) => [ids[index], event?.fact])))
    return { ...state, branch: { ...branch, view } }
  }

  /** Approximate size in memory, in bytes. O(events since the last call); after an eviction also O(view). */
  get bytes(): number {
    const { log, branch } = this.#state
    const { entries } = log
    const evicted = columnarLength(log)
    let { bytes, counted } = this.#size
    if (evicted !== this.#size.evicted || counted < 0 || counted > entries.length) {
      counted = evicted
      bytes = EVICTED_BYTES * evicted
      for (const item of viewItems(branch.view))
        if (!('seq' in item) || Number(item.seq) < evicted) bytes += memoryOf(item.event)
    }
    for (; counted < entries.length; counted += 1) {
      const entry = entries.get(counted)
      bytes += ENTRY_BYTES + memoryOf(entry?.event ?? entry?.quarantined)
    }
    this.#size = { bytes, counted, evicted }
    return bytes
  }

  /** Writes a due snapshot and evicts bodies. With `isLast`, a snapshot is due earlier, because no append follows. */
  async settle(isLast = false): Promise<void> {
    await this.#inOrder(async () => {
      if (isLast ? this.#isSnapshotDue : this.#isChunkDue) await this.#save()
      if (!this.isDue) return
      this.#restedAt = this.#state.log.entries.length
      this.#state = evict(this.#state)
    })
  }

  async #append(events: readonly Event[], options: AppendOptions): Promise<readonly AppendedEvent[]> {
    if (this.replies.beforeEnd !== null) await this.replies.finish(events)
    const end = this.#state.log.entries.last()
    let last = end?.timestamp ?? null
    if (end !== undefined && last?.endsWith('Z') !== true) {
      // If a time lacks a zone, only the store knows the zone (D10).
      const [stored] = await this.#store.read(this.id, { from: end.seq, limit: 1 })
      if (stored !== undefined) last = formatInstant(stored.time)
    }
    const begunAt = performance.now()
    let appended
    try {
      appended = await this.#store.append(this.id, stampEvents(events, this.#stamp, last), options)
    } catch (error) {
      const endedAt = performance.now()
      if (isTransient(error) && endedAt - begunAt >= LONG_APPEND) this.#outage = { error, endedAt }
      // If the caller repeats an append of an event with an id but no time, the new time must not be compared
      // (law S).
      const again = hasCode(error, 'id_conflict')
        ? await stampUnknown(this.#store, this.id, events, this.#stamp, last)
        : null
      if (again === null) throw error
      appended = await this.#store.append(this.id, again, options)
    }
    this.#writer = options.lease?.owner ?? this.#writer
    const { length } = this.#state.log.entries
    const added = appended.events.filter(({ seq }) => seq >= length)
    const isNext =
      added.every(({ seq }, i) => seq === length + i) && length + added.length === appended.version
    try {
      // With `refs`, new events with large strings are read back, with references instead of the strings.
      if (isNext && !(this.blobs === 'refs' && hasLargeString(added))) await this.#fold(added)
      else await this.#catchUp()
      // Other writers may have changed the listed status.
      const known = isNext && this.#listed.length === length ? this.#listed.status : null
      if (this.#state.header.status === known) this.#listed.length = this.#state.log.entries.length
      else await this.#list(known)
    } catch {
      // The append succeeded, so no error may escape. The next read catches up.
    }
    return appended.events.map((event) => toLogged(event) as AppendedEvent)
  }

  async #decide(decide: Decision): Promise<readonly Event[]> {
    try {
      return decide(this.#state)
    } catch (error) {
      if (!hasCode(error, 'evicted')) throw error
      this.#setState(await replayWhole(this.#read, this.id))
      return decide(this.#state)
    }
  }

  /** Calls `decide`. If it throws or returns no events, calls it again, unless the state was already the latest. */
  async #decideLatest(decide: Decision): Promise<readonly Event[]> {
    for (;;) {
      let failure: { readonly error: unknown } | null = null
      try {
        const events = await this.#decide(decide)
        if (events.length > 0) return events
      } catch (error) {
        failure = { error }
      }
      const before = this.#state
      if ((await this.#look()).state !== before) continue
      if (failure === null) return []
      throw failure.error
    }
  }

  async #catchUp(): Promise<boolean> {
    const before = this.#state
    for (;;) {
      const { entries } = this.#state.log
      const last = entries.last()
      // Reads the last known event again: a different event means that the log was replaced.
      const from = Math.max(0, entries.length - 1)
      const events = await this.#read(this.id, { from, limit: PAGE_SIZE })
      if (last !== undefined && events[0]?.id !== last.id) await this.#startOver()
      else await this.#fold(last === undefined ? events : events.slice(1))
      if (events.length < PAGE_SIZE) return this.#state !== before
    }
  }

  async #look(known?: ConversationRecord): Promise<Look> {
    const { entries, head } = this.#state.log
    // An older record, or a record of another conversation, proves nothing.
    const isUsable = known?.createdAt === this.#createdAt && known.version >= entries.length
    const record = isUsable ? known : await recordIn(this.#store, this.id)
    const isSame = record.version === entries.length && record.headId === (head?.id ?? null)
    const isSameConversation = record.createdAt === this.#createdAt
    if (isSameConversation && record.version > entries.length) await this.#catchUp()
    else if (!isSameConversation || !isSame) await this.#startOver()
    await this.#list(record.status)
    return { state: this.#state, record }
  }

  /** Stores the status. If another writer has appended, that writer or the next reader stores it instead. */
  async #list(known: string | null): Promise<void> {
    const { header, log } = this.#state
    const { length } = log.entries
    Object.assign(this.#listed, { status: known, length })
    if (header.status === known) return
    try {
      if (await this.#store.setStatus(this.id, header.status, length)) this.#listed.status = header.status
    } catch {
      // Harmless: the log contains the status. If the store is read-only, the next append fails.
    }
  }

  async #fold(events: readonly StoredEvent[]): Promise<void> {
    if (events.length === 0) return
    // Bodies from before the erasure are outdated, in memory and in a snapshot written in the meantime.
    if (events.some(({ fact }) => 'key' in fact && fact.key === ERASURE)) {
      await this.#store.deleteSnapshot(this.id)
      return this.#startOver()
    }
    // If the parent is unknown, the log was replaced.
    const parentId = events[0]?.parentId ?? null
    if (parentId !== null && findEventIn(this.#state.log, parentId) === undefined) return this.#startOver()
    this.#setState(foldFacts(this.#state, events) ?? (await replayWhole(this.#read, this.id)))
  }

  #setState(state: State): void {
    this.#state = state
    if (this.isDue) this.#settleSoon()
    this.changes.tell(state)
  }

  async #startOver(): Promise<void> {
    const known = this.#state.log.entries
    const { createdAt } = await recordIn(this.#store, this.id)
    const state = await replayWhole(this.#read, this.id)
    this.#savedAt = this.#triedAt = this.#restedAt = 0
    const isSameLog =
      createdAt === this.#createdAt &&
      (known.length === 0 || state.log.entries.get(known.length - 1)?.id === known.last()?.id)
    if (!isSameLog) this.#epoch += 1
    this.#createdAt = createdAt
    this.#setState(state)
  }

  get isDue(): boolean {
    const { log, branch } = this.#state
    const growth = Math.max(log.entries.length * EVICT_LOG_PART, branch.view.length * EVICT_VIEW_PART)
    return log.entries.length - this.#restedAt >= Math.max(EVICT_EVENTS, growth) || this.#isChunkDue
  }

  get #isChunkDue(): boolean {
    const { length } = this.#state.log.entries
    return Math.floor(length / CHUNK_SIZE) > Math.floor(this.#triedAt / CHUNK_SIZE) && this.#isSnapshotDue
  }

  get #isSnapshotDue(): boolean {
    const { log, branch } = this.#state
    return (
      log.entries.length - this.#triedAt >= Math.max(EVICT_EVENTS, branch.view.length * SNAPSHOT_VIEW_PART)
    )
  }

  /** Calls `settle` in a later turn of the event loop, so that callers get their results first. */
  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    setTimeout(() => {
      this.#isSettling = false
      void this.settle()
    }, 0)
  }

  async #save(): Promise<void> {
    this.#triedAt = this.#state.log.entries.length
    try {
      // This state may have content that another process has erased.
      await this.#look()
      const state = this.#state
      const since = this.#savedAt
      this.#triedAt = state.log.entries.length
      const parts = encodeWithoutBodies(state, since, this.#createdAt)
      await this.#store.saveSnapshot(this.id, parts, { complete: since === 0 })
      this.#savedAt = this.#triedAt
    } catch {
      // Retried once the next chunk of the log is complete.
    }
  }

  #wake(): void {
    if (this.#isStale) return
    this.#isStale = true
    this.#inOrder(async () => {
      this.#isStale = false
      await this.#look()
    }).catch((error: unknown) => {
      if (hasCode(error, 'unknown_conversation')) return this.leave()
      this.failures.tell(error)
      // There may be no other wake-up.
      setTimeout(() => void (this.#followed > 0 && this.#wake()), RETRY)
    })
  }
}

export async function recordIn(store: Store, id: string): Promise<ConversationRecord> {
  const record = await store.getConversation(id)
  if (record !== null) return record
  throw unknownConversation(id)
}

const PAGE_SIZE = 1_024

type Read = Store['read']

/** Events in memory that have references in place of long strings. */
const referring = new WeakSet<object>()

export const hasReferences = ({ event }: Pick<Entry, 'event'>): boolean => referring.has(event ?? referring)

/** Returns an entry's event. @throws `evicted` if it is not in memory, or has references in place of long strings. */
export function wholeEvent(entry: Entry): Event | null {
  if (hasReferences(entry))
    throw new ColloquyError(
      'evicted',
      'The event in memory has references in place of long strings. Read the event with `conversation.read`.',
    )
  return loadedEvent(entry, EVENT_KINDS)
}

function readerOf(store: Pick<Store, 'read'>, blobs: BlobMode): Read {
  if (blobs === 'whole') return (id, query) => store.read(id, query)
  return async (id, query) => {
    const events = await store.read(id, { ...query, blobs })
    const whole = events.map((event) =>
      event.blobs && !isReferring(event) ? store.read(id, { from: event.seq, limit: 1 }) : [event],
    )
    return (await Promise.all(whole)).flat()
  }
}

/** Whether only requests need an event's references: all are in files or tool results. If so, remembers the event. */
function isReferring({ fact, blobs = [] }: StoredEvent): boolean {
  // An id that is derived from the body needs the whole body.
  if (fact.id === undefined || isQuarantined(fact)) return false
  const isResult = fact.kind === 'ObservationEvent' && fact.observation.kind !== 'WorkingObservation'
  const isMessage = fact.kind === 'MessageEvent' && fact.source === 'user'
  const isOfRequest = blobs.every(({ path }) =>
    path[1] === 'content' && path.at(-1) !== 'text'
      ? isResult || isMessage
      : isResult && path[0] === 'observation',
  )
  if (isOfRequest) referring.add(fact)
  return isOfRequest
}

/** Events of the view, and of its pending batches. */
const viewItems = ({ units }: View): ViewItem[] => [...units].flatMap((unit) => [...unitEvents(unit)])

/** Returns a copy of the view with whole events. Copies the units, so that caches keep no long strings. */
function withEvents(view: View, whole: ReadonlyMap<unknown, Fact | undefined>): View {
  // The spread does not copy an evicted entry's id, which is a getter of its class.
  const swap = <I extends ViewItem>(item: I): I =>
    hasReferences(item) ? { ...item, id: item.id, event: whole.get(item.id) ?? item.event } : item
  let units = Vector.empty<Unit>()
  for (const unit of view.units)
    units = units.push(
      unit.type === 'message'
        ? { ...unit, item: swap(unit.item) }
        : {
            ...unit,
            results: vectorOf([...unit.results].map((one) => ({ ...one, entry: swap(one.entry) }))),
          },
    )
  return { ...view, units }
}

type Opened = Awaited<ReturnType<typeof openState>>

/**
 * An eviction is due when the log has grown since the last one by this fraction of its length, and by at least the
 * number of retained events and one chunk. An eviction costs O(length + retained events), so all evictions during a
 * fold of n events cost O(n).
 */
const EVICT_PART = 1 / 32

/**
 * Opens a conversation's state from its snapshot and the later events. O(bytes of the snapshot + view + later
 * events). Without a snapshot, or if the log returns to an evicted branch, O(n log n). `snapshotAt` is the log
 * length covered by the snapshot; 0 without a usable snapshot.
 */
export async function openState(store: Store, id: string, read: Read = readerOf(store, 'whole')) {
  // The record is read before the log, so that the next read of the record detects a replacement in between.
  const [record, parts] = await Promise.all([recordIn(store, id), store.loadSnapshot(id)])
  const { createdAt } = record
  const saved = await openSaved(read, record, parts)
  if (saved !== null) {
    const state = await foldOn(read, id, saved, true)
    if (state !== null) return { state, snapshotAt: saved.log.entries.length, createdAt }
  }
  const empty = initialState({ conversationId: id })
  // If the log returns to an evicted branch, fold the log again without evictions.
  const state = (await foldOn(read, id, empty, true)) ?? (await replayWhole(read, id))
  return { state, snapshotAt: 0, createdAt }
}

export const wholeState = (store: Store, id: string): Promise<State> =>
  replayWhole(readerOf(store, 'whole'), id)

async function replayWhole(read: Read, id: string): Promise<State> {
  const empty = initialState({ conversationId: id })
  return (await foldOn(read, id, empty, false)) ?? empty
}

/** Opens the state from a snapshot. Null without a snapshot, or if the snapshot does not match the log. */
async function openSaved(
  read: Read,
  { id, createdAt }: ConversationRecord,
  parts: readonly SnapshotPart[],
): Promise<State | null> {
  const saved = parts.length === 0 ? null : readSnapshot(parts, id)
  if (saved === null || saved.record.length === 0 || saved.record.createdAt !== createdAt) return null
  const last = saved.record.length - 1
  const wanted = new Set([...saved.lacking, last])
  const events = new Map<number, StoredEvent>()
  for (const { from, until } of rangesOf([...wanted].toSorted((one, other) => one - other))) {
    for (let position = from; position < until; position += PAGE_SIZE) {
      const page = await read(id, { from: position, limit: Math.min(PAGE_SIZE, until - position) })
      for (const event of page) if (wanted.has(event.seq)) events.set(event.seq, event)
    }
  }
  return events.has(last) ? completeSnapshot(saved, events) : null
}

interface Range {
  readonly from: number
  until: number
}

/** Gaps up to this many events are read rather than skipped. */
const GAP = 16

/** Maximum number of ranges, which are read separately. If there are more, neighbouring ranges are merged. */
const RANGES = 32

function rangesOf(positions: readonly number[], gap = GAP): readonly Range[] {
  const ranges: Range[] = []
  for (const position of positions) {
    const last = ranges.at(-1)
    if (last !== undefined && position - last.until <= gap) last.until = position + 1
    else ranges.push({ from: position, until: position + 1 })
  }
  return ranges.length > RANGES ? rangesOf(positions, 2 * gap) : ranges
}

/**
 * Folds the rest of the log into a state. Null if the log returns to an evicted branch, or erases content
 * that the snapshot may have. `evicts`: whether to bound memory.
 */
async function foldOn(read: Read, id: string, state: State, evicts: boolean): Promise<State | null> {
  let current = state
  let restedAt = state.log.entries.length
  // Kept for one more page: a log mostly returns to a branch that it left a few events ago.
  let before: State | null = null
  for (;;) {
    const from = current.log.entries.length
    // Aligned with chunks of the columnar log: the state is evicted only at the end of a chunk.
    const limit = PAGE_SIZE - (from % PAGE_SIZE)
    const events = await read(id, { from, limit })
    // The snapshot may be from a process that did not know this erasure. Its header then has the old content.
    const isSaved = state.log.entries.length > 0
    if (isSaved && events.some(({ fact }) => 'key' in fact && fact.key === ERASURE)) return null
    const next = foldFacts(current, events)
    if (next === null) {
      if (before === null) return null
      current = before
      before = null
      continue
    }
    current = next
    before = null
    if (events.length < limit) return current
    const { length } = current.log.entries
    const retained = current.branch.view.length + pendingCallCount(current.branch.pendingCalls)
    const due =
      evicts && length % CHUNK_SIZE === 0 && length - restedAt >= Math.max(length * EVICT_PART, retained)
    if (!due) continue
    before = current
    current = evict(current)
    restedAt = length
  }
}

/** Folds events into a state. Null if the events need data that the state has evicted. O(log n) per event. */
function foldFacts(state: State, events: readonly StoredEvent[]): State | null {
  let current = state
  try {
    for (const { fact } of events) current = reduce(current, fact)
    return current
  } catch (error) {
    if (hasCode(error, 'evicted')) return null
    throw error
  }
}

/** Resolves with the first state that matches, which can be the current state. */
export async function waitForState(
  replica: Replica,
  fits: (state: State) => boolean,
  signal?: AbortSignal,
): Promise<State> {
  signal?.throwIfAborted()
  replica.gone.throwIfAborted()
  const first = Promise.withResolvers<State>()
  const check = (state: State): void => {
    if (fits(state)) first.resolve(state)
  }
  const over = signal === undefined ? replica.gone : AbortSignal.any([signal, replica.gone])
  const fail = (): void => first.reject(over.reason as Error)
  // Keeps the process alive: timers of `AbortSignal.timeout` do not.
  const alive = setInterval(() => undefined, 2 ** 30)
  const ends = [replica.changes.add(check), onAbort(over, fail)]
  try {
    ends.push(replica.follow())
    replica.refresh().then(check, first.reject)
    return await first.promise
  } finally {
    clearInterval(alive)
    for (const end of ends) end()
  }
}
