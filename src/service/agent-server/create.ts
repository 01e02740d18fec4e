/** Creates and forks conversations. */

import type { Conversation } from '../../conversation/conversation.ts'
import { decidePolicy, userMessage, policyUpdate } from '../../conversation/decide.ts'
import { keyedId } from '../../conversation/stamp.ts'
import { hasCode } from '../../event/errors.ts'
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
  newConversationId,
  refuseReserved,
} from '../conversations/find-conversation.ts'
import { withMasks } from '../conversations/starts.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { type Lifecycle, openConversation, userMessageOf } from '../conversations/conversations.ts'
import { beyond, type ForkBody, type StartBody } from './request-schema.ts'

/** A conversation that was asked for, and the position from which on it is to be run; null where it is not. */
interface Created {
  readonly isNew: boolean
  readonly conversation: Conversation
  readonly from: number | null
}

/**
 * Creates a conversation, unless there is one with its id, and begins with its first message. The process that
 * created one may have died before that: a client that asks again has it said.
 * @throws HttpProblem 422, 429 where it is to be run and there are too many runs.
 */
export async function create(lifecycle: Lifecycle, body: StartBody): Promise<Created> {
  const { engine } = lifecycle
  const given = body.conversation_id ?? null
  refuseReserved(given, 'conversation_id')
  const found = given === null ? null : await findConversation(engine.store, given)
  if (found !== null) return again(lifecycle, found, body)
  const id = given === null ? newConversationId() : dashedId(given)
  // What cannot be run is refused before it is created.
  return inPlace(lifecycle, id, body, () => make(lifecycle, id, body))
}

async function make(lifecycle: Lifecycle, id: string, body: StartBody): Promise<Created> {
  const given = { id, ...(await recordOf(lifecycle, body)) }
  try {
    const made = await lifecycle.starts.orForget(given, () => lifecycle.engine.create(given))
    return await begin(made, body, true)
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
    return again(lifecycle, id, body)
  }
}

/** One that is there: what its beginning lacks is said, and run. */
async function again(
  lifecycle: Lifecycle,
  given: string | ConversationRecord,
  body: StartBody,
): Promise<Created> {
  const { conversation } = await openConversation(lifecycle, given)
  const { id } = conversation
  const { record, state } = await conversation.look()
  const beginning = beginningOf(id, body)
  const begins = record.metadata['begins'] === (beginning.message === null ? 'policy' : true)
  const done: Created = { isNew: false, conversation, from: null }
  if (!begins || state.header.status !== 'idle') return done
  if (unsaid(beginning, state, false).length === 0) {
    const from = body.initial_message?.run === false ? null : behind(beginning, state)
    if (from === null || (await wasHandled(lifecycle.engine.store, id, from))) return done
  }
  return inPlace(lifecycle, id, body, () => begin(conversation, body, false))
}

/** Reserves a slot for the run, if the first message requests one. */
const inPlace = (
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

/** What a conversation begins with, under ids of its own. */
interface Beginning {
  readonly policy: ConversationStateUpdateEvent | null
  readonly message: MessageEvent | null
}

function beginningOf(
  id: string,
  { confirmation_policy: policy, initial_message: said }: StartBody,
): Beginning {
  const sender = said?.sender
  return {
    policy:
      (policy ?? null) === null
        ? null
        : { ...policyUpdate(policy as JsonObject), id: keyedId('policy', id, 'initial') },
    message:
      (said ?? null) === null
        ? null
        : {
            ...userMessage(userMessageOf(said?.content ?? [])),
            id: keyedId('message', id, said?.key ?? 'initial'),
            ...(sender !== undefined && { sender }),
          },
  }
}

/** What of it is to be said; nothing where another request has begun the conversation. */
function unsaid({ policy, message }: Beginning, state: State, isNew: boolean): Event[] {
  const stands = (event: Event): boolean => findEventIn(state.log, event.id ?? '') !== undefined
  const isBegun =
    message === null
      ? policy === null || stands(policy)
      : stands(message) || (!isNew && state.branch.lastUserMessage !== null)
  if (isBegun) return []
  const isSet =
    policy === null || stands(policy) || decidePolicy(state, policy.value as JsonObject).length === 0
  return [...(isSet ? [] : [policy]), ...(message === null ? [] : [message])]
}

/** The position behind its message; null where that does not stand in the log. */
function behind({ message }: Beginning, { log }: State): number | null {
  const entry = message === null ? undefined : findEventIn(log, message.id ?? '')
  return entry === undefined ? null : entry.seq + 1
}

/**
 * Says the policy and the first message, both at once and once, however many ask: who comes second finds what the first
 * one has said, in the same words or in others.
 */
async function begin(conversation: Conversation, body: StartBody, isNew: boolean): Promise<Created> {
  const beginning = beginningOf(conversation.id, body)
  for (;;) {
    const state = await conversation.state()
    const events = unsaid(beginning, state, isNew)
    if (events.length === 0) {
      const isRun = body.initial_message?.run !== false
      return { isNew, conversation, from: isRun ? behind(beginning, state) : null }
    }
    try {
      await conversation.append(events, { expected: state.log.entries.length })
    } catch (error) {
      if (!hasCode(error, 'version_conflict') && !hasCode(error, 'id_conflict')) throw error
    }
  }
}

async function recordOf(
  { engine, starts }: Lifecycle,
  body: StartBody,
): Promise<Omit<NewConversation, 'id'> & { readonly metadata: JsonObject }> {
  const { tags, workspace, max_iterations, confirmation_policy } = body
  const runs = (body.initial_message ?? null) !== null
  const begins = runs || ((confirmation_policy ?? null) !== null && 'policy')
  const parent = body.parent_conversation_id ?? null
  const found = parent === null ? null : await findConversation(engine.store, parent)
  if (parent !== null && found === null) {
    throw invalid({
      type: 'value_error',
      loc: ['body', 'parent_conversation_id'],
      msg: `Value error, there is no conversation ${JSON.stringify(parent)}`,
      input: parent,
    })
  }
  // Each is shown wherever the conversation is.
  const beside = { workspace, confirmation_policy }
  return {
    title: body.title ?? null,
    tags: tags ?? {},
    owner: body.owner ?? null,
    parentConversationId: found?.id ?? null,
    metadata: {
      ...(await starts.keep(beyond(body), beside)),
      ...(workspace !== undefined && { workspace: withMasks(workspace as JsonObject) }),
      ...(max_iterations !== undefined && { max_iterations }),
      ...(begins !== false && { begins }),
    },
  }
}

/** What a fork of a conversation is made with, beside what this face knows of it. */
export type Inherit = (
  source: ConversationRecord,
) => Promise<Required<Pick<NewConversation, 'metadata' | 'sandboxId'>>>

/**
 * Forks a conversation; the workspace, the sandbox and the bound of its runs come along.
 * @throws HttpProblem 409 when the id is taken; ColloquyError `unknown_event`.
 */
export async function fork(
  lifecycle: Lifecycle,
  source: Conversation,
  body: ForkBody,
  inherit: Inherit,
): Promise<Conversation> {
  const { engine, starts } = lifecycle
  const wanted = body.id ?? null
  const title = body.title ?? null
  const from = body.from_event_id ?? null
  refuseReserved(wanted, 'id')
  // A UUID may be taken in its other form.
  if (wanted !== null && (await findConversation(engine.store, wanted)) !== null) {
    throw new HttpProblem(409, `Conversation ${JSON.stringify(wanted)} exists already.`)
  }
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
  const planned = { id: wanted === null ? newConversationId() : dashedId(wanted), metadata }
  const forked = await lifecycle.starts.orForget(planned, () =>
    source.fork({
      ...planned,
      sandboxId,
      ...(title !== null && { title }),
      ...(from !== null && { from }),
      tags: body.tags ?? {},
      ...((body.owner ?? null) !== null && { owner: body.owner ?? null }),
    }),
  )
  if (body.reset_metrics === false) return forked
  await changeRecord(engine.store, forked.id, (made) => ({
    metadata: { ...made.metadata, counted_from: made.version },
  }))
  return forked
}
