/**
 * The reply to a user's message while it comes, as the stream that `useChat` of the AI SDK reads. What a client has is
 * compared with what the log says at each event, so that it ends with what `toUIMessages` gives, whatever it missed.
 */

import { hasCode } from '../event/errors.ts'
import { isOfReply } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { findEventIn } from '../log/log.ts'
import { advance, isSaid } from '../messages/ai-sdk/ui-chunks.ts'
import type { UIChunk, UIPart, UIReasoningPart, UITextPart } from '../messages/ai-sdk/ui-types.ts'
import { replyId, replyParts } from '../messages/ai-sdk/ui-write.ts'
import type { State } from '../state/state.ts'
import type { Status } from '../state/status.ts'
import type { Conversation } from './conversation.ts'
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
