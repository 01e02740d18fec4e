import { nullOn } from '../event/errors.ts'
import { withoutNulls } from '../event/json.ts'
import { parseInstant } from '../event/time.ts'
import type { ConversationQuery, ConversationRecord } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import { checkConversationFilter } from '../store/kit/query/conversation-query.ts'
import {
  checkBoolean,
  checkFunction,
  checkInstant,
  checkInteger,
  checkOptionNames,
  invalidArgument,
  MAX_DELAY,
} from '../event/check-value.ts'
import { allConversations } from '../store/kit/query/page.ts'
import { checkConversationId, formatInstant, YEAR_0 } from '../store/kit/record.ts'
import type { DeletionOptions, DeletionReport, EngineContext } from './engine-context.ts'
import { addReports, CHILD_TAGS, EMPTY_REPORT } from './engine-context.ts'
import { Jobs } from './jobs.ts'

/** Which conversations to delete. A conversation must match all criteria. */
export interface DeletionFilter {
  /** Ids of the conversations, not allowed with other criteria. Unknown ids are ignored. */
  readonly ids?: readonly string[]
  readonly owner?: string
  readonly tags?: Readonly<Record<string, string>>
  /** Only conversations whose record and log have not changed since this instant (ISO 8601). */
  readonly before?: string
}

/** Which conversations `applyRetention` removes, and how. */
export interface RetentionOptions extends DeletionOptions {
  /** Removes conversations whose record and log have not changed for this many milliseconds. */
  readonly olderThan?: number
  /**
   * Number of most recently changed conversations to keep, however old. Without `olderThan`, all other
   * conversations are removed.
   */
  readonly keepLast?: number
  readonly owner?: string
  readonly tags?: Readonly<Record<string, string>>
  /** Aborting it ends the removal before the next conversation. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Milliseconds after which another process may continue the work of a dead process. Default: 60,000. */
  readonly leaseTtl?: number
}

function queryOf(filter: Omit<RetentionOptions, 'signal'> & { readonly before?: string }): ConversationQuery {
  const { owner, tags, before } = filter
  // A criterion without a value is a caller's mistake, and would match everything.
  for (const [name, value] of Object.entries({ owner, tags, before }))
    if (name in filter && (value === undefined || value === null)) invalidArgument(name, 'must have a value')
  if (tags !== undefined && Object.keys(tags).length === 0)
    invalidArgument('tags', 'must have at least one tag')
  checkInstant('before', before)
  const query: ConversationQuery = withoutNulls({ owner, tags, updatedAtLt: before })
  checkConversationFilter(query)
  return query
}

export async function deleteConversations(
  engine: EngineContext,
  filter: DeletionFilter,
  options: DeletionOptions = {},
): Promise<DeletionReport> {
  checkOptionNames(filter, 'ids owner tags before')
  checkOptionNames(options, 'dryRun limit onDelete')
  checkDeletion(options)
  if ('ids' in filter) return deleteEach(engine, selectRecords(engine.store, filter), options)
  const query = queryOf(filter)
  if (Object.keys(query).length === 0) invalidArgument('filter', 'needs `ids`, `owner`, `tags` or `before`')
  // Ordered by creation time, so that a conversation that changes does not move to another page.
  return deleteEach(engine, allConversations(engine.store, { ...query, order: 'created_at' }), options)
}

async function* selectRecords(store: Store, filter: DeletionFilter): AsyncGenerator<ConversationRecord> {
  const { ids } = filter
  if (!Array.isArray(ids) || ids.length === 0 || Object.keys(filter).length > 1)
    invalidArgument('ids', 'must be a list of at least one id, without other criteria')
  for (const [index, id] of (ids as readonly unknown[]).entries()) checkConversationId(`ids.${index}`, id)
  for (const id of new Set(ids)) {
    const record = await store.getConversation(id)
    if (record !== null) yield record
  }
}

function checkDeletion({ dryRun, limit, onDelete }: DeletionOptions): void {
  checkBoolean('dryRun', dryRun, invalidArgument)
  checkInteger('limit', limit, 1, Number.MAX_SAFE_INTEGER, null, invalidArgument)
  checkFunction('onDelete', onDelete)
}

async function deleteEach(
  engine: EngineContext,
  records: AsyncIterable<ConversationRecord>,
  options: DeletionOptions,
): Promise<DeletionReport> {
  let report = EMPTY_REPORT
  let count = 0
  const visited = new Set<string>()
  for await (const { id } of records) {
    // A page may contain children that were deleted with their parent.
    if (visited.has(id)) continue
    if (count === options.limit) return { ...report, more: true }
    count += 1
    report = addReports(report, await engine.deleteCounted(id, options, visited))
    visited.delete(id)
  }
  return report
}

/** Removes expired conversations. Returns null if another process is already removing conversations. */
export async function applyRetention(
  engine: EngineContext,
  options: RetentionOptions,
  now: bigint,
): Promise<DeletionReport | null> {
  checkOptionNames(options, 'dryRun limit onDelete olderThan keepLast owner tags signal leaseTtl')
  checkDeletion(options)
  const ttl = checkInteger('leaseTtl', options.leaseTtl, 1, MAX_DELAY, 60_000, invalidArgument)
  const expired = expiredOf(engine, options, now)
  if (options.dryRun === true) return deleteEach(engine, expired(null), options)
  const jobs = new Jobs<object>({ store: engine.store, collection: 'retention', ttl })
  const added = await jobs.add('retention', {}).catch(nullOn('version_conflict'))
  const job = added ?? (await jobs.claim(1))[0]
  if (job === undefined) return null
  try {
    return await deleteEach(engine, expired(job.lost), options)
  } finally {
    // The job is finished even after a failure, so that the call can be repeated at once.
    await job.finish().catch(() => job.abandon())
  }
}

function expiredOf(engine: EngineContext, options: RetentionOptions, now: bigint) {
  const olderThan = limitOf('olderThan', options.olderThan)
  const keepLast = limitOf('keepLast', options.keepLast)
  if (olderThan === null && keepLast === null)
    invalidArgument('olderThan', 'and `keepLast` are both missing. Pass at least one of them')
  const { signal, ...filter } = options
  const query = queryOf(filter)
  const oldest = olderThan === null ? null : now - BigInt(olderThan) * 1000n
  // No record is older than the year 0.
  const limit = oldest === null || oldest > YEAR_0 ? oldest : YEAR_0
  const { store } = engine
  const walk: ConversationQuery =
    limit === null || keepLast !== null ? query : { ...query, updatedAtLt: formatInstant(limit) }
  return async function* (lost: AbortSignal | null): AsyncGenerator<ConversationRecord> {
    let stored = 0
    for await (const record of allConversations(store, { ...walk, order: 'updated_at_desc' })) {
      lost?.throwIfAborted()
      signal?.throwIfAborted()
      engine.check()
      // A child is removed with its parent.
      if (await isChildOfAnother(store, record)) continue
      stored += 1
      if (stored <= (keepLast ?? 0)) continue
      if (limit !== null && (parseInstant(record.updatedAt) ?? 0n) >= limit) continue
      if (!(await isInUse(store, record, now))) yield record
    }
  }
}

const limitOf = (name: string, value: unknown): number | null =>
  checkInteger(name, value, 0, Number.MAX_SAFE_INTEGER, null, invalidArgument)

async function isChildOfAnother(store: Store, record: ConversationRecord): Promise<boolean> {
  const { parentConversationId: parent, tags, id } = record
  const isChild = Object.entries(CHILD_TAGS).every(([key, value]) => tags[key] === value)
  return isChild && parent !== null && parent !== id && (await store.getConversation(parent)) !== null
}

async function isInUse(store: Store, { id, updatedAt }: ConversationRecord, now: bigint): Promise<boolean> {
  const lease = await store.getLease(id)
  if (lease !== null && BigInt(Math.ceil(lease.expiresAt)) * 1000n > now) return true
  return (await store.getConversation(id))?.updatedAt !== updatedAt
}
