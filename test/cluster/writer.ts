/** Writes through a store, an engine, items, and a table outside the store. */

import pg from 'pg'
import { createEngine } from '../../src/conversation/engine.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { retry, emit, work, type Worker } from './rounds.ts'

const [url = '', self = ''] = process.argv.slice(2)
const store = postgresStore({ url })
const engine = createEngine({ store })
const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 10_000, max: 2 })
pool.on('error', () => undefined)

const message = (id: string): Event => ({
  kind: 'MessageEvent',
  id,
  timestamp: '2026-01-01T00:00:00Z',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: id }] },
})

/** A writer with a conversation per round. */
function writer(kind: string, number: number, write: (id: string, name: string) => Promise<unknown>): Worker {
  const idOf = (round: number): string => `r${round}-${kind}-${self}${number}`
  return {
    begin: async (round) => {
      if (kind !== 'store' && kind !== 'engine') return
      await store.createConversation({ id: idOf(round) }).catch((error: unknown) => {
        if (!hasCode(error, 'conversation_exists')) throw error
      })
    },
    async work(round, count) {
      const id = idOf(round)
      const name = `${id}-${count}`
      const from = Date.now()
      await write(id, name)
      emit('acknowledged', kind, id, name, from, Date.now())
    },
  }
}

/** Retries failed appends under the same id until acknowledged. */
const appending = (number: number): Worker =>
  writer('store', number, (id, name) => retry(() => store.append(id, [message(name)])))

const sending = (number: number): Worker =>
  writer('engine', number, (id, name) =>
    retry(async () => (await engine.open(id)).sendMessage(name, { key: name })),
  )

/** Stores each name in the same item. A failed change may still have been made. */
const changing = (number: number): Worker =>
  writer('item', number, (id, name) =>
    retry(async () => {
      const item = await store.getItem('cluster', id)
      const change = { collection: 'cluster', id, expected: item?.version ?? null, put: { body: { name } } }
      await store.changeItems([change])
    }),
  )

/** Does not retry, because the state after a failure is unknown. */
const inserting = (number: number): Worker => {
  const { begin } = writer('bare', number, async () => undefined)
  return {
    begin,
    async work(round, count) {
      const id = `r${round}-bare-${self}${number}`
      const name = `${id}-${count}`
      const from = Date.now()
      try {
        await pool.query('INSERT INTO bare (name) VALUES ($1)', [name])
      } catch {
        return
      }
      emit('acknowledged', 'bare', id, name, from, Date.now())
    },
  }
}

await work([appending(1), appending(2), sending(1), sending(2), changing(1), inserting(1)])
