/**
 * Runs conversations in the background with the service's agent; the sender of a message learns when a run will look at
 * it.
 */

import type { Conversation } from '../../conversation/conversation.ts'
import { briefOwner, endLease } from '../../conversation/run/lease.ts'
import type { RunOptions } from '../../conversation/run/options.ts'
import type { Step } from '../../conversation/run/step.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Job, Jobs } from '../jobs.ts'
import { hasUnfinishedRun, isHandledByOtherRun, wasPausedSince } from './run-progress.ts'
import type { Starts } from './starts.ts'
import { canBeginLater, isOfService } from './transient.ts'

/** Milliseconds for which a request waits for work that can continue without it. */
const IN_TIME = 1_000

/** Whether some work ends within a second; otherwise it continues. @throws what it throws within that time. */
async function isInTime(work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), IN_TIME)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** When the other run's lease expires, in milliseconds since 1970 on the store's clock; 0 where that is not known. */
const expiryOf = (error: unknown): number =>
  hasCode(error, 'already_running') && typeof error.data['expiresAt'] === 'number'
    ? error.data['expiresAt']
    : 0

/** Whether an end is no failure. */
const isExpected = (error: unknown): boolean =>
  hasCode(error, 'already_running') || hasCode(error, 'unknown_conversation') || hasCode(error, 'closed')

const alreadyRunning = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'already_running',
    'The conversation is already running. Wait for that run, or interrupt it.',
    { conversationId },
  )

/** Limits how many runs there are at once. */
class Slots {
  readonly #limit: number
  /** How many callers use each slot: a conversation needs one, however many callers request its run. */
  readonly #users = new Map<string | symbol, number>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Acquires the slot of a conversation, or of something else, until the returned function is called.
   * @throws HttpProblem 429 when no slot is free.
   */
  acquire(key: string | symbol): () => void {
    const users = this.#users.get(key) ?? 0
    if (users === 0 && this.#users.size >= this.#limit)
      throw new HttpProblem(429, `The maximum of ${this.#limit} runs is reached. Try again later.`)
    this.#users.set(key, users + 1)
    return () => {
      const others = (this.#users.get(key) ?? 1) - 1
      if (others > 0) this.#users.set(key, others)
      else this.#users.delete(key)
    }
  }
}

/** Whether no slot was free. */
const isFull = (error: unknown): boolean => error instanceof HttpProblem && error.status === 429

/**
 * Gives the step that runs a conversation. `start` is what a client started it with beyond what the service goes by:
 * its agent or agent settings, secrets, plugins, and whatever else.
 */
export type Agent = (conversation: Conversation, start: JsonObject) => Step | Promise<Step>

/** How the runs of a service are run. */
export interface RunsOptions {
  readonly store: Store
  readonly starts: Pick<Starts, 'of'>
  /** Null: no conversation can be run. */
  readonly agent: Agent | null
  /** Options of every run; the iterations that a conversation was created with come before those that stand here. */
  readonly options: Omit<RunOptions, 'signal' | 'from'>
  /** Maximum number of runs at once. */
  readonly most: number
  /** Called with a run that ended for want of the store, and not by its own log. */
  readonly onFailure: (error: unknown) => void
}

/** What asks for a run, once it was said. */
export interface RunRequest {
  readonly conversation: Conversation
  /** The position of the log behind it; null where nothing is to be run after all. */
  readonly from: number | null
}

/**
 * Reserves a slot for a run, and stores that an event wants it. With null, nothing will be appended: only a slot is
 * reserved. @throws HttpProblem 429; what the store throws.
 */
export type Reserve = (eventId: string | null) => Promise<void>

/** Runs a copy of a conversation, without hooks. */
export type RunCopy = (
  copy: Conversation,
  start: JsonObject,
  options: Pick<RunOptions, 'maxIterations' | 'signal'>,
) => Promise<void>

const noSlot = (): void => undefined

/** Milliseconds between two checks for a free slot, and of another process's run that is about to end. */
const LOOK_INTERVAL = 100
/** Maximum number of milliseconds between two retries while the store is away. */
const LONGEST_WAIT = 2_000

/** That a conversation is to be run, for what was appended before a position of its log. */
export interface WantedRun {
  readonly conversation_id: string
  readonly from: number
  /** The event whose sender wants the run. It is stored before the event is appended, whose place is not known then. */
  readonly event_id?: string
}

/** The position of the log from which on a run is wanted; null if what requests it was never appended. */
export async function positionOf(
  store: Pick<Store, 'get'>,
  { conversation_id: id, event_id: eventId, from }: WantedRun,
): Promise<number | null> {
  if (eventId === undefined) return from
  const event = await store.get(id, eventId)
  return event === null ? null : event.seq + 1
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  readonly timer: ReturnType<typeof setTimeout>
}

/**
 * A command to run a conversation, and the callers that wait until it is durable: within a second a run has a lease, or
 * the command is a job in the store, which another process carries out if this one dies.
 */
class RunCommand {
  /** The length of the log when it was requested; later messages move it on. */
  from: number
  readonly #jobs: Jobs<WantedRun>
  readonly #conversationId: string
  readonly #waiters = new Set<Waiter>()
  /** By their ids: its own, which has the id of the conversation, and those of requests whose process died. */
  readonly #claimed = new Map<string, Job<WantedRun>>()
  /** One write at a time, so that the last position is the one that is stored. */
  #storing: Promise<void> | null = null

  constructor(jobs: Jobs<WantedRun>, conversationId: string, from: number) {
    this.#jobs = jobs
    this.#conversationId = conversationId
    this.from = from
  }

  /** Continues a job that this process has claimed. */
  adopt(job: Job<WantedRun>): void {
    this.#claimed.get(job.id)?.abandon()
    this.#claimed.set(job.id, job)
  }

  /** Resolves when the command is durable. @throws what the store throws when it cannot store the job. */
  wait(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      this.#storing = (this.#storing ?? Promise.resolve()).then(() => this.#store()).then(resolve, reject)
    }, IN_TIME)
    this.#waiters.add({ resolve, reject, timer })
    return promise
  }

  /** Ends the waiting: a run will handle it, or it is obsolete. */
  release(): void {
    for (const { resolve } of this.#leave()) resolve()
  }

  /** Reports to the waiting callers that it failed; its job stays for another process. */
  fail(error: unknown): void {
    for (const { reject } of this.#leave()) reject(error)
    for (const job of this.#claimed.values()) job.abandon()
  }

  /** The command was carried out: deletes its job. @throws what the store throws. */
  async end(): Promise<void> {
    this.release()
    await this.#storing
    // The store may have stored a job and failed to say so.
    if (this.#storing !== null && !this.#claimed.has(this.#conversationId)) {
      const job = await this.#jobs.take(this.#conversationId, (before) => this.#covered(before))
      if (job !== null) this.adopt(job)
    }
    for (const job of this.#claimed.values()) await finish(job)
  }

  #covered(before: WantedRun | null): WantedRun | null {
    return before !== null && before.from <= this.from ? before : null
  }

  async #store(): Promise<void> {
    const conversation_id = this.#conversationId
    const job = await this.#jobs.take(conversation_id, (before) => ({
      conversation_id,
      from: Math.max(before?.from ?? 0, this.from),
    }))
    if (job !== null) this.adopt(job)
  }

  *#leave(): Generator<Waiter, void, undefined> {
    for (const waiter of this.#waiters) {
      clearTimeout(waiter.timer)
      this.#waiters.delete(waiter)
      yield waiter
    }
  }
}

/** Deletes a job, unless another process has claimed it. @throws what the store throws. */
async function finish(job: Job<WantedRun>): Promise<void> {
  try {
    await job.finish()
  } catch (error) {
    if (!hasCode(error, 'lease_lost')) throw error
  } finally {
    job.abandon()
  }
}

/** The runs of one service. The store's lease prevents two runs of one conversation in all processes. */
export class Runs {
  readonly #options: RunsOptions
  readonly #live = new Map<string, Promise<void>>()
  readonly #slots: Slots
  readonly #commands = new Map<string, RunCommand>()
  readonly #joining = new Set<Promise<void>>()
  /** Called when a run of a conversation ends, by conversation. */
  readonly #endListeners = new Map<string, Set<() => void>>()
  /** Commands that were not carried out within a second, by conversation. */
  readonly wanted: Jobs<WantedRun>

  constructor(options: RunsOptions) {
    this.#options = options
    this.#slots = new Slots(options.most)
    const ttl = options.options.leaseTtl ?? 45_000
    this.wanted = new Jobs({
      store: options.store,
      collection: 'wanted-runs',
      ttl,
      keysOf: ({ conversation_id: conversation }) => ({ conversation }),
    })
  }

  /** Whether there is an agent to run anything. */
  get possible(): boolean {
    return this.#options.agent !== null
  }

  /** Number of active runs. */
  get size(): number {
    return this.#live.size
  }

  /** Whether this service runs a conversation now. */
  has(id: string): boolean {
    return this.#live.has(id)
  }

  /**
   * Whether a run is active, or was requested and has not begun, in any process. A request that was acknowledged is one
   * of these.
   */
  async isWanted(id: string): Promise<boolean> {
    const { store } = this.#options
    if (this.#live.has(id) || this.#commands.has(id)) return true
    return (await store.getLease(id)) !== null || (await this.wanted.has('conversation', id))
  }

  /** Calls a listener whenever a run of a conversation in this service has ended, whatever it did. */
  onEnd(id: string, listener: () => void): () => void {
    const listeners = this.#endListeners.get(id) ?? new Set()
    this.#endListeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#endListeners.get(id) === listeners) this.#endListeners.delete(id)
    }
  }

  /** Refuses what no service like this one could run. @throws HttpProblem 409 without an agent. */
  checkAgent(): void {
    if (!this.possible) {
      throw new HttpProblem(409, 'This service has no agent, so it cannot run conversations.')
    }
  }

  /**
   * Appends what requests a run, and sees to that run, as `join` does. `append` calls `reserve` before it appends
   * anything: then a slot is reserved and the request is stored, so that the run is certain once anybody can see the
   * event. Without an agent, `append` is just called. Returns its result.
   * @throws HttpProblem 429 for too many runs, with nothing appended; what `append`, the store and `join` throw.
   */
  async request<T extends RunRequest>(id: string, append: (reserve: Reserve) => Promise<T>): Promise<T> {
    let free = noSlot
    let job: Job<WantedRun> | null = null
    const reserve: Reserve = async (eventId) => {
      if (!this.possible) return
      if (free === noSlot) free = this.#slots.acquire(id)
      if (eventId === null) return
      const wanted = { conversation_id: id, from: 0, event_id: eventId }
      job ??= await this.wanted.add(crypto.randomUUID(), wanted)
    }
    // It is assigned in a function, which the compiler does not follow.
    const jobNow = (): Job<WantedRun> | null => job
    try {
      const request = await append(reserve)
      if (request.from !== null) await this.join(request.conversation, request.from)
      await this.#forget(jobNow())
      return request
    } catch (error) {
      // The event may have been appended all the same: then another look at the job finds it.
      if (isOfService(error)) jobNow()?.abandon()
      else await this.#forget(jobNow())
      throw error
    } finally {
      free()
    }
  }

  async #forget(job: Job<WantedRun> | null): Promise<void> {
    if (job === null) return
    await finish(job).catch((error: unknown) => {
      if (!isOfService(error)) this.#options.onFailure(error)
    })
  }

  /**
   * Begins a run; resolves when it has begun, or ended. Where that takes longer than a second, it is seen to as `join`
   * does. @throws ColloquyError `already_running`; HttpProblem 409 without an agent, 429 where there are too many runs;
   * what the agent, the store and `join` throw.
   * @param from the length of the log
   */
  async start(conversation: Conversation, from: number): Promise<void> {
    const begun = this.#begin(conversation, from)
    if (!(await isInTime(begun))) await this.join(conversation, from)
  }

  /** @param from the length of the log when it was asked for: a pause that came since keeps it from beginning */
  async #begin(conversation: Conversation, from: number): Promise<void> {
    const { id } = conversation
    this.checkAgent()
    if (this.has(id)) throw alreadyRunning(id)
    const free = this.#slots.acquire(id)
    const over = new AbortController()
    let asked = true
    const { promise: begun, resolve } = Promise.withResolvers<unknown>()
    // Not before there is an agent: the status of a run that died says that it is running already.
    const ended = this.#run(conversation, from, () =>
      resolve(conversation.waitFor('running', { signal: over.signal })),
    )
    const live = ended
      .catch((error: unknown) => {
        // The caller that asked gets it, for as long as it waits.
        if (!asked && !isExpected(error)) this.#options.onFailure(error)
      })
      .finally(() => {
        this.#live.delete(id)
        free()
        over.abort()
        for (const listener of this.#endListeners.get(id) ?? []) listener()
      })
    this.#live.set(id, live)
    begun.catch(() => undefined)
    await Promise.race([ended, begun.catch(() => ended)])
    asked = false
  }

  /**
   * Sees to it that a conversation is run from now on: by the run that is live, or when that is ending already, by
   * another one after it. So what was sent while a run ended is not left lying, unless it was paused since; where there
   * are too many runs, it waits for room, and where the store is away, for the store. Resolves when a run that has a
   * lease is to look at it, or after a second, when the command is kept in the store: so it is carried out, whichever
   * process dies. Resolves also when nothing need be run, or the run has failed, which its own log or `onFailure` has.
   * @param job the command of a process that died
   * @throws what the store throws that cannot keep the command, and ColloquyError `closed`.
   */
  join(conversation: Conversation, from: number, job?: Job<WantedRun>): Promise<void> {
    const { id } = conversation
    if (!this.possible) return Promise.resolve()
    let command = this.#commands.get(id)
    if (command === undefined) {
      command = new RunCommand(this.wanted, id, from)
      this.#commands.set(id, command)
      this.#carryOut(conversation, command)
    }
    // A message after a pause asks for a run.
    command.from = Math.max(command.from, from)
    if (job !== undefined) command.adopt(job)
    return command.wait()
  }

  /**
   * Settles what a run of a process that died has left: where there is work to do that it was asked for, it is run on,
   * else recovered, and its lease given back. Nothing while another process runs it, which is false; where there are
   * too many runs, it is left for later. Resolves when the run has begun, or after a second, with false, while that
   * goes on; a failure of the agent goes to `onFailure`.
   * @param expired whether the store has said that the lease has expired; else this process's clock says it
   * @throws ColloquyError `unknown_conversation`, and what the store throws.
   */
  async takeOver(conversation: Conversation, expired = false): Promise<boolean> {
    const work = this.#takeOver(conversation, expired)
    if (await isInTime(work)) return work
    work.catch(this.#options.onFailure)
    return false
  }

  async #takeOver(conversation: Conversation, expired: boolean): Promise<boolean> {
    const { id } = conversation
    const { onFailure, store } = this.#options
    const lease = await store.getLease(id)
    if (lease !== null && !expired && lease.expiresAt > Date.now()) return false
    // Without a lease it was no run of this library that left it so.
    const state = await conversation.state()
    if (this.possible && lease !== null && hasUnfinishedRun(state)) {
      try {
        await this.#begin(conversation, state.log.entries.length)
        return true
      } catch (error) {
        // Its lease stays, for the next look.
        if (hasCode(error, 'already_running') || isFull(error) || canBeginLater(error)) return false
        if (isExpected(error)) throw error
        onFailure(error)
      }
    }
    const { outcome } = await conversation.recover()
    if (outcome === 'not_running' && lease !== null) await endExpired(store, id)
    return true
  }

  /** Resolves when the run that is live has ended, or after so many milliseconds. */
  async ended(id: string, milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, milliseconds)
    void this.#live.get(id)?.then(resolve)
    await promise
    clearTimeout(timer)
  }

  /** The conversations with an active run. */
  get ids(): readonly string[] {
    return [...this.#live.keys()]
  }

  /** Resolves when no run is active. */
  async settle(): Promise<void> {
    while (this.#live.size + this.#joining.size > 0)
      await Promise.all([...this.#live.values(), ...this.#joining])
  }

  async #run(conversation: Conversation, from: number, onAgent: () => void): Promise<void> {
    const { agent, options, starts } = this.#options
    if (agent === null) return
    const record = await conversation.record()
    const own = record.metadata['max_iterations']
    const step = await agent(conversation, await starts.of(record))
    onAgent()
    await conversation.run(step, { ...options, ...(typeof own === 'number' && { maxIterations: own }), from })
  }

  /**
   * Works with a copy that its caller alone knows, in a place for a run: `run` runs it without hooks.
   * @throws HttpProblem 409 without an agent, 429 where there are too many runs.
   */
  async withCopy<T>(work: (run: RunCopy) => Promise<T>): Promise<T> {
    this.checkAgent()
    const free = this.#slots.acquire(Symbol())
    try {
      return await work(async (copy, start, options) => {
        const step = await this.#options.agent?.(copy, start)
        if (step !== undefined) await copy.run(step, options)
      })
    } finally {
      free()
    }
  }

  #carryOut(conversation: Conversation, command: RunCommand): void {
    const { id } = conversation
    const work = async (): Promise<void> => {
      try {
        await this.#join(conversation, command)
      } catch (error) {
        if (!isExpected(error)) this.#options.onFailure(error)
        // It is another process's to carry out, where it is kept.
        if (isOfService(error)) return command.fail(error)
      } finally {
        if (this.#commands.get(id) === command) this.#commands.delete(id)
      }
      await command.end().catch((error: unknown) => {
        if (!isOfService(error)) this.#options.onFailure(error)
      })
    }
    const joining = work().finally(() => this.#joining.delete(joining))
    this.#joining.add(joining)
  }

  async #join(conversation: Conversation, command: RunCommand): Promise<void> {
    for (let wait = LOOK_INTERVAL; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      try {
        if (await this.#isJoined(conversation, command, wait)) return
      } catch (error) {
        if (!canBeginLater(error)) throw error
        if (wait === LOOK_INTERVAL) this.#options.onFailure(error)
        await this.ended(conversation.id, wait)
      }
    }
  }

  /** One try. False: it is to be tried again. @param wait milliseconds to wait before that, at most */
  async #isJoined(conversation: Conversation, command: RunCommand, wait: number): Promise<boolean> {
    const { id } = conversation
    const { from } = command
    // What was said meanwhile is not covered by what was found out before.
    const isLatest = (): boolean => command.from === from
    // From then on what is said is a command of its own: this one looks no more.
    const isDone = (): boolean => isLatest() && this.#commands.delete(id)
    try {
      if (!(await wasPausedSince(conversation, from))) await this.#begin(conversation, from)
      return isDone()
    } catch (error) {
      if (isFull(error)) {
        await this.ended(id, LOOK_INTERVAL)
        return false
      }
      if (!hasCode(error, 'already_running')) throw error
      const { status } = (await conversation.state()).header
      // A step may go on long after a pause; who dies meanwhile leaves a conversation that says that it is paused.
      if (status === 'paused' && isLatest()) command.release()
      if (status !== 'running') {
        // It begins, or has all but ended; where its process is dead, its lease expires.
        await this.ended(id, Math.min(wait, Math.max(LOOK_INTERVAL, expiryOf(error) - Date.now())))
        return false
      }
      // The run that is live has yet to look at what was said.
      if (isLatest()) command.release()
      // That of another process may be dead; then its lease expires.
      return (this.has(id) || (await isHandledByOtherRun(conversation, from, expiryOf(error)))) && isDone()
    }
  }
}

/** Ends a lease that a process which died has left, unless another took it meanwhile. */
async function endExpired(store: Store, id: string): Promise<void> {
  try {
    await endLease(store, id, briefOwner(crypto.randomUUID()))
  } catch (error) {
    if (!hasCode(error, 'already_running')) throw error
  }
}
