/** The live stream as server-sent events, an operation: `id` is the position, so that `Last-Event-ID` goes on where the reader was. */

import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { invalid } from '../http/problem.ts'
import { SlowReader, tellOf } from './faults.ts'
import { errorFrame, type Format, type Frame } from './frame.ts'
import type { Live, LiveSession } from './live.ts'
import { LIVE_QUERY } from './start.ts'

/** Bytes that wait for a reader; nothing more is read for them then. */
const QUEUE = 256 * 2 ** 10

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Proxies that hold answers back are told not to.
  'x-accel-buffering': 'no',
}

/** The operation. */
export const streamOperations = (live: Live): Operation[] => [
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
        503: { description: 'The service is going away' },
      },
    },
    async ({ path, query, request }) => {
      const given = lastEventId(request)
      const start = given === null ? query : { ...query, after: given }
      const stream = await live.connect(path.conversation_id, start)
      // Nobody would ever read the body, nor end it.
      if (request.method === 'HEAD' || request.signal.aborted) stream.end()
      const body = request.method === 'HEAD' ? null : bodyOf(live, stream, query.format, request.signal)
      return new Response(body, { headers: HEADERS })
    },
  ),
]

function lastEventId({ headers }: Request): number | null {
  const given = headers.get('last-event-id')?.trim() ?? ''
  if (given === '') return null
  const value = Number(given)
  if (/^(-1|\d+)$/.test(given) && Number.isSafeInteger(value)) return value
  throw invalid({
    type: 'int_parsing',
    loc: ['header', 'last-event-id'],
    msg: 'Input should be a position of the stream',
    input: given.slice(0, 200),
  })
}

/** One frame as an event of the stream. */
const written = (frame: Frame, format: Format): string =>
  `id: ${frame.position}\ndata: ${frame.text(format)}\n\n`

function bodyOf(
  live: Live,
  { frames, end }: LiveSession,
  format: Format,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const { patience, beat, onFailure } = live.options
  const encoder = new TextEncoder()
  let position = -1
  let beats: ReturnType<typeof setInterval>
  let wait: ReturnType<typeof setTimeout> | undefined
  let over = false
  const stop = (): void => {
    over = true
    clearInterval(beats)
    clearTimeout(wait)
    signal.removeEventListener('abort', stop)
    end()
  }
  // Not every server that loses a client cancels the body.
  signal.addEventListener('abort', stop)
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        beats = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': beat\n\n'))
        }, beat)
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
          controller.enqueue(encoder.encode(written(value, format)))
          if ((controller.desiredSize ?? 0) > 0) return
          // Nothing is read for a reader who takes nothing; after a while the place goes to another.
          wait = setTimeout(() => {
            stop()
            controller.error(new SlowReader(`The reader took nothing; resume after ${position}.`))
          }, patience)
        } catch (error) {
          if (over) return
          const { code, detail } = tellOf(error)
          if (code === 'InternalError') onFailure(error)
          controller.enqueue(encoder.encode(written(errorFrame(position, code, detail), format)))
          stop()
          controller.close()
        }
      },
      cancel() {
        stop()
      },
    },
    { highWaterMark: QUEUE, size: (chunk) => chunk.byteLength },
  )
}
