/** A request to start a conversation goes in; the task that will do it, with all the names that it will give, comes out. */

import type { JsonObject } from '../../event/shapes.ts'
import { findConversation, plainId, refuseReserved } from '../conversation-id.ts'
import { type HttpProblem, invalid } from '../http/problem.ts'
import type { Telling } from './app-conversation.ts'
import { appOf } from './app-metadata.ts'
import { newId } from './sandboxes.ts'
import type { StartRequest } from './schema.ts'
import { taken } from './start-conversation.ts'
import type { KeptTask } from './start-task.ts'

/**
 * Nothing is begun, and nothing kept. What the task will make gets its name now, so that whoever goes on with it makes nothing twice.
 *
 * @param by.origin where the service is reached
 * @param by.owner the service that will work on it
 * @throws HttpProblem 409 for a taken id, 422 for what is not there.
 */
export async function planTask(
  { lifecycle, sandboxes }: Telling,
  request: StartRequest,
  { origin, owner }: { readonly origin: string; readonly owner: string },
): Promise<KeptTask> {
  const { store } = lifecycle.engine
  const wanted = request.conversation_id ?? null
  const parentId = request.parent_conversation_id ?? null
  const given = request.sandbox_id ?? null
  refuseReserved(wanted, 'conversation_id')
  if (wanted !== null && (await findConversation(store, wanted)) !== null) throw taken(wanted)
  const parent = parentId === null ? null : await findConversation(store, parentId)
  if (parentId !== null && parent === null) throw missing('parent_conversation_id', 'conversation', parentId)
  if (given !== null && (await sandboxes.find(given)) === null) throw missing('sandbox_id', 'sandbox', given)
  // A child lives where its parent does, for as long as that is there.
  const inherited = parent === null ? null : appOf(parent).sandbox_id
  const isThere = inherited !== null && (await sandboxes.find(inherited)) !== null
  const known = given ?? (isThere ? inherited : null)
  const at = new Date().toISOString()
  return {
    id: newId(),
    created_by_user_id: null,
    status: 'WORKING',
    detail: null,
    app_conversation_id: null,
    sandbox_id: known ?? (sandboxes.possible ? newId() : null),
    agent_server_url: origin,
    request: request as object as JsonObject,
    created_at: at,
    updated_at: at,
    planned_id: wanted === null ? newId() : plainId(wanted),
    makes_sandbox: known === null && sandboxes.possible,
    owner,
  }
}

const missing = (field: string, what: string, id: string): HttpProblem =>
  invalid({
    type: 'value_error',
    loc: ['body', field],
    msg: `Value error, there is no ${what} ${JSON.stringify(id)}`,
    input: id,
  })
