import type { Conversation } from '../../conversation/conversation.ts'
import { decideApprove, decideReject, isExecuting, openCallsOf } from '../../conversation/decide.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import { loadedEvent } from '../../log/entry.ts'
import { findEventIn, type Log } from '../../log/log.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import {
  appendTo,
  describeConversation,
  type Lifecycle,
  newEventId,
  type OpenConversation,
  openConversation,
  sendMessage,
} from '../conversations/conversations.ts'
import { INFO_SCHEMA } from '../conversations/info.ts'
import type { Reserve } from '../conversations/runs.ts'
import type { BodySpec, Operation, Reply, Schema } from '../http/operation.ts'
import { objectOf, operationsIn } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import {
  approveBody,
  confirmationBody,
  messageBody,
  navigateBody,
  policyBody,
  rejectBody,
} from '../request-schema.ts'

const operation = operationsIn('Conversations')

/** Maximum milliseconds that an interrupt request waits for the run to end. */
const INTERRUPT_WAIT = 5_000

interface OnConversation<B> {
  readonly operationId: string
  readonly tag?: string
  readonly summary?: string
  readonly body?: BodySpec<B>
  readonly returns?: Schema
  readonly otherwise?: Readonly<Record<number, string>>
  readonly work: (opened: OpenConversation, body: B) => Promise<Reply>
}

export const onConversation = <B = undefined>(
  lifecycle: Lifecycle,
  name: string,
  { work, ...spec }: OnConversation<B>,
): Operation =>
  operation(`post /api/conversations/{conversation_id}/${name}`, {
    ...spec,
    handle: async ({ path, body }) => work(await openConversation(lifecycle, path.conversation_id), body),
  })

const FULL = { 429: 'Too many runs' }
const NOT_PENDING = { 409: 'No call waits for confirmation, or a call is not pending' }

export const runOperations = (lifecycle: Lifecycle): Operation[] => [
  onConversation(lifecycle, 'run', {
    operationId: 'run_conversation',
    otherwise: { 409: 'The conversation is running, or there is no agent', ...FULL },
    async work({ conversation }) {
      const { header, log } = await conversation.state()
      // If the conversation waits for confirmation, a request to run it approves the waiting calls. Append the
      // approval before the run begins.
      if (header.status !== 'waiting_for_confirmation')
        return lifecycle.runs.start(conversation, log.entries.length)
      lifecycle.runs.checkAgent()
      await lifecycle.runs.request(conversation.id, async (reserve) => ({
        conversation,
        from: await appendDecision(conversation, approveAll, reserve),
      }))
    },
  }),
  onConversation(lifecycle, 'pause', {
    operationId: 'pause_conversation',
    work: ({ conversation }) => pause(lifecycle, conversation),
  }),
  onConversation(lifecycle, 'interrupt', {
    operationId: 'interrupt_conversation',
    async work({ conversation }) {
      await conversation.interrupt()
      if (lifecycle.runs.has(conversation.id)) await lifecycle.runs.ended(conversation.id, INTERRUPT_WAIT)
    },
  }),
  onConversation(lifecycle, 'resume', {
    operationId: 'resume_conversation',
    async work({ conversation }) {
      await conversation.resume()
    },
  }),
  onConversation(lifecycle, 'condense', {
    operationId: 'condense_conversation',
    summary: 'Request A Condensation',
    async work({ conversation }) {
      await conversation.append({ kind: 'CondensationRequest', source: 'environment' })
    },
  }),
  onConversation(lifecycle, 'navigate', {
    operationId: 'navigate_conversation',
    summary: 'Move HEAD',
    body: navigateBody,
    returns: INFO_SCHEMA,
    otherwise: { 404: 'Unknown conversation or event', 409: 'The conversation is running' },
    async work({ conversation }, body) {
      // Null moves HEAD before the first event.
      await conversation.navigate(body?.event_id ?? null)
      return describeConversation(lifecycle, conversation)
    },
  }),
  onConversation(lifecycle, 'confirmation_policy', {
    operationId: 'set_confirmation_policy',
    body: policyBody,
    async work({ conversation }, body) {
      await conversation.setConfirmationPolicy(body.policy as JsonObject | null)
    },
  }),
  onConversation(lifecycle, 'events/respond_to_confirmation', {
    operationId: 'respond_to_confirmation',
    tag: 'Events',
    body: confirmationBody,
    otherwise: { ...NOT_PENDING, ...FULL },
    async work({ conversation }, { accept, reason }) {
      // A second rejection, for example from a double click, changes nothing.
      if (!accept) {
        await appendDecision(conversation, (state) =>
          state.header.status === 'waiting_for_confirmation' ? decideReject(state, undefined, reason) : [],
        )
        return
      }
      await lifecycle.runs.request(conversation.id, async (reserve) => {
        const { header, log } = await conversation.state()
        // If the calls are already approved, the process died before it executed them.
        const isAgain = header.status === 'idle' && granted(header.callStatuses, 'approved').size > 0
        if (!isAgain) return { conversation, from: await appendDecision(conversation, approveAll, reserve) }
        await reserve(null)
        return { conversation, from: log.entries.length }
      })
    },
  }),
  onConversation(lifecycle, 'events/approve', {
    operationId: 'approve_actions',
    tag: 'Events',
    body: approveBody,
    otherwise: { ...NOT_PENDING, ...FULL },
    async work({ conversation }, { action_ids }) {
      await lifecycle.runs.request(conversation.id, async (reserve) => {
        let isIdle = false
        const decide = (state: State): readonly Event[] => {
          const events = decideApprove(state, action_ids)
          // While further calls wait for confirmation, the status does not change.
          isIdle = state.header.status === 'idle' || events.some(isStatusUpdate)
          return events
        }
        const end = await appendDecision(conversation, decide, async (eventId) => {
          if (isIdle) await reserve(eventId)
        })
        return { conversation, from: isIdle ? end : null }
      })
    },
  }),
  onConversation(lifecycle, 'events/reject', {
    operationId: 'reject_actions',
    tag: 'Events',
    body: rejectBody,
    otherwise: NOT_PENDING,
    async work({ conversation }, { action_ids, reason }) {
      const rejected = await conversation.read(({ log }) => rejectedSince(log, action_ids))
      const open = action_ids.filter((id) => !rejected.has(id))
      const lease = await lifecycle.engine.store.getLease(conversation.id)
      if (open.length > 0) await appendDecision(conversation, (state) => reject(state, open, reason, lease))
    },
  }),
  operation('post /api/conversations/{conversation_id}/events', {
    operationId: 'send_message',
    tag: 'Events',
    body: messageBody,
    returns: objectOf({ success: 'boolean', event_id: 'string' }),
    otherwise: {
      409: 'The key was already used for another message, or there is no agent',
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

/** Pauses a conversation. If it is already paused, appends a PauseEvent only to stop an active or requested run. */
async function pause({ runs }: Lifecycle, conversation: Conversation): Promise<void> {
  const events = await conversation.pause()
  if (events.length > 0 || (await conversation.state()).header.status !== 'paused') return
  if (await runs.isWanted(conversation.id)) await conversation.append({ kind: 'PauseEvent', source: 'user' })
}

const isStatusUpdate = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status'

function approveAll(state: State): readonly Event[] {
  if (state.header.status !== 'waiting_for_confirmation')
    throw new HttpProblem(409, 'No call of this conversation is waiting for confirmation.')
  const executable = openCallsOf(state).filter(({ event }) => (event.action ?? null) !== null)
  return decideApprove(
    state,
    executable.map(({ id }) => id),
  )
}

function reject(state: State, ids: readonly string[], reason: string | undefined, lease: object | null) {
  // After a crash during a pause, no run executes the calls that have started.
  const isLive = lease !== null || state.header.status === 'running'
  const id = ids.find((each) => isLive && isExecuting(state, each))
  if (id === undefined) return decideReject(state, ids, reason)
  throw new HttpProblem(409, `Call ${JSON.stringify(id)} is being executed. Interrupt the conversation.`)
}

/** Returns the ids of calls rejected since the earliest call in `actionIds`. @throws ColloquyError `evicted`. */
function rejectedSince(log: Log, actionIds: readonly string[]): ReadonlySet<string> {
  const positions = actionIds.flatMap((id) => findEventIn(log, id)?.seq ?? [])
  const entries = log.entries.slice(Math.min(log.entries.length, ...positions))
  return new Set(
    entries.flatMap((entry) => {
      const event = loadedEvent(entry, ['UserRejectObservation'])
      return event?.kind === 'UserRejectObservation' ? [event.action_id] : []
    }),
  )
}

/** Appends the events that `decide` returns. Returns the new log length. */
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
