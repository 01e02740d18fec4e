/** A message of the user to a conversation, as an operation. */

import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { SUCCESS } from '../conversations/info.ts'
import { type Lifecycle, open, sayAndRun } from '../conversations/conversations.ts'
import { messageBody } from './request-schema.ts'

/** The operation that sends a message, and runs the conversation where that is asked for. */
export const messageOperations = (lifecycle: Lifecycle): Operation[] => [
  operation(
    {
      method: 'post',
      path: '/api/conversations/{conversation_id}/events',
      operationId: 'send_message',
      tag: 'Events',
      summary: 'Send A Message',
      params: { conversation_id: text() },
      body: messageBody,
      replies: {
        200: {
          description: 'Successful Response',
          schema: {
            type: 'object',
            required: ['success', 'event_id'],
            properties: { success: { type: 'boolean' }, event_id: { type: 'string' } },
          },
        },
        404: { description: 'Unknown conversation' },
        409: { description: 'The key was used for another message, or there is no agent' },
        429: { description: 'Too many runs' },
      },
    },
    async ({ path, body: { run = false, ...said } }) => {
      const conversation = await open(lifecycle, path.conversation_id)
      if (run) lifecycle.runs.checkAgent()
      const sent = await sayAndRun(lifecycle, conversation, said, run)
      return { body: { ...SUCCESS, event_id: sent[0]?.id ?? null } }
    },
  ),
]
