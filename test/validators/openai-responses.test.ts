/** The Responses validator accepts valid requests, and reports the rules that others break. */

import {
  openAiResponsesRules,
  serverRules,
  validateOpenAiResponses,
} from '../../src/messages/openai-responses/rules.ts'
import { requestOf, call, done, output, message, user } from './openai-responses-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const png = 'data:image/png;base64,aW1n'
const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
const image = (image_url: string) => ({ type: 'input_image', image_url, detail: 'auto' })
const imageRequest = (url: string) => requestOf({ role: 'user', content: [image(url)] })

const good: Good[] = [
  { name: 'one question', request: requestOf(user) },
  { name: 'null as instructions', request: { instructions: null, input: [user] } },
  {
    name: 'messages in the short form',
    request: requestOf({ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hi' }),
  },
  {
    name: 'a developer message at the start',
    request: requestOf({ role: 'developer', content: 'Be brief.' }, user),
  },
  { name: 'a call and its output', request: requestOf(user, call('a'), output('a'), done) },
  {
    name: 'parallel calls with outputs in another order',
    request: requestOf(user, call('a'), call('b'), output('b'), output('a')),
  },
  { name: 'text before a call', request: requestOf(user, message('Looking.'), call('a'), output('a')) },
  { name: 'text after a call', request: requestOf(user, call('a'), message('Looking.'), output('a')) },
  {
    name: 'calls in consecutive turns',
    request: requestOf(user, call('a'), output('a'), call('b'), output('b')),
  },
  { name: 'an empty output', request: requestOf(user, call('a'), output('a', '')) },
  {
    name: 'an image in an output',
    request: requestOf(user, call('a'), output('a', [{ type: 'input_text', text: 'See' }, image(png)])),
  },
  { name: 'reasoning before a call', request: requestOf(user, thought, call('a'), output('a')) },
  {
    name: 'reasoning before each of two calls',
    request: requestOf(
      user,
      thought,
      call('a'),
      { ...thought, id: 'rs_2' },
      call('b'),
      output('a'),
      output('b'),
    ),
  },
  {
    name: 'reasoning before a message',
    request: requestOf(user, { ...thought, summary: [{ type: 'summary_text', text: 'Hm.' }] }, done, user),
  },
  {
    name: 'reasoning without id and with empty content',
    request: requestOf(user, { type: 'reasoning', summary: [], content: [] }, done),
  },
  {
    name: 'reasoning before a search',
    request: requestOf(
      user,
      thought,
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
      done,
    ),
  },
  {
    name: 'a custom call with free text',
    request: requestOf(
      user,
      { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: 'select 1' },
      { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
    ),
  },
  {
    name: 'items with ids',
    request: requestOf(
      user,
      { ...done, id: 'msg_1' },
      { ...call('a'), id: 'fc_1', status: 'completed' },
      output('a'),
    ),
  },
  {
    name: 'a call id and a tool name of 64 characters',
    request: requestOf(user, call('x'.repeat(64), '{}', 'n'.repeat(64)), output('x'.repeat(64))),
  },
  {
    name: 'a file and an image by id',
    request: requestOf({
      role: 'user',
      content: [
        { type: 'input_file', file_id: 'file-1' },
        { type: 'input_image', file_id: 'file-2', detail: 'low' },
      ],
    }),
  },
  { name: 'an image by URL', request: imageRequest('https://example.com/a.png') },
  {
    name: 'a refusal',
    request: requestOf(user, { ...done, content: [{ type: 'refusal', refusal: 'No.' }] }),
  },
  {
    name: 'a phase and annotations',
    request: requestOf(
      user,
      { ...done, phase: 'commentary', content: [{ type: 'output_text', text: 'Hm.', annotations: [] }] },
      user,
    ),
  },
]

const broken: Broken[] = [
  { name: 'an empty input', request: requestOf(), breaks: ['input-nonempty'] },
  { name: 'a string as input', request: { instructions: null, input: 'Hi' }, breaks: ['wrong-type'] },
  { name: 'a request without instructions', request: { input: [user] }, breaks: ['missing-field'] },
  { name: 'a model field', request: { ...requestOf(user), model: 'gpt' }, breaks: ['unknown-field'] },
  {
    name: 'blank instructions',
    request: { instructions: ' ', input: [user] },
    breaks: ['instructions-nonblank'],
  },
  { name: 'an undefined id', request: requestOf({ ...user, id: undefined }), breaks: ['json-only'] },
  {
    name: 'NaN as an id',
    request: requestOf({ ...user, id: Number.NaN }),
    breaks: ['json-only', 'wrong-type'],
  },
  {
    name: 'a lone surrogate',
    request: requestOf({ role: 'user', content: '\udc4d' }),
    breaks: ['text-well-formed'],
  },
  {
    name: 'an output that is an object',
    request: requestOf(user, call('a'), output('a', { files: [] })),
    breaks: ['wrong-type'],
  },
  {
    name: 'null as an output',
    request: requestOf(user, call('a'), output('a', null)),
    breaks: ['wrong-type'],
  },
  {
    name: 'arguments as an object',
    request: requestOf(user, { ...call('a'), arguments: {} }, output('a')),
    breaks: ['wrong-type'],
  },
  {
    name: 'strings in a summary',
    request: requestOf(user, { ...thought, summary: ['Hm.'] }, done),
    breaks: ['wrong-type'],
  },
  {
    name: 'an output item without output',
    request: requestOf(user, call('a'), { type: 'function_call_output', call_id: 'a' }),
    breaks: ['missing-field'],
  },
  {
    name: 'reasoning without summary',
    request: requestOf(user, { type: 'reasoning', id: 'rs_1' }, done),
    breaks: ['missing-field'],
  },
  {
    name: 'a call without an id',
    request: requestOf(user, { type: 'function_call', name: 'ls', arguments: '{}' }),
    breaks: ['missing-field', 'calls-have-results'],
  },
  {
    name: 'a message without a role',
    request: requestOf({ content: 'Hi' }),
    breaks: ['missing-field', 'user-first'],
  },
  {
    name: 'reasoning with a status',
    request: requestOf(user, { ...thought, status: 'completed' }, done),
    breaks: ['unknown-field'],
  },
  {
    name: 'a message with metadata',
    request: requestOf({ ...user, metadata: {} }),
    breaks: ['unknown-field'],
  },
  {
    name: 'a `tool_calls` field on a message',
    request: requestOf(user, { ...done, tool_calls: [] }),
    breaks: ['unknown-field'],
  },
  {
    name: 'the tool role',
    request: requestOf(user, { role: 'tool', content: 'a.txt' }),
    breaks: ['known-role'],
  },
  {
    name: 'an item reference',
    request: requestOf(user, { type: 'item_reference', id: 'fc_1' }),
    breaks: ['known-kind'],
  },
  {
    name: 'a text part of Chat Completions',
    request: requestOf({ role: 'user', content: [{ type: 'text', text: 'Hi' }] }),
    breaks: ['known-kind'],
  },
  {
    name: 'a system message after a user message',
    request: requestOf(user, { role: 'system', content: 'Be brief.' }),
    breaks: ['system-first'],
  },
  { name: 'an assistant message at the start', request: requestOf(done, user), breaks: ['user-first'] },
  { name: 'a call at the start', request: requestOf(call('a'), output('a')), breaks: ['user-first'] },
  {
    name: 'an empty question',
    request: requestOf({ role: 'user', content: '' }),
    breaks: ['content-nonempty'],
  },
  {
    name: 'an empty content array',
    request: requestOf(user, { role: 'assistant', content: [] }, user),
    breaks: ['content-nonempty'],
  },
  { name: 'an empty text part', request: requestOf(user, message('')), breaks: ['content-nonempty'] },
  {
    name: 'an empty output array',
    request: requestOf(user, call('a'), output('a', [])),
    breaks: ['content-nonempty'],
  },
  {
    name: 'input text from the assistant',
    request: requestOf(user, { ...user, role: 'assistant' }),
    breaks: ['part-of-role'],
  },
  {
    name: 'output text from the user',
    request: requestOf({ ...done, role: 'user' }),
    breaks: ['part-of-role'],
  },
  {
    name: 'an image in a system message',
    request: requestOf({ role: 'system', content: [image(png)] }, user),
    breaks: ['images-from-user'],
  },
  {
    name: 'an image from the assistant',
    request: requestOf(user, { role: 'assistant', content: [image(png)] }),
    breaks: ['images-from-user', 'part-of-role'],
  },
  { name: 'plain base64 as an image URL', request: imageRequest('aW1n'), breaks: ['image-url'] },
  {
    name: 'a file with both an id and a URL',
    request: requestOf({
      role: 'user',
      content: [{ type: 'input_file', file_id: 'f', file_url: 'https://x.org' }],
    }),
    breaks: ['file-source'],
  },
  {
    name: 'file data without a file name',
    request: requestOf({
      role: 'user',
      content: [{ type: 'input_file', file_data: 'data:a/b;base64,aW1n' }],
    }),
    breaks: ['file-source'],
  },
  {
    name: 'an image without a source',
    request: requestOf({ role: 'user', content: [{ type: 'input_image', detail: 'auto' }] }),
    breaks: ['file-source'],
  },
  { name: 'an image without data', request: imageRequest('data:image/png;base64,'), breaks: ['image-url'] },
  {
    name: 'a BMP image in an output',
    request: requestOf(user, call('a'), output('a', [image('data:image/bmp;base64,aW1n')])),
    breaks: ['image-url'],
  },
  { name: 'a call without an output', request: requestOf(user, call('a')), breaks: ['calls-have-results'] },
  {
    name: 'a user message before the output',
    request: requestOf(user, call('a'), user, output('a')),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'an output one turn late',
    request: requestOf(user, call('a'), call('b'), output('b'), done, output('a')),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'an output without a call',
    request: requestOf(user, output('a'), done),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'an output before its call',
    request: requestOf(user, output('a'), call('a')),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'two outputs of one call',
    request: requestOf(user, call('a'), output('a'), output('a')),
    breaks: ['one-result-each'],
  },
  {
    name: 'a call_id of an earlier turn',
    request: requestOf(user, call('a'), output('a'), user, call('a'), output('a')),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a call_id of 65 characters',
    request: requestOf(user, call('x'.repeat(65)), output('x'.repeat(65))),
    breaks: ['call-id-length'],
  },
  { name: 'an empty call_id', request: requestOf(user, call(''), output('')), breaks: ['call-id-length'] },
  {
    name: 'a call_id with a tab',
    request: requestOf(user, call('a\tb'), output('a\tb')),
    breaks: ['call-id-charset'],
  },
  {
    name: 'a tool name with a slash',
    request: requestOf(user, call('a', '{}', 'fs/ls'), output('a')),
    breaks: ['call-name'],
  },
  {
    name: 'a tool name of 65 characters',
    request: requestOf(user, call('a', '{}', 'n'.repeat(65)), output('a')),
    breaks: ['call-name'],
  },
  {
    name: 'arguments that are a JSON string',
    request: requestOf(user, call('a', '"ls"'), output('a')),
    breaks: ['arguments-object'],
  },
  {
    name: 'arguments that are not JSON',
    request: requestOf(user, call('a', '{path}'), output('a')),
    breaks: ['arguments-object'],
  },
  {
    name: 'a repeated item id',
    request: requestOf(user, thought, done, user, thought, done),
    breaks: ['item-ids-unique'],
  },
  {
    name: 'a reasoning id with a wrong prefix',
    request: requestOf(user, { ...thought, id: 'item_1' }, done),
    breaks: ['item-id-form'],
  },
  {
    name: 'a call id as an item id',
    request: requestOf(user, { ...call('a'), id: 'call_a' }, output('a')),
    breaks: ['item-id-form'],
  },
  {
    name: 'an item id of 65 characters',
    request: requestOf(user, { ...thought, id: `rs_${'x'.repeat(62)}` }, done),
    breaks: ['item-id-form'],
  },
  { name: 'an empty item id', request: requestOf(user, { ...done, id: '' }), breaks: ['item-id-form'] },
  { name: 'reasoning at the end', request: requestOf(user, thought), breaks: ['reasoning-followed'] },
  {
    name: 'reasoning before a user message',
    request: requestOf(user, thought, user),
    breaks: ['reasoning-followed'],
  },
  {
    name: 'reasoning before reasoning',
    request: requestOf(user, thought, { ...thought, id: 'rs_2' }, done),
    breaks: ['reasoning-followed'],
  },
  {
    name: 'reasoning before an output',
    request: requestOf(user, call('a'), thought, output('a')),
    breaks: ['reasoning-followed'],
  },
  {
    name: 'reasoning with content',
    request: requestOf(user, { ...thought, content: [{ type: 'reasoning_text', text: 'Hm.' }] }, done),
    breaks: ['reasoning-content-empty'],
  },
]

const elsewhere = Object.keys(serverRules)

testTables({ validate: validateOpenAiResponses, rules: openAiResponsesRules, good, broken, elsewhere })
