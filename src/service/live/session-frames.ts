/**
 * Frames of `/sockets/session/{conversation_id}`: `sync`, then `durable` events by position, a `transient`
 * snapshot, and reply progress (`item_started`, `delta`, `item_aborted`).
 */

import { readReplyOffset } from '../../conversation/streamed.ts'
import type { Event } from '../../event/types.ts'
import { integer, optional } from '../http/parameters.ts'
import type { Frame } from './frame.ts'

/** Query parameter: replay events after this position; -1: all. Default: live events only. */
export const SESSION_QUERY = { after_seq: optional(integer({})) } as const

/** Maximum bytes of a frame: a larger one closes the socket, and a reader resumes behind it. */
export const MAX_SESSION_FRAME = 4 * 2 ** 20

/**
 * Translates one stream's frames. An item is a streamed reply. Its event's id is unknown before the append,
 * so `item_aborted` with reason `replaced` retires it right before its durable event.
 */
export class SessionFrames {
  readonly #afterSeq: number | null
  #snapshot: string | null = null
  #item: { readonly id: string; order: number } | null = null
  #isSynced = false

  constructor(afterSeq: number | null) {
    this.#afterSeq = afterSeq
  }

  /** The session frames for one frame, as JSON. O(size). */
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

interface Delta {
  readonly content?: string | null
  readonly reasoning_content?: string | null
}
