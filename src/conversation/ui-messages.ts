import { canonicalJson } from '../event/encode.ts'
import { hasCode } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { ActionEvent, MessageEvent, Event } from '../event/types.ts'
import { anchorOf, type Entry, type EventEntry, isOnPathIn, loadedEvent } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { PAGE_OUTPUT } from '../messages/timeline.ts'
import { readToolResult } from '../messages/tool-result.ts'
import { fromUIMessage } from '../messages/ui/read.ts'
import type { UIPart, UIChunk, UIReasoningPart, UITextPart } from '../messages/ui/types.ts'
import { granted } from '../state/call-status.ts'
import { reduce } from '../state/reduce.ts'
import type { State } from '../state/state.ts'
import { retryConflicts } from '../store/kit/items.ts'
import { checkOptionNames, invalidArgument } from '../event/check-value.ts'
import { eventResponse } from './async.ts'
import { appendDecided, type Conversation } from './conversation.ts'
import type { RunOptions } from './run/options.ts'
import { decideApprove, decideEdit, decideReject, isExecuting, openCallsOf } from './decide.ts'
import { keyedId } from '../event/ids.ts'
import { isExecutable } from './turn.ts'
import { isOfReply } from '../event/reply.ts'
import { advance, withLive } from '../messages/ui/chunks.ts'
import { mapStrings } from '../messages/resolve-blobs.ts'
import { replyId, replyParts, stringsByAddress, type UIMessagesOptions } from '../messages/ui/write.ts'
import type { Status } from '../state/status.ts'
import type { SubscriptionItem } from './subscribe.ts'

export interface UIStreamOptions extends UIMessagesOptions {
  /** Id of the user's message whose reply is streamed. Default: the latest on HEAD's branch. */
  readonly to?: string
  /** Parts of the reply that the client already has. Default: none. */
  readonly from?: readonly UIPart[]
  /**
   * Starts the run that makes the reply. Called once: when the stream has subscribed, or when the stream ends
   * before it subscribes. The stream ends when the promise settles, with an error if the promise rejects. If
   * another run makes the reply, the stream ends with that run. Default: starts no run, and the stream ends
   * when no run is active. The default also recovers a conversation whose status is `running` without a lease,
   * as after an import.
   */
  readonly run?: () => Promise<unknown>
  /**
   * `settled` keeps the stream open while there are working calls, and streams the replies to their
   * completions. Default: `replied`.
   */
  readonly until?: RunOptions['until']
  /** Aborting it ends the stream. */
  readonly signal?: AbortSignal
  /**
   * Called with the cause when the stream fails or `run` rejects, even after the stream's end. The client
   * does not receive the cause. Default: none.
   */
  readonly onError?: (error: unknown) => void
}

type Live = readonly (UITextPart | UIReasoningPart)[]

const FINISH: Partial<Record<Status, Extract<UIChunk, { type: 'finish' }>['finishReason']>> = {
  finished: 'stop',
  waiting_for_confirmation: 'tool-calls',
  paused: 'interrupted',
  error: 'error',
  stuck: 'error',
}

/**
 * Yields the reply to a user's message as chunks of the AI SDK: existing parts, then new parts until no run
 * is active. New parts arrive token by token if the step publishes deltas. Ending the stream does not stop
 * the run; `conversation.interrupt()` does. If HEAD leaves the message's branch, or the log cannot be read,
 * an error chunk ends the stream. Yields nothing without a user message. O(reply + view) per event.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * await conversation.sendMessage('Hello')
 * const llm_message = { role: 'assistant', content: [{ text: 'Hi!' }] }
 * const step = () => [{ kind: 'MessageEvent', source: 'agent', llm_message }]
 * const run = () => conversation.run(step)
 * const chunks = await Array.fromAsync(uiMessageStream(conversation, { run }))
 * chunks.map(({ type }) => type) // ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish']
 * await engine.close()
 */
export function uiMessageStream(
  conversation: Conversation,
  options: UIStreamOptions = {},
): AsyncGenerator<UIChunk, void, undefined> {
  checkOptionNames(options, 'to from run until signal onError pageTools blobs service')
  return streamReply(conversation, options)
}

async function* streamReply(
  conversation: Conversation,
  options: UIStreamOptions,
): AsyncGenerator<UIChunk, void, undefined> {
  const ended = new AbortController()
  const signal = options.signal === undefined ? ended.signal : AbortSignal.any([ended.signal, options.signal])
  let run: Promise<Failure | null> | null = null
  // An imported log can have the status `running` without a run. Only a recovery can end this status.
  const { run: perform = () => conversation.recover({ unheld: true }), onError } = options
  const begin = (): Promise<Failure | null> => (run ??= settledRun(perform, onError))
  const items = followRun(conversation, begin, signal, options.until)
  try {
    let state = await conversation.state()
    const to = options.to ?? state.branch.lastUserMessage?.id
    if (to === undefined) return
    yield { type: 'start', messageId: replyId(to) }
    let shown: readonly UIPart[] = options.from ?? []
    let stored: readonly UIPart[] = []
    let live: Live = []
    let reply = ''
    for await (const item of items) {
      if (item.type === 'delta') {
        if (state.branch.lastUserMessage?.id !== to) continue
        // A reply that was cut off has no end event.
        live = withDelta(item.offset.reply === reply ? live : [], item.event)
        ;({ reply } = item.offset)
      } else {
        // An event of the reply contains all that was streamed before it.
        const current = await conversation.read((read) => ({
          state: read,
          stored: isOnBranch(read, to) ? replyParts(read, to, options) : null,
        }))
        ;({ state } = current)
        if (current.stored === null) break
        ;({ stored } = current)
        if (item.type === 'event' && live.length > 0 && hasReplySince(state, item.seq)) live = []
        if (item.type === 'settled') live = []
      }
      const next = advance(shown, withLive(stored, live, state.header.status === 'paused'))
      if (next === null) break
      yield* next.chunks
      ;({ parts: shown } = next)
      if (item.type === 'settled') {
        const { status, error } = state.header
        if (error !== null) yield { type: 'error', errorText: error.detail }
        // The run never started.
        else if (item.failure !== null && status === 'idle') yield { type: 'error', errorText: BROKEN }
        yield { type: 'finish', finishReason: FINISH[status] ?? 'other' }
        return
      }
    }
    if (!signal.aborted) yield { type: 'error', errorText: CONVERSATION_CHANGED }
  } catch (error) {
    // `settledRun` has already reported the run's error.
    if (!(error instanceof RunFailed)) options.onError?.(error)
    yield { type: 'error', errorText: BROKEN }
  } finally {
    ended.abort()
    await items.return()
    void begin()
  }
}

interface Failure {
  readonly error: unknown
}

class RunFailed extends Error {}

async function settledRun(
  run: () => Promise<unknown>,
  onError: UIStreamOptions['onError'],
): Promise<Failure | null> {
  try {
    await run()
    return null
  } catch (error) {
    // An error of the callback becomes an unhandled rejection.
    void (async () => onError?.(error))()
    return { error }
  }
}

const isElsewhere = ({ error }: Failure): boolean =>
  hasCode(error, 'already_running') || hasCode(error, 'lease_lost')

const CONVERSATION_CHANGED = 'The conversation has changed. Load it again.'
const BROKEN = 'The stream ended unexpectedly. Load the conversation again.'

async function* followRun(
  conversation: Conversation,
  run: () => Promise<Failure | null>,
  signal: AbortSignal,
  until: RunOptions['until'],
): AsyncGenerator<
  SubscriptionItem | { readonly type: 'settled'; readonly failure: Failure | null },
  void,
  undefined
> {
  const { log } = await conversation.state()
  const items = conversation.subscribe({ after: log.entries.length - 1, signal })
  let wake: ((result: null) => void) | null = null
  let isSettled = false
  let failure: Failure | null = null
  const settle = (outcome: Failure | null): void => {
    isSettled = true
    failure = outcome
    wake?.(null)
  }
  let next = items.next()
  let isNews = true
  let wasSettled = false
  try {
    for (;;) {
      if (failure !== null && !isElsewhere(failure)) throw new RunFailed()
      // The run can end while a delta is delivered. Then no other item follows.
      const isNewState = isSettled && (isNews || !wasSettled)
      wasSettled = isSettled
      if (isNewState && !isActive(await conversation.state(), until)) break
      const result = await new Promise<Awaited<typeof next> | null>((resolve, reject) => {
        wake = resolve
        if (isSettled !== wasSettled) resolve(null)
        next.then(resolve, reject)
      })
      isNews = result?.value?.type !== 'delta'
      if (result === null) continue
      if (result.done === true) return
      yield result.value
      if (result.value.type === 'caught_up') void run().then(settle)
      next = items.next()
    }
    yield { type: 'settled', failure }
  } finally {
    next.catch(() => undefined)
    void items.return().catch(() => undefined)
  }
}

/** Whether the reply can still grow: by a run, a working call, or the run that will answer a completion. */
function isActive({ header: { status }, branch }: State, until: RunOptions['until']): boolean {
  if (status === 'running' || until !== 'settled') return status === 'running'
  if (status === 'finished') return branch.workingCalls !== null
  const last = branch.view.units.last()
  return status === 'idle' && last?.type === 'message' && last.completes !== undefined
}

function withDelta(live: Live, delta: Event): Live {
  if (delta.kind !== 'StreamingDeltaEvent') return live
  return withText(withText(live, 'reasoning', delta.reasoning_content), 'text', delta.content)
}

function withText(live: Live, type: 'reasoning' | 'text', text: string | null | undefined): Live {
  if (text === null || text === undefined || text === '') return live
  const state = 'streaming'
  if (!live.some((part) => part.type === type))
    return [...live, type === 'text' ? { type, text: text, state } : { type, id: '', text: text, state }]
  return live.map((part) => (part.type === type ? { ...part, text: part.text + text } : part))
}

function hasReplySince({ log: { entries } }: State, from: number): boolean {
  for (let seq = from; seq < entries.length; seq += 1) {
    const event = entries.get(seq)?.event ?? null
    if (event !== null && isOfReply(event)) return true
  }
  return false
}

function isOnBranch({ log }: State, id: string): boolean {
  const entry = findEventIn(log, id)
  return entry !== undefined && isOnPathIn(entry, log.head)
}

/**
 * Returns a `Response` with server-sent events for the AI SDK's `DefaultChatTransport`. Handlers of Hono,
 * Next, Bun and Deno can return it. In Express, copy the headers and call `pipeline` of `node:stream` with
 * `Readable.fromWeb(response.body)`, `res` and a callback. A disconnect ends the response, not the run.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * await conversation.sendMessage('Hello')
 * const response = uiMessageResponse(conversation)
 * response.headers.get('x-vercel-ai-ui-message-stream') // 'v1'
 * await response.body.cancel()
 * await engine.close()
 */
export const uiMessageResponse = (conversation: Conversation, options: UIStreamOptions = {}): Response =>
  eventResponse((signal) => uiMessageStream(conversation, { ...options, signal }), options.signal, '[DONE]', {
    'x-vercel-ai-ui-message-stream': 'v1',
  })

export interface UIReceiveOptions extends UIMessagesOptions {
  /**
   * What a new message does to calls that wait for confirmation. `reject` (default) rejects them, so that the
   * message gets a reply. `keep` leaves them waiting, and the reply follows the user's decision.
   */
  readonly waiting?: 'reject' | 'keep'
}

/**
 * Stores what `useChat` posted, and returns which reply to stream. A new message is appended under its id,
 * and by default rejects the calls that wait for confirmation (`waiting`). An edited message is appended on a
 * new branch. A repeated post appends nothing. `regenerate` moves HEAD back to the latest version of the
 * user's message. Decisions about calls, and outputs of `pageTools`, are read from all assistant messages.
 * Run the conversation afterwards. O(depth) for `regenerate` after an edit.
 * @throws ColloquyError `invalid_argument` for an invalid body; `already_running` for an edit or `regenerate`
 *   during a run; the errors of `append`.
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
 * await receiveUIMessages(conversation, { messages: [message], trigger: 'submit-message' }) // { to: 'm' }
 * await engine.close()
 */
export async function receiveUIMessages(
  conversation: Conversation,
  posted: unknown,
  options: UIReceiveOptions = {},
): Promise<Pick<UIStreamOptions, 'to' | 'from'>> {
  checkOptionNames(options, 'waiting pageTools blobs service')
  const { waiting = 'reject' } = options
  if (waiting !== 'reject' && waiting !== 'keep') invalidArgument('waiting', "must be 'reject' or 'keep'")
  const { messages, trigger, messageId } = isObject(posted as JsonValue) ? (posted as JsonObject) : {}
  const list = Array.isArray(messages) ? (messages as JsonValue[]) : []
  const last = list.at(-1)
  if (!isObject(last)) invalidArgument('messages', 'must be a list of messages')
  const parts = list.flatMap(assistantParts)
  if (last['role'] === 'assistant') {
    await appendDecided(conversation, (state) => decisionsIn(state, parts, options))
    return { from: assistantParts(last) as unknown as UIPart[] }
  }
  const event = fromUIMessage(await withStrings(conversation, last, options))
  const { id } = event
  const isKnown = id !== undefined && findEventIn((await conversation.state()).log, id) !== undefined
  if (isKnown && trigger === 'regenerate-message') {
    const to = await conversation.read((state) => latestVersion(state, id))
    await conversation.navigate(to)
    return { to }
  }
  const isEdit = messageId === id && !(await conversation.read((state) => isLatest(state, event)))
  if (isKnown && isEdit) return { to: await edit(conversation, id, event) }
  if (isKnown) {
    await conversation.append(event)
    return { to: id }
  }
  const message = { ...event, id: id ?? crypto.randomUUID() }
  await appendDecided(conversation, (state) => {
    if (findEventIn(state.log, message.id) !== undefined) return []
    const decided = decisionsIn(state, parts, options)
    const after = decided.reduce<State>(reduce, state)
    const approved = granted(after.header.callStatuses, 'approved')
    const undecided = openCallsOf(after).flatMap(({ id }) => (approved.has(id) ? [] : [id]))
    const waits = waiting === 'reject' && after.header.status === 'waiting_for_confirmation'
    return [...decided, ...(waits ? decideReject(after, undecided, SENT_INSTEAD) : []), message]
  })
  return { to: message.id }
}

/** Returns a posted message in which the addresses of long strings are replaced by the strings. */
const withStrings = (
  conversation: Conversation,
  message: JsonObject,
  options: UIMessagesOptions,
): Promise<JsonObject> =>
  conversation.read(({ log }) => {
    const entry = typeof message['id'] === 'string' ? findEventIn(log, message['id']) : undefined
    const event =
      options.blobs === 'refs' && entry !== undefined ? loadedEvent(entry, ['MessageEvent']) : null
    if (event?.kind !== 'MessageEvent') return message
    const strings = stringsByAddress(event, conversation.id, options)
    return mapStrings(message, (text) => strings.get(text) ?? text) as JsonObject
  })

/** Whether a message is the branch's latest user message, which `sendMessage()` of the AI SDK repeats on errors. */
function isLatest({ branch: { lastUserMessage } }: State, { id, llm_message }: MessageEvent): boolean {
  const content = lastUserMessage?.event.llm_message.content ?? []
  return lastUserMessage?.id === id && canonicalJson(content) === canonicalJson(llm_message.content ?? [])
}

const SENT_INSTEAD = 'The user sent a message instead of approving the call.'

const assistantParts = (message: JsonValue): readonly JsonValue[] =>
  isObject(message) && message['role'] === 'assistant' && Array.isArray(message['parts'])
    ? (message['parts'] as JsonValue[])
    : []

/** Returns the id of a message's latest version on HEAD's branch. After an edit, clients keep the old id. */
function latestVersion({ log }: State, messageId: string): string {
  const message = findEventIn(log, messageId)
  if (message === undefined || isOnPathIn(message, log.head)) return messageId
  const before = anchorOf(message.parent)
  let entry: Entry | null = log.head
  // Both versions follow the same event, if state updates in between are ignored.
  for (; entry !== null && entry !== before; entry = entry.parent)
    if (anchorOf(entry.parent) === before && isOfUser(entry)) return entry.id ?? messageId
  return messageId
}

function isOfUser(entry: Entry): boolean {
  const event = loadedEvent(entry, ['MessageEvent'])
  return event?.kind === 'MessageEvent' && event.source === 'user'
}

async function edit(conversation: Conversation, messageId: string, message: MessageEvent): Promise<string> {
  const id = keyedId('edit', conversation.id, `${messageId}\n${canonicalJson(message.llm_message)}`)
  return retryConflicts(async () => {
    const { state, events } = await conversation.read((state) => ({
      state,
      events:
        findEventIn(state.log, id) === undefined ? decideEdit(state, messageId, { ...message, id }) : null,
    }))
    if (events === null) {
      // Already appended: return to it if HEAD has moved on.
      if (state.branch.lastUserMessage?.id !== id) await conversation.navigate(id)
      return id
    }
    // Appends nothing, but throws during a run.
    await conversation.navigate(state.log.head?.id ?? null)
    // A run that began after this check has appended an event, so this append fails with a conflict.
    await conversation.append(events, { expected: state.log.entries.length })
    return id
  }, 'id_conflict')
}

function decisionsIn(
  state: State,
  parts: readonly JsonValue[],
  { pageTools = [] }: UIMessagesOptions,
): readonly Event[] {
  const events: Event[] = []
  let current = state
  const add = (more: readonly Event[]): void => {
    current = more.reduce<State>(reduce, current)
    events.push(...more)
  }
  for (const part of parts) {
    if (!isObject(part)) continue
    const { state: partState, approval, toolCallId } = part
    const callId = isObject(approval) && partState === 'approval-responded' ? approval['id'] : toolCallId
    // A decision may be posted again after the call has its result.
    const call = openCallsOf(current).find(({ id }) => id === callId)
    if (call === undefined) continue
    if (isObject(approval) && partState === 'approval-responded') {
      const { approved, reason } = approval
      // A call that is being executed gets its own result.
      if (approved !== true && !isExecuting(current, call.id))
        add(decideReject(current, [call.id], typeof reason === 'string' ? reason : undefined))
      else if (approved === true && isExecutable(call.event)) add(decideApprove(current, [call.id]))
      continue
    }
    const result = pageTools.includes(call.event.tool_name) ? pageResult(call, part) : null
    if (result === null) continue
    // By sending the call's output, the user approves the call.
    const isWaiting = current.header.status === 'waiting_for_confirmation' && isExecutable(call.event)
    add([...(isWaiting ? decideApprove(current, [call.id]) : []), result])
  }
  return events
}

function pageResult({ id, event }: EventEntry<ActionEvent>, part: JsonObject): Event | null {
  const { state, output, errorText } = part
  const call = { tool_name: event.tool_name, tool_call_id: event.tool_call_id }
  if (state === 'output-error')
    return {
      kind: 'AgentErrorEvent',
      ...call,
      error: typeof errorText === 'string' ? errorText : 'It failed.',
    }
  if (state !== 'output-available' || output === undefined) return null
  const { content = [], is_error } = readToolResult(output, {})
  const observation = { kind: PAGE_OUTPUT, content, output, ...(is_error === true && { is_error }) }
  return { kind: 'ObservationEvent', source: 'environment', ...call, action_id: id, observation }
}
