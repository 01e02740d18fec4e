/** System conversations among the conversations of its users: no page shows one, every page is full, and the last one says so. */

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import {
  isReservedId,
  listUserConversations,
  userConversations,
} from '../../src/store/system-conversations.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const STORES = { memory: () => memoryStore(), sqlite: () => sqliteStore({ file: ':memory:' }) }

/** Users' conversations and system conversations, in turns of all kinds. */
const PATTERNS = [
  '',
  'o',
  'ooo',
  'u',
  'uu',
  'ou',
  'uo',
  'uouo',
  'oouuoo',
  'uuooooooooooooo',
  'ooooooooooooouuu',
]

describe.each(Object.entries(STORES))('lists over %s', (_, make) => {
  it.each(PATTERNS)('leave out the system conversations of %j', async (pattern) => {
    const store = make()
    for (const [at, kind] of [...pattern].entries()) {
      await store.createConversation({ id: kind === 'o' ? `colloquy:${at}` : `u${at}` })
    }
    const users = [...pattern].flatMap((kind, at) => (kind === 'u' ? [`u${at}`] : []))
    for (const order of ['created_at', 'created_at_desc', 'updated_at', 'updated_at_desc'] as const) {
      for (const limit of [1, 2, 3, 100]) {
        const found: string[] = []
        let cursor: string | null = null
        do {
          const page = await listUserConversations(store, {
            order,
            limit,
            ...(cursor !== null && { cursor }),
          })
          cursor = page.next_page_id
          found.push(...page.items.map(({ id }) => id))
          expect(page.items.length === limit || cursor === null).toBe(true)
          expect(page.items.length > 0 || users.length === 0).toBe(true)
        } while (cursor !== null)
        expect(found.toSorted()).toEqual(users.toSorted())
      }
      const all: string[] = []
      for await (const { id } of userConversations(store, { order, limit: 2 })) all.push(id)
      expect(all.toSorted()).toEqual(users.toSorted())
    }
    await store.close()
  })

  it('refuse what the store refuses', async () => {
    const store = make()
    await expect(listUserConversations(store, { limit: 0 })).rejects.toMatchObject({ code: 'invalid_query' })
    await expect(listUserConversations(store, { limit: 101 })).rejects.toMatchObject({
      code: 'invalid_query',
    })
    await expect(listUserConversations(store, { cursor: 'x' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
    await store.close()
  })
})

it('ids are reserved by how they begin', () => {
  expect(['colloquy:', 'colloquy:x', 'colloquy', 'Colloquy:x', ' colloquy:x'].map(isReservedId)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
