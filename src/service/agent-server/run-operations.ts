/** Operations on a conversation's runs: run, pause, resume, navigate, condense, send, approve, reject. */

import type { Conversation } from '../../conversation/conversation.ts'
import { decideApprove, decideReject, openCallsOf } from '../../conversation/decide.ts'

import type { JsonObject } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import { findEventIn, type Log } from '../../log/log.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import {
  appendTo,
  describeConversation,
  type Lifecycle,
  newEventId,
  openConversation,
  sendMessage,
} from '../conversations/conversations.ts'
import { INFO_SCHEMA, UNKNOWN_CONVERSATION } from '../conversations/info.ts'
import type { Reserve } from '../conversations/runs.ts'
import {
  type BodySpec,
  objectOf,
  operationsIn,
  type Operation,
  type Reply,
  bool,
  string,
} from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import {
  approveBody,
  confirmationBody,
  messageBody,
  navigateBody,
  policyBody,
  rejectBody,
} from './request-schema.ts'

const operation = operationsIn('Conversations')

/** Maximum milliseconds that an interrupt waits for the run to end; the log already contains it. */
const INTERRUPT_WAIT = 5_000

export const controlOperations = (lifecycle: Lifecycle): Operation[] => [
  verb(
    lifecycle,
    'run',
    'Run Conversation',
    async (conversation) => {
      const { header, log } = await conversation.state()
      // To run a conversation that waits for confirmation is to approve; the log contains the approval before
      // the run.
      if (header.status !== 'waiting_for_confirmation')
        await lifecycle.runs.start(conversation, log.entries.length)
      else {
        lifecycle.runs.checkAgent()
        await lifecycle.runs.request(conversation.id, async (reserve) => ({
          conversation,
          from: await appendDecision(conversation, approveAll, reserve),
        }))
      }
    },
    {
      409: 'The conversation is running, or there is no agent',
      429: 'Too many runs',
    },
  ),
  verb(lifecycle, 'pause', 'Pause Conversation', (conversation) => pause(lifecycle, conversation)),
  verb(lifecycle, 'interrupt', 'Interrupt Conversation', async (conversation) => {
    await conversation.interrupt()
    if (lifecycle.runs.has(conversation.id)) await lifecycle.runs.ended(conversation.id, INTERRUPT_WAIT)
  }),
  verb(lifecycle, 'resume', 'Resume Conversation', (conversation) => conversation.resume()),
  verb(lifecycle, 'condense', 'Request A Condensation', (conversation) =>
    conversation.append({ kind: 'CondensationRequest', source: 'environment' }),
  ),
  operation('post /api/conversations/{conversation_id}/navigate', {
    operationId: 'navigate_conversation',
    summary: 'Move HEAD',
    body: navigateBody,
    returns: INFO_SCHEMA,
    otherwise: { 404: 'Unknown conversation or event', 409: 'The conversation is running' },
    async handle({ path, body }) {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      // Null moves before the first event.
      await conversation.navigate(body?.event_id ?? null)
      return describeConversation(lifecycle, conversation)
    },
  }),
  operation('post /api/conversations/{conversation_id}/confirmation_policy', {
    operationId: 'set_confirmation_policy',
    body: policyBody,
    otherwise: UNKNOWN_CONVERSATION,
    async handle({ path, body }) {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      await conversation.setConfirmationPolicy(body.policy as JsonObject | null)
    },
  }),
]

/**
 * Pauses a conversation. A paused one receives another PauseEvent only if a run requested since has not
 * begun: the log lacks that request.
 */
async function pause({ runs }: Lifecycle, conversation: Conversation): Promise<void> {
  const events = await conversation.pause()
  if (events.length > 0 || (await conversation.state()).header.status !== 'paused') return
  if (await runs.isWanted(conversation.id)) await conversation.append({ kind: 'PauseEvent', source: 'user' })
}

function verb(
  lifecycle: Lifecycle,
  name: string,
  summary: string,
  work: (conversation: Conversation) => Promise<unknown>,
  otherwise: Operation['otherwise'] = {},
): Operation {
  return operation(`post /api/conversations/{conversation_id}/${name}`, {
    operationId: `${name}_conversation`,
    summary,
    otherwise: { ...UNKNOWN_CONVERSATION, ...otherwise },
    async handle({ path }): Promise<Reply> {
      await work((await openConversation(lifecycle, path.conversation_id)).conversation)
    },
  })
}

export const messageOperations = (lifecycle: Lifecycle): Operation[] => [
  operation('post /api/conversations/{conversation_id}/events', {
    operationId: 'send_message',
    tag: 'Events',
    body: messageBody,
    returns: objectOf({ success: bool, event_id: string }),
    otherwise: {
      ...UNKNOWN_CONVERSATION,
      409: 'The key was used for another message, or there is no agent',
      429: 'Too many runs',
    },
    async handle({ path, body: { run = false, ...message } }) {
      const sent = await appendTo(lifecycle, path.conversation_id, async (conversation) => {
        if (run) lifecycle.runs.checkAgent()
        return sendMessage(lifecycle, conversation, message, run)
      })
      return { success: true, event_id: sent[0]?.id ?? null }
    },
  }),
]

export const confirmationOperations = (lifecycle: Lifecycle): Operation[] => [
  decision(
    lifecycle,
    ['respond_to_confirmation', 'respond_to_confirmation', 'Respond To Confirmation'],
    confirmationBody,
    async (conversation, { accept, reason }) => {
      // A second rejection, such as a double click, changes nothing.
      if (!accept) return appendDecision(conversation, (state) => rejectAll(state, reason))
      return lifecycle.runs.request(conversation.id, async (reserve) => {
        const { header, log } = await conversation.state()
        // The calls are approved, but the process that acknowledged it died before it ran them.
        const isAgain = header.status === 'idle' && granted(header.callStatuses, 'approved').size > 0
        if (!isAgain) return { conversation, from: await appendDecision(conversation, approveAll, reserve) }
        await reserve(null)
        return { conversation, from: log.entries.length }
      })
    },
    FULL,
  ),
  decision(
    lifecycle,
    ['approve', 'approve_actions', 'Approve Actions'],
    approveBody,
    (conversation, { action_ids }) =>
      lifecycle.runs.request(conversation.id, async (reserve) => {
        let isIdle = false
        const decide = (state: State): readonly Event[] => {
          const events = decideApprove(state, action_ids)
          // No status is appended while other calls wait.
          isIdle = state.header.status === 'idle' || events.some(isStatusUpdate)
          return events
        }
        const reserveIfIdle: Reserve = async (eventId) => {
          if (isIdle) await reserve(eventId)
        }
        const end = await appendDecision(conversation, decide, reserveIfIdle)
        return { conversation, from: isIdle ? end : null }
      }),
    FULL,
  ),
  decision(
    lifecycle,
    ['reject', 'reject_actions', 'Reject Actions'],
    rejectBody,
    async (conversation, { action_ids, reason }) => {
      const { log } = await conversation.state()
      const open = action_ids.filter((id) => !isRejected(log, id))
      if (open.length > 0) await conversation.reject(open, reason)
    },
  ),
]

const isStatusUpdate = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status'

/** A decision that needs a run is rejected as a whole if no slot is free. */
const FULL = { 429: 'Too many runs' }

function decision<B>(
  lifecycle: Lifecycle,
  [verb, operationId, summary]: readonly [verb: string, operationId: string, summary: string],
  body: BodySpec<B>,
  work: (conversation: Conversation, body: B) => Promise<unknown>,
  otherwise: Operation['otherwise'] = {},
): Operation {
  return operation(`post /api/conversations/{conversation_id}/events/${verb}`, {
    operationId,
    tag: 'Events',
    summary,
    body,
    otherwise: {
      ...UNKNOWN_CONVERSATION,
      409: 'No call waits for confirmation, or a call is not pending',
      ...otherwise,
    },
    async handle({ path, body: request }) {
      await work((await openConversation(lifecycle, path.conversation_id)).conversation, request)
    },
  })
}

/** Approves all waiting calls that can be executed. @throws HttpProblem 409 if none waits. */
function approveAll(state: State): readonly Event[] {
  if (state.header.status !== 'waiting_for_confirmation')
    throw new HttpProblem(409, 'No call of this conversation waits for confirmation.')
  const executable = openCallsOf(state).filter(({ event }) => (event.action ?? null) !== null)
  return decideApprove(
    state,
    executable.map(({ id }) => id),
  )
}

const rejectAll = (state: State, reason: string | undefined): readonly Event[] =>
  state.header.status === 'waiting_for_confirmation' ? decideReject(state, undefined, reason) : []

/** Whether a user has rejected a call. O(events since the call). */
function isRejected(log: Log, actionId: string): boolean {
  const action = findEventIn(log, actionId)
  if (action === undefined) return false
  for (let seq = action.seq + 1; seq < log.entries.length; seq += 1) {
    const event = log.entries.get(seq)?.event
    if (event?.kind === 'UserRejectObservation' && event.action_id === actionId) return true
  }
  return false
}

/**
 * Appends a decision on exactly its state: a repeated decision must not approve executed calls. Returns the
 * new log length.
 * @param reserve called before anything is appended, with the id of the first event
 */
async function appendDecision(
  conversation: Conversation,
  decide: (state: State) => readonly Event[],
  reserve?: Reserve,
): Promise<number> {
  const id = newEventId()
  return retryConflicts(async () => {
    const state = await conversation.state()
    const { length } = state.log.entries
    const [first, ...rest] = decide(state)
    await reserve?.(first === undefined ? null : id)
    if (first === undefined) return length
    await conversation.append([{ ...first, id }, ...rest], { expected: length })
    return length + 1 + rest.length
  })
}
