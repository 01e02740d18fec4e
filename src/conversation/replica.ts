/** The in-memory copy of one conversation; all writes of this process queue here, so that it never races itself. */

import { hasCode } from '../event/errors.ts'
import type { Event } from '../event/types.ts'
import { findEventIn } from '../log/log.ts'
import { evict, encodeWithoutBodies } from '../state/snapshot.ts'
import type { State } from '../state/state.ts'
import type { AppendOptions, ExpectedVersion } from '../store/contract/append.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import type { StoredEvent } from '../store/contract/stored-event.ts'
import { versionOf } from '../store/kit/append/deduplicate.ts'
import { unknownConversation } from '../store/kit/errors.ts'
import { type Stamp, stampEvents } from './stamp.ts'
import { ListedStatus } from './listed-status.ts'
import { backOff } from './back-off.ts'
import { Listeners } from './listeners.ts'
import { foldFacts, type Opened, openState, PAGE, recordIn, replayWhole } from './open-state.ts'
import { stampUnknown } from './retry-stamp.ts'
import { Replies } from './streamed.ts'
import { MemoryEstimate } from './estimate-memory.ts'

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
  readonly #memory = new MemoryEstimate()
  #writer: string | null = null
  #last: Promise<unknown> = Promise.resolve()
  #unwatch: (() => void) | null = null
  #followed = 0
  #isStale = false
  readonly #listed: ListedStatus
  #epoch = 0

  private constructor(store: Store, stamp: Stamp, id: string, { state, snapshotAt, createdAt }: Opened) {
    this.id = id
    this.#store = store
    this.#stamp = stamp
    this.#state = state
    this.#createdAt = createdAt
    this.#savedAt = snapshotAt
    this.#restedAt = snapshotAt
    this.#listed = new ListedStatus(store, id)
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
    return this.#alone(() => this.#look(found))
  }

  /**
   * Makes a decision, appends what it says, and folds it. Returns what was appended, or stood there already. @throws
   * what the decision throws, what `Store.append` throws.
   */
  commit(decide: Decision, options: CommitOptions = {}): Promise<readonly StoredEvent[]> {
    return this.#alone(async () => {
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
          return await this.#append(events, { expected: version, ...(lease !== undefined && { lease }) })
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
    return this.#alone(async () => {
      await this.#catchUp()
      return replayWhole(this.#store, this.id)
    })
  }

  /** Bytes that the state takes in memory, reckoned from a few of its events. O(1) mostly. */
  get bytes(): number {
    return this.#memory.of(this.#state)
  }

  /** Waits until nothing is under way, nor due. */
  async settle(): Promise<void> {
    await this.#alone(() => this.#save())
  }

  async #append(events: readonly Event[], options: AppendOptions): Promise<readonly StoredEvent[]> {
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
      await this.#listed.appended(this.#state, isNext ? length : null)
    } catch {
      // It is appended, and no error may deny that; the next read of the state reads on.
    }
    return appended.events
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

  /** That there is nothing to do, or that it cannot be done, is believed of the latest state only. */
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
    await this.#listed.say(this.#state, record.status)
    return { state: this.#state, record }
  }

  async #fold(events: readonly StoredEvent[]): Promise<void> {
    if (events.length === 0) return
    // It hangs on what never stood here.
    const parentId = events[0]?.parentId ?? null
    if (parentId !== null && findEventIn(this.#state.log, parentId) === undefined) return this.#startAnew()
    this.#take(foldFacts(this.#state, events) ?? (await replayWhole(this.#store, this.id)))
  }

  /** A later state, be it for what is known already: what others have appended may be in it. */
  #take(state: State): void {
    this.#state = state
    // Evicts what a snapshot does not need, now and then, and writes one.
    if (this.isDue) void this.#alone(() => this.#save())
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
    this.#alone(async () => {
      this.#isStale = false
      await this.#look()
    }).catch((error: unknown) => {
      if (hasCode(error, 'unknown_conversation')) return this.leave()
      this.failures.tell(error)
      // There may be no other wake-up for what this one was for.
      setTimeout(() => void (this.#followed > 0 && this.#wake()), RETRY)
    })
  }

  /** Does a work after all that were asked for before. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}
