/** Shared events, as the published interface defines them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVENT_KINDS } from '../../src/event/kinds.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { spyStore } from '../conversation/stores.ts'
import { type Client, clientOver, type Query, STORES } from './client.ts'
import {
  SEARCH,
  COUNT,
  BATCH,
  SHARED,
  DASHED,
  type Page,
  timeAt,
  message,
  SECRET,
  LOG,
  badCursor,
  REJECTED,
  ALL,
  ACCEPTED,
  idsOf,
} from './shared-events-cases.ts'

describe.each(Object.keys(STORES))('shared events over %s', (name) => {
  let store: Store
  let client: Client
  const calls: string[] = []

  const search = async (query: Query): Promise<Page> => {
    const { status, body } = await client.get<Page>(SEARCH, { conversation_id: SHARED, ...query })
    expect(status).toBe(200)
    return body
  }
  const walk = async (query: Query): Promise<string[][]> => {
    const pages: string[][] = []
    let page_id: string | null = null
    do {
      const page: Page = await search({ ...query, ...(page_id !== null && { page_id }) })
      pages.push(page.items.map(({ id }) => id ?? ''))
      page_id = page.next_page_id
    } while (page_id !== null)
    return pages
  }

  beforeAll(async () => {
    store = STORES[name]?.() as Store
    client = await clientOver(spyStore(store, (method) => calls.push(method)))
    await store.createConversation({ id: SHARED, public: true })
    await store.createConversation({ id: 'private' })
    await store.append(SHARED, LOG, { mode: 'import', expected: 'none' })
    await store.append('private', LOG, { mode: 'import', expected: 'none' })
  })
  afterAll(() => store.close())

  it.each(REJECTED.map((row) => ({ path: SEARCH, ...row })))(
    'reject $what at $path',
    async ({ path, query, detail }) => {
      const { status, body } = await client.get(path, query)
      expect([status, body]).toEqual([422, { detail }])
    },
  )

  it('reject a cursor of another query, order or conversation', async () => {
    const { next_page_id: page_id } = await search({ limit: 3 })
    for (const other of [
      { sort_order: 'TIMESTAMP_DESC' },
      { kind__eq: 'MessageEvent' },
      { timestamp__gte: timeAt(0) },
      { timestamp__lt: timeAt(59) },
      { conversation_id: 'private' },
      { conversation_id: 'unheard-of' },
    ]) {
      const input = { conversation_id: SHARED, page_id: page_id ?? '', ...other }
      const { status, body } = await client.get(SEARCH, input)
      expect([status, body]).toEqual([422, { detail: badCursor('cursor') }])
    }
    const altered = `${page_id?.slice(0, -2)}${page_id?.endsWith('AA') === true ? 'BB' : 'AA'}`
    expect((await client.get(SEARCH, { conversation_id: SHARED, page_id: altered })).status).toBe(422)
    // A cursor works with another limit.
    expect(idsOf(await search({ limit: 5, page_id: page_id ?? '' }))).toEqual(ALL.slice(3, 8))
  })

  it.each(ACCEPTED)('can be searched and counted with $what', async ({ query, ids }) => {
    expect(idsOf(await search(query))).toEqual(ids)
    const { limit: _limit, sort_order: _order, ...filter } = query
    const whole = (await walk(filter)).flat()
    expect((await client.get(COUNT, { conversation_id: SHARED, ...filter })).body).toBe(whole.length)
  })

  it('accept an unescaped plus sign in a time', async () => {
    const path = `${SEARCH}?conversation_id=${SHARED}&timestamp__gte=2026-01-01T02:00:30+02:00`
    expect(idsOf((await client.send<Page>(path)).body)).toEqual(['secretive', 'pause'])
  })

  it('fill every page but the last with one store search, despite hidden events', async () => {
    for (const limit of [1, 3, 7, 22, 100]) {
      for (const sort_order of ['TIMESTAMP', 'TIMESTAMP_DESC']) {
        calls.length = 0
        const pages = await walk({ limit, sort_order })
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
        expect(pages).toHaveLength(Math.ceil(ALL.length / limit))
        expect(pages.flat()).toEqual(sort_order === 'TIMESTAMP' ? ALL : ALL.toReversed())
        expect(calls.filter((call) => call === 'search')).toHaveLength(pages.length)
        expect(new Set(calls)).toEqual(new Set(['getConversation', 'search']))
      }
    }
  })

  it('show encrypted content as null at any depth', async () => {
    for (const path of [SEARCH, BATCH, `${BATCH}/${SHARED}/secretive`]) {
      const query = path.endsWith('secretive')
        ? {}
        : { conversation_id: SHARED, ...(path === BATCH && { id: 'secretive' }) }
      const { body } = await client.get(path, query)
      const text = JSON.stringify(body)
      expect(text).not.toContain(SECRET)
      expect(text.match(/encrypted_content\W+null/g)).toHaveLength(3)
      expect(text).toContain('"kept":1')
    }
  })

  it('include every kind except state updates', async () => {
    const kinds = EVENT_KINDS.filter((kind) => kind !== 'StreamingDeltaEvent')
    await store.createConversation({ id: 'kinds', public: true })
    await store.append('kinds', kinds.map(sampleOf), { mode: 'import', expected: 'none' })
    const shown = await search({ conversation_id: 'kinds' })
    expect(new Set(shown.items.map(({ kind }) => kind))).toEqual(
      new Set(kinds.filter((kind) => kind !== 'ConversationStateUpdateEvent')),
    )
    const hiddenId = 'of-ConversationStateUpdateEvent'
    expect((await client.get(BATCH, { conversation_id: 'kinds', id: hiddenId })).body).toEqual([null])
    expect((await client.get(`${BATCH}/kinds/${hiddenId}`)).body).toBe(null)
  })

  it('can be read by ids, in the order of the request, with null for unknown ids', async () => {
    const id = ['pause', 'nothing', 'm3', 'h0-0', 'm3', '', 'a\nb', 'x'.repeat(300)]
    const { body } = await client.get<(Event | null)[]>(BATCH, { conversation_id: SHARED, id })
    expect(body.map((event) => event?.id ?? null)).toEqual([
      'pause',
      null,
      'm3',
      null,
      'm3',
      null,
      null,
      null,
    ])
    const many = Array.from({ length: 100 }, (_, n) => `m${n}`)
    const limit = await client.get<(Event | null)[]>(BATCH, { conversation_id: SHARED, id: many })
    expect(limit.body.filter((event) => event !== null)).toHaveLength(20)
    const more = await client.get(BATCH, { conversation_id: SHARED, id: [...many, 'm0'] })
    expect(more).toMatchObject({ status: 400, body: { detail: expect.stringContaining('101') } })
  })

  it('can be read one by one, with null for an unknown id', async () => {
    expect((await client.get(`${BATCH}/${SHARED}/m3`)).body).toMatchObject({ id: 'm3' })
    for (const path of [
      `${SHARED}/nothing`,
      'private/m3',
      'unheard-of/m3',
      `${SHARED}/%00`,
      `%ff/m3`,
      '..%2f..%2fetc/passwd',
    ]) {
      expect(await client.get(`${BATCH}/${path}`)).toMatchObject({ status: 200, body: null })
    }
  })

  it('accept a UUID with and without dashes, also from page to page', async () => {
    const first = await search({ conversation_id: DASHED, limit: 4 })
    const next = await search({ limit: 4, page_id: first.next_page_id ?? '' })
    const again = await search({
      conversation_id: DASHED.toUpperCase(),
      limit: 4,
      page_id: first.next_page_id ?? '',
    })
    expect([idsOf(first), idsOf(next), idsOf(again)]).toEqual([
      ALL.slice(0, 4),
      ALL.slice(4, 8),
      ALL.slice(4, 8),
    ])
  })

  it('are empty for an unknown and for a private conversation', async () => {
    for (const conversation_id of ['private', 'unheard-of', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
      expect((await client.get(SEARCH, { conversation_id })).body).toEqual({ items: [], next_page_id: null })
      expect((await client.get(COUNT, { conversation_id })).body).toBe(0)
      expect((await client.get(BATCH, { conversation_id, id: ['m0', 'm1'] })).body).toEqual([null, null])
      expect((await client.get(`${BATCH}/${conversation_id}/m0`)).body).toBe(null)
    }
  })

  it('appear only while their conversation is public', async () => {
    await store.createConversation({ id: 'switched' })
    await store.append('switched', [message('one', timeAt(1))], { mode: 'import', expected: 'none' })
    for (const shared of [true, false, true]) {
      await store.updateConversation('switched', { public: shared })
      expect(idsOf(await search({ conversation_id: 'switched' }))).toEqual(shared ? ['one'] : [])
    }
  })

  it.each([SEARCH, COUNT, BATCH, `${BATCH}/ID/one`, '/api/shared-conversations'])(
    'cause the same store calls for a private and an unknown conversation: %s',
    async (path) => {
      const uuid = crypto.randomUUID()
      await store.createConversation({ id: uuid })
      await store.append(uuid, LOG, { mode: 'import', expected: 'none' })
      const ask = async (id: string): Promise<unknown> => {
        calls.length = 0
        const query: Query = path === '/api/shared-conversations' ? { ids: id } : { conversation_id: id }
        const more: Query = path === BATCH ? { id: 'one' } : {}
        const { status, body } = await client.get(
          path.replace('ID', id),
          path.includes('ID') ? {} : { ...query, ...more },
        )
        return { status, body, calls: [...calls] }
      }
      expect(await ask('private')).toEqual(await ask('unknown'))
      expect(await ask(uuid)).toEqual(await ask(crypto.randomUUID()))
      expect(new Set(calls)).toEqual(new Set(['getConversation']))
      await store.deleteConversation(uuid)
    },
  )
})

/** The smallest event of a kind, with its own id. */
function sampleOf(kind: (typeof EVENT_KINDS)[number]): Event {
  const tool = { tool_name: 't', tool_call_id: 'c' }
  const text = { text: 'x' }
  const more: Partial<Record<typeof kind, object>> = {
    ServerErrorEvent: { source: 'environment', code: 'c', detail: 'd' },
    ACPToolCallEvent: { tool_call_id: 'c', title: 't' },
    Condensation: { llm_response_id: 'r' },
    CondensationSummaryEvent: { summary: 's' },
    ConversationErrorEvent: { source: 'environment', code: 'c', detail: 'd' },
    HookExecutionEvent: { hook_event_type: 'Stop', hook_command: 'c', success: true, exit_code: 0 },
    LLMCompletionLogEvent: { filename: 'f', log_data: '{}' },
    ActionEvent: {
      ...tool,
      thought: [],
      tool_call: { id: 'c', name: 't', arguments: '{}', origin: 'completion' },
      llm_response_id: 'r',
    },
    MessageEvent: { source: 'user', llm_message: { role: 'user', content: [text] } },
    AgentErrorEvent: { ...tool, error: 'e' },
    ObservationEvent: {
      ...tool,
      observation: { kind: 'OwnObservation', content: [] },
      action_id: 'of-ActionEvent',
    },
    UserRejectObservation: { ...tool, action_id: 'of-ActionEvent' },
    SystemPromptEvent: { system_prompt: text, tools: [] },
    TokenEvent: { source: 'agent', prompt_token_ids: [1], response_token_ids: [2] },
  }
  return { kind, id: `of-${kind}`, timestamp: timeAt(1), ...more[kind] } as Event
}

it.each(Object.entries(STORES))(
  'over %s, large events are split into pages, and a batch of all of them gets 413',
  async (_, open) => {
    const client = await clientOver(open())
    const { store } = client.engine
    await store.createConversation({ id: 'large', public: true })
    const ids = Array.from({ length: 12 }, (__, n) => `m${n}`)
    for (const id of ids) await store.append('large', [message(id, timeAt(0), 'x'.repeat(1_500_000))])
    const seen: (string | undefined)[] = []
    let pages = 0
    let cursor: string | null = null
    do {
      const query: Query = { conversation_id: 'large', ...(cursor !== null && { page_id: cursor }) }
      const { body } = await client.get<Page>(SEARCH, query)
      expect(JSON.stringify(body).length).toBeLessThan(10 * 2 ** 20)
      seen.push(...body.items.map(({ id }) => id))
      pages += 1
      cursor = body.next_page_id
    } while (cursor !== null)
    expect([seen, pages]).toEqual([ids, 2])
    // Fetching all by id exceeds the size limit; parts are fine, and one event always is.
    const byIds = async (id: readonly string[]) =>
      (await client.get(BATCH, { conversation_id: 'large', id })).status
    expect([await byIds(ids), await byIds(ids.slice(0, 4)), await byIds(['m0'])]).toEqual([413, 200, 200])
    await client.engine.close()
    await store.close()
  },
)
