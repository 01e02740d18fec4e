/** Conversations: their records, the lists of them, their leases and snapshots. */

import { isLegalId } from '../../event/ids.ts'
import type {
  ConversationPatch,
  ConversationRecord,
  NewConversation,
  UpdateOptions,
} from '../contract/conversation-record.ts'
import type { Lease, SnapshotPart } from '../contract/store.ts'
import { type Count, MOST_COUNTED, MOST_LOOKED_AT, type Page } from '../contract/query.ts'
import {
  type CheckedLeaseQuery,
  checkCreatedAt,
  checkLease,
  checkParts,
  checkStatus,
  formatInstant,
  newRecord,
  patchRecord,
} from '../kit/record.ts'
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
import {
  all,
  allOf,
  change,
  confirm,
  type Dialect,
  first,
  type SqlValue,
  type Statement,
  statement,
  type Work,
} from './dialect.ts'

interface LeaseRow {
  readonly conversation_id: string
  readonly lease_owner: string
  readonly lease_generation: number
  readonly expires: Bigint
}

function feedStatement(
  d: Dialect,
  conversationId: string,
  report: number,
  [from, until]: readonly [number, number] = [0, 1],
): Statement {
  return statement(
    `INSERT INTO ${d.table('feed')} (shard, witness, number, conversation_id, change, from_seq, until_seq${d.feedColumn})
    SELECT CAST(? AS int), CAST(? AS bigint), changed.number, CAST(? AS text), CAST(? AS int), CAST(? AS int), CAST(? AS int)${d.feedValue} FROM changed WHERE true`,
    shardOf(conversationId),
    Math.floor(Math.random() * 2 ** 32),
    conversationId,
    report,
    from,
    until,
  )
}

export function conversationWork(d: Dialect, clock: () => bigint | null) {
  const conversation = d.table('conversation')
  const log = d.table('log')
  const tag = d.table('tag')
  const snapshot = d.table('snapshot')
  const part = d.table('snapshot_part')
  const columns = `c.conversation_id, c.title, c.public, c.tags, c.metadata, l.time_zone, c.parent_conversation_id,
    c.sandbox_id, c.owner, c.status, CAST(c.created_at AS text) AS created, CAST(l.updated_at AS text) AS updated, l.version, l.head_id`
  const select = `SELECT ${columns} FROM ${conversation} AS c JOIN ${log} AS l ON l.number = c.number WHERE c.conversation_id = ?`
  const insertTags = `INSERT INTO ${tag} (number, conversation_id, name, value, created_at)
    SELECT changed.number, CAST(? AS text), 'tag.' || listed.key, listed.value, CAST(changed.created_at AS bigint) FROM changed CROSS JOIN ${d.entries}
    WHERE true ON CONFLICT (number, name) DO UPDATE SET value = excluded.value`
  // Locked before the record by every transaction that locks both.
  const locked = `(SELECT number AS log_number FROM ${log} WHERE conversation_id = ?${d.lock}) AS current`
  const millis = `(${d.now} / 1000)`
  const numberOf = `(SELECT l.number FROM ${log} AS l WHERE l.conversation_id = ?)`
  const leaseColumns = `conversation_id, lease_owner, lease_generation, CAST(lease_expires_at AS text) AS expires`

  function* create(input: NewConversation): Work<ConversationRecord> {
    const record = newRecord(input, 0n)
    const { id, title, tags, metadata, timeZone, parentConversationId, sandboxId, owner, status } = record
    const now = clock()
    const givenTime = checkCreatedAt(input.createdAt)
    const updated = givenTime === undefined ? 'created_at' : `${d.greatest}(created_at, ${d.now})`
    const row = yield* change<{ readonly created_at: Bigint; readonly updated_at: Bigint }>(
      statement(
        `INSERT INTO ${conversation} (conversation_id, title, title_folded, public, tags, metadata, parent_conversation_id,
          sandbox_id, owner, status, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${d.now}) ON CONFLICT (conversation_id) DO NOTHING
        RETURNING number, CAST(created_at AS text) AS created_at, CAST(${updated} AS text) AS updated_at`,
        id,
        title,
        title && foldText(title),
        Number(record.public),
        JSON.stringify(tags),
        JSON.stringify(metadata),
        parentConversationId,
        sandboxId,
        owner,
        status,
        givenTime ?? now,
        ...(givenTime === undefined ? [] : [now]),
      ),
      ['number', 'created_at', 'updated_at'],
      [
        statement(
          `INSERT INTO ${log} (number, conversation_id, created_at, updated_at, time_zone)
          SELECT changed.number, CAST(? AS text), CAST(changed.created_at AS bigint), CAST(changed.updated_at AS bigint), CAST(? AS text) FROM changed WHERE true`,
          id,
          timeZone,
        ),
        ...(Object.keys(tags).length === 0 ? [] : [statement(insertTags, id, JSON.stringify(tags))]),
        feedStatement(d, id, FEED_CHANGE.changed),
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
    const row = isLegalId(id) ? yield* first<RecordRow>(select, id) : undefined
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
    const before = yield* first<RecordRow>(select, isLegalId(id) ? id : '')
    if (before === undefined) throw unknownConversation(id)
    const {
      title,
      public: open,
      tags,
      metadata,
      timeZone,
      owner,
    } = patchRecord(readRecord(before), patch, 0n, options)
    const values: (readonly [column: string, value: SqlValue])[] = [['conversation_id', id]]
    if (patch.title !== undefined) values.push(['title', title], ['title_folded', title && foldText(title)])
    if (patch.public !== undefined) values.push(['public', Number(open)])
    if (patch.tags !== undefined) values.push(['tags', JSON.stringify(tags)])
    if (patch.owner !== undefined) values.push(['owner', owner])
    if (patch.metadata !== undefined) values.push(['metadata', JSON.stringify(metadata)])
    const isExpected = options.expected === undefined ? '' : ' AND metadata = ?'
    const changed = yield* change(
      statement(
        `UPDATE ${conversation} SET ${values.map(([column]) => `${column} = ?`).join(', ')}
        FROM ${locked} WHERE number = log_number${isExpected} RETURNING number, CAST(created_at AS text) AS created_at`,
        ...values.map(([, value]) => value),
        id,
        ...(isExpected === '' ? [] : [before.metadata]),
      ),
      ['number', 'created_at'],
      [
        statement(
          `UPDATE ${log} SET updated_at = ${d.greatest}(updated_at, ${d.now})${patch.timeZone === undefined ? '' : ', time_zone = ?'}
          WHERE number = (SELECT changed.number FROM changed)`,
          clock(),
          ...(patch.timeZone === undefined ? [] : [timeZone]),
        ),
        ...(patch.tags === undefined
          ? []
          : [
              statement(
                `DELETE FROM ${tag} WHERE number = (SELECT changed.number FROM changed)
                AND name NOT IN (SELECT 'tag.' || listed.key FROM ${d.entries})`,
                JSON.stringify(tags),
              ),
              statement(insertTags, id, JSON.stringify(tags)),
            ]),
        feedStatement(d, id, FEED_CHANGE.changed),
      ],
    )
    // It was deleted, or has changed, since it was read.
    if (changed === undefined) return yield* update(id, patch, options)
    return yield* get(id)
  }

  function* remove(id: string): Work<boolean> {
    const deleted =
      isLegalId(id) &&
      (yield* change(
        statement(
          `DELETE FROM ${conversation} WHERE number IN (SELECT log_number FROM ${locked}) RETURNING number`,
          id,
        ),
        ['number'],
        [feedStatement(d, id, FEED_CHANGE.deleted), ...d.deleteEvents(id)],
      )) !== undefined
    if (!deleted) yield* confirm()
    return deleted
  }

  function* setStatus(id: string, status: string, version: number): Work<boolean> {
    const checked = checkStatus(status)
    const mayBe = isLegalId(id) && Number.isInteger(version) && version >= 0 && version < 2 ** 31
    if (!mayBe) return false
    const changed = yield* change(
      statement(
        `UPDATE ${conversation} SET status = ? FROM (
          SELECT number AS log_number FROM ${log} WHERE conversation_id = ? AND version = ?${d.lock}
        ) AS current WHERE number = log_number RETURNING number`,
        checked,
        id,
        version,
      ),
      ['number'],
    )
    return changed !== undefined
  }

  function walkSql(
    { by, key, from, until }: Walk,
    { descending, after }: Pick<CheckedConversationQuery, 'descending' | 'after'>,
  ): Statement & { readonly order: string } {
    const column = key === null ? null : keyColumn(key)
    const isTag = key !== null && column === null
    const [table, index, time] =
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
      // No id is empty, so this is before all of that time.
      start: isWithin ? after : { time: edge, id: '' },
      end: descending ? low : high,
    })
    const way = descending ? ' DESC' : ''
    const columns = walk.order.map((name, index) => `${name} AS order_${index}`)
    return {
      sql: `SELECT number, conversation_id, ${time} AS time, ${columns.join(', ')} FROM ${table}${d.by(index)}
      WHERE ${walk.sql} ORDER BY ${walk.order.map((name) => name + way).join(', ')}`,
      values: walk.values,
      order: walk.order.map((_, path) => `w.order_${path}${way}`).join(', '),
    }
  }

  function comparisons(walk: Walk): Statement {
    const { titleContains, otherFrom, otherUntil } = walk
    const other = walk.by === 'createdAt' ? 'l.updated_at' : 'c.created_at'
    return allOf([
      titleContains !== null &&
        statement(`${d.find}(coalesce(c.title_folded, ''), ?) > 0 AND c.title IS NOT NULL`, titleContains),
      walk.public !== null && statement('c.public = ?', Number(walk.public)),
      otherFrom !== null && statement(`${other} >= ?`, otherFrom),
      otherUntil !== null && statement(`${other} < ?`, otherUntil),
      ...walk.keys.map((key): Statement => {
        const column = keyColumn(key)
        if (column !== null)
          return column[1] === null
            ? statement(`c.${column[0]} IS NULL`)
            : statement(`c.${column[0]} = ?`, column[1])
        return statement(
          `EXISTS (SELECT 1 FROM ${tag} AS own WHERE own.number = w.number AND own.name = ? AND own.value = ?)`,
          ...key,
        )
      }),
    ])
  }

  const joins = (fits: string): string =>
    [
      fits.includes('c.') ? d.lookUp('conversation', 'c', 'c.number = w.number') : '',
      fits.includes('l.') ? d.lookUp('log', 'l', 'l.number = w.number') : '',
    ].join(' ')

  /** Returns one page. O(log n + visited records). */
  function* list(query: CheckedConversationQuery): Work<Page<ConversationRecord>> {
    if (!query.isPossible) return lookedPage(query, [], null)
    const walk = walkOf(query, query.by)
    const { sql, values, order } = walkSql(walk, query)
    const fits = comparisons(walk)
    const rows = yield* all<RecordRow>(
      `SELECT ${columns} FROM (${sql} LIMIT ${MOST_LOOKED_AT}) AS w ${joins(columns)}
      WHERE ${fits.sql} ORDER BY ${order} LIMIT ?`,
      ...values,
      ...fits.values,
      query.limit + 1,
    )
    const matches = rows.map(readRecord)
    if (matches.length > query.limit || fits.values.length === 0) return lookedPage(query, matches, null)
    const last = yield* first<{ readonly conversation_id: string; readonly time: string }>(
      `SELECT conversation_id, CAST(time AS text) AS time FROM (${sql} LIMIT 1 OFFSET ${MOST_LOOKED_AT - 1}) AS w`,
      ...values,
    )
    return lookedPage(
      query,
      matches,
      last === undefined ? null : { time: BigInt(last.time), id: last.conversation_id },
    )
  }

  /** Counts the records that match a filter. O(visited records). */
  function* count(filter: CheckedConversationFilter, exact: boolean): Work<Count> {
    if (!filter.isPossible) return lookedCount(0, 0, exact)
    const walk = countWalkOf(filter)
    const { sql, values } = walkSql(walk, { descending: false, after: null })
    const fits = comparisons(walk)
    const row = yield* first<{ readonly looked: Bigint; readonly fit: Bigint }>(
      `SELECT count(*) AS looked, coalesce(sum(CASE WHEN ${fits.sql} THEN 1 ELSE 0 END), 0) AS fit
      FROM (${sql}${exact ? '' : ` LIMIT ${MOST_COUNTED + 1}`}) AS w ${joins(fits.sql)}`,
      ...fits.values,
      ...values,
    )
    return lookedCount(Number(row?.fit ?? 0), Number(row?.looked ?? 0), exact)
  }

  /** Takes or renews a lease: the rules of `nextLease` in one statement, so that no two processes win. */
  function* acquireLease(conversationId: string, owner: string, ttl: number): Work<Lease | null> {
    if (!isLegalId(conversationId)) throw unknownConversation(conversationId)
    checkLease(owner, ttl)
    const now = clock()
    const row = yield* change<LeaseRow>(
      statement(
        `UPDATE ${log} SET lease_generation = lease_generation
            + CASE WHEN lease_owner IS NOT NULL AND lease_expires_at > ${millis} THEN 0 ELSE 1 END,
          lease_owner = ?, lease_expires_at = ${millis} + CAST(? AS bigint)
        WHERE conversation_id = ? AND (lease_owner IS NULL OR lease_owner = ? OR lease_expires_at <= ${millis})
        RETURNING number, ${leaseColumns}`,
        now,
        owner,
        now,
        ttl,
        conversationId,
        owner,
        now,
      ),
      ['number', 'conversation_id', 'lease_owner', 'lease_generation', 'expires'],
    )
    if (row === undefined) yield* get(conversationId)
    return row === undefined ? null : leaseOf(row)
  }

  function* releaseLease({ conversationId, owner, generation }: Lease): Work<boolean> {
    if (!isLegalId(conversationId) || !isLegalId(owner) || !Number.isSafeInteger(generation)) return false
    const row = yield* change(
      statement(
        `UPDATE ${log} SET lease_owner = NULL, lease_expires_at = NULL
        WHERE conversation_id = ? AND lease_owner = ? AND lease_generation = CAST(? AS bigint) RETURNING number`,
        conversationId,
        owner,
        generation,
      ),
      ['number'],
    )
    return row !== undefined
  }

  function* findLease(conversationId: string): Work<Lease | null> {
    if (!isLegalId(conversationId)) return null
    const row = yield* first<LeaseRow>(
      `SELECT ${leaseColumns} FROM ${log} WHERE conversation_id = ? AND lease_owner IS NOT NULL`,
      conversationId,
    )
    return row === undefined ? null : leaseOf(row)
  }

  /** Returns a page of the leases that were not returned. O(leases). */
  function* listLeases({ expired, after, limit }: CheckedLeaseQuery): Work<Lease[]> {
    const rows = yield* all<LeaseRow>(
      `SELECT ${leaseColumns} FROM ${log}${d.by('log_lease')} WHERE lease_owner IS NOT NULL AND conversation_id > ?
        ${expired ? `AND lease_expires_at <= ${millis}` : ''} ORDER BY conversation_id LIMIT ?`,
      after ?? '',
      ...(expired ? [clock()] : []),
      limit,
    )
    return rows.map(leaseOf)
  }

  /** Writes a snapshot's parts as a generation of its own: concurrent ones are never mixed. O(bytes). */
  function* saveSnapshot(
    conversationId: string,
    parts: readonly SnapshotPart[],
    complete: boolean,
  ): Work<void> {
    checkParts(parts)
    const row =
      isLegalId(conversationId) &&
      (yield* change(
        statement(
          `INSERT INTO ${snapshot} (number, generation)
          SELECT number, 1 FROM ${conversation} WHERE conversation_id = ?
          ON CONFLICT (number) DO UPDATE SET generation = ${d.own('snapshot')}.generation + ? RETURNING number, generation`,
          conversationId,
          Number(complete),
        ),
        ['number', 'generation'],
        [
          ...(complete
            ? [
                statement(
                  `DELETE FROM ${part} WHERE number = (SELECT changed.number FROM changed)
                  AND generation < (SELECT changed.generation FROM changed)`,
                ),
              ]
            : []),
          ...parts.map((one) =>
            statement(
              `INSERT INTO ${part} (number, generation, part, bytes)
              SELECT changed.number, changed.generation, CAST(? AS int), ? FROM changed WHERE true
              ON CONFLICT (number, generation, part) DO UPDATE SET bytes = excluded.bytes`,
              one.part,
              one.bytes,
            ),
          ),
        ],
      ))
    if (row === undefined || row === false) throw unknownConversation(conversationId)
  }

  /** All parts, in order. O(bytes). */
  function* loadSnapshot(conversationId: string): Work<SnapshotPart[]> {
    if (!isLegalId(conversationId)) return []
    const rows = yield* all<SnapshotPart>(
      `SELECT p.part, p.bytes FROM ${part} AS p WHERE p.number = ${numberOf}
        AND p.generation = (SELECT s.generation FROM ${snapshot} AS s WHERE s.number = ${numberOf}) ORDER BY p.part`,
      conversationId,
      conversationId,
    )
    // Drivers may return a Buffer that shares its memory.
    return rows.map((row) => ({ part: row.part, bytes: new Uint8Array(row.bytes) }))
  }

  function* deleteSnapshot(conversationId: string): Work<boolean> {
    if (!isLegalId(conversationId)) return false
    const parts = yield* first<{ readonly count: Bigint }>(
      `SELECT count(*) AS count FROM ${part} AS p WHERE p.number = ${numberOf}`,
      conversationId,
    )
    yield* change(
      statement(`DELETE FROM ${snapshot} WHERE number = ${numberOf} RETURNING number`, conversationId),
      ['number'],
    )
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

const [EARLIEST, LATEST] = [-(2n ** 62n), 2n ** 62n]

/** A list key's column and value; null for tags, which have their own rows. */
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

const leaseOf = (row: LeaseRow): Lease =>
  Object.freeze({
    conversationId: row.conversation_id,
    owner: row.lease_owner,
    generation: row.lease_generation,
    expiresAt: Number(row.expires),
  })
