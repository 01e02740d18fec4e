import { appendDecided, type Conversation } from '../../conversation/conversation.ts'
import { decidePolicy, userMessage, policyUpdate } from '../../conversation/decide.ts'
import { keyedId } from '../../event/ids.ts'
import { hasCode } from '../../event/errors.ts'
import { withoutNulls } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event, MessageEvent } from '../../event/types.ts'
import { findEventIn } from '../../log/log.ts'
import type { State } from '../../state/state.ts'
import type { ConversationRecord, NewConversation } from '../../store/contract/conversation-record.ts'
import { wasHandled } from '../conversations/run-progress.ts'
import {
  changeRecord,
  dashedId,
  findConversation,
  findParent,
  idInUse,
  newConversationId,
  refuseReserved,
} from '../conversations/find-conversation.ts'
import { withMasks } from '../conversations/starts.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { agentFields, type ForkBody, type StartBody } from '../request-schema.ts'

interface Created {
  readonly isNew: boolean
  readonly conversation: Conversation
  readonly from: number | null
}

/**
 * Creates a conversation and appends its first message. If the conversation already exists, only completes an
 * earlier start request that a crash interrupted.
 * @throws HttpProblem 413 for a start request that is too large, 422 for a reserved id or an unknown parent,
 *   429 for too many runs.
 */
export async function create(lifecycle: Lifecycle, body: StartBody): Promise<Created> {
  const { engine } = lifecycle
  const requestedId = body.conversation_id ?? null
  refuseReserved(requestedId, 'conversation_id')
  const existing = requestedId === null ? null : await findConversation(engine.store, requestedId)
  if (existing !== null) return resumeCreation(lifecycle, existing, body)
  const id = requestedId === null ? newConversationId() : dashedId(requestedId)
  // If the run cannot begin, reject the request before the conversation is created.
  return withReservedRun(lifecycle, id, body, () => make(lifecycle, id, body))
}

async function make(lifecycle: Lifecycle, id: string, body: StartBody): Promise<Created> {
  const planned = { id, ...(await recordOf(lifecycle, body)) }
  try {
    const made = await lifecycle.starts.orForget(planned, () => lifecycle.engine.create(planned))
    return await begin(made, body, true)
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
    return resumeCreation(lifecycle, id, body)
  }
}

async function resumeCreation(
  lifecycle: Lifecycle,
  idOrRecord: string | ConversationRecord,
  body: StartBody,
): Promise<Created> {
  const { conversation } = await openConversation(lifecycle, idOrRecord)
  const { id } = conversation
  const { record, state } = await conversation.look()
  const beginning = beginningOf(id, body)
  const begins = record.metadata['begins'] === (beginning.message === null ? 'policy' : true)
  const done: Created = { isNew: false, conversation, from: null }
  if (!begins || state.header.status !== 'idle') return done
  if (missingEvents(beginning, state, false).length === 0) {
    const from = body.initial_message?.run === false ? null : positionAfter(beginning, state)
    if (from === null || (await wasHandled(lifecycle.engine.store, id, from))) return done
  }
  return withReservedRun(lifecycle, id, body, () => begin(conversation, body, false))
}

const withReservedRun = (
  { runs }: Lifecycle,
  id: string,
  body: StartBody,
  work: () => Promise<Created>,
): Promise<Created> => {
  const { message } = beginningOf(id, body)
  if (message === null || body.initial_message?.run === false) return work()
  return runs.request(id, async (reserve) => {
    await reserve(message.id ?? null)
    return work()
  })
}

interface Beginning {
  readonly policy: ConversationStateUpdateEvent | null
  readonly message: MessageEvent | null
}

function beginningOf(
  id: string,
  { confirmation_policy: policy, initial_message: initialMessage }: StartBody,
): Beginning {
  const sender = initialMessage?.sender
  return {
    policy:
      (policy ?? null) === null
        ? null
        : { ...policyUpdate(policy as JsonObject), id: keyedId('policy', id, 'initial') },
    message:
      (initialMessage ?? null) === null
        ? null
        : {
            ...userMessage({ role: 'user', content: initialMessage?.content ?? [] }),
            id: keyedId('message', id, initialMessage?.key ?? 'initial'),
            ...(sender !== undefined && { sender }),
          },
  }
}

function missingEvents({ policy, message }: Beginning, state: State, isNew: boolean): Event[] {
  const exists = (event: Event): boolean => findEventIn(state.log, event.id ?? '') !== undefined
  const isBegun =
    message === null
      ? policy === null || exists(policy)
      : exists(message) || (!isNew && state.branch.lastUserMessage !== null)
  if (isBegun) return []
  const isSet =
    policy === null || exists(policy) || decidePolicy(state, policy.value as JsonObject).length === 0
  return [...(isSet ? [] : [policy]), ...(message === null ? [] : [message])]
}

function positionAfter({ message }: Beginning, { log }: State): number | null {
  const entry = message === null ? undefined : findEventIn(log, message.id ?? '')
  return entry === undefined ? null : entry.seq + 1
}

/** Appends the confirmation policy and the first message together. Of concurrent requests, only one appends. */
async function begin(conversation: Conversation, body: StartBody, isNew: boolean): Promise<Created> {
  const beginning = beginningOf(conversation.id, body)
  await appendDecided(conversation, (state) => missingEvents(beginning, state, isNew))
  const isRun = body.initial_message?.run !== false
  return { isNew, conversation, from: isRun ? positionAfter(beginning, await conversation.state()) : null }
}

async function recordOf(
  { engine, starts }: Lifecycle,
  body: StartBody,
): Promise<Omit<NewConversation, 'id'> & { readonly metadata: JsonObject }> {
  const { tags, workspace, max_iterations, confirmation_policy } = body
  const runs = (body.initial_message ?? null) !== null
  const begins = runs || ((confirmation_policy ?? null) !== null && 'policy')
  const parent = await findParent(engine.store, body.parent_conversation_id ?? null)
  // These fields are stored with the conversation, so they count towards the maximum size of the start request.
  const shownFields = { workspace, confirmation_policy }
  return {
    title: body.title ?? null,
    tags: tags ?? {},
    owner: body.owner ?? null,
    parentConversationId: parent?.id ?? null,
    metadata: {
      ...(await starts.store(agentFields(body), shownFields)),
      ...(workspace !== undefined && { workspace: withMasks(workspace as JsonObject) }),
      ...(max_iterations !== undefined && { max_iterations }),
      ...(begins !== false && { begins }),
    },
  }
}

export type Inherit = (
  source: ConversationRecord,
) => Promise<Required<Pick<NewConversation, 'metadata' | 'sandboxId'>>>

export async function fork(
  lifecycle: Lifecycle,
  source: Conversation,
  body: ForkBody,
  inherit: Inherit,
): Promise<Conversation> {
  const { engine, starts } = lifecycle
  const requestedId = body.id ?? null
  const from = body.from_event_id ?? null
  refuseReserved(requestedId, 'id')
  // A conversation may already have this UUID in its other form, with or without dashes.
  if (requestedId !== null && (await findConversation(engine.store, requestedId)) !== null)
    throw idInUse(requestedId)
  const record = await source.record()
  const { workspace, max_iterations } = record.metadata
  const { sandboxId, metadata: inherited } = await inherit(record)
  const metadata: JsonObject = {
    ...inherited,
    ...(await starts.copy(record)),
    ...(workspace !== undefined && { workspace }),
    ...(max_iterations !== undefined && { max_iterations }),
    forked_from_conversation_id: source.id,
    forked_from_event_id: from,
  }
  const planned = { id: requestedId === null ? newConversationId() : dashedId(requestedId), metadata }
  const forked = await lifecycle.starts.orForget(planned, () =>
    source.fork({
      ...planned,
      sandboxId,
      ...withoutNulls({ title: body.title, from, owner: body.owner }),
      tags: body.tags ?? {},
    }),
  )
  if (body.reset_metrics === false) return forked
  await changeRecord(engine.store, forked.id, (made) => ({
    metadata: { ...made.metadata, counted_from: made.version },
  }))
  return forked
}
