import { googleRules, validateGoogle } from '../../src/messages/google/rules.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const user = { role: 'user', parts: [{ text: 'List the files.' }] }
const done = { role: 'model', parts: [{ text: 'Done.', thoughtSignature: 'c2ln' }] }
const call = (id?: string, name = 'ls') => ({
  functionCall: { ...(id === undefined ? {} : { id }), name, args: { path: '.' } },
})
const calls = (first: object, ...rest: unknown[]) => ({
  role: 'model',
  parts: [{ ...first, thoughtSignature: 'c2ln' }, ...rest],
})
const result = (id?: string, response: object = { output: 'a.txt' }, name = 'ls') => ({
  functionResponse: { ...(id === undefined ? {} : { id }), name, response },
})
const results = (...parts: unknown[]) => ({ role: 'user', parts })
const png = { inlineData: { mimeType: 'image/png', data: 'aW1n' } }
const of = (...contents: unknown[]) => ({ contents })

const good: Good[] = [
  { name: 'one question', request: of(user) },
  {
    name: 'a system instruction',
    request: { systemInstruction: { parts: [{ text: 'Be brief.' }] }, contents: [user, done, user] },
  },
  { name: 'a call and its result', request: of(user, calls(call('a')), results(result('a'))) },
  { name: 'calls without ids', request: of(user, calls(call(), call()), results(result(), result())) },
  {
    name: 'parallel calls, of which the first is signed',
    request: of(user, calls(call('a'), call('b')), results(result('a'), result('b', { error: '' }))),
  },
  {
    name: 'calls turn after turn, and words behind results',
    request: of(user, calls(call('a')), results(result('a')), calls(call('b')), results(result('b')), user),
  },
  {
    name: 'thoughts, and a signature on an empty text',
    request: of(
      user,
      {
        role: 'model',
        parts: [{ text: 'Hm.', thought: true }, { text: 'Ok.' }, { text: '', thoughtSignature: 's' }],
      },
      user,
    ),
  },
  {
    name: 'images by value, by address and in a result',
    request: of(
      results(png, { fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/a' } }),
      calls(call('a')),
      results({ functionResponse: { id: 'a', name: 'ls', response: { output: '' }, parts: [png] } }),
    ),
  },
  {
    name: 'code that the provider has executed',
    request: of(
      user,
      {
        role: 'model',
        parts: [
          { executableCode: { language: 'PYTHON', code: '1' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
        ],
      },
      user,
    ),
  },
  {
    name: 'the longest name',
    request: of(user, calls(call('a', 'n'.repeat(64))), results(result('a', { output: '' }, 'n'.repeat(64)))),
  },
  {
    name: 'a name with dots',
    request: of(user, calls(call('a', '_a.b:c')), results(result('a', { output: '' }, '_a.b:c'))),
  },
]

const broken: Broken[] = [
  { name: 'no contents', request: of(), breaks: ['contents-nonempty'] },
  { name: 'contents left out', request: {}, breaks: ['missing-field'] },
  {
    name: 'an undefined field',
    request: of({ role: 'user', parts: [{ text: 'a', thought: undefined }] }),
    breaks: ['json-only'],
  },
  {
    name: 'half an emoji',
    request: of({ role: 'user', parts: [{ text: 'ok \ud83d' }] }),
    breaks: ['text-well-formed'],
  },
  { name: 'a number for text', request: of({ role: 'user', parts: [{ text: 7 }] }), breaks: ['wrong-type'] },
  {
    name: 'no role',
    request: of({ parts: [{ text: 'a' }] }),
    breaks: ['missing-field', 'user-first', 'user-last'],
  },
  {
    name: 'a field of another provider',
    request: of({ role: 'user', parts: [{ text: 'a', cache_control: {} }] }),
    breaks: ['unknown-field'],
  },
  {
    name: 'the assistant',
    request: of(user, { role: 'assistant', parts: [{ text: 'a' }] }, user),
    breaks: ['known-role'],
  },
  { name: 'a part of nothing', request: of({ role: 'user', parts: [{}] }), breaks: ['known-kind'] },
  {
    name: 'a part of two kinds',
    request: of({ role: 'user', parts: [{ text: 'a', ...png }] }),
    breaks: ['known-kind'],
  },
  { name: 'no parts', request: of({ role: 'user', parts: [] }), breaks: ['parts-nonempty'] },
  {
    name: 'an empty system instruction',
    request: { systemInstruction: { parts: [] }, contents: [user] },
    breaks: ['parts-nonempty'],
  },
  { name: 'an empty text', request: of({ role: 'user', parts: [{ text: '' }] }), breaks: ['text-nonempty'] },
  { name: 'the model first', request: of(done, user), breaks: ['user-first'] },
  { name: 'the model last', request: of(user, done), breaks: ['user-last'] },
  { name: 'the model twice', request: of(user, done, done, user), breaks: ['models-apart'] },
  {
    name: 'a thought of the user',
    request: of({ role: 'user', parts: [{ text: 'a', thought: true }] }),
    breaks: ['parts-by-role'],
  },
  {
    name: 'a result of the model',
    request: of(user, calls(call('a')), { role: 'model', parts: [result('a')] }, user),
    breaks: ['models-apart', 'parts-by-role'],
  },
  {
    name: 'words beside a result',
    request: of(user, calls(call('a')), results(result('a'), { text: 'and?' })),
    breaks: ['results-alone'],
  },
  { name: 'no result', request: of(user, calls(call('a')), user), breaks: ['calls-have-results'] },
  {
    name: 'results in contents of their own',
    request: of(user, calls(call('a'), call('b')), results(result('a')), results(result('b'))),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'the result of another function',
    request: of(user, calls(call('a')), results(result('a', { output: '' }, 'cat'))),
    breaks: ['calls-have-results'],
  },
  { name: 'a result of no call', request: of(user, results(result('a'))), breaks: ['results-follow-calls'] },
  {
    name: 'the id of another call',
    request: of(user, calls(call('a')), results(result('b'))),
    breaks: ['ids-pair'],
  },
  { name: 'an id of no call', request: of(user, calls(call()), results(result('b'))), breaks: ['ids-pair'] },
  {
    name: 'an id twice',
    request: of(user, calls(call('a'), call('a')), results(result('a'), result('a'))),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a digit first',
    request: of(user, calls(call('a', '1ls')), results(result('a', { output: '' }, '1ls'))),
    breaks: ['function-name'],
  },
  {
    name: 'a long name',
    request: of(user, calls(call('a', 'n'.repeat(65))), results(result('a', { output: '' }, 'n'.repeat(65)))),
    breaks: ['function-name'],
  },
  {
    name: 'a first call without a signature',
    request: of(user, { role: 'model', parts: [call('a')] }, results(result('a'))),
    breaks: ['first-call-signed'],
  },
  {
    name: 'a response that says neither',
    request: of(user, calls(call('a')), results(result('a', { text: '' }))),
    breaks: ['response-says-which'],
  },
  {
    name: 'a gif',
    request: of(results({ inlineData: { mimeType: 'image/gif', data: 'R0lGODlh' } })),
    breaks: ['media'],
  },
  {
    name: 'bytes that are none',
    request: of(results({ inlineData: { mimeType: 'image/png', data: '=' } })),
    breaks: ['media'],
  },
  {
    name: 'a file of the machine',
    request: of(results({ fileData: { mimeType: 'image/png', fileUri: 'file:///a.png' } })),
    breaks: ['media'],
  },
]

testTables({ validate: validateGoogle, rules: googleRules, good, broken })
