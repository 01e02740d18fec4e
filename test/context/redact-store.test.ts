/**
 * The redacting store fulfils the store contract, and no secret reaches the database file or the files next
 * to it.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { afterAll, describe, expect, it } from 'vitest'
import { redactingStore } from '../../src/context/redaction/store.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { hasCode } from '../../src/event/errors.ts'
import { loadLine } from '../../src/event/load.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { user } from '../build.ts'
import { agent, call } from '../conversation/agent.ts'
import { folder, opener, ROWS } from '../store/sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

const S = 'opensesame+"x'
const MASK = '[redacted]'
const RULES = redactionRules({ secrets: [S] })
/** Rules that no case of the kit matches. */
const IDLE = redactionRules({
  secrets: ['nobody would write this'],
  patterns: [/nobody would write that/],
  key: 'k',
})

describe('a redacting SQLite store whose rules match nothing', () => {
  const { open, reopen } = opener('node:sqlite', FILES)
  const inner = new Map<Store, Store>()
  const wrapped = async (store: Promise<Store>): Promise<Store> => {
    const outer = redactingStore(await store, IDLE)
    inner.set(outer, await store)
    return outer
  }
  const cases = storeConformance({
    name: 'redacting SQLite',
    rows: ROWS,
    open: () => wrapped(open()),
    reopen: (store) => wrapped(reopen(inner.get(store) as Store)),
  })
  it('runs the conformance kit including the reopen cases', () =>
    expect(cases.some(({ name }) => name.startsWith('reopen'))).toBe(true))
  for (const { name, run } of cases) it(name, run)
})

const message = (id: string, text: string): Event => user(id, text, { timestamp: '2026-01-01T00:00:00Z' })

/** The secret in every detected encoding. */
const ENCODED = [
  S,
  JSON.stringify({ a: JSON.stringify([S]) }),
  encodeURIComponent(S),
  Buffer.from(`ab${S}`).toString('base64'),
]
/** A unique part of each. */
const TRACES = ['opensesame', Buffer.from('xxopensesame').toString('base64').slice(3, 15)]

const FACTS: readonly Fact[] = [
  ...ENCODED.map((text, i) => message(`m${i}`, text)),
  {
    ...call('a1'),
    tool_call: {
      id: 'call-a1',
      name: 'terminal',
      arguments: JSON.stringify({ command: `login ${S}` }),
      origin: 'completion',
    },
  },
  { kind: 'ConversationStateUpdateEvent', id: 'k', key: 'agent_state', value: { [S]: [S] } },
]
const LINES = [
  `{"kind":"FutureEvent","id":"q1","note":${JSON.stringify(S)}}`,
  `{"kind":"PauseEvent",${JSON.stringify(S)}`,
]

async function fill(store: Store): Promise<void> {
  await store.createConversation({
    id: 'c',
    title: `On ${S}`,
    tags: { password: 'x', note: S },
    metadata: { deep: [S], [S]: 1 },
  })
  await store.append('c', FACTS)
  await store.append(
    'c',
    LINES.map((line) => loadLine(line).fact),
    { mode: 'import' },
  )
  await store.updateConversation('c', { title: S, metadata: { b: S } })
}

describe('data in a redacting store', () => {
  it('contains no secret in the SQLite file or the files next to it', async () => {
    const file = FILES.next()
    const bytes = (): string =>
      readdirSync(FILES.path)
        .filter((name) => join(FILES.path, name).startsWith(file))
        .map((name) => readFileSync(join(FILES.path, name)).toString('latin1'))
        .join('\n')
    const inner = sqliteStore({ file })
    const store = redactingStore(inner, RULES)
    await fill(store)
    const engine = createEngine({ store })
    await (await engine.open('c')).append(message('late', S))
    // The write-ahead log exists while the store is open.
    expect(readdirSync(FILES.path).some((name) => name.endsWith('-wal'))).toBe(true)
    const open = bytes()
    await engine.close()
    await store.close()
    for (const text of [open, bytes()]) {
      expect(text).toContain(MASK)
      for (const trace of TRACES) expect(text).not.toContain(trace)
    }
    // Without the rules the traces are found.
    const bare = sqliteStore({ file: `${file}.bare` })
    await fill(bare)
    await bare.close()
    for (const trace of TRACES) expect(readFileSync(`${file}.bare`).toString('latin1')).toContain(trace)
  })

  it('is redacted when it is read, including quarantined lines', async () => {
    const store = redactingStore(memoryStore(), RULES)
    await fill(store)
    const read = await store.read('c')
    expect(read.length).toBe(FACTS.length + LINES.length)
    expect(JSON.stringify(read.map(({ fact }) => fact))).not.toContain('opensesame')
    expect(read.slice(-2).map(({ fact }) => ('raw' in fact ? fact.raw : null))).toEqual([
      `{"kind":"FutureEvent","id":"q1","note":"${MASK}"}`,
      `{"kind":"PauseEvent","${MASK}"`,
    ])
    await store.close()
  })

  it('fits the limits of titles and tags after masking, and keeps tag names distinct', async () => {
    const store = redactingStore(memoryStore(), RULES)
    const title = async (id: string, text: string): Promise<string | null> =>
      (await store.createConversation({ id, title: text })).title
    const s = 'opensesame+"x'
    expect(await title('a', `${'t'.repeat(199 - s.length)}${s}`)).toBe(`${'t'.repeat(199 - s.length)}${MASK}`)
    const keyed = redactingStore(memoryStore(), redactionRules({ secrets: [S], key: 'k' }))
    for (const [length, cut] of [
      [186, false],
      [187, true],
      [200, true],
    ] as const) {
      const text = `${s}${'t'.repeat(length - s.length)}`
      const { title: stored = '' } = await keyed.createConversation({ id: `n${length}`, title: text })
      expect([stored?.startsWith('[redacted:'), stored?.endsWith('…'), [...(stored ?? '')].length]).toEqual([
        true,
        cut,
        cut ? 200 : length + 14,
      ])
    }
    await expect(title('b', `${s}${'t'.repeat(201 - s.length)}`)).resolves.toBe(
      `${MASK}${'t'.repeat(201 - s.length)}`,
    )
    await expect(store.createConversation({ id: 'd', title: 't'.repeat(201) })).rejects.toThrow('title')
    const { tags } = await keyed.createConversation({
      id: 't',
      tags: { a: `${s}${'t'.repeat(256 - s.length)}`, apikey: 'k' },
    })
    expect([tags['a']?.length, tags['a']?.endsWith('…')]).toEqual([256, true])
    expect(tags['apikey']).toMatch(/^\[redacted:\w{16}\]$/)
    const named = redactingStore(memoryStore(), redactionRules({ secrets: ['topsecret1', 'topsecret2'] }))
    const record = await named.createConversation({ id: 'u', tags: { topsecret1: 'x', topsecret2: 'y' } })
    expect(record.tags).toEqual({ redacted: 'x', redacted2: 'y' })
    const apart = redactingStore(store, redactionRules({ secrets: ['hunter22', 'hunter33'], key: 'k' }))
    const t = 't'.repeat(92)
    const long = await apart.createConversation({
      id: 'w',
      tags: { [`${t}hunter22`]: 'x', [`${t}hunter33`]: 'y' },
    })
    expect(long.tags).toEqual({ [`${t}redacted`]: 'x', [`${t}redacte0`]: 'y' })
    for (const one of [store, keyed, named]) await one.close()
  })
})

const ids = async (from: Store) => (await from.read('c')).map(({ id, parentId }) => [id, parentId])

describe.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore({ file: FILES.next(), synchronous: 'normal' })],
] as const)('a redacting %s store whose rules match', (_, make) => {
  it('accepts a repeated append, and rejects the same id with another body', async () => {
    const store = redactingStore(make(), redactionRules({ secrets: [S], key: 'k' }))
    await store.createConversation({ id: 'c' })
    const first = await store.append('c', FACTS)
    const again = await store.append('c', FACTS, { expected: 0 })
    expect(again.version).toBe(first.version)
    expect(again.events).toEqual(first.events)
    await expect(store.append('c', [message('m0', `${S} else`)])).rejects.toSatisfy((error) =>
      hasCode(error, 'id_conflict'),
    )
    await store.close()
  })

  it('derives the same ids in an import as without redaction, and accepts it twice', async () => {
    const { id: _id, ...nameless } = message('', S)
    const lines = LINES.map((line) => loadLine(line).fact)
    const plain = make()
    const store = redactingStore(make(), RULES)
    const facts: Fact[] = [{ kind: 'PauseEvent' }, nameless, ...lines]
    for (const each of [plain, store]) {
      await each.createConversation({ id: 'c' })
      await each.append('c', facts, { mode: 'import', expected: 'none' })
      await each.append('c', facts.slice(1), { mode: 'import', expected: 1 })
    }
    expect(await ids(store)).toEqual(await ids(plain))
    await store.append('c', facts, { mode: 'import' })
    for (const each of [plain, store]) await each.close()
  })

  it('a conversation runs on the redacted log, and its snapshots contain no secret', async () => {
    const saved: Uint8Array[] = []
    const inner = make()
    const store: Store = {
      ...redactingStore(inner, RULES),
      saveSnapshot: async (id, parts, options) => {
        for (const { bytes } of parts) saved.push(bytes)
        await inner.saveSnapshot(id, parts, options)
      },
    }
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    await conversation.append([{ kind: 'SystemPromptEvent', id: 's', system_prompt: { text: S }, tools: [] }])
    await conversation.sendMessage(`use ${S}`)
    const secret = {
      ...call('b1'),
      tool_call: { ...call('b1').tool_call, arguments: JSON.stringify({ command: S }) },
    }
    const { step, sent } = agent([secret])
    const { status } = await conversation.run(step)
    expect(status).toBe('finished')
    expect(sent.join('')).not.toContain('opensesame')
    expect(sent.at(-1)).toContain(`{\\"command\\":\\"${MASK}\\"}`)
    for (let i = 0; i < 1_100; i += 1) await conversation.append(message(`n${i}`, `${i} ${S}`))
    await conversation.append(FACTS as readonly Event[])
    const state = await conversation.state()
    const stored = replay(
      (await readAll(store)).map(({ fact }) => fact),
      { conversationId: 'c' },
    )
    expect(state.header).toEqual(stored.header)
    expect(JSON.stringify(await conversation.messages())).not.toContain('opensesame')
    expect(encodeState(stored)).not.toContain('opensesame')
    await engine.close()
    expect(saved.length).toBeGreaterThan(0)
    for (const bytes of saved) expect(Buffer.from(bytes).toString('latin1')).not.toContain('opensesame')
    const other = createEngine({ store })
    const opened = await (await other.open('c')).state()
    expect([opened.header, opened.log.head?.id, opened.branch.view.length]).toEqual([
      stored.header,
      stored.log.head?.id,
      stored.branch.view.length,
    ])
    await other.close()
    await store.close()
  })
})

async function readAll(store: Store) {
  const first = await store.read('c', { limit: 1_000 })
  return [...first, ...(await store.read('c', { from: 1_000, limit: 1_000 }))]
}

describe('calls of a redacting store', () => {
  it('reject invalid arguments, and never throw synchronously', async () => {
    const store = redactingStore(memoryStore(), RULES)
    await store.createConversation({ id: 'c' })
    const circle: Record<string, unknown> = { kind: 'PauseEvent', id: 'p' }
    circle['self'] = circle
    const calls = [
      store.append('c', [circle as object as Event]),
      store.append('none', FACTS),
      store.createConversation({ id: 'c' }),
      store.createConversation(null as never),
      store.updateConversation('c', { title: 7 } as never),
      store.updateConversation('c', { tags: null, metadata: 'x' } as never),
      store.updateConversation('c', { metadata: circle as never }),
      store.updateConversation('c', { tags: { a: [circle] } as never }),
    ]
    for (const result of await Promise.allSettled(calls)) expect(result.status).toBe('rejected')
    await store.close()
  })

  it('do not change their arguments', async () => {
    const store = redactingStore(memoryStore(), RULES)
    const input = { id: 'c', title: S, tags: { a: S }, metadata: { a: [S] } }
    const text = JSON.stringify(input)
    await store.createConversation(input)
    expect(JSON.stringify(input)).toBe(text)
    const event = message('m', S)
    await store.append('c', [event])
    expect(JSON.stringify(event)).toContain('opensesame')
    await store.close()
  })

  it('mask by an expression of another realm', async () => {
    const rules = redactionRules({ patterns: [runInNewContext('/open[a-z]+/g') as RegExp] })
    const store = redactingStore(memoryStore(), rules)
    await store.createConversation({ id: 'c', title: 'an opensesame here' })
    expect((await store.getConversation('c'))?.title).toBe(`an ${MASK} here`)
    await store.close()
  })
})
