/** Plans a start task with all the ids that it will use, so that done again after a crash it makes nothing twice. */

import type { JsonObject } from '../../../event/shapes.ts'
import { dashedId, findConversation, refuseReserved } from '../../conversations/find.ts'
import { type HttpProblem, invalid } from '../../http/problem.ts'
import type { ControlPlaneContext } from '../conversations/describe.ts'
import { appOf } from '../conversations/metadata.ts'
import { newId } from '../sandboxes/sandboxes.ts'
import { isOwnField, type StartRequest } from '../request-schema.ts'
import { taken } from './create-conversation.ts'
import type { KeptTask } from './start-task.ts'

/**
 * Nothing is begun, and nothing kept. What the task will make gets its name now, so that the process that goes on with
 * it makes nothing twice.
 *
 * @param origin where the service is reached
 * @throws HttpProblem 409 for a taken id, 422 for what is not there.
 */
export async function planTask(
  { lifecycle, sandboxes }: ControlPlaneContext,
  request: StartRequest,
  origin: string,
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
  const fields = Object.entries(request as object as JsonObject)
  const { start, start_ref } = await lifecycle.starts.keep(
    Object.fromEntries(fields.filter(([name]) => !isOwnField(name))),
    { observability_metadata: request.observability_metadata },
  )
  return {
    id: newId(),
    created_by_user_id: null,
    status: 'WORKING',
    detail: null,
    app_conversation_id: null,
    sandbox_id: known ?? (sandboxes.possible ? newId() : null),
    agent_server_url: origin,
    request: { ...Object.fromEntries(fields.filter(([name]) => isOwnField(name))), ...start },
    start_ref,
    created_at: at,
    updated_at: at,
    // As the agent server writes it, so that of two who make it at once, one at each, the store lets one.
    planned_id: wanted === null ? newId() : dashedId(wanted),
    makes_sandbox: known === null && sandboxes.possible,
  }
}

const missing = (field: string, what: string, id: string): HttpProblem =>
  invalid({
    type: 'value_error',
    loc: ['body', field],
    msg: `Value error, there is no ${what} ${JSON.stringify(id)}`,
    input: id,
  })
