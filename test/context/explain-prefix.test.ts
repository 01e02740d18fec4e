/** The first difference between two requests, in the request's terms. */

import { describe, expect, it } from 'vitest'
import { explainPrefix } from '../../src/context/explain-prefix.ts'
import { GRAMMARS } from '../../src/messages/grammars.ts'
import { digestOfTools, type NeutralMessage } from '../../src/messages/index.ts'

const text = (text: string) => ({ type: 'text', text: text })
const user = (...texts: string[]) => ({ role: 'user', content: texts.map(text) })
const request = { system: [text('s')], tools: [{ name: 'ls' }], messages: [user('a'), user('b', 'c')] }
const mark = (value: unknown) => ({ cache_control: value })
const toolsDigest = (sent: object): string => digestOfTools('tools' in sent ? (sent.tools as object[]) : [])
const requestOf = (...content: object[]) => ({ messages: [{ role: 'user', content }, user('b')] })

describe('explainPrefix', () => {
  it.each([
    ['returns null for an equal request', request, null],
    ['returns null for more messages', { ...request, messages: [...request.messages, user('d')] }, null],
    [
      'returns null for a longer last message',
      { ...request, messages: [user('a'), user('b', 'c', 'd')] },
      null,
    ],
    [
      'ignores a cache mark',
      { ...request, system: [{ ...text('s'), cache_control: { type: 'ephemeral' } }] },
      null,
    ],
    [
      'finds a changed system prompt',
      { ...request, system: [text('t')] },
      { in: 'system', path: '[0].text' },
    ],
    ['finds an added tool', { ...request, tools: [{ name: 'ls' }, {}] }, { in: 'tools', path: '[1]' }],
    [
      'finds a changed text',
      { ...request, messages: [user('A'), user('b', 'c')] },
      { in: 'message', message: 0, path: 'content[0].text' },
    ],
    [
      'finds a part that was added to the first message',
      { ...request, messages: [user('a', 'x'), user('b', 'c')] },
      { in: 'message', message: 0, path: 'content[1]' },
    ],
    [
      'finds a removed message',
      { ...request, messages: [user('a')] },
      { in: 'message', message: 1, path: '' },
    ],
  ])('%s', (_, next, expected) => {
    expect(explainPrefix(request, next)).toEqual(expected)
  })

  it('ignores the cache marks of Converse and OpenAI, wherever they are', () => {
    const point = { cachePoint: { type: 'default' } }
    const converse = (...marked: number[]): object => {
      const list = (index: number, ...blocks: object[]) => [
        ...blocks,
        ...(marked.includes(index) ? [point] : []),
      ]
      const messages = ['a', 'b'].map((text, index) => ({ role: 'user', content: list(index, { text }) }))
      return { messages, system: list(2, { text: 's' }), toolConfig: { tools: list(3, { toolSpec: {} }) } }
    }
    for (const [was, is] of [
      [
        [0, 2],
        [1, 3],
      ],
      [[1, 2, 3], [0]],
    ] as const)
      expect(explainPrefix(converse(...was), converse(...is))).toBe(null)
    const part = { type: 'input_text', text: 'a' }
    const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } }
    const [plain, marked] = [part, { ...part, ...breakpoint }].map((one) => requestOf(one))
    expect(explainPrefix(plain as object, marked as object)).toBe(null)
  })

  it('counts the cache marks of Converse in the path of a difference', () => {
    const point = { cachePoint: { type: 'default' } }
    const last = { content: [{ text: 'z' }] }
    const pathTo = (was: object[], is: object[]) =>
      explainPrefix({ messages: [{ content: was }, last] }, { messages: [{ content: is }, last] })?.path
    const [a, b, c] = ['a', 'b', 'c'].map((text) => ({ text })) as [object, object, object]
    expect(pathTo([a, point, b], [a, point, c])).toBe('content[2].text')
    expect(pathTo([a, b], [point, a, point, c])).toBe('content[3].text')
    expect(pathTo([a, point, b], [a])).toBe('content[2]')
    expect(pathTo([a], [point, a, point, b])).toBe('content[3]')
  })

  it.each(GRAMMARS)('finds a changed system prompt in a $name request', ({ write }) => {
    const sent = (prompt: string): object => {
      const system: NeutralMessage = { role: 'system', content: [{ text: prompt }] }
      return write([system, { role: 'user', content: [{ text: 'a' }], name: null }])
    }
    expect(explainPrefix(sent('s'), sent('s'))).toBe(null)
    expect(explainPrefix(sent('s'), sent('t'))?.in).toMatch(/^(system|message)$/)
  })

  it("finds a changed tool in Bedrock's toolConfig", () => {
    const [sent, other] = ['ls', 'cat'].map((name) => ({ toolConfig: { tools: [{ toolSpec: { name } }] } }))
    expect(explainPrefix(sent as object, { ...sent })).toBe(null)
    expect(explainPrefix(sent as object, other as object)).toEqual({
      in: 'tools',
      path: '[0].toolSpec.name',
    })
  })

  it('accepts a list of messages, and a request with instructions and input', () => {
    expect(explainPrefix([user('a')], [user('b')])).toMatchObject({ message: 0 })
    expect(explainPrefix({ instructions: 'a', input: [] }, { instructions: 'b', input: [] })).toMatchObject({
      in: 'system',
    })
  })

  it("finds Gemini's system prompt and tools inside and outside of config", () => {
    const contents = [{ role: 'user', parts: [text('a')] }]
    const front = { systemInstruction: { parts: [text('s')] }, tools: [{ functionDeclarations: [] }] }
    const sent = { model: 'm', contents, config: front }
    expect(explainPrefix(sent, { ...sent, config: { ...front, temperature: 1 } })).toBe(null)
    expect(explainPrefix(sent, { contents, ...front, config: null })).toBe(null)
    const other = { ...front, systemInstruction: { parts: [text('t')] } }
    expect(explainPrefix(sent, { ...sent, config: other })).toEqual({ in: 'system', path: 'parts[0].text' })
    expect(explainPrefix(sent, { ...sent, config: { ...front, tools: [] } })).toEqual({
      in: 'tools',
      path: '[0]',
    })
  })

  it.each([
    ['a tool', (value: unknown) => ({ tools: [{ name: 'ls', ...mark(value) }] })],
    [
      'a function',
      (value: unknown) => ({ tools: [{ type: 'function', function: { name: 'ls', ...mark(value) } }] }),
    ],
    ['a block', (value: unknown) => requestOf({ ...text('a'), ...mark(value) })],
    ['a result', (value: unknown) => requestOf({ type: 'tool_result', content: [], ...mark(value) })],
    ['a block of a result', (value: unknown) => requestOf({ content: [{ ...text('a'), ...mark(value) }] })],
    ['a block of a document', (value: unknown) => requestOf({ source: { content: [mark(value)] } })],
    ['a message', (value: unknown) => ({ messages: [{ role: 'user', content: 'a', ...mark(value) }] })],
  ])('ignores the cache mark of %s', (_, sent) => {
    expect(explainPrefix(sent({ type: 'ephemeral' }), sent(undefined))).toBe(null)
    expect(explainPrefix(sent({ type: 'ephemeral' }), sent({ type: 'ephemeral', ttl: '1h' }))).toBe(null)
    expect(toolsDigest(sent({ type: 'ephemeral' }))).toBe(toolsDigest(sent(undefined)))
  })

  it.each([
    [
      'an argument',
      'content[0].input.cache_control',
      (value: string) => requestOf({ type: 'tool_use', input: mark(value) }),
    ],
    [
      'a nested argument',
      'content[0].input.content[0].cache_control',
      (value: string) => requestOf({ type: 'tool_use', input: { content: [mark(value)] } }),
    ],
    [
      'a property of a schema',
      '[0].input_schema.properties.cache_control',
      (value: string) => ({ tools: [{ input_schema: { properties: mark(value) } }] }),
    ],
    [
      'a property of a function',
      '[0].function.parameters.properties.cache_control',
      (value: string) => ({ tools: [{ function: { parameters: { properties: mark(value) } } }] }),
    ],
  ])('finds a change in %s named cache_control', (_, path, sent) => {
    expect(explainPrefix(sent('no-store'), sent('public'))).toMatchObject({ path })
    if ('tools' in sent('public')) expect(toolsDigest(sent('no-store'))).not.toBe(toolsDigest(sent('public')))
    expect(explainPrefix(sent('no-store'), sent('no-store'))).toBe(null)
  })
})
