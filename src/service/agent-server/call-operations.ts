import type { Conversation } from '../../conversation/conversation.ts'
import { completionId } from '../../event/completion.ts'
import type { AppendedEvent } from '../../conversation/logged-event.ts'
import { listWorkingCalls } from '../../state/read.ts'
import type { Store } from '../../store/contract/store.ts'
import { isSameHash, newKey, sha256 } from '../auth/api-keys.ts'
import { credentialOf } from '../auth/caller.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { plainId } from '../conversations/find-conversation.ts'
import { wasHandled } from '../conversations/run-progress.ts'
import type { CallToken } from '../conversations/runs.ts'
import { canRunAfterCompletion } from '../conversations/lost-runs.ts'
import { listOf, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { decoded } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { masked } from '../mask-secrets.ts'
import { type Records, recordsOf } from '../records.ts'
import { callTokenBody, cancelBody, completeBody } from '../request-schema.ts'

const PREFIX = 'ct-colloquy-'

/**
 * Issues and checks tokens that complete background calls. A new token replaces the call's previous token. The
 * store contains only hashes of tokens.
 */
export class CallTokens {
  readonly #store: Store
  readonly #records: Records<{ readonly hash: string; readonly expires_at: string }>

  constructor(store: Store) {
    this.#store = store
    this.#records = recordsOf(store, 'call-tokens', ({ expires_at }) => ({
      dueIn: Math.max(0, Date.parse(expires_at) - Date.now()),
    }))
  }

  async issue(conversationId: string, actionId: string, seconds = 86_400): Promise<CallToken> {
    for (const { id } of await this.#store.claimItems('call-tokens', { ttl: 60_000 }))
      // Delete an expired token, unless the call has received a new token in the meantime.
      await this.#records.update(id, (token) => (token !== null && isCurrent(token) ? undefined : null))
    const token = newKey(PREFIX)
    const expires_at = new Date(Date.now() + seconds * 1_000).toISOString()
    const hash = await sha256(token)
    await this.#records.update(await callbackId(conversationId, actionId), () => ({ hash, expires_at }))
    const path = `/api/conversations/${encodeURIComponent(conversationId)}/calls/${encodeURIComponent(actionId)}/complete`
    return { token, expires_at, path }
  }

  /** Whether a token is valid. Compares hashes in constant time; if no hash is stored, compares with zeros instead. */
  async isValid(conversationId: string, actionId: string, token: string): Promise<boolean> {
    const stored = (await this.#records.find(await callbackId(conversationId, actionId)))?.record
    const isSame = isSameHash(stored?.hash ?? '0'.repeat(64), await sha256(token))
    return isSame && stored !== undefined && isCurrent(stored)
  }
}

const isCurrent = ({ expires_at }: { readonly expires_at: string }): boolean =>
  Date.now() < Date.parse(expires_at)

const callbackId = (conversationId: string, actionId: string): Promise<string> =>
  sha256(`${plainId(conversationId)}\n${actionId}`)

const PATH = /^\/api\/conversations\/([^/]+)\/calls\/([^/]+)\/complete$/

const operation = operationsIn('Calls')
const BASE = '/api/conversations/{conversation_id}/calls'
const UNKNOWN_CALL = { 409: 'No working or completed call has this id' }
const ENDED = {
  returns: objectOf({ success: 'boolean', event_id: 'string' }),
  description: 'The completion; if the call was already completed, the earlier one',
  otherwise: UNKNOWN_CALL,
}

export const callOperations = (
  lifecycle: Lifecycle,
  tokens: CallTokens,
  requireUser: (request: Request) => Promise<unknown>,
): Operation[] => [
  operation(`get ${BASE}`, {
    operationId: 'list_working_calls',
    returns: objectOf({
      items: listOf(
        objectOf({
          action_id: 'string',
          tool_name: 'string',
          tool_call_id: 'string',
          task: {},
          progress: {},
        }),
      ),
    }),
    description: 'The calls that are running in the background, in the order of the log',
    async handle({ path }) {
      const { state } = await openConversation(lifecycle, path.conversation_id)
      const items = listWorkingCalls(state).map(({ action: { id, event }, task, progress }) => ({
        action_id: id,
        tool_name: event.tool_name,
        tool_call_id: event.tool_call_id,
        task: masked(task),
        progress: masked(progress?.progress ?? null),
      }))
      return { items }
    },
  }),
  operation(`post ${BASE}/{action_id}/token`, {
    operationId: 'issue_call_token',
    summary: 'Issue A Token That Completes One Call',
    body: callTokenBody,
    status: 201,
    returns: objectOf({ token: 'string', expires_at: 'string', path: 'string' }),
    description: 'The token, which is shown only once; it replaces an earlier token',
    otherwise: UNKNOWN_CALL,
    async handle({ path, body }) {
      const { conversation, state } = await openConversation(lifecycle, path.conversation_id)
      if (!listWorkingCalls(state).some(({ action }) => action.id === path.action_id))
        throw new HttpProblem(409, `Call ${JSON.stringify(path.action_id)} is not running in the background.`)
      return tokens.issue(conversation.id, path.action_id, body?.expires_in)
    },
  }),
  operation(`post ${BASE}/{action_id}/complete`, {
    operationId: 'complete_call',
    body: completeBody,
    ...ENDED,
    async authorize(request) {
      const credential = credentialOf(request)
      if (credential?.from !== 'header' || !credential.text.startsWith(PREFIX)) {
        await requireUser(request)
        return
      }
      const [, conversationId = '', actionId = ''] = PATH.exec(new URL(request.url).pathname) ?? []
      if (!(await tokens.isValid(decoded(conversationId), decoded(actionId), credential.text)))
        throw new HttpProblem(401, 'Unauthorized')
    },
    handle: ({ path, body: { content, outcome } }) =>
      end(lifecycle, path, (conversation) =>
        conversation.complete(path.action_id, { content, ...(outcome !== undefined && { outcome }) }),
      ),
  }),
  operation(`post ${BASE}/{action_id}/cancel`, {
    operationId: 'cancel_call',
    body: cancelBody,
    ...ENDED,
    handle: ({ path, body }) =>
      end(lifecycle, path, (conversation) => conversation.cancel(path.action_id, body?.reason)),
  }),
]

async function end(
  lifecycle: Lifecycle,
  path: { readonly conversation_id: string; readonly action_id: string },
  append: (conversation: Conversation) => Promise<readonly AppendedEvent[]>,
) {
  const { store } = lifecycle.engine
  const id = completionId(path.action_id)
  const { conversation } = await openConversation(lifecycle, path.conversation_id)
  await lifecycle.runs.request(
    conversation.id,
    async (reserve) => {
      // Store the request for a run first, so that a crash after the append cannot lose the run.
      await reserve(id)
      await append(conversation)
      const completion = await store.get(conversation.id, id)
      const from = completion === null ? null : completion.seq + 1
      const isWanted =
        from !== null &&
        canRunAfterCompletion(await conversation.state(), from) &&
        !(await wasHandled(store, conversation.id, from))
      return { conversation, from: isWanted ? from : null }
      // A completion is accepted even if no slot is free; its run waits for one.
    },
    { needsSlot: false },
  )
  return { success: true, event_id: id }
}
