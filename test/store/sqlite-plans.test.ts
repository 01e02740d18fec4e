/** No page sorts or walks more of an index than it shows: the plans of every statement that reads, with every driver (law C). */

import { describe, expect, it } from 'vitest'
import { checkConversationQuery, countWalkOf, walkOf } from '../../src/store/kit/query/conversation-query.ts'
import type { Connection } from '../../src/store/sqlite/connection.ts'
import { countListSql, lastLookedSql, listSql } from '../../src/store/sqlite/list.ts'
import { MIGRATIONS } from '../../src/store/sqlite/migrations.ts'
import { setUp } from '../../src/store/sqlite/open.ts'
import { countSql, scanNextSql, pageSql, type RangeForm } from '../../src/store/sqlite/range-sql.ts'
import { FEED_LAST, FEED_ROWS } from '../../src/store/sqlite/feed.ts'
import { checkItemQuery } from '../../src/store/kit/items.ts'
import { DUE_ITEMS, FIND_ITEM, itemListSql } from '../../src/store/sqlite/items.ts'
import { LAST, NEWS } from '../../src/store/sqlite/poll.ts'
import { BACKWARD, BY_ID, FORWARD } from '../../src/store/sqlite/read.ts'
import { PARTS } from '../../src/store/sqlite/snapshots.ts'
import { everyList } from './every-list.ts'
import { DRIVERS, openDatabase } from './sqlite-drivers.ts'

const UP = '(time,seq)>(?,?) AND time<?'
const DOWN = 'time>? AND (time,seq)<(?,?)'

const COLUMNS: Readonly<Record<RangeForm['index'], string>> = {
  time: 'conversation_id=?',
  kind: 'conversation_id=? AND kind=? AND source=?',
  path: 'conversation_id=? AND lane=?',
  lane: 'conversation_id=? AND lane=? AND kind=? AND source=?',
}

/** The steps of a plan that touch tables or sort. */
function plan(connection: Connection, sql: string): string[] {
  const values = Array.from(sql.matchAll(/\?/g), () => 1)
  return connection
    .all<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
    .map(({ detail }) => detail.replace('COVERING ', ''))
    .filter(
      (detail) =>
        /^(SEARCH|SCAN|USE TEMP|MATERIALIZE|AUTOMATIC)/.test(detail) && !/CONSTANT ROW/.test(detail),
    )
}

/** How a step begins that walks an index. */
const one = (index: string): string => `SEARCH \\w+ USING INDEX ${index} \\(`

describe.each(DRIVERS)('plans with %s', (driver) => {
  const connection = setUp(openDatabase(driver, ':memory:'), { synchronous: 'full', readOnly: false })

  const forms = (['time', 'kind', 'path', 'lane'] as const).flatMap((index) =>
    [1, 2, 7, 20].flatMap((ranges) =>
      [false, true].flatMap((descending) =>
        [false, true].map((text): RangeForm => ({ index, ranges, descending, text })),
      ),
    ),
  )

  it.each(forms)('a page of $ranges ranges by $index, descending $descending, text $text', (form) => {
    const { index, ranges, descending } = form
    const range = `SEARCH colloquy_event USING INDEX colloquy_event_${index} (${COLUMNS[index]} AND ${descending ? DOWN : UP})`
    expect(plan(connection, pageSql(form))).toEqual([
      ...Array.from({ length: ranges }, () => range),
      'SCAN found',
      'SEARCH event USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })

  it.each([false, true])('a scanNext, descending %s', (descending) => {
    expect(plan(connection, scanNextSql(descending))).toEqual([
      `SEARCH colloquy_event USING INDEX colloquy_event_time (conversation_id=? AND ${descending ? DOWN : UP})`,
      'SCAN found',
      'SEARCH event USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })

  it.each(['time', 'kind', 'path', 'lane'] as const)('a count by %s', (index) => {
    const sql = countSql({ index, ranges: 1, descending: false, text: false })
    expect(plan(connection, sql)).toEqual([
      `SEARCH colloquy_event USING INDEX colloquy_event_${index} (${COLUMNS[index]} AND time>? AND time<?)`,
    ])
  })

  it('reading and finding', () => {
    const key = 'SEARCH event USING INDEX sqlite_autoindex_colloquy_event_1'
    expect(plan(connection, FORWARD)).toEqual([`${key} (conversation_id=? AND seq>?)`])
    expect(plan(connection, BACKWARD)).toEqual([`${key} (conversation_id=? AND seq<?)`])
    expect(plan(connection, BY_ID)).toEqual([
      'SEARCH event USING INDEX colloquy_event_id (conversation_id=? AND id=?)',
    ])
    expect(plan(connection, PARTS)).toEqual([
      'SEARCH colloquy_snapshot USING INDEX sqlite_autoindex_colloquy_snapshot_1 (conversation_id=?)',
    ])
  })

  it('a feed', () => {
    const log = 'SEARCH log USING PRIMARY KEY (conversation_id=?)'
    const shard = 'SEARCH feed USING INDEX colloquy_feed_shard'
    expect(FEED_ROWS.map((sql) => plan(connection, sql))).toEqual([
      ['SEARCH feed USING INTEGER PRIMARY KEY (rowid>?)', log],
      [`${shard} (shard=? AND place>?)`, log],
    ])
    expect(FEED_LAST.map((sql) => plan(connection, sql))).toEqual([
      ['SCAN feed', log],
      [`${shard} (shard=?)`, log],
    ])
  })

  it('what is looked at now and then', () => {
    expect([NEWS, LAST].map((sql) => plan(connection, sql))).toEqual([
      ['SEARCH colloquy_feed USING INTEGER PRIMARY KEY (rowid>?)'],
      ['SCAN colloquy_feed'],
    ])
  })

  it('every list of conversations: one walk of an index, and of nothing else', () => {
    const walks: Readonly<Record<string, string>> = {
      parent: `${one('colloquy_conversation_parent')}parent_conversation_id=\\? AND `,
      status: `${one('colloquy_conversation_status')}status=\\? AND `,
      sandbox: `${one('colloquy_conversation_sandbox')}sandbox_id=\\? AND `,
      public: `${one('colloquy_conversation_public')}public=\\? AND `,
      tag: `${one('colloquy_conversation_tagged')}name=\\? AND value=\\? AND `,
      createdAt: one('colloquy_conversation_created'),
      updatedAt: one('colloquy_log_updated'),
    }
    const up = '\\((created|updated)_at,conversation_id\\)>\\(\\?,\\?\\) AND \\w+<\\?\\)$'
    const down = '\\w+>\\? AND \\((created|updated)_at,conversation_id\\)<\\(\\?,\\?\\)\\)$'
    let tried = 0
    for (const query of everyList()) {
      const checked = checkConversationQuery(query)
      const walk = walkOf(checked, checked.by)
      const by = walk.key?.[0].replace(/\..*/, '') ?? walk.by
      const how = `^${walks[by]}${checked.descending ? down : up}`
      const [first = '', ...rest] = plan(connection, listSql(walk, checked).sql)
      const what = JSON.stringify(query)
      expect(first, what).toMatch(new RegExp(how))
      expect(rest.slice(0, 3), what).toEqual([
        'SCAN walked',
        by === 'tag' || by === 'updatedAt'
          ? 'SEARCH conversation USING INDEX sqlite_autoindex_colloquy_conversation_1 (conversation_id=?)'
          : 'SEARCH conversation USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH log USING PRIMARY KEY (conversation_id=?)',
      ])
      expect(rest.slice(3), what).toEqual(
        walk.keys
          .filter(([name]) => name.startsWith('tag.'))
          .map(() =>
            expect.stringMatching(
              /^SEARCH own (EXISTS )?USING PRIMARY KEY \(conversation_id=\? AND name=\?\)$/,
            ),
          ),
      )
      const looked = plan(connection, lastLookedSql(walk, checked).sql)
      expect(looked[0], what).toMatch(new RegExp(how))
      expect(
        looked.slice(1).filter((step) => !step.startsWith('SCAN (')),
        what,
      ).toEqual([])
      if (checked.after === null && !checked.descending) {
        const counted = plan(connection, countListSql(countWalkOf(checked), false).sql)
        expect(
          counted.filter((step) => !/^SEARCH|^SCAN walked$/.test(step)),
          what,
        ).toEqual([])
      }
      tried += 1
    }
    expect(tried).toBe(864 * 4 * 2)
  })

  it('items, by id, by key and when they are due', () => {
    const byId = 'SEARCH item USING INDEX sqlite_autoindex_colloquy_item_1 (collection=? AND id=?)'
    expect(plan(connection, FIND_ITEM)).toEqual([byId])
    expect(plan(connection, DUE_ITEMS)).toEqual([
      'SEARCH item USING INDEX colloquy_item_due (collection=? AND due_at<?)',
    ])
    for (const descending of [false, true]) {
      const listed = (query: object): string[] =>
        plan(connection, itemListSql('c', checkItemQuery('c', { ...query, descending })).sql)
      expect(listed({ from: 'a' })).toEqual([byId.replace('id=?', 'id>?')])
      const key = 'SEARCH key USING PRIMARY KEY (collection=? AND name=?'
      expect(listed({ by: 'by' })).toEqual([`${key})`, byId])
      expect(listed({ by: 'by', value: 'x' })).toEqual([`${key} AND value=?)`, byId])
      expect(listed({ by: 'by', from: 'x', below: 'y' })).toEqual([`${key} AND value>? AND value<?)`, byId])
    }
  })

  it('every key begins with the conversation, but those of the lists of conversations, of items and of the feed', () => {
    const keys = [
      ...MIGRATIONS.map(({ sql }) => sql)
        .join('\n')
        .matchAll(/(?:INDEX \w+ ON \w+|PRIMARY KEY) \(([^)]*)\)/g),
    ]
    expect(keys.length).toBeGreaterThan(8)
    const others = keys
      .map(([, columns = '']) => columns)
      .filter((columns) => !columns.startsWith('conversation_id'))
    expect(others).toEqual([
      'created_at, conversation_id',
      'updated_at, conversation_id',
      'collection, due_at, id',
      'collection, name, value, id',
      'shard, place',
      'name, value, created_at, conversation_id',
      'name, value, created_at, conversation_id',
      'parent_conversation_id, created_at, conversation_id',
      'status, created_at, conversation_id',
      'sandbox_id, created_at, conversation_id',
      'public, created_at, conversation_id',
    ])
  })
})
