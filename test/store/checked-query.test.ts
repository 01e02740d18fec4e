/** Validation of queries: defaults, repeated values, and the field that an error names. */

import { describe, expect, it } from 'vitest'
import { isColloquyError } from '../../src/event/errors.ts'
import { EVENT_KINDS } from '../../src/event/kinds.ts'
import {
  checkConversationFilter,
  checkConversationQuery,
  conversationCursor,
} from '../../src/store/kit/query/conversation-query.ts'
import {
  checkEventFilter,
  checkEventQuery,
  checkReadOptions,
  eventCursor,
} from '../../src/store/kit/query/event-query.ts'
import { encodeCursor } from '../../src/store/kit/query/page.ts'
import { newRecord } from '../../src/store/kit/record.ts'

const conversationId = 'c'

/** The error's code, and its field or reason. */
function errorOf(check: () => unknown): readonly unknown[] {
  try {
    check()
  } catch (error) {
    if (isColloquyError(error)) return [error.code, error.data['field'] ?? error.data['reason']]
  }
  return []
}

const kinds = (filter: object): unknown => {
  const { kinds } = checkEventFilter({ conversationId, ...filter })
  return kinds && [...kinds]
}

describe('an event filter', () => {
  it('has no restrictions by default, or if its fields are null', () => {
    expect(checkEventFilter({ conversationId })).toEqual({
      conversationId,
      kinds: null,
      source: null,
      text: null,
      from: null,
      until: null,
      leafId: null,
    })
    const nulls = Object.fromEntries(
      ['kinds', 'source', 'text', 'timestampGte', 'leafId'].map((key) => [key, null]),
    )
    expect(checkEventFilter({ conversationId, ...nulls })).toEqual(checkEventFilter({ conversationId }))
  })

  it('combines `kinds`, `excludeKinds` and `text` into one set of kinds', () => {
    expect(kinds({ kinds: ['PauseEvent', 'ActionEvent', 'PauseEvent'] })).toEqual([
      'ActionEvent',
      'PauseEvent',
    ])
    expect(kinds({ excludeKinds: ['PauseEvent'] })).toEqual(
      EVENT_KINDS.filter((kind) => kind !== 'PauseEvent'),
    )
    expect(kinds({ kinds: ['PauseEvent', 'ActionEvent'], excludeKinds: ['PauseEvent'] })).toEqual([
      'ActionEvent',
    ])
    expect(kinds({ kinds: [] })).toEqual([])
    expect(kinds({ excludeKinds: [] })).toBeNull()
    expect(kinds({ text: '' })).toEqual(['MessageEvent'])
    expect(kinds({ text: 'x', kinds: ['ActionEvent'] })).toEqual([])
  })

  it('folds the text and parses timestamps to microseconds', () => {
    const { text, from, until } = checkEventFilter({
      conversationId,
      text: 'ÄΣ\u0000',
      timestampGte: '1970-01-01T01:00:00.000001+01:00',
      timestampLt: '1969-12-31T23:59:59',
    })
    expect([text, from, until]).toEqual(['äσ\ufffd', 1n, -1_000_000n])
  })
})

describe('an event query', () => {
  it('defaults to 100 events in ascending order', () => {
    expect(checkEventQuery({ conversationId })).toMatchObject({ descending: false, limit: 100, after: null })
    expect(checkEventQuery({ conversationId, order: 'timestamp_desc', limit: 1 })).toMatchObject({
      descending: true,
      limit: 1,
    })
  })

  it('accepts the cursor of the same query with another limit', () => {
    const query = checkEventQuery({ conversationId, text: 'x' })
    for (const last of [
      { time: -62_135_596_800_000_000n, seq: 0 },
      { time: 2n ** 57n, seq: 2 ** 40 },
    ]) {
      const cursor = eventCursor(query, last)
      expect(checkEventQuery({ conversationId, text: 'X', limit: 3, cursor }).after).toEqual(last)
    }
  })

  it('rejects a cursor with a valid checksum but an invalid position', () => {
    const { scope } = checkEventQuery({ conversationId })
    for (const key of [[], ['1'], ['x', '1'], ['1', '-1'], ['1', '1.5'], ['', ''], ['9'.repeat(30), '1']]) {
      const cursor = encodeCursor(scope, key)
      expect(errorOf(() => checkEventQuery({ conversationId, cursor }))).toEqual([
        'invalid_cursor',
        'altered',
      ])
    }
  })

  it.each([
    ['conversationId', { conversationId: undefined }],
    ['conversationId', { conversationId: '\ud800' }],
    ['conversationId', { conversationId: 7 }],
    ['kinds', { kinds: ['__proto__'] }],
    ['kinds', { kinds: {} }],
    ['excludeKinds', { excludeKinds: [7] }],
    ['source', { source: 'toString' }],
    ['text', { text: ['x'] }],
    ['timestampGte', { timestampGte: 0 }],
    ['timestampLt', { timestampLt: '2026-02-30T00:00:00' }],
    ['leafId', { leafId: '__root__' }],
    ['order', { order: 'desc' }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 101 }],
    ['limit', { limit: Number.NaN }],
    ['limit', { limit: '1' }],
    ['cursor', { cursor: 7 }],
  ])('rejects an invalid %s: %j', (field, wrong) => {
    expect(errorOf(() => checkEventQuery({ conversationId, ...(wrong as object) }))).toEqual([
      'invalid_query',
      field,
    ])
  })
})

describe('read options', () => {
  it('default to the first 1000 events', () => {
    expect(checkReadOptions({})).toEqual({ from: null, backward: false, limit: 1000, refs: false })
    expect(checkReadOptions({ from: 0, direction: 'backward', limit: 5 })).toEqual({
      from: 0,
      backward: true,
      limit: 5,
      refs: false,
    })
  })

  it.each([
    ['from', { from: -1 }],
    ['limit', { limit: 0 }],
    ['direction', { direction: 'up' }],
  ])('reject an invalid %s', (field, wrong) => {
    expect(errorOf(() => checkReadOptions(wrong as object))).toEqual(['invalid_argument', field])
  })
})

describe('a conversation query', () => {
  it('defaults to the 100 newest conversations', () => {
    expect(checkConversationQuery()).toMatchObject({
      by: 'createdAt',
      descending: true,
      limit: 100,
      after: null,
      keys: [],
    })
    expect(checkConversationQuery({ order: 'updated_at' })).toMatchObject({
      by: 'updatedAt',
      descending: false,
    })
  })

  it('folds `titleContains` and sorts the tags', () => {
    expect(checkConversationFilter({ titleContains: 'ÄB', tags: { b: '1', a: '2' } })).toMatchObject({
      titleContains: 'äb',
      keys: [
        ['tag.a', '2'],
        ['tag.b', '1'],
      ],
    })
  })

  it('accepts the cursor of the same query, even with a non-ASCII id', () => {
    const query = checkConversationQuery({ tags: { b: '1', a: '2' } })
    const record = newRecord({ id: 'é 😀 %' }, 1_767_225_600_000_001n)
    const cursor = conversationCursor(query, record)
    expect(checkConversationQuery({ tags: { a: '2', b: '1' }, cursor, limit: 1 }).after).toEqual({
      time: 1_767_225_600_000_001n,
      id: 'é 😀 %',
    })
  })

  it.each([
    ['titleContains', { titleContains: 7 }],
    ['public', { public: 'true' }],
    ['parentConversationId', { parentConversationId: '__root__' }],
    ['tags', { tags: ['a'] }],
    ['tags.a', { tags: { a: null } }],
    ['createdAtGte', { createdAtGte: 'today' }],
    ['createdAtLt', { createdAtLt: 7 }],
    ['updatedAtGte', { updatedAtGte: '' }],
    ['updatedAtLt', { updatedAtLt: '2026' }],
    ['order', { order: 'timestamp' }],
    ['limit', { limit: 101 }],
  ])('rejects an invalid %s: %j', (field, wrong) => {
    expect(errorOf(() => checkConversationQuery(wrong as object))).toEqual(['invalid_query', field])
  })
})
