/** The Anthropic validator accepts valid requests, and reports the rules that others break. */

import { expect, test } from 'vitest'
import {
  anthropicRules,
  blockRules,
  serverRules,
  validateAnthropic,
} from '../../src/messages/anthropic/rules.ts'
import {
  user,
  done,
  text,
  thinking,
  redacted,
  call,
  result,
  failed,
  assistant,
  userWith,
  linked,
  png,
  cache_control,
  requestOf,
} from './anthropic-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const good: Good[] = [
  { name: 'one question', request: { messages: [user] } },
  {
    name: 'a system prompt as blocks',
    request: { system: [{ ...text('Be brief.'), cache_control }], messages: [user] },
  },
  { name: 'a finished exchange', request: requestOf(user, done) },
  {
    name: 'thinking and text between calls',
    request: requestOf(
      user,
      assistant(thinking, call('a'), thinking, text('Hm.'), call('b')),
      userWith(result('a'), result('b')),
    ),
  },
  {
    name: 'a call and its result',
    request: requestOf(user, assistant(call('toolu_1')), userWith(result('toolu_1'))),
  },
  {
    name: 'parallel calls, and a question after the results',
    request: requestOf(
      user,
      assistant(text('Looking.'), call('a'), call('b')),
      userWith(result('b'), result('a'), text('And?')),
    ),
  },
  {
    name: 'a user message after a message of results',
    request: requestOf(user, assistant(call('a')), userWith(result('a')), user),
  },
  { name: 'an empty result', request: requestOf(user, assistant(call('a')), userWith(result('a', ''))) },
  {
    name: 'a result without content',
    request: requestOf(user, assistant(call('a')), userWith({ type: 'tool_result', tool_use_id: 'a' })),
  },
  {
    name: 'an image in a result',
    request: requestOf(user, assistant(call('a')), userWith(result('a', [text('See'), png]))),
  },
  {
    name: 'an image after a failed result',
    request: requestOf(user, assistant(call('a')), userWith(failed('a', 'It broke.'), png)),
  },
  {
    name: 'signed and redacted thinking',
    request: requestOf(user, assistant(thinking, redacted, text('Ok.'), call('a')), userWith(result('a'))),
  },
  {
    name: 'signed thinking without text',
    request: requestOf(user, assistant({ ...thinking, thinking: '' }, text('Ok.')), user),
  },
  {
    name: 'images by URL and as base64',
    request: requestOf(userWith(text('Look.'), png, linked('https://example.com/a.png'))),
  },
  { name: 'consecutive messages of one role', request: requestOf(user, user, done, done) },
  { name: 'an empty final assistant message', request: requestOf(user, { role: 'assistant', content: '' }) },
  {
    name: 'white space at the end of a reply that is not last',
    request: requestOf(user, { role: 'assistant', content: 'Done. ' }, user),
  },
  {
    name: 'a tool name of 128 characters',
    request: requestOf(user, assistant(call('a', { path: '.' }, 'n'.repeat(128))), userWith(result('a'))),
  },
  {
    name: 'four cache marks',
    request: {
      system: [{ ...text('s'), cache_control: { ...cache_control, ttl: '1h' } }],
      messages: [
        userWith({ ...text('a'), cache_control: { ...cache_control, ttl: '1h' } }),
        assistant({ ...call('a'), cache_control: null }),
        userWith(
          { ...result('a'), cache_control: { ...cache_control, ttl: '5m' } },
          { ...text('b'), cache_control },
        ),
      ],
    },
  },
]

const broken: Broken[] = [
  { name: 'an empty list of messages', request: requestOf(), breaks: ['messages-nonempty'] },
  { name: 'an array instead of an object', request: [user], breaks: ['wrong-type'] },
  { name: 'a request without messages', request: { system: 'Be brief.' }, breaks: ['missing-field'] },
  {
    name: 'an undefined system field',
    request: { system: undefined, messages: [user] },
    breaks: ['json-only'],
  },
  {
    name: 'a Map as input',
    request: requestOf(user, assistant(call('a', new Map())), userWith(result('a'))),
    breaks: ['json-only', 'wrong-type'],
  },
  {
    name: 'a lone surrogate in the input',
    request: requestOf(user, assistant(call('a', { path: '\ud83d' })), userWith(result('a'))),
    breaks: ['text-well-formed'],
  },
  {
    name: 'a lone surrogate in a field name',
    request: requestOf(user, assistant(call('a', { '\ud83d': 1 })), userWith(result('a'))),
    breaks: ['text-well-formed'],
  },
  { name: 'null content', request: requestOf({ role: 'user', content: null }), breaks: ['wrong-type'] },
  {
    name: 'a number as an id',
    request: requestOf(
      user,
      assistant({ ...call('a'), id: 1 }),
      userWith({ ...result('a'), tool_use_id: 1 }),
    ),
    breaks: ['wrong-type'],
  },
  {
    name: 'thinking without a signature',
    request: requestOf(user, assistant({ type: 'thinking', thinking: 'Hm.' }, text('Ok.'))),
    breaks: ['missing-field'],
  },
  {
    name: 'a call without input',
    request: requestOf(user, assistant({ type: 'tool_use', id: 'a', name: 'ls' }), userWith(result('a'))),
    breaks: ['missing-field'],
  },
  {
    name: 'a cache mark on thinking',
    request: requestOf(user, assistant({ ...thinking, cache_control }, text('Ok.'))),
    breaks: ['unknown-field'],
  },
  {
    name: 'an index on a call',
    request: requestOf(user, assistant({ ...call('a'), index: 0 }), userWith(result('a'))),
    breaks: ['unknown-field'],
  },
  {
    name: 'a reasoning field on a message',
    request: requestOf(user, { ...done, reasoning_details: [] }),
    breaks: ['unknown-field'],
  },
  {
    name: 'the system role',
    request: requestOf(user, { role: 'system', content: 'Be brief.' }),
    breaks: ['system-role'],
  },
  {
    name: 'a system message before a user message',
    request: requestOf(user, { role: 'system', content: 'Be brief.' }, user),
    breaks: ['system-role', 'system-place'],
  },
  {
    name: 'the tool role',
    request: requestOf(user, { role: 'tool', content: 'a.txt' }),
    breaks: ['known-role'],
  },
  {
    name: 'the media type image/jpg',
    request: requestOf(
      userWith({ type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: 'aW1n' } }),
    ),
    breaks: ['wrong-type'],
  },
  {
    name: 'an image part of Chat Completions',
    request: requestOf(userWith({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } })),
    breaks: ['known-kind'],
  },
  {
    name: 'a call in a result',
    request: requestOf(user, assistant(call('a')), userWith(result('a', [call('b')]))),
    breaks: ['known-kind'],
  },
  {
    name: 'an image from the assistant',
    request: requestOf(user, assistant(png)),
    breaks: ['block-of-role'],
  },
  { name: 'a call from the user', request: requestOf(userWith(call('a'))), breaks: ['block-of-role'] },
  {
    name: 'a result from the assistant',
    request: requestOf(user, assistant(call('a'), result('a'))),
    breaks: ['block-of-role', 'calls-have-results', 'calls-last'],
  },
  { name: 'an assistant message at the start', request: requestOf(done, user), breaks: ['user-first'] },
  {
    name: 'an empty user message',
    request: requestOf({ role: 'user', content: '' }),
    breaks: ['message-nonempty'],
  },
  {
    name: 'an empty assistant message before the last',
    request: requestOf(user, assistant(), user),
    breaks: ['message-nonempty'],
  },
  {
    name: 'a call without a result',
    request: requestOf(user, assistant(call('a')), user),
    breaks: ['calls-have-results'],
  },
  {
    name: 'a call at the end',
    request: requestOf(user, assistant(call('a'))),
    breaks: ['calls-have-results'],
  },
  {
    name: 'only one of two results',
    request: requestOf(user, assistant(call('a'), call('b')), userWith(result('a'))),
    breaks: ['calls-have-results'],
  },
  {
    name: 'results in two messages',
    request: requestOf(user, assistant(call('a'), call('b')), userWith(result('a')), userWith(result('b'))),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result one message late',
    request: requestOf(user, assistant(call('a')), user, userWith(result('a'))),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result at the beginning',
    request: requestOf(userWith(result('a')), done),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'a result without a call',
    request: requestOf(user, assistant(call('a')), userWith(result('a'), result('b'))),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'two results of one call',
    request: requestOf(user, assistant(call('a')), userWith(result('a'), result('a'))),
    breaks: ['one-result-each'],
  },
  {
    name: 'a call id of an earlier turn',
    request: requestOf(
      user,
      assistant(call('a')),
      userWith(result('a')),
      assistant(call('a')),
      userWith(result('a')),
    ),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a call id of another provider',
    request: requestOf(user, assistant(call('functions.ls:0')), userWith(result('functions.ls:0'))),
    breaks: ['call-id-charset'],
  },
  {
    name: 'an empty call id',
    request: requestOf(user, assistant(call('')), userWith(result(''))),
    breaks: ['call-id-charset'],
  },
  {
    name: 'a tool name with a dot',
    request: requestOf(user, assistant(call('a', {}, 'fs.ls')), userWith(result('a'))),
    breaks: ['call-name'],
  },
  {
    name: 'a tool name of 129 characters',
    request: requestOf(user, assistant(call('a', {}, 'n'.repeat(129))), userWith(result('a'))),
    breaks: ['call-name'],
  },
  {
    name: 'a string as input',
    request: requestOf(user, assistant(call('a', '{"path":"."}')), userWith(result('a'))),
    breaks: ['wrong-type'],
  },
  {
    name: 'a list as input',
    request: requestOf(user, assistant(call('a', [])), userWith(result('a'))),
    breaks: ['wrong-type'],
  },
  {
    name: 'text before a result',
    request: requestOf(user, assistant(call('a')), userWith(text('Here.'), result('a'))),
    breaks: ['results-first'],
  },
  {
    name: 'an image between results',
    request: requestOf(user, assistant(call('a'), call('b')), userWith(result('a'), png, result('b'))),
    breaks: ['results-first'],
  },
  {
    name: 'text after a call',
    request: requestOf(user, assistant(call('a'), text('Looking.')), userWith(result('a'))),
    breaks: ['calls-last'],
  },
  {
    name: 'text between calls',
    request: requestOf(
      user,
      assistant(call('a'), text('Looking.'), call('b')),
      userWith(result('a'), result('b')),
    ),
    breaks: ['calls-last'],
  },
  {
    name: 'thinking after the last call',
    request: requestOf(user, assistant(thinking, call('a'), thinking, text('Well.')), userWith(result('a'))),
    breaks: ['calls-last'],
  },
]

testTables({
  validate: (request) => validateAnthropic(request),
  rules: Object.fromEntries(
    Object.entries(anthropicRules).filter(([id]) => !(id in blockRules) && !(id in serverRules)),
  ),
  good,
  broken,
  elsewhere: ['ends-with-user'],
})

test('the option `prefill: false` rejects a final assistant message', () => {
  const result = validateAnthropic(requestOf(user, done), { prefill: false })
  expect(result.map(({ rule }) => rule)).toEqual(['ends-with-user'])
  expect(validateAnthropic(requestOf(user, done, user), { prefill: false })).toEqual([])
})

const brokenRules = (...messages: unknown[]): string[] =>
  validateAnthropic(requestOf(...messages), { systemMessages: true }).map(({ rule }) => rule)

test('the option `systemMessages` accepts system messages, except two in a row', () => {
  const system = { role: 'system', content: 'Be brief.' }
  expect(brokenRules(user, system, done, user, system)).toEqual([])
  expect(brokenRules(user, system, system, done, user)).toEqual(['system-place'])
})
