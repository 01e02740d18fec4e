/** Deletes conversations by owner, tags and age, and applies a retention that several processes share. */

import { hasCode } from '../event/errors.ts'
import { parseInstant } from '../event/time.ts'
import type { ConversationQuery, ConversationRecord } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import { checkConversationFilter } from '../store/kit/query/conversation-query.ts'
import { checkInteger, checkOptionNames, invalidArgument } from '../store/kit/query/check-value.ts'
import { allItems } from '../store/kit/query/page.ts'
import { formatInstant } from '../store/kit/record.ts'
import { addReports, type DeletionReport, EMPTY_REPORT } from './deletion-report.ts'
import { CHILD_TAGS, type EngineContext } from './engine-context.ts'
import { Jobs } from './jobs.ts'

export interface DeletionFilter {
  readonly owner?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly before?: string
}

export interface RetentionOptions {
  /** Milliseconds since the last change of a conversation's record or log, after which it is removed. */
  readonly olderThan?: number
  /** Number of last changed conversations that stay, whatever their age. Without `olderThan` all others are removed. */
  readonly keepLast?: number
  readonly owner?: string
  readonly tags?: Readonly<Record<string, string>>
  /** Ends it between two conversations. */
  readonly signal?: AbortSignal
  /** Milliseconds after which another process may continue for one that died. Default: 60,000. */
  readonly leaseTtl?: number
}

const FILTER = { owner: true, tags: true, before: true } satisfies Record<keyof DeletionFilter, true>

const RETENTION = {
  olderThan: true,
  keepLast: true,
  owner: true,
  tags: true,
  signal: true,
  leaseTtl: true,
} satisfies Record<keyof RetentionOptions, true>

/** @throws `invalid_argument` for no criterion, or one that a caller has lost; `invalid_query`. */
function queryOf(filter: Omit<RetentionOptions, 'signal'> & { readonly before?: string }): ConversationQuery {
  const { owner, tags, before } = filter
  // An empty criterion is a value that the caller has lost, and would match everything.
  for (const [name, value] of Object.entries({ owner, tags, before }))
    if (name in filter && (value === undefined || value === null)) invalidArgument(name, 'must have a value')
  if (tags !== undefined && Object.keys(tags).length === 0)
    invalidArgument('tags', 'must have at least one tag')
  const query: ConversationQuery = {
    ...(owner !== undefined && { owner }),
    ...(tags !== undefined && { tags }),
    ...(before !== undefined && { updatedAtLt: before }),
  }
  checkConversationFilter(query)
  return query
}

/** Deletes the conversations that match a filter. O(conversations read + data deleted). @throws `invalid_argument`. */
export async function deleteConversations(
  engine: EngineContext,
  filter: DeletionFilter,
): Promise<DeletionReport> {
  checkOptionNames(filter, FILTER)
  const query = queryOf(filter)
  if (Object.keys(query).length === 0) invalidArgument('filter', 'must name an owner, tags or an instant')
  let report = EMPTY_REPORT
  // By the time of creation, which no change moves to another page.
  const { store } = engine
  const read = (at: object) => store.listConversations({ ...query, order: 'created_at', ...at })
  for await (const { id } of allItems(read)) report = addReports(report, await engine.deleteCounted(id))
  return report
}

/**
 * Removes conversations that are too old or too many. Null while another process does, which then has the same effect.
 * @throws `invalid_argument`; the reason of the signal.
 */
export async function applyRetention(
  engine: EngineContext,
  options: RetentionOptions,
  now: bigint,
): Promise<DeletionReport | null> {
  checkOptionNames(options, RETENTION)
  const { signal } = options
  const olderThan = limitOf('olderThan', options.olderThan)
  const keepLast = limitOf('keepLast', options.keepLast)
  const ttl = checkInteger('leaseTtl', options.leaseTtl, 1, 2 ** 31 - 1, 60_000, invalidArgument)
  if (olderThan === null && keepLast === null)
    invalidArgument('olderThan', 'or keepLast must be a number: otherwise nothing would be removed')
  const { signal: _, ...filter } = options
  const query = queryOf(filter)
  const limit = olderThan === null ? null : now - BigInt(olderThan) * 1000n
  const { store } = engine
  const jobs = new Jobs<object>({ store, collection: 'retention', ttl })
  const job = await jobs.add('retention', {}).catch(async (error: unknown) => {
    if (!hasCode(error, 'version_conflict')) throw error
    return (await jobs.claim(1))[0] ?? null
  })
  if (job === null) return null
  try {
    let report = EMPTY_REPORT
    let stored = 0
    const walk: ConversationQuery =
      limit === null || keepLast !== null ? query : { ...query, updatedAtLt: formatInstant(limit) }
    const read = (at: object) => store.listConversations({ ...walk, order: 'updated_at_desc', ...at })
    for await (const record of allItems(read)) {
      job.lost.throwIfAborted()
      signal?.throwIfAborted()
      engine.check()
      // A child goes with the conversation that has called it.
      if (await isChildOfAnother(store, record)) continue
      stored += 1
      if (stored <= (keepLast ?? 0) || !isBefore(record, limit)) continue
      if (await isInUse(store, record, now)) continue
      report = addReports(report, await engine.deleteCounted(record.id))
    }
    await job.finish()
    return report
  } finally {
    job.abandon()
  }
}

const limitOf = (name: string, value: unknown): number | null =>
  checkInteger(name, value, 0, Number.MAX_SAFE_INTEGER, null, invalidArgument)

const isBefore = ({ updatedAt }: ConversationRecord, limit: bigint | null): boolean =>
  limit === null || (parseInstant(updatedAt) ?? 0n) < limit

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
