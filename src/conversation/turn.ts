import type { ActionEvent, Event } from '../event/types.ts'
import { type Branch, isAnswered } from '../state/branch.ts'
import { lastSent } from '../messages/neutral.ts'
import { endsTurn } from '../state/status.ts'

/**
 * Whether the turn has ended: no call is pending, no condensation is requested, and the view ends with a final
 * reply or a result of the finish tool. Later system prompts and blank messages are ignored. Any other later
 * message needs a reply, even a message from the environment. O(size of the ignored units).
 */
export function isTurnOver(branch: Branch): boolean {
  return isReplied(branch) && !branch.view.unhandledCondensationRequest
}

export function isReplied(branch: Branch): boolean {
  const last = lastSent(branch.view)
  return last !== undefined && isAnswered(branch) && endsTurn(last)
}

/**
 * Whether the branch has nothing to reply to: no user message, no pending call, and in the view only system
 * prompts and blank messages. O(size of the units).
 */
export const isBranchEmpty = (branch: Branch): boolean =>
  branch.lastUserMessage === null && lastSent(branch.view) === undefined && isAnswered(branch)

export const isExecutable = ({ action }: ActionEvent): boolean => (action ?? null) !== null

export const isFinishCall = (event: Event): event is ActionEvent =>
  event.kind === 'ActionEvent' && event.tool_name === 'finish' && isExecutable(event)
