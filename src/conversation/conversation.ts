/** The live conversation that a server holds: commands append events, and state, view and messages stay current. */

import { hasCode } from '../event/errors.ts'
import type { JsonObject, Message } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event } from '../event/types.ts'
import type { MessageOptions, NeutralMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import { stateAt } from '../state/at.ts'
import type { State } from '../state/state.ts'
import { isStatus, type Status, STATUSES } from '../state/status.ts'
import type { ExpectedVersion } from '../store/contract/store.ts'
import { invalidArgument } from '../store/kit/query/check-value.ts'
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
import { checkDelta, checkEvents, keyedId } from './stamp.ts'
import { type ForkOptions, planFork, writeFork } from './fork.ts'
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
import type { AskChild, Step } from './run/step.ts'
import { askChild } from './subagent.ts'
import type { EngineContext } from './engine-context.ts'
import { subscribe, type SubscribeOptions, type SubscriptionItem } from './subscribe.ts'

/** How to send a message. */
export interface SendOptions {
  /** The client's own key: a message with a key that was sent before is not sent again (law S). */
  readonly key?: string
  /** Who says it, where several do. */
  readonly sender?: string
}

/**
 * A conversation of an engine. Any number of them, in any processes, may stand for one.
 *
 * Everything that appends returns the events that it appended, or that stood there already, and none when there was
 * nothing to do. Errors are `ColloquyError`s: `unknown_conversation`, `closed`, the store's, and each method's own.
 *
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

  /** @internal Made by an engine. */
  constructor(engine: EngineContext, id: string) {
    this.#engine = engine
    this.id = id
  }

  /** The state after the last event of the log, by any process. O(events that others have appended since). */
  async state(): Promise<State> {
    return this.#engine.use(this.id, (replica) => replica.refresh())
  }

  /** The same with its record, in one read; in none where `found` is given, its record as it was just read. */
  async look(found?: ConversationRecord): Promise<Look> {
    return this.#engine.use(this.id, (replica) => replica.look(found))
  }

  /**
   * The state at an event (law T). O(log n) when it is in memory; O(n) when it was evicted.
   * @throws ColloquyError `unknown_event`.
   */
  async stateAt(eventId: string): Promise<State> {
    return this.read((state) => stateAt(state, eventId))
  }

  /** What a pure function says of the state, as in `read(toTimeline)`; of what was evicted too, at O(n) then. */
  async read<T>(question: (state: State) => T): Promise<T> {
    return this.#engine.use(this.id, (replica) => replica.read(question))
  }

  /** What the model is sent, in the neutral form; the provider grammars take `state()`. O(view). */
  async messages(options?: MessageOptions): Promise<NeutralMessage[]> {
    return toMessages(await this.state(), options)
  }

  /** What the store knows of it beside its log. */
  async record(): Promise<ConversationRecord> {
    this.#engine.check()
    return recordIn(this.#engine.store, this.id)
  }

  /**
   * A page of its events, as `Store.search` finds them, in the form in which the other methods give events: plain JSON.
   * @throws ColloquyError `invalid_query`, `invalid_cursor`.
   */
  async search(query: Omit<EventQuery, 'conversationId'> = {}): Promise<Page<LoggedEvent>> {
    this.#engine.check()
    const page = await this.#engine.store.search({ ...query, conversationId: this.id })
    return { ...page, items: page.items.map(toLogged) }
  }

  /** Where each branch ends, and which holds HEAD. O(n). */
  async branches(): Promise<BranchInfo[]> {
    return listBranches(await this.state())
  }

  /**
   * Appends events, all or none. Those without an id, a time or a parent get one. Appending the same event again under
   * its id changes nothing. With an expected version the loser of a race gets `version_conflict`, and may look at
   * `state()` and try again; without one the append is made whatever others do. A result of a call on another branch is
   * appended there, and HEAD stays. O(log n) for each event.
   * @throws ColloquyError `invalid_event`, `transient_event`, `version_conflict`, `id_conflict`, `unknown_parent`,
   * `unknown_event`.
   */
  async append(
    given: Event | readonly Event[],
    options: { readonly expected?: ExpectedVersion } = {},
  ): Promise<readonly LoggedEvent[]> {
    const events = checkEvents(Array.isArray(given) ? Array.from(given) : [given])
    return this.#engine.use(this.id, (replica) =>
      replica.commit((state) => attachLateResults(state, events), {
        ...options,
        depends: mayBeLate(events),
      }),
    )
  }

  /** Appends a message of the user: a text, or a whole message. */
  async sendMessage(content: string | Message, options: SendOptions = {}): Promise<readonly LoggedEvent[]> {
    const { key, sender } = options
    const id = key === undefined ? undefined : keyedId('message', this.id, key)
    return this.append({
      ...userMessage(content),
      ...(id !== undefined && { id }),
      ...(sender !== undefined && { sender }),
    })
  }

  /** Lets a run stop after its current step. */
  async pause(): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => decidePause(state, this.#engine.isRunning(this.id)))
  }

  /**
   * Stops a run at once: its signal is aborted, and its pending calls are ended, in one batch. Calls that work on are
   * not, unless `working` says so: then they are cancelled.
   */
  async interrupt(options: { readonly working?: boolean } = {}): Promise<readonly LoggedEvent[]> {
    // The run may be another process's: its lease is there until it has ended.
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

  /** Ends a pause; to go on, run it. A reply that came in meanwhile is not asked for again. */
  async resume(): Promise<readonly LoggedEvent[]> {
    return this.#decide(decideResume)
  }

  /** Lets pending calls be executed, by their actions' ids, in the next run. @throws ColloquyError `unknown_call`. */
  async approve(actionIds: readonly string[]): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => decideApprove(state, actionIds))
  }

  /** Refuses pending calls, by default all of the branch. @throws ColloquyError `unknown_call`. */
  async reject(actionIds?: readonly string[], reason?: string): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => checkEvents(decideReject(state, actionIds, reason)))
  }

  /**
   * Moves HEAD to an event, or to the empty HEAD for null.
   * @throws ColloquyError `unknown_event`; `already_running` while a run is live.
   */
  async navigate(eventId: string | null): Promise<readonly LoggedEvent[]> {
    return this.#decideAtRest((state) => decideNavigate(state, eventId))
  }

  /** Moves HEAD to the branch's system prompt. @throws ColloquyError `already_running`. */
  async restart(): Promise<readonly LoggedEvent[]> {
    return this.#decideAtRest(decideRestart)
  }

  /**
   * Says a user's message in other words, on a branch of its own beside the old one.
   * @throws ColloquyError `unknown_event` when it is no user's message; `already_running`.
   */
  async editAndResend(messageId: string, content: string | Message): Promise<readonly LoggedEvent[]> {
    const [message] = checkEvents([userMessage(content)])
    return this.#decideAtRest((state) =>
      message?.kind === 'MessageEvent' ? decideEdit(state, messageId, message) : [],
    )
  }

  /**
   * Says which calls need a user's consent, in every run and fork: `{ kind: 'AlwaysConfirm' }`, see `toPolicy`.
   * @throws ColloquyError `invalid_event` for what is no JSON.
   */
  async setConfirmationPolicy(policy: JsonObject | null): Promise<readonly LoggedEvent[]> {
    if (typeof policy !== 'object' || Array.isArray(policy))
      invalidArgument('policy', 'must be an object with a kind, or null')
    const [update] = checkEvents([policyUpdate(policy)])
    const { value = null } = update as ConversationStateUpdateEvent
    return this.#decide((state) => decidePolicy(state, value as JsonObject | null))
  }

  /**
   * Copies it, or the path to an event, into a new conversation. Ids are kept, the confirmation policy comes along, and
   * calls that are open stay open and wait. O(events).
   * @throws ColloquyError `unknown_event`, `conversation_exists`, `invalid_id`.
   */
  async fork(options: ForkOptions = {}): Promise<Conversation> {
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
   * The first state from now on with one of these statuses; it may be the one that there is.
   * @throws the reason of `signal` when that is aborted first; give `AbortSignal.timeout(ms)` to wait no longer.
   * `closed` when the engine is, `invalid_argument` for a status that is none.
   */
  async waitFor(
    status: Status | readonly Status[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<State> {
    const wanted: readonly Status[] = typeof status === 'string' ? [status] : status
    // Of one that does not exist nothing would ever come.
    if (!wanted.every(isStatus)) invalidArgument('status', `must be one of ${STATUSES.join(', ')}`)
    const signal = this.#orClosing(options.signal)
    return this.#engine.use(this.id, (replica) =>
      waitForState(replica, ({ header }) => wanted.includes(header.status), signal),
    )
  }

  /**
   * Gives the pending calls of a run that died an error as their result, and sets error; unless its status is not
   * running, or a run is live, as a dead process's is until its lease expires. `run` takes over by itself.
   */
  async recover(): Promise<Recovery> {
    const { store } = this.#engine
    return this.#engine.use(this.id, (replica) => recover(store, replica, this.#engine.newBriefOwner()))
  }

  /** Gives a StreamingDeltaEvent to subscribers, with `shareReplies` of any process. @throws `invalid_event`. */
  publish(delta: Event): void {
    this.#engine.check()
    this.#engine.publish(this.id, checkDelta(delta))
  }

  /**
   * Every event after a position once, in order, first from the store, then live, of every writer; a `caught_up` when
   * all that stood there was given, and in between what is being said of a reply, from its beginning or from where the
   * reader was (law B).
   *
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
   * Runs it: `step` is called with the calls to execute, or with none to ask the model, until the conversation waits
   * for confirmation, is paused, finished, stuck or in error. One run at a time, in whatever process: it holds a lease
   * in the store. After a run that died it appends `RunLost`, ends the calls that it left with an error, executes those
   * approved since, and goes on.
   * @throws ColloquyError `already_running` (unless `wait` is set) with `owner` and `expiresAt` of the other run's
   * lease, `lease_lost`, `invalid_argument` for options that are none, and what the store throws; what the step throws
   * ends the run in error.
   */
  async run(step: Step, options: RunOptions = {}): Promise<RunResult> {
    checkRun(step, options)
    const { store } = this.#engine
    const ask: AskChild = (actionId, request) =>
      askChild(store, (id) => new Conversation(this.#engine, id), { id: this.id, actionId }, request)
    const resume: ResumeWork = (call, task, work) =>
      step.resume?.(call, task, { ...work, askChild: ask }) ?? null
    return this.#engine.whileRunning(this.id, (replica, owner) =>
      runLoop(
        {
          store,
          replica,
          step,
          owner,
          publish: (delta) => this.publish(delta),
          startWork: (call) => startWork(this.#engine, this.id, call),
          askChild: ask,
          takeOverWork: (append) => takeOverWork(this.#engine, replica, resume, append),
        },
        { ...options, signal: this.#orClosing(options.signal) },
      ),
    )
  }

  /**
   * Completes a call that works on, from outside of a run: a webhook, a queue, another process. The same call completed
   * again changes nothing, whoever does. The conversation then wants a run, as after a message of the user.
   * @param callId the id of the call's action
   * @throws ColloquyError `unknown_call` for one that does not work.
   */
  async complete(callId: string, result: string | CallCompletion): Promise<readonly LoggedEvent[]> {
    const { content, outcome = 'done' } = typeof result === 'string' ? { content: result } : result
    return this.#decide((state) => checkEvents(decideComplete(state, callId, content, outcome)))
  }

  /** Ends the work of a call, in whatever process, and completes it as cancelled. @throws as `complete`. */
  async cancel(callId: string, reason = 'The call was cancelled.'): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => checkEvents(decideComplete(state, callId, reason, 'cancelled')))
  }

  /**
   * Appends progress of a call that works on: live readers see it, no model does. A new `task` replaces its handle.
   * Nothing where the call does not work.
   */
  async reportProgress(callId: string, progress: ProgressReport): Promise<readonly LoggedEvent[]> {
    return this.#decide((state) => checkEvents(decideProgress(state, callId, progress)))
  }

  /** The conversations that its calls have opened, by `subagent`, in the order of their creation. O(children). */
  async children(): Promise<readonly ConversationRecord[]> {
    this.#engine.check()
    return this.#engine.children(this.id)
  }

  /** Deletes it with its log and its children; runs of them end. False when there was none. */
  async delete(): Promise<boolean> {
    return this.#engine.delete(this.id)
  }

  /** Aborted when the signal is, or the engine closes. */
  #orClosing(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#engine
    return signal === undefined ? closing : AbortSignal.any([closing, signal])
  }

  #decide(decide: Decision): Promise<readonly LoggedEvent[]> {
    return this.#engine.use(this.id, (replica) => replica.commit(decide, { depends: true }))
  }

  /** A run that goes on while HEAD moves under it would write on the wrong branch. */
  #decideAtRest(decide: Decision): Promise<readonly LoggedEvent[]> {
    return this.#engine.use(this.id, async (replica) => {
      for (;;) {
        const { header, log } = await replica.refresh()
        const { length } = log.entries
        await checkRest(this.#engine.store, this.id, this.#engine.newBriefOwner(), header.status)
        try {
          // A run that begins after the look appends something first, so that this version is gone.
          return await replica.commit(decide, { expected: length, depends: true })
        } catch (error) {
          if (!hasCode(error, 'version_conflict')) throw error
        }
      }
    })
  }
}
