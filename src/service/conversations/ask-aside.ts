/** Asks the agent of a conversation something aside, in a copy that is gone when it has said something. */

import { finalResponse } from '../../context/final-response.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import { createEngine } from '../../conversation/engine.ts'
import { decideReject } from '../../conversation/decide.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { memoryStore } from '../../store/memory/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { openConversation, type Lifecycle } from './conversations.ts'

/** How often the model may be asked about it. */
const MOST = 3
/** Milliseconds that it may take. */
const LONGEST = 120_000

/**
 * Nothing of it is in the conversation, whatever becomes of it: a run of that may be live. No tool is called, since in
 * the copy every call needs a consent that is not given. O(events), as the log is copied.
 *
 * @param left aborted when its client has left: the place that it takes is free then
 * @throws HttpProblem 404, 409 without an agent, or where it says nothing, 429 where there are too many runs, 504 where
 * it says nothing in time; what the agent throws.
 */
export async function askAside(
  lifecycle: Lifecycle,
  given: string,
  question: string,
  left: AbortSignal,
): Promise<string> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), LONGEST)
  const signal = AbortSignal.any([left, late.signal])
  const { promise: ended, reject } = Promise.withResolvers<never>()
  ended.catch(() => undefined)
  const end = (): void =>
    reject(new HttpProblem(504, `The agent did not respond within ${LONGEST / 1_000} seconds.`))
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    return await lifecycle.runs.withCopy((run) =>
      askCopy(lifecycle, given, question, (copy, start) =>
        // An agent may hang before there is a run that could be interrupted.
        Promise.race([run(copy, start, { maxIterations: MOST, signal }), ended]),
      ),
    )
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

async function askCopy(
  lifecycle: Lifecycle,
  given: string,
  question: string,
  run: (copy: Conversation, start: JsonObject) => Promise<void>,
): Promise<string> {
  const { engine, starts } = lifecycle
  const { record } = await openConversation(lifecycle, given)
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
    const [asked] = await copy.sendMessage(question)
    await run(copy, await starts.of(record))
    const said = await copy.read((after) => {
      const { head } = after.log
      return head !== null && head.id !== asked?.id ? finalResponse(after) : ''
    })
    if (said === '') throw new HttpProblem(409, 'The agent did not respond.')
    return said
  } finally {
    await aside.close()
  }
}
