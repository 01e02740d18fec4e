/** `await using` closes stores, engines and servers at the end of a block. */

import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { serve } from '../../src/service/node/server.ts'
import type { DisposableStore } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const STORES: Readonly<Record<string, () => DisposableStore>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ file: ':memory:' }),
}

it.each(Object.entries(STORES))('`await using` closes a %s store and its engine', async (_, make) => {
  let [store, engine] = [make(), createEngine({ store: memoryStore() })]
  {
    await using inner = make()
    await using over = createEngine({ store: inner })
    const conversation = await over.create({ id: 'c' })
    await conversation.sendMessage('Hello')
    ;[store, engine] = [inner, over]
  }
  await expect(engine.create()).rejects.toMatchObject({ code: 'closed' })
  await expect(store.getConversation('c')).rejects.toMatchObject({ code: 'store_closed' })
  await store[Symbol.asyncDispose]()
})

it('`await using` closes a server', async () => {
  await using store = memoryStore()
  let url = ''
  {
    await using server = await serve({ store, port: 0 })
    ;({ url } = server)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  }
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
})
