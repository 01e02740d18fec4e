/**
 * A session of the OpenAI Agents SDK over a conversation: the cases of the SDK's own tests, branches, and
 * events of others.
 */

import { Agent, type AgentInputItem, type Model, Runner, tool, Usage } from '@openai/agents-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { colloquySession, type ColloquySession } from '../../src/adapters/openai-agents.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { listBranches, pathTo } from '../../src/state/read.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkLog } from '../../src/laws/index.ts'
import { evictBodies } from '../conversation/script.ts'
import { everyStore } from './stores.ts'

const user = (content: string): AgentInputItem => ({ role: 'user', content })
const reply = (text: string): AgentInputItem => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})
const call = (callId: string, args = '{"city":"Rome"}'): AgentInputItem => ({
  type: 'function_call',
  callId,
  name: 'weather',
  arguments: args,
  status: 'completed',
})
const result = (callId: string, text = 'sunny'): AgentInputItem => ({
  type: 'function_call_result',
  callId,
  name: 'weather',
  status: 'completed',
  output: { type: 'text', text },
})
const photo = (data: Uint8Array) =>
  ({ ...result('c1'), output: { type: 'image', image: { data } } }) as AgentInputItem
const reasoning = (id: string): AgentInputItem => ({
  type: 'reasoning',
  id,
  content: [{ type: 'input_text', text: 'Think.' }],
  providerData: { encrypted_content: `sealed ${id}` },
})

async function open(): Promise<{ conversation: Conversation; session: ColloquySession }> {
  const conversation = await createEngine({ store: memoryStore() }).create()
  return { conversation, session: colloquySession({ conversation }) }
}

/** Items that a run may add, ordinary and odd ones. */
const anyItem: fc.Arbitrary<AgentInputItem> = fc.oneof(
  fc.string().map(user),
  fc.string().map(reply),
  fc.constantFrom('c1', 'c2').map((id) => call(id)),
  fc.constant(call('c3', 'no JSON')),
  fc.constantFrom('c1', 'c2', 'c3', 'unknown').map((id) => result(id)),
  fc.constantFrom('r1', 'r2').map(reasoning),
  fc.constant<AgentInputItem>({ role: 'system', content: 'Be brief.' }),
  fc.constant<AgentInputItem>({ type: 'compaction', id: 'k', encrypted_content: 'sealed' }),
  fc.constant<AgentInputItem>({ type: 'hosted_tool_call', name: 'web_search', id: 'w', status: 'completed' }),
  fc.constant<AgentInputItem>({ type: 'unknown', providerData: { a: [1, null] } }),
  fc.constant<AgentInputItem>({
    type: 'function_call_result',
    callId: 'c1',
    name: 'photo',
    status: 'completed',
    output: { type: 'image', image: { data: new Uint8Array([1, 2, 3]), mediaType: 'image/png' } },
  }),
)

/** A change of a session, and its effect on a plain list. */
const anyChange = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(anyItem, { maxLength: 5 }).map((items) => ({ type: 'add', items }) as const),
  },
  { weight: 2, arbitrary: fc.constant({ type: 'pop' } as const) },
  { weight: 1, arbitrary: fc.constant({ type: 'clear' } as const) },
  {
    weight: 1,
    arbitrary: fc.array(anyItem, { maxLength: 3 }).map((items) => ({ type: 'compact', items }) as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ count: fc.nat(4), items: fc.array(anyItem, { maxLength: 3 }) })
      .map((suffix) => ({ type: 'suffix', ...suffix }) as const),
  },
)

/** Laws that the items break themselves: calls without results, and results without calls. */
const OF_THE_CALLER: ReadonlySet<string> = new Set(['P1', 'P2', 'P8'])

/** The cases of the SDK's own session tests. */
const CASES: Readonly<Record<string, (session: ColloquySession) => Promise<void>>> = {
  'adds, limits, pops and clears items': async (session) => {
    expect(await session.getItems()).toEqual([])
    await session.addItems([user('a')])
    await session.addItems([user('b'), user('c')])
    await session.addItems([])
    expect(await session.getItems()).toEqual([user('a'), user('b'), user('c')])
    expect(await session.getItems(2)).toEqual([user('b'), user('c')])
    expect(await session.getItems(0)).toEqual([])
    expect(await session.popItem()).toEqual(user('c'))
    await session.clearSession()
    expect([await session.getItems(), await session.getItems(3), await session.popItem()]).toEqual([
      [],
      [],
      undefined,
    ])
  },
  'copies items that it stores and returns': async (session) => {
    const item = { role: 'user' as const, content: 'a' }
    await session.addItems([item])
    item.content = 'changed'
    const [read] = (await session.getItems()) as { content: string }[]
    if (read !== undefined) read.content = 'changed'
    expect(await session.getItems()).toEqual([user('a')])
  },
  'replaces the first call of an id, and removes the others': async (session) => {
    await session.addItems([user('a'), call('c1', '{"n":1}'), call('c1', '{"n":2}'), result('c1')])
    const replacement = call('c1', '{"n":3}') as FunctionCall
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c1', replacement }],
    })
    expect(await session.getItems()).toEqual([user('a'), replacement, result('c1')])
  },
  'changes nothing if the call to replace does not exist': async (session) => {
    await session.addItems([user('a'), result('c1')])
    const replacement = call('c1') as FunctionCall
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c1', replacement }],
    })
    expect(await session.getItems()).toEqual([user('a'), result('c1')])
  },
  'applies a repeated append transaction once': async (session) => {
    const item = { role: 'user' as const, content: 'b' }
    await session.addItems([user('a')])
    await session.applyHistoryTransaction(appendTransaction('op', [item]))
    item.content = 'changed'
    await session.addItems([user('c')])
    await session.applyHistoryTransaction(appendTransaction('op', [user('b')]))
    expect(await session.getItems()).toEqual([user('a'), user('b'), user('c')])
    // The operation stays applied after its item is popped.
    await session.popItem()
    await session.popItem()
    await session.applyHistoryTransaction(appendTransaction('op', [user('b')]))
    expect(await session.getItems()).toEqual([user('a')])
  },
  'applies a repeated suffix replacement once': async (session) => {
    await session.addItems([user('a'), user('b')])
    const args = replaceTransaction('op', [user('b')], [user('c')])
    await session.applyHistoryTransaction(args)
    await session.addItems([user('d')])
    await session.applyHistoryTransaction(args)
    expect(await session.getItems()).toEqual([user('a'), user('c'), user('d')])
  },
  'rejects a suffix that does not match, and does not record the operation': async (session) => {
    await session.addItems([user('a')])
    for (const suffix of [[user('z')], [user('z'), user('a')]])
      await expect(
        session.applyHistoryTransaction(replaceTransaction('op', suffix, [])),
      ).rejects.toMatchObject({
        code: 'id_conflict',
      })
    await session.applyHistoryTransaction(replaceTransaction('op', [user('a')], [user('b')]))
    expect(await session.getItems()).toEqual([user('b')])
  },
  'rejects an operation id that was used for other items, or for none': async (session) => {
    for (const items of [[user('a')], []]) {
      const id = `op ${items.length}`
      await session.applyHistoryTransaction(appendTransaction(id, items))
      await expect(session.applyHistoryTransaction(appendTransaction(id, [user('b')]))).rejects.toMatchObject(
        {
          code: 'id_conflict',
        },
      )
    }
    expect(await session.getItems()).toEqual([user('a')])
  },
  'can apply an operation again after the session was cleared': async (session) => {
    for (let round = 0; round < 3; round += 1) {
      await session.applyHistoryTransaction(appendTransaction('op', [user('a')]))
      await session.applyHistoryTransaction(appendTransaction('op', [user('a')]))
      expect(await session.getItems()).toEqual([user('a')])
      await session.clearSession()
    }
  },
  'rejects invalid transactions with errors that contain no content': async (session) => {
    await session.addItems([user('a')])
    const withData = (providerData: unknown): AgentInputItem => Object.assign(user('b'), { providerData })
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const hidden = Object.defineProperty(user('b'), 'providerData', { enumerable: false, value: {} })
    const getter = Object.defineProperty({}, 'operationId', {
      get: () => {
        throw new Error('secret')
      },
    })
    const invalid: unknown[] = [
      appendTransaction('   ', []),
      { operationId: 'op', transaction: { type: 'unknown' } },
      { operationId: 'op', transaction: null },
      null,
      getter,
      appendTransaction('op', [42 as never]),
      appendTransaction('op', [withData(new Date(0))]),
      appendTransaction('op', [withData(cycle)]),
      appendTransaction('op', [withData(42n)]),
      appendTransaction('op', [withData(Number.NaN)]),
      appendTransaction('op', [withData(Symbol('secret'))]),
      appendTransaction('op', [withData(new Uint16Array([300]))]),
      appendTransaction('op', Object.assign([], { length: 1 })),
      appendTransaction('op', new Proxy([user('b')], {})),
      appendTransaction('op', [hidden]),
      { operationId: 'op', transaction: { type: 'append_items', items: [], metadata: {} } },
      { operationId: 'op', transaction: { type: 'append_items' } },
      { operationId: 'op', transaction: { type: 'replace_suffix', expectedSuffix: [] } },
      {
        operationId: 'op',
        transaction: { type: 'replace_suffix', expectedSuffix: [], replacement: [], a: 1 },
      },
    ]
    for (const args of invalid) {
      const error = await Promise.resolve(session.applyHistoryTransaction(args as never)).catch(
        (e: unknown) => e,
      )
      expect(error).toMatchObject({ code: 'invalid_argument' })
      expect(String(error)).not.toContain('secret')
    }
    await session.applyHistoryTransaction(appendTransaction('op', [user('b')]))
    expect(await session.getItems()).toEqual([user('a'), user('b')])
  },
  'compares bytes and objects by their content': async (session) => {
    const shared = new Uint8Array(new SharedArrayBuffer(2))
    shared.set([3, 7])
    const withBytes = (bytes: Uint8Array): AgentInputItem =>
      Object.assign(user('b'), { providerData: Object.assign(Object.create(null), { bytes }) })
    await session.applyHistoryTransaction(appendTransaction('op', [withBytes(shared)]))
    shared[0] = 9
    const same = withBytes(new Uint8Array([3, 7]))
    await session.applyHistoryTransaction(appendTransaction('op', [same]))
    expect(await session.getItems()).toEqual([
      { ...user('b'), providerData: { bytes: new Uint8Array([3, 7]) } },
    ])
    await session.applyHistoryTransaction(replaceTransaction('other', [same], [user('c')]))
    expect(await session.getItems()).toEqual([user('c')])
  },
  'reads the id of an operation once': async (session) => {
    let reads = 0
    const { transaction } = appendTransaction('', [user('a')])
    const args = { transaction, operationId: '' }
    Object.defineProperty(args, 'operationId', { enumerable: true, get: () => `op ${(reads += 1)}` })
    await session.applyHistoryTransaction(args)
    expect(reads).toBe(1)
  },
  'replaces the history with a compaction': async (session) => {
    await session.addItems([user('a'), reply('b'), user('c')])
    const compaction: AgentInputItem = { type: 'compaction', id: 'k', encrypted_content: 'sealed' }
    await session.replaceHistoryWithCompaction?.([compaction, user('c')])
    expect(await session.getItems()).toEqual([compaction, user('c')])
  },
}

type FunctionCall = Extract<AgentInputItem, { type: 'function_call' }>
const appendTransaction = (operationId: string, items: AgentInputItem[]) => ({
  operationId,
  transaction: { type: 'append_items' as const, items },
})
const replaceTransaction = (
  operationId: string,
  expectedSuffix: AgentInputItem[],
  replacement: AgentInputItem[],
) => ({
  operationId,
  transaction: { type: 'replace_suffix' as const, expectedSuffix, replacement },
})

const { stores: STORES, releaseAll } = everyStore('agents')

for (const [name, openStore] of Object.entries(STORES))
  describe(`an OpenAI session over ${name}`, () => {
    for (const [title, check] of Object.entries(CASES))
      it(title, async () => {
        const store = await openStore()
        const engine = createEngine({ store })
        const conversation = await engine.create()
        const session = colloquySession({ conversation })
        expect(await session.getSessionId()).toBe(conversation.id)
        await check(session)
        await engine.close()
        await store.close()
        releaseAll()
      })
  })

describe('an OpenAI session over a conversation', () => {
  it('behaves like a list for any changes, can undo each of them, and its log obeys the laws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyChange, { maxLength: 12 }), async (changes) => {
        const { conversation, session } = await open()
        let list: AgentInputItem[] = []
        let operation = 0
        const earlier: { head: string | null; items: AgentInputItem[] }[] = []
        const headOf = async () => (await conversation.state()).log.head?.id ?? null
        for (const change of changes) {
          earlier.push({ head: await headOf(), items: list })
          if (change.type === 'add') {
            await session.addItems(change.items)
            list = [...list, ...change.items]
          } else if (change.type === 'pop') {
            expect(await session.popItem()).toEqual(list.at(-1))
            list = list.slice(0, -1)
          } else if (change.type === 'clear') {
            await session.clearSession()
            list = []
          } else if (change.type === 'compact') {
            await session.replaceHistoryWithCompaction?.(change.items)
            list = [...change.items]
          } else {
            const stored = list.slice(0, Math.max(0, list.length - change.count))
            const transaction = {
              type: 'replace_suffix',
              expectedSuffix: list.slice(stored.length),
              replacement: change.items,
            } as const
            const args = { operationId: `op-${(operation += 1)}`, transaction }
            await session.applyHistoryTransaction(args)
            await session.applyHistoryTransaction(args)
            list = [...stored, ...change.items]
          }
          expect(await session.getItems()).toEqual(list)
        }
        expect(await session.getItems(2)).toEqual(list.slice(-2))
        expect(await session.getItems(0)).toEqual([])
        // Each change can be undone, in any order.
        for (const { head, items } of earlier.toReversed()) {
          await conversation.navigate(head)
          expect(await session.getItems()).toEqual(items)
        }
        const { items } = await conversation.search({ limit: 100 })
        const broken = checkLog(items.map(({ fact }) => fact))
        expect(broken.filter(({ law }) => !OF_THE_CALLER.has(law))).toEqual([])
        toAnthropicOrEmpty(await conversation.messages())
      }),
      { numRuns: 60 },
    )
  })

  it('keeps popped and cleared items on branches', async () => {
    const { conversation, session } = await open()
    await session.addItems([user('What is it like in Rome?'), reasoning('r1'), call('c1')])
    const before = (await conversation.state()).log.head?.id ?? null
    expect(await session.popItem()).toEqual(call('c1'))
    await session.clearSession()
    expect(await session.getItems()).toEqual([])
    await conversation.navigate(before)
    expect(await session.getItems()).toEqual([user('What is it like in Rome?'), reasoning('r1'), call('c1')])
    expect(listBranches(await conversation.state()).length).toBeGreaterThan(1)
  })

  it('stores calls, results and messages as events of their kinds', async () => {
    const { conversation, session } = await open()
    await session.addItems([user('Rome?'), reasoning('r1'), call('c1'), result('c1'), reply('It is sunny.')])
    const kinds = pathTo(await conversation.state()).map(({ event }) => event?.kind)
    expect(kinds).toEqual(['MessageEvent', 'ActionEvent', 'ObservationEvent', 'MessageEvent'])
    expect(toAnthropic(await conversation.messages()).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Rome?' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Rome' } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'sunny' }] }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'It is sunny.' }] },
      // The model needs a message to continue from.
      expect.objectContaining({ role: 'user' }),
    ])
  })

  it('stores an image of 200 kB', async () => {
    const { conversation, session } = await open()
    await session.addItems([user('Rome?'), call('c1'), photo(new Uint8Array(200_000))])
    expect((await session.getItems()).length).toBe(3)
    expect(JSON.stringify(await conversation.messages())).toContain('data:image/png;base64,AAAA')
  })

  const pdf = `JVBERi0xLjQK${'A'.repeat(40)}`
  const pdfUrl = `data:application/pdf;base64,${pdf}`
  const bytes = Uint8Array.from(Buffer.from(pdf, 'base64'))
  const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEA'
  const pngUrl = 'data:image/png;base64,iVBORw0KGgo='
  it.each([
    [{ type: 'input_file', file: pdfUrl, filename: 'a.pdf' }, 'document'],
    [{ type: 'input_file', file: { url: 'https://example.com/a.pdf' } }, 'document'],
    [{ type: 'input_file', file: { id: 'file_1' } }, 'input_file'],
    [{ type: 'file', file: { data: pdf, mediaType: 'application/pdf', filename: 'a.pdf' } }, 'document'],
    [{ type: 'file', file: { data: bytes, mediaType: 'application/pdf', filename: 'a.pdf' } }, 'document'],
    [{ type: 'file', file: pdfUrl }, 'document'],
    [{ type: 'audio', audio: wav, format: 'wav' }, 'input_audio'],
    [{ type: 'audio', audio: wav, format: 'mp3' }, 'input_audio'],
    [{ type: 'input_image', image: { id: 'file_1' } }, 'input_image'],
    [{ type: 'image', image: { fileId: 'file_1' } }, 'input_image'],
    [{ type: 'image', image: { data: 'iVBORw0KGgo=', mediaType: 'image/png' } }, 'image'],
    [{ type: 'computer_screenshot', data: pngUrl }, 'image'],
  ])('stores the file %o as a file for models, in messages and in results', async (part, type) => {
    const { conversation, session } = await open()
    const items = [
      { role: 'user', content: [{ type: 'input_text', text: 'Read' }, part] },
      call('c1'),
      { ...result('c1'), output: [part] },
    ] as AgentInputItem[]
    await session.addItems(items)
    expect(await session.getItems()).toEqual(items)
    const messages = await conversation.messages()
    const writers = [toAnthropic, toOpenAIResponses, toOpenAIChat]
    const requests = writers.map((write) => JSON.stringify(write(messages)))
    expect(requests.join('\n')).toContain(`"type":"${type}"`)
    // No request has a file as text.
    for (const request of requests) expect(request).not.toMatch(/\\"(?:data|file|image|audio|file_id)\\":/)
  })

  it('returns files that others appended as files, and never as base64 text', async () => {
    const { conversation, session } = await open()
    const content = [
      { type: 'file', mediaType: 'application/pdf', data: pdfUrl, filename: 'a.pdf' },
      { type: 'file', mediaType: 'text/plain', data: 'data:text/plain;base64,aGVsbG8=', filename: 'a.txt' },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'input_file', file_id: 'file_1' },
      { type: 'input_image', file_id: 'file_2', detail: 'auto' },
      { type: 'file', mediaType: 'image/png', data: pngUrl },
      { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
      { type: 'unknown', data: wav },
    ]
    await conversation.append({
      kind: 'MessageEvent',
      source: 'user',
      llm_message: { role: 'user', content },
    })
    expect(await session.getItems()).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_file', file: pdfUrl, filename: 'a.pdf' },
          { type: 'input_text', text: 'a.txt\nhello' },
          { type: 'input_file', file: { url: 'https://example.com/a.pdf' } },
          { type: 'input_file', file: { id: 'file_1' } },
          { type: 'input_image', image: { id: 'file_2' } },
          { type: 'input_image', image: pngUrl },
          { type: 'input_text', text: '[A part that cannot be shown here: input_audio.]' },
          { type: 'input_text', text: '[A part that cannot be shown here: unknown.]' },
        ],
      },
    ])
  })

  it('returns long strings if the engine uses `blobs: refs`, also after a pop', async () => {
    const conversation = await createEngine({ store: memoryStore(), blobs: 'refs' }).create()
    const session = colloquySession({ conversation })
    const [long, longer] = ['a'.repeat(70_000), 'b'.repeat(80_000)]
    const items = [user(long), call('c1'), result('c1', longer), reply(long), call('c2')]
    await session.addItems(items)
    expect(await session.getItems()).toEqual(items)
    expect(await session.popItem()).toEqual(items.at(-1))
    expect(await session.getItems()).toEqual(items.slice(0, -1))
  })

  it('returns the bytes of a Buffer', async () => {
    const { session } = await open()
    await session.addItems([user('Rome?'), call('c1'), photo(Buffer.from([1, 2, 3]))])
    expect((await session.getItems()).at(-1)).toEqual(photo(new Uint8Array([1, 2, 3])))
  })

  it('returns events that others appended as items', async () => {
    const { conversation, session } = await open()
    await session.addItems([user('One')])
    await conversation.sendMessage('Two')
    await conversation.run(async function* () {
      yield {
        kind: 'MessageEvent',
        source: 'agent',
        llm_message: { role: 'assistant', content: [{ text: 'Three' }] },
      }
    })
    expect(await session.getItems()).toEqual([
      user('One'),
      { role: 'user', content: [{ type: 'input_text', text: 'Two' }] },
      reply('Three'),
    ])
    expect(await session.popItem()).toEqual(reply('Three'))
    expect((await session.getItems()).length).toBe(2)
  })

  it('returns items whose events were forgotten by a condensation and evicted from memory', async () => {
    const { conversation, session } = await open()
    const items = [user('Rome?'), call('c1'), result('c1'), reply('It is sunny.')]
    await session.addItems(items)
    const ids = pathTo(await conversation.state()).flatMap(({ id }) => id ?? [])
    await conversation.append({ kind: 'Condensation', forgotten_event_ids: ids, llm_response_id: 'r' })
    await evictBodies(conversation)
    expect(await session.getItems()).toEqual(items)
    await session.addItems([call('c2')])
    await session.addItems([result('c2')])
    expect(await session.getItems()).toEqual([...items, call('c2'), result('c2')])
  })

  it('pops undefined from a conversation that has only a system prompt', async () => {
    const { conversation, session } = await open()
    const system_prompt = { type: 'text', text: 'Be brief.' } as const
    await conversation.append({ kind: 'SystemPromptEvent', source: 'agent', system_prompt, tools: [] })
    expect(await session.popItem()).toBe(undefined)
    expect((await conversation.messages()).map(({ role }) => role)).toEqual(['system'])
  })

  it('returns results that others appended for its calls', async () => {
    const { conversation, session } = await open()
    await session.addItems([user('Rome?'), call('c1'), call('c2'), result('c1')])
    await conversation.reject(undefined, 'Not there.')
    await conversation.sendMessage('Why?')
    const output = [{ type: 'input_text', text: 'Action rejected: Not there.' }]
    expect((await session.getItems()).slice(3)).toEqual([
      result('c1'),
      { type: 'function_call_result', callId: 'c2', name: 'weather', status: 'completed', output },
      { role: 'user', content: [{ type: 'input_text', text: 'Why?' }] },
    ])
  })

  it('replaces a call, and rejects an operation id that was used for other items', async () => {
    const { session } = await open()
    await session.addItems([user('Rome?'), call('c1'), result('c1')])
    const replacement = call('c1', '{"city":"Oslo"}') as Extract<AgentInputItem, { type: 'function_call' }>
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c1', replacement }],
    })
    expect(await session.getItems()).toEqual([user('Rome?'), replacement, result('c1')])
    const append = (text: string) =>
      session.applyHistoryTransaction({
        operationId: 'op',
        transaction: { type: 'append_items', items: [user(text)] },
      })
    await Promise.all([append('a'), append('a')])
    await expect(append('b')).rejects.toMatchObject({ code: 'id_conflict' })
    const wrong = { type: 'replace_suffix', expectedSuffix: [user('z')], replacement: [] } as const
    await expect(
      session.applyHistoryTransaction({ operationId: 'other', transaction: { ...wrong } as never }),
    ).rejects.toMatchObject({ code: 'id_conflict' })
    expect((await session.getItems()).length).toBe(4)
  })

  it('stores each item once when two processes add items concurrently', async () => {
    const store = sqliteStore({ file: ':memory:' })
    const [one, other] = [createEngine({ store }), createEngine({ store })]
    const { id } = await one.create()
    const sessions = [await one.open(id), await other.open(id)].map((conversation) =>
      colloquySession({ conversation }),
    )
    const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`)
    await Promise.all(texts.map((text, index) => sessions[index % 2]?.addItems([user(text)])))
    const items = (await sessions[0]?.getItems()) as { content: string }[]
    expect(items.map(({ content }) => content).toSorted()).toEqual(texts.toSorted())
    await Promise.all([one.close(), other.close()])
    await store.close()
  })

  it('works with a run of the SDK that calls a tool', async () => {
    const { conversation, session } = await open()
    const outputs = [[call('c1')], [reply('Sunny.')], [reply('As I said: sunny.')]]
    const inputLengths: number[] = []
    const model: Model = {
      async getResponse({ input }) {
        inputLengths.push(input.length)
        return { usage: new Usage(), output: (outputs.shift() ?? []) as never }
      },
      getStreamedResponse() {
        throw new Error('not streamed')
      },
    }
    const weather = tool({
      name: 'weather',
      description: 'Tells the weather.',
      parameters: z.object({ city: z.string() }),
      execute: () => 'sunny',
    })
    const agent = new Agent({ name: 'Guide', model, tools: [weather] })
    const runner = new Runner({ tracingDisabled: true })
    expect((await runner.run(agent, 'Rome?', { session })).finalOutput).toBe('Sunny.')
    expect((await runner.run(agent, 'Really?', { session })).finalOutput).toBe('As I said: sunny.')
    expect(inputLengths).toEqual([1, 3, 5])
    expect((await conversation.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ])
  })
})

function toAnthropicOrEmpty(messages: Awaited<ReturnType<Conversation['messages']>>): void {
  if (messages.length > 0) toAnthropic(messages)
}
