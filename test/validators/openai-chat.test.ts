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
const calls = (...made: unknown[]) => ({ role: 'assistant', content: null, tool_calls: made })
const tool = (id: string, content: unknown = 'a.txt') => ({ role: 'tool', tool_call_id: id, content })
const image = (url: string, detail = 'auto') => ({ type: 'image_url', image_url: { url, detail } })
const text = (content: string) => ({ type: 'text', text: content })
const withImage = (url: string) => ({ role: 'user', content: [text('Look.'), image(url)] })

const good: Good[] = [
  { name: 'one question', request: [user] },
  { name: 'system, question, answer', request: [system, user, done] },
  {
    name: 'a file and a sound',
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
  { name: 'developer instead of system', request: [{ ...system, role: 'developer' }, user] },
  { name: 'a call and its answer', request: [user, calls(call('call_1')), tool('call_1')] },
  {
    name: 'parallel calls, answered in another order',
    request: [user, calls(call('a'), call('b')), tool('b'), tool('a'), done],
  },
  { name: 'an empty tool result', request: [user, calls(call('a')), tool('a', '')] },
  {
    name: 'reasoning beside the call',
    request: [user, { ...calls(call('a')), reasoning_content: 'Hm.' }, tool('a')],
  },
  { name: 'text beside the call', request: [user, { ...calls(call('a')), content: 'Looking.' }, tool('a')] },
  {
    name: 'a call in free text',
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
  { name: 'empty content beside a call', request: [user, { ...calls(call('a')), content: '' }, tool('a')] },
  {
    name: 'calls turn after turn',
    request: [user, calls(call('a')), tool('a'), calls(call('b')), tool('b'), done],
  },
  {
    name: 'images by URL and by value',
    request: [withImage('https://example.com/a.png'), done, withImage(png)],
  },
  { name: 'tool result in parts', request: [user, calls(call('a')), tool('a', [text('one'), text('two')])] },
  {
    name: 'a picture of a tool, sent by the user',
    request: [user, calls(call('a')), tool('a'), withImage(png)],
  },
  {
    name: 'a refusal',
    request: [user, { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }, user],
  },
  { name: 'a refusal field', request: [user, { role: 'assistant', refusal: 'No.' }] },
  { name: 'users in a row', request: [user, user, done, done] },
  {
    name: 'the longest id and name',
    request: [user, calls(call('x'.repeat(40), '{}', 'n'.repeat(64))), tool('x'.repeat(40))],
  },
  { name: 'ids of other makers', request: [user, calls(call('functions.bash:0')), tool('functions.bash:0')] },
  { name: 'a named user', request: [{ ...user, name: 'ada-1' }] },
  { name: 'emoji', request: [{ role: 'user', content: 'ok 👍' }] },
]

const broken: Broken[] = [
  { name: 'no messages', request: [], breaks: ['messages-nonempty'] },
  { name: 'an object instead of an array', request: { messages: [user] }, breaks: ['wrong-type'] },
  { name: 'an undefined field', request: [{ ...user, name: undefined }], breaks: ['json-only'] },
  { name: 'a date', request: [{ ...user, content: new Date(0) }], breaks: ['json-only', 'wrong-type'] },
  { name: 'half an emoji', request: [{ role: 'user', content: 'ok \ud83d' }], breaks: ['text-well-formed'] },
  { name: 'null for a user message', request: [{ role: 'user', content: null }], breaks: ['wrong-type'] },
  {
    name: 'a number for text',
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
  { name: 'no role', request: [{ content: 'Hi' }], breaks: ['missing-field', 'user-first'] },
  { name: 'no content', request: [{ role: 'user' }], breaks: ['missing-field'] },
  {
    name: 'no arguments',
    request: [user, calls({ ...call('a'), function: { name: 'ls' } }), tool('a')],
    breaks: ['missing-field'],
  },
  {
    name: 'a result without an id',
    request: [user, calls(call('a')), tool('a'), { role: 'tool', content: '' }],
    breaks: ['missing-field', 'results-follow-calls'],
  },
  {
    name: 'reasoning beside the content',
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
    name: 'a call index',
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
  { name: 'a system message later', request: [user, system, done], breaks: ['system-first'] },
  { name: 'two system messages', request: [system, system, user], breaks: ['system-first'] },
  { name: 'the assistant begins', request: [system, done, user], breaks: ['user-first'] },
  { name: 'nothing but a system message', request: [system], breaks: ['user-first'] },
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
    name: 'a silent assistant',
    request: [user, { role: 'assistant', content: null }],
    breaks: ['assistant-content-or-calls'],
  },
  {
    name: 'an assistant with empty text',
    request: [user, { role: 'assistant', content: '' }],
    breaks: ['assistant-content-or-calls'],
  },
  {
    name: 'an empty list of calls',
    request: [user, { ...done, tool_calls: [] }],
    breaks: ['tool-calls-nonempty'],
  },
  { name: 'a call without an answer', request: [user, calls(call('a'))], breaks: ['calls-have-results'] },
  {
    name: 'one of two calls without an answer',
    request: [user, calls(call('a'), call('b')), tool('a'), user],
    breaks: ['calls-have-results'],
  },
  {
    name: 'a user message before the answer',
    request: [user, calls(call('a')), user, tool('a')],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'an answer two turns later',
    request: [user, calls(call('a')), calls(call('b')), tool('b'), tool('a')],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'an answer to nothing',
    request: [user, calls(call('a')), tool('a'), tool('b')],
    breaks: ['results-follow-calls'],
  },
  {
    name: 'an answer before the call',
    request: [user, tool('a'), calls(call('a'))],
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'two answers to one call',
    request: [user, calls(call('a')), tool('a'), tool('a')],
    breaks: ['one-result-each'],
  },
  {
    name: 'an id twice in one turn',
    request: [user, calls(call('a'), call('a')), tool('a'), tool('a')],
    breaks: ['one-result-each', 'call-ids-unique'],
  },
  {
    name: 'an id of an earlier turn',
    request: [user, calls(call('a')), tool('a'), calls(call('a')), tool('a')],
    breaks: ['call-ids-unique'],
  },
  {
    name: 'an id of 41 characters',
    request: [user, calls(call('x'.repeat(41))), tool('x'.repeat(41))],
    breaks: ['call-id-length'],
  },
  { name: 'an empty id', request: [user, calls(call('')), tool('')], breaks: ['call-id-length'] },
  {
    name: 'an id with a space',
    request: [user, calls(call('call 1')), tool('call 1')],
    breaks: ['call-id-charset'],
  },
  {
    name: 'a name with a dot',
    request: [user, calls(call('a', '{}', 'fs.ls')), tool('a')],
    breaks: ['call-name'],
  },
  {
    name: 'a name of 65 characters',
    request: [user, calls(call('a', '{}', 'n'.repeat(65))), tool('a')],
    breaks: ['call-name'],
  },
  { name: 'a user name with a space', request: [{ ...user, name: 'Ada L' }], breaks: ['message-name'] },
  {
    name: 'arguments cut short',
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
  { name: 'bare base64 for an image', request: [withImage('aW1n')], breaks: ['image-url'] },
  {
    name: 'a file without a name',
    request: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:a/b;base64,aW1n' } }] }],
    breaks: ['file-source'],
  },
  {
    name: 'a sound without bytes',
    request: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }],
    breaks: ['file-source'],
  },
  { name: 'an image in a file', request: [withImage('file:///a.png')], breaks: ['image-url'] },
  { name: 'an image without bytes', request: [withImage('data:image/png;base64,')], breaks: ['image-url'] },
  { name: 'an svg image', request: [withImage('data:image/svg+xml;base64,aW1n')], breaks: ['image-url'] },
]

testTables({ validate: validateOpenAiChat, rules: openAiChatRules, good, broken })
