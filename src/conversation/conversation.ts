/** A live conversation: commands append events, and state, view and messages stay current. */

import { hasCode } from '../event/errors.ts'
import type { JsonObject, Message } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event } from '../event/types.ts'
import type { MessageOptions, NeutralMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import { stateAt } from '../state/at.ts'
import type { State, StateTree } from '../state/state.ts'
import { isStatus, type Status, STATUSES } from '../state/status.ts'
import type { AppendOptions } from '../store/contract/store.ts'
import { checkOptionNames, invalidArgument } from '../store/kit/query/check-value.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { EventQuery, Page } from '../store/contract/query.ts'
import { type BranchInfo, listBranches, listWorkingCalls } from '../state/read.ts'
import {
  decideApprove,
  decideEdit,
  decideInterrupt,
  decideNavigate,
  decidePause,
  decidePolicy,
  decideReject,
  decideRestart,
  decideResume,
  userMessage,
  policyUpdate,
} from './decide.ts'
import { keyedId } from '../event/ids.ts'
import { checkDelta, checkEvents } from './stamp.ts'
import { FORK_OPTIONS, type ForkOptions, planFork, writeFork } from './fork.ts'
import {
  type CallCompletion,
  decideProgress,
  type ProgressReport,
  type ResumeWork,
  startWork,
  takeOverWork,
} from './background.ts'
import { attachLateResults, decideComplete, mayBeLate } from './late-results.ts'
import { type LoggedEvent, toLogged } from './logged-event.ts'
import { type Decision, type Look, recordIn, waitForState } from './replica.ts'
import { type Recovery, recover } from './recover.ts'
import { checkRest, isOfRun } from './run/lease.ts'
import { runLoop } from './run/loop.ts'
import { checkRun, type RunOptions, type RunResult } from './run/options.ts'
import type { RunChild, Step } from './run/step.ts'
import { runChild } from './subagent.ts'
import type { EngineContext } from './engine-context.ts'
import { subscribe, type SubscribeOptions, type SubscriptionItem } from './subscribe.ts'
import { openTree, subscribeTree, type TreeSubscriptionItem } from './tree.ts'

const MAX_REASON = 1_000

/** An item of a run: an event, a delta of a reply, or `reset`; see {@link SubscriptionItem}. */
export type RunItem = Exclude<SubscriptionItem, { readonly type: 'caught_up' }>

/** A run: its result, and its items while it lasts. */
export type Run = Promise<RunResult> & AsyncIterable<RunItem>

/** How to send a message. */
export interface SendOptions {
  /** Client's idempotency key: a second message with the same key is not appended (law S). */
  readonly key?: string
  readonly sender?: string
  readonly within?: NonNullable<AppendOptions['within']>
}

/**
 * A conversation of an engine. Handles in any processes can share it.
 *
 * Methods that append return the appended or existing events, or an empty list if there was nothing to do.
 * Errors are `ColloquyError`s: `unknown_conversation`, `closed`, the store's, and each method's own.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * const [hello] = await conversation.sendMessage('Hello')
 * await conversation.editAndResend(hello.id, 'Good morning')
 * const branches = await conversation.branches()
 * branches.length // 2
 * await engine.close()
 */
export class Conversation {
  readonly id: string
  readonly #engine: EngineContext

  /** @internal Created by an engine. */
  constructor(engine: EngineContext, id: string) {
    this.#engine = engine
    this.id = id
  }

  /** Returns the state after the last event of any process. O(events appended since by others). */
  async state(): Promise<State> {
    return this.#engine.use(this.id, (replica) => replica.refresh())
  }

  /** The state with the record, in one read; a fresh record saves that read. */
  async look(record?: ConversationRecord): Promise<Look> {
    return this.#engine.use(this.id, (replica) => replica.look(record))
  }

  /** Returns the state at an event (law T). O(log n); O(n) if evicted. @throws ColloquyError `unknown_event`. */
  async stateAt(eventId: string): Promise<State> {
    return this.read((state) => stateAt(state, eventId))
  }

  /** Applies a pure function to the state, as in `read(toTimeline)`. O(n) if it needs evicted bodies. */
  async read<T>(query: (state: State) => T): Promise<T> {
    return this.#engine.use(this.id, (replica) => replica.read(query))
  }

  /** Returns the view as neutral messages. The grammars' renderers accept `state()` instead. O(view). */
  async messages(options?: MessageOptions): Promise<NeutralMessage[]> {
    return this.#engine.use(this.id, async (replica) =>
      toMessages(await replica.withBodies(await replica.refresh()), options),
    )
  }

  async record(): Promise<ConversationRecord> {
    this.#engine.check()
    return recordIn(this.#engine.store, this.id)
  }

  /**
   * Returns a page of events, as `Store.search` finds them, as plain JSON.
   * @throws ColloquyError `invalid_query`, `invalid_cursor`.
   */
  async search(query: Omit<EventQuery, 'conversationId'> = {}): Promise<Page<LoggedEvent>> {
    this.#engine.check()
    const page = await this.#engine.store.search({ ...query, conversationId: this.id })
    return { ...page, items: page.items.map(toLogged) }
  }

  /** Returns the tip of each branch, and which branch holds HEAD. O(n). */
  async branches(): Promise<BranchInfo[]> {
    return listBranches(await this.state())
  }

  /**
   * Appends events, all or none. Fills in missing ids, times and parents. Idempotent by id. With `expected`,
   * the loser of a race gets `version_conflict` and can retry on the new `state()`; without it, concurrent
   * appends do not matter. A result of a call on another branch is appended there, and HEAD stays. `within`
   * writes the caller's rows in the same transaction: see `AppendOptions.within`. O(log n) per event.
   * @throws ColloquyError `invalid_event`, `transient_event`, `version_conflict`, `id_conflict`,
   * `unknown_parent`, `unknown_event`.
   */
  async append(
    input: Event | readonly Event[],
    options: Pick<AppendOptions, 'expected' | 'within'> = {},
  ): Promise<readonly LoggedEvent[]> {
    checkOptionNames(options, { expected: true, within: true })
    const events = checkEvents(Array.isArray(input) ? Array.from(input) : [input])
    return this.#engine.use(this.id, (replica) =>
      replica.commit((state) => attachLateResults(state, events), {
        ...options,
        depends: mayBeLate(events),
      }),
    )
  }

  async sendMessage(content: string | Message, options: SendOptions = {}): Promise<readonly LoggedEvent[]> {
    checkOptionNames(options, { key: true, sender: true, within: true })
    const { key, sender, within } = options
    const id = key === undefined ? undefined : keyedId('message', this.id, key)
    const message = {
      ...userMessage(content),
      ...(id !== undefined && { id }),
      ...(sender !== undefined && { sender }),
    }
    return this.append(message, within === undefined ? {} : { within })
  }

  async pause(): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => decidePause(state, this.#engine.isRunning(this.id)))
  }

  /**
   * Aborts the run's signal and ends its pending calls, in one batch; calls that outlive their reply only
   * with `working`.
   */
  async interrupt(options: { readonly working?: boolean } = {}): Promise<readonly LoggedEvent[]> {
    checkOptionNames(options, { working: true })
    // Another process may hold the run: its lease exists until the run has ended.
    const lease = await this.#engine.store.getLease(this.id)
    const leased = lease !== null && isOfRun(lease)
    const stopped = await this.#decide((state) =>
      decideInterrupt(state, leased || this.#engine.isRunning(this.id)),
    )
    if (options.working !== true) return stopped
    const calls = listWorkingCalls(await this.state())
    const cancelled = await Promise.all(calls.map(({ action }) => this.cancel(action.id)))
    return [...stopped, ...cancelled.flat()]
  }

  /** Ends a pause. Call `run` to continue. A reply that arrived during the pause is not requested again. */
  async resume(): Promise<readonly LoggedEvent[]> {
    return this.#decide(decideResume)
  }

  /**
   * Approves pending calls, by the ids of their actions: the next run executes them. @throws ColloquyError
   * `unknown_call`.
   */
  async approve(actionIds: readonly string[]): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => decideApprove(state, actionIds))
  }

  /** Rejects pending calls, by default all of the branch. @throws ColloquyError `unknown_call`. */
  async reject(actionIds?: readonly string[], reason?: string): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => checkEvents(decideReject(state, actionIds, reason)))
  }

  /**
   * Moves HEAD to an event, or to the empty HEAD for null.
   * @throws ColloquyError `unknown_event`; `already_running` during a run.
   */
  async navigate(eventId: string | null): Promise<readonly LoggedEvent[]> {
    return this.#decideAtRest((state) => decideNavigate(state, eventId))
  }

  /** Moves HEAD to the branch's system prompt. @throws ColloquyError `already_running`. */
  async restart(): Promise<readonly LoggedEvent[]> {
    return this.#decideAtRest(decideRestart)
  }

  /**
   * Replaces a user's message on a new branch. The old message stays on its own branch.
   * @throws ColloquyError `unknown_event` when the id is not a user's message; `already_running`.
   */
  async editAndResend(messageId: string, content: string | Message): Promise<readonly LoggedEvent[]> {
    const [message] = checkEvents([userMessage(content)])
    return this.#decideAtRest((state) =>
      message?.kind === 'MessageEvent' ? decideEdit(state, messageId, message) : [],
    )
  }

  /**
   * Sets which calls need confirmation, in every run and fork: `{ kind: 'AlwaysConfirm' }`, see `toPolicy`.
   * @throws ColloquyError `invalid_event` for a value that is not JSON.
   */
  async setConfirmationPolicy(policy: JsonObject | null): Promise<readonly LoggedEvent[]> {
    if (typeof policy !== 'object' || Array.isArray(policy))
      invalidArgument('policy', 'must be an object with a kind, or null')
    const [update] = checkEvents([policyUpdate(policy)])
    const { value = null } = update as ConversationStateUpdateEvent
    return this.#decide((state) => decidePolicy(state, value as JsonObject | null))
  }

  /**
   * Copies the log, or the path to an event, with ids and confirmation policy. Calls that wait for a user's
   * decision stay pending in the copy; other calls without a result get an error result. O(events).
   * @throws ColloquyError `unknown_event`, `conversation_exists`, `invalid_id`.
   */
  async fork(options: ForkOptions = {}): Promise<Conversation> {
    checkOptionNames(options, FORK_OPTIONS)
    const { store, stamp } = this.#engine
    const id = options.id ?? stamp.newId()
    await this.#engine.use(this.id, async (replica) => {
      const { plan, length } = await replica.read((state) => ({
        plan: planFork(state, options.from),
        length: state.log.entries.length,
      }))
      await writeFork(store, await this.record(), id, plan, length, options, stamp)
    })
    return new Conversation(this.#engine, id)
  }

  /**
   * Resolves with the first state that has one of these statuses, which can be the current state.
   * @throws the reason of `signal` when it is aborted first (pass `AbortSignal.timeout(ms)` for a limit);
   * `closed` when the engine closes; `invalid_argument` for an unknown status.
   */
  async waitFor(
    status: Status | readonly Status[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<State> {
    checkOptionNames(options, { signal: true })
    const wanted: readonly Status[] = typeof status === 'string' ? [status] : status
    // An unknown status would never be reached.
    if (!wanted.every(isStatus)) invalidArgument('status', `must be one of ${STATUSES.join(', ')}`)
    const signal = this.#orClosing(options.signal)
    return this.#engine.use(this.id, (replica) =>
      waitForState(replica, ({ header }) => wanted.includes(header.status), signal),
    )
  }

  /**
   * Ends a dead run's pending calls with an error result, and sets the status `error`, if the status is
   * `running` and no run holds the lease; a dead process's lease lasts until it expires. With `unheld`, only
   * if no run has left a lease, as in an imported log. `run` recovers by itself.
   */
  async recover(options: { readonly unheld?: boolean } = {}): Promise<Recovery> {
    checkOptionNames(options, { unheld: true })
    const { store } = this.#engine
    const owner = this.#engine.newBriefOwner()
    return this.#engine.use(this.id, (replica) => recover(store, replica, owner, options.unheld))
  }

  /** Publishes a StreamingDeltaEvent; with `shareReplies` to all processes. @throws `invalid_event`. */
  publish(delta: Event): void {
    this.#engine.check()
    this.#engine.publish(this.id, checkDelta(delta))
  }

  /**
   * Yields every writer's events after a position once, in order: stored events, `caught_up`, then live
   * events. Deltas of the current reply are in between, from its beginning or the reader's position (law B).
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create()
   * await conversation.sendMessage('Hello')
   * for await (const item of conversation.subscribe({ after: -1 })) if (item.type === 'caught_up') break
   * await engine.close()
   */
  subscribe(options: SubscribeOptions = {}): AsyncGenerator<SubscriptionItem, void, undefined> {
    return subscribe(this.#engine, this.id, { ...options, signal: this.#orClosing(options.signal) })
  }

  /**
   * Calls `step` with the calls to execute, or without calls to call the model, until the conversation waits
   * for confirmation or is paused, finished, stuck or in error. A lease in the store allows one run at a time
   * in all processes. After a dead run it appends `RunLost`, ends its calls with an error, executes those
   * approved since, and continues.
   * @throws ColloquyError `already_running` (unless `wait` is set) with `owner` and `expiresAt` of the other
   * run's lease, `lease_lost`, `empty_view` without a message or call, `invalid_argument` for invalid
   * options, and the store's errors. An error of the step ends the run in `error`.
   *
   * Iterating over the returned promise (`for await`) yields every event and delta from the start of the
   * call until the run ends, including those of other writers. Leaving the loop does not stop the run.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create()
   * await conversation.sendMessage('Hello')
   * const answer = { role: 'assistant', content: [{ text: 'Hi' }] }
   * const run = conversation.run(() => [{ kind: 'MessageEvent', source: 'agent', llm_message: answer }])
   * const kinds = []
   * for await (const item of run) if (item.type === 'event') kinds.push(item.fact.kind)
   * kinds.at(-1) // 'MessageEvent'
   * const { status } = await run
   * status // 'finished'
   * await engine.close()
   */
  run(step: Step, options: RunOptions = {}): Run {
    const begin = Promise.withResolvers<number>()
    const result = this.#run(step, options, begin.resolve)
    return Object.assign(result, {
      [Symbol.asyncIterator]: () => this.#itemsOf(result, begin.promise),
    })
  }

  /** Ends with the last event of the run. @throws the error of the run. */
  async *#itemsOf(result: Promise<RunResult>, begin: Promise<number>): AsyncGenerator<RunItem> {
    const stop = new AbortController()
    let last = (await Promise.race([begin, result.then(() => 0)])) - 1
    let end = Infinity
    void result
      .then(() => this.state())
      .then(({ log }) => {
        end = log.entries.length - 1
        if (last >= end) stop.abort()
      })
      .catch(() => stop.abort())
    if (last < end)
      for await (const item of this.subscribe({ after: last, signal: stop.signal })) {
        if (item.type !== 'caught_up') yield item
        if (item.type === 'event') last = item.seq
        if (last >= end) break
      }
    await result
  }

  async #run(step: Step, options: RunOptions, begin: (length: number) => void): Promise<RunResult> {
    checkRun(step, options)
    const { store } = this.#engine
    const openChild: RunChild = (actionId, request) =>
      runChild(store, (id) => new Conversation(this.#engine, id), { id: this.id, actionId }, request)
    const resume: ResumeWork = (call, task, work) =>
      step.resume?.(call, task, { ...work, runChild: openChild }) ?? null
    return this.#engine.whileRunning(this.id, (replica, owner) => {
      begin(replica.state.log.entries.length)
      return runLoop(
        {
          store,
          replica,
          step,
          owner,
          publish: (delta) => this.publish(delta),
          startWork: (call) => startWork(this.#engine, this.id, call),
          runChild: openChild,
          takeOverWork: (append) => takeOverWork(this.#engine, replica, resume, append),
        },
        {
          ...options,
          leaseTtl: options.leaseTtl ?? this.#engine.leaseTtl,
          signal: this.#orClosing(options.signal),
        },
      )
    })
  }

  /**
   * Completes a call that outlived its reply, from outside a run, such as a webhook or a queue. Idempotent.
   * The conversation then needs a run.
   * @param callId the id of the call's action
   * @throws ColloquyError `unknown_call` when the call is not working.
   */
  async complete(callId: string, result: string | CallCompletion): Promise<readonly LoggedEvent[]> {
    const { content, outcome = 'done' } = typeof result === 'string' ? { content: result } : result
    return this.#decide((state) => checkEvents(decideComplete(state, callId, content, outcome)))
  }

  /** Aborts a call's work, in whichever process, and completes it as cancelled. @throws as `complete`. */
  async cancel(callId: string, reason = 'The call was cancelled.'): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => checkEvents(decideComplete(state, callId, reason, 'cancelled')))
  }

  /**
   * Reports progress to live readers, not the model. A new `task` replaces the handle. Does nothing unless
   * the call is working.
   */
  async reportProgress(callId: string, progress: ProgressReport): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => checkEvents(decideProgress(state, callId, progress)))
  }

  /** Returns the conversations that its calls opened with `subagent`, in order of creation. O(children). */
  async children(): Promise<readonly ConversationRecord[]> {
    this.#engine.check()
    return this.#engine.children(this.id)
  }

  /**
   * Replaces an event's texts, files, arguments and reasoning by a placeholder in the log, search and
   * snapshot. Position, kind, time and references stay, so the tree, calls, views and requests stay valid.
   * Replies that saw it lose their signed reasoning, which providers refuse behind a changed text. A state
   * update with the key `erased` records the event, the reason and those replies; other processes then reread
   * the log. Can be repeated. Copies in forks, summaries and quoting replies are separate events. O(events).
   * @throws ColloquyError `unknown_event`; `invalid_argument` for a call that waits for its result, and in a
   *   store that cannot replace bodies.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create()
   * const [hello] = await conversation.sendMessage('My password is 1234')
   * await conversation.eraseEvent(hello.id, 'a password')
   * const { items } = await conversation.search()
   * items[0].fact.llm_message.content[0].text // '[erased]'
   * await engine.close()
   */
  async eraseEvent(id: string, reason = 'The content was erased.'): Promise<readonly LoggedEvent[]> {
    if (typeof reason !== 'string' || reason.length > MAX_REASON)
      invalidArgument('reason', `must be a string of at most ${MAX_REASON} characters`)
    const record = keyedId('erasure', this.id, String(id))
    return this.#engine.use(this.id, (replica) => replica.erase(id, record, reason))
  }

  /**
   * Returns the state with all subagents and every body, for `toTreeTimeline`, `usageOfTree`, `toAtif` and
   * `toSpans`. O(events of all), held in memory.
   */
  async tree(): Promise<StateTree> {
    this.#engine.check()
    return openTree(this.#engine, this.id)
  }

  /**
   * `subscribe` for the conversation and all its subagents, from their first events. A subagent's items
   * follow its call; conversations have no other order. A subagent opened by another process is noticed
   * within a quarter of a second. Keeps all of them in memory.
   */
  subscribeTree(
    options: Pick<SubscribeOptions, 'signal'> = {},
  ): AsyncGenerator<TreeSubscriptionItem, void, undefined> {
    return subscribeTree(this.#engine, this.id, { ...options, signal: this.#orClosing(options.signal) })
  }

  /** Deletes it with its log and children, and ends their runs. False when unknown. */
  async delete(): Promise<boolean> {
    return this.#engine.delete(this.id)
  }

  #orClosing(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#engine
    return signal === undefined ? closing : AbortSignal.any([closing, signal])
  }

  #decide(decide: Decision): Promise<readonly LoggedEvent[]> {
    return this.#engine.use(this.id, (replica) => replica.commit(decide, { depends: true }))
  }

  /** Refuses during a run, which would continue on the wrong branch when HEAD moves. */
  #decideAtRest(decide: Decision): Promise<readonly LoggedEvent[]> {
    return this.#engine.use(this.id, async (replica) => {
      for (;;) {
        const { header, log } = await replica.refresh()
        const { length } = log.entries
        await checkRest(this.#engine.store, this.id, this.#engine.newBriefOwner(), header.status)
        try {
          // A run that begins after this check appends an event first, so the expected version conflicts.
          return await replica.commit(decide, { expected: length, depends: true })
        } catch (error) {
          if (!hasCode(error, 'version_conflict')) throw error
        }
      }
    })
  }
}
