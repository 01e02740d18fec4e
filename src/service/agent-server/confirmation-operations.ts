/** A user's consent to calls: all that wait at once, or some by the ids of their actions, as operations. */

import type { Conversation } from '../../conversation/conversation.ts'
import { decideApprove, decideReject, openCallsOf } from '../../conversation/decide.ts'
import { hasCode } from '../../event/errors.ts'
import type { Event } from '../../event/types.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import { type BodySpec, type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { type Lifecycle, open } from '../conversations/conversations.ts'
import { approveBody, confirmationBody, rejectBody } from './request-schema.ts'

/** The operations on calls that wait for a user. What is approved is run at once, where there is an agent. */
export const confirmationOperations = (lifecycle: Lifecycle): Operation[] => [
  consent(
    lifecycle,
    ['respond_to_confirmation', 'respond_to_confirmation', 'Respond To Confirmation'],
    confirmationBody,
    async (conversation, { accept, reason }) => {
      const { header, log } = await conversation.state()
      // Said already, and the process that was told so died before it was run.
      const isAgain = accept && header.status === 'idle' && granted(header.callStatuses, 'approved').size > 0
      const decide = accept ? approveAll : (state: State) => decideReject(state, undefined, reason)
      const end = isAgain ? log.entries.length : await decideWaiting(conversation, decide)
      if (accept) await lifecycle.runs.join(conversation, end)
    },
  ),
  consent(
    lifecycle,
    ['approve', 'approve_actions', 'Approve Actions'],
    approveBody,
    async (conversation, { action_ids }) => {
      await conversation.approve(action_ids)
      const { header, log } = await conversation.state()
      // Where others still wait for consent, the conversation waits on.
      if (header.status === 'idle') await lifecycle.runs.join(conversation, log.entries.length)
    },
  ),
  consent(
    lifecycle,
    ['reject', 'reject_actions', 'Reject Actions'],
    rejectBody,
    (conversation, { action_ids, reason }) => conversation.reject(action_ids, reason),
  ),
]

/** A user's word on calls. */
function consent<B>(
  lifecycle: Lifecycle,
  [verb, operationId, summary]: readonly [verb: string, operationId: string, summary: string],
  body: BodySpec<B>,
  work: (conversation: Conversation, body: B) => Promise<unknown>,
): Operation {
  return operation(
    {
      method: 'post',
      path: `/api/conversations/{conversation_id}/events/${verb}`,
      operationId,
      tag: 'Events',
      summary,
      params: { conversation_id: text() },
      body,
      replies: {
        200: { description: 'Successful Response', schema: SUCCESS_SCHEMA },
        404: { description: 'Unknown conversation' },
        409: { description: 'Nothing waits for confirmation, or a call is not open' },
      },
    },
    async ({ path, body: given }) => {
      await work(await open(lifecycle, path.conversation_id), given)
      return { body: SUCCESS }
    },
  )
}

/** Approves all that waits and can be executed. */
export function approveAll(state: State): readonly Event[] {
  const executable = openCallsOf(state).filter(({ event }) => (event.action ?? null) !== null)
  return decideApprove(
    state,
    executable.map(({ id }) => id),
  )
}

/**
 * Makes a decision on a conversation that waits for confirmation, at the very state that it is made on: a decision that
 * comes twice must not approve a second time what was begun by then. Gives the length of the log after it. @throws
 * HttpProblem 409 for one that does not wait.
 */
export async function decideWaiting(
  conversation: Conversation,
  decide: (state: State) => readonly Event[],
): Promise<number> {
  for (;;) {
    const state = await conversation.state()
    const { length } = state.log.entries
    if (state.header.status !== 'waiting_for_confirmation') {
      throw new HttpProblem(409, 'Nothing waits for confirmation in this conversation.')
    }
    const events = decide(state)
    if (events.length === 0) return length
    try {
      await conversation.append(events, { expected: length })
      return length + events.length
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error
    }
  }
}
