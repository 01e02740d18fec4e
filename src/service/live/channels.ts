import { readReplyOffset } from '../../conversation/streamed.ts'
import type { Event, StreamingDeltaEvent } from '../../event/types.ts'
import type { Parameters, ValuesOf } from '../http/parameters.ts'
import { boolean, integer, oneOf, optional, readParameters, withDefault } from '../http/parameters.ts'
import { type FailureText, HttpProblem } from '../http/problem.ts'
import type { Commands } from '../sandbox-files/command-operations.ts'
import { sendFrameMessage, sendSessionMessage, startFrameCommand } from './client-frames.ts'
import type { Live, LiveSession } from './live.ts'
import { CLOSE, errorFrame, type Format, type Frame, fresh } from './server-frames.ts'
import { LIVE_QUERY } from './start.ts'

type Close = readonly [code: number, reason: string]

export class Closing extends Error {
  readonly close: Close

  constructor(...close: Close) {
    super(close[1])
    this.close = close
  }
}

export interface Channel {
  /**
   * Opens the channel and returns its frames. @throws `Closing` for an unknown parameter; HttpProblem, such
   * as 422 for a bad value; errors of the store.
   */
  readonly open: (query: URLSearchParams) => Promise<AsyncGenerator<Uint8Array, void, undefined>>
  /**
   * Handles a client's frame; call it after `open`. Returns why the frame is invalid, or null. @throws errors
   * of the operation that the frame requests.
   */
  readonly receive: (text: string) => Promise<FailureText | null>
  readonly failure: (failure: FailureText) => Uint8Array
  readonly slow: Close
  /** Returns a text that explains how to resume. This text is appended to the reason for a close. */
  readonly resume: () => string
  readonly end: () => void
}

const encoder = new TextEncoder()
const encoded = (value: object): Uint8Array => encoder.encode(JSON.stringify(value))

function read<P extends Parameters>(parameters: P, query: URLSearchParams): ValuesOf<P> {
  const unknown = [...query.keys()].find((name) => !Object.hasOwn(parameters, name))
  if (unknown !== undefined)
    throw new Closing(CLOSE.badRequest, `Unknown parameter ${JSON.stringify(unknown)}`)
  const result = readParameters(parameters, 'query', (name) => query.getAll(name))
  if ('errors' in result) throw new HttpProblem(422, result.errors)
  return result.values
}

export function eventsChannel(live: Live, id: string): Channel {
  let session: LiveSession | null = null
  let format: Format = 'event'
  let position: number | null = null
  return {
    async open(query) {
      const values = read(LIVE_QUERY, query)
      const { frames } = (session = await live.connect(id, values))
      ;({ format } = values)
      return (async function* () {
        for await (const frame of frames) {
          ;({ position } = frame)
          yield frame.as(values.blobs).bytes(values.format)
        }
      })()
    },
    receive: async (text) =>
      session === null ? null : sendFrameMessage(live.lifecycle, session.conversation, text),
    failure: ({ code, detail }) => errorFrame(position ?? -1, code, detail).bytes(format),
    slow: [CLOSE.slow, 'Too slow'],
    resume: () => (position === null ? '' : `; resume after ${position}`),
    end: () => session?.end(),
  }
}

/** `after_seq`: replay the events after this position; -1 replays all. Default: only new events. */
const SESSION_QUERY = { after_seq: optional(integer({})) } as const

export function sessionChannel(live: Live, id: string): Channel {
  let session: LiveSession | null = null
  return {
    async open(query) {
      const { after_seq: seq } = read(SESSION_QUERY, query)
      const after = seq === null ? null : Math.max(-1, seq)
      const { frames } = (session = await live.connect(id, { ...NO_START, after }))
      const translation = new SessionFrames(seq)
      return (async function* () {
        for await (const frame of frames)
          for (const json of translation.translate(frame)) {
            const bytes = encoder.encode(json)
            if (bytes.byteLength > MAX_SESSION_FRAME) throw new Closing(CLOSE.busy, 'frame_too_large')
            yield bytes
          }
      })()
    },
    receive: async (text) =>
      session === null ? null : sendSessionMessage(live.lifecycle, session.conversation, text),
    failure: ({ code, detail }) => encoded({ type: 'error', code, detail }),
    slow: [CLOSE.busy, 'slow_consumer'],
    resume: () => '',
    end: () => session?.end(),
  }
}

const NO_START = { after_event_id: null, resend_mode: null, after_timestamp: null, after_delta: null }

/** Query parameters. `resend_mode=all`, or its older name `resend_all=true`, sends stored events before new ones. */
const COMMANDS_QUERY = {
  resend_mode: optional(oneOf(['all'])),
  resend_all: withDefault(boolean(), false),
} as const

/** `/sockets/bash-events`: sends events of commands outside conversations. A client's frame starts a command. */
export function commandsChannel(commands: Commands): Channel {
  const stop = new AbortController()
  return {
    async open(query) {
      const { resend_mode: mode, resend_all } = read(COMMANDS_QUERY, query)
      const events = commands.follow(mode === 'all' || resend_all, stop.signal)
      return (async function* () {
        for await (const event of events) yield encoded(event)
      })()
    },
    receive: (text) => startFrameCommand(commands, text),
    failure: ({ code, detail }) => encoded({ kind: 'BashError', ...fresh(), code, detail }),
    slow: [CLOSE.slow, 'Too slow'],
    resume: () => '',
    end: () => stop.abort(),
  }
}

/** Maximum bytes of a frame. A larger frame closes the socket, and the client must read the event over HTTP. */
const MAX_SESSION_FRAME = 4 * 2 ** 20

/**
 * Translates the frames of one stream. A streamed reply is sent as an item. The id of the reply's event is
 * unknown before the append, so an `item_aborted` with the reason `replaced` ends the item right before the
 * `durable` frame.
 */
class SessionFrames {
  readonly #afterSeq: number | null
  #snapshot: string | null = null
  #item: { readonly id: string; order: number } | null = null
  #isSynced = false

  constructor(afterSeq: number | null) {
    this.#afterSeq = afterSeq
  }

  *translate(frame: Frame): Generator<string, void, undefined> {
    const json = frame.text('event')
    if (frame.type === 'event') {
      const { source } = JSON.parse(json) as Event
      if (source === 'agent') yield* this.#retire('replaced')
      yield `{"type":"durable","seq":${frame.position},"event":${json}}`
    } else if (frame.type === 'delta') yield* this.#delta(frame, JSON.parse(json) as Delta)
    else if (frame.type === 'error') {
      const { code, detail } = JSON.parse(json) as { readonly code: string; readonly detail: string }
      yield JSON.stringify({ type: 'error', code, detail })
    } else if (frame.type === 'reset') {
      yield* this.#retire('reset')
      this.#isSynced = false
    } else if (frame.type === 'caught_up') {
      if (this.#snapshot !== null) yield `{"type":"transient","event":${this.#snapshot}}`
      this.#snapshot = null
    } else if (this.#isSynced) {
      yield* this.#retire('ended')
      yield `{"type":"transient","event":${json}}`
    } else {
      // The snapshot follows the replay.
      this.#snapshot = json
      yield JSON.stringify({ type: 'sync', ...this.#range(frame, json) })
      this.#isSynced = true
    }
  }

  #range(frame: Frame, json: string) {
    const { value } = JSON.parse(json) as { readonly value: { readonly event_count: number } }
    const isRestart = frame.position === -1 && this.#afterSeq !== null && this.#afterSeq >= 0
    return {
      ...(this.#afterSeq !== null && { from_seq: isRestart ? -1 : this.#afterSeq }),
      ...(value.event_count > 0 && { through_seq: value.event_count - 1 }),
    }
  }

  *#delta(frame: Frame, { content, reasoning_content }: Delta): Generator<string, void, undefined> {
    const id = readReplyOffset(frame.resumeOffset ?? '')?.reply ?? 'reply'
    if (this.#item?.id !== id) {
      yield* this.#retire('superseded')
      this.#item = { id, order: 0 }
      const anchor = frame.position >= 0 && { anchor_seq: frame.position }
      yield JSON.stringify({ type: 'item_started', item_id: id, attempt: 1, ...anchor })
    }
    for (const [kind, text] of [
      ['reasoning', reasoning_content],
      ['text', content],
    ] as const) {
      if (typeof text !== 'string' || text === '') continue
      const order = this.#item?.order ?? 0
      if (this.#item !== null) this.#item.order += 1
      yield JSON.stringify({ type: 'delta', item_id: id, attempt: 1, order, kind, content: text })
    }
  }

  *#retire(reason: string): Generator<string, void, undefined> {
    if (this.#item === null) return
    yield JSON.stringify({ type: 'item_aborted', item_id: this.#item.id, attempt: 1, reason })
    this.#item = null
  }
}

type Delta = Pick<StreamingDeltaEvent, 'content' | 'reasoning_content'>
