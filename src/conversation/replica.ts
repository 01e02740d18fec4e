/**
 * The in-memory copy of one conversation: opens its state, follows the log, and appends. All reads and writes of this
 * process go through its queue, so the process never races itself.
 */

import { hasCode } from '../event/errors.ts'
import type { Event } from '../event/types.ts'
import { columnarLength, findEventIn } from '../log/log.ts'
import { pendingCallCount } from '../log/open-calls.ts'
import { reduce } from '../state/reduce.ts'
import { completeSnapshot, encodeWithoutBodies, evict, readSnapshot } from '../state/snapshot.ts'
import { CHUNK_SIZE } from '../state/snapshot/record.ts'
import { initialState, type State } from '../state/state.ts'
import type { AppendOptions, ExpectedVersion, SnapshotPart, Store } from '../store/contract/store.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { StoredEvent } from '../store/contract/query.ts'
import { versionOf } from '../store/kit/append/decide-append.ts'
import { unknownConversation } from '../store/kit/errors.ts'
import { unitEvents } from '../view/unit.ts'
import { backOff, Listeners, serialQueue } from './async.ts'
import { type LoggedEvent, toLogged } from './logged-event.ts'
import { type Stamp, stampEvents, stampUnknown } from './stamp.ts'
import { Replies } from './streamed.ts'

/** Given a state, the events that are to be appended to it. */
export type Decision = (state: State) => readonly Event[]

/** A conversation as one read of its record has found it. */
export interface Look {
  readonly state: State
  readonly record: ConversationRecord
}

/** How a decision is carried out. */
export interface CommitOptions {
  /** What the caller believes the version to be. Default: `any`, so that every version will do. */
  readonly expected?: ExpectedVersion
  /** Whether the decision holds only for the state it was made on; it is made again when others append meanwhile. */
  readonly depends?: boolean
  readonly lease?: NonNullable<AppendOptions['lease']>
}

/** Milliseconds after which a look for appends of others that failed is made again. */
const RETRY = 200

/** Bytes of an entry in memory besides its body, and of an entry whose body was evicted. */
const ENTRY_BYTES = 1_000
const EVICTED_BYTES = 150

/** Bytes of a body in memory: its JSON in UTF-16. O(size). */
const bytesOf = (body: unknown): number => 2 * (JSON.stringify(body)?.length ?? 0)

/** A snapshot is written when so many events have come since the last, or so large a part of the log. */
const SNAPSHOT_EVENTS = 1_000
const SNAPSHOT_PART = 1 / 50

/**
 * A conversation's state in memory. Everything that reads or appends goes through one queue, so that within a process
 * no caller loses a race; between processes the store's versions decide, and the loser decides again.
 */
export class Replica {
  readonly id: string
  /** Called after every change. */
  readonly changes = new Listeners<State>()
  /** What is being said, and never stored. */
  readonly replies = new Replies(() => this.#state)
  /** Called with what the store throws while appends of others are followed; they are looked for again later. */
  readonly failures = new Listeners<unknown>()
  readonly #gone = new AbortController()
  /** Aborted, with the error as its reason, when the conversation is no longer there. */
  readonly gone: AbortSignal = this.#gone.signal
  readonly #store: Store
  readonly #stamp: Stamp
  #state: State
  /** When it was created: another time is that of another conversation, made under the same id. */
  #createdAt: string
  /** Lengths of the log: what the store's snapshot covers, and when bodies were evicted last. */
  #savedAt: number
  #restedAt: number
  /** Size in memory: bytes so far, the entries counted, and how many of them were evicted at the time. */
  #size = { bytes: 0, counted: -1, evicted: 0 }
  #writer: string | null = null
  readonly #inOrder = serialQueue()
  #unwatch: (() => void) | null = null
  #followed = 0
  #isStale = false
  /** The status that the store lists the conversation by, as far as known, and the log length it was known for. */
  #listed: { readonly status: string | null; readonly length: number } = { status: null, length: 0 }
  #epoch = 0

  private constructor(store: Store, stamp: Stamp, id: string, { state, snapshotAt, createdAt }: Opened) {
    this.id = id
    this.#store = store
    this.#stamp = stamp
    this.#state = state
    this.#createdAt = createdAt
    this.#savedAt = snapshotAt
    this.#restedAt = snapshotAt
  }

  /** Opens a conversation, from its snapshot and what came after it. @throws ColloquyError `unknown_conversation`. */
  static async open(store: Store, stamp: Stamp, id: string): Promise<Replica> {
    return new Replica(store, stamp, id, await openState(store, id))
  }

  /** The state after the last event that this process knows of. */
  get state(): State {
    return this.#state
  }

  /** Owner of the lease under which this process has appended last; null where it has under none. */
  get writer(): string | null {
    return this.#writer
  }

  /** Raised when the log is no longer the one that was read, as a restored database has it. */
  get epoch(): number {
    return this.#epoch
  }

  /** The state after the last event of the log. One read of the store; O(events that others have appended). */
  async refresh(): Promise<State> {
    return (await this.look()).state
  }

  /** The same with the record that it was read with; `found` is one that was just read, and saves the read. */
  look(found?: ConversationRecord): Promise<Look> {
    return this.#inOrder(() => this.#look(found))
  }

  /**
   * Returns what a pure function makes of the latest state. Where it needs evicted events, the whole log is folded
   * again, O(n).
   */
  async read<T>(question: (state: State) => T): Promise<T> {
    try {
      return question(await this.refresh())
    } catch (error) {
      if (!hasCode(error, 'evicted')) throw error
      return question(await this.whole())
    }
  }

  /**
   * Appends the events of a decision and folds them. Returns the appended events, or the equal ones that the log
   * already contained. @throws what the decision or `Store.append` throws.
   */
  commit(decide: Decision, options: CommitOptions = {}): Promise<readonly LoggedEvent[]> {
    return this.#inOrder(async () => {
      const { expected = 'any', depends = false, lease } = options
      const mine = depends && expected === 'any'
      // A decision for a version is made at that version, where it can be.
      if (depends && expected !== 'any' && versionOf(expected) !== this.#state.log.entries.length)
        await this.#catchUp()
      for (let losses = 0; ; losses += 1) {
        const events = mine ? await this.#decideLatest(decide) : await this.#decide(decide)
        if (events.length === 0) return []
        const version = mine ? this.#state.log.entries.length : expected
        try {
          return await this.#append(events, {
            expected: version,
            // A log that was deleted and created again has other events at the same version.
            ...(mine && { createdAt: this.#createdAt }),
            ...(lease !== undefined && { lease }),
          })
        } catch (error) {
          // A late result that another process has put in its place meanwhile is known by its id alone.
          const taken = depends && hasCode(error, 'id_conflict')
          if (!taken && !(mine && hasCode(error, 'version_conflict'))) throw error
          if (losses > 2) await backOff(losses)
          if (await this.#catchUp()) continue
          if (taken) throw error
          // The log is shorter than what is known of it.
          await this.#startAnew()
        }
      }
    })
  }

  /** Says that the conversation was deleted. */
  leave(): void {
    this.#gone.abort(unknownConversation(this.id))
  }

  /** Follows appends of others from now on, until the function that it returns is called. */
  follow(): () => void {
    this.#followed += 1
    this.#unwatch ??= this.#store.watch(this.id, () => this.#wake())
    this.#wake()
    let on = true
    return () => {
      if (!on) return
      on = false
      this.#followed -= 1
      if (this.#followed > 0) return
      this.#unwatch?.()
      this.#unwatch = null
    }
  }

  /** The state with every body and checkpoint, folded again from the whole log where they were evicted. O(n) then. */
  whole(): Promise<State> {
    return this.#inOrder(async () => {
      await this.#catchUp()
      return replayWhole(this.#store, this.id)
    })
  }

  /** Approximate size in memory, in bytes. O(events since the last call); after an eviction O(view). */
  get bytes(): number {
    const { log, branch } = this.#state
    const { entries } = log
    const evicted = columnarLength(log)
    let { bytes, counted } = this.#size
    if (evicted !== this.#size.evicted || counted < 0 || counted > entries.length) {
      counted = evicted
      bytes = EVICTED_BYTES * evicted
      for (const unit of branch.view.units)
        for (const item of unitEvents(unit))
          if (!('seq' in item) || Number(item.seq) < evicted) bytes += bytesOf(item.event)
    }
    for (; counted < entries.length; counted += 1) {
      const entry = entries.get(counted)
      bytes += ENTRY_BYTES + bytesOf(entry?.event ?? entry?.quarantined)
    }
    this.#size = { bytes, counted, evicted }
    return bytes
  }

  /** Waits until nothing is under way, nor due. */
  async settle(): Promise<void> {
    await this.#inOrder(() => this.#save())
  }

  async #append(events: readonly Event[], options: AppendOptions): Promise<readonly LoggedEvent[]> {
    await this.replies.finish(events)
    let appended
    try {
      appended = await this.#store.append(this.id, stampEvents(events, this.#stamp), options)
    } catch (error) {
      // Appended again by a caller who gave the id and no time: the time stamped then is not compared (law S).
      const again = hasCode(error, 'id_conflict')
        ? await stampUnknown(this.#store, this.id, events, this.#stamp)
        : null
      if (again === null) throw error
      appended = await this.#store.append(this.id, again, options)
    }
    this.#writer = options.lease?.owner ?? this.#writer
    const { length } = this.#state.log.entries
    const fresh = appended.events.filter(({ seq }) => seq >= length)
    const isNext =
      fresh.every(({ seq }, i) => seq === length + i) && length + fresh.length === appended.version
    try {
      if (isNext) await this.#fold(fresh)
      else await this.#catchUp()
      // Other writers may have changed the listed status.
      await this.#list(isNext && this.#listed.length === length ? this.#listed.status : null)
    } catch {
      // It is appended, and no error may deny that; the next read of the state reads on.
    }
    return appended.events.map(toLogged)
  }

  /** A decision may ask for what was evicted; then the whole log is folded again, and the decision made again. */
  async #decide(decide: Decision): Promise<readonly Event[]> {
    try {
      return decide(this.#state)
    } catch (error) {
      if (!hasCode(error, 'evicted')) throw error
      this.#take(await replayWhole(this.#store, this.id))
      return decide(this.#state)
    }
  }

  /** Before returning no events, or an error, retries on the latest state. */
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

  /** Folds what others have appended; whether that was something. */
  async #catchUp(): Promise<boolean> {
    const before = this.#state
    for (;;) {
      const { entries } = this.#state.log
      const last = entries.last()
      // The last that is known is read again: another in its place is of another log.
      const from = Math.max(0, entries.length - 1)
      const events = await this.#store.read(this.id, { from, limit: PAGE })
      if (last !== undefined && events[0]?.id !== last.id) await this.#startAnew()
      else await this.#fold(last === undefined ? events : events.slice(1))
      if (events.length < PAGE) return this.#state !== before
    }
  }

  /** The same after one small read of the record: nothing may be new, or the conversation may be another. */
  async #look(found?: ConversationRecord): Promise<Look> {
    const { entries, head } = this.#state.log
    // A record that is older than what is known, or of another conversation, says nothing of it.
    const isOf = found?.createdAt === this.#createdAt && found.version >= entries.length
    const record = isOf ? found : await recordIn(this.#store, this.id)
    const isSame = record.version === entries.length && record.headId === (head?.id ?? null)
    const goesOn = record.createdAt === this.#createdAt
    if (goesOn && record.version > entries.length) await this.#catchUp()
    else if (!goesOn || !isSame) await this.#startAnew()
    await this.#list(record.status)
    return { state: this.#state, record }
  }

  /**
   * Lists the conversation by its current status, unless the log has grown since: then the process that appended does.
   * If a process dies before it does, the next reader of the conversation repairs the listed status.
   * @param known the status that the store lists now, if known
   */
  async #list(known: string | null): Promise<void> {
    const { header, log } = this.#state
    const { length } = log.entries
    this.#listed = { status: known, length }
    if (header.status === known) return
    try {
      if (await this.#store.setStatus(this.id, header.status, length))
        this.#listed = { status: header.status, length }
    } catch {
      // The log holds the status. A store that cannot be written to fails the next append.
    }
  }

  async #fold(events: readonly StoredEvent[]): Promise<void> {
    if (events.length === 0) return
    // Its parent is unknown: the log was replaced.
    const parentId = events[0]?.parentId ?? null
    if (parentId !== null && findEventIn(this.#state.log, parentId) === undefined) return this.#startAnew()
    this.#take(foldFacts(this.#state, events) ?? (await replayWhole(this.#store, this.id)))
  }

  /** A later state, be it for what is known already: what others have appended may be in it. */
  #take(state: State): void {
    this.#state = state
    // Evicts what a snapshot does not need, now and then, and writes one.
    if (this.isDue) void this.#inOrder(() => this.#save())
    this.changes.tell(state)
  }

  /** Another log, or a shorter one: the database was restored, or the conversation deleted and made anew. */
  async #startAnew(): Promise<void> {
    const known = this.#state.log.entries
    const { createdAt } = await recordIn(this.#store, this.id)
    const state = await replayWhole(this.#store, this.id)
    this.#savedAt = this.#restedAt = 0
    const goesOn =
      createdAt === this.#createdAt &&
      (known.length === 0 || state.log.entries.get(known.length - 1)?.id === known.last()?.id)
    if (!goesOn) this.#epoch += 1
    this.#createdAt = createdAt
    this.#take(state)
  }

  /** Whether so much has come since the last snapshot that a new one is worth its cost. */
  get isDue(): boolean {
    const { length } = this.#state.log.entries
    return length - this.#restedAt >= Math.max(SNAPSHOT_EVENTS, length * SNAPSHOT_PART)
  }

  /** A snapshot is never needed: one that cannot be written now is written another time. */
  async #save(): Promise<void> {
    if (!this.isDue) return
    const state = this.#state
    const { length } = state.log.entries
    const since = this.#savedAt
    try {
      const parts = encodeWithoutBodies(state, since, this.#createdAt)
      await this.#store.saveSnapshot(this.id, parts, { complete: since === 0 })
      this.#savedAt = length
    } catch {
      // The log has everything that a snapshot holds.
    }
    this.#restedAt = length
    this.#state = evict(state)
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
      // There may be no other wake-up for what this one was for.
      setTimeout(() => void (this.#followed > 0 && this.#wake()), RETRY)
    })
  }
}

/** The record of a conversation. @throws ColloquyError `unknown_conversation`. */
export async function recordIn(store: Store, id: string): Promise<ConversationRecord> {
  const record = await store.getConversation(id)
  if (record !== null) return record
  throw unknownConversation(id)
}

/** How many events are read at once. */
const PAGE = 1_024

/** A state as it was opened. */
interface Opened {
  readonly state: State
  /** Length of the log that the snapshot covers; 0 when there is none that can be used. */
  readonly snapshotAt: number
  /** When the conversation was created, which tells its log from one that stood under the id before. */
  readonly createdAt: string
}

/**
 * While a log is folded, bodies are evicted after this part of it, at least after one chunk and as many events as are
 * kept. Each eviction costs O(length + events kept), so the whole log costs amortised O(n), including rebuilding the key
 * index.
 */
const HELD_PART = 1 / 32

/**
 * Opens a conversation. O(bytes of the snapshot + view + events after it): the columns of the whole log are in there,
 * which is read, and nothing is made or folded of it. Without a snapshot, or where the log goes on from what was
 * evicted, O(n log n).
 * @throws ColloquyError `unknown_conversation`.
 */
export async function openState(store: Store, id: string): Promise<Opened> {
  // The record is read before the log: a log that takes its place meanwhile is found by the next look at the record.
  const [record, parts] = await Promise.all([recordIn(store, id), store.loadSnapshot(id)])
  const { createdAt } = record
  const saved = await openSaved(store, record, parts)
  if (saved !== null) {
    const state = await foldOn(store, id, saved, true)
    if (state !== null) return { state, snapshotAt: saved.log.entries.length, createdAt }
  }
  const empty = initialState({ conversationId: id })
  // A log that goes back to what was evicted is folded once more, and all of it kept.
  const state = (await foldOn(store, id, empty, true)) ?? (await replayWhole(store, id))
  return { state, snapshotAt: 0, createdAt }
}

/** The state of the whole log, with everything held. O(n). @throws ColloquyError `unknown_conversation`. */
async function replayWhole(store: Store, id: string): Promise<State> {
  const empty = initialState({ conversationId: id })
  return (await foldOn(store, id, empty, false)) ?? empty
}

/**
 * The state of the snapshot, with its bodies from the log; null where there is none, or it is of another log: the
 * time of creation in it tells, the last event that it knows, and each that it lacks.
 */
async function openSaved(
  store: Store,
  { id, createdAt }: ConversationRecord,
  parts: readonly SnapshotPart[],
): Promise<State | null> {
  const saved = parts.length === 0 ? null : readSnapshot(parts, id)
  if (saved === null || saved.record.length === 0 || saved.record.createdAt !== createdAt) return null
  const last = saved.record.length - 1
  const asked = new Set([...saved.lacking, last])
  const found = new Map<number, StoredEvent>()
  for (const { from, until } of rangesOf([...asked].toSorted((one, other) => one - other))) {
    for (let at = from; at < until; at += PAGE) {
      const events = await store.read(id, { from: at, limit: Math.min(PAGE, until - at) })
      for (const event of events) if (asked.has(event.seq)) found.set(event.seq, event)
    }
  }
  return found.has(last) ? completeSnapshot(saved, found) : null
}

/** Positions in a row. */
interface Range {
  readonly from: number
  until: number
}

/** So many events that are not needed are read sooner than asked around. */
const GAP = 16

/** Ranges that are read one by one at most; where a view is scattered further, what lies between is read too. */
const RANGES = 32

/** The ranges that hold all of the positions, which are in order. O(positions · log of what lies between). */
function rangesOf(positions: readonly number[], gap = GAP): readonly Range[] {
  const ranges: Range[] = []
  for (const at of positions) {
    const last = ranges.at(-1)
    if (last !== undefined && at - last.until <= gap) last.until = at + 1
    else ranges.push({ from: at, until: at + 1 })
  }
  return ranges.length > RANGES ? rangesOf(positions, 2 * gap) : ranges
}

/**
 * A state with all that comes after it in the log; null where that goes on from what the state does not hold.
 * @param lets whether bodies and checkpoints may be evicted on the way, so that memory holds those of a part of the log
 * only
 */
async function foldOn(store: Store, id: string, state: State, lets: boolean): Promise<State | null> {
  let now = state
  let restedAt = state.log.entries.length
  // For one page more: what a log goes back to is mostly a branch that was left a few events ago.
  let before: State | null = null
  for (;;) {
    const from = now.log.entries.length
    // Parts of the columnar log are written once when they are complete.
    const limit = PAGE - (from % PAGE)
    const events = await store.read(id, { from, limit })
    const next = foldFacts(now, events)
    if (next === null) {
      if (before === null) return null
      now = before
      before = null
      continue
    }
    now = next
    before = null
    if (events.length < limit) return now
    const { length } = now.log.entries
    const kept = now.branch.view.length + pendingCallCount(now.branch.pendingCalls)
    const due = lets && length % CHUNK_SIZE === 0 && length - restedAt >= Math.max(length * HELD_PART, kept)
    if (!due) continue
    before = now
    now = evict(now)
    restedAt = length
  }
}

/** The state after some events more; null where they go on from what the state does not hold. O(log n) for each. */
function foldFacts(state: State, events: readonly StoredEvent[]): State | null {
  let now = state
  try {
    for (const { fact } of events) now = reduce(now, fact)
    return now
  } catch (error) {
    if (hasCode(error, 'evicted')) return null
    throw error
  }
}

/**
 * The first state from now on of which `fits` is true; it may be the one that there is.
 * @throws the reason of `signal` when that is aborted first, `unknown_conversation` when the conversation is deleted.
 */
export async function waitForState(
  replica: Replica,
  fits: (state: State) => boolean,
  signal?: AbortSignal,
): Promise<State> {
  signal?.throwIfAborted()
  replica.gone.throwIfAborted()
  const found = Promise.withResolvers<State>()
  const look = (state: State): void => {
    if (fits(state)) found.resolve(state)
  }
  const over = signal === undefined ? replica.gone : AbortSignal.any([signal, replica.gone])
  const give = (): void => found.reject(over.reason as Error)
  // Timers of `AbortSignal.timeout` do not keep a process alive, and it is waited for.
  const alive = setInterval(() => undefined, 2 ** 30)
  const ends = [replica.changes.add(look), replica.follow()]
  over.addEventListener('abort', give, { once: true })
  try {
    replica.refresh().then(look, found.reject)
    return await found.promise
  } finally {
    clearInterval(alive)
    for (const end of ends) end()
    over.removeEventListener('abort', give)
  }
}
