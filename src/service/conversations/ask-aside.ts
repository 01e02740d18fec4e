/** Side questions: the agent answers in a temporary copy of the conversation. */

import { finalResponse } from '../../context/final-response.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { createEngine } from '../../conversation/engine.ts'
import { decideReject } from '../../conversation/decide.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { memoryStore } from '../../store/memory/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { openConversation, type Lifecycle } from './conversations.ts'

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
export async function askAside(
  lifecycle: Lifecycle,
  conversationId: string,
  question: string,
  disconnected: AbortSignal,
): Promise<string> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), TIMEOUT)
  const signal = AbortSignal.any([disconnected, timeout.signal])
  const { promise: ended, reject } = Promise.withResolvers<never>()
  ended.catch(() => undefined)
  const end = (): void =>
    reject(new HttpProblem(504, `The agent did not respond within ${TIMEOUT / 1_000} seconds.`))
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    return await lifecycle.runs.withCopy((run) =>
      askCopy(lifecycle, conversationId, question, (copy, start) =>
        // An agent may hang before it begins a run that can be interrupted.
        Promise.race([run(copy, start, { maxIterations: MAX_ITERATIONS, signal }), ended]),
      ),
    )
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
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
