/** What each reply on a path was asked at, since only its first event may say so. */

import { askedAfter } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import type { Entry } from '../log/entry.ts'

/** Id of the event under HEAD when the model was asked, null for none; undefined where that is not known. */
export type Asked = string | null | undefined

/** A reply of which a call stands on the path. */
interface ReplyOnPath {
  readonly id: string
  readonly after: Asked
}

/** The reply that the call at an entry is of; null where none is there, or not any more. O(its calls). */
export function replyAt(call: Entry | null): ReplyOnPath | null {
  if (call?.event?.kind !== 'ActionEvent') return null
  const id = call.event.llm_response_id
  for (let at: Entry | null = call; at?.event?.kind === 'ActionEvent'; at = at.parent) {
    if (at.event.llm_response_id !== id) break
    const after = afterOf(at, at.event)
    if (after !== undefined) return { id, after }
  }
  return { id, after: undefined }
}

/** What the event of an entry says that its reply was asked at. */
function afterOf({ parent }: Entry, event: Event): Asked {
  const after = askedAfter(event)
  return after === true ? (parent?.id ?? null) : after
}

/**
 * What each event of a path was asked at: calls that say nothing of it are of the reply whose call is before them.
 * O(path).
 */
export function askedAt(
  path: readonly Entry[],
  events: readonly (Event | null)[],
  above: ReplyOnPath | null,
): Asked[] {
  let reply = above
  return path.map((entry, at) => {
    const event = events[at] ?? null
    const after = event === null ? undefined : afterOf(entry, event)
    if (event?.kind !== 'ActionEvent') {
      reply = null
      return after
    }
    if (after !== undefined || reply?.id !== event.llm_response_id)
      reply = { id: event.llm_response_id, after }
    return reply.after
  })
}
