import * as fc from 'fast-check'
import type { Fact } from '../../event/quarantine.ts'
import { TEXT_ROLES, type TextHit, type TextQuery, type TextRole } from '../../store/contract/text.ts'
import type { Store } from '../../store/contract/store.ts'
import { fitsText, parseTextQuery, scoreText } from '../../store/kit/query/text-query.ts'
import { lineOf, sizeOfLine } from '../../store/kit/query/text-tokens.ts'
import { formatInstant } from '../../store/kit/record.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, forAll, reopening, someOf, test } from './check.ts'
import { begin, pause, pluck, say } from './facts.ts'
import { fullPages, readsWhileWriting } from './pages.ts'
import { anyText } from '../text.ts'

interface Text {
  readonly conversationId: string
  readonly owner: string | null
  readonly team: string
  readonly isPublic: boolean
  readonly id: string
  readonly role: TextRole
  readonly text: string
  readonly second: number
}

const START_TIME = 1_767_225_600_000_000n
const timestampAt = (second: number): string => formatInstant(START_TIME + BigInt(second) * 1_000_000n)

const secondOf = (time: string): number =>
  Number((BigInt(Date.parse(time)) * 1000n - START_TIME) / 1_000_000n)

function textFact(id: string, role: TextRole, text: string, second: number): Fact {
  const timestamp = timestampAt(second)
  if (role !== 'tool') {
    const source = role === 'user' ? 'user' : 'agent'
    return say(id, '', { source, timestamp, llm_message: { role, content: [{ text }] } })
  }
  return {
    kind: 'ObservationEvent',
    id,
    source: 'environment',
    timestamp,
    tool_name: 'read',
    tool_call_id: 'call',
    action_id: 'action',
    observation: { kind: 'ReadObservation', content: [{ text }] },
  }
}

type Place = Pick<TextHit, 'conversationId' | 'id'>

const placeOf = ({ conversationId, id }: Place): string => `${conversationId} ${id}`

async function findAll(store: Store, query: TextQuery): Promise<string[]> {
  const hits = await fullPages(query.limit ?? 20, (cursor) => store.searchText({ ...query, ...cursor }))
  return hits.map(placeOf)
}

function findNaively(texts: readonly Text[], query: TextQuery): string[] {
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
    .map(placeOf)
}

const LATIN = 'deploy Deploy deployment fooBar foo_bar foo bar Café cafe x 3.14'
const OTHER = '東京 京都 東京都 都 ไทย ภาษาไทย https://a.b/c?d=e 🎉 - "'
const WORDS = `${LATIN} ${OTHER}`.split(' ')

const someWords = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength }).map((words) => words.join(' '))

const someQuery = fc
  .array(fc.tuple(fc.constantFrom('', '', '', '-', '"'), someWords(2)), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.map(([mark, words]) => `${mark}${words}`).join(' '))

const someFilter: fc.Arbitrary<Partial<TextQuery>> = someOf(
  {
    conversation: fc.constantFrom('a', 'b', 'nowhere'),
    owner: fc.constantFrom('ann', 'bob'),
    tags: fc.constantFrom({ team: 'red' }, { team: 'blue' }),
    public: fc.boolean(),
    role: fc.constantFrom(...TEXT_ROLES),
    from: fc.nat(40).map(timestampAt),
    to: fc.nat(40).map(timestampAt),
  },
  6,
)

const CONVERSATIONS = [
  { conversationId: 'a', owner: 'ann', team: 'red', isPublic: true },
  { conversationId: 'b', owner: 'bob', team: 'red', isPublic: false },
  { conversationId: 'c', owner: null, team: 'blue', isPublic: false },
] as const

/** Creates the conversations, and appends texts to them, one per second, beginning at second `first`. */
async function fill(
  store: Store,
  texts: readonly (readonly [conversation: number, role: TextRole, text: string])[],
  first = 0,
): Promise<Text[]> {
  for (const { conversationId: id, owner, team, isPublic } of CONVERSATIONS)
    await store.createConversation({ id, public: isPublic, tags: { team }, ...(owner !== null && { owner }) })
  const created = texts.map(([nth, role, text], index): Text => {
    const conversation = CONVERSATIONS[nth % CONVERSATIONS.length] ?? CONVERSATIONS[0]
    return { ...conversation, id: `e${first + index}`, role, text, second: first + index }
  })
  for (const { conversationId, id, role, text, second } of created)
    await store.append(conversationId, [textFact(id, role, text, second)])
  return created
}

const LANGUAGES: Readonly<Record<string, string>> = {
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

const FINDING: readonly (readonly [ids: readonly string[], queries: readonly string[]])[] = [
  [
    ['plan', 'staging'],
    ['deploy', 'DEPLOY production'],
  ],
  [['plan'], ['"production database"', '“production database”', '"production database']],
  [['plan'], ['deploy -staging', 'deploy -"to staging"']],
  [['staging'], ['deploy --staging']],
  [['code'], ['getUserById', 'getuserbyid', 'user', '"get user"', 'foo_bar', 'fooBar', 'foo', 'http server']],
  [['code'], ['lib/store/kit.ts', 'kit.ts:42']],
  [['accents'], ['creme brulee', 'CRÈME', 'lodz strasse οδος']],
  [['japanese'], ['東京', '京', '都', '天気', 'ｶﾀｶﾅ']],
  [['chinese'], ['数据库', '部署']],
  [['thai'], ['ไทย', 'ช่องว่าง']],
  [['korean'], ['학교']],
  [['web'], ['https://example.com/docs', 'example.com', 'a@b.example']],
  [['emoji'], ['🎉', '💻', '🇩🇪']],
  [['numbers'], ['3.14', '1,299']],
  [['full'], ['abc file']],
  [[], ['-deploy', 'depl', '東都', 'AND OR NOT NEAR(a, b) *']],
]

/** Queries that a text index may reject or read as its own syntax. Each key is the reason. */
const HOSTILE = Object.values({
  marks: ['', ' ', '"', '""', '-', '--', '- -', '-"', '\u0301', '\uffff'],
  operators: ['*', 'a*', '^a', 'a:b', 'line:a', '(', ')', '(a', 'a OR', 'AND', 'NEAR(a b, 3)', '{a}'],
  moreOperators: ['a & b | !c', ':*', "a':*", '"a" *', '+a', '東*'],
  values: ["'", "a'b", '\\', '%', '_', '\u0000', 'a\u0000b', '\ud800', '\udfff"'],
  long: ['a'.repeat(100_000), '"'.repeat(100_000), 'a '.repeat(50_000), `${'-x '.repeat(1_000)}a`],
  longUnicode: ['😀'.repeat(50), '都'.repeat(30_000)],
}).flat()

const ORDERS = ['time', 'rank'] as const

export const TEXTS: readonly Check[] = [
  test('text: a search returns the hits that a scan of all logs returns, in both orders, in pages of any size', async (store, {
    another,
    runsOf,
  }) => {
    const texts = fc.array(fc.tuple(fc.nat(2), fc.constantFrom(...TEXT_ROLES), someWords(8)), {
      minLength: 1,
      maxLength: 30,
    })
    const query = fc.record({
      query: someQuery,
      filter: someFilter,
      includeResults: fc.boolean(),
      order: fc.constantFrom(...ORDERS),
      limit: fc.constantFrom(1, 2, 3, 20),
    })
    const queries = fc.array(query, { minLength: 8, maxLength: 8 })
    let isFirst = true
    await forAll(fc.tuple(texts, queries), runsOf(12), async ([input, requested]) => {
      const empty = isFirst ? store : await another()
      isFirst = false
      const all = await fill(empty, input)
      for (const { filter, ...rest } of requested) {
        const whole = { ...filter, ...rest }
        equal(await findAll(empty, whole), findNaively(all, whole), JSON.stringify(whole))
      }
    })
  }),
  test('text: finds words, phrases, exclusions, identifiers, accents, scripts without spaces, URLs and emoji', async (store) => {
    await begin(
      store,
      'c',
      Object.entries(LANGUAGES).map(([id, text]) => say(id, text)),
    )
    for (const [ids, queries] of FINDING)
      for (const query of queries) {
        const expected = ids.map((id) => `c ${id}`)
        equal((await findAll(store, { query })).toSorted(), expected, query)
      }
  }),
  test('text: no text of a query is an error', async (store, { runsOf }) => {
    await begin(store, 'c', [say('m', 'a \'quoted\' "text" \u0000 \ud800 \\ % _ * ( ) : & | ! <-> NEAR')])
    const finds = async (query: string, order: 'time' | 'rank'): Promise<void> => {
      const { length } = (await store.searchText({ query, order })).items
      holds(length <= 1, `one text has ${length} hits`)
    }
    for (const query of HOSTILE) for (const order of ORDERS) await finds(query, order)
    for (const query of ['', ' ', '"', '-', '(', '-a', '\u0000', '\ud800'])
      equal(await store.searchText({ query }), { items: [], cursor: null }, JSON.stringify(query))
    await forAll(anyText, runsOf(100), (query) => finds(query, 'time'))
  }),
  test('text: appending texts while paging repeats and skips no earlier hits', async (first, { another }) => {
    for (const order of ORDERS) {
      const store = order === 'time' ? first : await another()
      const texts = Array.from(
        { length: 30 },
        (_, n) => [n, 'user' as const, `${'word '.repeat(1 + (n % 4))}${'other '.repeat(n % 7)}`] as const,
      )
      const query = { query: 'word', order, owner: 'ann' }
      await readsWhileWriting(
        7,
        findNaively(await fill(store, texts, 100), query),
        (cursor) => store.searchText({ ...query, limit: 7, ...cursor }),
        placeOf,
        (nth) =>
          store.append('a', [
            textFact(`new${nth}`, 'user', 'word word word', 1_000 + nth),
            textFact(`old${nth}`, 'user', 'word', nth),
          ]),
      )
    }
  }),
  test('text: a hit has its position, role, time, and an excerpt with its matches', async (store) => {
    const long = `${'before 😀 '.repeat(60)}Crème\n東京都 fooBar_baz end${' after 😀'.repeat(60)}`
    const texts = [textFact('m', 'assistant', long, 5), textFact('r', 'tool', 'a creme result', 6)]
    await begin(store, 'c', [pause('p'), ...texts])
    const first = async (query: string): Promise<Omit<TextHit, 'ranges'> & { matches: string[] }> => {
      const [hit] = (await store.searchText({ query })).items
      if (hit === undefined) throw new Error(`no hit for ${query}`)
      const { ranges, ...rest } = hit
      return { ...rest, matches: ranges.map(([from, to]) => hit.snippet.slice(from, to)) }
    }
    const { snippet, matches, ...position } = await first('creme 京都 foobarbaz "end after"')
    const expected = { conversationId: 'c', id: 'm', seq: 1, role: 'assistant', timestamp: timestampAt(5) }
    equal(position, expected, 'the hit')
    equal(matches, ['Crème', '京都', 'fooBar_baz', 'end after'], 'the matches')
    holds(snippet.length <= 240 && snippet.isWellFormed() && !/[\n\r]/.test(snippet), 'an invalid snippet')
    equal((await first('京')).matches, ['京'], 'matches of one character')
    const { items } = await store.searchText({ query: 'creme', includeResults: true })
    equal(pluck(items, 'id'), ['r', 'm'], 'ids with tool results')
    equal(pluck(items, 'role'), ['tool', 'assistant'], 'roles with tool results')
  }),
  test('text: a deleted conversation has no hits, and a new one with its id has only its own', async (store) => {
    await fill(store, [
      [0, 'user', 'secret one'],
      [1, 'user', 'secret two'],
      [0, 'user', 'secret three'],
    ])
    equal(await store.deleteConversation('a'), true, 'result of deleting')
    equal(await findAll(store, { query: 'secret' }), ['b e1'], 'hits after the deletion')
    await store.createConversation({ id: 'a' })
    equal(await findAll(store, { query: 'secret' }), ['b e1'], 'hits after the recreation')
    await store.append('a', [textFact('n', 'user', 'secret four', 9)])
    equal(await findAll(store, { query: 'secret' }), ['a n', 'b e1'], 'hits after a new text')
    equal(await findAll(store, { query: 'one' }), [], 'hits of a deleted word')
  }),
  test('text: events outside of the tree, without text or rejected are not found; the index is complete', async (store) => {
    await begin(store, 'c', [textFact('m', 'user', 'here', 1), pause('here')])
    const again = [textFact('m', 'user', 'here, but with an existing id', 2)]
    await store.append('c', again, { mode: 'import' })
    await rejects('id_conflict', 'an existing id', () => store.append('c', again))
    equal(await findAll(store, { query: 'here' }), ['c m'], 'the hits')
    const { indexed, total } = await store.textIndex()
    equal([indexed, total], [total, 3], 'indexed and total texts')
  }),
  test('text: an invalid query is invalid_query, and a cursor of another search is invalid_cursor', async (store) => {
    await fill(store, [
      [0, 'user', 'a b'],
      [0, 'user', 'a b c'],
    ])
    const invalid: readonly Readonly<Record<string, unknown>>[] = [
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
      invalid,
      (fields) => store.searchText({ query: 'a', ...fields }),
      (fields) => ({ field: Object.keys(fields)[0] }),
    )
    await rejects('invalid_argument', 'an unknown option', () =>
      store.searchText({ query: 'a', text: 'b' } as TextQuery),
    )
    for (const order of ORDERS) {
      const { cursor } = await store.searchText({ query: 'a', order, limit: 1 })
      holds(cursor !== null, 'there is no second page')
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
      equal(second.items.length, 1, 'hits on the second page')
    }
  }),
  reopening('text: another process finds what this one has appended', async (store, { reopen }) => {
    await fill(store, [[0, 'user', 'first word']])
    const other = await reopen()
    equal(await findAll(other, { query: 'word' }), ['a e0'], 'hits before an append')
    await store.append('b', [textFact('n', 'user', 'second word', 9)])
    equal(await findAll(other, { query: 'word' }), ['b n', 'a e0'], 'hits after an append')
    await other.deleteConversation('b')
    equal(await findAll(store, { query: 'word' }), ['a e0'], 'hits after a deletion')
  }),
]
