import { mapConcurrent } from '../../conversation/async.ts'
import { isLegalId } from '../../event/ids.ts'
import { withoutNulls } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationFilter } from '../../store/contract/conversation-record.ts'
import { openConversation, sendMessage } from '../conversations/conversations.ts'
import { findConversation, getConversationOr404 } from '../conversations/find-conversation.ts'
import { countReply, exact, listPage, COUNTED } from '../conversations/listing.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from '../http/batch-get.ts'
import { listOf, maybe, objectOf, operationsIn, type Operation, pageOfSchema } from '../http/operation.ts'
import { CURSOR_PAGING, type PageBody, pageInBytes, readByIds } from '../http/paging.ts'
import { boolean, dateTime, optional, text, texts, type ValuesOf, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import type { ControlPlane } from './control-plane.ts'
import {
  APP_CONVERSATION,
  AT_ONCE,
  changeConversation,
  describeApp,
  describeApps,
  sandboxOf,
} from './app-conversations.ts'
import { MAX_PENDING, MAX_PENDING_TEXT } from './pending-messages.ts'
import { pendingBody, sendBody, updateAppBody } from '../request-schema.ts'
import { SANDBOX_STATUSES, type SandboxStatus } from './sandbox-provider.ts'

const operation = operationsIn('Conversations')

const FILTERS = {
  title__contains: optional(text()),
  created_at__gte: optional(dateTime()),
  created_at__lt: optional(dateTime()),
  updated_at__gte: optional(dateTime()),
  updated_at__lt: optional(dateTime()),
  sandbox_id__eq: optional(text()),
  include_sub_conversations: withDefault(boolean(), false),
} as const

const APP_CONVERSATION_PAGE = pageOfSchema(APP_CONVERSATION)

export const appConversationOperations = (plane: ControlPlane): Operation[] => [
  operation('get /api/v1/app-conversations/search', {
    name: 'search_app_conversations',
    query: { ...FILTERS, ...CURSOR_PAGING },
    returns: APP_CONVERSATION_PAGE,
    description: 'The newest first',
    handle: ({ query, request }) => search(plane, query, request),
  }),
  operation('get /api/v1/app-conversations/count', {
    name: 'count_app_conversations',
    query: { ...FILTERS, exact },
    ...COUNTED,
    async handle({ query: { exact, ...filter } }) {
      const criteria = storeFilter(filter)
      if (criteria === null) return countReply({ count: 0, more: false })
      return countReply(await plane.store.countConversations(criteria, { exact }))
    },
  }),
  operation('get /api/v1/app-conversations', {
    name: 'list_app_conversations',
    summary: 'List App Conversations, Or Get Those With Ids',
    query: { ids: optional(texts()), ...FILTERS, ...CURSOR_PAGING },
    returns: { anyOf: [APP_CONVERSATION_PAGE, listOf(maybe(APP_CONVERSATION))] },
    description: 'A page of a search; with ids, a conversation for each id, null if the id is unknown',
    otherwise: { ...TOO_MANY_IDS, ...TOO_LARGE },
    async handle({ query: { ids, ...query }, request }) {
      if (ids === null) return await search(plane, query, request)
      checkIds(ids, 'conversations')
      const read = async (some: readonly string[]) => {
        const records = await mapConcurrent(some, AT_ONCE, (id) => findConversation(plane.store, id))
        return describeApps(plane, records, originOf(request))
      }
      return readByIds(ids, 'conversations', read)
    },
  }),
  operation('patch /api/v1/app-conversations/{conversation_id}', {
    name: 'update_app_conversation',
    body: updateAppBody,
    returns: APP_CONVERSATION,
    description: 'The updated conversation',
    async handle({ path, body, request }) {
      const record = await changeConversation(plane, path.conversation_id, body)
      return describeApp(plane, record, originOf(request))
    },
  }),
  operation('delete /api/v1/app-conversations/{conversation_id}', {
    name: 'delete_app_conversation',
    handle: ({ path }) => plane.deletions.delete(path.conversation_id),
  }),
  operation('post /api/v1/app-conversations/{conversation_id}/send-message', {
    name: 'send_message_to_app_conversation',
    body: sendBody,
    returns: objectOf({
      success: 'boolean',
      sandbox_status: { type: 'string', enum: SANDBOX_STATUSES },
      message: 'string?',
    }),
    otherwise: {
      409: 'The sandbox is paused or starting, or there is no agent',
      410: 'The sandbox was deleted',
      429: 'Too many runs',
      503: 'The sandbox has failed',
    },
    async handle({ path, body: { content, run = true } }) {
      const record = await getConversationOr404(plane.store, path.conversation_id)
      const { status, status_detail: why } = await sandboxOf(plane.sandboxes, record)
      const refusal = STATUS_CODES[status]
      if (refusal !== undefined) {
        const what = `The sandbox is ${status}${why === null ? '.' : `: ${why}`}`
        throw new HttpProblem(refusal, `${what}${refusal === 409 ? WHAT_TO_DO : ''}`)
      }
      const { conversation } = await openConversation(plane.lifecycle, record)
      if (run) plane.lifecycle.runs.checkAgent()
      await sendMessage(plane.lifecycle, conversation, { content }, run)
      return { success: true, sandbox_status: status, message: null }
    },
  }),
  operation('post /api/v1/conversations/{conversation_id}/pending-messages', {
    name: 'queue_pending_message',
    body: pendingBody,
    status: 201,
    returns: objectOf({ id: 'string', queued: { const: true }, position: 'integer' }),
    description: 'Queued until the conversation is ready',
    otherwise: {
      404: 'The id is unknown: neither a conversation nor a start task has it',
      409: 'The conversation could not be started',
      410: 'The sandbox was deleted',
      429: `${MAX_PENDING} messages are queued already, or the queue would exceed ${MAX_PENDING_TEXT} characters`,
    },
    handle: ({ path, body }) => plane.pending.add(path.conversation_id, body.content),
  }),
]

/** Returns the service's origin as clients see it. A proxy that terminates TLS sends `https` in a header. */
export function originOf({ url, headers }: Pick<Request, 'url' | 'headers'>): string {
  const { host, origin } = new URL(url)
  return /^https\b/i.test(headers.get('x-forwarded-proto') ?? '') ? `https://${host}` : origin
}

/**
 * Returns a page, newest conversation first. O(limit) for filters by creation time and sandbox. With other
 * filters, checks a limited number of conversations. So even a short or empty page may have a next page.
 */
const search = (
  plane: ControlPlane,
  { page_id: cursor, limit, ...filter }: ValuesOf<typeof FILTERS & typeof CURSOR_PAGING>,
  request: Request,
): Promise<PageBody<JsonObject>> =>
  pageInBytes({
    cursor,
    limit,
    isCompared: true,
    read: async (position, limit) => {
      const criteria = storeFilter(filter)
      if (criteria === null) return { items: [], cursor: null }
      const paging = { order: 'created_at_desc', filter, cursor: position, limit } as const
      return listPage(plane.store, criteria, { list: 'app-conversations', ...paging })
    },
    show: (records) => describeApps(plane, records, originOf(request)),
  })

/** Returns the filter for the store; null if no conversation can match. */
function storeFilter(filter: ValuesOf<typeof FILTERS>): ConversationFilter | null {
  const { title__contains: titleContains, sandbox_id__eq: sandboxId } = filter
  const { created_at__gte: createdAtGte, created_at__lt: createdAtLt } = filter
  const { updated_at__gte: updatedAtGte, updated_at__lt: updatedAtLt } = filter
  if (sandboxId !== null && !isLegalId(sandboxId)) return null
  return {
    ...withoutNulls({ titleContains, createdAtGte, createdAtLt, updatedAtGte, updatedAtLt, sandboxId }),
    ...(!filter.include_sub_conversations && { parentConversationId: '' }),
  }
}

const STATUS_CODES: Readonly<Partial<Record<SandboxStatus, number>>> = {
  PAUSED: 409,
  STARTING: 409,
  MISSING: 410,
  ERROR: 503,
}

const WHAT_TO_DO =
  ' Wait until the sandbox runs (if it is paused, resume it), or queue the message with `POST /api/v1/conversations/{id}/pending-messages`.'
