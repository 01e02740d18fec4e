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
const shows = (...content: unknown[]) => ({ type: 'user_input', content })
const of = (...input: unknown[]) => ({ input })

const good: Good[] = [
  { name: 'one question', request: { system_instruction: 'Be brief.', ...of(user) } },
  { name: 'replies and questions', request: of(user, thought, done, user) },
  { name: 'a call and its result', request: of(user, thought, call('a'), result('a')) },
  {
    name: 'parallel calls under one thought, in any order of results',
    request: of(user, thought, call('a'), call('b'), result('b', { is_error: true }), result('a')),
  },
  {
    name: 'a call with a signature of its own',
    request: of(user, { ...call('a'), signature: 's' }, result('a')),
  },
  {
    name: 'turn after turn, and a question behind results',
    request: of(user, thought, call('a'), result('a'), thought, call('b'), result('b'), user),
  },
  {
    name: 'files by value, by address and in a result',
    request: of(
      shows(
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
    request: of(
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
    name: 'undefined',
    request: of({ ...user, content: [{ ...text('a'), annotations: [{ a: undefined }] }] }),
    breaks: ['json-only'],
  },
  { name: 'a lone surrogate', request: of(shows(text('\ud800'))), breaks: ['text-well-formed'] },
  { name: 'a number for a text', request: of(shows({ type: 'text', text: 7 })), breaks: ['wrong-type'] },
  {
    name: 'a call without arguments',
    request: of(user, thought, { type: 'function_call', id: 'a', name: 'ls' }, result('a')),
    breaks: ['missing-field'],
  },
  {
    name: 'a mark of another cache',
    request: of(shows({ ...text('a'), cache_control: {} })),
    breaks: ['unknown-field'],
  },
  { name: 'an unknown step', request: of(user, { type: 'guess' }, user), breaks: ['known-kind'] },
  { name: 'an unknown content', request: of(shows({ type: 'smell' })), breaks: ['known-kind'] },
  { name: 'no steps', request: of(), breaks: ['user-ends'] },
  { name: 'a reply first', request: of(done, user), breaks: ['user-ends'] },
  { name: 'a reply last', request: of(user, done), breaks: ['user-ends'] },
  { name: 'an empty input', request: of(shows()), breaks: ['content-nonempty'] },
  { name: 'an empty text', request: of(shows(text(''))), breaks: ['content-nonempty'] },
  {
    name: 'a call without a result',
    request: of(user, thought, call('a'), user),
    breaks: ['calls-have-results'],
  },
  {
    name: 'two results',
    request: of(user, thought, call('a'), result('a'), result('a')),
    breaks: ['one-result-each'],
  },
  { name: 'a result without a call', request: of(user, result('a')), breaks: ['results-follow-calls'] },
  {
    name: 'an id twice',
    request: of(user, thought, call('a'), result('a'), thought, call('a'), result('a')),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a name that a digit leads',
    request: of(user, thought, call('a', '1'), result('a')),
    breaks: ['function-name'],
  },
  {
    name: 'a thought without a signature',
    request: of(user, { ...thought, signature: '' }, done, user),
    breaks: ['thought-signed'],
  },
  {
    name: 'a call without a signed thought',
    request: of(user, done, call('a'), result('a')),
    breaks: ['first-call-signed'],
  },
  {
    name: 'a thought of the turn before',
    request: of(user, thought, call('a'), result('a'), call('b'), result('b')),
    breaks: ['first-call-signed'],
  },
  { name: 'bytes that are none', request: of(shows({ ...png, data: '?' })), breaks: ['media'] },
  {
    name: 'bytes and an address',
    request: of(shows({ ...png, uri: 'https://example.com/a' })),
    breaks: ['media'],
  },
  {
    name: 'a plain address',
    request: of(shows({ type: 'image', mime_type: 'image/png', uri: 'http://example.com/a' })),
    breaks: ['media'],
  },
  { name: 'a sound as an image', request: of(shows({ ...png, mime_type: 'audio/wav' })), breaks: ['media'] },
]

testTables({ validate: validateInteractions, rules: interactionsRules, good, broken })
