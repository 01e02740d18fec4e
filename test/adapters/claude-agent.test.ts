/**
 * The session store for the Claude Agent SDK: the SDK's conformance cases over each store, and further cases
 * for concurrency, subagents and unusual entries.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  deleteSession,
  forkSession,
  getSessionMessages,
  getSubagentMessages,
  listSessions,
  renameSession,
  type SessionStoreEntry,
} from '@anthropic-ai/claude-agent-sdk'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { conversationIdOf, sessionStore } from '../../src/adapters/claude-agent.ts'
import { usageTotals } from '../../src/context/usage.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { explain } from '../../src/explain/index.ts'
import { checkLog } from '../../src/laws/index.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { readSession } from '../../src/sessions/read.ts'
import { findEvent, pathTo } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import type { ConversationRecord } from '../../src/store/contract/conversation-record.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { opener, schemas } from '../postgres/schemas.ts'
import { askClaude } from './ask-claude.ts'

let database: PooledDatabase
let pool: pg.Pool
const SCHEMAS = schemas('claude', () => pool)
const POSTGRES = opener(SCHEMAS, () => ({ client: pool }))
const openStores: Store[] = []

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})
afterEach(async () => {
  await Promise.all(openStores.splice(0).map((store) => store.close()))
  SCHEMAS.releaseAll()
})
afterAll(() => database.drop())

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  sqlite: async () => sqliteStore({ file: ':memory:' }),
  postgres: () => POSTGRES.open(),
}

type Sessions = ReturnType<typeof sessionStore>
const KEY = { projectKey: 'project', sessionId: 'session' }
const A = { ...KEY, subpath: 'subagents/agent-a' }
const B = { ...KEY, subpath: 'subagents/agent-b' }
const OTHER = { ...KEY, sessionId: 'other' }
const ELSEWHERE = { ...KEY, projectKey: 'elsewhere' }
const entry = (type: string, fields: object = {}): SessionStoreEntry => ({ type, ...fields })

/** The cases of the SDK's public conformance suite. */
const CASES: Readonly<Record<string, (sessions: Sessions) => Promise<void>>> = {
  'returns the entries of an append in their order': async (sessions) => {
    const entries = [entry('a', { n: 1, nested: { x: [1, null, 'é'] } }), entry('b')]
    await sessions.append(KEY, entries)
    expect(await sessions.load(KEY)).toEqual(entries)
  },
  'returns null for a key without entries': async (sessions) => {
    expect([await sessions.load(KEY), await sessions.load(A)]).toEqual([null, null])
  },
  'keeps the order of appends': async (sessions) => {
    await sessions.append(KEY, [entry('a')])
    await Promise.all([sessions.append(KEY, [entry('b'), entry('c')]), sessions.append(KEY, [entry('d')])])
    expect(await sessions.load(KEY)).toEqual(['a', 'b', 'c', 'd'].map((type) => entry(type)))
  },
  'appends nothing for an empty list': async (sessions) => {
    await sessions.append(KEY, [])
    expect(await sessions.load(KEY)).toBe(null)
    await sessions.append(KEY, [entry('a')])
    await sessions.append(KEY, [])
    expect(await sessions.load(KEY)).toEqual([entry('a')])
  },
  'separates a subpath from the main transcript': async (sessions) => {
    await sessions.append(KEY, [entry('main')])
    await sessions.append(A, [entry('sub')])
    expect([await sessions.load(KEY), await sessions.load(A)]).toEqual([[entry('main')], [entry('sub')]])
  },
  'separates projects': async (sessions) => {
    await sessions.append(KEY, [entry('a')])
    await sessions.append(ELSEWHERE, [entry('b')])
    expect([await sessions.load(KEY), await sessions.load(ELSEWHERE)]).toEqual([[entry('a')], [entry('b')]])
  },
  'lists the sessions of a project': async (sessions) => {
    for (const key of [KEY, OTHER, ELSEWHERE]) await sessions.append(key, [entry('a')])
    const listed = await sessions.listSessions('project')
    expect(listed.map(({ sessionId }) => sessionId).toSorted()).toEqual(['other', 'session'])
    for (const { mtime } of listed) expect(mtime).toSatisfy(Number.isInteger)
    for (const { mtime } of listed) expect(Math.abs(mtime - Date.now())).toBeLessThan(600_000)
    expect(await sessions.listSessions('unknown')).toEqual([])
  },
  'does not list a subagent as a session': async (sessions) => {
    await sessions.append(A, [entry('sub')])
    expect(await sessions.listSessions('project')).toEqual([])
  },
  'deletes a session, and ignores one that does not exist': async (sessions) => {
    await sessions.append(KEY, [entry('a')])
    await sessions.delete(KEY)
    await sessions.delete(OTHER)
    expect(await sessions.load(KEY)).toBe(null)
  },
  'deletes the subagents of a session, and no other session': async (sessions) => {
    for (const key of [KEY, A, B, OTHER, ELSEWHERE]) await sessions.append(key, [entry('a')])
    await sessions.delete(KEY)
    const loaded = await Promise.all([KEY, A, B, OTHER, ELSEWHERE].map((key) => sessions.load(key)))
    expect(loaded).toEqual([null, null, null, [entry('a')], [entry('a')]])
    expect(await sessions.listSubkeys(KEY)).toEqual([])
  },
  'deletes a single subagent': async (sessions) => {
    for (const key of [KEY, A, B]) await sessions.append(key, [entry('a')])
    await sessions.delete(A)
    const loaded = await Promise.all([KEY, A, B].map((key) => sessions.load(key)))
    expect(loaded).toEqual([[entry('a')], null, [entry('a')]])
  },
  'lists the subpaths of a session': async (sessions) => {
    for (const key of [A, B, { ...OTHER, subpath: 'subagents/agent-c' }])
      await sessions.append(key, [entry('a')])
    expect((await sessions.listSubkeys(KEY)).toSorted()).toEqual([A.subpath, B.subpath])
  },
  'does not list the main transcript as a subpath': async (sessions) => {
    await sessions.append(KEY, [entry('main')])
    expect([await sessions.listSubkeys(KEY), await sessions.listSubkeys(OTHER)]).toEqual([[], []])
  },
}

/** Opens a store that the test closes. */
async function open(name: keyof typeof STORES = 'memory'): Promise<Store> {
  const store = (await STORES[name]?.()) as Store
  openStores.push(store)
  return store
}

for (const name of Object.keys(STORES))
  describe(`the Claude session store over ${name}`, () => {
    for (const [title, check] of Object.entries(CASES))
      it(title, async () => check(sessionStore({ store: await open(name) })))

    it('stores each uuid once if two processes append the same entries concurrently', async () => {
      const store = await open(name)
      const both = [sessionStore({ store }), sessionStore({ store })]
      const uuids = Array.from({ length: 12 }, (_, index) => `u${index}`)
      await Promise.all(uuids.flatMap((uuid) => both.map((one) => one.append(KEY, [prompt(uuid)]))))
      const loaded = (await both[0]?.load(KEY)) ?? []
      expect(loaded.map(({ uuid }) => uuid).toSorted()).toEqual(uuids.toSorted())
      expect(await both[1]?.load(KEY)).toEqual(loaded)
      expect(await lawsOf(store)).toEqual([])
    })

    it('returns unusual text, deep nesting and `__proto__` unchanged', async () => {
      const store = await open(name)
      const sessions = sessionStore({ store })
      const deep = JSON.parse(`${'{"a":['.repeat(1_000)}1${']}'.repeat(1_000)}`) as object
      const entries = [
        prompt('u1', 'NUL \u0000, half a character \ud800, and a line\nbreak'),
        { ...prompt('u2'), deep },
        { ...prompt('u3'), message: deep },
        { ...prompt('x'.repeat(1_000)), big: 'y'.repeat(300_000) },
        { ...prompt(''), number: 1e308, negative: -0.5 },
        JSON.parse('{"type":"user","uuid":"u4","__proto__":{"a":1},"constructor":null}') as SessionStoreEntry,
      ]
      const key = { projectKey: '/\u0000 ü', sessionId: '../..', subpath: 'a/\ud800/b' }
      for (const each of [KEY, key]) {
        await sessions.append(each, entries)
        expect(await sessionStore({ store }).load(each)).toEqual(entries)
      }
      expect(await sessions.listSubkeys(key)).toEqual([key.subpath])
      expect(await lawsOf(store)).toEqual([])
    })

    it('updates summaries with the entries of every process', async () => {
      const store = await open(name)
      const [one, other] = [sessionStore({ store }), sessionStore({ store })]
      await one.append(KEY, [prompt('u1', 'First words')])
      expect(await other.listSessionSummaries('project')).toMatchObject([
        { sessionId: 'session', data: { firstPrompt: 'First words' } },
      ])
      await other.append(KEY, [entry('custom-title', { customTitle: 'Trees' }), prompt('u2', 'Last words')])
      const [summary] = await one.listSessionSummaries('project')
      expect(summary).toMatchObject({ data: { firstPrompt: 'First words', customTitle: 'Trees' } })
      expect(summary?.mtime).toBe((await one.listSessions('project'))[0]?.mtime)
      await one.delete(KEY)
      await one.append(KEY, [prompt('u3', 'Other words')])
      expect(await one.listSessionSummaries('project')).toMatchObject([
        { data: { firstPrompt: 'Other words' } },
      ])
    })
  })

const prompt = (uuid: string, text = uuid, parentUuid: string | null = null): SessionStoreEntry =>
  entry('user', {
    uuid,
    parentUuid,
    sessionId: 'session',
    timestamp: '2026-01-01T00:00:00.000Z',
    message: { role: 'user', content: text },
  })

const part = (
  uuid: string,
  parentUuid: string,
  id: string,
  content: object,
  stop: string | null,
): SessionStoreEntry =>
  entry('assistant', {
    uuid,
    parentUuid,
    sessionId: 'session',
    timestamp: '2026-01-01T00:00:01.000Z',
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [content],
      stop_reason: stop,
      usage: { input_tokens: 7, output_tokens: 3 },
    },
  })

const use = (id: string) => ({ type: 'tool_use', id, name: 'Read', input: { file: id } })
const result = (uuid: string, parentUuid: string, id: string): SessionStoreEntry =>
  prompt(uuid, [{ type: 'tool_result', tool_use_id: id, content: `${id} read` }] as never, parentUuid)

const factsOf = async (store: Store, key = KEY) =>
  (await store.read(conversationIdOf(key), { limit: 100_000 })).map(({ fact }) => fact)

const lawsOf = async (store: Store) => checkLog(await factsOf(store)).map(({ law }) => law)

const requestText = async (store: Store): Promise<string> =>
  JSON.stringify(toAnthropic(toMessages(replay(await factsOf(store)))).messages)

const resultOf = (agentId: string): SessionStoreEntry => ({
  ...result(`r-${agentId}`, 'a1', `t-${agentId}`),
  toolUseResult: { agentId },
})

const task = (id: string) => ({ type: 'tool_use', id, name: 'Task', input: { prompt: `task ${id}` } })

describe('the Claude session store', () => {
  it('links a subagent with its call in either order of appends', async () => {
    const store = await open()
    const sessions = sessionStore({ store })
    await sessions.append(KEY, [prompt('u1'), part('a1', 'u1', 'm1', use('t-a'), 'tool_use')])
    await sessions.append(KEY, [part('a2', 'a1', 'm1', use('t-b'), 'tool_use'), resultOf('b')])
    expect([await sessions.load(B), await sessions.listSubkeys(KEY)]).toEqual([null, []])
    await sessions.append(A, [{ ...prompt('s1'), isSidechain: true, agentId: 'a' }])
    await sessions.append(B, [{ ...prompt('s2'), isSidechain: true, agentId: 'b' }])
    await sessions.append(KEY, [resultOf('a')])
    const records = await Promise.all([A, B].map((key) => store.getConversation(conversationIdOf(key))))
    expect(records.map((record) => openerOf(record ?? undefined))).toEqual(['a1', 'a2'])
    const results = (await factsOf(store)).filter((fact) => 'observation' in fact)
    expect(results.map((fact) => 'observation' in fact && fact.observation['conversation_id'])).toEqual(
      [B, A].map((key) => conversationIdOf(key)),
    )
    expect(await lawsOf(store)).toEqual([])
  })

  it('stores the side chains of older versions as children that are linked to their calls', async () => {
    const side = (uuid: string, parentUuid: string | null, content: string): SessionStoreEntry => ({
      ...prompt(uuid, content, parentUuid ?? undefined),
      isSidechain: true,
    })
    const lines = [
      prompt('u1'),
      part('a1', 'u1', 'm1', task('t1'), 'tool_use'),
      part('a2', 'a1', 'm1', task('t2'), 'tool_use'),
      side('x1', null, 'task t1'),
      side('y1', null, 'task t2'),
      { ...part('x2', 'x1', 'sx', { type: 'text', text: 'Found.' }, 'end_turn'), isSidechain: true },
      result('r1', 'a1', 't1'),
    ]
    const children = fc.array(fc.nat({ max: lines.length }), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(children, fc.boolean(), async (cuts, isOneProcess) => {
        const store = memoryStore()
        const processes = [sessionStore({ store }), sessionStore({ store })]
        const ends = [...cuts, lines.length].toSorted((a, b) => a - b)
        for (const [index, end] of ends.entries())
          await processes[isOneProcess ? 0 : index % 2]?.append(KEY, lines.slice(ends[index - 1] ?? 0, end))
        const engine = createEngine({ store })
        const tree = await (await engine.open(conversationIdOf(KEY))).tree()
        expect(
          tree.children
            .map(({ actionId, state }) => [actionId, toMessages(state).map(({ role }) => role)])
            .toSorted(),
        ).toEqual([
          ['a1', ['user', 'assistant']],
          ['a2', ['user']],
        ])
        const results = (await factsOf(store)).filter((fact) => 'observation' in fact)
        expect(results.map((fact) => 'observation' in fact && fact.observation['conversation_id'])).toEqual([
          tree.children.find(({ actionId }) => actionId === 'a1')?.id,
        ])
        expect(await processes[0]?.load(KEY)).toEqual(lines)
        expect(await processes[0]?.listSubkeys(KEY)).toEqual([])
        await processes[0]?.delete(KEY)
        expect((await store.listConversations()).items).toEqual([])
        await engine.close()
      }),
      { numRuns: 40 },
    )
  })

  it('stores a side chain and link that are missing after a crash with the next append', async () => {
    const store = memoryStore()
    const side = { ...prompt('x1', 'task'), isSidechain: true }
    const crashing = {
      ...store,
      append: (id: string, ...rest: [never]) =>
        id === conversationIdOf(KEY)
          ? store.append(id, ...rest)
          : Promise.reject(new Error('the process ends')),
    } as Store
    const use = { type: 'tool_use', id: 't1', name: 'Task', input: { prompt: 'task' } }
    const lines = [prompt('u1'), part('a1', 'u1', 'm1', use, 'tool_use'), side]
    await expect(sessionStore({ store: crashing }).append(KEY, lines)).rejects.toThrow('ends')
    await sessionStore({ store }).append(KEY, [prompt('u2', 'more', 'u1')])
    const children = await store.listConversations({ parentConversationId: conversationIdOf(KEY) })
    expect(children.items.map((child) => [child.version, openerOf(child)])).toEqual([[1, 'a1']])
  })

  it('ignores a repeated uuid, and stores every entry without a uuid', async () => {
    const sessions = sessionStore({ store: await open() })
    const title = entry('custom-title', { customTitle: 'Trees' })
    await sessions.append(KEY, [prompt('u1'), title, title])
    await sessions.append(KEY, [prompt('u1', 'other words'), title])
    expect(await sessions.load(KEY)).toEqual([prompt('u1'), title, title, title])
  })

  it('returns arbitrary entries unchanged, and its log obeys the laws', async () => {
    const uuid = fc.option(fc.oneof(fc.constantFrom('u1', 'u2', 'u3'), fc.string({ unit: 'binary' })), {
      nil: undefined,
    })
    const block = fc.oneof(
      fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) }),
      fc.record({
        type: fc.constant('tool_use'),
        id: fc.constantFrom('t1', 't2'),
        name: fc.string(),
        input: fc.dictionary(fc.string(), fc.jsonValue()),
      }),
      fc.record({
        type: fc.constant('tool_result'),
        tool_use_id: fc.constantFrom('t1', 't2', 't3'),
        content: fc.string(),
      }),
      fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.string() }),
      fc.jsonValue(),
    )
    const any = fc.record(
      {
        type: fc.constantFrom('user', 'assistant', 'system', 'summary', 'attachment', 'progress', 'new'),
        uuid,
        parentUuid: fc.constantFrom('u1', 'u2', 'none', null),
        isSidechain: fc.boolean(),
        message: fc.record({
          id: fc.constantFrom('m1', 'm2'),
          content: fc.oneof(fc.string(), fc.array(block, { maxLength: 3 })),
          stop_reason: fc.constantFrom('tool_use', 'end_turn', null),
        }),
        __proto__: fc.jsonValue(),
        more: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    ) as fc.Arbitrary<SessionStoreEntry>
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(any, { maxLength: 4 }), { maxLength: 6 }), async (batches) => {
        const store = memoryStore()
        const sessions = [sessionStore({ store }), sessionStore({ store })]
        for (const [index, batch] of batches.entries()) await sessions[index % 2]?.append(KEY, batch)
        const uuids = new Set<unknown>()
        const entries = batches.flat().filter(({ uuid: name }) => {
          if (name === undefined) return true
          if (uuids.has(name)) return false
          uuids.add(name)
          return true
        })
        const expected = JSON.parse(JSON.stringify(entries)) as unknown
        if (entries.length === 0) expect(await sessions[0]?.load(KEY)).toBe(null)
        else expect(await sessions[0]?.load(KEY)).toEqual(expected)
        if (entries.length > 0)
          expect((await lawsOf(store)).filter((law) => !OF_THE_CALLER.has(law))).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('adds messages, calls and results to the conversation with each entry', async () => {
    const store = await open('sqlite')
    const sessions = sessionStore({ store })
    const engine = createEngine({ store })
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'signed' }
    const lines: readonly (readonly [SessionStoreEntry, readonly string[]])[] = [
      [prompt('u1', 'Read two files.'), ['MessageEvent']],
      [part('a1', 'u1', 'm1', thinking, 'tool_use'), []],
      [part('a2', 'a1', 'm1', { type: 'text', text: 'I read.' }, 'tool_use'), []],
      [part('a3', 'a2', 'm1', use('t1'), 'tool_use'), ['ActionEvent']],
      [part('a4', 'a3', 'm1', use('t2'), 'tool_use'), ['ActionEvent']],
      [result('r1', 'a3', 't1'), ['ObservationEvent']],
      [result('r2', 'a4', 't2'), ['ObservationEvent']],
      [part('b1', 'r2', 'm2', { type: 'text', text: 'Both are read.' }, 'end_turn'), ['MessageEvent']],
    ]
    const kinds: string[] = []
    for (const [line, added] of lines) {
      await sessions.append(KEY, [line])
      kinds.push(...added)
      const conversation = await engine.open(conversationIdOf(KEY))
      expect(pathTo(await conversation.state()).map(({ event }) => event?.kind)).toEqual(kinds)
    }
    expect(await lawsOf(store)).toEqual([])
    const state = replay(await factsOf(store))
    const whole = lines.map(([line], index) => ({ line: index + 1, raw: '', value: line as never }))
    const recorded = replay(readSession(whole, { from: 'claude-code' }).facts.map(({ fact }) => fact))
    expect(toMessages(state)).toEqual(toMessages(recorded))
    expect(usageTotals(state)).toEqual(usageTotals(recorded))
    expect(explain(state, 'a3')).toMatchObject({ id: 'a3' })
    await engine.close()
  })

  it('loads a message that was appended after an earlier reply as the last line', async () => {
    const store = await open()
    const sessions = sessionStore({ store })
    const engine = createEngine({ store })
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'signed' }
    await sessions.append(KEY, [
      prompt('u1', 'One'),
      part('a1', 'u1', 'm1', thinking, 'end_turn'),
      part('a2', 'a1', 'm1', { type: 'text', text: 'First.' }, 'end_turn'),
      prompt('u2', 'Two', 'a2'),
      part('b1', 'u2', 'm2', { type: 'text', text: 'Second.' }, 'end_turn'),
    ])
    const conversation = await engine.open(conversationIdOf(KEY))
    await conversation.navigate('a1')
    await conversation.sendMessage('Another two')
    const loaded = (await sessions.load(KEY)) ?? []
    expect(loaded.slice(5)).toMatchObject([{ type: 'user', parentUuid: 'a2' }])
    // The session continues after its own last line. The message stays on a branch.
    await sessions.append(KEY, [prompt('u3', 'Three', 'b1')])
    expect((await conversation.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ])
    expect(await sessions.load(KEY)).toEqual([...loaded.slice(0, 5), prompt('u3', 'Three', 'b1')])
    expect(await lawsOf(store)).toEqual([])
    await engine.close()
  })

  it('merges the entries of a reply if a call has its result before the next call', async () => {
    const store = await open()
    const sessions = sessionStore({ store })
    for (const line of [
      prompt('u1', 'Read.'),
      part('a1', 'u1', 'm1', use('t1'), 'tool_use'),
      result('r1', 'a1', 't1'),
      part('a2', 'r1', 'm1', use('t2'), 'tool_use'),
      result('r2', 'a2', 't2'),
    ])
      await sessions.append(KEY, [line])
    expect(await lawsOf(store)).toEqual([])
    expect(await requestText(store)).toMatch(/t1.*t1 read.*t2.*t2 read/)
  })
})

/** Laws that the entries break themselves: calls without results, and results without calls. */
const OF_THE_CALLER: ReadonlySet<string> = new Set(['P1', 'P2', 'P4', 'P8'])

/** The action that started a subagent. */
function openerOf(record: ConversationRecord | undefined): unknown {
  return (record?.metadata['subagent'] as { action_id?: string } | undefined)?.action_id
}

describe('the Claude Agent SDK with the session store', () => {
  const folder = mkdtempSync(join(tmpdir(), 'claude-agent-'))
  vi.stubEnv('CLAUDE_CONFIG_DIR', folder)
  afterAll(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true })
  })

  const ask = (text: string, sessions: Sessions, resume?: string) =>
    askClaude(text, { sessions, folder, ...(resume !== undefined && { resume }) })

  it('can run, resume, list, rename, fork and delete a session', async () => {
    const store = await open('sqlite')
    const sessions = sessionStore({ store })
    const options = { dir: folder, sessionStore: sessions }
    const { id, result } = await ask('Ask a subagent.', sessions)
    expect(result).toBe('I began with 0 lines.')
    expect((await ask('Go on.', sessions, id)).result).toBe('I began with 5 lines.')
    expect((await getSessionMessages(id, options)).length).toBe(10)
    expect((await getSubagentMessages(id, 'a1', options)).length).toBe(2)
    await renameSession(id, 'Trees', options)
    expect(await listSessions(options)).toMatchObject([{ sessionId: id, customTitle: 'Trees' }])
    const fork = await forkSession(id, options)
    expect((await ask('And now?', sessions, fork.sessionId)).result).toMatch(/^I began with 1\d lines/)

    const engine = createEngine({ store })
    const records = (await store.listConversations()).items.filter(({ title }) => title === 'Trees')
    const conversation = await engine.open(records[0]?.id ?? '')
    expect((await conversation.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    const [child] = await conversation.children()
    const opener = await conversation.read((state) => findEvent(state, String(openerOf(child))))
    expect(opener?.event).toMatchObject({ kind: 'ActionEvent', tool_name: 'Read' })
    expect((await (await engine.open(child?.id ?? '')).messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
    ])
    await deleteSession(id, options)
    await deleteSession(fork.sessionId, options)
    expect([await listSessions(options), (await store.listConversations()).items]).toEqual([[], []])
    await engine.close()
  })
})
