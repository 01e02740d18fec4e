import {
  openAiResponsesRules,
  serverRules,
  validateOpenAiResponses,
} from '../../src/messages/openai-responses/rules.ts'
import { ask, call, done, out, message, user } from './openai-responses-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const png = 'data:image/png;base64,aW1n'
const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
const image = (image_url: string) => ({ type: 'input_image', image_url, detail: 'auto' })
const show = (url: string) => ask({ role: 'user', content: [image(url)] })

const good: Good[] = [
  { name: 'one question', request: ask(user) },
  { name: 'no instructions', request: { instructions: null, input: [user] } },
  {
    name: 'easy messages',
    request: ask({ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hi' }),
  },
  { name: 'a developer message first', request: ask({ role: 'developer', content: 'Be brief.' }, user) },
  { name: 'a call and its output', request: ask(user, call('a'), out('a'), done) },
  {
    name: 'parallel calls, answered in another order',
    request: ask(user, call('a'), call('b'), out('b'), out('a')),
  },
  { name: 'text before the call', request: ask(user, message('Looking.'), call('a'), out('a')) },
  { name: 'text behind the call', request: ask(user, call('a'), message('Looking.'), out('a')) },
  { name: 'calls turn after turn', request: ask(user, call('a'), out('a'), call('b'), out('b')) },
  { name: 'an empty output', request: ask(user, call('a'), out('a', '')) },
  {
    name: 'a picture for an output',
    request: ask(user, call('a'), out('a', [{ type: 'input_text', text: 'See' }, image(png)])),
  },
  { name: 'reasoning before a call', request: ask(user, thought, call('a'), out('a')) },
  {
    name: 'reasoning before each of two calls',
    request: ask(user, thought, call('a'), { ...thought, id: 'rs_2' }, call('b'), out('a'), out('b')),
  },
  {
    name: 'reasoning before a message',
    request: ask(user, { ...thought, summary: [{ type: 'summary_text', text: 'Hm.' }] }, done, user),
  },
  {
    name: 'reasoning without id and with empty content',
    request: ask(user, { type: 'reasoning', summary: [], content: [] }, done),
  },
  {
    name: 'reasoning before a search',
    request: ask(
      user,
      thought,
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
      done,
    ),
  },
  {
    name: 'a call in free text',
    request: ask(
      user,
      { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: 'select 1' },
      { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
    ),
  },
  {
    name: 'items with ids',
    request: ask(user, { ...done, id: 'msg_1' }, { ...call('a'), id: 'fc_1', status: 'completed' }, out('a')),
  },
  {
    name: 'the longest id and name',
    request: ask(user, call('x'.repeat(64), '{}', 'n'.repeat(64)), out('x'.repeat(64))),
  },
  {
    name: 'a file and an image by id',
    request: ask({
      role: 'user',
      content: [
        { type: 'input_file', file_id: 'file-1' },
        { type: 'input_image', file_id: 'file-2', detail: 'low' },
      ],
    }),
  },
  { name: 'an image by URL', request: show('https://example.com/a.png') },
  { name: 'a refusal', request: ask(user, { ...done, content: [{ type: 'refusal', refusal: 'No.' }] }) },
  {
    name: 'a phase and annotations',
    request: ask(
      user,
      { ...done, phase: 'commentary', content: [{ type: 'output_text', text: 'Hm.', annotations: [] }] },
      user,
    ),
  },
]

const broken: Broken[] = [
  { name: 'no items', request: ask(), breaks: ['input-nonempty'] },
  { name: 'text for input', request: { instructions: null, input: 'Hi' }, breaks: ['wrong-type'] },
  { name: 'no instructions field', request: { input: [user] }, breaks: ['missing-field'] },
  { name: 'a model beside the input', request: { ...ask(user), model: 'gpt' }, breaks: ['unknown-field'] },
  {
    name: 'blank instructions',
    request: { instructions: ' ', input: [user] },
    breaks: ['instructions-nonblank'],
  },
  { name: 'an undefined id', request: ask({ ...user, id: undefined }), breaks: ['json-only'] },
  { name: 'not a number', request: ask({ ...user, id: Number.NaN }), breaks: ['json-only', 'wrong-type'] },
  { name: 'half an emoji', request: ask({ role: 'user', content: '\udc4d' }), breaks: ['text-well-formed'] },
  {
    name: 'an output that is an object',
    request: ask(user, call('a'), out('a', { files: [] })),
    breaks: ['wrong-type'],
  },
  { name: 'an output of null', request: ask(user, call('a'), out('a', null)), breaks: ['wrong-type'] },
  {
    name: 'arguments as an object',
    request: ask(user, { ...call('a'), arguments: {} }, out('a')),
    breaks: ['wrong-type'],
  },
  {
    name: 'summary as strings',
    request: ask(user, { ...thought, summary: ['Hm.'] }, done),
    breaks: ['wrong-type'],
  },
  {
    name: 'no output',
    request: ask(user, call('a'), { type: 'function_call_output', call_id: 'a' }),
    breaks: ['missing-field'],
  },
  {
    name: 'reasoning without summary',
    request: ask(user, { type: 'reasoning', id: 'rs_1' }, done),
    breaks: ['missing-field'],
  },
  {
    name: 'a call without an id',
    request: ask(user, { type: 'function_call', name: 'ls', arguments: '{}' }),
    breaks: ['missing-field', 'calls-have-results'],
  },
  {
    name: 'a message without a role',
    request: ask({ content: 'Hi' }),
    breaks: ['missing-field', 'user-first'],
  },
  {
    name: 'reasoning with a status',
    request: ask(user, { ...thought, status: 'completed' }, done),
    breaks: ['unknown-field'],
  },
  { name: 'a message with metadata', request: ask({ ...user, metadata: {} }), breaks: ['unknown-field'] },
  {
    name: 'calls inside of a message',
    request: ask(user, { ...done, tool_calls: [] }),
    breaks: ['unknown-field'],
  },
  { name: 'the tool role', request: ask(user, { role: 'tool', content: 'a.txt' }), breaks: ['known-role'] },
  {
    name: 'an item reference',
    request: ask(user, { type: 'item_reference', id: 'fc_1' }),
    breaks: ['known-kind'],
  },
  {
    name: 'a chat text part',
    request: ask({ role: 'user', content: [{ type: 'text', text: 'Hi' }] }),
    breaks: ['known-kind'],
  },
  {
    name: 'a system message later',
    request: ask(user, { role: 'system', content: 'Be brief.' }),
    breaks: ['system-first'],
  },
  { name: 'the assistant begins', request: ask(done, user), breaks: ['user-first'] },
  { name: 'a call begins', request: ask(call('a'), out('a')), breaks: ['user-first'] },
  { name: 'an empty question', request: ask({ role: 'user', content: '' }), breaks: ['content-nonempty'] },
  {
    name: 'an empty content array',
    request: ask(user, { role: 'assistant', content: [] }, user),
    breaks: ['content-nonempty'],
  },
  { name: 'an empty text part', request: ask(user, message('')), breaks: ['content-nonempty'] },
  {
    name: 'an empty output array',
    request: ask(user, call('a'), out('a', [])),
    breaks: ['content-nonempty'],
  },
  {
    name: 'input text from the assistant',
    request: ask(user, { ...user, role: 'assistant' }),
    breaks: ['part-of-role'],
  },
  { name: 'output text from the user', request: ask({ ...done, role: 'user' }), breaks: ['part-of-role'] },
  {
    name: 'an image from the system',
    request: ask({ role: 'system', content: [image(png)] }, user),
    breaks: ['images-from-user'],
  },
  {
    name: 'an image from the assistant',
    request: ask(user, { role: 'assistant', content: [image(png)] }),
    breaks: ['images-from-user', 'part-of-role'],
  },
  { name: 'bare base64 for an image', request: show('aW1n'), breaks: ['image-url'] },
  {
    name: 'a file in two places',
    request: ask({
      role: 'user',
      content: [{ type: 'input_file', file_id: 'f', file_url: 'https://x.org' }],
    }),
    breaks: ['file-source'],
  },
  {
    name: 'bytes without a name',
    request: ask({ role: 'user', content: [{ type: 'input_file', file_data: 'data:a/b;base64,aW1n' }] }),
    breaks: ['file-source'],
  },
  {
    name: 'an image in no place',
    request: ask({ role: 'user', content: [{ type: 'input_image', detail: 'auto' }] }),
    breaks: ['file-source'],
  },
  { name: 'an image without bytes', request: show('data:image/png;base64,'), breaks: ['image-url'] },
  {
    name: 'a bitmap in an output',
    request: ask(user, call('a'), out('a', [image('data:image/bmp;base64,aW1n')])),
    breaks: ['image-url'],
  },
  { name: 'a call without an output', request: ask(user, call('a')), breaks: ['calls-have-results'] },
  {
    name: 'a user message before the output',
    request: ask(user, call('a'), user, out('a')),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'an output one turn too late',
    request: ask(user, call('a'), call('b'), out('b'), done, out('a')),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  { name: 'an output of nothing', request: ask(user, out('a'), done), breaks: ['results-follow-calls'] },
  {
    name: 'an output before its call',
    request: ask(user, out('a'), call('a')),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'two outputs of one call',
    request: ask(user, call('a'), out('a'), out('a')),
    breaks: ['one-result-each'],
  },
  {
    name: 'a call_id of an earlier turn',
    request: ask(user, call('a'), out('a'), user, call('a'), out('a')),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a call_id of 65 characters',
    request: ask(user, call('x'.repeat(65)), out('x'.repeat(65))),
    breaks: ['call-id-length'],
  },
  { name: 'an empty call_id', request: ask(user, call(''), out('')), breaks: ['call-id-length'] },
  {
    name: 'a call_id with a tab',
    request: ask(user, call('a\tb'), out('a\tb')),
    breaks: ['call-id-charset'],
  },
  {
    name: 'a name with a slash',
    request: ask(user, call('a', '{}', 'fs/ls'), out('a')),
    breaks: ['call-name'],
  },
  {
    name: 'a name of 65 characters',
    request: ask(user, call('a', '{}', 'n'.repeat(65)), out('a')),
    breaks: ['call-name'],
  },
  {
    name: 'arguments that are text',
    request: ask(user, call('a', '"ls"'), out('a')),
    breaks: ['arguments-object'],
  },
  {
    name: 'arguments that are no JSON',
    request: ask(user, call('a', '{path}'), out('a')),
    breaks: ['arguments-object'],
  },
  {
    name: 'an item id twice',
    request: ask(user, thought, done, user, thought, done),
    breaks: ['item-ids-unique'],
  },
  {
    name: 'a foreign reasoning id',
    request: ask(user, { ...thought, id: 'item_1' }, done),
    breaks: ['item-id-form'],
  },
  {
    name: 'a call id for an item id',
    request: ask(user, { ...call('a'), id: 'call_a' }, out('a')),
    breaks: ['item-id-form'],
  },
  {
    name: 'an item id of 65 characters',
    request: ask(user, { ...thought, id: `rs_${'x'.repeat(62)}` }, done),
    breaks: ['item-id-form'],
  },
  { name: 'an empty item id', request: ask(user, { ...done, id: '' }), breaks: ['item-id-form'] },
  { name: 'reasoning at the end', request: ask(user, thought), breaks: ['reasoning-followed'] },
  { name: 'reasoning before the user', request: ask(user, thought, user), breaks: ['reasoning-followed'] },
  {
    name: 'reasoning before reasoning',
    request: ask(user, thought, { ...thought, id: 'rs_2' }, done),
    breaks: ['reasoning-followed'],
  },
  {
    name: 'reasoning before an output',
    request: ask(user, call('a'), thought, out('a')),
    breaks: ['reasoning-followed'],
  },
  {
    name: 'reasoning with content',
    request: ask(user, { ...thought, content: [{ type: 'reasoning_text', text: 'Hm.' }] }, done),
    breaks: ['reasoning-content-empty'],
  },
]

const elsewhere = Object.keys(serverRules)

testTables({ validate: validateOpenAiResponses, rules: openAiResponsesRules, good, broken, elsewhere })
