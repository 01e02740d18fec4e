import * as fc from 'fast-check'
import type { Fact } from '../../event/quarantine.ts'
import type { MessageEvent, ObservationEvent } from '../../event/types.ts'
import { TEXT_ROLES, type TextHit, type TextQuery, type TextRole } from '../../store/contract/text.ts'
import type { Store } from '../../store/contract/store.ts'
import { fitsText, parseTextQuery, scoreText } from '../../store/kit/query/text-query.ts'
import { lineOf, sizeOfLine } from '../../store/kit/query/text-tokens.ts'
import { formatInstant } from '../../store/kit/record.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, reopening, test } from './check.ts'
import { pause, say } from './facts.ts'
import { fullPages, readsWhileWriting } from './pages.ts'
import { anyText } from '../text.ts'

interface Text {
  readonly conversationId: string
  readonly owner: string | null
  readonly team: string | null
  readonly isPublic: boolean
  readonly id: string
  readonly role: TextRole
  readonly text: string
  readonly second: number
}

const START_TIME = 1_767_225_600_000_000n
const timestampAt = (second: number): string => formatInstant(START_TIME + BigInt(second) * 1_000_000n)

const messageFact = (
  id: string,
  role: MessageEvent['llm_message']['role'],
  text: string,
  second: number,
): Fact =>
  say(id, '', {
    source: role === 'user' ? 'user' : 'agent',
    timestamp: timestampAt(second),
    llm_message: { role, content: [{ text }] },
  })

const result = (id: string, text: string, second: number): ObservationEvent => ({
  kind: 'ObservationEvent',
  id,
  source: 'environment',
  timestamp: timestampAt(second),
  tool_name: 'read',
  tool_call_id: 'call',
  action_id: 'action',
  observation: { kind: 'ReadObservation', content: [{ text }] },
})

const factOf = ({ id, role, text, second }: Text): Fact =>
  role === 'tool' ? result(id, text, second) : messageFact(id, role, text, second)

const findAll = (store: Store, query: TextQuery): Promise<TextHit[]> =>
  fullPages(query.limit ?? 20, (cursor) => store.searchText({ ...query, ...cursor }))

type Place = Pick<TextHit, 'conversationId' | 'id'>

const placeOf = ({ conversationId, id }: Place): string => `${conversationId} ${id}`

const placesOf = (hits: readonly Place[]): string[] => hits.map(placeOf)

const secondOf = (time: string): number =>
  Number((BigInt(Date.parse(time)) * 1000n - START_TIME) / 1_000_000n)

function findNaively(texts: readonly Text[], query: TextQuery): Text[] {
  const clauses = parseTextQuery(query.query)
  const score = ({ text }: Text): number =>
    scoreText(lineOf(text), sizeOfLine(lineOf(text)), clauses.includes)
  return texts
    .filter(
      (text) =>
        clauses.includes.length > 0 &&
        fitsText(lineOf(text.text), clauses) &&
        (query.conversation === undefined || text.conversationId === query.conversation) &&
        (query.owner === undefined || text.owner === query.owner) &&
        (query.tags?.['team'] === undefined || text.team === query.tags['team']) &&
        (query.public === undefined || text.isPublic === query.public) &&
        (query.role === undefined
          ? query.includeResults === true || text.role !== 'tool'
          : text.role === query.role) &&
        (query.from === undefined || text.second >= secondOf(query.from)) &&
        (query.to === undefined || text.second < secondOf(query.to)),
    )
    .toSorted((a, b) => (query.order === 'rank' ? score(b) - score(a) : 0) || b.second - a.second)
}

const WORDS = [
  'deploy',
  'Deploy',
  'deployment',
  'fooBar',
  'foo_bar',
  'foo',
  'bar',
  'Café',
  'cafe',
  '東京',
  '京都',
  '東京都',
  '都',
  'ไทย',
  'ภาษาไทย',
  '3.14',
  'https://a.b/c?d=e',
  '🎉',
  'x',
  '-',
  '"',
]

const someText = (): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 }).map((words) => words.join(' '))

const someQuery = (): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom('', '', '', '-', '"'),
        fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 2 }),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((parts) => parts.map(([mark, words]) => `${mark}${words.join(' ')}`).join(' '))

const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const someFilter = (): fc.Arbitrary<Partial<TextQuery>> =>
  fc
    .record({
      conversation: sometimes(fc.constantFrom('a', 'b', 'nowhere')),
      owner: sometimes(fc.constantFrom('ann', 'bob')),
      team: sometimes(fc.constantFrom('red', 'blue')),
      public: sometimes(fc.boolean()),
      role: sometimes(fc.constantFrom(...TEXT_ROLES)),
      from: sometimes(fc.nat(40).map(timestampAt)),
      to: sometimes(fc.nat(40).map(timestampAt)),
      includeResults: fc.boolean(),
      order: fc.constantFrom<'time' | 'rank'>('time', 'rank'),
      limit: fc.constantFrom(1, 2, 3, 20),
    })
    .map(({ team, ...fields }) => ({
      ...(Object.fromEntries(
        Object.entries(fields).filter(([, value]) => value !== undefined),
      ) as Partial<TextQuery>),
      ...(team !== undefined && { tags: { team } }),
    }))

const CONVERSATIONS = [
  { name: 'a', owner: 'ann', team: 'red', isPublic: true },
  { name: 'b', owner: 'bob', team: 'red', isPublic: false },
  { name: 'c', owner: null, team: 'blue', isPublic: false },
] as const

async function fill(
  store: Store,
  suffix: string,
  texts: readonly (readonly [conversation: number, role: TextRole, text: string])[],
  first = 0,
): Promise<Text[]> {
  const made: Text[] = []
  for (const [index, [nth, role, text]] of texts.entries()) {
    const { name, owner, team, isPublic } = CONVERSATIONS[nth % CONVERSATIONS.length] ?? CONVERSATIONS[0]
    const one = {
      conversationId: `${name}${suffix}`,
      owner,
      team,
      isPublic,
      id: `e${first + index}`,
      role,
      text,
      second: first + index,
    }
    await store.append(one.conversationId, [factOf(one)])
    made.push(one)
  }
  return made
}

async function open(store: Store, suffix = ''): Promise<void> {
  for (const { name, owner, team, isPublic } of CONVERSATIONS)
    await store.createConversation({
      id: `${name}${suffix}`,
      public: isPublic,
      tags: { team },
      ...(owner !== null && { owner }),
    })
}

export const TEXTS: readonly Check[] = [
  test('text: every search finds what a reading of all logs finds, in both orders, in pages of any size', async (store, {
    another,
    runsOf,
  }) => {
    const texts = fc.array(fc.tuple(fc.nat(2), fc.constantFrom(...TEXT_ROLES), someText()), {
      minLength: 1,
      maxLength: 30,
    })
    const queries = fc.array(fc.tuple(someQuery(), someFilter()), { minLength: 8, maxLength: 8 })
    let isFirst = true
    const property = fc.asyncProperty(texts, queries, async (input, requested) => {
      const ownValue = isFirst ? store : await another()
      isFirst = false
      await open(ownValue)
      const all = await fill(ownValue, '', input)
      for (const [query, filter] of requested) {
        const whole = { query, ...filter }
        const hits = await findAll(ownValue, whole)
        equal(placesOf(hits), placesOf(findNaively(all, whole)), JSON.stringify(whole))
      }
    })
    await fc.assert(property, { numRuns: runsOf(12) })
  }),
  test('text: words, phrases, exclusions, identifiers, accents, scripts without spaces, URLs and emoji are found as people type them', async (store) => {
    const texts: Readonly<Record<string, string>> = {
      plan: 'The plan: deploy to the production database on Friday.',
      staging: 'Deploy the database to staging, not to production.',
      code: 'Call getUserById(foo_bar) in HTTPServer, see lib/store/kit.ts:42',
      accents: 'Une crème brûlée à Łódź, straße und ΟΔΟΣ',
      japanese: '東京都の天気は晴れです。カタカナ',
      chinese: '我们明天部署数据库',
      thai: 'ภาษาไทยไม่มีช่องว่าง',
      korean: '학교에서 공부해요',
      web: 'See https://example.com/docs/a-b?q=1#top and mail a@b.example',
      emoji: 'Done 🎉 👩‍💻 🇩🇪',
      numbers: 'Version 3.14.159 costs 1,299 in 2026',
      full: 'ＡＢＣ ﬁle ½',
    }
    await store.createConversation({ id: 'c' })
    await store.append(
      'c',
      Object.entries(texts).map(([id, text]) => say(id, text)),
    )
    const cases: readonly (readonly [query: string, ids: readonly string[]])[] = [
      ['deploy', ['plan', 'staging']],
      ['DEPLOY production', ['plan', 'staging']],
      ['"production database"', ['plan']],
      ['“production database”', ['plan']],
      ['"production database', ['plan']],
      ['deploy -staging', ['plan']],
      ['deploy -"to staging"', ['plan']],
      ['deploy --staging', ['staging']],
      ['-deploy', []],
      ['depl', []],
      ['getUserById', ['code']],
      ['getuserbyid', ['code']],
      ['user', ['code']],
      ['"get user"', ['code']],
      ['foo_bar', ['code']],
      ['fooBar', ['code']],
      ['foo', ['code']],
      ['http server', ['code']],
      ['lib/store/kit.ts', ['code']],
      ['kit.ts:42', ['code']],
      ['creme brulee', ['accents']],
      ['CRÈME', ['accents']],
      ['lodz strasse οδος', ['accents']],
      ['東京', ['japanese']],
      ['京', ['japanese']],
      ['都', ['japanese']],
      ['天気', ['japanese']],
      ['ｶﾀｶﾅ', ['japanese']],
      ['東都', []],
      ['数据库', ['chinese']],
      ['部署', ['chinese']],
      ['ไทย', ['thai']],
      ['ช่องว่าง', ['thai']],
      ['학교', ['korean']],
      ['https://example.com/docs', ['web']],
      ['example.com', ['web']],
      ['a@b.example', ['web']],
      ['🎉', ['emoji']],
      ['💻', ['emoji']],
      ['🇩🇪', ['emoji']],
      ['3.14', ['numbers']],
      ['1,299', ['numbers']],
      ['abc file', ['full']],
      ['AND OR NOT NEAR(a, b) *', []],
    ]
    for (const [query, ids] of cases)
      equal((await findAll(store, { query })).map(({ id }) => id).toSorted(), ids.toSorted(), query)
  }),
  test('text: no query is an error, whatever is typed', async (store, { runsOf }) => {
    await store.createConversation({ id: 'c' })
    await store.append('c', [say('m', 'a \'quoted\' "text" \u0000 \ud800 \\ % _ * ( ) : & | ! <-> NEAR')])
    const hostile = [
      '',
      ' ',
      '"',
      '""',
      '-',
      '--',
      '- -',
      '-"',
      '*',
      'a*',
      '^a',
      'a:b',
      'line:a',
      '(',
      ')',
      '(a',
      'a OR',
      'AND',
      'NEAR(a b, 3)',
      "'",
      "a'b",
      '\\',
      '%',
      '_',
      '\u0000',
      'a\u0000b',
      '\ud800',
      '\udfff"',
      '{a}',
      'a & b | !c',
      ':*',
      "a':*",
      '"a" *',
      '+a',
      '東*',
      '😀'.repeat(50),
      'a'.repeat(100_000),
      '"'.repeat(100_000),
      'a '.repeat(50_000),
      `${'-x '.repeat(1_000)}a`,
      '都'.repeat(30_000),
      '\u0301',
      '\uffff',
    ]
    for (const query of hostile)
      for (const order of ['time', 'rank'] as const) {
        const { items } = await store.searchText({ query, order })
        holds(items.length <= 1, `one text was found ${items.length} times`)
      }
    for (const query of ['', ' ', '"', '-', '(', '-a', '\u0000', '\ud800'])
      equal(await store.searchText({ query }), { items: [], cursor: null }, JSON.stringify(query))
    const property = fc.asyncProperty(anyText(), async (query) => {
      holds((await store.searchText({ query })).items.length <= 1, 'one text at most')
    })
    await fc.assert(property, { numRuns: runsOf(100) })
  }),
  test('text: pages skip and repeat no hit while texts are appended, before and after their place', async (store) => {
    for (const order of ['time', 'rank'] as const) {
      await open(store, order)
      const texts = Array.from(
        { length: 30 },
        (_, n) => [n, 'user' as const, `${'word '.repeat(1 + (n % 4))}${'other '.repeat(n % 7)}`] as const,
      )
      const all = await fill(store, order, texts, 100)
      const query = { query: 'word', order, owner: 'ann' }
      await readsWhileWriting(
        7,
        placesOf(findNaively(all, query)),
        (cursor) => store.searchText({ ...query, limit: 7, ...cursor }),
        placeOf,
        (nth) =>
          store.append(`a${order}`, [
            messageFact(`new${nth}`, 'user', 'word word word', 1_000 + nth),
            messageFact(`old${nth}`, 'user', 'word', nth),
          ]),
      )
      for (const { name } of CONVERSATIONS) await store.deleteConversation(`${name}${order}`)
    }
  }),
  test('text: a hit has its place, role, time, and a piece of the text with its matches', async (store) => {
    await store.createConversation({ id: 'c' })
    const long = `${'before 😀 '.repeat(60)}Crème\n東京都 fooBar_baz end${' after 😀'.repeat(60)}`
    await store.append('c', [
      pause('p'),
      messageFact('m', 'assistant', long, 5),
      result('r', 'a creme result', 6),
    ])
    const [hit] = (await store.searchText({ query: 'creme 京都 foobarbaz "end after"' })).items
    holds(hit !== undefined, 'the text is found')
    if (hit === undefined) return
    const { snippet, ranges, ...position } = hit
    const expected = { conversationId: 'c', id: 'm', seq: 1, role: 'assistant', timestamp: timestampAt(5) }
    equal(position, expected, 'the hit')
    const matches = ranges.map(([from, to]) => snippet.slice(from, to))
    equal(matches, ['Crème', '京都', 'fooBar_baz', 'end after'], 'the matches')
    holds(snippet.length <= 240 && snippet.isWellFormed() && !/[\n\r]/.test(snippet), 'a short line')
    const [first] = (await store.searchText({ query: '京' })).items
    const letters = first?.ranges.map(([from, to]) => first.snippet.slice(from, to))
    equal(letters, ['京'], 'one letter')
    const tools = (await store.searchText({ query: 'creme', includeResults: true })).items
    const hits = tools.map(({ id, role }) => `${id} of ${role}`)
    equal(hits, ['r of tool', 'm of assistant'], 'with results')
  }),
  test('text: a deleted conversation has no hit, and a new one under its id has its own', async (store) => {
    await open(store)
    await fill(store, '', [
      [0, 'user', 'secret one'],
      [1, 'user', 'secret two'],
      [0, 'user', 'secret three'],
    ])
    equal(await store.deleteConversation('a'), true, 'deleted')
    equal(placesOf(await findAll(store, { query: 'secret' })), ['b e1'], 'after the deletion')
    await store.createConversation({ id: 'a' })
    equal(placesOf(await findAll(store, { query: 'secret' })), ['b e1'], 'after it was created again')
    await store.append('a', [messageFact('n', 'user', 'secret four', 9)])
    equal(placesOf(await findAll(store, { query: 'secret' })), ['a n', 'b e1'], 'with its own text')
    equal(placesOf(await findAll(store, { query: 'one' })), [], 'a word that is gone')
  }),
  test('text: what is not in the tree, is no text, or was refused is not found; the index is complete', async (store) => {
    await store.createConversation({ id: 'c' })
    await store.append('c', [messageFact('m', 'user', 'here', 1), { kind: 'PauseEvent', id: 'here' }])
    await store.append('c', [messageFact('m', 'user', 'here, but under an id that is taken', 2)], {
      mode: 'import',
    })
    await rejects('id_conflict', 'a taken id', () =>
      store.append('c', [messageFact('m', 'user', 'here again', 3)]),
    )
    equal(placesOf(await findAll(store, { query: 'here' })), ['c m'], 'the hits')
    const { indexed, total } = await store.textIndex()
    equal([indexed, total], [total, 3], 'the index')
  }),
  test('text: what cannot be searched for is invalid_query, and a cursor of another search invalid_cursor', async (store) => {
    await open(store)
    await fill(store, '', [
      [0, 'user', 'a b'],
      [0, 'user', 'a b c'],
    ])
    const wrong: readonly Readonly<Record<string, unknown>>[] = [
      { query: 7 },
      { query: null },
      { limit: 0 },
      { limit: 101 },
      { order: 'best' },
      { role: 'robot' },
      { conversation: '' },
      { owner: '' },
      { from: 'yesterday' },
      { to: 'tomorrow' },
      { public: 'yes' },
      { includeResults: 1 },
    ]
    await rejectsEach(
      'invalid_query',
      wrong,
      (fields) => store.searchText({ query: 'a', ...fields }),
      (fields) => ({ field: Object.keys(fields)[0] }),
    )
    await rejects('invalid_argument', 'an unknown option', () =>
      store.searchText({ query: 'a', text: 'b' } as TextQuery),
    )
    for (const order of ['time', 'rank'] as const) {
      const { cursor } = await store.searchText({ query: 'a', order, limit: 1 })
      holds(cursor !== null, 'a page follows')
      if (cursor === null) return
      const others: readonly TextQuery[] = [
        { query: 'b', order, cursor },
        { query: 'a', order: order === 'time' ? 'rank' : 'time', cursor },
        { query: 'a', order, owner: 'ann', cursor },
        { query: 'a', order, cursor: `${cursor}x` },
        { query: 'a', order, cursor: 'x' },
      ]
      await rejectsEach('invalid_cursor', others, (query) => store.searchText(query))
      const second = await store.searchText({ query: 'A', order, limit: 5, cursor })
      equal(second.items.length, 1, 'the same words')
    }
  }),
  reopening('text: another process finds what this one has appended', async (store, { reopen }) => {
    await open(store)
    await fill(store, '', [[0, 'user', 'first word']])
    const other = await reopen()
    equal(placesOf(await findAll(other, { query: 'word' })), ['a e0'], 'what was there')
    await store.append('b', [messageFact('n', 'user', 'second word', 9)])
    equal(placesOf(await findAll(other, { query: 'word' })), ['b n', 'a e0'], 'what was added')
    await other.deleteConversation('b')
    equal(placesOf(await findAll(store, { query: 'word' })), ['a e0'], 'what was deleted')
  }),
]
