/**
 * Code that reads a user's text takes linear time for any text; otherwise 180 kB could block a service
 * for a minute.
 */

import { describe, expect, it } from 'vitest'
import { hideLogins } from '../src/cli/db/address.ts'
import { hideSecrets } from '../src/inspector/glimpse.ts'
import { redactText } from '../src/context/redaction/redact-text.ts'
import { redactionRules } from '../src/context/redaction/rules.ts'
import { maskSecrets, mentionsSecret } from '../src/event/mask.ts'
import { endsInSpace, isBlank } from '../src/messages/rules.ts'
import { readImage } from '../src/messages/files.ts'
import { isWhitespace } from '../src/event/text.ts'
import { trimTrailing } from '../src/messages/text.ts'
import { methodsAt } from '../src/service/http/app.ts'
import { hasSecret, masked, secretsIn, shownText } from '../src/service/mask-secrets.ts'
import { lineOf, tokensOf } from '../src/store/kit/query/text-tokens.ts'
import { costOf, overgrowth } from './growth.ts'
import {
  hostileTexts,
  type MakeText,
  overflowing,
  partsOfPatterns,
  regexesOfSource,
  repeats,
  textsOf,
} from './regexes.ts'

const PATTERNS = regexesOfSource()

function searchAll(regex: RegExp, text: string): void {
  regex.lastIndex = 0
  let last = -1
  while (regex.test(text) && (regex.global || regex.sticky)) {
    if (regex.lastIndex === last) regex.lastIndex += 1
    last = regex.lastIndex
  }
}

/** Fails when the text that costs most while short grows too expensive. */
function assertLinear(work: (text: string) => unknown, texts: readonly MakeText[], noise?: number): void {
  const short = texts.map((make) => make(1_024))
  // The first searches include compiling the pattern.
  for (const text of short) work(text)
  const costOfShort = (index: number): number => costOf(() => work(short[index] ?? ''))
  // Noise only adds, so the most expensive text is among the first, measured again.
  const costs = texts
    .map((make, index) => ({ make, index, cost: costOfShort(index) }))
    .toSorted((a, b) => b.cost - a.cost)
    .slice(0, 100)
    .map((one) => ({ ...one, cost: Math.min(one.cost, costOfShort(one.index), costOfShort(one.index)) }))
  // Growth shows in longer texts, where noise is a small part of the cost.
  const longer = costs
    .toSorted((a, b) => b.cost - a.cost)
    .slice(0, 8)
    .map(({ make }) => {
      const text = make(8_192)
      return {
        make,
        cost: Math.min(
          costOf(() => work(text)),
          costOf(() => work(text)),
        ),
      }
    })
  for (const { make } of longer.toSorted((a, b) => b.cost - a.cost).slice(0, 1)) {
    expect({ text: make(20), ...overgrowth(work, make, { to: 2 ** 17, noise }) }).toEqual({ text: make(20) })
  }
}

describe('a regular expression of src', () => {
  // Tries each pattern once. A pattern without repetition checks a limited number of characters at each
  // position.
  const regexes = new Map(
    PATTERNS.flatMap(({ location, regex }) =>
      regex === null || !repeats(regex) ? [] : [[`${regex} in ${location}`, regex] as const],
    ).filter(
      ([, regex], index, all) => all.findIndex(([, other]) => String(other) === String(regex)) === index,
    ),
  )
  it.each([...regexes])('takes linear time: %s', (_, regex) =>
    assertLinear((text) => searchAll(regex, text), hostileTexts(regex)),
  )
})

// An engine needs stack for each iteration that is counted or whose length varies.
describe('the stack of the regular expression engine', () => {
  const LONG = 2 ** 23

  it('overflows on long text for repetitions that `overflowing` finds', () => {
    for (const bad of [/^(?:a-?){3,}$/, /a{4,}/, /^(?:a|ab)*$/, /'(?:[^'\\]|\\.)*'/]) {
      expect(overflowing([String(bad)]), String(bad)).toHaveLength(1)
      expect(() => bad.test(`'${'a'.repeat(LONG)}'`) || bad.test('a'.repeat(LONG)), String(bad)).toThrow(
        RangeError,
      )
    }
    expect(overflowing(['[a-z]+(?:b){0,9}c{3,}[)*+]\\)+', '(a)?'])).toEqual([])
  })

  it('does not overflow for the patterns of src', () => {
    // It repeats two backslashes, an iteration of fixed length.
    const fixed = String(/(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/)
    // These match at most 2^20 characters.
    const bounded = [')+)|(?:(?!', ')[\\\\p{L}\\\\p{M}\\\\p{N}_])+|\\\\p{RI}{2}|\\\\p{ExtPict}']
    expect(overflowing(partsOfPatterns(PATTERNS)).filter((part) => !bounded.includes(part))).toEqual([fixed])
    expect(tokensOf('é'.repeat(LONG)).length).toBeGreaterThan(1_000)
    expect(/(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/.test('\\'.repeat(LONG))).toBe(false)
  })
})

const RULES = redactionRules({ secrets: ['the-one-secret'], patterns: [/\binternal-[a-z]{8}\b/], key: 'k' })
const redacts = (text: string): string => redactText(text, RULES)
const MASKED = ['encrypted_content', String.raw`\u0065`, '\\', '"', ':', ' ', 'e', 'n', String.raw`\u0022`]
const PARTS = ['x://h/', '?', 'key', '=', '&', '#', '@', 'x']

/**
 * By file: code that builds a pattern at run time or reads a whole text, and pieces of hostile texts for
 * it.
 */
const WORK: Readonly<Record<string, readonly [work: (text: string) => unknown, parts: readonly string[]]>> = {
  'event/mask.ts': [(text) => maskSecrets([text, mentionsSecret(text)]), MASKED],
  'event/text.ts': [isWhitespace, [' ', '\u0085', 'x']],
  'messages/rules.ts': [(text) => [isBlank(text), endsInSpace(text)], [' ', '\u0085', 'x']],
  'messages/text.ts': [trimTrailing, [' ', '\u0085', 'x']],
  'messages/files.ts': [readImage, ['http://', 'a', '.', '-', ':', '1', '/', '[']],
  'service/http/app.ts': [
    methodsAt([{ method: 'get', path: '/api/conversations/{id}/events/{event_id}' } as never]),
    ['/api/conversations/', '/', 'a', '/events/'],
  ],
  'context/redaction/known-forms.ts, patterns of a user': [redacts, ['internal-', 'a']],
  'context/redaction/known-forms.ts, names of fields': [
    redacts,
    ['"password"', ':', '"', '[', '\\', '\\u0070'],
  ],
  'context/redaction/find-secrets.ts': [redacts, ['the-one-secret', 'dGhlLW9uZS1zZWNyZXQ', 'A']],
  'context/redaction/mask.ts': [redacts, ['[redacted', ':0123456789abcdef', ']', '#1']],
  'context/redaction/redact-text.ts': [redacts, ['["sk-ant-AAAAAAAAAAAAAAA1",', '"', '\\', '{', '1']],
  'context/redaction/known-forms.ts, private keys': [
    redacts,
    ['-----BEGIN PRIVATE KEY-----', '-----END ', 'A', '\n'],
  ],
  'service/mask-secrets.ts': [
    (text) => [hasSecret(text), shownText(text), secretsIn(text), masked([text])],
    PARTS,
  ],
  'cli/db/address.ts': [hideLogins, ['postgres://', ':', '@', '&password=', 'x']],
  'inspector/glimpse.ts': [hideSecrets, MASKED],
  'store/kit/query/text-tokens.ts': [
    (text) => [tokensOf(text), lineOf(text)],
    ['é', '東', 'fooBar', '_', ' ', '1'],
  ],
}

describe('code that reads text', () => {
  it.each(Object.entries(WORK))('takes linear time: %s', (_, [work, parts]) =>
    assertLinear(work, textsOf(parts)),
  )

  it('includes each file that builds a pattern at run time', () => {
    const files = PATTERNS.filter(({ regex }) => regex === null).map(({ location }) => location)
    const tested = new Set(Object.keys(WORK).map((name) => name.split(',')[0]))
    expect(files.filter((file) => !tested.has(file))).toEqual([])
    expect(files.length).toBeGreaterThan(5)
  })
})

it('`assertLinear` fails for a quadratic pattern', () => {
  expect(repeats(/a+b/g)).toBe(true)
  // A low noise limit, so that a busy machine cannot hide the growth.
  expect(() => assertLinear((text) => searchAll(/a+b/g, text), hostileTexts(/a+b/g), 2)).toThrow(
    'to deeply equal',
  )
})
