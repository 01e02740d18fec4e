/**
 * What can be done with a conversation's run: run, pause, interrupt, resume, navigate, condense, ask for consent, as
 * operations.
 */

import type { JsonObject } from '../../event/shapes.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { type Operation, operation, type Reply } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { INFO_SCHEMA, SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { describe, type Lifecycle, open } from '../conversations/conversations.ts'
import { approveAll, decideAt } from './confirmation-operations.ts'
import { navigateBody, policyBody } from './request-schema.ts'

const tag = 'Conversations'

const params = { conversation_id: text() }
const done = { 200: { description: 'Successful Response', schema: SUCCESS_SCHEMA } }
const unknown = { 404: { description: 'Unknown conversation' } }

/** Milliseconds that an interrupt waits for the run to give the conversation back; it is in the log before. */
const LETTING_GO = 5_000

/** The operations on runs and on HEAD. */
export const controlOperations = (lifecycle: Lifecycle): Operation[] => [
  verb(
    lifecycle,
    'run',
    'Run Conversation',
    async (conversation) => {
      const { header, log } = await conversation.state()
      // Who runs what waits for consent, consents: what it says then stands in the log first.
      if (header.status !== 'waiting_for_confirmation')
        await lifecycle.runs.start(conversation, log.entries.length)
      else {
        lifecycle.runs.checkAgent()
        await lifecycle.runs.ask(conversation.id, async (place) => ({
          conversation,
          from: await decideAt(conversation, (state) => approveAll(state, place)),
        }))
      }
    },
    {
      409: { description: 'It is running already, or there is no agent' },
      429: { description: 'Too many runs' },
    },
  ),
  verb(lifecycle, 'pause', 'Pause Conversation', pause),
  verb(lifecycle, 'interrupt', 'Interrupt Conversation', async (conversation) => {
    await conversation.interrupt()
    if (lifecycle.runs.has(conversation.id)) await lifecycle.runs.ended(conversation.id, LETTING_GO)
  }),
  verb(lifecycle, 'resume', 'End The Pause Of A Conversation', (conversation) => conversation.resume()),
  verb(lifecycle, 'condense', 'Ask For A Condensation', (conversation) =>
    conversation.append({ kind: 'CondensationRequest', source: 'environment' }),
  ),
  operation(
    {
      method: 'post',
      path: '/api/conversations/{conversation_id}/navigate',
      operationId: 'navigate_conversation',
      tag,
      summary: 'Move HEAD',
      params,
      body: navigateBody,
      replies: {
        200: { description: 'Successful Response', schema: INFO_SCHEMA },
        404: { description: 'Unknown conversation or event' },
        409: { description: 'It is running' },
      },
    },
    async ({ path, body }) => {
      const conversation = await open(lifecycle, path.conversation_id)
      // Without one, to before the first event.
      await conversation.navigate(body?.event_id ?? null)
      return { body: await describe(lifecycle, conversation) }
    },
  ),
  operation(
    {
      method: 'post',
      path: '/api/conversations/{conversation_id}/confirmation_policy',
      operationId: 'set_confirmation_policy',
      tag,
      summary: 'Say Which Calls Need Consent',
      params,
      body: policyBody,
      replies: { ...done, ...unknown },
    },
    async ({ path, body }) => {
      const conversation = await open(lifecycle, path.conversation_id)
      await conversation.setConfirmationPolicy(body.policy as JsonObject | null)
      return { body: SUCCESS }
    },
  ),
]

/**
 * What is paused is paused anew: a run that was asked for behind the pause may have yet to begin, in whatever process,
 * with nothing in the log that says so.
 */
async function pause(conversation: Conversation): Promise<void> {
  const events = await conversation.pause()
  if (events.length > 0 || (await conversation.state()).header.status !== 'paused') return
  await conversation.append({ kind: 'PauseEvent', source: 'user' })
}

/** A deed without a body. */
function verb(
  lifecycle: Lifecycle,
  name: string,
  summary: string,
  work: (conversation: Conversation) => Promise<unknown>,
  replies: Operation['replies'] = {},
): Operation {
  return operation(
    {
      method: 'post',
      path: `/api/conversations/{conversation_id}/${name}`,
      operationId: `${name}_conversation`,
      tag,
      summary,
      params,
      replies: { ...done, ...unknown, ...replies },
    },
    async ({ path }): Promise<Reply> => {
      await work(await open(lifecycle, path.conversation_id))
      return { body: SUCCESS }
    },
  )
}
