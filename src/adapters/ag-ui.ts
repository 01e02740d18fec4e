/** The entry `colloquy/ag-ui`: streams a conversation as AG-UI events, and appends an AG-UI run's input. */

import { EventType, type AGUIEvent, type Interrupt, type Message } from '@ag-ui/core'
import type { Conversation } from '../conversation/conversation.ts'
import type { Engine } from '../conversation/engine.ts'
import { eventResponse } from '../conversation/async.ts'
import { uiMessageStream, type UIStreamOptions } from '../conversation/ui-messages.ts'
import { checkOptionNames } from '../event/check-value.ts'
import { decideApprove } from '../conversation/decide.ts'
import { wholeEvent } from '../conversation/replica.ts'
import { canonicalJson } from '../event/encode.ts'
import { ColloquyError } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import { maskSecrets } from '../event/mask.ts'
import { isQuarantined } from '../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { type CallItem, toTimeline } from '../messages/timeline.ts'
import { replyParts } from '../messages/ui/write.ts'
import { granted } from '../state/call-status.ts'
import { listPendingCalls, listRunnableCalls } from '../state/read.ts'
import type { State } from '../state/state.ts'
import { allItems } from '../store/kit/query/page.ts'
import { chunkTranslator, eventsOfLogged, type LogDetail, SHARED_STATE } from './ag-ui-events.ts'
import { agUiMessages, messageEventOf } from './ag-ui-messages.ts'
import { Subagents } from './ag-ui-subagents.ts'

export { agUiMessages }

/** The run to stream, and what to include in the stream. */
export interface AgUiOptions extends Pick<UIStreamOptions, 'run' | 'signal' | 'onError'> {
  readonly input: {
    readonly threadId: string
    readonly runId: string
    /** Names of the client's tools. Waiting calls of these tools do not become interrupts. Default: none. */
    readonly clientTools?: readonly string[]
  }
  /** The conversation's engine, required to stream its subagents. Default: subagents are not streamed. */
  readonly engine?: Pick<Engine, 'open'>
  /**
   * `raw`: each event that is appended during the stream. `updates`: state updates other than shared state
   * and progress, as custom events. `encrypted`: signatures and encrypted reasoning. Default: none of these.
   */
  readonly details?: readonly LogDetail[]
}

/**
 * Yields a run as AG-UI events: `RUN_STARTED`, the shared state if there is one, a snapshot of the messages,
 * the streamed reply, state changes, and a final snapshot with event ids. The last event is `RUN_ERROR`, or
 * `RUN_FINISHED` with its outcome: success, cancelled, or an interrupt for each call that waits for a user.
 * After a disconnect, a client can start a new stream, and loses nothing. Ending the stream does not end the
 * run. O(branch) for a snapshot.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * await conversation.sendMessage('Hello')
 * const events = await Array.fromAsync(agUiEvents(conversation, { input: { threadId: 't', runId: 'r' } }))
 * events.map(({ type }) => type) // ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']
 * await engine.close()
 */
export function agUiEvents(
  conversation: Conversation,
  options: AgUiOptions,
): AsyncGenerator<AGUIEvent, void, undefined> {
  checkOptionNames(options, 'input run signal onError engine details')
  return streamRun(conversation, options)
}

async function* streamRun(
  conversation: Conversation,
  { input, run, signal, onError, engine, details = [] }: AgUiOptions,
): AsyncGenerator<AGUIEvent, void, undefined> {
  const { threadId, runId, clientTools = [] } = input
  const subagents = engine === undefined ? null : new Subagents(engine, conversation)
  const look = () =>
    conversation.read((state) => {
      const to = state.branch.lastUserMessage?.id ?? null
      return { state, messages: agUiMessages(state), to, from: to === null ? [] : replyParts(state, to) }
    })
  const snapshot = async (messages: Message[]): Promise<AGUIEvent> => ({
    type: EventType.MESSAGES_SNAPSHOT,
    messages: (await subagents?.withMessages(messages)) ?? messages,
  })
  let waiting = run
  try {
    yield { type: EventType.RUN_STARTED, threadId, runId }
    const shared = await sharedStateOf(conversation)
    if (shared !== null) yield { type: EventType.STATE_SNAPSHOT, snapshot: maskSecrets(shared.value) }
    for (let isOver = false; !isOver;) {
      // oxlint-disable-next-line no-await-in-loop
      const { state, messages, to, from } = await look()
      // oxlint-disable-next-line no-await-in-loop
      yield await snapshot(messages)
      const begin = waiting
      waiting = undefined
      if (to === null) break
      const translate = chunkTranslator(to, from)
      let length = state.log.entries.length
      const logged = async (): Promise<AGUIEvent[]> => {
        const result = await conversation.read((latest) => {
          const events = loggedSince(latest, length, new Set(details))
          length = latest.log.entries.length
          return events
        })
        return [...result, ...((await subagents?.advance()) ?? [])]
      }
      isOver = true
      const ended = new AbortController()
      const options = {
        to,
        from,
        ...(begin && { run: begin }),
        signal: signal === undefined ? ended.signal : AbortSignal.any([ended.signal, signal]),
        ...(onError && { onError }),
      }
      const chunks = uiMessageStream(conversation, options)
      for await (const chunk of subagents === null ? chunks : withPauses(chunks, ended)) {
        if (chunk?.type === 'error') {
          yield { type: EventType.RUN_ERROR, message: chunk.errorText }
          return
        }
        // The streamed step was withdrawn: begin again with a snapshot.
        if (chunk?.type === 'reset-step') {
          yield* translate(null)
          isOver = false
          break
        }
        if (chunk === null || !chunk.type.endsWith('-delta')) yield* await logged()
        if (chunk !== null) yield* translate(chunk)
      }
      yield* await logged()
      yield* translate(null)
    }
    const { state, messages } = await look()
    yield await snapshot(messages)
    const { status } = state.header
    if (status === 'error' || status === 'stuck')
      yield { type: EventType.RUN_ERROR, message: 'The run has failed.', code: status }
    else yield { type: EventType.RUN_FINISHED, threadId, runId, outcome: runOutcome(state, clientTools) }
  } finally {
    // If the client leaves before the reply, the run still starts.
    waiting?.().catch((error: unknown) => onError?.(error))
  }
}

/** Returns AG-UI events for the logged events from a position on. @throws ColloquyError `evicted`. */
function loggedSince(state: State, start: number, details: ReadonlySet<LogDetail>): AGUIEvent[] {
  const appended = state.log.entries.slice(start)
  if (appended.length === 0) return []
  const activities = new Map(agUiMessages(state).map((message) => [message.id, message]))
  return appended.flatMap((entry) => {
    const event = wholeEvent(entry)
    if (event === null) return []
    const message = activities.get(event.id ?? '')
    return eventsOfLogged(event, message?.role === 'activity' ? message : undefined, details)
  })
}

const POLL_INTERVAL = 200

/** Yields a generator's items, and null after every {@link POLL_INTERVAL} milliseconds without an item. */
async function* withPauses<T>(
  items: AsyncGenerator<T>,
  ended: AbortController,
): AsyncGenerator<T | null, void, undefined> {
  try {
    for (let next = items.next(); ;) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const pause = new Promise<null>((resolve) => {
        timer = setTimeout(() => resolve(null), POLL_INTERVAL)
      })
      // oxlint-disable-next-line no-await-in-loop
      const first = await Promise.race([next, pause])
      clearTimeout(timer)
      if (first?.done === true) return
      yield first === null ? null : first.value
      if (first !== null) next = items.next()
    }
  } finally {
    // Without this, the generator would end only with its next item.
    ended.abort()
    await items.return(undefined)
  }
}

/** Returns `agUiEvents` as a response of server-sent events, which AG-UI's `HttpAgent` reads. */
export const agUiResponse = (conversation: Conversation, options: AgUiOptions): Response =>
  eventResponse((signal) => agUiEvents(conversation, { ...options, signal }), options.signal, null)

/**
 * Appends the input of an AG-UI run: new user messages, results of the client's tools, a changed state, and
 * decisions in `resume`. Repeated input appends nothing. A message with the result of a call is ignored if
 * the server executes the call, or if `resume` decides about the call. Afterwards, run the conversation, and
 * pass the returned value to `agUiResponse` as `input`. O(input), and with `state` O(state updates since the
 * last change of the shared state).
 * @throws ColloquyError `invalid_argument` for an invalid input, `unknown_call` if `resume` names an unknown
 *   call, or a call that already has another decision.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * const messages = [{ id: 'm', role: 'user', content: 'Hello' }]
 * const posted = { threadId: 't', runId: 'r', messages, tools: [], context: [], state: {}, forwardedProps: {} }
 * const input = await receiveRunInput(conversation, posted)
 * input.runId // 'r'
 * agUiResponse(conversation, { input }).headers.get('content-type') // 'text/event-stream'
 * await engine.close()
 */
export async function receiveRunInput(
  conversation: Conversation,
  posted: unknown,
): Promise<AgUiOptions['input']> {
  const input = isObject(posted as JsonValue) ? (posted as JsonObject) : {}
  const { threadId, runId, messages } = input
  if (typeof threadId !== 'string' || typeof runId !== 'string' || !Array.isArray(messages))
    throw new ColloquyError('invalid_argument', 'Pass AG-UI input with `threadId`, `runId` and `messages`.')
  const resume = Array.isArray(input['resume']) ? input['resume'].filter(isObject) : []
  const decisions = new Map(resume.map((entry) => [String(entry['interruptId']), decisionOf(entry)]))
  const events = await conversation.read((state): Event[] => {
    const executed = state.header.callStatuses.filter(({ grant }) => grant !== 'held')
    // CopilotKit also posts a decision as the result of its call.
    const excluded = new Set([...decisions.keys(), ...executed.map(({ action_id }) => action_id)])
    const calls = listPendingCalls(state).filter(({ entry }) => !excluded.has(entry.id))
    const pending = new Map(calls.map(({ entry }) => [entry.id, entry.event]))
    const appended = messages
      .filter(isObject)
      .flatMap((message) => messageEventOf(message, state, pending) ?? [])
    // By sending the call's result, the user approves the call.
    const ended = appended.map((event) => (event.kind === 'ObservationEvent' ? event.action_id : null))
    const waiting = state.header.status === 'waiting_for_confirmation' ? listRunnableCalls(state) : []
    const approved = waiting.flatMap(({ id }) => (ended.includes(id) ? [id] : []))
    return [...decideApprove(state, approved), ...appended]
  })
  const value = input['state'] as JsonValue | undefined
  if (value !== undefined) {
    const shared = (await sharedStateOf(conversation)) ?? { value: {} }
    if (canonicalJson(shared.value) !== canonicalJson(value))
      events.push({ kind: 'ConversationStateUpdateEvent', source: 'user', key: SHARED_STATE, value })
  }
  if (events.length > 0) await conversation.append(events)
  for (const [id, { isApproved, reason }] of decisions) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of the client
    if (await conversation.read((state) => isDecided(state, id, isApproved))) continue
    // oxlint-disable-next-line no-await-in-loop
    await (isApproved ? conversation.approve([id]) : conversation.reject([id], reason))
  }
  const tools = Array.isArray(input['tools']) ? input['tools'].filter(isObject) : []
  return { threadId, runId, clientTools: tools.map(({ name }) => String(name)) }
}

/** Reads a decision. @throws `invalid_argument` for an unclear payload, so that no call runs by mistake. */
function decisionOf({ status, payload = null }: JsonObject) {
  const { approved, reason }: JsonObject = isObject(payload) ? payload : { approved: payload ?? true }
  if (status === 'resolved' && typeof approved !== 'boolean')
    throw new ColloquyError(
      'invalid_argument',
      'Cannot tell whether the user approves the call. Pass a payload in which `approved` is true or false.',
    )
  const isApproved = status === 'resolved' && approved === true
  return { isApproved, reason: typeof reason === 'string' ? reason : undefined }
}

/** Whether the call's result agrees with the decision, as when a client repeats its `resume`. */
function isDecided(state: State, id: string, isApproved: boolean): boolean {
  const call = toTimeline(state).find((item) => item.id === id && item.type === 'call') as
    | CallItem
    | undefined
  return call !== undefined && call.result !== null && isApproved === (call.status !== 'rejected')
}

async function sharedStateOf(conversation: Conversation): Promise<{ readonly value: JsonValue } | null> {
  const query = { kinds: ['ConversationStateUpdateEvent'], order: 'timestamp_desc' } as const
  for await (const { fact } of allItems((start) => conversation.search({ ...query, ...start })))
    if (!isQuarantined(fact) && fact.kind === 'ConversationStateUpdateEvent' && fact.key === SHARED_STATE)
      return { value: (fact.value ?? null) as JsonValue }
  return null
}

function runOutcome(
  state: State,
  clientTools: readonly string[],
): NonNullable<Extract<AGUIEvent, { type: EventType.RUN_FINISHED }>['outcome']> {
  const { status, callStatuses } = state.header
  if (status !== 'waiting_for_confirmation') return { type: status === 'paused' ? 'cancelled' : 'success' }
  const approved = granted(callStatuses, 'approved')
  const waiting = listRunnableCalls(state).filter(({ id }) => !approved.has(id))
  const interrupts = waiting.flatMap(({ id, event }): Interrupt[] => {
    const message = `May ${event.tool_name} run?`
    return clientTools.includes(event.tool_name) ? [] : [{ id, toolCallId: id, reason: 'tool_call', message }]
  })
  return interrupts.length > 0
    ? { type: 'interrupt', interrupts }
    : { type: 'success', pendingToolCallIds: waiting.map(({ id }) => id) }
}
