import { finalResponse } from '../../context/final-response.ts'
import { redactText } from '../../context/redaction/redact-text.ts'
import type { RedactionRules } from '../../context/redaction/rules.ts'
import { redactStored } from '../../context/redaction/store.ts'
import { ellipsize } from '../../context/text.ts'
import { mapConcurrent } from '../../conversation/async.ts'
import { EVENT_KINDS, type EventKind, KINDS } from '../../event/kinds.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { memoryStore } from '../../store/memory/store.ts'
import { ifDeleted } from '../conversations/conversations.ts'
import { findPublicConversation, getConversationOr404, shownId } from '../conversations/find-conversation.ts'
import { FLAT, trajectory } from '../conversations/trajectory.ts'
import {
  EVENT_OR_NULL,
  EVENT_PAGE,
  filterOf,
  getEvents,
  searchPage,
  FILTERS,
  PAGING,
} from '../events/search.ts'
import { checkIds, batchGet, TOO_LARGE, TOO_MANY_IDS } from '../http/batch-get.ts'
import { listOf, objectOf, type Operation, operationsIn, pageOfSchema } from '../http/operation.ts'
import { CURSOR_PAGING, pageInBytes } from '../http/paging.ts'
import { optional, text, texts, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { shownText } from '../mask-secrets.ts'
import { MAX_BYTES, REFUSED, requireFiles, type SandboxFiles } from '../sandbox-files/contract.ts'
import { CHANGES, changesOf, DIFF, diffOf } from '../sandbox-files/git-operations.ts'
import { originOf } from './app-conversation-operations.ts'
import { SHARED_CONVERSATION, AT_ONCE, describeApp } from './app-conversations.ts'
import { appOf } from './app-metadata.ts'
import type { ControlPlane } from './control-plane.ts'

const HIDDEN: readonly EventKind[] = EVENT_KINDS.filter((kind) => !KINDS[kind].searchable)

const sharedOperation = operationsIn('Sharing')

const sharedId = async (store: SharedReads, id: string): Promise<string | null> =>
  (await findPublicConversation(store, id))?.id ?? null

/** Used instead of the store for a private conversation: validates the query, but returns no events. */
const EMPTY_STORE: SharedReads = memoryStore()

export const sharedEvents = (store: SharedReads): Operation[] => [
  sharedOperation('get /api/shared-events/search', {
    name: 'search_shared_events',
    open: true,
    query: { conversation_id: text(), ...FILTERS, ...PAGING },
    returns: EVENT_PAGE,
    async handle({ query }) {
      const id = await sharedId(store, query.conversation_id)
      // An invalid query must cause the same error for private and public conversations.
      const reads = id === null ? EMPTY_STORE : store
      return searchPage(reads, filterOf(id ?? query.conversation_id, query, HIDDEN), query)
    },
  }),
  sharedOperation('get /api/shared-events/count', {
    name: 'count_shared_events',
    open: true,
    query: { conversation_id: text(), ...FILTERS },
    returns: 'integer',
    async handle({ query }) {
      const id = await sharedId(store, query.conversation_id)
      return (id === null ? EMPTY_STORE : store).count(filterOf(id ?? query.conversation_id, query, HIDDEN))
    },
  }),
  sharedOperation('get /api/shared-events', {
    name: 'batch_get_shared_events',
    open: true,
    query: { conversation_id: text(), id: texts() },
    returns: listOf(EVENT_OR_NULL),
    otherwise: { ...TOO_MANY_IDS, ...TOO_LARGE },
    async handle({ query: { conversation_id: conversationId, id: ids } }) {
      checkIds(ids, 'events')
      const id = await sharedId(store, conversationId)
      return (id === null ? ids.map(() => null) : await getEvents(store, id, ids)).map(visible)
    },
  }),
  sharedOperation('get /api/shared-events/{conversation_id}/{event_id}', {
    name: 'get_shared_event',
    open: true,
    returns: EVENT_OR_NULL,
    async handle({ path: { conversation_id: conversationId, event_id: eventId } }) {
      const id = await sharedId(store, conversationId)
      const [event = null] = id === null ? [] : await getEvents(store, id, [eventId])
      return visible(event)
    },
  }),
]

const visible = (event: Event | null): Event | null =>
  event !== null && KINDS[event.kind].searchable ? event : null

type SharedReads = Pick<Store, 'getConversation' | 'search' | 'getMany' | 'count'>

/** Returns a store that redacts events on every read, so that already stored events are redacted too. */
export const redactedReads = (store: SharedReads, rules: RedactionRules): SharedReads => ({
  getConversation: (id) => store.getConversation(id),
  count: (filter) => store.count(filter),
  search: async (query) => {
    const page = await store.search(query)
    return { ...page, items: redactStored(page.items, rules) }
  },
  getMany: async (id, ids) => {
    const events = await store.getMany(id, ids)
    return events.map((event) => (event === null ? null : (redactStored([event], rules)[0] ?? null)))
  },
})

const operation = operationsIn('Conversations')

function sharedOf(record: ConversationRecord, rules: RedactionRules | null): JsonObject {
  const { sandbox_id, selected_repository, selected_branch, git_provider, pr_number, llm_model } =
    appOf(record)
  // Redact before `shownText`, which removes users from URLs: a secret may include the user.
  const redacted = (text: string | null): string | null =>
    text === null ? null : shownText(rules === null ? text : redactText(text, rules))
  return {
    id: shownId(record.id),
    created_by_user_id: null,
    sandbox_id: sandbox_id ?? '',
    selected_repository: redacted(selected_repository),
    selected_branch: redacted(selected_branch),
    git_provider,
    title: redacted(record.title),
    pr_number: [...pr_number],
    llm_model: redacted(llm_model),
    metrics: null,
    parent_conversation_id: record.parentConversationId && shownId(record.parentConversationId),
    sub_conversation_ids: [],
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  }
}

const MAX_SUMMARY = 500

/** @param rules rules that redact public conversations; if null, only secrets in URLs and known tokens are masked */
export const sharingOperations = (plane: ControlPlane, rules: RedactionRules | null): Operation[] => [
  {
    ...batchGet('get /api/shared-conversations', {
      name: 'batch_get_shared_conversations',
      tag: 'Sharing',
      what: 'conversations',
      by: 'ids',
      schema: SHARED_CONVERSATION,
      find: (ids) =>
        mapConcurrent(ids, AT_ONCE, async (id) => {
          const record = await findPublicConversation(plane.store, id)
          return record === null ? null : sharedOf(record, rules)
        }),
    }),
    open: true,
  },
  operation('get /api/v1/conversation-summaries', {
    name: 'list_conversation_summaries',
    query: CURSOR_PAGING,
    returns: pageOfSchema(
      objectOf({
        id: 'string',
        title: 'string?',
        created_at: 'string',
        updated_at: 'string',
        execution_status: 'string',
        summary: 'string?',
      }),
    ),
    description: 'The newest first, each with the shortened final response of its agent, or null',
    handle: async ({ query: { page_id, limit } }) =>
      await pageInBytes({
        cursor: page_id,
        limit,
        isCompared: true,
        read: (cursor, limit) =>
          plane.store.listConversations({
            order: 'created_at_desc',
            limit,
            ...(cursor !== null && { cursor }),
          }),
        show: (records) =>
          mapConcurrent(records, AT_ONCE, (record) => summaryOf(plane, record).catch(ifDeleted)),
      }),
  }),
  operation('get /api/v1/app-conversations/{conversation_id}/download', {
    name: 'download_app_conversation',
    returns: 'string',
    description: 'A zip of the events of the conversation',
    mediaType: 'application/zip',
    otherwise: { 413: 'The log is too long for a zip' },
    async handle({ path, request }) {
      const record = await getConversationOr404(plane.store, path.conversation_id)
      return trajectory(plane.store, record, await describeApp(plane, record, originOf(request)), FLAT)
    },
  }),
  operation(`get ${BASE}/files`, {
    name: 'list_files',
    tag: FILES,
    query: { path: withDefault(text(), '') },
    returns: objectOf({
      items: listOf(objectOf({ name: 'string', path: 'string', is_directory: 'boolean', size: 'integer' })),
    }),
    description: 'The contents of a folder of the sandbox, by name',
    otherwise: REFUSED,
    async handle({ path, query }) {
      const location = await fileOf(plane, path.conversation_id, query.path)
      return { items: await location.files.list(location.path) }
    },
  }),
  operation(`get ${BASE}/file`, {
    name: 'read_file',
    tag: FILES,
    query: { file_path: withDefault(text(), 'PLAN.md') },
    returns: 'string',
    description: 'The text of the file',
    mediaType: 'text/plain',
    otherwise: { ...REFUSED, 413: 'The file is too large' },
    async handle({ path, query }) {
      const location = await fileOf(plane, path.conversation_id, query.file_path)
      const bytes = await location.files.read(location.path, MAX_BYTES)
      return new Response(bytes, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    },
  }),
  operation(`get ${BASE}/git/changes`, {
    name: 'git_changes',
    tag: FILES,
    query: { path: withDefault(text(), ''), ref: optional(text()) },
    returns: CHANGES,
    description: 'The changed files, by path',
    otherwise: REFUSED,
    async handle({ path, query }) {
      const location = await fileOf(plane, path.conversation_id, query.path)
      return changesOf(location.files, location.path, query.ref)
    },
  }),
  operation(`get ${BASE}/git/diff`, {
    name: 'git_diff',
    tag: FILES,
    query: { path: text(), ref: optional(text()) },
    returns: DIFF,
    description: 'The current and the original file',
    otherwise: { ...REFUSED, 413: 'The file is too large' },
    async handle({ path, query }) {
      const location = await fileOf(plane, path.conversation_id, query.path)
      return diffOf(location.files, location.path, { ref: query.ref, commit: null })
    },
  }),
]

async function summaryOf({ lifecycle }: ControlPlane, record: ConversationRecord): Promise<JsonObject> {
  const conversation = await lifecycle.engine.open(record)
  const { header } = await conversation.state()
  const response = await conversation.read(finalResponse)
  return {
    id: shownId(record.id),
    title: record.title,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    execution_status: header.status,
    summary: response === '' ? null : ellipsize(response, MAX_SUMMARY),
  }
}

const FILES = 'Files'
const BASE = '/api/v1/app-conversations/{conversation_id}'

async function fileOf(
  { store, sandboxes }: ControlPlane,
  id: string,
  path: string,
): Promise<{ readonly files: SandboxFiles; readonly path: string }> {
  const files = requireFiles(sandboxes.files)
  const { sandbox_id: sandboxId } = appOf(await getConversationOr404(store, id))
  const folder = sandboxId === null ? null : (await sandboxes.state(sandboxId)).working_dir
  if (folder === null) throw new HttpProblem(404, 'The conversation has no working directory in a sandbox.')
  return { files, path: path.startsWith('/') ? path : `${folder}/${path}` }
}
