/** What each release left behind is read for good: its logs, its snapshot, and its databases say what they said to it. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { loadLine } from '../../src/event/load.ts'
import { encodeState } from '../../src/state/encode.ts'
import { decodeSnapshot } from '../../src/state/snapshot.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { run } from '../postgres/bystander.ts'
import { testDatabase, type TestDatabase } from '../postgres/database.ts'
import { oldDatabase } from '../store/frozen.ts'
import { folder } from '../store/sqlite-drivers.ts'
import { readLog, readStored } from './reading.ts'

interface Read {
  readonly postgresVersion: number
  readonly logs: Readonly<Record<string, object>>
  readonly stored: Readonly<Record<string, object>>
  readonly held: object
  readonly heldInPostgres: object
}

const RELEASES = readdirSync(import.meta.dirname).filter((name) => /^\d/.test(name))

it('has the files of a release', () => expect(RELEASES).toContain('0.1.0'))

describe.each(RELEASES)('of %s', (version) => {
  const file = (name: string): Buffer => readFileSync(join(import.meta.dirname, version, name))
  const read = JSON.parse(file('read.json').toString()) as Read
  const facts = (name: string) =>
    file(`${name}.jsonl`)
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => loadLine(line).fact)

  it.each(Object.keys(read.logs))('the log %s says what it said', (name) => {
    expect(readLog(facts(name), name)).toEqual(read.logs[name])
  })

  const holds = (title: string, storeOf: () => Store, held: object) =>
    describe(title, () => {
      it('holds every conversation as it was', async () => {
        const store = storeOf()
        const { items } = await store.listConversations()
        expect(items.map(({ id }) => id).toSorted()).toEqual([...Object.keys(read.stored), 'held'].toSorted())
        for (const [name, said] of Object.entries({ ...read.stored, held }))
          expect([name, await readStored(store, name)]).toEqual([name, said])
      })

      it('keeps items, and tells all that happened', async () => {
        expect(await storeOf().getItem('notes', 'n')).toMatchObject({ body: { kept: true }, version: 1 })
        const told = new Set<string>()
        let page = await storeOf().feed()
        for (; page.items.length > 0; page = await storeOf().feed({ after: page.next }))
          for (const { conversationId } of page.items) told.add(conversationId)
        expect([...told].toSorted()).toEqual([...Object.keys(read.stored), 'held'].toSorted())
      })

      it('opens a snapshot as what was folded, or as nothing', async () => {
        const parts = await storeOf().loadSnapshot('sample')
        expect(parts.length).toBeGreaterThan(0)
        const opened = decodeSnapshot(parts, 'sample')
        const engine = createEngine({ store: storeOf() })
        const state = await (await engine.open('sample')).state()
        expect(state.log.entries.length).toBe(facts('sample').length)
        if (opened !== null) expect(encodeState(opened)).toBe(encodeState(state))
      })

      it('goes on', async () => {
        const conversation = await createEngine({ store: storeOf() }).open('held')
        await conversation.sendMessage('Still there?')
        expect((await conversation.messages()).length).toBe(3)
      })
    })

  describe('SQLite', () => {
    const files = folder()
    let store: Store
    beforeAll(() => {
      const path = files.next()
      writeFileSync(path, gunzipSync(file('store.sqlite.gz')))
      store = sqliteStore({ database: new DatabaseSync(path) })
    })
    afterAll(async () => {
      await store.close()
      files.remove()
    })
    holds('a database', () => store, read.held)
  })

  describe('PostgreSQL', () => {
    let database: TestDatabase
    let store: Store
    beforeAll(async () => {
      database = await testDatabase()
      await run(database.url, oldDatabase('postgres', read.postgresVersion))
      // As a restore does it: no trigger tells of what is put there.
      const rows = file('postgres.sql').toString()
      await run(database.url, `SET session_replication_role = replica; ${rows}`)
      store = postgresStore({ url: database.url })
    })
    afterAll(async () => {
      await store.close()
      await database.drop()
    })
    holds('a database', () => store, read.heldInPostgres)
  })
})
