/** C5, C6: text search. */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoryStore } from '../src/store/memory/store.ts'
import { fitsText, parseTextQuery, tokensFor } from '../src/store/kit/query/text-query.ts'
import { lineOf, sizeOfLine, type Token, tokensOf } from '../src/store/kit/query/text-tokens.ts'
import { anyText } from '../src/testing/text.ts'

const PIECES =
  `foo Bar fooBar HTTPServer foo_bar __init__ x 42 3.14 don’t Café cafe\u0301 STRASSE straße Łódź ΟΔΟΣ İ ﬁ ½ ﷺ
  東京都 都 カタカナ ｶﾞ ภาษาไทย 한국어 ລາວ a東b 🎉 👩‍💻 🇩🇪 https://a.b/c?d=e ${'a'.repeat(70)} - " \u0000 \ud800 \u0301`
    .split(/\s+/)
    .concat(' ', '\n')

const text = (): fc.Arbitrary<string> =>
  fc.oneof(
    anyText,
    fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(' ')),
  )

/** Quadratic time exceeds the limit at this length, even if only one text takes it. */
const LENGTH = 100_000

const finds = (line: string, query: string): boolean => {
  const clauses = parseTextQuery(query)
  return clauses.includes.length > 0 && fitsText(line, clauses)
}

it('the indexed line of a text contains its terms in order, in characters that databases accept', () => {
  fc.assert(
    fc.property(text(), (input) => {
      const tokens = tokensOf(input)
      const line = lineOf(input)
      expect(line).toBe(tokens.length === 0 ? '' : ` ${tokens.map(({ term }) => term).join(' ')} `)
      expect(sizeOfLine(line)).toBe(tokens.length)
      expect(line.isWellFormed()).toBe(true)
      for (const { term, start, end } of tokens) {
        expect(term).toMatch(/^[^\s\p{Lu}]+$/u)
        expect(/^[\p{ASCII}]*$/u.test(term) ? term : 'a').toMatch(/^[a-z0-9]+$/)
        expect(start >= 0 && start < end && end <= input.length).toBe(true)
        // PostgreSQL limits lexemes to 2 kB.
        expect(new TextEncoder().encode(term).length).toBeLessThan(2_046)
      }
    }),
    { numRuns: 2_000 },
  )
})

it('a text is found by itself in quotes, by each word, and by any CJK substring', () => {
  fc.assert(
    fc.property(text(), fc.nat(), fc.nat(), (input, from, length) => {
      const line = lineOf(input)
      const phrase = input.replaceAll(/["“”„«»]/g, ' ').slice(0, 60)
      const whole = lineOf(phrase)
      if (whole !== '' && sizeOfLine(whole) <= 32 && phrase.length === input.length)
        expect(finds(line, `"${phrase}"`)).toBe(true)
      for (const word of input.split(/[\s"“”„«»]+/))
        if (word.length < 60 && lineOf(word) !== '' && !word.startsWith('-')) {
          expect(finds(line, word), word).toBe(true)
          // Words that letter case does not split.
          if (sizeOfLine(lineOf(word)) === 1) expect(finds(line, word.toUpperCase()), word).toBe(true)
          expect(finds(line, word.normalize('NFD')), word).toBe(true)
        }
      for (const run of input.match(/[\u4e00-\u9fff\u30a1-\u30fa\uac00-\ud7a3]+/g) ?? []) {
        const start = from % run.length
        const part = run.slice(start, start + 1 + (length % 5))
        expect(finds(line, part), part).toBe(true)
      }
    }),
    { numRuns: 2_000 },
  )
})

it.each([
  '日本語テキスト𠮷野家',
  '한국어문장검색',
  'ภาษาไทยค้นหาข้อความ',
  'ສະບາຍດີພາສາລາວ',
  'ភាសាខ្មែរស្វែងរក',
  'မြန်မာဘာသာစကားလုံး',
])('any part of %s, in letters, finds it', (sentence) => {
  const line = lineOf(`a ${sentence} b`)
  const letters = [...new Intl.Segmenter().segment(sentence)].map(({ segment }) => segment)
  for (let from = 0; from < letters.length; from += 1)
    for (let to = from + 1; to <= letters.length; to += 1) {
      const part = letters.slice(from, to).join('')
      expect(finds(line, part), part).toBe(true)
    }
})

it('`tokensFor` returns exactly the tokens that the query matches', () => {
  let matches = 0
  const plain = fc
    .array(fc.constantFrom('foo', 'Bar', 'fooBar', 'HTTPServer', 'x', '42', 'a'.repeat(70), 'Ab1C', '.', ' '))
    .map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(fc.oneof(plain, text()), fc.oneof(plain, text()), (input, query) => {
      const { includes } = parseTextQuery(`${query} ${input.split(' ')[0]}`)
      const matchesIn = (tokens: readonly Token[]): Set<string> =>
        new Set(
          tokens.flatMap(({ term, start, end }) =>
            includes.some(({ terms }) => terms.includes(term)) ? [`${term} ${start} ${end}`] : [],
          ),
        )
      const expected = matchesIn(tokensOf(input))
      expect(matchesIn(tokensFor(input, includes))).toEqual(expected)
      if (includes.every(({ terms }) => terms.length === 1)) matches += expected.size
    }),
    { numRuns: 2_000 },
  )
  expect(matches).toBeGreaterThan(1_000)
})

it('no query throws or takes quadratic time, and an excluded word excludes its text', () => {
  fc.assert(
    fc.property(text(), text(), (input, query) => {
      const { includes, excludes } = parseTextQuery(query)
      expect(Math.max(includes.length, excludes.length)).toBeLessThanOrEqual(32)
      for (const { piece, terms } of [...includes, ...excludes]) {
        expect(terms.length).toBeGreaterThan(0)
        expect(piece).toMatch(/^ \S/u)
      }
      const [word] = input.match(/[a-z]{2,20}/) ?? []
      if (word !== undefined && finds(lineOf(input), word))
        expect(finds(lineOf(input), `${query.slice(0, 100).replaceAll(/["“”„«»]/g, '')} -${word}`)).toBe(
          false,
        )
    }),
    { numRuns: 2_000 },
  )
  const start = process.cpuUsage()
  for (const piece of [...PIECES, '-"', '" -', '_A', 'aA'])
    for (const repeated of [piece, `${piece} `]) {
      const query = repeated.repeat(Math.ceil(LENGTH / repeated.length))
      parseTextQuery(query)
      tokensOf(query)
    }
  // Microseconds. Quadratic time would take most of a minute.
  expect(process.cpuUsage(start).user).toBeLessThan(15_000_000)
})

it('the snippet of a hit contains and marks the matches, whatever text surrounds them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(text(), { minLength: 1, maxLength: 4 }), async (texts) => {
      const store = memoryStore({ fullText: true })
      await store.createConversation({ id: 'c' })
      const content = [{ text: [...texts, 'needle', ...texts].join(' ') }]
      await store.append('c', [
        { kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content } },
      ])
      const [hit] = (await store.searchText({ query: 'needle' })).items
      expect(hit?.id).toBe('m')
      expect(hit?.snippet.length).toBeLessThanOrEqual(240)
      expect(hit?.ranges.length).toBeGreaterThan(0)
      let last = 0
      for (const [start, end] of hit?.ranges ?? []) {
        expect(start).toBeGreaterThanOrEqual(last)
        expect(hit?.snippet.slice(start, end).toLowerCase()).toBe('needle')
        last = end
      }
      await store.close()
    }),
    { numRuns: 300 },
  )
})
