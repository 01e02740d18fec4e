/** Whether anything on a branch waits for the model. */

import type { ActionEvent, Event } from '../event/types.ts'
import { type Branch, isAnswered } from '../state/branch.ts'
import { renderMessage } from '../messages/neutral.ts'
import { isFinish, isFinalReply } from '../state/status.ts'
import type { MessageUnit, Unit } from '../view/unit.ts'
import type { View } from '../view/view.ts'

/**
 * Whether the agent has given its final reply on a branch, so that there is nothing to ask a model: what its view says
 * ends with a reply, or with the result of the finish tool, no call is pending and no condensation is requested.
 * Whatever else a model would be sent behind these wants a reply, be it of the environment; system prompts and blank
 * messages say nothing. O(size of the units from there).
 */
export function isTurnOver(branch: Branch): boolean {
  return isReplied(branch) && !branch.view.unhandledCondensationRequest
}

/** The same, whether a condensation is requested or not. */
export function isReplied(branch: Branch): boolean {
  const last = lastSaid(branch.view)
  return last !== undefined && isAnswered(branch) && endsTurn(last)
}

/** The last unit that says something to a model. */
function lastSaid({ units }: View): Unit | undefined {
  for (let at = units.length - 1; at >= 0; at -= 1) {
    const unit = units.get(at)
    if (unit?.type === 'batch' || (unit !== undefined && says(unit))) return unit
  }
  return undefined
}

/** Whether a message says something to a model; the frame of a completion always does. */
const says = (unit: MessageUnit): boolean =>
  unit.completes !== undefined || renderMessage(unit.item.event) !== null

function endsTurn(unit: Unit): boolean {
  if (unit.type === 'message') return isFinalReply(unit.item.event)
  return [...unit.results].some(({ entry }) => isFinish(entry.event))
}

/**
 * Whether everything that users have said on a branch was taken out of its view again, so that there is nothing to ask
 * a model: only system prompts and words of the environment are left. O(units of that kind).
 */
export function hasNoPrompt({ view, lastUserMessage }: Branch): boolean {
  if (lastUserMessage === null) return false
  for (const unit of view.units) {
    if (unit.type !== 'message' || unit.completes !== undefined) return false
    const { kind, source } = unit.item.event
    if (kind !== 'SystemPromptEvent' && source !== 'environment') return false
  }
  return true
}

/**
 * Whether anything can execute a call: that of an unknown tool, or with arguments that cannot be read, has no action.
 */
export const isExecutable = ({ action }: ActionEvent): boolean => (action ?? null) !== null

/** Whether an event is a call that ends the turn once it is executed. */
export const isFinishCall = (event: Event): event is ActionEvent =>
  event.kind === 'ActionEvent' && event.tool_name === 'finish' && isExecutable(event)
