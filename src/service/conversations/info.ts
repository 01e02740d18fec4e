import { LRUCache } from 'lru-cache'
import { COUNTING, type ModelUsage, usageCount, type UsageCount } from '../../context/usage.ts'
import { openCallsOf } from '../../conversation/decide.ts'
import { MAX_ITERATIONS } from '../../conversation/run/options.ts'
import { hasCode } from '../../event/errors.ts'
import { isObject, textAt } from '../../event/json.ts'
import { maskSecrets } from '../../event/mask.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { loadedEvent } from '../../log/entry.ts'
import { activatedSkillsIn } from '../../state/branch.ts'
import type { State } from '../../state/state.ts'
import { STATUSES } from '../../state/status.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { listOf, maybe, propertiesOf } from '../http/operation.ts'
import { childIdsOf } from './listing.ts'
import { startOf } from './starts.ts'

interface CountedUsage {
  readonly count: UsageCount
  readonly start: number
  readonly next: number
  /** Id of the last counted entry, which shows whether the log was replaced. Null if no entry is counted. */
  readonly last: string | null
}

const MAX_CACHED = 10_000

const counts = new WeakMap<Store, LRUCache<string, Promise<CountedUsage>>>()

/**
 * Returns the total usage (`metrics`) and the usage of each usage id (`usage_to_metrics`). If no usage id is
 * known, `usage_to_metrics` has the usage of each model.
 */
async function statsOf(
  store: Store,
  { id, createdAt, metadata }: Pick<ConversationRecord, 'id' | 'createdAt' | 'metadata'>,
  { log }: State,
): Promise<{ readonly stats: JsonObject; readonly metrics: JsonObject }> {
  const known = counts.get(store) ?? new LRUCache<string, Promise<CountedUsage>>({ max: MAX_CACHED })
  counts.set(store, known)
  // A fork does not count the events that it copied.
  const { counted_from: from } = metadata
  const start = typeof from === 'number' ? from : 0
  // This key avoids counts of an earlier conversation with this id, and of a fork before `counted_from` was set.
  const key = `${id} ${createdAt} ${start}`
  // Count sequentially, so that no event is counted twice.
  const counting = (known.get(key) ?? Promise.resolve(null)).then((before) =>
    countOn(store, id, log, before ?? startAt(start)),
  )
  known.set(key, counting)
  const { count } = await counting.catch((error: unknown) => {
    known.delete(key)
    throw error
  })
  const usage = count.usage()
  // State updates carry usage ids; replies are counted by model.
  const each =
    usage.by_id.size > 0
      ? [...usage.by_id]
      : Array.from(usage.by_model, ([model, one]) => [model ?? 'default', one] as const)
  const model_name = [...usage.by_model.keys()].find((name) => name !== null) ?? null
  return {
    stats: { usage_to_metrics: Object.fromEntries(each.map(([name, one]) => [name, metricsOf(one)])) },
    metrics: metricsOf({ ...usage, model_name }),
  }
}

async function countOn(
  store: Store,
  id: string,
  log: State['log'],
  before: CountedUsage,
): Promise<CountedUsage> {
  const idAt = (seq: number): string | null => log.entries.get(seq)?.id ?? null
  // An older state changes nothing; a replaced log is counted again from its start.
  if (before.next > log.entries.length) return before
  const holds = before.last === null || idAt(before.next - 1) === before.last
  const { count, next, start } = holds ? before : startAt(before.start)
  const reached = await countFrom(store, id, log, count, next)
  return { count, start, next: reached, last: reached === start ? null : idAt(reached - 1) }
}

const startAt = (start: number): CountedUsage => ({ count: usageCount(), start, next: start, last: null })

async function countFrom(
  store: Store,
  id: string,
  log: State['log'],
  count: UsageCount,
  from: number,
): Promise<number> {
  let next = from
  try {
    for (; next < log.entries.length; next += 1) {
      const entry = log.entries.get(next)
      const event = entry?.inTree === true ? loadedEvent(entry, COUNTING) : null
      if (event !== null) count.add(event)
    }
    return next
  } catch (error) {
    if (!hasCode(error, 'evicted')) throw error
  }
  while (next < log.entries.length) {
    const page = await store.read(id, {
      from: next,
      limit: Math.min(MAX_PAGE_SIZE, log.entries.length - next),
    })
    if (page.length === 0) break
    for (const { fact } of page) if (!isQuarantined(fact)) count.add(fact)
    next += page.length
  }
  return next
}

function metricsOf(usage: ModelUsage): JsonObject {
  const { model_name, cost, prompt_tokens, completion_tokens, context_window, ...rest } = usage
  const model = model_name ?? 'default'
  return {
    model_name: model,
    accumulated_cost: cost,
    max_budget_per_task: null,
    accumulated_token_usage: {
      model,
      prompt_tokens,
      completion_tokens,
      cache_read_tokens: rest.cache_read_tokens,
      cache_write_tokens: rest.cache_write_tokens,
      reasoning_tokens: rest.reasoning_tokens,
      context_window,
      per_turn_token: 0,
      response_id: '',
    },
  }
}

export const isArchived = ({ metadata }: Pick<ConversationRecord, 'metadata'>): boolean =>
  metadata['archived'] === true

/** Returns a conversation's information and the fields of its start request, without usage. Masks encrypted content. */
export function infoOf(record: ConversationRecord, state: State): JsonObject {
  const { header, branch, log } = state
  const { metadata } = record
  const { start } = startOf(metadata)
  const { workspace } = metadata
  return maskSecrets({
    stuck_detection: true,
    ...start,
    agent: start['agent'] ?? agentOf(start),
    id: record.id,
    title: record.title,
    tags: record.tags,
    owner: record.owner,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    execution_status: header.status,
    error: header.error === null ? null : { ...header.error },
    confirmation_policy: header.confirmationPolicy ?? { kind: 'NeverConfirm' },
    pending_action_ids: openCallsOf(state).map(({ id }) => id),
    leaf_event_id: log.head?.id ?? null,
    head_is_empty: log.head === null,
    event_count: log.entries.length,
    last_user_message_id: branch.lastUserMessage?.id ?? null,
    activated_knowledge_skills: [...activatedSkillsIn(branch)],
    parent_conversation_id: record.parentConversationId,
    forked_from_conversation_id: textAt(metadata, 'forked_from_conversation_id'),
    forked_from_event_id: textAt(metadata, 'forked_from_event_id'),
    workspace: { kind: 'LocalWorkspace', working_dir: 'workspace', ...(isObject(workspace) && workspace) },
    // Clients expect this field; it is a name, not a folder.
    persistence_dir: `conversations/${record.id}`,
    max_iterations: metadata['max_iterations'] ?? MAX_ITERATIONS,
    archived: isArchived(record),
  } satisfies JsonObject)
}

function agentOf({ agent_settings: settings }: JsonObject): JsonObject {
  const llm = isObject(settings) ? settings['llm'] : undefined
  return { kind: 'Agent', llm: { model: 'default', usage_id: 'agent', ...(isObject(llm) && llm) }, tools: [] }
}

/** Returns the value of a `full_state` frame. */
export async function wholeInfoOf(
  store: Store,
  record: ConversationRecord,
  state: State,
): Promise<JsonObject> {
  return { ...infoOf(record, state), ...(await statsOf(store, record, state)) }
}

/** Returns the response for one conversation, which is also the webhook payload. */
export async function infoWithChildrenOf(
  store: Store,
  record: ConversationRecord,
  state: State,
): Promise<JsonObject> {
  const sub_conversation_ids = await childIdsOf(store, record.id)
  return { ...(await wholeInfoOf(store, record, state)), sub_conversation_ids }
}

const COUNT: JsonObject = { type: 'integer', minimum: 0 }

export const INFO_SCHEMA: JsonObject = {
  type: 'object',
  required: ['id', 'created_at', 'updated_at', 'execution_status', 'event_count'],
  properties: propertiesOf({
    id: 'string',
    title: 'string?',
    tags: { type: 'object', additionalProperties: { type: 'string' } },
    owner: 'string?',
    created_at: 'date-time',
    updated_at: 'date-time',
    execution_status: { type: 'string', enum: STATUSES },
    error: maybe({
      type: 'object',
      required: ['code', 'detail', 'event_id'],
      properties: propertiesOf({ code: 'string', detail: 'string', event_id: 'string' }),
    }),
    confirmation_policy: 'object',
    pending_action_ids: listOf('string'),
    leaf_event_id: 'string?',
    head_is_empty: 'boolean',
    event_count: COUNT,
    last_user_message_id: 'string?',
    activated_knowledge_skills: listOf('string'),
    parent_conversation_id: 'string?',
    forked_from_conversation_id: 'string?',
    forked_from_event_id: 'string?',
    workspace: 'object',
    persistence_dir: 'string',
    max_iterations: COUNT,
    archived: 'boolean',
    agent: 'object',
    stats: 'object',
    metrics: 'object',
    sub_conversation_ids: listOf('string'),
  }),
}
