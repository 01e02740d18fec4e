/** The text of a frame in either format, written once for all readers. */

import type { LoggedEvent } from '../../conversation/logged-event.ts'
import { type ReplyOffset, writeReplyOffset } from '../../conversation/streamed.ts'
import { maskSecrets } from '../../event/mask.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event, ServerErrorEvent } from '../../event/types.ts'
import { wireEvent, withDefaults } from '../events/pages.ts'

/**
 * How frames are written. `event`: the bare event. `envelope`: `{"type", "position", "event"}`, of a delta with `said`.
 *
 * Types: `event` is an event of the log; `state` a state update that is not in the log, of key `full_state` or
 * `execution_status`; `caught_up` the marker that all that stood there was given; `reset` that what was given before
 * does not hold, as the log has it no longer; `delta` a StreamingDeltaEvent; `error` a ServerErrorEvent of this stream.
 */
export type Format = 'event' | 'envelope'

/** Which frames there are. */
export type FrameType = 'event' | 'state' | 'caught_up' | 'reset' | 'delta' | 'error'

const encoder = new TextEncoder()

/** One frame. Its event is written as JSON once, however many readers it goes to. */
export class Frame {
  readonly type: FrameType
  /** All of the log up to here was given with this frame: a reader goes on after it. -1: nothing was. */
  readonly position: number
  /** Of a delta: how far it goes, as `after_delta` takes it. */
  readonly said: string | null
  readonly #event: string
  readonly #bytes: Partial<Record<Format, Uint8Array>> = {}

  constructor(type: FrameType, position: number, event: Event, said: string | null = null) {
    this.type = type
    this.position = position
    this.said = said
    this.#event = JSON.stringify(event)
  }

  /** Characters of the event. */
  get size(): number {
    return this.#event.length
  }

  /** JSON in one line. */
  text(format: Format): string {
    if (format === 'event') return this.#event
    const said = this.said === null ? '' : `"said":"${this.said}",`
    return `{"type":"${this.type}","position":${this.position},${said}"event":${this.#event}}`
  }

  /** The same as UTF-8, which must not be written to. */
  bytes(format: Format): Uint8Array {
    return (this.#bytes[format] ??= encoder.encode(this.text(format)))
  }
}

/** The frame of an event of the log; null for a line that is no event. O(size). */
export function eventFrame(item: LoggedEvent): Frame | null {
  const event = wireEvent(item)
  return event === null ? null : new Frame('event', item.seq, event)
}

/** The frame of a delta, which goes as far as `said`. It has an id and a time: clients pass over what has none. */
export const deltaFrame = (position: number, event: Event, said: ReplyOffset): Frame =>
  new Frame('delta', position, withDefaults({ ...fresh(), ...maskSecrets(event) }), writeReplyOffset(said))

/** The frame of a state update that stands nowhere in the log. */
export const stateFrame = (
  position: number,
  key: string,
  value: JsonValue,
  type: FrameType = 'state',
): Frame =>
  new Frame(type, position, {
    kind: 'ConversationStateUpdateEvent',
    source: 'environment',
    key,
    value,
    ...fresh(),
  } satisfies ConversationStateUpdateEvent)

/** The frame that says what failed on this stream, and on no other; it is stored nowhere. */
export const errorFrame = (position: number, code: string, detail: string): Frame =>
  new Frame('error', position, {
    kind: 'ServerErrorEvent',
    source: 'environment',
    code,
    detail,
    ...fresh(),
  } satisfies ServerErrorEvent)

const fresh = (): { readonly id: string; readonly timestamp: string } => ({
  id: crypto.randomUUID(),
  timestamp: new Date().toISOString(),
})

/** Codes of RFC 6455 where one fits, else of the range for applications. */
export const CLOSE = {
  /** The server goes away: connect again, to the process that serves then, and go on after the last position. */
  away: 1001,
  /** A frame was too large; sent by the transport itself. */
  tooLarge: 1009,
  /** The stream failed: go on after the last position, later. */
  failed: 1011,
  /** There are too many streams: try again later. */
  busy: 1013,
  /** No key, a wrong one, or one in the URL: do not try again with it. */
  unauthorized: 4001,
  /** There is no such conversation, or it was deleted: do not try again. */
  unknown: 4004,
  /** The reader was too slow: go on after the last position, and read faster. */
  slow: 4008,
  /** Nothing came from the client, not even the response to a ping: go on after the last position. */
  idle: 4009,
  /** The query is wrong: do not try again with it. */
  badRequest: 4400,
} as const
