/** The Chat Completions validator accepts valid requests, and reports the rules that others break. */

import { openAiChatRules, validateOpenAiChat } from '../../src/messages/openai-chat/rules.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const png = 'data:image/png;base64,aW1n'
const system = { role: 'system', content: 'Be brief.' }
const user = { role: 'user', content: 'List the files.' }
const done = { role: 'assistant', content: 'Done.' }
const call = (id: string, args = '{"path":"."}', name = 'ls') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const calls = (...tool_calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls })
const tool = (id: string, content: unknown = 'a.txt') => ({ role: 'tool', tool_call_id: id, content })
const image = (url: string, detail = 'auto') => ({ type: 'image_url', image_url: { url, detail } })
const text = (content: string) => ({ type: 'text', text: content })
const withImage = (url: string) => ({ role: 'user', content: [text('Look.'), image(url)] })

const good: Good[] = [
  { name: 'one question', request: [user] },
  { name: 'a system prompt, a question and an answer', request: [system, user, done] },
  {
    name: 'a file and audio',
    request: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: 'file-1' } },
          { type: 'input_audio', input_audio: { data: 'aW1n', format: 'mp3' } },
        ],
      },
    ],
  },
  {
    name: 'a developer message instead of a system message',
    request: [{ ...system, role: 'developer' }, user],
  },
  { name: 'a call and its result', request: [user, calls(call('call_1')), tool('call_1')] },
  {
    name: 'parallel calls with results in another order',
    request: [user, calls(call('a'), call('b')), tool('b'), tool('a'), done],
  },
  { name: 'an empty tool result', request: [user, calls(call('a')), tool('a', '')] },
  {
    name: 'reasoning next to a call',
    request: [user, { ...calls(call('a')), reasoning_content: 'Hm.' }, tool('a')],
  },
  { name: 'text next to a call', request: [user, { ...calls(call('a')), content: 'Looking.' }, tool('a')] },
  {
    name: 'a custom call with free text',
    request: [
      user,
      calls({ id: 'a', type: 'custom', custom: { name: 'sql', input: 'select 1' } }),
      tool('a'),
    ],
  },
  {
    name: 'a call without content',
    request: [user, { role: 'assistant', tool_calls: [call('a')] }, tool('a')],
  },
  { name: 'empty content next to a call', request: [user, { ...calls(call('a')), content: '' }, tool('a')] },
  {
    name: 'calls in consecutive turns',
    request: [user, calls(call('a')), tool('a'), calls(call('b')), tool('b'), done],
  },
  {
    name: 'images by URL and as data URL',
    request: [withImage('https://example.com/a.png'), done, withImage(png)],
  },
  {
    name: 'a tool result in parts',
    request: [user, calls(call('a')), tool('a', [text('one'), text('two')])],
  },
  {
    name: 'an image in a user message after a result',
    request: [user, calls(call('a')), tool('a'), withImage(png)],
  },
  {
    name: 'a refusal',
    request: [user, { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }, user],
  },
  { name: 'a refusal field', request: [user, { role: 'assistant', refusal: 'No.' }] },
  { name: 'consecutive messages of one role', request: [user, user, done, done] },
  {
    name: 'an id of 40 and a tool name of 64 characters',
    request: [user, calls(call('x'.repeat(40), '{}', 'n'.repeat(64))), tool('x'.repeat(40))],
  },
  {
    name: 'a call id of another provider',
    request: [user, calls(call('functions.bash:0')), tool('functions.bash:0')],
  },
  { name: 'a named user', request: [{ ...user, name: 'ada-1' }] },
  { name: 'emoji', request: [{ role: 'user', content: 'ok 👍' }] },
]

const broken: Broken[] = [
  { name: 'an empty list of messages', request: [], breaks: ['messages-nonempty'] },
  { name: 'an object instead of an array', request: { messages: [user] }, breaks: ['wrong-type'] },
  { name: 'an undefined field', request: [{ ...user, name: undefined }], breaks: ['json-only'] },
  { name: 'a date', request: [{ ...user, content: new Date(0) }], breaks: ['json-only', 'wrong-type'] },
  {
    name: 'a lone surrogate',
    request: [{ role: 'user', content: 'ok \ud83d' }],
    breaks: ['text-well-formed'],
  },
  {
    name: 'null as the content of a user message',
    request: [{ role: 'user', content: null }],
    breaks: ['wrong-type'],
  },
  {
    name: 'a number as text',
    request: [{ role: 'user', content: [{ type: 'text', text: 7 }] }],
    breaks: ['wrong-type'],
  },
  {
    name: 'arguments as an object',
    request: [user, calls({ ...call('a'), function: { name: 'ls', arguments: {} } }), tool('a')],
    breaks: ['wrong-type'],
  },
  {
    name: 'an unknown detail',
    request: [{ role: 'user', content: [image(png, 'best')] }],
    breaks: ['wrong-type'],
  },
  { name: 'a message without a role', request: [{ content: 'Hi' }], breaks: ['missing-field', 'user-first'] },
  { name: 'a message without content', request: [{ role: 'user' }], breaks: ['missing-field'] },
  {
    name: 'a call without arguments',
    request: [user, calls({ ...call('a'), function: { name: 'ls' } }), tool('a')],
    breaks: ['missing-field'],
  },
  {
    name: 'a result without an id',
    request: [user, calls(call('a')), tool('a'), { role: 'tool', content: '' }],
    breaks: ['missing-field', 'results-follow-calls'],
  },
  {
    name: 'reasoning in a message without calls',
    request: [user, { ...done, reasoning_content: 'Hm.' }],
    breaks: ['reasoning-with-calls'],
  },
  {
    name: 'a name on a tool message',
    request: [user, calls(call('a')), { ...tool('a'), name: 'ls' }],
    breaks: ['unknown-field'],
  },
  {
    name: 'a cache mark of another provider',
    request: [{ role: 'user', content: [{ ...text('Hi'), cache_control: { type: 'ephemeral' } }] }],
    breaks: ['unknown-field'],
  },
  {
    name: 'an index on a call',
    request: [user, calls({ ...call('a'), index: 0 }), tool('a')],
    breaks: ['unknown-field'],
  },
  {
    name: 'the function role',
    request: [user, { role: 'function', name: 'ls', content: '' }],
    breaks: ['known-role'],
  },
  {
    name: 'a thinking part',
    request: [user, { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.' }] }],
    breaks: ['known-kind'],
  },
  {
    name: 'a refusal from the user',
    request: [{ role: 'user', content: [{ type: 'refusal', refusal: 'No.' }] }],
    breaks: ['known-kind'],
  },
  {
    name: 'a call of another type',
    request: [user, calls({ ...call('a'), type: 'retrieval' }), tool('a')],
    breaks: ['known-kind'],
  },
  { name: 'a system message after a user message', request: [user, system, done], breaks: ['system-first'] },
  { name: 'two system messages', request: [system, system, user], breaks: ['system-first'] },
  { name: 'an assistant message at the start', request: [system, done, user], breaks: ['user-first'] },
  { name: 'a system message alone', request: [system], breaks: ['user-first'] },
  { name: 'an empty question', request: [{ role: 'user', content: '' }], breaks: ['content-nonempty'] },
  {
    name: 'an empty system message',
    request: [{ role: 'system', content: '' }, user],
    breaks: ['content-nonempty'],
  },
  { name: 'an empty content array', request: [{ role: 'user', content: [] }], breaks: ['content-nonempty'] },
  {
    name: 'an empty text part',
    request: [{ role: 'user', content: [text(''), image(png)] }],
    breaks: ['content-nonempty'],
  },
  {
    name: 'an assistant message without content or calls',
    request: [user, { role: 'assistant', content: null }],
    breaks: ['assistant-content-or-calls'],
  },
  {
    name: 'an assistant message with empty text',
    request: [user, { role: 'assistant', content: '' }],
    breaks: ['assistant-content-or-calls'],
  },
  {
    name: 'an empty list of calls',
    request: [user, { ...done, tool_calls: [] }],
    breaks: ['tool-calls-nonempty'],
  },
  { name: 'a call without a result', request: [user, calls(call('a'))], breaks: ['calls-have-results'] },
  {
    name: 'a result for only one of two calls',
    request: [user, calls(call('a'), call('b')), tool('a'), user],
    breaks: ['calls-have-results'],
  },
  {
    name: 'a user message before the result',
    request: [user, calls(call('a')), user, tool('a')],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result one turn late',
    request: [user, calls(call('a')), calls(call('b')), tool('b'), tool('a')],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result without a call',
    request: [user, calls(call('a')), tool('a'), tool('b')],
    breaks: ['results-follow-calls'],
  },
  {
    name: 'a result before its call',
    request: [user, tool('a'), calls(call('a'))],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'two results of one call',
    request: [user, calls(call('a')), tool('a'), tool('a')],
    breaks: ['one-result-each'],
  },
  {
    name: 'a repeated call id in one turn',
    request: [user, calls(call('a'), call('a')), tool('a'), tool('a')],
    breaks: ['one-result-each', 'call-ids-unique'],
  },
  {
    name: 'a call id of an earlier turn',
    request: [user, calls(call('a')), tool('a'), calls(call('a')), tool('a')],
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a call id of 41 characters',
    request: [user, calls(call('x'.repeat(41))), tool('x'.repeat(41))],
    breaks: ['call-id-length'],
  },
  { name: 'an empty call id', request: [user, calls(call('')), tool('')], breaks: ['call-id-length'] },
  {
    name: 'a call id with a space',
    request: [user, calls(call('call 1')), tool('call 1')],
    breaks: ['call-id-charset'],
  },
  {
    name: 'a tool name with a dot',
    request: [user, calls(call('a', '{}', 'fs.ls')), tool('a')],
    breaks: ['call-name'],
  },
  {
    name: 'a tool name of 65 characters',
    request: [user, calls(call('a', '{}', 'n'.repeat(65))), tool('a')],
    breaks: ['call-name'],
  },
  { name: 'a user name with a space', request: [{ ...user, name: 'Ada L' }], breaks: ['message-name'] },
  {
    name: 'truncated arguments',
    request: [user, calls(call('a', '{"path":')), tool('a')],
    breaks: ['arguments-object'],
  },
  {
    name: 'arguments that are a list',
    request: [user, calls(call('a', '[1]')), tool('a')],
    breaks: ['arguments-object'],
  },
  { name: 'empty arguments', request: [user, calls(call('a', '')), tool('a')], breaks: ['arguments-object'] },
  {
    name: 'an image in a tool result',
    request: [user, calls(call('a')), tool('a', [image(png)])],
    breaks: ['images-from-user'],
  },
  {
    name: 'an image from the assistant',
    request: [user, { role: 'assistant', content: [image(png)] }],
    breaks: ['images-from-user'],
  },
  { name: 'plain base64 as an image URL', request: [withImage('aW1n')], breaks: ['image-url'] },
  {
    name: 'a file without a name',
    request: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:a/b;base64,aW1n' } }] }],
    breaks: ['file-source'],
  },
  {
    name: 'audio without data',
    request: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }],
    breaks: ['file-source'],
  },
  { name: 'an image with a file: URL', request: [withImage('file:///a.png')], breaks: ['image-url'] },
  { name: 'an image without data', request: [withImage('data:image/png;base64,')], breaks: ['image-url'] },
  { name: 'an SVG image', request: [withImage('data:image/svg+xml;base64,aW1n')], breaks: ['image-url'] },
]

testTables({ validate: validateOpenAiChat, rules: openAiChatRules, good, broken })
