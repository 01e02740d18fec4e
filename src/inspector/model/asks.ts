/** Where a model was asked: each reply of a log, and the state that its request was made of. */

import { askedAfter, isOfReply, replyOf } from '../../event/reply.ts'
import type { Event } from '../../event/types.ts'
import { type ReplyTokens, tokensIn } from '../../messages/reply-usage.ts'
import { anchorOf, type Entry } from '../../log/entry.ts'
import { findEvent } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import type { Replayed } from './replayed.ts'

/** One reply, and when it was asked for. */
export interface Ask {
  /** Position of the reply's first event. */
  readonly seq: number
  /** How many facts stood in the log when the model was asked, as far as the log tells. */
  readonly place: number
  readonly model: string | null
  /** What it took; null where nothing says it. */
  readonly tokens: ReplyTokens | null
}

/** The replies of a log, in its order. O(n log n). */
export function asksOf({ states }: Replayed): Ask[] {
  const state = states.at(-1) as State
  const seen = new Set<string>()
  const asks: Ask[] = []
  for (const entry of state.log.entries) {
    const { event, seq, inTree } = entry
    if (event === null || !inTree || !isOfReply(event)) continue
    if (event.kind === 'ActionEvent' && event.llm_response_id !== '') {
      if (seen.has(event.llm_response_id)) continue
      seen.add(event.llm_response_id)
    }
    const record = replyOf(event)
    asks.push({
      seq,
      place: placeOf(state, entry, event),
      model: typeof record?.model === 'string' ? record.model : null,
      tokens: record === null ? null : tokensIn(record),
    })
  }
  return asks
}

function placeOf(state: State, { seq, parent }: Entry, event: Event): number {
  const after = askedAfter(event)
  if (after === null) return 0
  const asked = after === undefined ? undefined : after === true ? anchorOf(parent) : findEvent(state, after)
  return asked === undefined || asked === null || asked.seq >= seq ? seq : asked.seq + 1
}

/** The last request before what would be sent at a place: the index of its reply in the list; -1 for none. O(log n). */
export function askBefore(asks: readonly Ask[], place: number): number {
  let low = 0
  for (let high = asks.length; low < high;) {
    const middle = (low + high) >>> 1
    if ((asks[middle] as Ask).seq < place) low = middle + 1
    else high = middle
  }
  let at = low - 1
  // What is sent at the very place of a request is that request, and the one before it is what it is held against.
  while (at >= 0 && (asks[at] as Ask).place >= place) at -= 1
  return at
}
