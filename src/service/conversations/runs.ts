/**
 * Runs conversations in the background with the service's agent; the sender of a message learns when a run will look at
 * it.
 */

import type { Conversation } from '../../conversation/conversation.ts'
import type { RunOptions } from '../../conversation/run/loop.ts'
import type { Step } from '../../conversation/run/step.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Lease } from '../../store/contract/lease.ts'
import type { Store } from '../../store/contract/store.ts'
import { hasWork } from './has-work.ts'
import { isPassing } from './transient.ts'
import { eventKindOf } from '../../log/entry.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Starts } from './starts.ts'

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
  readonly options: Omit<RunOptions, 'signal'>
  /** Most runs at once. */
  readonly most: number
  /** Called with a run that ended for want of the store, and not by its own log. */
  readonly onFailure: (error: unknown) => void
}

/** That a conversation be run, for messages that end before this position. */
interface RunCommand {
  from: number
  /** Who waits until a lease stands for it: whichever process dies then, another one goes on. */
  readonly waiting: (() => void)[]
}

/** Milliseconds between two looks at a run of another process that has all but ended, and for room. */
const LOOK_INTERVAL = 100
/** Most milliseconds between two tries while the store is away. */
const LONGEST_WAIT = 2_000

/** The runs of one service. That no two run one conversation, in whatever process, the store's lease sees to. */
export class Runs {
  readonly #options: RunsOptions
  readonly #live = new Map<string, Promise<void>>()
  readonly #commands = new Map<string, RunCommand>()
  readonly #joining = new Set<Promise<void>>()

  constructor(options: RunsOptions) {
    this.#options = options
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

  /** Refuses what could not be run now. @throws HttpProblem 409 without an agent, 429 where there are too many runs. */
  check(id: string): void {
    if (!this.possible) {
      throw new HttpProblem(409, 'This service was made without an agent, so it runs no conversation.')
    }
    if (this.has(id) || this.size < this.#options.most) return
    throw new HttpProblem(429, `There are ${this.#options.most} runs already; try again when one has ended.`)
  }

  /**
   * Begins a run; resolves when it has begun, or ended. @throws ColloquyError `already_running`; what `check` throws.
   */
  async start(conversation: Conversation): Promise<void> {
    const { id } = conversation
    this.check(id)
    if (this.has(id)) throw alreadyRunning(id)
    const over = new AbortController()
    let asked = true
    const { promise: begun, resolve } = Promise.withResolvers<unknown>()
    // Not before there is an agent: the status of a run that died says that it is running already.
    const ended = this.#run(conversation, () =>
      resolve(conversation.waitFor('running', { signal: over.signal })),
    )
    const live = ended
      .catch((error: unknown) => {
        // The caller that asked gets it, for as long as it waits.
        if (!asked && !isExpected(error)) this.#options.onFailure(error)
      })
      .finally(() => {
        this.#live.delete(id)
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
   * lease is to look at it, so that another process does when this one dies: who acknowledges a message waits for that.
   * Resolves also when nothing need be run, or the run has failed, which its own log or `onFailure` has; never rejects.
   */
  join(conversation: Conversation, from: number): Promise<void> {
    const { id } = conversation
    if (!this.possible) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const known = this.#commands.get(id)
    known?.waiting.push(resolve)
    if (known !== undefined) {
      // A message after a pause asks for a run.
      known.from = Math.max(known.from, from)
      return promise
    }
    const command: RunCommand = { from, waiting: [resolve] }
    this.#commands.set(id, command)
    const joining = this.#join(conversation, command)
      .catch((error: unknown) => {
        if (!isExpected(error)) this.#options.onFailure(error)
      })
      .finally(() => {
        if (this.#commands.get(id) === command) this.#commands.delete(id)
        this.#joining.delete(joining)
        release(command)
      })
    this.#joining.add(joining)
    return promise
  }

  /**
   * Settles what a run of a process that died has left: where there is work to do that it was asked for, it is run on,
   * else recovered, and its lease given back. Nothing while another process runs it, which is false; where there are
   * too many runs, it is left for later. Resolves when the run has begun; a failure of the agent goes to `onFailure`.
   * @param expired whether the store has said that the lease has expired; else this process's clock says it
   * @throws ColloquyError `unknown_conversation`, and what the store throws.
   */
  async takeOver(conversation: Conversation, expired = false): Promise<boolean> {
    const { id } = conversation
    const { onFailure, store } = this.#options
    const lease = await store.getLease(id)
    if (lease !== null && !expired && lease.expiresAt > Date.now()) return false
    // Without a lease it was no run of this library that left it so.
    if (this.possible && lease !== null && hasWork(await conversation.state())) {
      try {
        await this.start(conversation)
        return true
      } catch (error) {
        // Its lease stays, for the next look.
        if (hasCode(error, 'already_running') || isFull(error) || mayBegin(error)) return false
        if (isExpected(error)) throw error
        onFailure(error)
      }
    }
    const { outcome } = await conversation.recover()
    if (outcome === 'not_running' && lease !== null) await releaseExpired(store, lease)
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

  async #run(conversation: Conversation, onAgent: () => void): Promise<void> {
    const { agent, options, starts } = this.#options
    if (agent === null) return
    const record = await conversation.record()
    const own = record.metadata['max_iterations']
    const step = await agent(conversation, await starts.of(record))
    onAgent()
    await conversation.run(step, { ...options, ...(typeof own === 'number' && { maxIterations: own }) })
  }

  /** Runs a copy that its caller alone knows: without hooks, and asking the model so often at most. */
  async runCopy(copy: Conversation, start: JsonObject, maxIterations: number): Promise<void> {
    const step = await this.#options.agent?.(copy, start)
    if (step !== undefined) await copy.run(step, { maxIterations })
  }

  async #join(conversation: Conversation, command: RunCommand): Promise<void> {
    for (let wait = LOOK_INTERVAL; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      try {
        while (!(await this.#isJoined(conversation, command)));
        return
      } catch (error) {
        if (!mayBegin(error)) throw error
        if (wait === LOOK_INTERVAL) this.#options.onFailure(error)
        await this.ended(conversation.id, wait)
      }
    }
  }

  /** One try. False: it is to be tried again. */
  async #isJoined(conversation: Conversation, command: RunCommand): Promise<boolean> {
    const { id } = conversation
    const { from } = command
    // What was said meanwhile is not covered by what was found out before.
    const isLatest = (): boolean => command.from === from
    // From then on what is said is a command of its own: this one looks no more.
    const isDone = (): boolean => isLatest() && this.#commands.delete(id)
    try {
      if (!(await wasPausedSince(conversation, from))) await this.start(conversation)
      return isDone()
    } catch (error) {
      if (!hasCode(error, 'already_running') && !isFull(error)) throw error
      const { status } = (await conversation.state()).header
      // A step may go on long after a pause; who dies meanwhile leaves a conversation that says that it is paused.
      if (!isFull(error) && status === 'paused' && isLatest()) release(command)
      if (isFull(error) || status !== 'running') {
        await this.ended(id, LOOK_INTERVAL)
        return false
      }
      // The run that is live has yet to look at what was said.
      if (isLatest()) release(command)
      // That of another process may be dead; then its lease expires.
      return (this.has(id) || (await isTakenUp(conversation, from, expiryOf(error)))) && isDone()
    }
  }
}

/** Lets go of those who wait. */
function release({ waiting }: RunCommand): void {
  for (const resolve of waiting.splice(0)) resolve()
}

/** Gives a lease back that a process which died has left, unless another took it meanwhile. */
async function releaseExpired(store: Store, { conversationId, owner }: Lease): Promise<void> {
  const taken = await store.acquireLease(conversationId, owner, 1_000)
  if (taken !== null) await store.releaseLease(taken)
}

/** When the other run's lease expires, in milliseconds since 1970 on the store's clock; 0 where that is not known. */
const expiryOf = (error: unknown): number =>
  hasCode(error, 'already_running') && typeof error.data['expiresAt'] === 'number'
    ? error.data['expiresAt']
    : 0

/** Milliseconds between two looks at a lease of another process. */
const SOON = 1_000
const LATEST = 60_000

/**
 * Whether a run of another process goes on after a message: what it appends from a position of the log on shows that it
 * lives. False when its status is running no more, and when its lease would have expired.
 */
async function isTakenUp(conversation: Conversation, from: number, expiresAt: number): Promise<boolean> {
  const left = expiresAt - Date.now()
  const due = new AbortController()
  const timer = setTimeout(() => due.abort(), Math.min(Math.max(left, SOON), LATEST))
  try {
    for await (const item of conversation.subscribe({ after: from - 1, signal: due.signal })) {
      if (item.type !== 'event' || isQuarantined(item.fact)) continue
      const { fact } = item
      if (fact.source === 'agent') return true
      if (fact.kind === 'ConversationStateUpdateEvent' && fact.key === 'execution_status')
        return fact.value === 'running'
    }
    return false
  } finally {
    clearTimeout(timer)
  }
}

/** Whether it was paused or interrupted, from a position of the log on. O(events from there). */
async function wasPausedSince(conversation: Conversation, from: number): Promise<boolean> {
  const { log } = await conversation.state()
  for (let at = from; at < log.entries.length; at += 1) {
    const entry = log.entries.get(at)
    const kind = entry === undefined ? null : eventKindOf(entry)
    if (kind === 'PauseEvent' || kind === 'InterruptEvent') return true
  }
  return false
}

/** Whether what did not begin may begin yet: the store was away, or the process was, for longer than a lease lasts. */
const mayBegin = (error: unknown): boolean => isPassing(error) || hasCode(error, 'lease_lost')

/** Whether an end is no failure. */
const isExpected = (error: unknown): boolean =>
  hasCode(error, 'already_running') || hasCode(error, 'unknown_conversation') || hasCode(error, 'closed')

const isFull = (error: unknown): boolean => error instanceof HttpProblem && error.status === 429

const alreadyRunning = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'already_running',
    'The conversation is running already in this service; wait for that run, or interrupt it.',
    { conversationId },
  )
