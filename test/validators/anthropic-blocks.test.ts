/** The Anthropic validator rejects texts, thinking, images and cache marks that the provider rejects. */

import { expect, test } from 'vitest'
import { blockRules, validateAnthropic } from '../../src/messages/anthropic/rules.ts'
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
  base64,
  linked,
  png,
  cache_control,
  ask,
} from './anthropic-fixtures.ts'
import { type Broken, testTables } from './tables.ts'

const broken: Broken[] = [
  { name: 'an empty text block', request: ask(from(text(''), png)), breaks: ['text-nonblank'] },
  { name: 'a text of line ends', request: ask({ role: 'user', content: ' \n' }), breaks: ['text-nonblank'] },
  {
    name: 'a text of file separators',
    request: ask({ role: 'user', content: '\u001c' }),
    breaks: ['text-nonblank'],
  },
  {
    name: 'a blank text in a result',
    request: ask(user, assistant(call('a')), from(result('a', [text('')]))),
    breaks: ['text-nonblank'],
  },
  { name: 'an empty system text', request: { system: '', messages: [user] }, breaks: ['system-nonblank'] },
  { name: 'an empty system array', request: { system: [], messages: [user] }, breaks: ['system-nonblank'] },
  {
    name: 'a blank system block',
    request: { system: [text('a'), text(' ')], messages: [user] },
    breaks: ['system-nonblank'],
  },
  {
    name: 'white space at the end',
    request: ask(user, { role: 'assistant', content: 'Done.\n' }),
    breaks: ['final-space'],
  },
  {
    name: 'an empty signature',
    request: ask(user, assistant({ ...thinking, signature: '' }, text('Ok.'))),
    breaks: ['thinking-signed'],
  },
  {
    name: 'redacted thinking without data',
    request: ask(user, assistant({ ...redacted, data: '' }, text('Ok.'))),
    breaks: ['thinking-signed'],
  },
  {
    name: 'text before thinking',
    request: ask(user, assistant(text('Ok.'), thinking, call('a')), from(result('a'))),
    breaks: ['thinking-first'],
  },
  {
    name: 'a text message, then a thinking one',
    request: ask(user, done, assistant(thinking, call('a')), from(result('a'))),
    breaks: ['thinking-first'],
  },
  {
    name: 'nothing but thinking',
    request: ask(user, assistant(thinking), user),
    breaks: ['thinking-not-last'],
  },
  {
    name: 'thinking at the end',
    request: ask(user, assistant(thinking, text('Ok.'), redacted)),
    breaks: ['thinking-not-last'],
  },
  {
    name: 'an empty error',
    request: ask(user, assistant(call('a')), from(failed('a', ''))),
    breaks: ['error-result'],
  },
  {
    name: 'an error without content',
    request: ask(user, assistant(call('a')), from({ type: 'tool_result', tool_use_id: 'a', is_error: true })),
    breaks: ['error-result'],
  },
  {
    name: 'a picture in an error',
    request: ask(user, assistant(call('a')), from(failed('a', [text('See'), png]))),
    breaks: ['error-result'],
  },
  { name: 'an image without bytes', request: ask(from(base64('image/png', ''))), breaks: ['image-source'] },
  {
    name: 'a data URL for base64',
    request: ask(from(base64('image/png', 'data:image/png;base64,aW1n'))),
    breaks: ['image-source'],
  },
  {
    name: 'a plain http image',
    request: ask(from(linked('http://example.com/a.png'))),
    breaks: ['image-source'],
  },
  {
    name: 'a data URL for a URL',
    request: ask(user, assistant(call('a')), from(result('a', [linked('data:image/png;base64,aW1n')]))),
    breaks: ['image-source'],
  },
  ...[
    { source: { type: 'base64', media_type: 'application/pdf', data: 'aW1n' } },
    { source: { type: 'url', url: 'http://example.com/a.pdf' } },
    { source: { type: 'text', media_type: 'text/plain', data: ' ' } },
    { source: { type: 'content', content: [] } },
    { source: { type: 'file', file_id: 'f' }, title: 'x'.repeat(501) },
  ].map((fields, index) => ({
    name: `a document that holds nothing, ${index}`,
    request: ask(from({ type: 'document', ...fields })),
    breaks: ['file-source'],
  })),
  {
    name: 'a search result without words, in a result',
    request: ask(
      user,
      assistant(call('a')),
      from(result('a', [{ type: 'search_result', source: 's', title: 't', content: [] }])),
    ),
    breaks: ['file-source'],
  },
  {
    name: 'five cache marks',
    request: ask(from(...'abcde'.split('').map((letter) => ({ ...text(letter), cache_control })))),
    breaks: ['cache-breakpoints'],
  },
  {
    name: 'a document with citations before one without',
    request: ask(
      from(
        {
          type: 'document',
          source: { type: 'url', url: 'https://example.com/a.pdf' },
          citations: { enabled: true },
        },
        { type: 'search_result', source: 'a', title: 'A', content: [text('b')] },
      ),
    ),
    breaks: ['citations-agree'],
  },
  {
    name: 'an hour behind five minutes',
    request: ask(
      from({ ...text('a'), cache_control }, { ...text('b'), cache_control: { ...cache_control, ttl: '1h' } }),
    ),
    breaks: ['cache-longest-first'],
  },
]

testTables({
  validate: (request) => validateAnthropic(request),
  rules: blockRules,
  good: [
    { name: 'one question', request: ask(user) },
    {
      name: 'documents',
      request: ask(
        from(
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' } },
          { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, title: 'A' },
          { type: 'search_result', source: 's', title: 't', content: [text('x')] },
        ),
      ),
    },
  ],
  broken,
  elsewhere: ['thinking-leads-loop'],
})

test('a model with thinking switched on wants it before the calls whose results close the request', () => {
  const plain = [assistant(text('Looking.'), call('a')), from(result('a'))]
  const match = validateAnthropic(ask(user, ...plain), { thinking: true })
  expect(match.map(({ rule }) => rule)).toEqual(['thinking-leads-loop'])
  expect(validateAnthropic(ask(user, ...plain, done, user), { thinking: true })).toEqual([])
  expect(
    validateAnthropic(ask(user, assistant(thinking, call('a')), from(result('a'))), { thinking: true }),
  ).toEqual([])
})
