/** Frames that live streams send, each serialized once for all readers. */

import { updateEvent } from '../../conversation/decide.ts'
import type { LoggedEvent } from '../../conversation/logged-event.ts'
import { type ReplyOffset, writeReplyOffset } from '../../conversation/streamed.ts'
import { maskSecrets } from '../../event/mask.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Event, ServerErrorEvent } from '../../event/types.ts'
import type { BlobMode, BlobReference } from '../../store/contract/blobs.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { withReferences } from '../../store/kit/blobs.ts'
import { LARGE_STRING } from '../../event/text.ts'
import { wireBlobs, wireEvent, withDefaults } from '../events/search.ts'

/**
 * Form of frames. `event`: the bare event. `envelope`: `{"type", "position", "event"}`, with `after_delta` for
 * a delta, and `blobs` for an event with blob references.
 *
 * Values of `type`: an `event` is an event of the log. A `state` is a state update that is not in the log. Its
 * `key` is `full_state` or `execution_status`. A `caught_up` follows the last stored event. After a `reset`,
 * discard everything: the log was replaced. A `delta` is a StreamingDeltaEvent. An `error` is a
 * ServerErrorEvent of this stream.
 */
export type Format = 'event' | 'envelope'

export type FrameType = 'event' | 'state' | 'caught_up' | 'reset' | 'delta' | 'error'

const encoder = new TextEncoder()

export class Frame {
  readonly type: FrameType
  /** The reader has received the log up to this position and resumes after it. -1: nothing yet. */
  readonly position: number
  /** Position in the reply after this delta, in the format of `after_delta`. */
  readonly resumeOffset: string | null
  readonly #event: string
  readonly #bytes: Partial<Record<Format, Uint8Array>> = {}
  readonly #blobs: string
  readonly #makeRefs: (() => Frame | null) | null
  #refs: Frame | null = null

  constructor(
    type: FrameType,
    position: number,
    event: Event,
    resumeOffset: string | null = null,
    blobs: readonly BlobReference[] = [],
    makeRefs: (() => Frame | null) | null = null,
  ) {
    this.type = type
    this.position = position
    this.resumeOffset = resumeOffset
    this.#event = JSON.stringify(event)
    this.#blobs = blobs.length === 0 ? '' : `,"blobs":${JSON.stringify(blobs)}`
    this.#makeRefs = makeRefs
  }

  as(blobs: BlobMode): Frame {
    if (blobs === 'whole' || this.size <= LARGE_STRING) return this
    return (this.#refs ??= this.#makeRefs?.() ?? this)
  }

  get size(): number {
    return this.#event.length
  }

  text(format: Format): string {
    if (format === 'event') return this.#event
    const resumeOffset = this.resumeOffset === null ? '' : `"after_delta":"${this.resumeOffset}",`
    return `{"type":"${this.type}","position":${this.position},${resumeOffset}"event":${this.#event}${this.#blobs}}`
  }

  /** Returns the frame as bytes. Do not change them: all readers share them. */
  bytes(format: Format): Uint8Array {
    return (this.#bytes[format] ??= encoder.encode(this.text(format)))
  }
}

export function eventFrame(item: LoggedEvent): Frame | null {
  const event = wireEvent(item)
  if (event === null) return null
  return new Frame('event', item.seq, event, null, [], () => {
    const read: LoggedEvent & Pick<StoredEvent, 'blobs'> = withReferences(item)
    const sent = wireEvent(read)
    return sent === null ? null : new Frame('event', item.seq, sent, null, wireBlobs(sent, read))
  })
}

/** Frame of a delta that ends at `resumeOffset`. It has an id and a time, which clients require. */
export const deltaFrame = (position: number, event: Event, resumeOffset: ReplyOffset): Frame =>
  new Frame(
    'delta',
    position,
    withDefaults({ ...fresh(), ...maskSecrets(event) }),
    writeReplyOffset(resumeOffset),
  )

export const stateFrame = (
  position: number,
  key: string,
  value: JsonValue,
  type: FrameType = 'state',
): Frame => new Frame(type, position, { ...updateEvent(key, value), ...fresh() })

export const errorFrame = (position: number, code: string, detail: string): Frame =>
  new Frame('error', position, {
    kind: 'ServerErrorEvent',
    source: 'environment',
    code,
    detail,
    ...fresh(),
  } satisfies ServerErrorEvent)

export const fresh = (): { readonly id: string; readonly timestamp: string } => ({
  id: crypto.randomUUID(),
  timestamp: new Date().toISOString(),
})

/** Close codes: from RFC 6455 if one of its codes fits, otherwise application codes. */
export const CLOSE = {
  away: 1001,
  tooLarge: 1009,
  /** The stream failed: resume later, after the last position. */
  failed: 1011,
  /** Too many streams or too much data: try again later. */
  busy: 1013,
  /** The key is missing, invalid, expired or in the URL, or the origin is not allowed: do not retry. */
  unauthorized: 4001,
  /** The conversation does not exist: do not retry. */
  unknown: 4004,
  /** The reader was too slow: resume after the last position, and read faster. */
  slow: 4008,
  /** The client did not respond to a ping: resume after the last position. */
  idle: 4009,
  /** The query is invalid: do not retry with it. */
  badRequest: 4400,
} as const
