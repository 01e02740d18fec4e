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
  userWith,
  base64,
  linked,
  png,
  cache_control,
  requestOf,
} from './anthropic-fixtures.ts'
import { type Broken, testTables } from './tables.ts'

const broken: Broken[] = [
  { name: 'an empty text block', request: requestOf(userWith(text(''), png)), breaks: ['text-nonblank'] },
  {
    name: 'a text of a space and a line end',
    request: requestOf({ role: 'user', content: ' \n' }),
    breaks: ['text-nonblank'],
  },
  {
    name: 'a text of a file separator',
    request: requestOf({ role: 'user', content: '\u001c' }),
    breaks: ['text-nonblank'],
  },
  {
    name: 'a blank text in a result',
    request: requestOf(user, assistant(call('a')), userWith(result('a', [text('')]))),
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
    name: 'white space at the end of the last reply',
    request: requestOf(user, { role: 'assistant', content: 'Done.\n' }),
    breaks: ['final-space'],
  },
  {
    name: 'an empty signature',
    request: requestOf(user, assistant({ ...thinking, signature: '' }, text('Ok.'))),
    breaks: ['thinking-signed'],
  },
  {
    name: 'redacted thinking without data',
    request: requestOf(user, assistant({ ...redacted, data: '' }, text('Ok.'))),
    breaks: ['thinking-signed'],
  },
  {
    name: 'text before thinking',
    request: requestOf(user, assistant(text('Ok.'), thinking, call('a')), userWith(result('a'))),
    breaks: ['thinking-first'],
  },
  {
    name: 'a text message before one with thinking',
    request: requestOf(user, done, assistant(thinking, call('a')), userWith(result('a'))),
    breaks: ['thinking-first'],
  },
  {
    name: 'thinking alone',
    request: requestOf(user, assistant(thinking), user),
    breaks: ['thinking-not-last'],
  },
  {
    name: 'thinking at the end',
    request: requestOf(user, assistant(thinking, text('Ok.'), redacted)),
    breaks: ['thinking-not-last'],
  },
  {
    name: 'an empty error',
    request: requestOf(user, assistant(call('a')), userWith(failed('a', ''))),
    breaks: ['error-result'],
  },
  {
    name: 'an error without content',
    request: requestOf(
      user,
      assistant(call('a')),
      userWith({ type: 'tool_result', tool_use_id: 'a', is_error: true }),
    ),
    breaks: ['error-result'],
  },
  {
    name: 'an image in an error',
    request: requestOf(user, assistant(call('a')), userWith(failed('a', [text('See'), png]))),
    breaks: ['error-result'],
  },
  {
    name: 'an image without data',
    request: requestOf(userWith(base64('image/png', ''))),
    breaks: ['image-source'],
  },
  {
    name: 'a data URL as base64 data',
    request: requestOf(userWith(base64('image/png', 'data:image/png;base64,aW1n'))),
    breaks: ['image-source'],
  },
  {
    name: 'an image with an http URL',
    request: requestOf(userWith(linked('http://example.com/a.png'))),
    breaks: ['image-source'],
  },
  {
    name: 'a data URL as the URL of an image',
    request: requestOf(
      user,
      assistant(call('a')),
      userWith(result('a', [linked('data:image/png;base64,aW1n')])),
    ),
    breaks: ['image-source'],
  },
  ...[
    {
      name: 'a PDF document that is not a PDF',
      fields: { source: { type: 'base64', media_type: 'application/pdf', data: 'aW1n' } },
    },
    {
      name: 'a document with an http URL',
      fields: { source: { type: 'url', url: 'http://example.com/a.pdf' } },
    },
    {
      name: 'a blank text document',
      fields: { source: { type: 'text', media_type: 'text/plain', data: ' ' } },
    },
    { name: 'a document without content', fields: { source: { type: 'content', content: [] } } },
    {
      name: 'a document with a title of 501 characters',
      fields: { source: { type: 'file', file_id: 'f' }, title: 'x'.repeat(501) },
    },
  ].map(({ name, fields }) => ({
    name,
    request: requestOf(userWith({ type: 'document', ...fields })),
    breaks: ['file-source'],
  })),
  {
    name: 'an empty search result in a tool result',
    request: requestOf(
      user,
      assistant(call('a')),
      userWith(result('a', [{ type: 'search_result', source: 's', title: 't', content: [] }])),
    ),
    breaks: ['file-source'],
  },
  {
    name: 'five cache marks',
    request: requestOf(userWith(...'abcde'.split('').map((letter) => ({ ...text(letter), cache_control })))),
    breaks: ['cache-breakpoints'],
  },
  {
    name: 'a document with citations before one without',
    request: requestOf(
      userWith(
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
    name: 'a cache mark of one hour after one of five minutes',
    request: requestOf(
      userWith(
        { ...text('a'), cache_control },
        { ...text('b'), cache_control: { ...cache_control, ttl: '1h' } },
      ),
    ),
    breaks: ['cache-longest-first'],
  },
]

testTables({
  validate: (request) => validateAnthropic(request),
  rules: blockRules,
  good: [
    { name: 'one question', request: requestOf(user) },
    {
      name: 'documents',
      request: requestOf(
        userWith(
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

test('the `thinking` option requires thinking before calls whose results end the request', () => {
  const plain = [assistant(text('Looking.'), call('a')), userWith(result('a'))]
  const match = validateAnthropic(requestOf(user, ...plain), { thinking: true })
  expect(match.map(({ rule }) => rule)).toEqual(['thinking-leads-loop'])
  expect(validateAnthropic(requestOf(user, ...plain, done, user), { thinking: true })).toEqual([])
  expect(
    validateAnthropic(requestOf(user, assistant(thinking, call('a')), userWith(result('a'))), {
      thinking: true,
    }),
  ).toEqual([])
})
