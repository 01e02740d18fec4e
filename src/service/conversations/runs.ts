import { addTo, endsWithin } from '../../conversation/async.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { briefOwner, endLease } from '../../conversation/run/lease.ts'
import type { RunOptions } from '../../conversation/run/options.ts'
import type { Step } from '../../conversation/run/step.ts'
import { ColloquyError, hasCode, nullOn } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { isTransient } from '../../store/kit/errors.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Job, Jobs } from '../../conversation/jobs.ts'
import { awaitRun, hasUnfinishedRun, isHandledByOtherRun, wasPausedSince } from './run-progress.ts'
import type { Starts } from './starts.ts'

/** Maximum milliseconds that a caller waits for work that can also continue in the background. */
const RESPONSE_TIME = 1_000

/**
 * Time when the lease in an `already_running` error expires, in milliseconds since 1970 on the store's clock;
 * 0 if unknown.
 */
const expiryOf = (error: unknown): number =>
  hasCode(error, 'already_running') && typeof error.data['expiresAt'] === 'number'
    ? error.data['expiresAt']
    : 0

const isExpected = (error: unknown): boolean =>
  hasCode(error, 'already_running') || hasCode(error, 'unknown_conversation') || hasCode(error, 'closed')

class Slots {
  readonly #limit: number
  /** The callers that hold each slot. All callers that request a conversation's run share one slot. */
  readonly #users = new Map<string | symbol, Set<object>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Acquires the slot of a conversation, or of a symbol. The returned function releases the slot.
   * @throws HttpProblem 429 when no slot is free.
   */
  acquire(key: string | symbol): () => void {
    if (!this.#users.has(key) && this.#users.size >= this.#limit)
      throw new HttpProblem(
        429,
        `The maximum of ${this.#limit} concurrent runs has been reached. Try again later.`,
      )
    return addTo(this.#users, key, {})
  }
}

const canBeginLater = (error: unknown): boolean => isTransient(error) || hasCode(error, 'lease_lost')

/** Whether an error affects all conversations: the store is unavailable, or the service is shutting down. */
export const isOfService = (error: unknown): boolean =>
  isTransient(error) || hasCode(error, 'closed') || hasCode(error, 'store_closed')

const isFull = (error: unknown): boolean => error instanceof HttpProblem && error.status === 429

/**
 * Returns the step that runs a conversation. `start` has the fields of the start request that the service does
 * not use, such as `agent`, `secrets` and `plugins`.
 */
export type Agent = (
  conversation: Conversation,
  start: JsonObject,
  context: AgentContext,
) => Step | Promise<Step>

/** Functions of the service that an agent can call. */
export interface AgentContext {
  /**
   * Issues a token with which one background call can be completed without a key. To complete the call, `POST`
   * to the token's `path` with `Authorization: Bearer <token>`. The token expires after `seconds`, by default
   * 86,400 (a day). A new token for the call replaces the earlier token. Do not put a token into the `content`
   * or `task` of a result, because all readers of the log see both fields.
   */
  readonly issueCallToken: (actionId: string, seconds?: number) => Promise<CallToken>
}

/** A token for one background call. */
export interface CallToken {
  readonly token: string
  readonly expires_at: string
  readonly path: string
}

export interface RunsOptions {
  readonly store: Store
  readonly starts: Pick<Starts, 'of'>
  /** Returns the step of a conversation's run. Null if this service cannot run conversations. */
  readonly agent: ((conversation: Conversation, start: JsonObject) => Step | Promise<Step>) | null
  /** Options of each run. A conversation's own `max_iterations` takes precedence over `maxIterations`. */
  readonly options: Omit<RunOptions, 'signal' | 'from'>
  readonly maxRuns: number
  readonly leaseTtl: number
  readonly onFailure: (error: unknown) => void
}

export interface RunRequest {
  readonly conversation: Conversation
  /** Log length after the request; null if no run is needed. */
  readonly from: number | null
}

/**
 * Reserves a slot for a run, and stores the id of the event that requests the run. A request that appends no
 * event passes null, which only reserves the slot. @throws HttpProblem 429; what the store throws.
 */
export type Reserve = (eventId: string | null) => Promise<void>

/** Milliseconds between two checks for a free slot, or for the end of another process's run. */
const CHECK_INTERVAL = 100
const MAX_RETRY_WAIT = 2_000

/** A stored request to run a conversation for the events before `from`, a position of its log. */
export interface WantedRun {
  readonly conversation_id: string
  readonly from: number
  /** Id of the event that needs the run. This record is stored before the event is appended. */
  readonly event_id?: string
}

/** Returns the position after event `event_id`; null if it was never appended. Without `event_id`, returns `from`. */
export async function positionOf(
  store: Pick<Store, 'get'>,
  { conversation_id: id, event_id: eventId, from }: WantedRun,
): Promise<number | null> {
  if (eventId === undefined) return from
  const event = await store.get(id, eventId)
  return event === null ? null : event.seq + 1
}

/**
 * A requested run. Its callers wait until the run has a lease, or until its request is stored and thus survives
 * a crash.
 */
interface RunCommand {
  /** The length of the log when a caller last requested the run. */
  from: number
  /** Settled when the callers that wait now may return. Later callers wait for a new promise. */
  durable: PromiseWithResolvers<void>
  /** Whether the request was handled. False if the store or service failed; another process can then retry. */
  isDone: Promise<boolean>
}

function release(command: RunCommand): void {
  command.durable.resolve()
  command.durable = Promise.withResolvers()
}

/** Runs conversations. A lease in the store prevents a second run of a conversation in any process. */
export class Runs {
  readonly #options: RunsOptions
  readonly #live = new Map<string, Promise<void>>()
  readonly #begun = new Set<string>()
  readonly #slots: Slots
  readonly #commands = new Map<string, RunCommand>()
  readonly #joining = new Set<Promise<unknown>>()
  readonly #endListeners = new Map<string, Set<() => void>>()
  readonly wanted: Jobs<WantedRun>

  constructor(options: RunsOptions) {
    this.#options = options
    this.#slots = new Slots(options.maxRuns)
    this.wanted = new Jobs({
      store: options.store,
      collection: 'wanted-runs',
      ttl: options.leaseTtl,
      keysOf: ({ conversation_id: conversation }) => ({ conversation }),
    })
  }

  get possible(): boolean {
    return this.#options.agent !== null
  }

  get size(): number {
    return this.#live.size
  }

  has(id: string): boolean {
    return this.#live.has(id)
  }

  /** Whether any process has an active run of the conversation, or a requested run that has not begun. */
  async isWanted(id: string): Promise<boolean> {
    const { store } = this.#options
    if (this.#live.has(id) || this.#commands.has(id)) return true
    return (await store.getLease(id)) !== null || (await this.wanted.has('conversation', id))
  }

  onEnd(id: string, listener: () => void): () => void {
    return addTo(this.#endListeners, id, listener)
  }

  checkAgent(): void {
    if (!this.possible)
      throw new HttpProblem(409, 'This service has no agent, so it cannot run conversations. Pass `agent`.')
  }

  /**
   * Appends an event that requests a run, then starts the run as `join` does. Before `append` appends, it
   * must call `reserve`, which stores the request. A crash then cannot lose the run for an appended event.
   * Without an agent, only appends. Returns the result of `append`.
   * @throws HttpProblem 429 for too many runs, with nothing appended; what `append`, the store and `join`
   *   throw.
   */
  async request<T extends RunRequest>(
    id: string,
    append: (reserve: Reserve) => Promise<T>,
    { needsSlot = true }: { readonly needsSlot?: boolean } = {},
  ): Promise<T> {
    const reserved: { free?: () => void; job?: Job<WantedRun> } = {}
    const reserve: Reserve = async (eventId) => {
      if (!this.possible) return
      if (needsSlot) reserved.free ??= this.#slots.acquire(id)
      if (eventId === null) return
      const wanted = { conversation_id: id, from: 0, event_id: eventId }
      reserved.job ??= await this.wanted.add(crypto.randomUUID(), wanted)
    }
    try {
      const request = await append(reserve)
      if (request.from === null) await this.#forget(reserved.job)
      else await this.join(request.conversation, request.from, reserved.job)
      return request
    } catch (error) {
      // The event may have been appended. The next check of the job detects this.
      if (isOfService(error)) reserved.job?.abandon()
      else await this.#forget(reserved.job)
      throw error
    } finally {
      reserved.free?.()
    }
  }

  /** Deletes a stored request, unless another process has claimed it. */
  async #forget(job: Job<WantedRun> | undefined): Promise<void> {
    try {
      await job?.finish()
    } catch (error) {
      if (!hasCode(error, 'lease_lost') && !isOfService(error)) this.#options.onFailure(error)
    } finally {
      job?.abandon()
    }
  }

  /**
   * Starts a run. Resolves when the run has begun or ended. If neither happens within a second, calls `join`.
   * @param from log length when the run was requested
   * @throws ColloquyError `already_running`; HttpProblem 409 without an agent, 429 for too many runs; what the
   *   agent, the store and `join` throw.
   */
  async start(conversation: Conversation, from: number): Promise<void> {
    const begun = this.#begin(conversation, from)
    if (!(await endsWithin(RESPONSE_TIME, begun))) await this.join(conversation, from)
  }

  /** Begins a run. @param from log length at the request; a later pause prevents the run */
  async #begin(conversation: Conversation, from: number): Promise<void> {
    const { id } = conversation
    this.checkAgent()
    if (this.has(id))
      throw new ColloquyError(
        'already_running',
        'The conversation is already running. Wait for the active run, or interrupt it.',
        { conversationId: id },
      )
    const free = this.#slots.acquire(id)
    const runOver = new AbortController()
    let isWaiting = true
    const { promise: begun, resolve } = Promise.withResolvers<unknown>()
    // The status `running` is no proof: a crashed run, or a run of another process, may have set it.
    const ended = this.#run(conversation, from, () => {
      this.#begun.add(id)
      resolve(awaitRun(conversation, from, runOver.signal))
    })
    const live = ended
      .catch((error: unknown) => {
        // The waiting caller receives the error itself.
        if (!isWaiting && !isExpected(error)) this.#options.onFailure(error)
      })
      .finally(() => {
        this.#live.delete(id)
        this.#begun.delete(id)
        free()
        runOver.abort()
        for (const listener of this.#endListeners.get(id) ?? []) listener()
      })
    this.#live.set(id, live)
    begun.catch(() => undefined)
    await Promise.race([ended, begun.catch(() => ended)])
    isWaiting = false
  }

  /**
   * Ensures that a run handles the events before the position `from`: the active run, or a new run if none is active
   * or the active run is ending. Waits for a free slot and for the store. A pause after `from` cancels the request.
   * Resolves when a run with a lease will handle the events. If this takes more than a second and `job` is missing,
   * stores a job that any process can execute, and resolves. Also resolves when no run is needed, or when the run
   * failed. The log or `onFailure` then reports the failure.
   * @param job the stored request, which is deleted when it has been handled
   * @throws what the store throws when it cannot store the job, and ColloquyError `closed`.
   */
  async join(conversation: Conversation, from: number, job?: Job<WantedRun>): Promise<void> {
    const { id } = conversation
    if (!this.possible) return
    const command = this.#commands.get(id) ?? this.#carryOut(conversation, from)
    // A later message requests a run even after a pause.
    command.from = Math.max(command.from, from)
    const endWith = (stored: Job<WantedRun>): void =>
      this.#track(command.isDone.then((isDone) => (isDone ? this.#forget(stored) : stored.abandon())))
    if (job !== undefined) endWith(job)
    if ((await endsWithin(RESPONSE_TIME, command.durable.promise)) || job !== undefined) return
    endWith(await this.wanted.add(crypto.randomUUID(), { conversation_id: id, from }))
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#joining.delete(tracked))
    this.#joining.add(tracked)
  }

  /**
   * Handles a crashed run: continues the run if it is unfinished, otherwise recovers the conversation and ends
   * the lease. Resolves to false if another process runs the conversation or if no slot is free. Also resolves
   * to false after a second, while the work continues in the background. Agent failures are passed to
   * `onFailure`.
   * @param expired whether the store reported the lease as expired; otherwise this process's clock decides
   * @throws ColloquyError `unknown_conversation`, and what the store throws.
   */
  async takeOver(conversation: Conversation, expired = false): Promise<boolean> {
    const work = this.#takeOver(conversation, expired)
    if (await endsWithin(RESPONSE_TIME, work)) return work
    work.catch(this.#options.onFailure)
    return false
  }

  async #takeOver(conversation: Conversation, expired: boolean): Promise<boolean> {
    const { id } = conversation
    const { onFailure, store } = this.#options
    const lease = await store.getLease(id)
    if (lease !== null && !expired && lease.expiresAt > Date.now()) return false
    // If the status is `running` but there is no lease, another library wrote the status.
    const state = await conversation.state()
    if (this.possible && lease !== null && hasUnfinishedRun(state)) {
      try {
        await this.#begin(conversation, state.log.entries.length)
        return true
      } catch (error) {
        // Keep the lease, so that the next check finds it and tries again.
        if (hasCode(error, 'already_running') || isFull(error) || canBeginLater(error)) return false
        if (isExpected(error)) throw error
        onFailure(error)
      }
    }
    const { outcome } = await conversation.recover()
    if (outcome === 'not_running' && lease !== null)
      await endLease(store, id, briefOwner(crypto.randomUUID())).catch(nullOn('already_running'))
    return true
  }

  async ended(id: string, milliseconds: number): Promise<void> {
    await endsWithin(milliseconds, this.#live.get(id) ?? new Promise(() => undefined))
  }

  /**
   * Ids of conversations for which the agent has returned a step: this service may hold their leases.
   */
  get ids(): readonly string[] {
    return [...this.#begun]
  }

  async settle(): Promise<void> {
    while (this.#live.size + this.#joining.size > 0)
      await Promise.all([...this.#live.values(), ...this.#joining])
  }

  async #run(conversation: Conversation, from: number, onAgent: () => void): Promise<void> {
    const { agent, options, starts } = this.#options
    if (agent === null) return
    const record = await conversation.record()
    const maxIterations = record.metadata['max_iterations']
    const step = await agent(conversation, await starts.of(record))
    onAgent()
    const limits = typeof maxIterations === 'number' ? { maxIterations } : {}
    // Clients may run a conversation without messages, and expect that the run ends immediately.
    await conversation.run(step, { ...options, ...limits, from }).catch(nullOn('empty_view'))
  }

  acquireSlot(): () => void {
    this.checkAgent()
    return this.#slots.acquire(Symbol())
  }

  /** Runs a copy of a conversation with `options`, which replace the service's run options. */
  async runCopy(copy: Conversation, start: JsonObject, options: RunOptions): Promise<void> {
    const step = await this.#options.agent?.(copy, start)
    if (step !== undefined) await copy.run(step, options)
  }

  #carryOut(conversation: Conversation, from: number): RunCommand {
    const { id } = conversation
    const command: RunCommand = { from, durable: Promise.withResolvers(), isDone: Promise.resolve(false) }
    this.#commands.set(id, command)
    const work = async (): Promise<boolean> => {
      try {
        await this.#join(conversation, command)
      } catch (error) {
        if (!isExpected(error)) this.#options.onFailure(error)
        if (isOfService(error)) {
          command.durable.promise.catch(() => undefined)
          command.durable.reject(error)
          return false
        }
      } finally {
        if (this.#commands.get(id) === command) this.#commands.delete(id)
      }
      release(command)
      return true
    }
    command.isDone = work()
    this.#track(command.isDone)
    return command
  }

  async #join(conversation: Conversation, command: RunCommand): Promise<void> {
    for (let wait = CHECK_INTERVAL; ; wait = Math.min(2 * wait, MAX_RETRY_WAIT)) {
      try {
        if (await this.#isJoined(conversation, command, wait)) return
      } catch (error) {
        if (!canBeginLater(error)) throw error
        if (wait === CHECK_INTERVAL) this.#options.onFailure(error)
        await this.ended(conversation.id, wait)
      }
    }
  }

  /**
   * Makes one attempt to `join`. Returns false if the caller must try again.
   * @param wait maximum milliseconds to wait before returning false
   */
  async #isJoined(conversation: Conversation, command: RunCommand, wait: number): Promise<boolean> {
    const { id } = conversation
    const { from } = command
    // If a later message requested this run meanwhile, this check does not cover that message.
    const isLatest = (): boolean => command.from === from
    // Later messages create a new command.
    const isDone = (): boolean => isLatest() && this.#commands.delete(id)
    try {
      if (!(await wasPausedSince(conversation, from))) await this.#begin(conversation, from)
      return isDone()
    } catch (error) {
      if (isFull(error)) {
        await this.ended(id, CHECK_INTERVAL)
        return false
      }
      if (!hasCode(error, 'already_running')) throw error
      const { status } = (await conversation.state()).header
      // Do not wait: a step may continue long after a pause. If its process dies, the status stays `paused`.
      if (status === 'paused' && isLatest()) release(command)
      if (status !== 'running') {
        // The other run is beginning or ending. If its process is dead, its lease expires.
        await this.ended(id, Math.min(wait, Math.max(CHECK_INTERVAL, expiryOf(error) - Date.now())))
        return false
      }
      // Callers need not wait: the active run has a lease, and will handle the message.
      if (isLatest()) release(command)
      // The process of the other run may be dead. Its lease then expires.
      return (this.has(id) || (await isHandledByOtherRun(conversation, from, expiryOf(error)))) && isDone()
    }
  }
}
