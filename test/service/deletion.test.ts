/** Deletes many conversations and erases an event over HTTP, with what the service stores for them. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { serve } from '../../src/service/node/server.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { folder } from '../store/sqlite-drivers.ts'
import { STORES } from './client.ts'
import { begin, client, endAll, say, send, start } from './control-fixture.ts'
import { until } from './sandbox-commands.ts'

afterEach(endAll)

const WORDS = 'unforgettable'
const EMPTY_REPORT = { conversations: 0, events: 0, snapshots: 0, leases: 0, items: 0, more: false }
const remove = (body: object) => send('POST', '/api/conversations/delete', body)

/** Text of every item of the service, and of every conversation. */
async function everything(store: Store): Promise<string> {
  const collections = [
    'start-tasks',
    'planned-conversations',
    'conversation-starts',
    'pending-messages',
    'deletions',
    'call-tokens',
  ]
  const items = await Promise.all(collections.map((name) => store.listItems(name)))
  const { items: records } = await store.listConversations()
  const logs = await Promise.all(records.map(({ id }) => store.read(id)))
  return JSON.stringify([items.map((page) => page.items), records, logs])
}

describe.each(Object.entries(STORES))('deletion over %s', (_, make) => {
  it('deletes by owner, tags, ids and age, with a report, and a dry run changes nothing', async () => {
    const store = make()
    await begin(store)
    for (const [id, owner, tags] of [
      ['a', 'ann', { teamId: 'red' }],
      ['b', 'ann', {}],
      ['c', 'bob', { teamId: 'red' }],
      ['d', 'bob', {}],
    ] as const)
      await client.post('/api/conversations', {
        conversation_id: id,
        owner,
        tags,
        initial_message: { ...say(WORDS), run: false },
      })
    const planned = await remove({ owner: 'ann', dry_run: true })
    expect(planned).toMatchObject({ status: 200, body: { ...EMPTY_REPORT, conversations: 2, events: 2 } })
    expect((await store.countConversations()).count).toBe(4)
    expect((await remove({ owner: 'ann', tags: { teamId: 'red' } })).body).toMatchObject({ conversations: 1 })
    expect((await remove({ tags: { teamId: 'red' } })).body).toMatchObject({ conversations: 1 })
    expect((await remove({ ids: ['d', 'unknown'] })).body).toMatchObject({ conversations: 1 })
    expect((await remove({ ids: ['d', 'unknown'] })).body).toEqual(EMPTY_REPORT)
    expect((await remove({ owner: 'ann', before: '2000-01-01T00:00:00Z' })).body).toEqual(EMPTY_REPORT)
    expect((await remove({ owner: 'ann', before: '2999-01-01T00:00:00Z' })).body).toMatchObject({
      conversations: 1,
    })
    await client.service.controlPlane.deletions.worker.settle()
    expect(await everything(store)).not.toContain(WORDS)
  })

  it('accepts every form of a UUID', async () => {
    await begin(make())
    for (const formOf of [
      (id: string) => id,
      (id: string) => id.replaceAll('-', ''),
      (id: string) => id.toUpperCase(),
    ]) {
      const { id } = (await client.post<{ id: string }>('/api/conversations')).body
      const { app_conversation_id: other = '' } = await start()
      const ids = [id, other ?? ''].map(formOf)
      expect((await remove({ ids: [...ids, id] })).body).toMatchObject({ conversations: 2 })
    }
  })

  it('applies a retention in parts, and returns 409 while another process applies one', async () => {
    const store = make()
    await begin(store)
    for (const id of ['a', 'b', 'c', 'd', 'e'])
      await client.post('/api/conversations', { conversation_id: id })
    expect((await remove({ older_than_days: 1 })).body).toEqual(EMPTY_REPORT)
    expect((await remove({ keep_last: 1, dry_run: true })).body).toMatchObject({ conversations: 4 })
    expect((await remove({ keep_last: 1, limit: 3 })).body).toMatchObject({ conversations: 3, more: true })
    expect((await remove({ keep_last: 1, limit: 3 })).body).toMatchObject({ conversations: 1, more: false })
    await store.changeItems([{ collection: 'retention', id: 'retention', put: { body: {}, dueIn: 60_000 } }])
    expect((await remove({ older_than_days: 0 })).status).toBe(409)
    expect((await store.listConversations()).items.map(({ id }) => id)).toEqual(['e'])
  })

  it('deletes the start tasks, queued messages and secrets of its conversations', async () => {
    const store = make()
    await begin(store, undefined, { secret: 'what it is sealed with' })
    const tasks = await Promise.all(
      ['x', 'y'].map(() => start({ initial_message: { ...say(WORDS), run: false }, tags: { u: '1' } })),
    )
    await client.post('/api/conversations', { conversation_id: 'z', tags: { u: '1' }, secrets: { T: WORDS } })
    expect(await everything(store)).toContain(WORDS)
    expect((await store.countItems('conversation-starts')).count).toBe(1)
    expect((await remove({ tags: { u: '1' } })).body).toMatchObject({ conversations: tasks.length + 1 })
    expect((await store.countItems('conversation-starts')).count).toBe(0)
    expect(await everything(store)).not.toContain(WORDS)
    await until(async () => (await store.countItems('deletions')).count === 0)
  })

  it('erases an event repeatedly, also in the start task that sent it', async () => {
    const store = make()
    await begin(store)
    const { app_conversation_id: id = '' } = await start({ initial_message: { ...say(WORDS), run: false } })
    const { items } = await store.search({ conversationId: id ?? '', kinds: ['MessageEvent'] })
    const path = `/api/conversations/${id}/events/${items[0]?.id}/erase`
    for (const body of [{ reason: 'a password' }, undefined, { reason: 'again' }])
      expect(await send('POST', path, body)).toMatchObject({ status: 200, body: { success: true } })
    const text = await everything(store)
    expect(text).not.toContain(WORDS)
    expect(text.match(/"key":"erased"/g)).toHaveLength(1)
    expect(text).toContain('a password')
    const read = await client.get<{ items: object[] }>(`/api/conversations/${id}/events/search`)
    expect(JSON.stringify(read.body)).toContain('[erased]')
    for (const [wrong, status] of [
      [`/api/conversations/${id}/events/unknown/erase`, 404],
      [`/api/conversations/unknown/events/${items[0]?.id}/erase`, 404],
    ] as const)
      expect((await send('POST', wrong)).status).toBe(status)
    expect((await send('POST', path, { reason: 'x'.repeat(1_001) })).status).toBe(422)
    expect((await send('POST', path, { why: 'x' })).status).toBe(422)
  })
})

it('a deletion without a criterion or with an invalid one gets 422 and deletes nothing', async () => {
  const store = memoryStore()
  await begin(store)
  await client.post('/api/conversations', { conversation_id: 'a', owner: 'ann' })
  for (const body of [
    undefined,
    {},
    { dry_run: false },
    { owner: '' },
    { owner: null },
    { owner: ['ann'] },
    { tags: {} },
    { tags: { 'a-b': '1' } },
    { before: 'yesterday' },
    { ids: [] },
    { ids: ['a'], owner: 'ann' },
    { ids: ['a'], keep_last: 0 },
    { before: '2999-01-01T00:00:00Z', keep_last: 0 },
    { keep_last: -1 },
    { older_than_days: -1 },
    { older_than_days: '1' },
    { owner: 'ann', limit: 0 },
    { owner: 'ann', limit: 10_001 },
    { ownr: 'ann' },
    { owner: 'ann', dry_run: 'no' },
  ]) {
    const response = await send('POST', '/api/conversations/delete', body)
    expect(response.status, JSON.stringify(body)).toBe(422)
    // Errors name the fields of the request, not the options of the library.
    expect(JSON.stringify(response.body)).not.toMatch(/filter|option|[a-z][A-Z]/)
  }
  expect((await store.countConversations()).count).toBe(1)
})

it('a deletion needs a key, and leaves no byte of the text in the SQLite file', async () => {
  const files = folder()
  const file = files.next()
  const store = sqliteStore({ file, fullText: true })
  const server = await serve({ store, keys: ['k'], port: 0 })
  const call = async (path: string, body: object, key = 'k') => {
    const headers = { 'content-type': 'application/json', 'x-session-api-key': key }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${server.url}${path}`, init)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const message = { ...say(`${WORDS} and ${WORDS.repeat(10_000)}`), run: false, key: 'm' }
  for (const id of ['a', 'b', 'c'])
    await call('/api/conversations', { conversation_id: id, owner: 'ann', initial_message: message })
  await call('/api/conversations', {
    conversation_id: 'd',
    owner: 'bob',
    initial_message: { ...say('stays'), run: false },
  })
  const [event] = await store.read('c')
  const erase = `/api/conversations/c/events/${event?.id}/erase`
  expect((await call('/api/conversations/delete', { owner: 'ann' }, 'wrong')).status).toBe(401)
  expect((await call(erase, {}, 'wrong')).status).toBe(401)
  expect((await store.countConversations()).count).toBe(4)
  expect(await call('/api/conversations/delete', { ids: ['a', 'b'] })).toMatchObject({
    body: { conversations: 2 },
  })
  expect((await call(erase, {})).status).toBe(200)
  await server.close()
  await store.close()
  const bytes = readdirSync(dirname(file))
    .filter((name) => join(dirname(file), name).startsWith(file))
    .map((name) => readFileSync(join(dirname(file), name), 'latin1'))
    .join('\n')
  expect(existsSync(file)).toBe(true)
  expect(bytes).toContain('stays')
  expect(bytes).not.toContain(WORDS)
  files.remove()
})
