/** Erases an event's content from the log, search, snapshot, file, and the memory of every process. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { toAnthropic } from '../../src/messages/index.ts'
import { encodeWithoutBodies } from '../../src/state/snapshot.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { folder } from '../store/sqlite-drivers.ts'

const FILES = folder()
let database: PooledDatabase
beforeAll(async () => void (database = await pooledDatabase()))
afterAll(async () => {
  FILES.remove()
  await database.drop()
})

let schemas = 0
const STORES = {
  memory: () => memoryStore({ fullText: true }),
  sqlite: () => sqliteStore({ file: FILES.next(), fullText: true, pollInterval: 5 }),
  postgres: () =>
    postgresStore({
      client: database.pool,
      schema: `erase_${(schemas += 1)}`,
      fullText: true,
      pollInterval: 20,
    }),
}

const SECRET = 'unforgettable'
const signed = (id: string, text: string) =>
  ({
    kind: 'MessageEvent',
    source: 'agent',
    id,
    llm_message: {
      role: 'assistant',
      content: [{ type: 'text', text }],
      thinking_blocks: [{ type: 'thinking', thinking: `about ${text}`, signature: `sig-${id}` }],
    },
  }) as const

/** A conversation with a reply before and after the erased event. */
async function startConversation(store: Store) {
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi', { key: 'hi' })
  await conversation.append(signed('before', 'Hello'))
  const [secret] = await conversation.sendMessage(`My password is ${SECRET}`)
  await conversation.append(signed('behind', 'Noted'))
  return { engine, conversation, id: secret?.id ?? '' }
}

const snapshotText = async (store: Store): Promise<string[]> =>
  (await store.loadSnapshot('c')).map(({ bytes }) => new TextDecoder().decode(bytes))

const textOf = async (store: Store): Promise<string> => JSON.stringify(await store.read('c'))

describe.each(Object.entries(STORES))('eraseEvent() over %s', (_, make) => {
  it('removes the content, drops the signature of the reply that saw it, and logs the reason', async () => {
    const store = make()
    const { engine, conversation, id } = await startConversation(store)
    await store.saveSnapshot('c', [{ part: 0, bytes: new TextEncoder().encode(SECRET) }])
    const before = await conversation.state()
    const [record] = await conversation.eraseEvent(id, 'a password')
    expect(record?.fact).toMatchObject({
      key: 'erased',
      value: { event_id: id, reason: 'a password', unsigned_event_ids: ['behind'] },
    })
    expect(await textOf(store)).not.toContain(SECRET)
    expect(await store.loadSnapshot('c')).toEqual([])
    const { items } = await store.searchText({ query: SECRET })
    expect(items).toEqual([])
    expect((await store.searchText({ query: 'erased' })).items).toHaveLength(1)
    expect((await store.search({ conversationId: 'c', text: SECRET })).items).toEqual([])
    const after = await conversation.state()
    expect(JSON.stringify([...after.log.entries].map(({ event }) => event))).not.toContain(SECRET)
    expect([after.header.status, after.log.head?.id]).toEqual([before.header.status, before.log.head?.id])
    const sent = JSON.stringify(toAnthropic(await conversation.messages()))
    expect(sent).toContain('sig-before')
    expect(sent).not.toContain('sig-behind')
    expect(sent).toContain('[erased]')
    expect(await conversation.eraseEvent(id, 'once more')).toEqual([])
    expect((await conversation.state()).log.entries.length).toBe(after.log.entries.length)
    await engine.close()
    await store.close()
  })

  it('removes digests from which a short text can be guessed', async () => {
    const store = make()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    const [pin] = await conversation.sendMessage('My PIN is 4711')
    const digests = { prefix: 'of the request', digest: 'of the reply', cuts: ['of a call'] }
    const reply = { grammar: 'anthropic', model: 'm', tools: 'of the tools', ...digests } as const
    const said = signed('behind', 'Noted')
    const message = { ...said.llm_message, reply }
    await conversation.append({ ...said, llm_message: message })
    const call = { id: 'call', name: 'ls', arguments: '{}', origin: 'completion', reply } as const
    const names = { tool_name: 'ls', tool_call_id: 'call', llm_response_id: 'r' }
    await conversation.append({
      kind: 'ActionEvent',
      source: 'agent',
      thought: [],
      action: null,
      ...names,
      tool_call: call,
    })
    await conversation.eraseEvent(pin?.id ?? '')
    const text = await textOf(store)
    expect(text).not.toMatch(/of the request|of the reply|of a call/)
    expect(text.split('"reply":{"grammar":"anthropic","model":"m","tools":"of the tools"}')).toHaveLength(3)
    await engine.close()
    await store.close()
  })

  it('makes another engine reload the log, and no stale snapshot is used', async () => {
    const store = make()
    const { engine, conversation, id } = await startConversation(store)
    const other = createEngine({ store })
    const seen = await other.open('c')
    expect(JSON.stringify([...(await seen.state()).log.entries].map(({ event }) => event))).toContain(SECRET)
    await conversation.eraseEvent(id)
    await store.saveSnapshot('c', [{ part: 0, bytes: new TextEncoder().encode(SECRET) }])
    expect(JSON.stringify([...(await seen.state()).log.entries].map(({ event }) => event))).not.toContain(
      SECRET,
    )
    expect(await store.loadSnapshot('c')).toEqual([])
    await seen.sendMessage('Go on', { key: 'on' })
    expect((await conversation.state()).log.entries.length).toBe(6)
    await Promise.all([engine.close(), other.close()])
    await store.close()
  })

  it.each(['closes', 'saves a snapshot'])(
    'is not undone when an engine that has not read the erasure %s',
    async (how) => {
      const store = make()
      const { engine, conversation } = await startConversation(store)
      const note = { kind: 'ConversationStateUpdateEvent', key: 'note', value: 1 } as const
      // The log is long enough for a snapshot, which the engine saves when it closes.
      await conversation.append(Array.from({ length: 1_010 }, () => note))
      const [failure] = await conversation.append({
        kind: 'ConversationErrorEvent',
        source: 'environment',
        code: 'Failed',
        detail: SECRET,
      })
      const last = await conversation.state()
      const other = createEngine({ store })
      expect((await (await other.open('c')).state()).header.error?.detail).toBe(SECRET)
      await conversation.eraseEvent(String(failure?.id))
      if (how === 'closes') await other.close()
      else
        await store.saveSnapshot('c', encodeWithoutBodies(last, 0, (await conversation.record()).createdAt))
      if (how === 'closes') expect((await snapshotText(store)).join()).not.toContain(SECRET)
      const next = createEngine({ store })
      expect((await (await next.open('c')).state()).header.error?.detail).toBe('[erased]')
      await Promise.all([engine.close(), other.close(), next.close()])
      expect((await snapshotText(store)).join()).not.toContain(SECRET)
      await store.close()
    },
  )

  it('succeeds for concurrent erasures by several engines', async () => {
    const store = make()
    const { engine, id } = await startConversation(store)
    const engines = [engine, createEngine({ store }), createEngine({ store })]
    const ids = [id, 'behind', 'before']
    await Promise.all(
      engines.flatMap((one, nth) =>
        ids.map(async (_, index) => (await one.open('c')).eraseEvent(ids[(index + nth) % 3] ?? '')),
      ),
    )
    const text = await textOf(store)
    for (const gone of [SECRET, 'Noted', 'Hello', 'sig-']) expect(text).not.toContain(gone)
    expect(text.match(/"key":"erased"/g)).toHaveLength(3)
    expect(text).toContain('Hi')
    await Promise.all(engines.map((one) => one.close()))
    await store.close()
  })
})

describe('eraseEvent()', () => {
  it('fails after 20 attempts if the event changes each time', async () => {
    let attempts = 0
    const engine = createEngine({
      store: {
        ...memoryStore(),
        async replaceEvents() {
          attempts += 1
          throw new ColloquyError('version_conflict', 'The event has changed.')
        },
      },
    })
    const conversation = await engine.create()
    const [hello] = await conversation.sendMessage(SECRET)
    await expect(conversation.eraseEvent(hello?.id ?? '')).rejects.toMatchObject({ code: 'version_conflict' })
    expect(attempts).toBe(20)
    await engine.close()
  })

  it('rejects unknown events, open calls and long reasons, and requires a store that can erase', async () => {
    const { replaceEvents: _, ...store } = memoryStore()
    for (const one of [memoryStore(), store]) {
      const engine = createEngine({ store: one })
      const conversation = await engine.create({ id: 'c' })
      await conversation.append({
        kind: 'ActionEvent',
        id: 'call',
        source: 'agent',
        thought: [],
        tool_name: 'ls',
        tool_call_id: 't',
        tool_call: { id: 't', name: 'ls', arguments: '{"path":"/home/ann"}', origin: 'completion' },
        llm_response_id: 'r',
        action: { kind: 'Call' },
      })
      for (const [id, code] of [
        ['no', 'unknown_event'],
        ['', 'unknown_event'],
        ['call', 'invalid_argument'],
      ] as const)
        await expect(conversation.eraseEvent(id), id).rejects.toMatchObject({ code })
      await expect(conversation.eraseEvent('call', 'x'.repeat(1_001))).rejects.toMatchObject({
        code: 'invalid_argument',
      })
      await conversation.reject()
      if (one === store) await expect(conversation.eraseEvent('call')).rejects.toThrow('cannot erase events')
      else {
        await conversation.eraseEvent('call')
        expect(JSON.stringify(await one.read('c'))).not.toContain('ann')
      }
      await engine.close()
    }
  })

  it('leaves no erased text in the SQLite files', async () => {
    const file = FILES.next()
    const store = sqliteStore({ file, fullText: true })
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    const long = `${SECRET} `.repeat(20_000)
    const [short] = await conversation.sendMessage(`short ${SECRET}`)
    const [large] = await conversation.sendMessage(long)
    await conversation.sendMessage('stays')
    const bytes = (): string =>
      readdirSync(FILES.path)
        .filter((name) => join(FILES.path, name).startsWith(file))
        .map((name) => readFileSync(join(FILES.path, name), 'latin1'))
        .join('\n')
    expect(bytes()).toContain(SECRET)
    await conversation.eraseEvent(short?.id ?? '')
    await conversation.eraseEvent(large?.id ?? '')
    await engine.close()
    await store.close()
    expect(bytes()).not.toContain(SECRET)
    expect(bytes()).toContain('stays')
  })
})
