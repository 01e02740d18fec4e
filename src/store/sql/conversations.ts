import { isLegalId } from '../../event/ids.ts'
import type { ConversationPatch, ConversationRecord, UpdateOptions } from '../contract/conversation-record.ts'
import type { Lease, SnapshotPart } from '../contract/store.ts'
import { type Count, MAX_COUNTED, MAX_VISITED, type Page } from '../contract/query.ts'
import { type CheckedLeaseQuery, checkLease, checkStatus, formatInstant, patchRecord } from '../kit/record.ts'
import { conversationExists, unknownConversation } from '../kit/errors.ts'
import { shardOf, FEED_CHANGE } from '../kit/feed.ts'
import {
  type CheckedConversationFilter,
  type CheckedConversationQuery,
  countWalkOf,
  type ListKey,
  lookedCount,
  lookedPage,
  type Walk,
  walkOf,
} from '../kit/query/conversation-query.ts'
import { foldText } from '../kit/query/message-text.ts'
import { type Bigint, readRecord, type RecordRow } from '../kit/row.ts'
import type { Dialect, Statement, Table, Work } from './dialect.ts'
import { all, allOf, change, confirm, first, joined, NOTHING, sql, statement } from './dialect.ts'
import { EARLIEST, LATEST } from './events.ts'

interface LeaseRow {
  readonly conversation_id: string
  readonly lease_owner: string
  readonly lease_generation: number
  readonly expires: Bigint
}

/** Returns the id, or '' if it is invalid. A database would change an invalid id; no conversation has the id ''. */
const legal = (id: string): string => (isLegalId(id) ? id : '')

export function conversationWork(d: Dialect, clock: () => bigint | null) {
  const table = (name: Table): Statement => statement(d.table(name))
  const [conversation, log, tag] = [table('conversation'), table('log'), table('tag')]
  const [snapshot, part] = [table('snapshot'), table('snapshot_part')]
  const columns = `c.conversation_id, c.title, c.public, c.tags, c.metadata, l.time_zone, c.parent_conversation_id,
    c.sandbox_id, c.owner, c.status, CAST(c.created_at AS text) AS created, CAST(l.updated_at AS text) AS updated, l.version, l.head_id`
  const select = `SELECT ${columns} FROM ${conversation.sql} AS c JOIN ${log.sql} AS l ON l.number = c.number WHERE c.conversation_id = ?`
  const leaseColumns = statement(
    'conversation_id, lease_owner, lease_generation, CAST(lease_expires_at AS text) AS expires',
  )
  const entries = (object: object): Statement => statement(d.entries, JSON.stringify(object))
  const greatest = statement(d.greatest)
  const lock = statement(d.lock)
  const now = (): Statement => statement(d.now, clock())
  const millis = (): Statement => sql`(${now()} / 1000)`
  // Every transaction that locks both log and record locks the log first.
  const locked = (id: string): Statement =>
    sql`(SELECT number AS log_number FROM ${log} WHERE conversation_id = ${id}${lock}) AS current`
  const numberOf = (id: string): Statement =>
    sql`(SELECT l.number FROM ${log} AS l WHERE l.conversation_id = ${legal(id)})`

  const insertTags = (id: string, tags: ConversationRecord['tags']): Statement =>
    sql`INSERT INTO ${tag} (number, conversation_id, name, value, created_at)
    SELECT changed.number, CAST(${id} AS text), 'tag.' || listed.key, listed.value, CAST(changed.created_at AS bigint)
    FROM changed CROSS JOIN ${entries(tags)} WHERE true ON CONFLICT (number, name) DO UPDATE SET value = excluded.value`

  const report = (id: string, change: number): Statement =>
    sql`INSERT INTO ${table('feed')}
      (shard, witness, number, conversation_id, change, from_seq, until_seq${statement(d.feedColumn)})
    SELECT CAST(${shardOf(id)} AS int), CAST(${Math.floor(Math.random() * 2 ** 32)} AS bigint), changed.number,
      CAST(${id} AS text), CAST(${change} AS int), 0, 1${statement(d.feedValue)} FROM changed WHERE true`

  function* create(record: ConversationRecord, created: bigint | undefined): Work<ConversationRecord> {
    const { id, title, tags, timeZone } = record
    const updated = created === undefined ? statement('created_at') : sql`${greatest}(created_at, ${now()})`
    const row = yield* change<{ readonly created_at: Bigint; readonly updated_at: Bigint }>(
      sql`INSERT INTO ${conversation} (conversation_id, title, title_folded, public, tags, metadata,
        parent_conversation_id, sandbox_id, owner, status, created_at)
      VALUES (${id}, ${title}, ${title && foldText(title)}, ${Number(record.public)}, ${JSON.stringify(tags)},
        ${JSON.stringify(record.metadata)}, ${record.parentConversationId}, ${record.sandboxId}, ${record.owner},
        ${record.status}, ${created === undefined ? now() : statement(d.now, created)})
      ON CONFLICT (conversation_id) DO NOTHING
      RETURNING number, CAST(created_at AS text) AS created_at, CAST(${updated} AS text) AS updated_at`,
      [
        sql`INSERT INTO ${log} (number, conversation_id, created_at, updated_at, time_zone)
        SELECT changed.number, CAST(${id} AS text), CAST(changed.created_at AS bigint),
          CAST(changed.updated_at AS bigint), CAST(${timeZone} AS text) FROM changed WHERE true`,
        ...(Object.keys(tags).length === 0 ? [] : [insertTags(id, tags)]),
        report(id, FEED_CHANGE.changed),
      ],
    )
    if (row !== undefined) {
      return Object.freeze({
        ...record,
        createdAt: formatInstant(row.created_at),
        updatedAt: formatInstant(row.updated_at),
      })
    }
    yield* confirm()
    throw conversationExists(id)
  }

  function* find(id: string): Work<ConversationRecord | null> {
    const row = yield* first<RecordRow>(select, legal(id))
    return row === undefined ? null : readRecord(row)
  }

  function* get(id: string): Work<ConversationRecord> {
    const record = yield* find(id)
    if (record === null) throw unknownConversation(id)
    return record
  }

  function* update(
    id: string,
    patch: ConversationPatch,
    options: UpdateOptions = {},
  ): Work<ConversationRecord> {
    const before = yield* first<RecordRow>(select, legal(id))
    if (before === undefined) throw unknownConversation(id)
    const record = patchRecord(readRecord(before), patch, 0n, options)
    const { title, tags } = record
    const isExpected = options.expected === undefined ? NOTHING : sql` AND metadata = ${before.metadata}`
    const values = [
      sql`conversation_id = ${id}`,
      patch.title !== undefined && sql`title = ${title}, title_folded = ${title && foldText(title)}`,
      patch.public !== undefined && sql`public = ${Number(record.public)}`,
      patch.tags !== undefined && sql`tags = ${JSON.stringify(tags)}`,
      patch.owner !== undefined && sql`owner = ${record.owner}`,
      patch.metadata !== undefined && sql`metadata = ${JSON.stringify(record.metadata)}`,
    ].filter((value) => value !== false)
    const zone = patch.timeZone === undefined ? NOTHING : sql`, time_zone = ${record.timeZone}`
    const changed = yield* change(
      sql`UPDATE ${conversation} SET ${joined(values, ', ')} FROM ${locked(id)} WHERE number = log_number${isExpected}
      RETURNING number, CAST(created_at AS text) AS created_at`,
      [
        sql`UPDATE ${log} SET updated_at = ${greatest}(updated_at, ${now()})${zone}
        WHERE number = (SELECT changed.number FROM changed)`,
        ...(patch.tags === undefined
          ? []
          : [
              sql`DELETE FROM ${tag} WHERE number = (SELECT changed.number FROM changed)
              AND name NOT IN (SELECT 'tag.' || listed.key FROM ${entries(tags)})`,
              insertTags(id, tags),
            ]),
        report(id, FEED_CHANGE.changed),
      ],
    )
    // The record was deleted or changed after it was read.
    if (changed === undefined) return yield* update(id, patch, options)
    return yield* get(id)
  }

  function* remove(id: string): Work<boolean> {
    const deleted =
      isLegalId(id) &&
      (yield* change(
        sql`DELETE FROM ${conversation} WHERE number IN (SELECT log_number FROM ${locked(id)}) RETURNING number`,
        [report(id, FEED_CHANGE.deleted), ...d.deleteEvents(id)],
      )) !== undefined
    if (!deleted) yield* confirm()
    return deleted
  }

  function* setStatus(id: string, status: string, version: number): Work<boolean> {
    const checked = checkStatus(status)
    const mayBe = isLegalId(id) && Number.isInteger(version) && version >= 0 && version < 2 ** 31
    if (!mayBe) return false
    const changed = yield* change(
      sql`UPDATE ${conversation} SET status = ${checked} FROM (
        SELECT number AS log_number FROM ${log} WHERE conversation_id = ${id} AND version = ${version}${lock}
      ) AS current WHERE number = log_number RETURNING number`,
    )
    return changed !== undefined
  }

  function walkSql(
    { by, key, from, until }: Walk,
    { descending, after }: Pick<CheckedConversationQuery, 'descending' | 'after'>,
  ): Statement & { readonly order: string } {
    const column = key === null ? null : keyColumn(key)
    const isTag = key !== null && column === null
    const [source, index, time] =
      by === 'updatedAt'
        ? ([log, 'log_updated', 'updated_at'] as const)
        : isTag
          ? ([tag, 'conversation_tag', 'created_at'] as const)
          : ([conversation, `conversation_${key?.[0] ?? 'created'}`, 'created_at'] as const)
    const [low, high] = [from ?? EARLIEST, until ?? LATEST]
    const edge = descending ? high : low
    const isWithin = after !== null && (descending ? after.time < edge : after.time >= edge)
    const walk = d.walk({
      key: isTag
        ? [
            ['name', key[0]],
            ['value', key[1]],
          ]
        : column === null
          ? []
          : [column],
      time,
      descending,
      // No id is empty, so '' precedes all ids of that time.
      start: isWithin ? after : { time: edge, id: '' },
      end: descending ? low : high,
    })
    const way = descending ? ' DESC' : ''
    const columns = walk.order.map((name, index) => `${name} AS order_${index}`)
    return {
      sql: `SELECT number, conversation_id, ${time} AS time, ${columns.join(', ')} FROM ${source.sql}${d.by(index)}
      WHERE ${walk.sql} ORDER BY ${walk.order.map((name) => name + way).join(', ')}`,
      values: walk.values,
      order: walk.order.map((_, path) => `w.order_${path}${way}`).join(', '),
    }
  }

  function comparisons(walk: Walk): Statement {
    const { titleContains, otherFrom, otherUntil } = walk
    const other = statement(walk.by === 'createdAt' ? 'l.updated_at' : 'c.created_at')
    return allOf([
      titleContains !== null &&
        sql`${statement(d.find)}(coalesce(c.title_folded, ''), ${titleContains}) > 0 AND c.title IS NOT NULL`,
      walk.public !== null && sql`c.public = ${Number(walk.public)}`,
      otherFrom !== null && sql`${other} >= ${otherFrom}`,
      otherUntil !== null && sql`${other} < ${otherUntil}`,
      ...walk.keys.map((key) => keyCondition(d, key, 'w.number')),
    ])
  }

  const joins = (fits: string): Statement =>
    statement(
      [
        fits.includes('c.') ? d.lookUp('conversation', 'c', 'c.number = w.number') : '',
        fits.includes('l.') ? d.lookUp('log', 'l', 'l.number = w.number') : '',
      ].join(' '),
    )

  function* list(query: CheckedConversationQuery): Work<Page<ConversationRecord>> {
    if (!query.isPossible) return lookedPage(query, [], null)
    const walk = walkOf(query, query.by)
    const visited = walkSql(walk, query)
    const fits = comparisons(walk)
    const rows = yield* all<RecordRow>(
      sql`SELECT ${statement(columns)} FROM (${visited} LIMIT ${statement(String(MAX_VISITED))}) AS w ${joins(columns)}
      WHERE ${fits} ORDER BY ${statement(visited.order)} LIMIT ${query.limit + 1}`,
    )
    const matches = rows.map(readRecord)
    if (matches.length > query.limit || fits.sql === allOf([]).sql) return lookedPage(query, matches, null)
    const last = yield* first<{ readonly conversation_id: string; readonly time: string }>(
      sql`SELECT conversation_id, CAST(time AS text) AS time FROM (${visited} LIMIT 1 OFFSET ${statement(String(MAX_VISITED - 1))}) AS w`,
    )
    const looked = last === undefined ? null : { time: BigInt(last.time), id: last.conversation_id }
    return lookedPage(query, matches, looked)
  }

  function* count(filter: CheckedConversationFilter, exact: boolean): Work<Count> {
    if (!filter.isPossible) return lookedCount(0, 0, exact)
    const walk = countWalkOf(filter)
    const visited = walkSql(walk, { descending: false, after: null })
    const fits = comparisons(walk)
    const limit = statement(exact ? '' : ` LIMIT ${MAX_COUNTED + 1}`)
    const row = yield* first<{ readonly looked: Bigint; readonly fit: Bigint }>(
      sql`SELECT count(*) AS looked, coalesce(sum(CASE WHEN ${fits} THEN 1 ELSE 0 END), 0) AS fit
      FROM (${visited}${limit}) AS w ${joins(fits.sql)}`,
    )
    return lookedCount(Number(row?.fit ?? 0), Number(row?.looked ?? 0), exact)
  }

  /** Applies the rules of `nextLease` in one statement, so that only one process acquires the lease. */
  function* acquireLease(conversationId: string, owner: string, ttl: number): Work<Lease | null> {
    if (!isLegalId(conversationId)) throw unknownConversation(conversationId)
    checkLease(owner, ttl)
    const time = millis()
    const row = yield* change<LeaseRow>(
      sql`UPDATE ${log} SET lease_generation = lease_generation
          + CASE WHEN lease_owner IS NOT NULL AND lease_expires_at > ${time} THEN 0 ELSE 1 END,
        lease_owner = ${owner}, lease_expires_at = ${time} + CAST(${ttl} AS bigint)
      WHERE conversation_id = ${conversationId}
        AND (lease_owner IS NULL OR lease_owner = ${owner} OR lease_expires_at <= ${time})
      RETURNING number, ${leaseColumns}`,
    )
    if (row === undefined) yield* get(conversationId)
    return row === undefined ? null : leaseOf(row)
  }

  function* releaseLease({ conversationId, owner, generation }: Lease): Work<boolean> {
    if (!isLegalId(conversationId) || !isLegalId(owner) || !Number.isSafeInteger(generation)) return false
    const row = yield* change(
      sql`UPDATE ${log} SET lease_owner = NULL, lease_expires_at = NULL WHERE conversation_id = ${conversationId}
        AND lease_owner = ${owner} AND lease_generation = CAST(${generation} AS bigint) RETURNING number`,
    )
    return row !== undefined
  }

  function* findLease(conversationId: string): Work<Lease | null> {
    const row = yield* first<LeaseRow>(
      sql`SELECT ${leaseColumns} FROM ${log} WHERE conversation_id = ${legal(conversationId)} AND lease_owner IS NOT NULL`,
    )
    return row === undefined ? null : leaseOf(row)
  }

  function* listLeases({ expired, after, limit }: CheckedLeaseQuery): Work<Lease[]> {
    const isExpired = expired ? sql` AND lease_expires_at <= ${millis()}` : NOTHING
    const rows = yield* all<LeaseRow>(
      sql`SELECT ${leaseColumns} FROM ${log}${statement(d.by('log_lease'))} WHERE lease_owner IS NOT NULL
        AND conversation_id > ${after ?? ''}${isExpired} ORDER BY conversation_id LIMIT ${limit}`,
    )
    return rows.map(leaseOf)
  }

  /** Saves parts of a snapshot. A complete snapshot gets a new generation, so that two snapshots are never mixed. */
  function* saveSnapshot(
    conversationId: string,
    parts: readonly SnapshotPart[],
    complete: boolean,
  ): Work<void> {
    const removeOthers = sql`DELETE FROM ${part} WHERE number = (SELECT changed.number FROM changed)
      AND generation < (SELECT changed.generation FROM changed)`
    const save = (one: SnapshotPart): Statement => sql`INSERT INTO ${part} (number, generation, part, bytes)
      SELECT changed.number, changed.generation, CAST(${one.part} AS int), ${one.bytes} FROM changed WHERE true
      ON CONFLICT (number, generation, part) DO UPDATE SET bytes = excluded.bytes`
    const row = yield* change(
      sql`INSERT INTO ${snapshot} AS s (number, generation)
      SELECT number, 1 FROM ${conversation} WHERE conversation_id = ${legal(conversationId)}
      ON CONFLICT (number) DO UPDATE SET generation = s.generation + ${Number(complete)}
      RETURNING number, generation`,
      [...(complete ? [removeOthers] : []), ...parts.map(save)],
    )
    if (row === undefined) throw unknownConversation(conversationId)
  }

  function* loadSnapshot(conversationId: string): Work<SnapshotPart[]> {
    const number = numberOf(conversationId)
    const rows = yield* all<SnapshotPart>(
      sql`SELECT p.part, p.bytes FROM ${part} AS p WHERE p.number = ${number}
        AND p.generation = (SELECT s.generation FROM ${snapshot} AS s WHERE s.number = ${number}) ORDER BY p.part`,
    )
    // Drivers may return a Buffer that shares its memory.
    return rows.map((row) => ({ part: row.part, bytes: new Uint8Array(row.bytes) }))
  }

  function* deleteSnapshot(conversationId: string): Work<boolean> {
    const number = numberOf(conversationId)
    const parts = yield* first<{ readonly count: Bigint }>(
      sql`SELECT count(*) AS count FROM ${part} AS p WHERE p.number = ${number}`,
    )
    yield* change(sql`DELETE FROM ${snapshot} WHERE number = ${number} RETURNING number`)
    return Number(parts?.count ?? 0) > 0
  }

  return {
    create,
    find,
    update,
    remove,
    setStatus,
    list,
    count,
    acquireLease,
    releaseLease,
    findLease,
    listLeases,
    saveSnapshot,
    loadSnapshot,
    deleteSnapshot,
  }
}

/** Returns a list key's column and value; null for a tag, because tags are in their own table. */
export function keyColumn([name, value]: ListKey):
  | readonly [column: string, value: string | number | null]
  | null {
  if (name === 'public') return ['public', 1]
  const column = {
    parent: 'parent_conversation_id',
    status: 'status',
    sandbox: 'sandbox_id',
    owner: 'owner',
  }[name]
  return column === undefined ? null : [column, value === '' ? null : value]
}

/** Returns the condition that conversation `c` has a list key. `number`: SQL expression for `c`'s number. */
export function keyCondition(d: Dialect, key: ListKey, number: string): Statement {
  const column = keyColumn(key)
  if (column === null)
    return sql`EXISTS (SELECT 1 FROM ${statement(d.table('tag'))} AS own
      WHERE own.number = ${statement(number)} AND own.name = ${key[0]} AND own.value = ${key[1]})`
  const [name, value] = column
  return value === null ? statement(`c.${name} IS NULL`) : sql`c.${statement(name)} = ${value}`
}

const leaseOf = (row: LeaseRow): Lease =>
  Object.freeze({
    conversationId: row.conversation_id,
    owner: row.lease_owner,
    generation: row.lease_generation,
    expiresAt: Number(row.expires),
  })
