import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { statusUpdate } from '../../src/conversation/decide.ts'
import type { Status } from '../../src/state/status.ts'
import { MAX_COUNTED, MAX_VISITED } from '../../src/store/contract/query.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { createService, type Service } from '../../src/service/index.ts'
import { folder } from './sandbox-commands.ts'

let store: Store
let engine: Engine
let service: Service

beforeEach(() => {
  store = memoryStore()
  engine = createEngine({ store })
  service = createService({ engine })
})

afterEach(() => engine.close())

const get = async (path: string): Promise<{ body: unknown; response: Response }> => {
  const response = await service.fetch(new Request(`http://localhost${path}`))
  expect(response.status, path).toBe(200)
  return { body: await response.json(), response }
}

/** Returns the ids that a search finds across pages. */
async function idsOf(path: string): Promise<{ readonly ids: string[]; readonly pages: number }> {
  const ids: string[] = []
  let cursor: string | null = null
  for (let pages = 1; ; pages += 1) {
    const { body } = await get(`${path}${cursor === null ? '' : `&page_id=${encodeURIComponent(cursor)}`}`)
    const page = body as { items: { id: string }[]; next_page_id: string | null }
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.next_page_id
    if (cursor === null) return { ids, pages }
  }
}

const statusOf = async (path: string, some: readonly string[]): Promise<number> =>
  (await service.fetch(new Request(`http://localhost${path}?ids=${some.join('&ids=')}`))).status

const count = async (path: string): Promise<readonly [unknown, string | null]> => {
  const { body, response } = await get(path)
  return [body, response.headers.get('x-count')]
}

describe('a search by status', () => {
  it('finds conversations updated by the engine, by another program, or never opened', async () => {
    const statuses: readonly Status[] = ['idle', 'paused', 'running', 'finished']
    const expected = new Map<Status, string[]>(statuses.map((status) => [status, []]))
    for (let nth = 0; nth < 24; nth += 1) {
      // Conversations created at the same moment are ordered by id.
      const [id, status] = [`c${String(nth).padStart(2, '0')}`, statuses[nth % 4] ?? 'idle']
      const update = { ...statusUpdate(status), id: 'u' }
      if (nth % 3 === 0) await (await engine.create({ id })).append(update)
      else {
        await store.createConversation({ id, ...(nth % 3 === 1 && { status: 'stuck' }) })
        await store.append(id, [update])
        // Opening the conversation corrects a wrong stored status.
        if (nth % 3 === 1) await (await engine.open(id)).state()
      }
      expected.get(status)?.push(id)
    }
    for (const status of ['idle', 'paused', 'finished'] as const) {
      const ids = expected.get(status) ?? []
      const path = `/api/conversations/search?sort_order=CREATED_AT&limit=2&status=${status}`
      expect(await idsOf(path), status).toEqual({ ids, pages: ids.length / 2 })
      expect(await count(`/api/conversations/count?status=${status}`)).toEqual([ids.length, 'exact'])
    }
    expect((await store.listConversations({ status: '' })).items).toEqual([])
  })

  it('finds the last of many conversations without a stored status; a count is at-least', async () => {
    const total = 2 * MAX_VISITED
    for (let nth = 0; nth < total; nth += 1) await store.createConversation({ id: `c${nth}` })
    await store.append(`c${total - 1}`, [{ ...statusUpdate('stuck'), id: 'u' }])
    const path = '/api/conversations/search?sort_order=CREATED_AT&status=stuck'
    expect(await count('/api/conversations/count?status=stuck')).toEqual([0, 'at-least'])
    expect((await idsOf(path)).ids).toEqual([`c${total - 1}`])
    expect(await count('/api/conversations/count?status=stuck&exact=true')).toEqual([1, 'exact'])
    expect(await idsOf(path)).toEqual({ ids: [`c${total - 1}`], pages: 1 })
  })
})

describe('a count over a read-only store', () => {
  it('counts stored statuses and is at-least, also with `exact=true`', async () => {
    const path = folder()
    const file = join(path.path, 'c.db')
    const writer = sqliteStore({ file })
    for (let nth = 0; nth < 120; nth += 1) {
      await writer.createConversation({ id: `c${nth}`, ...(nth < 2 && { status: 'idle' }) })
      await writer.append(`c${nth}`, [{ ...statusUpdate('stuck'), id: 'u' }], { mode: 'import' })
    }
    for (const id of ['c0', 'c1']) {
      const { version = 0 } = (await writer.getConversation(id)) ?? {}
      expect(await writer.setStatus(id, 'stuck', version)).toBe(true)
    }
    await writer.close()
    const reader = sqliteStore({ file, readOnly: true })
    const over = createEngine({ store: reader })
    service = createService({ engine: over })
    expect(await count('/api/conversations/count?status=stuck&exact=true')).toEqual([2, 'at-least'])
    expect(await count('/api/conversations/count?status=stuck')).toEqual([2, 'at-least'])
    await over.close()
    await reader.close()
    path.remove()
  })
})

describe('a count', () => {
  it('stops at the maximum and is at-least unless `exact=true`', async () => {
    const total = MAX_COUNTED + 1
    for (let nth = 0; nth < total; nth += 1)
      await store.createConversation({ id: `c${nth}`, status: 'idle', sandboxId: 's' })
    const tasks = Array.from({ length: total }, (_, nth) => {
      const keys = { created_at: new Date(nth).toISOString() }
      return { collection: 'start-tasks', id: `t${nth}`, put: { body: {}, keys } }
    })
    for (let nth = 0; nth < total; nth += 100) await store.changeItems(tasks.slice(nth, nth + 100))
    for (const path of [
      '/api/conversations/count?',
      '/api/conversations/count?status=idle&',
      '/api/v1/app-conversations/count?',
      '/api/v1/app-conversations/count?sandbox_id__eq=s&',
      '/api/v1/app-conversations/start-tasks/count?',
      '/api/v1/app-conversations/start-tasks/count?created_at__gte=1970-01-01T00:00:00Z&',
    ]) {
      expect(await count(path), path).toEqual([MAX_COUNTED, 'at-least'])
      expect(await count(`${path}exact=true`), path).toEqual([total, 'exact'])
    }
    expect(await count('/api/v1/app-conversations/count?title__contains=x')).toEqual([0, 'at-least'])
    expect(await count('/api/v1/app-conversations/count?sandbox_id__eq=x')).toEqual([0, 'exact'])
  })
})

it('a search by tags requires all of them, and rejects two values of one key', async () => {
  await engine.create({ id: 'c', tags: { a: '1', b: '2' } })
  const path = '/api/conversations/search?tag=a%3A1&tag='
  expect((await idsOf(`${path}b%3A2`)).ids).toEqual(['c'])
  expect((await idsOf(`${path}a%3A1`)).ids).toEqual(['c'])
  expect((await idsOf(`${path}b%3A1`)).ids).toEqual([])
  const { status } = await service.fetch(new Request(`http://localhost${path}a%3A2`))
  expect(status).toBe(422)
})

it('both interfaces list all 101 children of a conversation, the oldest first', async () => {
  const children = Array.from({ length: 101 }, (_, nth) => `c${String(nth).padStart(3, '0')}`)
  await store.createConversation({ id: 'p' })
  for (const id of children) await store.createConversation({ id, parentConversationId: 'p' })
  const one = { sub_conversation_ids: children }
  expect((await get('/api/conversations/p')).body).toMatchObject(one)
  expect((await get('/api/v1/app-conversations?ids=p')).body).toMatchObject([one])
})

it('large conversations are split into pages, and reading all by id gets 413', async () => {
  const ids = Array.from({ length: 18 }, (_, nth) => `c${String(nth).padStart(2, '0')}`)
  // Only the library can create these: the service rejects such a start.
  const metadata = { start: { note: 'x'.repeat(1_100_000) }, app: { trigger: 'x'.repeat(1_100_000) } }
  for (const id of ids) await store.createConversation({ id, metadata })
  for (const [path, order] of [
    ['/api/conversations', ids],
    ['/api/v1/app-conversations', ids.toReversed()],
  ] as const) {
    const search = `${path}/search?${path.includes('v1') ? '' : 'sort_order=CREATED_AT'}`
    expect(await idsOf(search), path).toEqual({ ids: order, pages: 3 })
    expect(await statusOf(path, ids)).toBe(413)
    expect(await statusOf(path, Array(8).fill('c00'))).toBe(413)
    expect(await statusOf(path, ['c00', 'c01'])).toBe(200)
  }
})

it.each([
  ['ASCII', 'x'.repeat(1_100_000)],
  ['non-ASCII', '\u00e9'.repeat(550_000)],
])('large start tasks in %s are split into pages, and reading all by id gets 413', async (_, title) => {
  const request = { title }
  const ids = Array.from({ length: 18 }, (_, nth) => `t${String(nth).padStart(2, '0')}`)
  for (const [nth, id] of ids.entries()) {
    const keys = { created_at: new Date(nth).toISOString() }
    const body = { id, request, created_at: keys.created_at, app_conversation_id: null }
    await store.changeItems([{ collection: 'start-tasks', id, put: { body, keys } }])
  }
  const tasks = '/api/v1/app-conversations/start-tasks'
  expect(await idsOf(`${tasks}/search?sort_order=CREATED_AT`)).toEqual({ ids, pages: 3 })
  expect([await statusOf(tasks, ids), await statusOf(tasks, ids.slice(0, 2))]).toEqual([413, 200])
})

it('summaries contain the last reply of each conversation, cut to 500 characters', async () => {
  for (const [id, ...texts] of [['quiet'], ['short', 'before', 'done'], ['long', 'x'.repeat(600)]] as const) {
    const conversation = await engine.create({ id })
    for (const text of texts)
      await conversation.append({
        kind: 'MessageEvent',
        source: 'agent',
        llm_message: { role: 'assistant', content: [{ text }] },
      })
  }
  const { ids, pages } = await idsOf('/api/v1/conversation-summaries?limit=2')
  expect([ids.toSorted(), pages]).toEqual([['long', 'quiet', 'short'], 2])
  const { body } = await get('/api/v1/conversation-summaries')
  const { items } = body as { items: { id: string; summary: string | null; execution_status: string }[] }
  const summaries = new Map(items.map(({ id, summary }) => [id, summary]))
  expect([summaries.get('quiet'), summaries.get('short')]).toEqual([null, 'done'])
  expect(summaries.get('long')).toBe(`${'x'.repeat(497)}...`)
})
