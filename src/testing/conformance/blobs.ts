import * as fc from 'fast-check'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { BlobContent, BlobRange, BlobReference } from '../../store/contract/blobs.ts'
import type { Store } from '../../store/contract/store.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { replaceStrings } from '../../store/kit/blobs.ts'
import { digestOf } from '../../event/sha-256.ts'
import { blobText, LARGE_STRING } from '../../event/text.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, generated, it, reopening, test } from './check.ts'
import { begin, pause, pluck, say, update } from './facts.ts'

const long = (start: string, length: number = LARGE_STRING + 1): string =>
  start + 'x'.repeat(length - start.length)

const LARGE_TEXTS: readonly string[] = [
  long('a'),
  long('b', LARGE_STRING + 2),
  long('\ufeffwith a mark of order'),
  long('NUL \u0000 and \u2028'),
  '日本語'.repeat(LARGE_STRING / 3 + 1),
  // Base64, and texts that only resemble it: extra bits at the end, padding in the middle, the URL alphabet,
  // text before a comma.
  `data:image/png;base64,${'iVBORw0K'.repeat(2 ** 13)}QQ==`,
  `${'QUJD'.repeat(2 ** 14)}QR==`,
  `${'QUJD'.repeat(2 ** 14)}QQ==QUI=`,
  `${'QUJD'.repeat(2 ** 14)}A-_/`,
  `data:é,日,${'QUJD'.repeat(2 ** 14)}=`,
]

/** The last two texts are stored in several pieces, and a character crosses the border between two pieces. */
const LONG_TEXTS: readonly string[] = [
  ...LARGE_TEXTS,
  `${'a'.repeat(2 ** 18 - 1)}😀${'é'.repeat(2 ** 17)}`,
  '😀'.repeat(2 ** 18 + 1),
]

const LONG_FACTS: readonly Fact[] = LONG_TEXTS.map((text, i) => say(`m${i}`, text))

const SHORT_TEXTS: readonly string[] = [
  long('at the bound', LARGE_STRING),
  '日'.repeat(LARGE_STRING),
  long('\ud800'),
  long('\udc00x\ud800'),
  `${long('cut')}\ud83d`,
  blobText('0'.repeat(64)),
  blobText(digestOf(long('a')).hash),
  '',
]

const KEYS = ['__proto__', 'constructor', '0', '', 'a.b', '\ud800', 'k'.repeat(LARGE_STRING + 1)]

const anyValue = (): fc.Arbitrary<JsonValue> =>
  fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom(...LARGE_TEXTS, ...SHORT_TEXTS, null, 1, true),
      fc.array(tie('value'), { maxLength: 4 }),
      fc
        .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), tie('value')), {
          selector: ([key]) => key,
          maxLength: 4,
        })
        .map((entries): JsonValue => Object.fromEntries(entries)),
    ),
  })).value

function stringsIn(
  value: unknown,
  path: readonly (string | number)[] = [],
): { path: typeof path; text: string }[] {
  if (typeof value === 'string')
    return value.length > LARGE_STRING && value.isWellFormed() ? [{ path, text: value }] : []
  if (Array.isArray(value)) return value.flatMap((inner, index) => stringsIn(inner, [...path, index]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => stringsIn(inner, [...path, key]))
}

const bodies = (events: readonly StoredEvent[]): string[] => events.map(({ fact }) => JSON.stringify(fact))

async function readAll(blob: BlobContent | null, range: BlobRange = {}): Promise<Uint8Array> {
  if (blob === null) throw new Error('the blob is missing')
  const whole = new Uint8Array(Math.min(range.end ?? blob.bytes, blob.bytes))
  let index = Math.min(range.start ?? 0, whole.length)
  for await (const piece of blob.content) {
    holds(piece.length > 0 && piece.length <= 2 ** 20, `a piece has ${piece.length} bytes`)
    whole.set(piece, index)
    index += piece.length
  }
  equal(index, whole.length, 'the number of bytes read')
  return whole.subarray(Math.min(range.start ?? 0, whole.length))
}

async function hasText(
  store: Store,
  id: string,
  { hash }: Pick<BlobReference, 'hash'>,
  text: string,
): Promise<void> {
  const bytes = await readAll(await store.readBlob(id, hash))
  const isSame = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) === text
  holds(isSame, `the text of blob ${hash} has changed`)
}

async function isSound(store: Store, what: string): Promise<void> {
  const { unused, damaged, missing } = await store.auditBlobs()
  equal([unused, damaged, missing], [[], [], []], `unused, damaged and missing blobs ${what}`)
}

export const BLOBS: readonly Check[] = [
  generated(
    'blobs: bodies are returned unchanged, or with references in place of long strings',
    30,
    fc.array(anyValue(), { maxLength: 3 }),
    async (store, id, values) => {
      const facts = values.map((value, i) => update(`u${i}`, 'k', value))
      await store.append(id, facts, { mode: 'import', expected: 'none' })
      const whole = await store.read(id)
      const expected = facts.map((fact) => JSON.stringify(fact))
      equal(bodies(whole), expected, 'whole bodies')
      const isInline = whole.every((event) => event.blobs === undefined)
      holds(isInline, 'a whole body has references')
      for (const { seq, fact, blobs } of await store.read(id, { blobs: 'refs' })) {
        const body = facts[seq] as object as JsonValue
        const references = stringsIn(body).map(({ path, text }) => ({ path, ...digestOf(text) }))
        equal(blobs ?? [], references, 'references')
        holds(blobs?.length !== 0, 'an event without long strings has an empty list')
        const shortened = replaceStrings(body, references, ({ hash }) => blobText(hash))
        equal(JSON.stringify(fact), JSON.stringify(shortened), 'the body with references')
        for (const { path, hash } of references) {
          const text = path.reduce((value: unknown, key) => (value as Record<string, unknown>)[key], fact)
          equal(text, blobText(hash), 'the text of a reference')
        }
      }
      await isSound(store, 'after an append')
    },
  ),
  it('blobs: read, get, getMany and search return equal references, and the page size counts these', async (store, id) => {
    const text = LONG_TEXTS[0] as string
    await store.append(id, [say('a', 'a'), say('m', text), say('z', text)])
    const [, one] = await store.read(id, { blobs: 'refs' })
    equal(one?.blobs?.length, 1, 'the number of references')
    equal(await store.get(id, 'm', { blobs: 'refs' }), one, 'the event from get')
    equal(await store.getMany(id, ['m', 'none'], { blobs: 'refs' }), [one, null], 'events from getMany')
    const query = { conversationId: id, maxBytes: 60_000 } as const
    const page = await store.search({ ...query, blobs: 'refs' })
    equal(page.items[1], one, 'the event from search')
    equal(page.items.length, 3, 'number of events with references on a page')
    const whole = await store.search(query)
    holds(whole.items.length < 3, 'a page of whole bodies exceeds maxBytes')
    equal(bodies(whole.items), bodies(await store.read(id, { limit: whole.items.length })), 'the bodies')
    const part = { conversationId: id, text: 'axx', blobs: 'refs' } as const
    equal((await store.search(part)).items.length, 2, 'number of events by part of the text')
    const rest = JSON.stringify(one?.fact).length - blobText(one?.blobs?.[0]?.hash ?? '').length
    const small = await store.search({ ...part, maxBytes: rest + 1 })
    equal(small.items.length, 2, 'number of events on the smallest page')
    await rejects('invalid_query', 'search', () => store.search({ ...query, blobs: 'no' as 'refs' }))
    for (const options of [{ blobs: 'no' }, { blob: 'refs' }] as object[]) {
      await rejects('invalid_argument', 'get', () => store.get(id, 'm', options))
      await rejects('invalid_argument', 'getMany', () => store.getMany(id, ['m'], options))
    }
    await rejects('invalid_argument', 'read', () => store.read(id, { blobs: 'no' as 'refs' }))
  }),
  test('blobs: byte ranges can be read, only through a conversation that contains the string', async (store) => {
    const id = await begin(store, 'c', LONG_FACTS)
    await begin(store, 'other', [say('m', 'x')])
    const events = await store.read(id, { blobs: 'refs' })
    for (const [i, { blobs = [] }] of events.entries()) {
      const text = LONG_TEXTS[i] as string
      const { hash, bytes } = blobs[0] as BlobReference
      const whole = new TextEncoder().encode(text)
      equal(bytes, whole.length, 'the length in bytes')
      await hasText(store, id, { hash }, text)
      const ranges: readonly BlobRange[] = [
        ...[0, 1].map((end) => ({ start: 0, end })),
        { start: 2 ** 18 - 1, end: 2 ** 18 + 3 },
        ...[7, bytes - 1, bytes].map((start) => ({ start })),
        { start: bytes + 5, end: bytes + 9 },
        { end: bytes + 9 },
      ]
      for (const range of ranges) {
        const result = await readAll(await store.readBlob(id, hash, range), range)
        const expected = whole.subarray(range.start ?? 0, range.end)
        equal(result.length, expected.length, `the length of ${JSON.stringify(range)} of ${bytes} bytes`)
        const index = result.findIndex((byte, n) => byte !== expected[n])
        equal(index, -1, `the first different byte of ${JSON.stringify(range)} of ${bytes}`)
      }
      for (const one of ['other', 'none', '']) equal(await store.readBlob(one, hash), null, `blob of ${one}`)
      for (const one of ['', 'x', hash.toUpperCase(), `${hash}0`, 7 as unknown as string])
        equal(await store.readBlob(id, one), null, `the blob with hash ${String(one)}`)
      await rejectsEach(
        'invalid_argument',
        [{ start: -1 }, { start: 0.5 }, { start: 2, end: 1 }, { end: Number.NaN }],
        (range) => store.readBlob(id, hash, range),
      )
    }
  }),
  it('blobs: an event with a long string can be appended again, and with another string conflicts', async (store, id) => {
    const facts = [say('m', long('a')), pause('p'), say('n', long('a'))]
    const { events } = await store.append(id, facts)
    const again = await store.append(id, facts)
    equal([again.version, bodies(again.events)], [3, bodies(events)], 'a repeated append')
    const copied = await store.append(id, pluck(events, 'fact'), { mode: 'import', expected: 0 })
    equal(copied.version, 3, 'the version after a copied import')
    await rejects('id_conflict', 'an id with another text', () => store.append(id, [say('m', long('b'))]))
    const other = [say('x', long('only here'))]
    await rejects('version_conflict', 'a stale append', () => store.append(id, other, { expected: 1 }))
    await isSound(store, 'after rejected appends')
    const { hash } = digestOf(long('only here'))
    equal(await store.readBlob(id, hash), null, 'the long string of a rejected append')
    equal((await store.append(id, [pause('q', { parent_id: 'm' })])).version, 4, 'the version on a branch')
  }),
  test('blobs: a string is deleted with the last event that contains it, in any conversation', async (store) => {
    const texts = LONG_TEXTS.slice(0, 3)
    const references = texts.map((text) => digestOf(text))
    const ids = ['c', 'd', 'e']
    for (const [i, id] of ids.entries())
      await begin(
        store,
        id,
        texts.slice(0, 3 - i).flatMap((text, n) => [say(`a${n}`, text), say(`b${n}`, text)]),
      )
    for (const [i, id] of ids.entries()) {
      for (const [j, other] of ids.entries())
        for (const [n, one] of references.entries())
          if (j >= i && n < 3 - j) await hasText(store, other, one, texts[n] as string)
          else equal(await store.readBlob(other, one.hash), null, `blob ${n} of ${other}`)
      await store.deleteConversation(id)
      await isSound(store, `after deleting ${id}`)
      for (const one of references) equal(await store.readBlob(id, one.hash), null, `a blob of ${id}`)
    }
    equal((await store.auditBlobs()).blobs, 0, 'the number of blobs')
    const id = await begin(store, 'c', [say('m', texts[0] as string)])
    await hasText(store, id, references[0] as BlobReference, texts[0] as string)
  }),
  test('blobs: concurrent creations and deletions of conversations lose and leave no strings', async (store) => {
    const texts = LONG_TEXTS.slice(0, 3)
    const worker = async (n: number): Promise<void> => {
      for (let round = 0; round < 4; round += 1) {
        const id = await begin(store, `c${n}`)
        const facts = texts.map((_, i) => say(`m${i}`, texts[(i + n + round) % 3] as string))
        await Promise.all(facts.map((fact) => store.append(id, [fact])))
        const result = await store.getMany(id, ['m0', 'm1', 'm2'])
        const isWhole = result.every(
          (event, i) => stringsIn(event?.fact)[0]?.text === stringsIn(facts[i])[0]?.text,
        )
        holds(isWhole, 'a long string has changed')
        if (round < 3) await store.deleteConversation(id)
      }
    }
    await Promise.all(Array.from({ length: 6 }, (_, n) => worker(n)))
    await isSound(store, 'at the end')
    for (let n = 0; n < 6; n += 1) await store.deleteConversation(`c${n}`)
    await isSound(store, 'after deleting all')
    equal((await store.auditBlobs()).blobs, 0, 'the number of blobs')
  }),
  reopening(
    'blobs: acknowledged strings are visible to another store on the same data',
    async (store, { reopen }) => {
      const id = await begin(store, 'c', LONG_FACTS)
      const before = await store.read(id)
      const again = await reopen()
      equal(bodies(await again.read(id)), bodies(before), 'bodies')
      for (const text of LONG_TEXTS) await hasText(again, id, digestOf(text), text)
      await again.append(id, [say('n', LONG_TEXTS[0] as string)])
      await isSound(again, 'after an append by another store')
      await again.deleteConversation(id)
      const deleted = await store.readBlob(id, digestOf(LONG_TEXTS[0] as string).hash)
      equal(deleted, null, 'a blob deleted by another store')
      await isSound(store, 'after a deletion by another store')
    },
  ),
]
