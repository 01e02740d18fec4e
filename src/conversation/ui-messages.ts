/** The UI message protocol of the AI SDK: its stream, and what its client sends. */

import { canonicalJson } from '../event/encode.ts'
import { hasCode } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { ActionEvent, MessageEvent, Event } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { anchorOf, type Entry, type EventEntry, loadedEvent } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { PAGE_OUTPUT } from '../messages/timeline.ts'
import { fromUIMessage } from '../messages/ui/read.ts'
import type { UIPart, UIChunk, UIReasoningPart, UITextPart } from '../messages/ui/types.ts'
import { granted } from '../state/call-status.ts'
import { reduce } from '../state/reduce.ts'
import type { State } from '../state/state.ts'
import { checkOptionNames, invalidArgument } from '../store/kit/query/check-value.ts'
import type { Conversation } from './conversation.ts'
import { decideApprove, decideEdit, decideReject, openCallsOf } from './decide.ts'
import { keyedId } from './stamp.ts'
import { isExecutable } from './turn.ts'
import { isOfReply } from '../event/reply.ts'
import { advance, withLive } from '../messages/ui/chunks.ts'
import { replyId, replyParts, type UIMessagesOptions } from '../messages/ui/write.ts'
import type { Status } from '../state/status.ts'
import type { SubscriptionItem } from './subscribe.ts'

/** Which reply to stream, and until when. */
export interface UIStreamOptions extends UIMessagesOptions {
  /** Id of the user's message. Default: the latest on HEAD's branch. */
  readonly to?: string
  /** What the client has of the reply already: the parts of its last message. Default: nothing. */
  readonly from?: readonly UIPart[]
  /**
   * Begins the run that makes it, once the stream hears every word, and also where the client has gone before: the
   * stream ends when it has settled, and nothing runs. Where it rejects, the stream breaks off with an error, unless
   * another run makes the reply. Default: none, and the stream ends when nothing runs.
   */
  readonly run?: () => Promise<unknown>
  /** Ends the stream, and nothing else: the run goes on. */
  readonly signal?: AbortSignal
  /**
   * Told why a stream broke off, of which its client reads only that it did, and what `run` rejects with, also behind
   * the end of the stream. Default: nothing is told.
   */
  readonly onError?: (error: unknown) => void
}

/** What has come of a reply that is in no event yet. */
type Live = readonly (UITextPart | UIReasoningPart)[]

const FINISH: Partial<Record<Status, Extract<UIChunk, { type: 'finish' }>['finishReason']>> = {
  finished: 'stop',
  waiting_for_confirmation: 'tool-calls',
  paused: 'interrupted',
  error: 'error',
  stuck: 'error',
}

/**
 * The reply to a user's message as chunks of the AI SDK: what there is of it, then what comes, word by word where its
 * step publishes deltas, until nothing runs. Ending the stream stops nothing: that is what
 * `conversation.interrupt()` does. When HEAD leaves the branch, or the log can no longer be read, a chunk says so, and
 * the stream ends. O(reply + view) for each event.
 *
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
export async function* uiMessageStream(
  conversation: Conversation,
  options: UIStreamOptions = {},
): AsyncGenerator<UIChunk, void, undefined> {
  const left = new AbortController()
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([left.signal, options.signal])
  let run: Promise<Failure | null> | null = null
  const begin = (): Promise<Failure | null> => (run ??= outcomeOf(options))
  const items = follow(conversation, begin, signal)
  try {
    let state = await conversation.state()
    const to = options.to ?? state.branch.lastUserMessage?.id
    if (to === undefined) return
    yield { type: 'start', messageId: replyId(to) }
    let shown: readonly UIPart[] = options.from ?? []
    let said: readonly UIPart[] = []
    let live: Live = []
    let reply = ''
    for await (const item of items) {
      if (item.type === 'delta') {
        if (state.branch.lastUserMessage?.id !== to) continue
        // One that broke off has no end.
        live = withDelta(item.said.reply === reply ? live : [], item.event)
        ;({ reply } = item.said)
      } else {
        // An event of the reply holds all that was streamed before it.
        const now = await conversation.read((read) => ({
          state: read,
          said: isOnBranch(read, to) ? replyParts(read, to, options) : null,
        }))
        ;({ state } = now)
        if (now.said === null) break
        ;({ said } = now)
        if (item.type === 'event' && live.length > 0 && hasReplySince(state, item.seq)) live = []
        if (item.type === 'settled') live = []
      }
      const next = advance(shown, withLive(said, live, state.header.status === 'paused'))
      if (next === null) break
      yield* next.chunks
      ;({ shown } = next)
      if (item.type === 'settled') {
        const { status, error } = state.header
        if (error !== null) yield { type: 'error', errorText: error.detail }
        // Nothing has run.
        else if (item.failure !== null && status === 'idle') yield { type: 'error', errorText: BROKEN }
        yield { type: 'finish', finishReason: FINISH[status] ?? 'other' }
        return
      }
    }
    if (!signal.aborted) yield { type: 'error', errorText: CHANGED }
  } catch (error) {
    // Of the run it was told already.
    if (!(error instanceof RunFailed)) options.onError?.(error)
    yield { type: 'error', errorText: BROKEN }
  } finally {
    left.abort()
    await items.return()
    void begin()
  }
}

/** What a run has rejected with. */
interface Failure {
  readonly error: unknown
}

class RunFailed extends Error {}

/** Runs it; null where that does not reject. */
async function outcomeOf({ run, onError }: UIStreamOptions): Promise<Failure | null> {
  try {
    await run?.()
    return null
  } catch (error) {
    // What it throws becomes a rejection that nothing handles.
    void (async () => onError?.(error))()
    return { error }
  }
}

/** Whether another run is at work instead. */
const isElsewhere = ({ error }: Failure): boolean =>
  hasCode(error, 'already_running') || hasCode(error, 'lease_lost')

const CHANGED = 'The conversation has changed; load it again.'
const BROKEN = 'The stream broke off; load the conversation again.'

/** News of a conversation until nothing runs, and then that it has settled. */
async function* follow(
  conversation: Conversation,
  run: () => Promise<Failure | null>,
  signal: AbortSignal,
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
  const settle = (found: Failure | null): void => {
    isSettled = true
    failure = found
    wake?.(null)
  }
  let next = items.next()
  let isNews = true
  try {
    for (;;) {
      if (failure !== null && !isElsewhere(failure)) throw new RunFailed()
      if (isSettled && isNews && (await conversation.state()).header.status !== 'running') break
      const wasSettled = isSettled
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

function withDelta(live: Live, delta: Event): Live {
  if (delta.kind !== 'StreamingDeltaEvent') return live
  return withWords(withWords(live, 'reasoning', delta.reasoning_content), 'text', delta.content)
}

function withWords(live: Live, type: 'reasoning' | 'text', words: string | null | undefined): Live {
  if (words === null || words === undefined || words === '') return live
  const state = 'streaming'
  if (!live.some((part) => part.type === type))
    return [...live, type === 'text' ? { type, text: words, state } : { type, id: '', text: words, state }]
  return live.map((part) => (part.type === type ? { ...part, text: part.text + words } : part))
}

/** Whether an event of a reply is in the log, from a position on: the state may be ahead of what was read. */
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
 * The same as a response of server-sent events, as the AI SDK's `DefaultChatTransport` reads it: what a handler of
 * Hono, Next, Bun or Deno returns; in Express `Readable.fromWeb(response.body).pipe(res)` behind its headers. A client
 * that goes away ends the response, not the run.
 *
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * await conversation.sendMessage('Hello')
 * const response = uiMessageResponse(conversation)
 * response.headers.get('x-vercel-ai-ui-message-stream') // 'v1'
 * await response.body.cancel()
 * await engine.close()
 */
export function uiMessageResponse(conversation: Conversation, options: UIStreamOptions = {}): Response {
  const left = new AbortController()
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([left.signal, options.signal])
  const chunks = uiMessageStream(conversation, { ...options, signal })
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      controller.enqueue(encoder.encode(`data: ${done === true ? '[DONE]' : JSON.stringify(value)}\n\n`))
      if (done === true) controller.close()
    },
    async cancel() {
      left.abort()
      await chunks.return()
    },
  })
  return new Response(body, { headers: HEADERS })
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-vercel-ai-ui-message-stream': 'v1',
  // Asks proxies that hold responses back not to.
  'x-accel-buffering': 'no',
}

/** How to read what a page posts. */
export interface UIReceiveOptions extends UIMessagesOptions {
  /**
   * What becomes of calls that wait for their user when the user sends a message instead: `reject` (default) rejects
   * them and gives that as the reason, so that the message gets a reply; with `keep` they wait on, and it gets none
   * before they are decided.
   */
  readonly waiting?: 'reject' | 'keep'
}

/**
 * Takes in what `useChat` has posted, and returns which reply to stream. A new message is appended under its own id,
 * once however often it is posted; an edited one is appended on a branch of its own, once too; `regenerate` goes back to
 * the latest version of the message. What the user has decided about calls is read in all messages of the assistant,
 * and so are the outputs of `pageTools`. Run the conversation then. O(depth) for `regenerate` behind an edit.
 *
 * @throws ColloquyError `invalid_argument` for an invalid body, `already_running` while a run is live and the past would
 * be changed, and what appending throws.
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
  checkOptionNames(options, { waiting: true, pageTools: true } satisfies Record<keyof UIReceiveOptions, true>)
  const { waiting = 'reject' } = options
  if (waiting !== 'reject' && waiting !== 'keep') invalidArgument('waiting', 'must be reject or keep')
  const { messages, trigger, messageId } = isObject(posted as JsonValue) ? (posted as JsonObject) : {}
  const list = Array.isArray(messages) ? (messages as JsonValue[]) : []
  const last = list.at(-1)
  if (!isObject(last)) invalidArgument('messages', 'must be a list of messages')
  const parts = list.flatMap(assistantParts)
  if (last['role'] === 'assistant') {
    await appendDecided(conversation, (state) => decisionsIn(state, parts, options))
    return { from: assistantParts(last) as unknown as UIPart[] }
  }
  const event = fromUIMessage(last)
  const { id } = event
  const isKnown = id !== undefined && (await hasEvent(conversation, id))
  if (isKnown && trigger === 'regenerate-message') {
    const to = await conversation.read((state) => latestVersion(state, id))
    await conversation.navigate(to)
    return { to }
  }
  if (isKnown && messageId === id) return { to: await edit(conversation, id, event) }
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
    return [...decided, ...(waits ? decideReject(after, undecided, INSTEAD) : []), message]
  })
  return { to: message.id }
}

const INSTEAD = 'The user sent a message instead of approving the call.'

const assistantParts = (message: JsonValue): readonly JsonValue[] =>
  isObject(message) && message['role'] === 'assistant' && Array.isArray(message['parts'])
    ? (message['parts'] as JsonValue[])
    : []

const hasEvent = async (conversation: Conversation, id: string): Promise<boolean> =>
  findEventIn((await conversation.state()).log, id) !== undefined

/** Appends what is decided on exactly the state that it was decided on. */
async function appendDecided(
  conversation: Conversation,
  decide: (state: State) => readonly Event[],
): Promise<void> {
  for (;;) {
    const state = await conversation.state()
    const events = decide(state)
    if (events.length === 0) return
    try {
      await conversation.append(events, { expected: state.log.entries.length })
      return
    } catch (error) {
      if (!hasCode(error, 'version_conflict') && !hasCode(error, 'id_conflict')) throw error
    }
  }
}

/**
 * A client keeps the id of a message that it edits, which the log has for the old words: what stands in its place on
 * HEAD's branch was said last. O(depth) where that is another one.
 * @throws ColloquyError `evicted`.
 */
function latestVersion({ log }: State, messageId: string): string {
  const message = findEventIn(log, messageId)
  if (message === undefined || isOnPathIn(message, log.head)) return messageId
  const before = anchorOf(message.parent)
  let at: Entry | null = log.head
  // What HEAD's branch has directly behind the same event; state updates between them are no message.
  for (; at !== null && at !== before; at = at.parent)
    if (anchorOf(at.parent) === before && isOfUser(at)) return at.id ?? messageId
  return messageId
}

/** Whether a user has said it. @throws ColloquyError `evicted` where that is no longer known. */
function isOfUser(entry: Entry): boolean {
  const event = loadedEvent(entry, ['MessageEvent'])
  return event?.kind === 'MessageEvent' && event.source === 'user'
}

/** Says a message in other words, under an id that the same words have again; gives that id. */
async function edit(conversation: Conversation, messageId: string, said: MessageEvent): Promise<string> {
  const id = keyedId('edit', conversation.id, `${messageId}\n${canonicalJson(said.llm_message)}`)
  for (;;) {
    const { state, events } = await conversation.read((state) => ({
      state,
      events: findEventIn(state.log, id) === undefined ? decideEdit(state, messageId, { ...said, id }) : null,
    }))
    if (events === null) {
      // Where something was said since it is gone back to; else it was posted twice.
      if (state.branch.lastUserMessage?.id !== id) await conversation.navigate(id)
      return id
    }
    // To where HEAD is: nothing is appended, and it is refused while a run is live.
    await conversation.navigate(state.log.head?.id ?? null)
    try {
      // A run that has begun since has appended something, so that this version is gone.
      await conversation.append(events, { expected: state.log.entries.length })
      return id
    } catch (error) {
      if (!hasCode(error, 'version_conflict') && !hasCode(error, 'id_conflict')) throw error
    }
  }
}

/** What the user has decided of the calls that wait, and what the page returned for those that it executed. */
function decisionsIn(
  state: State,
  parts: readonly JsonValue[],
  { pageTools = [] }: UIMessagesOptions,
): readonly Event[] {
  const events: Event[] = []
  let now = state
  const add = (more: readonly Event[]): void => {
    now = more.reduce<State>(reduce, now)
    events.push(...more)
  }
  for (const part of parts) {
    if (!isObject(part)) continue
    const { state: partState, approval, toolCallId } = part
    const callId = isObject(approval) && partState === 'approval-responded' ? approval['id'] : toolCallId
    // A decision may be posted again after the call has its result.
    const call = openCallsOf(now).find(({ id }) => id === callId)
    if (call === undefined) continue
    if (isObject(approval) && partState === 'approval-responded') {
      const { approved, reason } = approval
      if (approved !== true)
        add(decideReject(now, [call.id], typeof reason === 'string' ? reason : undefined))
      else if (isExecutable(call.event)) add(decideApprove(now, [call.id]))
      continue
    }
    const result = pageTools.includes(call.event.tool_name) ? pageResult(call, part) : null
    if (result === null) continue
    add([result])
    // The last call that needed the user is settled when all others are approved.
    const approved = granted(now.header.callStatuses, 'approved')
    if (now.header.status === 'waiting_for_confirmation') add(decideApprove(now, [...approved]))
  }
  return events
}

/** The result of a call that the page executed; null while it has none. */
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
  const text = typeof output === 'string' ? output : canonicalJson(output)
  const observation = { kind: PAGE_OUTPUT, content: [{ type: 'text' as const, text }], output }
  return { kind: 'ObservationEvent', source: 'environment', ...call, action_id: id, observation }
}
