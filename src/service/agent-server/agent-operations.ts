/**
 * Operations on the agent of a conversation: final response, side questions, model, secrets, security
 * analyzer.
 */

import { finalResponse } from '../../context/final-response.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationStateUpdateEvent } from '../../event/types.ts'
import { askAside } from '../conversations/ask-aside.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { type BodySpec, objectOf, operation, type Operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { analyzerBody, llmBody, profileBody, questionBody, secretsBody } from './request-schema.ts'

const tag = 'Conversations'
const RESPONSE = {
  200: { description: 'Successful Response', schema: objectOf({ response: { type: 'string' } }) },
}
const UNKNOWN = { 404: { description: 'Unknown conversation' } }

export type FindLlm = (name: string) => Promise<JsonObject | null>

export const agentOperations = (lifecycle: Lifecycle, findLlm: FindLlm): Operation[] => [
  operation(
    'get /api/conversations/{conversation_id}/agent_final_response',
    {
      operationId: 'get_conversation_agent_final_response',
      tag,
      summary: 'Final Response Of The Agent',
      replies: { ...RESPONSE, ...UNKNOWN },
    },
    async ({ path }) => {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      return { body: { response: await conversation.read(finalResponse) } }
    },
  ),
  operation(
    'post /api/conversations/{conversation_id}/ask_agent',
    {
      operationId: 'ask_agent',
      tag,
      summary: 'Ask The Agent A Question That Is Not Stored',
      body: questionBody,
      replies: {
        ...RESPONSE,
        ...UNKNOWN,
        409: { description: 'There is no agent, or it returned no text' },
        429: { description: 'Too many runs' },
        504: { description: 'The agent did not respond in time' },
      },
    },
    async ({ path, body: { question }, request: { signal } }) => ({
      body: { response: await askAside(lifecycle, path.conversation_id, question, signal) },
    }),
  ),
  changing(
    'secrets',
    'update_conversation_secrets',
    'Set Secrets For The Agent',
    secretsBody,
    lifecycle,
    async ({ secrets }) =>
      (start) => ({
        ...start,
        secrets: { ...(isObject(start['secrets']) && start['secrets']), ...(secrets as JsonObject) },
      }),
  ),
  changing(
    'security_analyzer',
    'set_conversation_security_analyzer',
    'Set Security Analyzer',
    analyzerBody,
    lifecycle,
    async ({ security_analyzer }) =>
      (start) => ({
        ...start,
        security_analyzer: security_analyzer as JsonObject | null,
      }),
  ),
  changing(
    'switch_llm',
    'switch_conversation_llm',
    'Switch The Model',
    llmBody,
    lifecycle,
    async ({ llm }) =>
      (start) =>
        withLlm(start, llm as JsonObject),
  ),
  ...switchProfile(lifecycle, findLlm),
]

export const switchProfile = (
  lifecycle: Lifecycle,
  findLlm: FindLlm,
  base: `/${string}` = '/api/conversations',
  operationId = 'switch_conversation_profile',
): Operation[] => [
  changing(
    'switch_profile',
    operationId,
    'Switch To The Model Of A Profile',
    profileBody,
    lifecycle,
    async ({ profile_name: name }) => {
      const llm = await findLlm(name)
      if (llm === null) throw new HttpProblem(404, 'Profile not found.')
      return (start) => withLlm(start, llm)
    },
    base,
  ),
]

function changing<B>(
  verb: string,
  operationId: string,
  summary: string,
  body: BodySpec<B>,
  lifecycle: Lifecycle,
  plan: (body: B) => Promise<(start: JsonObject) => JsonObject>,
  base: `/${string}` = '/api/conversations',
): Operation {
  return operation(
    `post ${base}/{conversation_id}/${verb}`,
    {
      operationId,
      tag,
      summary,
      body,
      replies: {
        200: { description: 'Applies to runs that start from now on', schema: SUCCESS_SCHEMA },
        404: { description: 'Unknown conversation, or unknown profile' },
        409: { description: 'Earlier secrets were encrypted with another secret' },
      },
    },
    async ({ path, body: request }) => {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      const { start } = await lifecycle.starts.change(conversation.id, await plan(request))
      const key = ['switch_llm', 'switch_profile'].includes(verb) ? 'agent' : verb
      // The current value, as the conversation shows it; secrets are not shown.
      const value = key === 'secrets' ? null : (start[key] ?? null)
      await conversation.append({
        kind: 'ConversationStateUpdateEvent',
        source: 'environment',
        key,
        value,
      } satisfies ConversationStateUpdateEvent)
      return { body: SUCCESS }
    },
  )
}

function withLlm(start: JsonObject, llm: JsonObject): JsonObject {
  const { agent, agent_settings: settings } = start
  return {
    ...start,
    agent: { kind: 'Agent', tools: [], ...(isObject(agent) && agent), llm },
    ...(isObject(settings) && { agent_settings: { ...settings, llm } }),
  }
}
