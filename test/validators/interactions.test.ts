/** The Interactions validator accepts valid requests, and reports the rules that others break. */

import { interactionsRules, validateInteractions } from '../../src/messages/interactions/rules.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const text = (value: string) => ({ type: 'text', text: value })
const user = { type: 'user_input', content: [text('List the files.')] }
const done = { type: 'model_output', content: [text('Done.')] }
const thought = { type: 'thought', signature: 'c2ln', summary: [text('Hm.')] }
const call = (id: string, name = 'ls') => ({ type: 'function_call', id, name, arguments: { path: '.' } })
const result = (call_id: string, more: object = {}) => ({
  type: 'function_result',
  call_id,
  name: 'ls',
  result: 'a.txt',
  ...more,
})
const png = { type: 'image', mime_type: 'image/png', data: 'aW1n' }
const userWith = (...content: unknown[]) => ({ type: 'user_input', content })
const requestOf = (...input: unknown[]) => ({ input })

const good: Good[] = [
  { name: 'one question', request: { system_instruction: 'Be brief.', ...requestOf(user) } },
  { name: 'replies and questions', request: requestOf(user, thought, done, user) },
  { name: 'a call and its result', request: requestOf(user, thought, call('a'), result('a')) },
  {
    name: 'parallel calls after one thought, with results in any order',
    request: requestOf(user, thought, call('a'), call('b'), result('b', { is_error: true }), result('a')),
  },
  {
    name: 'a call with its own signature',
    request: requestOf(user, { ...call('a'), signature: 's' }, result('a')),
  },
  {
    name: 'calls in consecutive turns, and a question after results',
    request: requestOf(user, thought, call('a'), result('a'), thought, call('b'), result('b'), user),
  },
  {
    name: 'files as base64, by URL and in a result',
    request: requestOf(
      userWith(
        png,
        { type: 'image', mime_type: 'image/jpeg', uri: 'https://example.com/a' },
        { type: 'document', mime_type: 'application/pdf', data: 'JVBERi0x' },
        { type: 'audio', mime_type: 'audio/wav', data: 'aW1n' },
      ),
      thought,
      call('a'),
      result('a', { result: [text('See.'), png] }),
    ),
  },
  {
    name: 'steps of the provider',
    request: requestOf(
      user,
      { type: 'google_search_call', id: 's', arguments: { queries: ['oak'] }, signature: 's' },
      { type: 'google_search_result', call_id: 's', result: [{ search_suggestions: '' }] },
      { type: 'model_output', content: [{ ...text('Oak.'), annotations: [{ type: 'url_citation' }] }, png] },
      user,
    ),
  },
]

const broken: Broken[] = [
  {
    name: 'an undefined field',
    request: requestOf({ ...user, content: [{ ...text('a'), annotations: [{ a: undefined }] }] }),
    breaks: ['json-only'],
  },
  { name: 'a lone surrogate', request: requestOf(userWith(text('\ud800'))), breaks: ['text-well-formed'] },
  {
    name: 'a number as text',
    request: requestOf(userWith({ type: 'text', text: 7 })),
    breaks: ['wrong-type'],
  },
  {
    name: 'a call without arguments',
    request: requestOf(user, thought, { type: 'function_call', id: 'a', name: 'ls' }, result('a')),
    breaks: ['missing-field'],
  },
  {
    name: 'a cache mark of another provider',
    request: requestOf(userWith({ ...text('a'), cache_control: {} })),
    breaks: ['unknown-field'],
  },
  { name: 'an unknown step', request: requestOf(user, { type: 'guess' }, user), breaks: ['known-kind'] },
  {
    name: 'content of an unknown type',
    request: requestOf(userWith({ type: 'smell' })),
    breaks: ['known-kind'],
  },
  { name: 'an empty input', request: requestOf(), breaks: ['user-ends'] },
  { name: 'a reply at the start', request: requestOf(done, user), breaks: ['user-ends'] },
  { name: 'a reply at the end', request: requestOf(user, done), breaks: ['user-ends'] },
  { name: 'a user step without content', request: requestOf(userWith()), breaks: ['content-nonempty'] },
  { name: 'an empty text', request: requestOf(userWith(text(''))), breaks: ['content-nonempty'] },
  {
    name: 'a call without a result',
    request: requestOf(user, thought, call('a'), user),
    breaks: ['calls-have-results'],
  },
  {
    name: 'two results of one call',
    request: requestOf(user, thought, call('a'), result('a'), result('a')),
    breaks: ['one-result-each'],
  },
  {
    name: 'a result without a call',
    request: requestOf(user, result('a')),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'a repeated call id',
    request: requestOf(user, thought, call('a'), result('a'), thought, call('a'), result('a')),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a function name that starts with a digit',
    request: requestOf(user, thought, call('a', '1'), result('a')),
    breaks: ['function-name'],
  },
  {
    name: 'a thought without a signature',
    request: requestOf(user, { ...thought, signature: '' }, done, user),
    breaks: ['thought-signed'],
  },
  {
    name: 'a call without a signed thought',
    request: requestOf(user, done, call('a'), result('a')),
    breaks: ['first-call-signed'],
  },
  {
    name: 'a call that only a thought of an earlier turn signs',
    request: requestOf(user, thought, call('a'), result('a'), call('b'), result('b')),
    breaks: ['first-call-signed'],
  },
  { name: 'invalid base64', request: requestOf(userWith({ ...png, data: '?' })), breaks: ['media'] },
  {
    name: 'base64 and a URL',
    request: requestOf(userWith({ ...png, uri: 'https://example.com/a' })),
    breaks: ['media'],
  },
  {
    name: 'an http URL',
    request: requestOf(userWith({ type: 'image', mime_type: 'image/png', uri: 'http://example.com/a' })),
    breaks: ['media'],
  },
  {
    name: 'an image with an audio type',
    request: requestOf(userWith({ ...png, mime_type: 'audio/wav' })),
    breaks: ['media'],
  },
]

testTables({ validate: validateInteractions, rules: interactionsRules, good, broken })
