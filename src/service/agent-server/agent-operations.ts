/** Operations on a conversation's agent: final response, side questions, model, secrets, analyzer. */

import { finalResponse } from '../../context/final-response.ts'
import { orAborted } from '../../conversation/async.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { decideReject, updateEvent } from '../../conversation/decide.ts'
import { createEngine } from '../../conversation/engine.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { analyzerBody, llmBody, profileBody, questionBody, secretsBody } from './request-schema.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { UNKNOWN_CONVERSATION } from '../conversations/info.ts'
import { type BodySpec, objectOf, operationsIn, type Operation, string } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { memoryStore } from '../../store/memory/store.ts'

const operation = operationsIn('Conversations')
const RESPONSE = objectOf({ response: string })

export type FindLlm = (name: string) => Promise<JsonObject | null>

export const agentOperations = (lifecycle: Lifecycle, findLlm: FindLlm): Operation[] => [
  operation('get /api/conversations/{conversation_id}/agent_final_response', {
    operationId: 'get_conversation_agent_final_response',
    summary: 'Final Response Of The Agent',
    returns: RESPONSE,
    otherwise: UNKNOWN_CONVERSATION,
    async handle({ path }) {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      return { response: await conversation.read(finalResponse) }
    },
  }),
  operation('post /api/conversations/{conversation_id}/ask_agent', {
    operationId: 'ask_agent',
    summary: 'Ask The Agent A Question That Is Not Stored',
    body: questionBody,
    returns: RESPONSE,
    otherwise: {
      ...UNKNOWN_CONVERSATION,
      409: 'There is no agent, or it returned no text',
      429: 'Too many runs',
      504: 'The agent did not respond in time',
    },
    handle: async ({ path, body: { question }, request: { signal } }) => ({
      response: await askAside(lifecycle, path.conversation_id, question, signal),
    }),
  }),
  changing(lifecycle, 'secrets', {
    operationId: 'update_conversation_secrets',
    summary: 'Set Secrets For The Agent',
    body: secretsBody,
    plan:
      ({ secrets }) =>
      (start) => ({
        ...start,
        secrets: { ...(isObject(start['secrets']) && start['secrets']), ...(secrets as JsonObject) },
      }),
  }),
  changing(lifecycle, 'security_analyzer', {
    operationId: 'set_conversation_security_analyzer',
    summary: 'Set Security Analyzer',
    body: analyzerBody,
    plan: (body) => (start) => ({ ...start, security_analyzer: body.security_analyzer as JsonObject | null }),
  }),
  changing(lifecycle, 'switch_llm', {
    operationId: 'switch_conversation_llm',
    summary: 'Switch The Model',
    body: llmBody,
    plan:
      ({ llm }) =>
      (start) =>
        withLlm(start, llm as JsonObject),
  }),
  switchProfile(lifecycle, findLlm),
]

export const switchProfile = (
  lifecycle: Lifecycle,
  findLlm: FindLlm,
  operationId = 'switch_conversation_profile',
  base?: Changing<never>['base'],
): Operation =>
  changing(lifecycle, 'switch_profile', {
    ...(base !== undefined && { base }),
    operationId,
    summary: 'Switch To The Model Of A Profile',
    body: profileBody,
    async plan({ profile_name: name }) {
      const llm = await findLlm(name)
      if (llm === null) throw new HttpProblem(404, 'Profile not found.')
      return (start) => withLlm(start, llm)
    },
  })

type Change = (start: JsonObject) => JsonObject

interface Changing<B> {
  /** Default: `/api/conversations`. */
  readonly base?: `/${string}`
  readonly operationId: string
  readonly summary: string
  readonly body: BodySpec<B>
  readonly plan: (body: B) => Change | Promise<Change>
}

function changing<B>(
  lifecycle: Lifecycle,
  verb: string,
  { base = '/api/conversations', plan, ...spec }: Changing<B>,
): Operation {
  return operation(`post ${base}/{conversation_id}/${verb}`, {
    ...spec,
    description: 'Applies to runs that start from now on',
    otherwise: {
      404: 'Unknown conversation, or unknown profile',
      409: 'Earlier secrets were encrypted with another secret',
    },
    async handle({ path, body: request }) {
      const { conversation } = await openConversation(lifecycle, path.conversation_id)
      const { start } = await lifecycle.starts.change(conversation.id, await plan(request))
      const key = ['switch_llm', 'switch_profile'].includes(verb) ? 'agent' : verb
      // The current value, as the conversation shows it; secrets are not shown.
      const value = key === 'secrets' ? null : (start[key] ?? null)
      await conversation.append(updateEvent(key, value))
    },
  })
}

function withLlm(start: JsonObject, llm: JsonObject): JsonObject {
  const { agent, agent_settings: settings } = start
  return {
    ...start,
    agent: { kind: 'Agent', tools: [], ...(isObject(agent) && agent), llm },
    ...(isObject(settings) && { agent_settings: { ...settings, llm } }),
  }
}

const MAX_ITERATIONS = 3
const TIMEOUT = 120_000

/**
 * Returns the agent's response to a question in a copy: the conversation is unchanged, even during a run.
 * Every call in the copy needs confirmation and nothing approves, so no tool is executed. O(events), to copy
 * the log.
 * @param disconnected aborted when the client disconnects, which frees the run's slot
 * @throws HttpProblem 404, 409 without an agent or a response, 429 for too many runs, 504 on timeout; what
 *   the agent throws.
 */
async function askAside(
  lifecycle: Lifecycle,
  conversationId: string,
  question: string,
  disconnected: AbortSignal,
): Promise<string> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), TIMEOUT)
  const signal = AbortSignal.any([disconnected, timeout.signal])
  try {
    return await lifecycle.runs.withCopy((run) =>
      askCopy(lifecycle, conversationId, question, async (copy, start) => {
        // An agent may hang before it begins a run that can be interrupted.
        await orAborted(run(copy, start, { maxIterations: MAX_ITERATIONS, signal }), signal)
        if (signal.aborted)
          throw new HttpProblem(504, `The agent did not respond within ${TIMEOUT / 1_000} seconds.`)
      }),
    )
  } finally {
    clearTimeout(timer)
  }
}

async function askCopy(
  lifecycle: Lifecycle,
  conversationId: string,
  question: string,
  run: (copy: Conversation, start: JsonObject) => Promise<void>,
): Promise<string> {
  const { engine, starts } = lifecycle
  const { record } = await openConversation(lifecycle, conversationId)
  const { id } = record
  const copies = memoryStore()
  const aside = createEngine({ store: copies })
  try {
    const copy = await aside.create({ id, metadata: record.metadata })
    for (let from = 0; ; from += MAX_PAGE_SIZE) {
      const page = await engine.store.read(id, { from, limit: MAX_PAGE_SIZE })
      if (page.length === 0) break
      await copies.append(
        id,
        page.map(({ fact }) => fact),
        { mode: 'import' },
      )
    }
    const state = await copy.state()
    await copy.append(decideReject(state, undefined, 'It is still under way.'))
    await copy.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    await copy.resume()
    const [sent] = await copy.sendMessage(question)
    await run(copy, await starts.of(record))
    const answer = await copy.read((after) => {
      const { head } = after.log
      return head !== null && head.id !== sent?.id ? finalResponse(after) : ''
    })
    if (answer === '') throw new HttpProblem(409, 'The agent ended without an answer. Ask again.')
    return answer
  } finally {
    await aside.close()
  }
}
