/** Who has had the last word: an event goes in, whether the agent is through with its work comes out. */

import { hasText } from '../event/text.ts'
import type { Event } from '../event/types.ts'

/** Whether an event is the agent's last word: text for the user, and no call. */
export function isReply(event: Event): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return false
  const { content, tool_calls } = event.llm_message
  // An image may have fields of its own, `text` among them: only what it must have tells it apart.
  const speaks = (content ?? []).some((part) => !('image_urls' in part) && hasText(part.text))
  return speaks && (tool_calls?.length ?? 0) === 0
}

/** Whether an event says that the work is done: the result of the finish tool. */
export const isFinish = (event: Event): boolean =>
  event.kind === 'ObservationEvent' && event.tool_name === 'finish' && event.observation.is_error !== true
