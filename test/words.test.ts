/**
 * Counts constructions that are hard to read in comments, pages, texts of the sources and titles of tests. Each
 * maximum may only fall.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

/** Maximum number of these constructions in 1,000 words. */
const MAXIMA = { comments: 3, pages: 3, texts: 3, titles: 1, testComments: 1.5 }

/** Each construction, and its replacement. */
const CONSTRUCTIONS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:stands?|stood|standing)\b/gi, 'is, appears, exists'],
  [/\b(?:says?|said|saying)\b/gi, 'contains, has, specifies, records'],
  [/\b(?:comes?|came|coming)\b/gi, 'arrives, is appended, follows'],
  [/\b(?:gives?|gave|given|giving)\b/gi, 'returns, passes, receives, produces'],
  [/\b(?:takes?|took|taken|taking)\b/gi, 'accepts, holds, claims, removes'],
  [/\b(?:that|those) of\b|\bof which\b/gi, 'repeat the noun'],
  [/\bask(?:s|ed|ing)? for\b/gi, 'requests, requires, expects'],
  [/\bwords\b/gi, 'text, names, terms'],
  [/\bbeside\b/gi, 'next to, in addition to, and'],
  [/\blook(?:s|ed|ing)? (?:at|for|into|again)\b/gi, 'check, read, poll, find'],
  [/\b(?:tells?|told|telling)\b/gi, 'notifies, reports, distinguishes'],
  [/\b(?:is|are|was|were|has|have|there) none\b/gi, 'is invalid, is not one, is empty'],
  [/\b(?:go|goes|went|gone|going) on\b/gi, 'continues, resumes'],
  [/\bbe it\b|\bas \w+ (?:has|have|had) it\b|\bas long as\b|\bso many\b/gi, 'whether, while, as many as'],
  [/\banew\b/gi, 'again, recreate'],
  [/(?:^|[.:]\s)Most\b/gm, 'maximum number of'],
  [/\bbut for\b/gi, 'except'],
  [
    /(?:^|[.;]\s)(?:Whoever|Who|What(?:ever)?) (?:is|are|was|were|has|had|can|may|must|does|did|(?!this\b|its\b)[a-z]{3,}s)\b(?![^.]*\?)/gm,
    'a caller that, a value that',
  ],
]

interface Text {
  readonly file: string
  readonly text: string
}

const filesOf = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** Prose without code. */
const proseOf = (text: string): string =>
  text.replaceAll(/```[^]*?```|@example[^]*/g, '').replaceAll(/`[^`\n]*`/g, 'code')
const countWords = (text: string): number => text.match(/[A-Za-z][\w']*/g)?.length ?? 0

const SQL = /\b(?:SELECT|INSERT|UPDATE|CREATE|DELETE|FROM|WHERE|AND)\b/

/** The strings of a syntax tree that are sentences: errors, notes, help. */
function sentencesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(sentencesIn)
  if (typeof node !== 'object' || node === null) return []
  const { type, value, quasis } = node as { type?: string; value?: unknown; quasis?: readonly Quasi[] }
  const nested = Object.values(node).flatMap(sentencesIn)
  const text = type === 'TemplateLiteral' ? quasis?.map((quasi) => quasi.value.raw).join('N') : value
  const isSentence =
    typeof text === 'string' &&
    (type === 'TemplateLiteral' || type === 'Literal') &&
    countWords(text) >= 4 &&
    !SQL.test(text)
  return isSentence ? [...nested, text] : nested
}
interface Quasi {
  readonly value: { readonly raw: string }
}

/** The first arguments of `describe`, `it`, and what follows them, such as `it.each(rows)`. */
function titlesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(titlesIn)
  if (typeof node !== 'object' || node === null) return []
  const nested = Object.values(node).flatMap(titlesIn)
  const { type, callee, arguments: [title] = [] } = node as Partial<Called>
  if (type !== 'CallExpression' || !isTest(callee)) return nested
  const text = title?.quasis?.map((quasi) => quasi.value.raw).join('N') ?? title?.value
  return typeof text === 'string' ? [...nested, text] : nested
}
interface Called {
  readonly type: string
  readonly name?: string
  readonly callee?: Called
  readonly object?: Called
  readonly arguments: readonly { readonly value?: unknown; readonly quasis?: readonly Quasi[] }[]
}
const isTest = (called: Called | undefined): boolean =>
  called !== undefined &&
  (called.name === undefined ? isTest(called.callee ?? called.object) : /^(?:it|describe)$/.test(called.name))

const parsed = (folder: string) =>
  filesOf(folder, /\.tsx?$/).map((file) => ({ file, parsed: parseSync(file, read(file)) }))
const sources = parsed('src')
const tests = ['test', 'properties', 'bench', 'examples'].flatMap(parsed)
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'properties/laws.md',
  ...filesOf('docs', /^[^/]*\.md$/),
]

const commentsOf = (files: typeof sources): Text[] =>
  files.map(({ file, parsed }) => ({
    file,
    text: parsed.comments.map(({ value }) => proseOf(value.replaceAll(/^\s*\* ?/gm, ''))).join('\n'),
  }))

const TEXTS: Readonly<Record<keyof typeof MAXIMA, readonly Text[]>> = {
  comments: commentsOf(sources),
  pages: pages.map((file) => ({ file, text: proseOf(read(file)) })),
  texts: sources.map(({ file, parsed }) => ({ file, text: sentencesIn(parsed.program).join('\n') })),
  titles: tests.map(({ file, parsed }) => ({ file, text: titlesIn(parsed.program).join('\n') })),
  testComments: commentsOf(tests),
}

/** The constructions in a text, with their context. */
const constructionsIn = (text: string): string[] =>
  CONSTRUCTIONS.flatMap(([pattern, instead]) =>
    [...text.matchAll(pattern)].map(({ 0: { length }, index }) => {
      const around = text.slice(Math.max(0, index - 30), index + length + 30).replaceAll(/\s+/g, ' ')
      return `  …${around}…  write: ${instead}`
    }),
  )

describe('constructions that are hard to read', () => {
  it.each(Object.keys(MAXIMA) as (keyof typeof MAXIMA)[])(
    'are at most as frequent as allowed in %s',
    (name) => {
      const words = TEXTS[name].reduce((sum, { text }) => sum + countWords(text), 0)
      const matches = TEXTS[name].map(({ file, text }) => ({ file, places: constructionsIn(text) }))
      const count = matches.reduce((sum, { places }) => sum + places.length, 0)
      const rate = (count / words) * 1_000
      console.log(
        `${name}: ${rate.toFixed(1)} in 1,000 words (${count} in ${words}); maximum ${MAXIMA[name]}`,
      )
      const worst = matches.toSorted((a, b) => b.places.length - a.places.length).slice(0, 5)
      const shown = worst.flatMap(({ file, places }) => [`${file}: ${places.length}`, ...places.slice(0, 10)])
      expect(rate, `the files with the most:\n${shown.join('\n')}`).toBeLessThanOrEqual(MAXIMA[name])
    },
  )

  it('are recognized, and plain sentences are not', () => {
    const odd = [
      'A page stands in docs.',
      'Who asks for it gets one.',
      'Most rows of a page.',
      'a limit that is none',
    ]
    for (const text of odd) expect(constructionsIn(text), text).not.toEqual([])
    for (const text of ['Maximum number of rows.', 'Returns what the store contains.', 'What is a log?'])
      expect(constructionsIn(text), text).toEqual([])
  })
})
