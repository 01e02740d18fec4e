/**
 * Runs conversations in the background with the service's agent; the sender of a message learns when a run will look at
 * it.
 */

import type { Conversation } from '../../conversation/conversation.ts'
import { briefOwner, endLease } from '../../conversation/run/lease.ts'
import type { RunOptions } from '../../conversation/run/options.ts'
import type { Step } from '../../conversation/run/step.ts'
import { hasNoPrompt, isTurnOver } from '../../conversation/turn.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { findEventIn } from '../../log/log.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import type { Store } from '../../store/contract/store.ts'
import { isInTime, RunCommand } from './run-command.ts'
import { HttpProblem } from '../http/problem.ts'
import { isTakenUp, wasPausedSince } from './run-progress.ts'
import type { Starts } from './starts.ts'
import { isOfService, mayBegin } from './transient.ts'

/**
 * How often a run is begun again after its process died, until a user says something: it may be the run that kills
 * processes.
 */
const MOST_LOST = 2

/**
 * Whether a run that died has left something to do that it was asked for. O(events since the last message of a user).
 */
export function hasWork(state: State): boolean {
  const { header, branch, log } = state
  const said = branch.lastUserMessage
  if (said === null) return false
  const { status } = header
  if (status === 'waiting_for_confirmation') return granted(header.callStatuses, 'approved').size > 0
  // What was said after an error is yet to be looked at.
  const failedAt = header.error === null ? -1 : (findEventIn(log, header.error.event_id)?.seq ?? -1)
  const isOpen = status === 'running' || status === 'idle' || (status === 'error' && failedAt < said.seq)
  if (!isOpen || isTurnOver(branch) || hasNoPrompt(branch)) return false
  let lost = 0
  for (let seq = said.seq + 1; seq < log.entries.length; seq += 1) {
    const event = log.entries.get(seq)?.event
    if (event?.kind === 'ConversationErrorEvent' && event.code === 'RunLost') lost += 1
  }
  return lost < MOST_LOST
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
    'The conversation is running already in this service; wait for that run, or interrupt it.',
    { conversationId },
  )

/** The places of a service. */
class Places {
  readonly #most: number
  /** How often each is taken: a conversation needs one, however many ask for its run. */
  readonly #taken = new Map<string | symbol, number>()

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Takes one for a conversation, or for something beside all of them, until the function that it returns is called.
   * @throws HttpProblem 429 where there is none.
   */
  take(key: string | symbol): () => void {
    const taken = this.#taken.get(key) ?? 0
    if (taken === 0 && this.#taken.size >= this.#most) {
      throw new HttpProblem(429, `There are ${this.#most} runs already; try again when one has ended.`)
    }
    this.#taken.set(key, taken + 1)
    return () => {
      const left = (this.#taken.get(key) ?? 1) - 1
      if (left > 0) this.#taken.set(key, left)
      else this.#taken.delete(key)
    }
  }
}

/** Whether there was no place. */
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
  /** Null: nothing can be run. */
  readonly agent: Agent | null
  /** Options of every run; the iterations that a conversation was created with come before those that stand here. */
  readonly options: Omit<RunOptions, 'signal' | 'from'>
  /** Most runs at once. */
  readonly most: number
  /** Called with a run that ended for want of the store, and not by its own log. */
  readonly onFailure: (error: unknown) => void
}

/** What asks for a run, once it was said. */
export interface Asked {
  readonly conversation: Conversation
  /** The position of the log behind it; null where nothing is to be run after all. */
  readonly from: number | null
}

/** Runs a copy of a conversation. */
export type RunCopy = (
  copy: Conversation,
  start: JsonObject,
  options: Pick<RunOptions, 'maxIterations' | 'signal'>,
) => Promise<void>

const nothing = (): void => undefined

/** Milliseconds between two looks at a run of another process that has all but ended, and for room. */
const LOOK_INTERVAL = 100
/** Most milliseconds between two tries while the store is away. */
const LONGEST_WAIT = 2_000

/** The runs of one service. That no two run one conversation, in whatever process, the store's lease sees to. */
export class Runs {
  readonly #options: RunsOptions
  readonly #live = new Map<string, Promise<void>>()
  readonly #places: Places
  readonly #commands = new Map<string, RunCommand>()
  readonly #joining = new Set<Promise<void>>()

  constructor(options: RunsOptions) {
    this.#options = options
    this.#places = new Places(options.most)
  }

  /** Whether there is an agent to run anything. */
  get possible(): boolean {
    return this.#options.agent !== null
  }

  /** How many runs there are. */
  get size(): number {
    return this.#live.size
  }

  /** Whether a run of this service is live. */
  has(id: string): boolean {
    return this.#live.has(id)
  }

  /** Refuses what no service like this one could run. @throws HttpProblem 409 without an agent. */
  checkAgent(): void {
    if (!this.possible) {
      throw new HttpProblem(409, 'This service was made without an agent, so it runs no conversation.')
    }
  }

  /**
   * Says what asks for a run of a conversation, and sees to that run, as `join` does: the one way for requests. `say`
   * calls `place` once it knows that a run is to begin, before it says anything: there is a place for the run then, or
   * nothing is said, so that what is refused changes nothing and may be asked again. Without an agent it is just said.
   * Gives what `say` gives.
   * @throws HttpProblem 429 where there are too many runs; what `say` and `join` throw.
   */
  async ask<T extends Asked>(id: string, say: (place: () => void) => Promise<T>): Promise<T> {
    let leave = nothing
    try {
      const asked = await say(() => {
        if (this.possible && leave === nothing) leave = this.#places.take(id)
      })
      if (asked.from !== null) await this.join(asked.conversation, asked.from)
      return asked
    } finally {
      leave()
    }
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
    const leave = this.#places.take(id)
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
        leave()
        over.abort()
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
   * @param item that of a command which a process that died has kept
   * @throws what the store throws that cannot keep the command, and ColloquyError `closed`.
   */
  join(conversation: Conversation, from: number, item?: string): Promise<void> {
    const { id } = conversation
    if (!this.possible) return Promise.resolve()
    let command = this.#commands.get(id)
    if (command === undefined) {
      command = new RunCommand(this.#options.store, id, from, this.#leaseTtl)
      this.#commands.set(id, command)
      this.#carryOut(conversation, command)
    }
    // A message after a pause asks for a run.
    command.from = Math.max(command.from, from)
    if (item !== undefined) command.adopt(item)
    return command.wait()
  }

  /** Whether a command that is kept as this item is under way here. */
  isUnderWay(id: string, item: string): boolean {
    return this.#commands.get(id)?.isKeptAs(item) ?? false
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
    if (this.possible && lease !== null && hasWork(state)) {
      try {
        await this.#begin(conversation, state.log.entries.length)
        return true
      } catch (error) {
        // Its lease stays, for the next look.
        if (hasCode(error, 'already_running') || isFull(error) || mayBegin(error)) return false
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

  /** Resolves when nothing is run any more. */
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
    const leave = this.#places.take(Symbol())
    try {
      return await work(async (copy, start, options) => {
        const step = await this.#options.agent?.(copy, start)
        if (step !== undefined) await copy.run(step, options)
      })
    } finally {
      leave()
    }
  }

  get #leaseTtl(): number {
    return this.#options.options.leaseTtl ?? 45_000
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
        if (!mayBegin(error)) throw error
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
      return (this.has(id) || (await isTakenUp(conversation, from, expiryOf(error)))) && isDone()
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
