/** The AI SDK validator accepts valid messages, and reports the rules that others break. */

import { generateText, type ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test, vi } from 'vitest'
import { aiSdkRules, validateAiSdk } from './ai-sdk.ts'
import { byName, type Broken, type Good, testTables } from './tables.ts'

const png = 'data:image/png;base64,aW1n'
const system = { role: 'system', content: 'Be brief.' }
const user = { role: 'user', content: 'List the files.' }
const done = { role: 'assistant', content: 'Done.' }
const text = (content: string) => ({ type: 'text', text: content })
const reasoning = { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'EqQB' } } }
const call = (toolCallId: string, input: unknown = {}, toolName = 'ls') => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
})
const executed = (id: string) => ({ ...call(id), providerExecuted: true })
const message = (value: string) => ({ type: 'text', value })
const result = (toolCallId: string, output: unknown = message('a.txt'), toolName = 'ls') => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output,
})
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const tool = (...content: unknown[]) => ({ role: 'tool', content })
const userWith = (...content: unknown[]) => ({ role: 'user', content })
const file = (data: unknown, mediaType = 'image/png') => ({ type: 'file', data, mediaType })
const parts = (...value: unknown[]) => ({ type: 'content', value })
const answer = (output: unknown) => [user, assistant(call('a')), tool(result('a', output))]

const good: Good[] = [
  { name: 'one question', request: [user] },
  { name: 'a system prompt, a question and an answer', request: [system, user, done] },
  { name: 'a call and its result', request: [user, assistant(call('a')), tool(result('a'))] },
  {
    name: 'parallel calls with results in one message',
    request: [user, assistant(text('Looking.'), call('a'), call('b')), tool(result('b'), result('a')), done],
  },
  {
    name: 'parallel calls with results in two messages',
    request: [user, assistant(call('a'), call('b')), tool(result('a')), tool(result('b'))],
  },
  { name: 'reasoning before a call', request: [user, assistant(reasoning, call('a')), tool(result('a'))] },
  { name: 'reasoning without its text', request: [user, assistant({ ...reasoning, text: '' }, text('Ok.'))] },
  { name: 'a file from the assistant', request: [user, assistant(file(png))] },
  {
    name: 'provider-specific parts',
    request: [user, assistant({ type: 'custom', kind: 'a.b' }, { ...file('aW1n'), type: 'reasoning-file' })],
  },
  {
    name: 'a call that the provider executed',
    request: [user, assistant(executed('a'), result('a'), text('Ok.'))],
  },
  {
    name: 'the result of an executed call in a later reply',
    request: [user, assistant(executed('a')), assistant(result('a'))],
  },
  { name: 'an empty result', request: answer(message('')) },
  { name: 'a JSON result', request: answer({ type: 'json', value: { files: ['a.txt', null] } }) },
  { name: 'an error', request: answer({ type: 'error-text', value: 'It broke.' }) },
  { name: 'a JSON error', request: answer({ type: 'error-json', value: { code: 7 } }) },
  { name: 'a denied call', request: answer({ type: 'execution-denied', reason: 'Not today.' }) },
  {
    name: 'images in a result',
    request: answer(
      parts(
        text('See'),
        file({ type: 'data', data: 'aW1n' }),
        { type: 'image-data', data: 'aW1n', mediaType: 'image/png' },
        { type: 'image-url', url: png },
      ),
    ),
  },
  {
    name: 'images in every form',
    request: [
      userWith(
        text('Look.'),
        file(png, 'image'),
        file('aW1n'),
        file({ type: 'data', data: 'aW1n' }),
        file({ type: 'url', url: new URL(png) }),
        { type: 'image', image: png },
        { type: 'image', image: new URL(png), mediaType: 'image/*' },
      ),
    ],
  },
  { name: 'consecutive messages of one role', request: [user, user, done, done] },
  {
    name: 'provider options',
    request: [{ ...user, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }],
  },
]

const broken: Broken[] = [
  {
    name: 'a result of a call that the provider did not execute',
    request: [user, assistant(call('a'), result('a')), tool(result('a'))],
    breaks: ['provider-results'],
  },
  { name: 'an empty list of messages', request: [], breaks: ['messages-nonempty'] },
  { name: 'an object instead of an array', request: { messages: [user] }, breaks: ['wrong-type'] },
  {
    name: 'an undefined file name',
    request: [userWith({ ...file(png), filename: undefined })],
    breaks: ['json-only'],
  },
  {
    name: 'file data as bytes',
    request: [userWith(file(new Uint8Array([1])))],
    breaks: ['json-only', 'media-data'],
  },
  { name: 'a lone surrogate', request: [{ role: 'user', content: '\ud83d' }], breaks: ['text-well-formed'] },
  {
    name: 'provider options that are not objects',
    request: [{ ...user, providerOptions: { anthropic: 'yes' } }],
    breaks: ['sdk-schema'],
  },
  {
    name: 'a URL string in tagged data',
    request: [userWith(file({ type: 'url', url: png }))],
    breaks: ['media-data'],
  },
  {
    name: 'null content',
    request: [user, { role: 'assistant', content: null }],
    breaks: ['sdk-schema', 'wrong-type', 'content-nonblank'],
  },
  {
    name: 'a tool message whose content is a string',
    request: [user, assistant(call('a')), { role: 'tool', content: 'a.txt' }],
    breaks: ['sdk-schema', 'wrong-type', 'calls-have-results'],
  },
  {
    name: 'a system message whose content is a list',
    request: [{ role: 'system', content: [text('Be brief.')] }, user],
    breaks: ['sdk-schema', 'wrong-type'],
  },
  { name: 'a string as output', request: answer('a.txt'), breaks: ['sdk-schema', 'wrong-type'] },
  {
    name: 'a result without a tool name',
    request: [
      user,
      assistant(call('a')),
      tool({ type: 'tool-result', toolCallId: 'a', output: message('') }),
    ],
    breaks: ['sdk-schema', 'missing-field', 'result-name'],
  },
  {
    name: 'a call without input',
    request: [user, assistant({ type: 'tool-call', toolCallId: 'a', toolName: 'ls' }), tool(result('a'))],
    breaks: ['sdk-schema', 'missing-field'],
  },
  {
    name: 'an `args` field of version 4',
    request: [user, assistant({ ...call('a'), args: {} }), tool(result('a'))],
    breaks: ['unknown-field'],
  },
  { name: 'an id on a message', request: [{ ...user, id: 'msg_1' }], breaks: ['unknown-field'] },
  {
    name: 'an error flag on a result',
    request: [user, assistant(call('a')), tool({ ...result('a'), isError: true })],
    breaks: ['unknown-field'],
  },
  {
    name: 'the developer role',
    request: [user, { role: 'developer', content: 'Be brief.' }],
    breaks: ['sdk-schema', 'known-role'],
  },
  {
    name: 'an image from the assistant',
    request: [user, assistant({ type: 'image', image: png })],
    breaks: ['sdk-schema', 'known-part'],
  },
  {
    name: 'an approval request from the user',
    request: [userWith(text('Hi'), { ...text('Hi'), type: 'tool-approval-request' })],
    breaks: ['sdk-schema', 'known-part'],
  },
  {
    name: 'an unknown output',
    request: answer({ type: 'image', value: png }),
    breaks: ['sdk-schema', 'known-part'],
  },
  { name: 'a system message after a user message', request: [user, system], breaks: ['system-first'] },
  { name: 'an assistant message at the start', request: [system, done, user], breaks: ['user-first'] },
  { name: 'a system message alone', request: [system], breaks: ['user-first'] },
  { name: 'a blank question', request: [{ role: 'user', content: ' ' }], breaks: ['content-nonblank'] },
  {
    name: 'an assistant message without parts',
    request: [user, assistant(), user],
    breaks: ['content-nonblank'],
  },
  { name: 'an empty tool message', request: [user, done, tool()], breaks: ['content-nonblank'] },
  { name: 'an empty text part', request: [userWith(text(''), file(png))], breaks: ['content-nonblank'] },
  { name: 'an empty text in a result', request: answer(parts(text(''))), breaks: ['content-nonblank'] },
  {
    name: 'a call without a result',
    request: [user, assistant(call('a')), user],
    breaks: ['calls-have-results'],
  },
  { name: 'a call at the end', request: [user, assistant(call('a'))], breaks: ['calls-have-results'] },
  {
    name: 'an assistant message before the result',
    request: [user, assistant(call('a')), done, tool(result('a'))],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result without a call',
    request: [user, done, tool(result('a'))],
    breaks: ['results-follow-calls'],
  },
  {
    name: 'two results of one call',
    request: [user, assistant(call('a')), tool(result('a')), tool(result('a'))],
    breaks: ['one-result-each'],
  },
  {
    name: 'a call id of an earlier turn',
    request: [...answer(message('')), assistant(call('a')), tool(result('a'))],
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a call id with a colon',
    request: [user, assistant(call('ls:0')), tool(result('ls:0'))],
    breaks: ['call-id-form'],
  },
  {
    name: 'an empty call id',
    request: [user, assistant(call('')), tool(result(''))],
    breaks: ['call-id-form'],
  },
  {
    name: 'a tool name with a dot',
    request: [user, assistant(call('a', {}, 'fs.ls')), tool(result('a', message(''), 'fs.ls'))],
    breaks: ['call-name'],
  },
  {
    name: 'a result with another tool name',
    request: [user, assistant(call('a')), tool(result('a', message(''), 'cat'))],
    breaks: ['result-name'],
  },
  {
    name: 'a string as input',
    request: [user, assistant(call('a', '{}')), tool(result('a'))],
    breaks: ['input-object'],
  },
  {
    name: 'null as input',
    request: [user, assistant(call('a', null)), tool(result('a'))],
    breaks: ['input-object'],
  },
  { name: 'an empty error', request: answer({ type: 'error-text', value: '' }), breaks: ['error-result'] },
  {
    name: 'reasoning alone',
    request: [user, assistant(reasoning), user],
    breaks: ['reasoning-followed'],
  },
  {
    name: 'the media type image/jpg',
    request: [userWith(file('aW1n', 'image/jpg'))],
    breaks: ['media-type'],
  },
  {
    name: 'a PDF without data',
    request: answer(parts(file({ type: 'data', data: '' }, 'application/pdf'))),
    breaks: ['media-data'],
  },
  {
    name: 'file data that is neither a URL nor base64',
    request: [userWith(file('./a.png'))],
    breaks: ['media-data'],
  },
  {
    name: 'a data URL in tagged data',
    request: [userWith(file({ type: 'data', data: png }))],
    breaks: ['media-data'],
  },
  {
    name: 'an image with a file: URL',
    request: [userWith({ type: 'image', image: 'file:///a.png' })],
    breaks: ['media-data'],
  },
  {
    name: 'a relative URL in a result',
    request: answer(parts({ type: 'image-url', url: 'a.png' })),
    breaks: ['media-data'],
  },
]

testTables({ validate: validateAiSdk, rules: aiSdkRules, good, broken })

describe('`generateText`', () => {
  vi.stubGlobal('AI_SDK_LOG_WARNINGS', false)

  test.each(byName(good))('accepts %s', async (_, { request }) => {
    await expect(send(request)).resolves.toBe('Ok.')
  })

  const rejected = broken.filter(({ name }) =>
    [
      'an empty list of messages',
      'a call without a result',
      'a call at the end',
      'a data URL in tagged data',
      'a relative URL in a result',
      'the developer role',
    ].includes(name),
  )
  test.each(byName(rejected))('rejects %s', async (_, { request }) => {
    await expect(send(request)).rejects.toThrow()
  })
})

/** Passes the messages through all steps of the SDK before and after a model call. */
async function send(request: unknown): Promise<string> {
  const noTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 }
  const model = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: 'text', text: 'Ok.' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: { inputTokens: noTokens, outputTokens: { total: 0, text: 0, reasoning: 0 } },
      warnings: [],
    },
  })
  // Unknown on purpose: the SDK checks the request at run time.
  const messages = request as ModelMessage[]
  const { text: reply } = await generateText({
    model,
    messages,
    allowSystemInMessages: true,
    maxRetries: 0,
  })
  return reply
}
