/** The operations that send a message to a conversation, at once or when it is ready. */

import { getConversationOr404 } from '../../conversations/find.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { text } from '../../http/parameters.ts'
import { HttpProblem } from '../../http/problem.ts'
import { open, sayAndRun } from '../../conversations/conversations.ts'
import { sandboxOf } from '../conversations/describe.ts'
import { MOST_PENDING, MOST_PENDING_TEXT } from './pending.ts'
import type { ControlPlane } from '../control-plane.ts'
import { SANDBOX_STATUSES, type SandboxStatus } from '../sandboxes/provider.ts'
import { pendingBody, sendBody } from '../request-schema.ts'
import { maybe, objectOf } from '../replies.ts'

const tag = 'Conversations'

/** The response for a sandbox that no message can be sent to. */
const REFUSED: Readonly<Partial<Record<SandboxStatus, number>>> = {
  PAUSED: 409,
  STARTING: 409,
  MISSING: 410,
  ERROR: 503,
}

const WHAT_TO_DO =
  ' Resume it and wait until it runs, or leave the message in pending-messages, and it is said then.'

export const messageOperations = (plane: ControlPlane): Operation[] => [
  operation(
    {
      method: 'post',
      path: '/api/v1/app-conversations/{conversation_id}/send-message',
      operationId:
        'send_message_to_app_conversation_api_v1_app_conversations__conversation_id__send_message_post',
      tag,
      summary: 'Send Message To App Conversation',
      params: { conversation_id: text() },
      body: sendBody,
      replies: {
        200: {
          description: 'It was said',
          schema: objectOf({
            success: { type: 'boolean' },
            sandbox_status: { type: 'string', enum: SANDBOX_STATUSES },
            message: maybe({ type: 'string' }),
          }),
        },
        404: { description: 'Unknown conversation' },
        409: { description: 'The sandbox is paused or starting, or there is no agent' },
        410: { description: 'The sandbox is gone' },
        429: { description: 'Too many runs' },
        503: { description: 'The sandbox has failed' },
      },
    },
    async ({ path, body: { content, run = true } }) => {
      const record = await getConversationOr404(plane.store, path.conversation_id)
      const { status, status_detail: why } = await sandboxOf(plane.sandboxes, record)
      const refused = REFUSED[status]
      if (refused !== undefined) {
        const what = `The sandbox is ${status}${why === null ? '.' : `: ${why}`}`
        throw new HttpProblem(refused, `${what}${refused === 409 ? WHAT_TO_DO : ''}`)
      }
      const conversation = await open(plane.lifecycle, record)
      if (run) plane.lifecycle.runs.checkAgent()
      await sayAndRun(plane.lifecycle, conversation, { content }, run)
      return { body: { success: true, sandbox_status: status, message: null } }
    },
  ),
  operation(
    {
      method: 'post',
      path: '/api/v1/conversations/{conversation_id}/pending-messages',
      operationId: 'queue_pending_message_api_v1_conversations__conversation_id__pending_messages_post',
      tag,
      summary: 'Queue Pending Message',
      params: { conversation_id: text() },
      body: pendingBody,
      replies: {
        201: {
          description: 'It will be said when the conversation is ready',
          schema: objectOf({
            id: { type: 'string' },
            queued: { const: true },
            position: { type: 'integer' },
          }),
        },
        404: { description: 'Neither a conversation nor a start task' },
        409: { description: 'The conversation could not be started' },
        410: { description: 'The sandbox was deleted' },
        429: {
          description: `${MOST_PENDING} messages wait already, or more than ${MOST_PENDING_TEXT} characters would`,
        },
      },
    },
    async ({ path, body }) => ({
      status: 201,
      body: await plane.pending.add(path.conversation_id, body.content),
    }),
  ),
]
