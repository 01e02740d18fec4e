/** What a PostgreSQL store is made of, and that a program which forgets to close it still ends. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/index.ts'
import { testDatabase } from '../postgres/database.ts'

it.each([{}, { connectionString: 'postgres://localhost/x' }, { url: 'postgres://localhost/x', client: {} }])(
  'is not made of %j',
  (options) => {
    expect(() => postgresStore(options as object as PostgresStoreOptions)).toThrow(
      /needs either a url or a client/,
    )
  },
)

it('lets the process end when nothing is under way', async () => {
  const database = await testDatabase()
  const source = join(inject('built'), 'store/postgres/index.ts')
  const program = `
import { postgresStore } from '${source}'
const store = postgresStore({ url: process.argv[1] })
console.log((await store.countConversations()).count)
setTimeout(() => console.log('something is'), 5_000).unref()`
  const args = ['--input-type=module', '-e', program, database.url]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toBe('0\n')
  await database.drop()
})
