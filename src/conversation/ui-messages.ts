/** The UI message protocol of the AI SDK: its stream, and what its client sends. */

import { canonicalJson } from '../event/encode.ts'
import { hasCode } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { MessageEvent, Event } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { anchorOf, type Entry, loadedEvent } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { fromUIMessage } from '../messages/ui/read.ts'
import type { UIPart, UIChunk, UIReasoningPart, UITextPart } from '../messages/ui/types.ts'
import type { State } from '../state/state.ts'
import { invalidArgument } from '../store/kit/query/check-value.ts'
import type { Conversation } from './conversation.ts'
import { decideEdit, openCallsOf } from './decide.ts'
import { keyedId } from './stamp.ts'
import { isOfReply } from '../event/reply.ts'
import { advance, isSaid } from '../messages/ui/chunks.ts'
import { replyId, replyParts } from '../messages/ui/write.ts'
import type { Status } from '../state/status.ts'
import type { SubscriptionItem } from './subscribe.ts'

/** Which reply to stream, and until when. */
export interface UIStreamOptions {
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
        if (item.type === 'event' && 'kind' in item.fact && isOfReply(item.fact)) live = []
        state = await conversation.state()
        if (!isOnBranch(state, to)) break
        said = await conversation.read((now) => replyParts(now, to))
        if (item.type === 'settled') live = []
      }
      const next = advance(shown, live.length === 0 ? said : [...said, STEP, ...named(live, said)])
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

const STEP: UIPart = { type: 'step-start' }
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

/** Reasoning is named by its place among the parts. */
function named(live: Live, said: readonly UIPart[]): UIPart[] {
  const first = said.filter(isSaid).length
  return live.map((part, at) => (part.type === 'reasoning' ? { ...part, id: String(first + at) } : part))
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

/**
 * Takes in what `useChat` has posted, and tells which reply to stream: a new message is appended, under its own id and
 * once however often it is posted; one that was edited is said anew beside the old one, once too; `regenerate` goes
 * back to the message as it was said last; and what the user has decided about calls is approved or rejected. Run the
 * conversation then. O(depth) for `regenerate` behind an edit.
 *
 * @throws ColloquyError `invalid_argument` for what cannot be read, `already_running` while a run is live and the past
 * would be changed, and what appending throws.
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
): Promise<Pick<UIStreamOptions, 'to' | 'from'>> {
  const { messages, trigger, messageId } = isObject(posted as JsonValue) ? (posted as JsonObject) : {}
  const last = Array.isArray(messages) ? (messages.at(-1) as JsonValue | undefined) : undefined
  if (!isObject(last)) invalidArgument('messages', 'must be a list of messages')
  if (last['role'] === 'assistant') {
    const parts = Array.isArray(last['parts']) ? (last['parts'] as JsonValue[]) : []
    await decideCalls(conversation, parts)
    return { from: parts as unknown as UIPart[] }
  }
  const event = fromUIMessage(last)
  if (trigger === 'regenerate-message' && event.id !== undefined) {
    const { id } = event
    const to = await conversation.read((state) => latestVersion(state, id))
    await conversation.navigate(to)
    return { to }
  }
  if (typeof messageId === 'string' && messageId === event.id)
    return { to: await edit(conversation, messageId, event) }
  const [appended] = await conversation.append(event)
  return appended?.id ? { to: appended.id } : {}
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

/** Approves and rejects what the user has decided of the calls that still wait. */
async function decideCalls(conversation: Conversation, parts: readonly JsonValue[]): Promise<void> {
  const waiting = new Set(openCallsOf(await conversation.state()).map(({ id }) => id))
  for (const part of parts) {
    const approval = isObject(part) && part['state'] === 'approval-responded' ? part['approval'] : null
    if (!isObject(approval)) continue
    const { id, approved, reason } = approval
    if (typeof id !== 'string' || !waiting.has(id)) continue
    if (approved === true) await conversation.approve([id])
    else await conversation.reject([id], typeof reason === 'string' ? reason : undefined)
  }
}
