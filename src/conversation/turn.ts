/** Whose turn it is on a branch: the branch goes in, whether anything waits for the model comes out. */

import { hasText } from '../event/text.ts'
import type { Event } from '../event/types.ts'
import type { Branch } from '../state/branch.ts'
import { isAnswered } from '../state/branch.ts'
import type { Unit } from '../view/unit.ts'

/** Whether an event is the agent's last word: text for the user, and no call. */
export function isReply(event: Event): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return false
  const { content, tool_calls } = event.llm_message
  // An image may have fields of its own, `text` among them.
  const speaks = (content ?? []).some((part) => !('image_urls' in part) && hasText(part.text))
  return speaks && (tool_calls?.length ?? 0) === 0
}

/** Whether an event says that the work is done: the result of the finish tool. */
export const isFinish = (event: Event): boolean =>
  event.kind === 'ObservationEvent' && event.tool_name === 'finish' && event.observation.is_error !== true

/**
 * Whether the agent has had the last word on a branch, so that there is nothing to ask a model: its view ends with a reply, or with the
 * result of the finish tool, no call is open and no condensation is wished for. O(size of the last unit).
 */
export function isDone(branch: Branch): boolean {
  const last = branch.view.units.last()
  if (last === undefined || !isAnswered(branch) || branch.view.unhandledCondensationRequest) return false
  return endsTurn(last)
}

function endsTurn(unit: Unit): boolean {
  if (unit.type === 'message') return isReply(unit.item.event)
  return [...unit.answers].some(({ entry }) => isFinish(entry.event))
}

/**
 * Whether everything that users have said on a branch was taken out of its view again, so that there is nothing to ask a model: only system
 * prompts and words of the environment are left. O(units of that kind).
 */
export function isBlank({ view, lastUserMessage }: Branch): boolean {
  if (lastUserMessage === null) return false
  for (const unit of view.units) {
    if (unit.type !== 'message') return false
    const { kind, source } = unit.item.event
    if (kind !== 'SystemPromptEvent' && source !== 'environment') return false
  }
  return true
}
