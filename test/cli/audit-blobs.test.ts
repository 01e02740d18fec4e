import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { colloquy, folder } from './run-command.ts'

it('audit-blobs counts long strings and lists unused, damaged and missing ones', async () => {
  const file = folder({})('audit.db')
  const store = sqliteStore({ file })
  await store.createConversation({ id: 'c' })
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(70_000))
  for (const [i, text] of texts.entries())
    await store.append('c', [{ kind: 'ConversationStateUpdateEvent', id: `u${i}`, key: 'k', value: text }])
  const hashes = (await store.read('c', { blobs: 'refs' })).map(({ blobs }) => blobs?.[0]?.hash ?? '')
  await store.close()

  const intact = await colloquy(['audit-blobs', '--db', file])
  expect([intact.code, intact.err]).toEqual([0, ''])
  expect(intact.out).toContain('3 long strings of 210,000 bytes in 3 events')

  const database = new DatabaseSync(file)
  const [first = '', second = '', third = ''] = hashes
  database.exec('PRAGMA foreign_keys = OFF')
  // Stores never produce these faults.
  database.exec(`UPDATE colloquy_blob_piece SET bytes = x'00' WHERE hash = '${first}'`)
  database.exec(`UPDATE colloquy_event SET blobs = NULL WHERE id = 'u1'`)
  database.exec('DROP TRIGGER colloquy_blob_unused')
  database.exec(`DELETE FROM colloquy_blob_use WHERE hash = '${third}'`)
  database.close()
  const broken = await colloquy(['audit-blobs', '--db', file, '--json'])
  expect([broken.code, broken.err]).toEqual([1, ''])
  expect(JSON.parse(broken.out)).toEqual({
    blobs: 3,
    bytes: 210_000,
    events: 2,
    unused: [third],
    damaged: [first],
    missing: [
      { conversationId: 'c', seq: 1 },
      { conversationId: 'c', seq: 2 },
    ],
  })
  const printed = await colloquy(['audit-blobs', '--db', file])
  expect(printed.code).toBe(1)
  for (const text of [`unused   ${third}`, `damaged  ${first}`, 'missing  "c", position 1'])
    expect(printed.out).toContain(text)
  expect(printed.out).not.toContain(second)
})
