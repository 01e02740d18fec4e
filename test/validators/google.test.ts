/** The Gemini validator accepts valid requests, and reports the rules that others break. */

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
const requestOf = (...contents: unknown[]) => ({ contents })

const good: Good[] = [
  { name: 'one question', request: requestOf(user) },
  {
    name: 'a system instruction',
    request: { systemInstruction: { parts: [{ text: 'Be brief.' }] }, contents: [user, done, user] },
  },
  { name: 'a call and its result', request: requestOf(user, calls(call('a')), results(result('a'))) },
  { name: 'calls without ids', request: requestOf(user, calls(call(), call()), results(result(), result())) },
  {
    name: 'parallel calls with a signature on the first',
    request: requestOf(user, calls(call('a'), call('b')), results(result('a'), result('b', { error: '' }))),
  },
  {
    name: 'calls in consecutive turns, and text after results',
    request: requestOf(
      user,
      calls(call('a')),
      results(result('a')),
      calls(call('b')),
      results(result('b')),
      user,
    ),
  },
  {
    name: 'thoughts, and a signature on an empty text',
    request: requestOf(
      user,
      {
        role: 'model',
        parts: [{ text: 'Hm.', thought: true }, { text: 'Ok.' }, { text: '', thoughtSignature: 's' }],
      },
      user,
    ),
  },
  {
    name: 'images as base64, by URL and in a result',
    request: requestOf(
      results(png, { fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/a' } }),
      calls(call('a')),
      results({ functionResponse: { id: 'a', name: 'ls', response: { output: '' }, parts: [png] } }),
    ),
  },
  {
    name: 'code that the provider executed',
    request: requestOf(
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
    name: 'a function name of 64 characters',
    request: requestOf(
      user,
      calls(call('a', 'n'.repeat(64))),
      results(result('a', { output: '' }, 'n'.repeat(64))),
    ),
  },
  {
    name: 'a function name with a dot and a colon',
    request: requestOf(user, calls(call('a', '_a.b:c')), results(result('a', { output: '' }, '_a.b:c'))),
  },
]

const broken: Broken[] = [
  { name: 'empty contents', request: requestOf(), breaks: ['contents-nonempty'] },
  { name: 'a request without contents', request: {}, breaks: ['missing-field'] },
  {
    name: 'an undefined field',
    request: requestOf({ role: 'user', parts: [{ text: 'a', thought: undefined }] }),
    breaks: ['json-only'],
  },
  {
    name: 'a lone surrogate',
    request: requestOf({ role: 'user', parts: [{ text: 'ok \ud83d' }] }),
    breaks: ['text-well-formed'],
  },
  {
    name: 'a number as text',
    request: requestOf({ role: 'user', parts: [{ text: 7 }] }),
    breaks: ['wrong-type'],
  },
  {
    name: 'a turn without a role',
    request: requestOf({ parts: [{ text: 'a' }] }),
    breaks: ['missing-field', 'user-first', 'user-last'],
  },
  {
    name: 'a field of another provider',
    request: requestOf({ role: 'user', parts: [{ text: 'a', cache_control: {} }] }),
    breaks: ['unknown-field'],
  },
  {
    name: 'the role assistant',
    request: requestOf(user, { role: 'assistant', parts: [{ text: 'a' }] }, user),
    breaks: ['known-role'],
  },
  { name: 'an empty part', request: requestOf({ role: 'user', parts: [{}] }), breaks: ['known-kind'] },
  {
    name: 'a part of two kinds',
    request: requestOf({ role: 'user', parts: [{ text: 'a', ...png }] }),
    breaks: ['known-kind'],
  },
  {
    name: 'a turn without parts',
    request: requestOf({ role: 'user', parts: [] }),
    breaks: ['parts-nonempty'],
  },
  {
    name: 'an empty system instruction',
    request: { systemInstruction: { parts: [] }, contents: [user] },
    breaks: ['parts-nonempty'],
  },
  {
    name: 'an empty text',
    request: requestOf({ role: 'user', parts: [{ text: '' }] }),
    breaks: ['text-nonempty'],
  },
  { name: 'a model turn at the start', request: requestOf(done, user), breaks: ['user-first'] },
  { name: 'a model turn at the end', request: requestOf(user, done), breaks: ['user-last'] },
  {
    name: 'two consecutive model turns',
    request: requestOf(user, done, done, user),
    breaks: ['models-apart'],
  },
  {
    name: 'a thought in a user turn',
    request: requestOf({ role: 'user', parts: [{ text: 'a', thought: true }] }),
    breaks: ['parts-by-role'],
  },
  {
    name: 'a result in a model turn',
    request: requestOf(user, calls(call('a')), { role: 'model', parts: [result('a')] }, user),
    breaks: ['models-apart', 'parts-by-role'],
  },
  {
    name: 'text next to a result',
    request: requestOf(user, calls(call('a')), results(result('a'), { text: 'and?' })),
    breaks: ['results-alone'],
  },
  {
    name: 'a call without a result',
    request: requestOf(user, calls(call('a')), user),
    breaks: ['calls-have-results'],
  },
  {
    name: 'results in separate turns',
    request: requestOf(user, calls(call('a'), call('b')), results(result('a')), results(result('b'))),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'the result of another function',
    request: requestOf(user, calls(call('a')), results(result('a', { output: '' }, 'cat'))),
    breaks: ['calls-have-results'],
  },
  {
    name: 'a result without a call',
    request: requestOf(user, results(result('a'))),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'a result with a different id',
    request: requestOf(user, calls(call('a')), results(result('b'))),
    breaks: ['ids-pair'],
  },
  {
    name: 'a result with an id for a call without one',
    request: requestOf(user, calls(call()), results(result('b'))),
    breaks: ['ids-pair'],
  },
  {
    name: 'a repeated call id',
    request: requestOf(user, calls(call('a'), call('a')), results(result('a'), result('a'))),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a function name that starts with a digit',
    request: requestOf(user, calls(call('a', '1ls')), results(result('a', { output: '' }, '1ls'))),
    breaks: ['function-name'],
  },
  {
    name: 'a function name of 65 characters',
    request: requestOf(
      user,
      calls(call('a', 'n'.repeat(65))),
      results(result('a', { output: '' }, 'n'.repeat(65))),
    ),
    breaks: ['function-name'],
  },
  {
    name: 'a first call without a signature',
    request: requestOf(user, { role: 'model', parts: [call('a')] }, results(result('a'))),
    breaks: ['first-call-signed'],
  },
  {
    name: 'a response without output or error',
    request: requestOf(user, calls(call('a')), results(result('a', { text: '' }))),
    breaks: ['response-says-which'],
  },
  {
    name: 'a GIF image',
    request: requestOf(results({ inlineData: { mimeType: 'image/gif', data: 'R0lGODlh' } })),
    breaks: ['media'],
  },
  {
    name: 'invalid base64',
    request: requestOf(results({ inlineData: { mimeType: 'image/png', data: '=' } })),
    breaks: ['media'],
  },
  {
    name: 'a file: URL',
    request: requestOf(results({ fileData: { mimeType: 'image/png', fileUri: 'file:///a.png' } })),
    breaks: ['media'],
  },
]

testTables({ validate: validateGoogle, rules: googleRules, good, broken })
