import type { ActionEvent, Event } from '../event/types.ts'
import { type Branch, isAnswered } from '../state/branch.ts'
import { renderMessage } from '../messages/neutral.ts'
import { isFinish, isFinalReply } from '../state/status.ts'
import type { MessageUnit, Unit } from '../view/units.ts'
import type { View } from '../view/view.ts'

/**
 * Whether the turn has ended: no call is pending, no condensation is requested, and the view ends with a final
 * reply or a result of the finish tool. Later system prompts and blank messages are ignored. Any other later
 * message needs a reply, even a message from the environment. O(size of the ignored units).
 */
export function isTurnOver(branch: Branch): boolean {
  return isReplied(branch) && !branch.view.unhandledCondensationRequest
}

export function isReplied(branch: Branch): boolean {
  const last = lastRendered(branch.view)
  return last !== undefined && isAnswered(branch) && endsTurn(last)
}

function lastRendered({ units }: View): Unit | undefined {
  for (let index = units.length - 1; index >= 0; index -= 1) {
    const unit = units.get(index)
    if (unit?.type === 'batch' || (unit !== undefined && isRendered(unit))) return unit
  }
  return undefined
}

const isRendered = (unit: MessageUnit): boolean =>
  unit.completes !== undefined || renderMessage(unit.item.event) !== null

function endsTurn(unit: Unit): boolean {
  if (unit.type === 'message') return isFinalReply(unit.item.event)
  return [...unit.results].some(({ entry }) => isFinish(entry.event))
}

/**
 * Whether the branch has nothing to reply to: no user message, no pending call, and in the view only system
 * prompts and blank messages. O(size of the units).
 */
export const isBranchEmpty = (branch: Branch): boolean =>
  branch.lastUserMessage === null && lastRendered(branch.view) === undefined && isAnswered(branch)

/**
 * Whether the branch had a user message, but has no pending call, and in the view only system prompts and
 * environment messages. A run then does not call the model. O(units).
 */
export function hasNoPrompt(branch: Branch): boolean {
  if (branch.lastUserMessage === null || !isAnswered(branch)) return false
  for (const unit of branch.view.units) {
    if (unit.type !== 'message' || unit.completes !== undefined) return false
    const { kind, source } = unit.item.event
    if (kind !== 'SystemPromptEvent' && source !== 'environment') return false
  }
  return true
}

export const isExecutable = ({ action }: ActionEvent): boolean => (action ?? null) !== null

export const isFinishCall = (event: Event): event is ActionEvent =>
  event.kind === 'ActionEvent' && event.tool_name === 'finish' && isExecutable(event)
