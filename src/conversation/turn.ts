/** Whose turn it is on a branch: the branch goes in, whether anything waits for the model comes out. */

import type { ActionEvent, Event } from '../event/types.ts'
import { type Branch, isAnswered } from '../state/branch.ts'
import { isFinish, isReply } from '../state/last-word.ts'
import type { Unit } from '../view/unit.ts'

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

/** Whether anything can execute a call: that of an unknown tool, or with arguments that nobody can read, has no action. */
export const isExecutable = ({ action }: ActionEvent): boolean => (action ?? null) !== null

/** Whether an event is a call that ends the turn once it is executed. */
export const isFinishCall = (event: Event): event is ActionEvent =>
  event.kind === 'ActionEvent' && event.tool_name === 'finish' && isExecutable(event)
