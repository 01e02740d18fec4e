/** What a user's text meets costs time that grows with its length alone, however the text is made: else 180 kB of it stop a service for a minute. */

import { describe, expect, it } from 'vitest'
import { hideLogins } from '../src/cli/db/address.ts'
import { hideSecrets } from '../src/inspector/glimpse.ts'
import { redactText } from '../src/context/redaction/redact-text.ts'
import { redactionRules } from '../src/context/redaction/rules.ts'
import { maskSecrets, mentionsSecret } from '../src/event/mask.ts'
import { endsInSpace, isBlank } from '../src/laws/grammars/json.ts'
import { readImage } from '../src/messages/images.ts'
import { isWhitespace } from '../src/event/has-text.ts'
import { trimTrailing } from '../src/messages/text.ts'
import { methodsAt } from '../src/service/http/routes.ts'
import { hasSecret, masked, secretsIn, shownText } from '../src/service/settings/secrets.ts'
import { costOf, overgrowth } from './growth.ts'
import { hostileTexts, type MakeText, regexesOfSource, textsOf } from './regexes.ts'

const FOUND = regexesOfSource()

/** All that a pattern does with a text. */
function searchAll(regex: RegExp, text: string): void {
  regex.lastIndex = 0
  let last = -1
  while (regex.test(text) && (regex.global || regex.sticky)) {
    if (regex.lastIndex === last) regex.lastIndex += 1
    last = regex.lastIndex
  }
}

/** Fails for the texts that cost the most when they are short, when they cost too much more as they grow. */
function holdGrowth(work: (text: string) => unknown, texts: readonly MakeText[], most = 1): void {
  const costs = texts.map((make) => {
    const text = make(1_024)
    return { make, cost: Math.min(...[1, 2].map(() => costOf(() => work(text)))) }
  })
  for (const { make } of costs.toSorted((a, b) => b.cost - a.cost).slice(0, most))
    expect({ text: make(20), ...overgrowth(work, make) }).toEqual({ text: make(20) })
}

describe('a regular expression of src', () => {
  // One that stands in several places is tried once.
  const regexes = new Map(
    FOUND.flatMap(({ place, regex }) =>
      regex === null ? [] : [[`${regex} in ${place}`, regex] as const],
    ).filter(([, regex], at, all) => all.findIndex(([, other]) => String(other) === String(regex)) === at),
  )
  it.each([...regexes])('%s', (_, regex) => holdGrowth((text) => searchAll(regex, text), hostileTexts(regex)))
})

const RULES = redactionRules({ secrets: ['the-one-secret'], patterns: [/\binternal-[a-z]{8}\b/], key: 'k' })
const redacts = (text: string): string => redactText(text, RULES)
const MASKED = ['encrypted_content', String.raw`\u0065`, '\\', '"', ':', ' ', 'e']
const PARTS = ['x://h/', '?', 'key', '=', '&', '#', '@', 'x']

/** What puts a pattern together when it runs, and what else reads a text to its end: what of texts it asks for. */
const WORK: Readonly<Record<string, readonly [work: (text: string) => unknown, words: readonly string[]]>> = {
  'event/mask.ts': [(text) => maskSecrets([text, mentionsSecret(text)]), MASKED],
  'event/has-text.ts': [isWhitespace, [' ', '\u0085', 'x']],
  'laws/grammars/json.ts': [(text) => [isBlank(text), endsInSpace(text)], [' ', '\u0085', 'x']],
  'messages/text.ts': [trimTrailing, [' ', '\u0085', 'x']],
  'messages/images.ts': [readImage, ['http://', 'a', '.', '-', ':', '1', '/', '[']],
  'service/http/routes.ts': [
    methodsAt([{ method: 'get', path: '/api/conversations/{id}/events/{event_id}' } as never]),
    ['/api/conversations/', '/', 'a', '/events/'],
  ],
  'context/redaction/own-patterns.ts': [redacts, ['internal-', 'a']],
  'context/redaction/field-names.ts': [redacts, ['"password"', ':', '"', '[', '\\', '\\u0070']],
  'context/redaction/literals.ts': [redacts, ['the-one-secret', 'dGhlLW9uZS1zZWNyZXQ', 'A']],
  'context/redaction/mask.ts': [redacts, ['[redacted', ':0123456789abcdef', ']', '#1']],
  'context/redaction/json-text.ts': [redacts, ['["sk-ant-AAAAAAAAAAAAAAA1",', '"', '\\', '{', '1']],
  'context/redaction/built-in.ts': [redacts, ['-----BEGIN PRIVATE KEY-----', '-----END ', 'A', '\n']],
  'service/settings/secrets.ts': [
    (text) => [hasSecret(text), shownText(text), secretsIn(text), masked([text])],
    PARTS,
  ],
  'cli/db/address.ts': [hideLogins, ['postgres://', ':', '@', '&password=', 'x']],
  'inspector/glimpse.ts': [hideSecrets, MASKED],
}

describe('what reads a text in', () => {
  it.each(Object.entries(WORK))('%s', (_, [work, words]) => holdGrowth(work, textsOf(words)))

  it('each file that puts a pattern together stands here', () => {
    const files = FOUND.filter(({ regex }) => regex === null).map(({ place }) => place)
    expect(files.filter((file) => !Object.hasOwn(WORK, file))).toEqual([])
    expect(files.length).toBeGreaterThan(5)
  })
})

it('a quadratic pattern is found out', () => {
  expect(() => holdGrowth((text) => searchAll(/a+b/g, text), hostileTexts(/a+b/g))).toThrow('to deeply equal')
})
