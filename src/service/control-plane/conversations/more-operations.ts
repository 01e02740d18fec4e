/**
 * What else the control plane tells of conversations: those that are shared, their summaries, and a zip of one; and
 * that there are no automations here.
 */

import { finalResponse } from '../../../context/final-response.ts'
import { ellipsize } from '../../../context/text.ts'
import { redactText } from '../../../context/redaction/redact-text.ts'
import type { RedactionRules } from '../../../context/redaction/rules.ts'
import type { JsonObject } from '../../../event/shapes.ts'
import type { ConversationRecord } from '../../../store/contract/conversation-record.ts'
import { mapConcurrent } from '../../../conversation/async.ts'
import { isUnknown } from '../../conversations/conversations.ts'
import { findConversation, getConversationOr404, shownId } from '../../conversations/find.ts'
import { FLAT, trajectory } from '../../conversations/trajectory.ts'
import { batchGet } from '../../http/batch-get.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { pageInBytes } from '../../http/page-bytes.ts'
import { text } from '../../http/parameters.ts'
import { shownText } from '../../conversations/secrets.ts'
import type { ControlPlane } from '../control-plane.ts'
import { PAGING } from '../paging.ts'
import { listOf, maybe, objectOf, pageOfSchema } from '../replies.ts'
import { AT_ONCE, describeApp } from './describe.ts'
import { appOf } from './metadata.ts'
import { originOf } from './operations.ts'

const string: JsonObject = { type: 'string' }

const SHARED = objectOf({
  id: string,
  created_by_user_id: maybe(string),
  sandbox_id: string,
  selected_repository: maybe(string),
  selected_branch: maybe(string),
  git_provider: maybe(string),
  title: maybe(string),
  pr_number: listOf({ type: 'integer' }),
  llm_model: maybe(string),
  metrics: maybe({ type: 'object' }),
  parent_conversation_id: maybe(string),
  sub_conversation_ids: listOf(string),
  created_at: string,
  updated_at: string,
})

/** What anybody may know of a conversation that is shared: of its texts what is no secret. O(size). */
function sharedOf(record: ConversationRecord, rules: RedactionRules | null): JsonObject {
  const { sandbox_id, selected_repository, selected_branch, git_provider, pr_number, llm_model } =
    appOf(record)
  // Masked first: without its user, a URL may not hold the whole of a secret any more.
  const open = (text: string | null): string | null =>
    text === null ? null : shownText(rules === null ? text : redactText(text, rules))
  return {
    id: shownId(record.id),
    created_by_user_id: null,
    sandbox_id: sandbox_id ?? '',
    selected_repository: open(selected_repository),
    selected_branch: open(selected_branch),
    git_provider,
    title: open(record.title),
    pr_number: [...pr_number],
    llm_model: open(llm_model),
    metrics: null,
    parent_conversation_id: record.parentConversationId && shownId(record.parentConversationId),
    sub_conversation_ids: [],
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  }
}

/** Characters of a summary. */
const MOST = 500

/** @param rules what is masked in what anybody may read; null: nothing but the secrets of URLs */
export const moreConversationOperations = (
  plane: ControlPlane,
  rules: RedactionRules | null,
): Operation[] => [
  {
    ...batchGet(
      {
        path: '/api/shared-conversations',
        operationId: 'batch_get_shared_conversations_api_shared_conversations_get',
        tag: 'Sharing',
        summary: 'Batch Get Shared Conversations',
        what: 'conversations',
        by: 'ids',
        schema: SHARED,
      },
      (ids) =>
        mapConcurrent(ids, AT_ONCE, async (id) => {
          const record = await findConversation(plane.store, id)
          return record?.public === true ? sharedOf(record, rules) : null
        }),
    ),
    open: true,
  },
  operation(
    {
      method: 'get',
      path: '/api/v1/conversation-summaries',
      operationId: 'list_conversation_summaries_api_v1_conversation_summaries_get',
      tag: 'Conversations',
      summary: 'List Conversation Summaries',
      query: PAGING,
      replies: {
        200: {
          description:
            'The newest first, each with what its agent said last, shortened; null where it said nothing',
          schema: pageOfSchema(
            objectOf({
              id: string,
              title: maybe(string),
              created_at: string,
              updated_at: string,
              execution_status: string,
              summary: maybe(string),
            }),
          ),
        },
      },
    },
    async ({ query: { page_id, limit } }) => ({
      body: await pageInBytes({
        cursor: page_id,
        limit,
        isCompared: true,
        read: (cursor, most) =>
          plane.store.listConversations({
            order: 'created_at_desc',
            limit: most,
            ...(cursor !== null && { cursor }),
          }),
        show: (records) => mapConcurrent(records, AT_ONCE, (record) => summaryOf(plane, record)),
      }),
    }),
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/app-conversations/{conversation_id}/download',
      operationId: 'download_app_conversation_api_v1_app_conversations__conversation_id__download_get',
      tag: 'Conversations',
      summary: 'Download App Conversation',
      params: { conversation_id: text() },
      replies: {
        200: { description: 'A zip of its events', mediaType: 'application/zip', schema: string },
        404: { description: 'Unknown conversation' },
        413: { description: 'Its log is too long for a zip' },
      },
    },
    async ({ path, request }) => {
      const record = await getConversationOr404(plane.store, path.conversation_id)
      const meta = await describeApp(plane, record, originOf(request))
      return trajectory(plane.store, record, meta, FLAT)
    },
  ),
  ...['/api/automation/server_info', '/api/automation/health'].map((path) =>
    operation(
      {
        method: 'get',
        path,
        operationId: path.slice(1).replaceAll('/', '_'),
        tag: 'Automations',
        summary: 'Whether There Are Automations',
        replies: {
          200: {
            description: 'There are none here',
            schema: objectOf({ status: string, enabled: { type: 'boolean' }, detail: string }),
          },
        },
      },
      () => ({
        body: {
          status: 'ok',
          enabled: false,
          detail: 'This service runs conversations, and no automations.',
        },
      }),
    ),
  ),
]

/** Null for one that was deleted meanwhile. O(events since its agent spoke). */
async function summaryOf(
  { lifecycle }: ControlPlane,
  record: ConversationRecord,
): Promise<JsonObject | null> {
  try {
    const conversation = await lifecycle.engine.open(record)
    const { header } = await conversation.state()
    const said = await conversation.read(finalResponse)
    return {
      id: shownId(record.id),
      title: record.title,
      created_at: record.createdAt,
      updated_at: record.updatedAt,
      execution_status: header.status,
      summary: said === '' ? null : ellipsize(said, MOST),
    }
  } catch (error) {
    if (isUnknown(error)) return null
    throw error
  }
}
