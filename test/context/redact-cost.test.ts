/** Redaction is linear in the length of the text, for every text. */

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import { overgrowth } from '../growth.ts'

const SECRET = 'the-one-secret-value'
const TOKEN = 'sk-ant-AAAAAAAAAAAAAAA1'
const RULES = redactionRules({
  secrets: [SECRET, 'another secret value'],
  patterns: [/\binternal-[a-z]{8}\b/, /x{4}y/],
  key: 'k',
})

const fill = (part: string) => (length: number) =>
  part.repeat(Math.ceil(length / part.length)).slice(0, length)

/** Returns texts of the requested length that a naive search would process slowly. */
const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  prose: fill('The quick brown fox jumps over the lazy dog. '),
  'JSON in JSON': (length) =>
    JSON.stringify(
      JSON.stringify(Array.from({ length: length / 60 }, (_, i) => ({ i, text: 'a\n"b" %20' }))),
    ),
  'only secrets': fill(`${SECRET} ${TOKEN} `),
  'secrets in one base64 text': (length) => Buffer.from(fill(SECRET)(length * 0.75)).toString('base64'),
  'keys that become equal': (length) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: length / 40 }, (_, i) => [`${TOKEN}${i}`, 1]))),
  'paths that resemble base64': fill('internationalization/of/paths-and_names '),
  'bytes in base64': (length) =>
    Buffer.from(Uint8Array.from({ length: length * 0.75 }, (_, i) => (i * i * 7 + (i >> 3)) & 255)).toString(
      'base64',
    ),
  'base64 of base64': (length) =>
    Buffer.from(Buffer.from(fill('a%20b')(length / 2)).toString('base64')).toString('base64'),
  'a repeated base64 digit': fill('V'),
  'encrypted contents': (length) =>
    `[${Array.from({ length: length / 50 }, () => `{"encrypted_content":"${TOKEN}"}`).join()}]`,
  backslashes: fill('\\'),
  'nested escapes': (length) => `\\${fill('u005c')(length)}`,
  'percent signs': fill('%25'),
  'percent-encoded letters': fill('%41'),
  quotes: fill('"'),
  'quotes of both kinds': fill(`"'`),
  'unterminated fields': fill('"password":"'),
  brackets: (length) => '['.repeat(length / 2) + `"${TOKEN}"` + ']'.repeat(length / 2),
  'unterminated private keys': fill('-----BEGIN PRIVATE KEY-----'),
  'sk-sk-': fill('sk-'),
  eyJeyJ: fill('eyJ'),
  'ghs_1_eyJ.': fill('ghs_1_eyJ.'),
  glpat: fill('glpat-'),
  dots: fill('glpat-0123456789012345678.'),
  '://a:': fill('://a:'),
  'bearer ': fill('bearer '),
  'one word': fill('x'),
  masks: fill('[redacted]x'),
  'white space': (length) => `bearer${' '.repeat(length)}`,
}

const redacted = (error: string) =>
  redact({ kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error }, RULES)

/** Without a key all masks are the same. */
const UNKEYED = redactionRules()

const inText = (error: string) =>
  redact({ kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error }, UNKEYED)
const inObject = (text: string) =>
  redact({ kind: 'ConversationStateUpdateEvent', key: 'k', value: JSON.parse(text) as JsonObject }, UNKEYED)

describe('redaction of object keys', () => {
  it.each<[string, (i: number) => string]>([
    ['that become equal', (i) => `${TOKEN}${i}`],
    ['that contain numbered masks', (i) => `${TOKEN}${i % 2} [redacted#${2 + (i >> 1)}]`],
  ])('is linear for keys %s', (_, key) => {
    const make = (length: number): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: length / 40 }, (_, i) => [key(i), 1])))
    expect(overgrowth(inObject, make, { to: 2 ** 16 })).toBe(null)
    expect(overgrowth(inText, make, { to: 2 ** 16 })).toBe(null)
  })
})

describe('redaction of a text', () => {
  it.each(Object.entries(TEXTS))('is linear for %s', (_, make) => {
    expect(overgrowth(redacted, make, { to: 2 ** 16 })).toBe(null)
  })
})

/** At this length the engine's stack overflows if a pattern keeps its steps, as test/linear.test.ts shows. */
const LONG = 2 ** 23

/** The built-in patterns, without a user's own. Without a key, since hashing such texts takes longest. */
const BUILT_IN = redactionRules({ secrets: [SECRET] })

/** For texts read by hand-written code, which has no step limit. */
const READ = 2 ** 20

describe('redaction of very long texts', () => {
  it.each<[string, string]>([
    ['a secret in JSON', `{"a":"${SECRET}${'x'.repeat(READ)}"}`],
    ['a secret field', `{"password":"${'x'.repeat(READ)}"}`],
    ['an unterminated private key', `-----BEGIN PRIVATE KEY-----${`\n${'A'.repeat(64)}`.repeat(LONG / 65)}`],
    ['an sk key', `sk-1${'x'.repeat(LONG)}`],
    ['a ghp token', `ghp_${'x'.repeat(LONG)}`],
    ['a github_pat token', `github_pat_${'x'.repeat(LONG)}`],
    ['a GitHub app token', `ghs_1_eyJ${'x'.repeat(LONG)}.${'y'.repeat(LONG)}`],
    ['an hf token', `hf_${'x'.repeat(LONG)}`],
    ['a glpat token', `glpat-${'x'.repeat(LONG)}.${'y'.repeat(LONG)}`],
    ['a Slack token', `xoxb-${'x'.repeat(LONG)}`],
    ['a JWT', `eyJ${'x'.repeat(LONG)}.${'y'.repeat(LONG)}`],
    ['a bearer token', `bearer 1${'x'.repeat(LONG)}`],
    ['an authorization header', `authorization: basic ${'x'.repeat(LONG)}`],
  ])('masks %s', (_, text) => {
    const error = { kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: text } as const
    expect(redact(error, BUILT_IN).error.slice(0, 100)).toContain('[redacted]')
  })

  it('adds a digest of a very long secret to its mask if there is a key', () => {
    const text = `sk-1${'x'.repeat(LONG)}`
    const error = { kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: text } as const
    expect(redact(error, redactionRules({ key: 'k' })).error).toMatch(/^\[redacted:\w+\]$/)
  })

  // In a process that has compiled many patterns, Node.js does not optimize them.
  it('finds the known forms with --no-regexp-optimization', () => {
    const child = join(import.meta.dirname, 'long-forms.ts')
    const output = execFileSync(process.execPath, ['--no-regexp-optimization', child], { encoding: 'utf8' })
    expect(output.trim().split('\n').join(' ')).toBe(
      'sk github github github slack google prefix prefix prefix jwt jwt bearer authorization',
    )
  })
})
