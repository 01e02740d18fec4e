import { finalResponse } from '../../context/final-response.ts'
import { orAborted } from '../../conversation/async.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { decideReject, updateEvent } from '../../conversation/decide.ts'
import { createEngine } from '../../conversation/engine.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { analyzerBody, llmBody, profileBody, questionBody, secretsBody } from '../request-schema.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { onConversation } from './run-operations.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { memoryStore } from '../../store/memory/store.ts'

const operation = operationsIn('Conversations')
const RESPONSE = objectOf({ response: 'string' })

const CHANGE = {
  description: 'Applies to runs that start from now on',
  otherwise: {
    404: 'Unknown conversation, or unknown profile',
    409: 'Earlier secrets were encrypted with another secret',
  },
}

/** Returns the settings of an LLM profile. @throws HttpProblem 404 for an unknown profile. */
export type FindLlm = (name: string) => Promise<JsonObject>

export const agentOperations = (lifecycle: Lifecycle, findLlm: FindLlm): Operation[] => [
  operation('get /api/conversations/{conversation_id}/agent_final_response', {
    operationId: 'get_conversation_agent_final_response',
    summary: 'Final Response Of The Agent',
    returns: RESPONSE,
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
      409: 'There is no agent, or it returned no text',
      429: 'Too many runs',
      504: 'The agent did not respond in time',
    },
    handle: async ({ path, body: { question }, request: { signal } }) => ({
      response: await askAside(lifecycle, path.conversation_id, question, signal),
    }),
  }),
  onConversation(lifecycle, 'secrets', {
    ...CHANGE,
    operationId: 'update_conversation_secrets',
    summary: 'Set Secrets For The Agent',
    body: secretsBody,
    async work({ conversation }, { secrets }) {
      await lifecycle.starts.change(conversation.id, (start) => ({
        ...start,
        secrets: { ...(isObject(start['secrets']) && start['secrets']), ...(secrets as JsonObject) },
      }))
      // The log must not contain the secrets.
      await conversation.append(updateEvent('secrets', null))
    },
  }),
  onConversation(lifecycle, 'security_analyzer', {
    ...CHANGE,
    operationId: 'set_conversation_security_analyzer',
    summary: 'Set Security Analyzer',
    body: analyzerBody,
    async work({ conversation }, body) {
      const security_analyzer = body.security_analyzer as JsonObject | null
      const { start } = await lifecycle.starts.change(conversation.id, (before) => ({
        ...before,
        security_analyzer,
      }))
      await conversation.append(updateEvent('security_analyzer', start['security_analyzer'] ?? null))
    },
  }),
  onConversation(lifecycle, 'switch_llm', {
    ...CHANGE,
    operationId: 'switch_conversation_llm',
    summary: 'Switch The Model',
    body: llmBody,
    work: ({ conversation }, { llm }) => switchLlm(lifecycle, conversation, llm as JsonObject),
  }),
  ...(['/api/conversations', '/api/v1/app-conversations'] as const).map((base) =>
    operation(`post ${base}/{conversation_id}/switch_profile`, {
      ...CHANGE,
      operationId: `switch_${base === '/api/conversations' ? '' : 'app_'}conversation_profile`,
      summary: 'Switch To The Model Of A Profile',
      body: profileBody,
      async handle({ path, body: { profile_name: name } }) {
        const { conversation } = await openConversation(lifecycle, path.conversation_id)
        await switchLlm(lifecycle, conversation, await findLlm(name))
      },
    }),
  ),
]

async function switchLlm({ starts }: Lifecycle, conversation: Conversation, llm: JsonObject): Promise<void> {
  const { start } = await starts.change(conversation.id, (before) => withLlm(before, llm))
  await conversation.append(updateEvent('agent', start['agent'] ?? null))
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
 * Asks the agent in a copy of the conversation. Every call in the copy needs a confirmation that nobody can
 * give, so no tool is executed.
 */
async function askAside(
  lifecycle: Lifecycle,
  conversationId: string,
  question: string,
  disconnected: AbortSignal,
): Promise<string> {
  const { engine, runs, starts } = lifecycle
  const free = runs.acquireSlot()
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), TIMEOUT)
  const signal = AbortSignal.any([disconnected, timeout.signal])
  const copies = memoryStore()
  const aside = createEngine({ store: copies })
  try {
    const { record } = await openConversation(lifecycle, conversationId)
    const { id, metadata } = record
    const copy = await aside.create({ id, metadata })
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
    const options = { maxIterations: MAX_ITERATIONS, signal }
    // An agent may hang before it begins a run that can be interrupted.
    await orAborted(runs.runCopy(copy, await starts.of(record), options), signal)
    if (signal.aborted)
      throw new HttpProblem(504, `The agent did not respond within ${TIMEOUT / 1_000} seconds.`)
    const answer = await copy.read((after) => {
      const { head } = after.log
      return head !== null && head.id !== sent?.id ? finalResponse(after) : ''
    })
    if (answer === '') throw new HttpProblem(409, 'The agent ended without an answer. Ask again.')
    return answer
  } finally {
    clearTimeout(timer)
    free()
    await aside.close()
  }
}
