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
      if (!accept) return decideAt(conversation, (state) => decideReject(waiting(state), undefined, reason))
      return lifecycle.runs.ask(conversation.id, async (place) => {
        const { header, log } = await conversation.state()
        // Said already, and the process that was told so died before it was run.
        const isAgain = header.status === 'idle' && granted(header.callStatuses, 'approved').size > 0
        if (!isAgain)
          return { conversation, from: await decideAt(conversation, (state) => approveAll(state, place)) }
        place()
        return { conversation, from: log.entries.length }
      })
    },
    FULL,
  ),
  consent(
    lifecycle,
    ['approve', 'approve_actions', 'Approve Actions'],
    approveBody,
    (conversation, { action_ids }) =>
      lifecycle.runs.ask(conversation.id, async (place) => {
        let isIdle = false
        const end = await decideAt(conversation, (state) => {
          const events = decideApprove(state, action_ids)
          // Where others still wait for consent, it says no status, and the conversation waits on.
          isIdle = state.header.status === 'idle' || events.some(isStatusUpdate)
          if (isIdle) place()
          return events
        })
        return { conversation, from: isIdle ? end : null }
      }),
    FULL,
  ),
  consent(
    lifecycle,
    ['reject', 'reject_actions', 'Reject Actions'],
    rejectBody,
    (conversation, { action_ids, reason }) => conversation.reject(action_ids, reason),
  ),
]

const isStatusUpdate = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status'

/** Consent is refused as a whole where what it asks for could not be run. */
const FULL = { 429: { description: 'Too many runs' } }

/** A user's word on calls. */
function consent<B>(
  lifecycle: Lifecycle,
  [verb, operationId, summary]: readonly [verb: string, operationId: string, summary: string],
  body: BodySpec<B>,
  work: (conversation: Conversation, body: B) => Promise<unknown>,
  replies: Operation['replies'] = {},
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
        ...replies,
      },
    },
    async ({ path, body: given }) => {
      await work(await open(lifecycle, path.conversation_id), given)
      return { body: SUCCESS }
    },
  )
}

/** Approves all that waits and can be executed, once there is a place for its run. @throws HttpProblem 409, 429. */
export function approveAll(state: State, place: () => void): readonly Event[] {
  const executable = openCallsOf(waiting(state)).filter(({ event }) => (event.action ?? null) !== null)
  place()
  return decideApprove(
    state,
    executable.map(({ id }) => id),
  )
}

/** @throws HttpProblem 409 for one that does not wait for confirmation. */
function waiting(state: State): State {
  if (state.header.status === 'waiting_for_confirmation') return state
  throw new HttpProblem(409, 'Nothing waits for confirmation in this conversation.')
}

/**
 * Makes a decision at the very state that it is made on: a decision that comes twice must not approve a second time
 * what was begun by then. Gives the length of the log after it.
 */
export async function decideAt(
  conversation: Conversation,
  decide: (state: State) => readonly Event[],
): Promise<number> {
  for (;;) {
    const state = await conversation.state()
    const { length } = state.log.entries
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
