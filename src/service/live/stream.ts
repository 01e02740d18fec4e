/** The live stream as server-sent events. A frame's `id` is its position, from which `Last-Event-ID` resumes. */

import { EVENT_STREAM_HEADERS } from '../../conversation/async.ts'
import type { BlobMode } from '../../store/contract/blobs.ts'
import { credentialOf, type Identify } from '../auth/caller.ts'
import { keyInterval, KeyWatch } from '../auth/key-watch.ts'
import { type Operation, operationsIn } from '../http/operation.ts'
import { describeFailure, HttpProblem, invalid } from '../http/problem.ts'
import { LIVE_QUERY, SlowReader, type StartValues } from './start.ts'
import { errorFrame, type Format, type Frame } from './server-frames.ts'
import type { Live, LiveSession } from './live.ts'

const operation = operationsIn('Events')

const QUEUE = 256 * 2 ** 10

/**
 * Number of successive timers into which a write timeout is divided. After the event loop was blocked, only
 * one of them can expire before the reader's pending reads run, so a blocked loop does not end the stream.
 */
const TIMERS = 4

export const streamOperations = (live: Live, identify: Identify): Operation[] => {
  const keys = new KeyWatch(identify, keyInterval(live.options.heartbeatInterval))
  return [
    operation('get /api/conversations/{conversation_id}/events/stream', {
      operationId: 'stream_conversation_events',
      summary: 'Listen To A Conversation',
      query: LIVE_QUERY,
      returns: 'string',
      description: 'An endless stream of server-sent events',
      mediaType: 'text/event-stream',
      otherwise: { 429: 'Too many streams', 503: 'The service is shutting down' },
      async handle({ path, query, request }) {
        const start = { ...query, ...lastEventId(request) }
        const [credential, org] = [credentialOf(request), request.headers.get('x-org-id')]
        const caller = await identify(credential, org)
        if (caller === null) throw new HttpProblem(401, 'Unauthorized')
        const stream = await live.connect(path.conversation_id, start)
        // End the stream, because its body would never be read or cancelled.
        if (request.method === 'HEAD' || request.signal.aborted) stream.end()
        if (request.method === 'HEAD') return new Response(null, { headers: EVENT_STREAM_HEADERS })
        const watch = (end: () => void) => keys.watch({ caller, credential, org }, end)
        const from = { ...stream, resumeOffset: start.after_delta }
        return new Response(bodyOf(live, from, query, request.signal, watch), {
          headers: EVENT_STREAM_HEADERS,
        })
      },
    }),
  ]
}

function lastEventId({ headers }: Request): Partial<StartValues> {
  const header = headers.get('last-event-id')?.trim() ?? ''
  if (header === '') return {}
  const [, position, resumeOffset] = /^(-1|\d+)(?:;(.+))?$/.exec(header) ?? []
  const after = Number(position)
  // The header has the reader's latest position. The URL has only its first position.
  if (Number.isSafeInteger(after))
    return { after, after_event_id: null, ...(resumeOffset !== undefined && { after_delta: resumeOffset }) }
  throw invalid({
    type: 'int_parsing',
    loc: ['header', 'last-event-id'],
    msg: 'Input should be a position of the stream',
    input: header.slice(0, 200),
  })
}

const written = (frame: Frame, format: Format, resumeOffset: string | null): string =>
  `id: ${frame.position}${resumeOffset === null ? '' : `;${resumeOffset}`}\ndata: ${frame.text(format)}\n\n`

function bodyOf(
  live: Live,
  stream: Pick<LiveSession, 'frames' | 'end'> & { readonly resumeOffset: string | null },
  { format, blobs }: { readonly format: Format; readonly blobs: BlobMode },
  signal: AbortSignal,
  watchKey: (end: () => void) => () => void,
): ReadableStream<Uint8Array> {
  const { writeTimeout, heartbeatInterval, onFailure } = live.options
  const { frames, end } = stream
  const encoder = new TextEncoder()
  let position = -1
  let { resumeOffset } = stream
  let heartbeats: ReturnType<typeof setInterval>
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  let unwatch: (() => void) | undefined
  const stop = (): void => {
    isOver = true
    clearInterval(heartbeats)
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    unwatch?.()
    end()
  }
  const finish = (controller: ReadableStreamDefaultController<Uint8Array>, last: Frame): void => {
    stop()
    // The last frame would stay in the queue of a reader that does not read.
    if ((controller.desiredSize ?? 0) <= 0) return controller.error(new SlowReader('The reader is too slow.'))
    controller.enqueue(encoder.encode(written(last, format, resumeOffset)))
    controller.close()
  }
  // Not every server cancels the body when the client disconnects.
  signal.addEventListener('abort', stop)
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        heartbeats = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': beat\n\n'))
        }, heartbeatInterval)
        unwatch = watchKey(() => {
          if (!isOver) finish(controller, errorFrame(position, 'HTTP401', 'The key is no longer valid.'))
        })
      },
      async pull(controller) {
        clearTimeout(timer)
        try {
          const { done, value } = await frames.next()
          // The reader has disconnected.
          if (isOver) return
          if (done === true) {
            stop()
            controller.close()
            return
          }
          ;({ position } = value)
          resumeOffset = value.resumeOffset ?? resumeOffset
          controller.enqueue(encoder.encode(written(value.as(blobs), format, resumeOffset)))
          if ((controller.desiredSize ?? 0) > 0) return
          let remaining = TIMERS
          const check = (): void => {
            remaining -= 1
            if (remaining > 0) return void (timer = setTimeout(check, writeTimeout / TIMERS))
            stop()
            controller.error(new SlowReader(`The reader is too slow; resume after ${position}.`))
          }
          timer = setTimeout(check, writeTimeout / TIMERS)
        } catch (error) {
          if (isOver) return
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
