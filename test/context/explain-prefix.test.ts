/** The first difference between two requests, in the request's terms. */

import { describe, expect, it } from 'vitest'
import { explainPrefix } from '../../src/context/explain-prefix.ts'
import { GRAMMARS } from '../../src/messages/grammars.ts'
import { digestOfTools, type NeutralMessage } from '../../src/messages/index.ts'

const text = (text: string) => ({ type: 'text', text: text })
const user = (...output: string[]) => ({ role: 'user', content: output.map(text) })
const request = { system: [text('s')], tools: [{ name: 'ls' }], messages: [user('a'), user('b', 'c')] }
const mark = (value: unknown) => ({ cache_control: value })
const toolsDigest = (sent: object): string => digestOfTools('tools' in sent ? (sent.tools as object[]) : [])
const saying = (...content: object[]) => ({ messages: [{ role: 'user', content }, user('b')] })

describe('explainPrefix', () => {
  it.each([
    ['the same', request, null],
    ['more messages', { ...request, messages: [...request.messages, user('d')] }, null],
    ['a last message that grows', { ...request, messages: [user('a'), user('b', 'c', 'd')] }, null],
    ['a cache mark', { ...request, system: [{ ...text('s'), cache_control: { type: 'ephemeral' } }] }, null],
    ['a system prompt', { ...request, system: [text('t')] }, { in: 'system', path: '[0].text' }],
    ['a tool', { ...request, tools: [{ name: 'ls' }, {}] }, { in: 'tools', path: '[1]' }],
    [
      'a word',
      { ...request, messages: [user('A'), user('b', 'c')] },
      { in: 'message', message: 0, path: 'content[0].text' },
    ],
    [
      'a first message that grows',
      { ...request, messages: [user('a', 'x'), user('b', 'c')] },
      { in: 'message', message: 0, path: 'content[1]' },
    ],
    [
      'a message that is gone',
      { ...request, messages: [user('a')] },
      { in: 'message', message: 1, path: '' },
    ],
  ])('names %s', (_, next, expected) => {
    expect(explainPrefix(request, next)).toEqual(expected)
  })

  it.each(GRAMMARS)('finds another system prompt in a request of $name', ({ write }) => {
    const sent = (prompt: string): object => {
      const system: NeutralMessage = { role: 'system', content: [{ text: prompt }] }
      return write([system, { role: 'user', content: [{ text: 'a' }], name: null }])
    }
    expect(explainPrefix(sent('s'), sent('s'))).toBe(null)
    expect(explainPrefix(sent('s'), sent('t'))?.in).toMatch(/^(system|message)$/)
  })

  it("finds another tool in Bedrock's configuration of tools", () => {
    const [sent, other] = ['ls', 'cat'].map((name) => ({ toolConfig: { tools: [{ toolSpec: { name } }] } }))
    expect(explainPrefix(sent as object, { ...sent })).toBe(null)
    expect(explainPrefix(sent as object, other as object)).toEqual({
      in: 'tools',
      path: '[0].toolSpec.name',
    })
  })

  it('reads lists and inputs too', () => {
    expect(explainPrefix([user('a')], [user('b')])).toMatchObject({ message: 0 })
    expect(explainPrefix({ instructions: 'a', input: [] }, { instructions: 'b', input: [] })).toMatchObject({
      in: 'system',
    })
  })

  it('finds the system prompt and the tools of Gemini inside of its config as beside it', () => {
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
    ['a block', (value: unknown) => saying({ ...text('a'), ...mark(value) })],
    ['a result', (value: unknown) => saying({ type: 'tool_result', content: [], ...mark(value) })],
    ['a block of a result', (value: unknown) => saying({ content: [{ ...text('a'), ...mark(value) }] })],
    ['a block of a document', (value: unknown) => saying({ source: { content: [mark(value)] } })],
    ['a message', (value: unknown) => ({ messages: [{ role: 'user', content: 'a', ...mark(value) }] })],
  ])('passes over the cache mark of %s', (_, sent) => {
    expect(explainPrefix(sent({ type: 'ephemeral' }), sent(undefined))).toBe(null)
    expect(explainPrefix(sent({ type: 'ephemeral' }), sent({ type: 'ephemeral', ttl: '1h' }))).toBe(null)
    expect(toolsDigest(sent({ type: 'ephemeral' }))).toBe(toolsDigest(sent(undefined)))
  })

  it.each([
    [
      'an argument',
      'content[0].input.cache_control',
      (value: string) => saying({ type: 'tool_use', input: mark(value) }),
    ],
    [
      'an argument far inside',
      'content[0].input.content[0].cache_control',
      (value: string) => saying({ type: 'tool_use', input: { content: [mark(value)] } }),
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
  ])('names %s that is called like a cache mark', (_, path, sent) => {
    expect(explainPrefix(sent('no-store'), sent('public'))).toMatchObject({ path })
    if ('tools' in sent('public')) expect(toolsDigest(sent('no-store'))).not.toBe(toolsDigest(sent('public')))
    expect(explainPrefix(sent('no-store'), sent('no-store'))).toBe(null)
  })
})
