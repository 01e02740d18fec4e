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
  from,
  linked,
  png,
  cache_control,
  ask,
} from './anthropic-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const good: Good[] = [
  { name: 'one question', request: { messages: [user] } },
  {
    name: 'system as blocks',
    request: { system: [{ ...text('Be brief.'), cache_control }], messages: [user] },
  },
  { name: 'a finished exchange', request: ask(user, done) },
  {
    name: 'thinking and words between calls',
    request: ask(
      user,
      assistant(thinking, call('a'), thinking, text('Hm.'), call('b')),
      from(result('a'), result('b')),
    ),
  },
  { name: 'a call and its result', request: ask(user, assistant(call('toolu_1')), from(result('toolu_1'))) },
  {
    name: 'parallel calls and a question behind',
    request: ask(
      user,
      assistant(text('Looking.'), call('a'), call('b')),
      from(result('b'), result('a'), text('And?')),
    ),
  },
  {
    name: 'results, then the user in a message of their own',
    request: ask(user, assistant(call('a')), from(result('a')), user),
  },
  { name: 'an empty result', request: ask(user, assistant(call('a')), from(result('a', ''))) },
  {
    name: 'a result without content',
    request: ask(user, assistant(call('a')), from({ type: 'tool_result', tool_use_id: 'a' })),
  },
  {
    name: 'a picture in a result',
    request: ask(user, assistant(call('a')), from(result('a', [text('See'), png]))),
  },
  {
    name: 'a picture behind a failed result',
    request: ask(user, assistant(call('a')), from(failed('a', 'It broke.'), png)),
  },
  {
    name: 'signed and redacted thinking',
    request: ask(user, assistant(thinking, redacted, text('Ok.'), call('a')), from(result('a'))),
  },
  {
    name: 'omitted thinking',
    request: ask(user, assistant({ ...thinking, thinking: '' }, text('Ok.')), user),
  },
  {
    name: 'images by URL and by value',
    request: ask(from(text('Look.'), png, linked('https://example.com/a.png'))),
  },
  { name: 'messages of one role in a row', request: ask(user, user, done, done) },
  { name: 'an empty final assistant message', request: ask(user, { role: 'assistant', content: '' }) },
  {
    name: 'white space at the end of what is not last',
    request: ask(user, { role: 'assistant', content: 'Done. ' }, user),
  },
  {
    name: 'the longest name',
    request: ask(user, assistant(call('a', { path: '.' }, 'n'.repeat(128))), from(result('a'))),
  },
  {
    name: 'four cache marks',
    request: {
      system: [{ ...text('s'), cache_control: { ...cache_control, ttl: '1h' } }],
      messages: [
        from({ ...text('a'), cache_control: { ...cache_control, ttl: '1h' } }),
        assistant({ ...call('a'), cache_control: null }),
        from(
          { ...result('a'), cache_control: { ...cache_control, ttl: '5m' } },
          { ...text('b'), cache_control },
        ),
      ],
    },
  },
]

const broken: Broken[] = [
  { name: 'no messages', request: ask(), breaks: ['messages-nonempty'] },
  { name: 'a bare array', request: [user], breaks: ['wrong-type'] },
  { name: 'no messages field', request: { system: 'Be brief.' }, breaks: ['missing-field'] },
  { name: 'an undefined system', request: { system: undefined, messages: [user] }, breaks: ['json-only'] },
  {
    name: 'a map for input',
    request: ask(user, assistant(call('a', new Map())), from(result('a'))),
    breaks: ['json-only', 'wrong-type'],
  },
  {
    name: 'half an emoji in the input',
    request: ask(user, assistant(call('a', { path: '\ud83d' })), from(result('a'))),
    breaks: ['text-well-formed'],
  },
  {
    name: 'half an emoji in a field name',
    request: ask(user, assistant(call('a', { '\ud83d': 1 })), from(result('a'))),
    breaks: ['text-well-formed'],
  },
  { name: 'null content', request: ask({ role: 'user', content: null }), breaks: ['wrong-type'] },
  {
    name: 'a number for an id',
    request: ask(user, assistant({ ...call('a'), id: 1 }), from({ ...result('a'), tool_use_id: 1 })),
    breaks: ['wrong-type'],
  },
  {
    name: 'thinking without a signature',
    request: ask(user, assistant({ type: 'thinking', thinking: 'Hm.' }, text('Ok.'))),
    breaks: ['missing-field'],
  },
  {
    name: 'a call without input',
    request: ask(user, assistant({ type: 'tool_use', id: 'a', name: 'ls' }), from(result('a'))),
    breaks: ['missing-field'],
  },
  {
    name: 'a cache mark on thinking',
    request: ask(user, assistant({ ...thinking, cache_control }, text('Ok.'))),
    breaks: ['unknown-field'],
  },
  {
    name: 'an index on a call',
    request: ask(user, assistant({ ...call('a'), index: 0 }), from(result('a'))),
    breaks: ['unknown-field'],
  },
  {
    name: 'reasoning on a message',
    request: ask(user, { ...done, reasoning_details: [] }),
    breaks: ['unknown-field'],
  },
  {
    name: 'the system role',
    request: ask(user, { role: 'system', content: 'Be brief.' }),
    breaks: ['system-role'],
  },
  {
    name: 'a system message before what the user says',
    request: ask(user, { role: 'system', content: 'Be brief.' }, user),
    breaks: ['system-role', 'system-place'],
  },
  { name: 'the tool role', request: ask(user, { role: 'tool', content: 'a.txt' }), breaks: ['known-role'] },
  {
    name: 'a jpg by its short name',
    request: ask(from({ type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: 'aW1n' } })),
    breaks: ['wrong-type'],
  },
  {
    name: 'a chat image part',
    request: ask(from({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } })),
    breaks: ['known-kind'],
  },
  {
    name: 'a call in a result',
    request: ask(user, assistant(call('a')), from(result('a', [call('b')]))),
    breaks: ['known-kind'],
  },
  { name: 'an image from the assistant', request: ask(user, assistant(png)), breaks: ['block-of-role'] },
  { name: 'a call from the user', request: ask(from(call('a'))), breaks: ['block-of-role'] },
  {
    name: 'a result from the assistant',
    request: ask(user, assistant(call('a'), result('a'))),
    breaks: ['block-of-role', 'calls-have-results', 'calls-last'],
  },
  { name: 'the assistant begins', request: ask(done, user), breaks: ['user-first'] },
  {
    name: 'an empty user message',
    request: ask({ role: 'user', content: '' }),
    breaks: ['message-nonempty'],
  },
  {
    name: 'an empty assistant message inside',
    request: ask(user, assistant(), user),
    breaks: ['message-nonempty'],
  },
  {
    name: 'a call without a result',
    request: ask(user, assistant(call('a')), user),
    breaks: ['calls-have-results'],
  },
  { name: 'a call at the end', request: ask(user, assistant(call('a'))), breaks: ['calls-have-results'] },
  {
    name: 'one of two results',
    request: ask(user, assistant(call('a'), call('b')), from(result('a'))),
    breaks: ['calls-have-results'],
  },
  {
    name: 'results in two messages',
    request: ask(user, assistant(call('a'), call('b')), from(result('a')), from(result('b'))),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result one message late',
    request: ask(user, assistant(call('a')), user, from(result('a'))),
    breaks: ['calls-have-results', 'results-follow-calls'],
  },
  {
    name: 'a result at the beginning',
    request: ask(from(result('a')), done),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'a result of nothing',
    request: ask(user, assistant(call('a')), from(result('a'), result('b'))),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'two results of one call',
    request: ask(user, assistant(call('a')), from(result('a'), result('a'))),
    breaks: ['one-result-each'],
  },
  {
    name: 'an id of an earlier turn',
    request: ask(user, assistant(call('a')), from(result('a')), assistant(call('a')), from(result('a'))),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'an id of another maker',
    request: ask(user, assistant(call('functions.ls:0')), from(result('functions.ls:0'))),
    breaks: ['call-id-charset'],
  },
  {
    name: 'an empty id',
    request: ask(user, assistant(call('')), from(result(''))),
    breaks: ['call-id-charset'],
  },
  {
    name: 'a name with a dot',
    request: ask(user, assistant(call('a', {}, 'fs.ls')), from(result('a'))),
    breaks: ['call-name'],
  },
  {
    name: 'a name of 129 characters',
    request: ask(user, assistant(call('a', {}, 'n'.repeat(129))), from(result('a'))),
    breaks: ['call-name'],
  },
  {
    name: 'input as text',
    request: ask(user, assistant(call('a', '{"path":"."}')), from(result('a'))),
    breaks: ['wrong-type'],
  },
  {
    name: 'input as a list',
    request: ask(user, assistant(call('a', [])), from(result('a'))),
    breaks: ['wrong-type'],
  },
  {
    name: 'text before a result',
    request: ask(user, assistant(call('a')), from(text('Here.'), result('a'))),
    breaks: ['results-first'],
  },
  {
    name: 'an image between results',
    request: ask(user, assistant(call('a'), call('b')), from(result('a'), png, result('b'))),
    breaks: ['results-first'],
  },
  {
    name: 'text behind a call',
    request: ask(user, assistant(call('a'), text('Looking.')), from(result('a'))),
    breaks: ['calls-last'],
  },
  {
    name: 'words between calls',
    request: ask(user, assistant(call('a'), text('Looking.'), call('b')), from(result('a'), result('b'))),
    breaks: ['calls-last'],
  },
  {
    name: 'thinking behind the last call',
    request: ask(user, assistant(thinking, call('a'), thinking, text('Well.')), from(result('a'))),
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

test('a model without prefill refuses to end with the assistant', () => {
  const result = validateAnthropic(ask(user, done), { prefill: false })
  expect(result.map(({ rule }) => rule)).toEqual(['ends-with-user'])
  expect(validateAnthropic(ask(user, done, user), { prefill: false })).toEqual([])
})

const brokenForNew = (...messages: unknown[]): string[] =>
  validateAnthropic(ask(...messages), { systemMessages: true }).map(({ rule }) => rule)

test('a newer model takes system messages before a reply and at the end, and no two that touch', () => {
  const system = { role: 'system', content: 'Be brief.' }
  expect(brokenForNew(user, system, done, user, system)).toEqual([])
  expect(brokenForNew(user, system, system, done, user)).toEqual(['system-place'])
})
