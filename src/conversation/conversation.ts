import type { JsonObject, UserMessage } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event } from '../event/types.ts'
import type { MessageOptions, NeutralMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import { stateAt } from '../state/at.ts'
import type { State, StateTree } from '../state/state.ts'
import { isStatus, type Status, STATUSES } from '../state/status.ts'
import type { AppendOptions } from '../store/contract/store.ts'
import { retryConflicts } from '../store/kit/items.ts'
import { checkOptionNames, checkSignal, invalidArgument } from '../event/check-value.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { EventQuery, Page } from '../store/contract/query.ts'
import { type BranchInfo, listBranches, listWorkingCalls } from '../state/read.ts'
import {
  callsOfRun,
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
import { returnable } from './async.ts'
import { checkDelta, checkEvents } from './stamp.ts'
import { type ForkOptions, planFork, writeFork } from './fork.ts'
import type { CallCompletion, ProgressReport, ResumeWork } from './background.ts'
import { decideProgress, startWork, takeOverWork } from './background.ts'
import { attachLateResults, decideComplete, isUnplaced } from './late-results.ts'
import { type AppendedEvent, type LoggedEvent, toLogged } from './logged-event.ts'
import { type Decision, type Look, recordIn, waitForState } from './replica.ts'
import { type Recovery, recover } from './recover.ts'
import { checkRest, isOfRun, recordsStarts } from './run/lease.ts'
import { runLoop } from './run/loop.ts'
import { checkRun, type RunOptions, type RunResult } from './run/options.ts'
import type { RunChild, Step } from './run/step.ts'
import { runChild } from './subagent.ts'
import type { EngineContext } from './engine-context.ts'
import { subscribe, type SubscribeOptions, type SubscriptionItem } from './subscribe.ts'
import { openTree, subscribeTree, type TreeSubscriptionItem } from './tree.ts'

const MAX_REASON = 1_000

export const appendDecided = (conversation: Conversation, decide: Decision): Promise<void> =>
  retryConflicts(async () => {
    const state = await conversation.state()
    const events = decide(state)
    if (events.length > 0) await conversation.append(events, { expected: state.log.entries.length })
  }, 'id_conflict')

/** An item of a run: an event, a delta of a reply, or `reset`; see {@link SubscriptionItem}. */
export type RunItem = Exclude<SubscriptionItem, { readonly type: 'caught_up' }>

/** A promise of the run's result. It is also iterable: it yields the run's items. */
export type Run = Promise<RunResult> & AsyncIterable<RunItem>

/** How to send a message. */
export interface SendOptions {
  /**
   * Idempotency key. If the log has a message with this key, the same message is not appended again, and a
   * different one throws `id_conflict`.
   */
  readonly key?: string
  /** Name of the sender, if it is not the user. */
  readonly sender?: string
  /** Writes your own rows in the same transaction: see `AppendOptions.within`. */
  readonly within?: NonNullable<AppendOptions['within']>
}

/**
 * A handle to one conversation of an engine. A conversation can have any number of handles, in any processes.
 *
 * Methods that append return the appended events. For an event that is already in the log, they return the
 * existing event. If there is nothing to do, they return an empty list. They throw `ColloquyError`s:
 * `unknown_conversation`, `closed`, the store's errors, and the errors that each method lists.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * const [hello] = await conversation.sendMessage('Hello')
 * await conversation.editAndResend(hello.id, 'Good morning')
 * const branches = await conversation.branches()
 * branches.length // 2
 * await conversation.navigate(hello.id)
 * await conversation.read((state) => viewEvents(state).toArray().length) // 1
 * const fork = await conversation.fork({ from: hello.id })
 * await fork.pause()
 * const { header } = await fork.state()
 * header.status // 'paused'
 * await fork.resume()
 * await fork.delete() // true
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

  /** Returns the latest state, with the events of all processes. O(new events of other processes). */
  async state(): Promise<State> {
    return this.#engine.use(this.id, (replica) => replica.refresh())
  }

  /** Returns the state and the record, in one read. If you pass a fresh record, the record is not read again. */
  async look(record?: ConversationRecord): Promise<Look> {
    return this.#engine.use(this.id, (replica) => replica.look(record))
  }

  /**
   * Returns the state right after an event. O(log n), or O(n log n) if that state was evicted. @throws
   * ColloquyError `unknown_event`.
   */
  async stateAt(eventId: string): Promise<State> {
    return this.read((state) => stateAt(state, eventId))
  }

  /**
   * Returns `query(state)`, as in `read(toTimeline)`. `query` must be pure. Loads evicted bodies if needed, O(n
   * log n).
   */
  async read<T>(query: (state: State) => T): Promise<T> {
    return this.#engine.use(this.id, (replica) => replica.read(query))
  }

  /**
   * Returns the view as neutral messages, which `toAnthropic` and similar functions accept. O(view). @throws
   * ColloquyError `pending_calls` if `options.pending` is `refuse` and a call is pending.
   */
  async messages(options?: MessageOptions): Promise<NeutralMessage[]> {
    return this.#engine.use(this.id, async (replica) =>
      toMessages(await replica.withBodies(await replica.refresh()), options),
    )
  }

  /** Returns the record: title, tags, owner, times and metadata. O(1). */
  async record(): Promise<ConversationRecord> {
    this.#engine.check()
    return recordIn(this.#engine.store, this.id)
  }

  /**
   * Returns one page of the events that match a query; see `Store.search` for order, cursors and cost.
   * @throws ColloquyError `invalid_query`, `invalid_cursor`.
   */
  async search(query: Omit<EventQuery, 'conversationId'> = {}): Promise<Page<LoggedEvent>> {
    this.#engine.check()
    const page = await this.#engine.store.search({ ...query, conversationId: this.id })
    return { ...page, items: page.items.map(toLogged) }
  }

  /**
   * Returns each branch: the id of its last event, its length, and whether HEAD is on it. O(n + branches ·
   * log n).
   */
  async branches(): Promise<BranchInfo[]> {
    return listBranches(await this.state())
  }

  /**
   * Appends events, all or none. Missing ids, times and parents are filled in. An event whose id is already
   * in the log is not appended again.
   *
   * Pass `expected` if the events depend on a version of the log. If another process has appended first, the
   * append throws `version_conflict`: read `state()` and retry. Without `expected`, the events are appended
   * after the events of other writers. The result of a call on another branch is appended to that branch, and
   * HEAD does not move. `within` writes your own rows in the same transaction: see `AppendOptions.within`.
   * O(log n) per event.
   * @throws ColloquyError `invalid_event`, `transient_event`, `version_conflict`, `id_conflict`,
   *   `unknown_parent`, `unknown_event`.
   */
  async append(
    input: Event | readonly Event[],
    options: Pick<AppendOptions, 'expected' | 'within'> = {},
  ): Promise<readonly AppendedEvent[]> {
    checkOptionNames(options, 'expected within')
    const events = checkEvents(Array.isArray(input) ? Array.from(input) : [input])
    const depends = events.some(isUnplaced)
    return this.#engine.use(this.id, (replica) =>
      replica.commit(depends ? (state) => attachLateResults(state, events) : () => events, {
        failsAfterOutage: true,
        ...options,
        depends,
      }),
    )
  }

  /**
   * Appends a user's message; `run` then replies. O(log n). @throws ColloquyError `invalid_event`,
   * `invalid_argument`, `id_conflict` if the log has a different message with the same key.
   */
  async sendMessage(
    content: string | UserMessage,
    options: SendOptions = {},
  ): Promise<readonly AppendedEvent[]> {
    checkOptionNames(options, 'key sender within')
    const { key, sender, within } = options
    // With the key of a missing header (null), a second message with the same text would not be appended.
    if (key !== undefined && (typeof key !== 'string' || key === ''))
      invalidArgument('key', 'must be a non-empty string')
    const id = key === undefined ? undefined : keyedId('message', this.id, key)
    const message = {
      ...userMessage(content),
      ...(id !== undefined && { id }),
      ...(sender !== undefined && { sender }),
    }
    return this.append(message, within === undefined ? {} : { within })
  }

  /** Pauses the conversation: an active run stops after its current step. See `resume`. */
  async pause(): Promise<readonly AppendedEvent[]> {
    return this.#decide((state) => decidePause(state, this.#engine.isRunning(this.id)))
  }

  /**
   * Stops the run at once, whichever process runs it: aborts its signal, and ends its pending calls in one
   * append. With `working`, also cancels background calls, which otherwise continue.
   */
  async interrupt(options: { readonly working?: boolean } = {}): Promise<readonly AppendedEvent[]> {
    checkOptionNames(options, 'working')
    // The run may be in another process. It holds a lease, unless it waits for working calls.
    const lease = await this.#engine.store.getLease(this.id)
    const leased = lease !== null && isOfRun(lease)
    // A run records the start of each call, so a call without this record had no effect.
    const isRecorded = leased && recordsStarts(lease.owner)
    const stopped = await this.#decide((state) => {
      const isLive = leased || this.#engine.isRunning(this.id)
      return decideInterrupt(state, isLive, isRecorded ? callsOfRun(state) : undefined)
    })
    if (options.working !== true) return stopped
    const calls = listWorkingCalls(await this.state())
    const cancelled = await Promise.all(calls.map(({ action }) => this.cancel(action.id)))
    return [...stopped, ...cancelled.flat()]
  }

  /** Ends a pause; call `run` to continue. A reply that arrived during the pause is used, not requested again. */
  async resume(): Promise<readonly AppendedEvent[]> {
    return this.#decide(decideResume)
  }

  /**
   * Approves pending calls, by the ids of their actions. The next run executes the approved calls.
   * @throws ColloquyError `unknown_call`.
   * @example
   * const provider = fakeProvider(playTurns([{ says: [{ call: 'ls', args: {} }] }]))
   * const client = new Anthropic({ apiKey: 'sk-ant', fetch: provider.fetch })
   * const ls = tool({ name: 'ls', description: 'Lists files.', parameters: z.object({}), execute: () => 'a.txt' })
   * const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 4096, tools: [ls] })
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create()
   * await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
   * await conversation.sendMessage('List the files.')
   * const waiting = await conversation.run(step)
   * waiting.status // 'waiting_for_confirmation'
   * const [call] = listPendingCalls(await conversation.state())
   * await conversation.approve([call.entry.id])
   * const { status } = await conversation.run(step)
   * status // 'finished'
   * await engine.close()
   */
  async approve(actionIds: readonly string[]): Promise<readonly AppendedEvent[]> {
    return this.#decide((state) => decideApprove(state, actionIds))
  }

  /**
   * Rejects pending calls, by default all pending calls of HEAD's branch. The model reads the reason
   * (default: `User rejected the action.`). @throws ColloquyError `unknown_call`.
   */
  async reject(actionIds?: readonly string[], reason?: string): Promise<readonly AppendedEvent[]> {
    return this.#decide((state) => checkEvents(decideReject(state, actionIds, reason)))
  }

  /**
   * Moves HEAD to an event, so that the next append continues from there. Null starts an empty branch.
   * @throws ColloquyError `unknown_event`; `already_running` during a run.
   */
  async navigate(eventId: string | null): Promise<readonly AppendedEvent[]> {
    return this.#decideAtRest((state) => decideNavigate(state, eventId))
  }

  /**
   * Moves HEAD so that its branch has the latest system prompt, but no message and no call. If a message or
   * call precedes the prompt, a copy of the prompt begins a new branch.
   * @throws ColloquyError `already_running`.
   */
  async restart(): Promise<readonly AppendedEvent[]> {
    return this.#decideAtRest(decideRestart)
  }

  /**
   * Appends a new version of a user's message, on a new branch. The old version stays on its own branch.
   * @throws ColloquyError `unknown_event` when no user's message has this id; `invalid_event`;
   *   `already_running` during a run.
   */
  async editAndResend(messageId: string, content: string | UserMessage): Promise<readonly AppendedEvent[]> {
    const [message] = checkEvents([userMessage(content)])
    return this.#decideAtRest((state) =>
      message?.kind === 'MessageEvent' ? decideEdit(state, messageId, message) : [],
    )
  }

  /**
   * Sets the confirmation policy, such as `{ kind: 'AlwaysConfirm' }`, of all later runs and forks; see
   * `toPolicy`. Null removes the policy.
   * @throws ColloquyError `invalid_argument`; `invalid_event` for a value that is not JSON.
   */
  async setConfirmationPolicy(policy: JsonObject | null): Promise<readonly AppendedEvent[]> {
    if (typeof policy !== 'object' || Array.isArray(policy))
      invalidArgument('policy', 'must be an object with a kind, or null')
    const [update] = checkEvents([policyUpdate(policy)])
    const { value = null } = update as ConversationStateUpdateEvent
    return this.#decide((state) => decidePolicy(state, value as JsonObject | null))
  }

  /**
   * Copies the log, or the path to an event, into a new conversation. The copy keeps the event ids and the
   * confirmation policy. By default it also has the title and owner, but no tags or metadata. Calls that wait
   * for a user's decision stay pending in the copy. Other calls without a result get an error as their result.
   * O(events).
   * @throws ColloquyError `unknown_event`, `conversation_exists`, `invalid_id`.
   */
  async fork(options: ForkOptions = {}): Promise<Conversation> {
    checkOptionNames(options, 'id title public tags metadata sandboxId owner from')
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
   * Waits until the conversation has one of these statuses, and returns its state. Returns at once if it
   * already has one of them.
   * @throws ColloquyError `closed` when the engine closes, `invalid_argument` for an empty list or an unknown
   *   status; the reason of `signal` if it aborts first. For a time limit pass `AbortSignal.timeout(ms)`.
   */
  async waitFor(
    status: Status | readonly Status[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<State> {
    checkOptionNames(options, 'signal')
    const wanted: readonly Status[] = typeof status === 'string' ? [status] : status
    // An unknown status or an empty list would never match.
    if (wanted.length === 0 || !wanted.every(isStatus))
      invalidArgument('status', `must be one or more of ${STATUSES.join(', ')}`)
    const signal = this.#orClosing(options.signal)
    return this.#engine.use(this.id, (replica) =>
      waitForState(replica, ({ header }) => wanted.includes(header.status), signal),
    )
  }

  /**
   * Ends a dead run: its pending calls get an error as their result, and the status becomes `error`. Does
   * nothing if the status is not `running`, or if a run holds the lease. A dead process holds its lease until
   * the lease expires. With `unheld`, even an expired lease prevents the recovery: only a conversation without
   * a lease, such as an imported one, is recovered. `run` also recovers a dead run.
   */
  async recover(options: { readonly unheld?: boolean } = {}): Promise<Recovery> {
    checkOptionNames(options, 'unheld')
    return recover(this.#engine, this.id, options.unheld)
  }

  /** Sends a delta to live readers; with `shareReplies`, in all processes. @throws `invalid_event`. */
  publish(delta: Event): void {
    this.#engine.check()
    this.#engine.publish(this.id, checkDelta(delta))
  }

  /**
   * Yields each event after `after` exactly once, in order, whichever process appended it: the stored events,
   * then `caught_up`, then live events. The deltas of a reply in progress are delivered too, from its beginning
   * or from the reader's offset (law B). O(log n + events).
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create()
   * await conversation.sendMessage('Hello')
   * for await (const item of conversation.subscribe({ after: -1 })) if (item.type === 'caught_up') break
   * await engine.close()
   */
  subscribe(options: SubscribeOptions = {}): AsyncGenerator<SubscriptionItem, void, undefined> {
    return returnable(this.#orClosing(options.signal), (signal) =>
      subscribe(this.#engine, this.id, { ...options, signal }),
    )
  }

  /**
   * Runs the agent: calls `step` until the conversation is finished, paused, stuck, in error or waiting for
   * confirmation. Each call of `step` executes approved calls, or calls the model if no call is approved. A
   * lease in the store allows one run at a time in all processes. After a dead run, `run` appends the error
   * `RunLost`, executes approved calls, ends other pending calls with an error unless they need confirmation,
   * and continues.
   *
   * The returned promise is also iterable: `for await` reads every event and delta, from the call of `run` to
   * the run's end, including events of other writers. Leaving the loop does not stop the run.
   * @throws ColloquyError `already_running` (with `owner` and `expiresAt` of the other run's lease), unless
   *   `wait` is set; `lease_lost`; `empty_view` if there is no message and no call; `invalid_argument`; the
   *   store's errors. An error of the step is not thrown: it ends the run in `error`.
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
   * const { header } = await conversation.waitFor(['finished', 'error'])
   * header.error // null
   * const messages = await conversation.messages()
   * messages.map(({ role }) => role) // ['user', 'assistant']
   * await engine.close()
   */
  run(step: Step, options: RunOptions = {}): Run {
    const begin = Promise.withResolvers<number>()
    const result = this.#run(step, options, begin.resolve)
    return Object.assign(result, {
      [Symbol.asyncIterator]: () =>
        returnable(undefined, (left) => this.#itemsOf(result, begin.promise, left)),
    })
  }

  /** Yields the items of a run up to its last event, or until `left` is aborted. @throws the run's error. */
  async *#itemsOf(
    result: Promise<RunResult>,
    begin: Promise<number>,
    left: AbortSignal,
  ): AsyncGenerator<RunItem, void, undefined> {
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
    const signal = AbortSignal.any([stop.signal, left])
    if (last < end)
      for await (const item of this.subscribe({ after: last, signal })) {
        if (item.type !== 'caught_up') yield item
        if (item.type === 'event') last = item.seq
        if (last >= end) break
      }
    if (!left.aborted) await result
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
          takeOverWork: (now, append) => takeOverWork(this.#engine, replica, resume, now, append),
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
   * Completes a working call, for example from a webhook or a queue. Call `run` afterwards, so that the model
   * reads the result. A repeated completion changes nothing. O(log n); O(n) if the call is working only on
   * another branch.
   * @param callId id of the call's action
   * @throws ColloquyError `unknown_call` if the call is not a working call; `invalid_argument`,
   *   `invalid_event`.
   */
  async complete(callId: string, result: string | CallCompletion): Promise<readonly AppendedEvent[]> {
    const completion: CallCompletion = typeof result === 'string' ? { content: result } : { ...result }
    checkOptionNames(completion, 'content outcome')
    const { content, outcome = 'done' } = completion
    return this.#decide((state) => checkEvents(decideComplete(state, callId, content, outcome)))
  }

  /** Aborts a call's work, even in another process; the call ends as cancelled. @throws the errors of `complete`. */
  async cancel(callId: string, reason = 'The call was cancelled.'): Promise<readonly AppendedEvent[]> {
    return this.#decide((state) => checkEvents(decideComplete(state, callId, reason, 'cancelled')))
  }

  /**
   * Appends progress of a working call, that is, a call with background work. The model does not see the
   * progress. A new `task` replaces the task that the tool's `resume` receives. Does nothing for other calls.
   */
  async reportProgress(callId: string, progress: ProgressReport): Promise<readonly AppendedEvent[]> {
    return this.#decide((state) => decideProgress(state, callId, progress))
  }

  /** Returns the records of the subagents' conversations, in order of creation. O(children). */
  async children(): Promise<readonly ConversationRecord[]> {
    this.#engine.check()
    return this.#engine.children(this.id)
  }

  /**
   * Replaces an event's texts, files, arguments and reasoning with placeholders: in the log, in search and in
   * the snapshot. Position, kind, time and references stay, so that the tree, calls and views stay valid.
   *
   * The other events of the same reply, and later replies on the event's branches, lose their signed reasoning.
   * Providers reject signed reasoning if earlier text has changed. A state update with the key `erased` records
   * the event, the reason and these replies, and makes other processes reread the log. The erasure can be
   * repeated. Copies of the content in forks, summaries and quotes are not erased. O(events).
   * @throws ColloquyError `unknown_event`; `invalid_argument` for a call that waits for its result, for a
   *   reason of more than 1,000 characters, or if the store cannot replace bodies.
   * @example
   * const engine = createEngine({ store: memoryStore() })
   * const conversation = await engine.create()
   * const [hello] = await conversation.sendMessage('My password is 1234')
   * await conversation.eraseEvent(hello.id, 'a password')
   * const { items } = await conversation.search()
   * items[0].fact.llm_message.content[0].text // '[erased]'
   * await engine.close()
   */
  async eraseEvent(id: string, reason = 'The content was erased.'): Promise<readonly AppendedEvent[]> {
    if (typeof reason !== 'string' || reason.length > MAX_REASON)
      invalidArgument('reason', `must be a string of at most ${MAX_REASON} characters`)
    const record = keyedId('erasure', this.id, String(id))
    return this.#engine.use(this.id, (replica) => replica.erase(id, record, reason))
  }

  /**
   * Returns the states of the conversation and all its subagents. Each state has every body, as
   * `toTreeTimeline`, `usageOfTree`, `toAtif` and `toSpans` require. O(events of all these conversations),
   * which are held in memory.
   */
  async tree(): Promise<StateTree> {
    this.#engine.check()
    return openTree(this.#engine, this.id)
  }

  /**
   * Subscribes to the conversation and all its subagents, from their first events. A subagent's items follow
   * the call that started it; otherwise items of different conversations are in no fixed order. A subagent
   * opened by another process is noticed within 250 ms. All their states are kept in memory.
   */
  subscribeTree(
    options: Pick<SubscribeOptions, 'signal'> = {},
  ): AsyncGenerator<TreeSubscriptionItem, void, undefined> {
    return returnable(this.#orClosing(options.signal), (signal) =>
      subscribeTree(this.#engine, this.id, { ...options, signal }),
    )
  }

  /** Deletes the conversation, its log and its subagents; ends their runs. Returns false if it does not exist. */
  async delete(): Promise<boolean> {
    return this.#engine.delete(this.id)
  }

  #orClosing(signal: AbortSignal | undefined): AbortSignal {
    checkSignal(signal)
    return signal === undefined ? this.#engine.closing : AbortSignal.any([this.#engine.closing, signal])
  }

  #decide(decide: Decision): Promise<readonly AppendedEvent[]> {
    return this.#engine.use(this.id, (replica) =>
      replica.commit(decide, { depends: true, failsAfterOutage: true }),
    )
  }

  /** Appends events that move HEAD. Throws during a run, because the run would continue on the wrong branch. */
  #decideAtRest(decide: Decision): Promise<readonly AppendedEvent[]> {
    return this.#engine.use(this.id, (replica) =>
      retryConflicts(async () => {
        const expected = (await replica.refresh()).log.entries.length
        await checkRest(this.#engine.store, replica, this.#engine.stamp.newId())
        // A run that begins after this check appends an event first, so the expected version conflicts.
        return replica.commit(decide, { expected, depends: true, failsAfterOutage: true })
      }),
    )
  }
}
