/**
 * The live stream as server-sent events, an operation: `id` is the position, so that `Last-Event-ID` goes on where the
 * reader was.
 */

import { credentialOf, type Identify } from '../auth/caller.ts'
import { keyInterval, KeyWatch } from '../auth/key-watch.ts'
import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { describeFailure, HttpProblem, invalid } from '../http/problem.ts'
import { LIVE_QUERY, SlowReader, type StartValues } from './start.ts'
import { errorFrame, type Format, type Frame } from './frame.ts'
import type { Live, LiveSession } from './live.ts'

/** Bytes that wait for a reader; nothing more is read for them then. */
const QUEUE = 256 * 2 ** 10

/**
 * In so many parts a slow reader is waited for: after the process was held up, timers come before the news that
 * something was taken.
 */
const TURNS = 4

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Asks proxies that hold responses back not to.
  'x-accel-buffering': 'no',
}

/** The operation. `identify` finds whom a key belongs to, which may be deleted while the stream goes on. */
export const streamOperations = (live: Live, identify: Identify): Operation[] => {
  const keys = new KeyWatch(identify, keyInterval(live.options.heartbeatInterval))
  return [
    operation(
      {
        method: 'get',
        path: '/api/conversations/{conversation_id}/events/stream',
        operationId: 'stream_conversation_events',
        tag: 'Events',
        summary: 'Listen To A Conversation',
        params: { conversation_id: text() },
        query: LIVE_QUERY,
        replies: {
          200: {
            description: 'Server-sent events without an end',
            mediaType: 'text/event-stream',
            schema: { type: 'string' },
          },
          404: { description: 'Unknown conversation' },
          429: { description: 'Too many streams' },
          503: { description: 'The service is shutting down' },
        },
      },
      async ({ path, query, request }) => {
        const start = { ...query, ...lastEventId(request) }
        const [credential, org] = [credentialOf(request), request.headers.get('x-org-id')]
        const caller = await identify(credential, org)
        if (caller === null) throw new HttpProblem(401, 'Unauthorized')
        const stream = await live.connect(path.conversation_id, start)
        // The body would never be read, nor ended.
        if (request.method === 'HEAD' || request.signal.aborted) stream.end()
        if (request.method === 'HEAD') return new Response(null, { headers: HEADERS })
        const watch = (end: () => void) => keys.watch({ caller, credential, org }, end)
        const from = { ...stream, said: start.after_delta }
        return new Response(bodyOf(live, from, query.format, request.signal, watch), { headers: HEADERS })
      },
    ),
  ]
}

function lastEventId({ headers }: Request): Partial<StartValues> {
  const given = headers.get('last-event-id')?.trim() ?? ''
  if (given === '') return {}
  const [, position, said] = /^(-1|\d+)(?:;(.+))?$/.exec(given) ?? []
  const after = Number(position)
  // It is what the reader has now; the address says what it had when it began.
  if (Number.isSafeInteger(after))
    return { after, after_event_id: null, ...(said !== undefined && { after_delta: said }) }
  throw invalid({
    type: 'int_parsing',
    loc: ['header', 'last-event-id'],
    msg: 'Input should be a position of the stream',
    input: given.slice(0, 200),
  })
}

/** One frame as an event of the stream. Its id says how far a reader has come with the log and with a reply. */
const written = (frame: Frame, format: Format, said: string | null): string =>
  `id: ${frame.position}${said === null ? '' : `;${said}`}\ndata: ${frame.text(format)}\n\n`

function bodyOf(
  live: Live,
  stream: Pick<LiveSession, 'frames' | 'end'> & { readonly said: string | null },
  format: Format,
  signal: AbortSignal,
  watchKey: (end: () => void) => () => void,
): ReadableStream<Uint8Array> {
  const { writeTimeout, heartbeatInterval, onFailure } = live.options
  const { frames, end } = stream
  const encoder = new TextEncoder()
  let position = -1
  let { said } = stream
  let heartbeats: ReturnType<typeof setInterval>
  let wait: ReturnType<typeof setTimeout> | undefined
  let over = false
  let unwatch: (() => void) | undefined
  const stop = (): void => {
    over = true
    clearInterval(heartbeats)
    clearTimeout(wait)
    signal.removeEventListener('abort', stop)
    unwatch?.()
    end()
  }
  /** Says why, and ends. */
  const finish = (controller: ReadableStreamDefaultController<Uint8Array>, last: Frame): void => {
    stop()
    // Who does not read would hold on to what waits.
    if ((controller.desiredSize ?? 0) <= 0) return controller.error(new SlowReader('The reader is too slow.'))
    controller.enqueue(encoder.encode(written(last, format, said)))
    controller.close()
  }
  // Not every server that loses a client cancels the body.
  signal.addEventListener('abort', stop)
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        heartbeats = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': beat\n\n'))
        }, heartbeatInterval)
        unwatch = watchKey(() => {
          if (!over) finish(controller, errorFrame(position, 'HTTP401', 'The key is no longer valid.'))
        })
      },
      async pull(controller) {
        clearTimeout(wait)
        try {
          const { done, value } = await frames.next()
          // A stream that its reader has left takes nothing more, not even its end.
          if (over) return
          if (done === true) {
            stop()
            controller.close()
            return
          }
          ;({ position } = value)
          said = value.said ?? said
          controller.enqueue(encoder.encode(written(value, format, said)))
          if ((controller.desiredSize ?? 0) > 0) return
          // Nothing is read for a reader who takes nothing; after a while the place goes to another.
          let turns = TURNS
          const look = (): void => {
            turns -= 1
            if (turns > 0) return void (wait = setTimeout(look, writeTimeout / TURNS))
            stop()
            controller.error(new SlowReader(`The reader is too slow; resume after ${position}.`))
          }
          wait = setTimeout(look, writeTimeout / TURNS)
        } catch (error) {
          if (over) return
          const { code, detail } = describeFailure(error)
          if (code === 'InternalError') onFailure(error)
          finish(controller, errorFrame(position, code, detail))
        }
      },
      cancel() {
        stop()
      },
    },
    { highWaterMark: QUEUE, size: (chunk) => chunk.byteLength },
  )
}
