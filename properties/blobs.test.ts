/** S8: each long string is stored once, until no event refers to it. */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Event } from '../src/event/types.ts'
import type { Store } from '../src/store/contract/store.ts'
import { digestOf } from '../src/event/sha-256.ts'
import { blobText, LARGE_STRING } from '../src/event/text.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { RUNS } from './run.ts'

const long = (text: string): string => text.padEnd(LARGE_STRING + 1, text)

/** Some share a prefix, and some short ones look like references. */
const TEXTS: readonly string[] = [
  long('a'),
  long('b'),
  `${long('a')}b`,
  `${'x'.repeat(2 ** 18 - 1)}😀`,
  long('\ud800'),
  blobText(digestOf(long('a')).hash),
  'short',
]

const DIGESTS = new Map(TEXTS.map((text) => [text, digestOf(text)]))

const knownDigest = (text: string): ReturnType<typeof digestOf> => DIGESTS.get(text) ?? digestOf(text)

const isLong = (text: string): boolean => text.length > LARGE_STRING && text.isWellFormed()

const IDS = ['c', 'd', 'e'] as const

type Command =
  | { readonly type: 'create' | 'delete'; readonly id: string }
  | {
      readonly type: 'append'
      readonly id: string
      readonly texts: readonly number[]
      readonly refused: boolean
    }
  | { readonly type: 'repeat'; readonly id: string }
  | { readonly type: 'copy'; readonly id: string; readonly to: string }

const anId = fc.constantFrom(...IDS)
const commands = fc.array(
  fc.oneof<fc.Arbitrary<Command>[]>(
    fc.record({ type: fc.constantFrom('create', 'delete'), id: anId }),
    fc.record({
      type: fc.constant('append'),
      id: anId,
      texts: fc.array(fc.nat(TEXTS.length - 1), { maxLength: 4 }),
      refused: fc.boolean(),
    }),
    fc.record({ type: fc.constant('repeat'), id: anId }),
    fc.record({ type: fc.constant('copy'), id: anId, to: anId }),
  ),
  { minLength: 5, maxLength: 25, size: 'max' },
)

const eventOf = (id: string, texts: readonly string[]): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ image_urls: texts }, { text: texts[0] ?? '' }] },
})

type Model = Map<string, { readonly id: string; readonly texts: readonly string[] }[]>

async function perform(store: Store, model: Model, command: Command, nth: number): Promise<void> {
  const { id } = command
  const events = model.get(id)
  if (command.type === 'create') {
    if (events !== undefined) return
    await store.createConversation({ id })
    model.set(id, [])
  } else if (command.type === 'delete') expect(await store.deleteConversation(id)).toBe(model.delete(id))
  else if (events === undefined) return
  else if (command.type === 'append') {
    const texts = command.texts.map((index) => TEXTS[index] ?? '')
    const fact = eventOf(`e${nth}`, texts)
    if (command.refused)
      await expect(store.append(id, [fact], { expected: events.length + 1 })).rejects.toThrow()
    else {
      await store.append(id, [fact, eventOf(`f${nth}`, texts.slice(1))])
      events.push({ id: `e${nth}`, texts }, { id: `f${nth}`, texts: texts.slice(1) })
    }
  } else if (command.type === 'repeat') {
    const facts = events.slice(0, 3).map((event) => eventOf(event.id, event.texts))
    expect((await store.append(id, facts)).version).toBe(events.length)
  } else if (command.type === 'copy') {
    const target = model.get(command.to)
    if (target === undefined || command.to === id) return
    const facts = (await store.read(id)).map(({ fact }) => ({ ...fact, id: `${nth} ${fact.id}` }))
    await store.append(command.to, facts, { mode: 'import', expected: target.length })
    target.push(...events.map((event) => ({ ...event, id: `${nth} ${event.id}` })))
  }
}

async function check(store: Store, model: Model): Promise<void> {
  const stored = new Set([...model.values()].flat().flatMap(({ texts }) => texts.filter(isLong)))
  const audit = await store.auditBlobs()
  expect(audit).toMatchObject({ blobs: stored.size, unused: [], damaged: [], missing: [] })
  expect(audit.bytes).toBe([...stored].reduce((sum, text) => sum + knownDigest(text).bytes, 0))
  for (const id of IDS) {
    const events = model.get(id) ?? []
    const ownEvents = new Set(events.flatMap(({ texts }) => texts))
    for (const text of TEXTS) {
      const { hash, bytes } = knownDigest(text)
      const blob = await store.readBlob(id, hash)
      expect(blob?.bytes ?? null).toBe(ownEvents.has(text) && isLong(text) ? bytes : null)
    }
    if (!model.has(id)) continue
    for (const blobs of ['whole', 'refs'] as const) {
      const shown = (text: string): string =>
        blobs === 'refs' && isLong(text) ? blobText(knownDigest(text).hash) : text
      const bodies = (await store.read(id, { blobs })).map(({ fact }) =>
        JSON.stringify({ ...fact, parent_id: '' }),
      )
      const expected = events.map((event) =>
        JSON.stringify({ ...eventOf(event.id, event.texts.map(shown)), parent_id: '' }),
      )
      expect(bodies).toEqual(expected)
    }
  }
}

it.each([
  ['memory', () => memoryStore()],
  ['sqlite', () => sqliteStore({ file: ':memory:' })],
] as const)('S8: a %s store contains exactly the long strings of its events', async (_, open) => {
  const property = fc.asyncProperty(commands, async (list) => {
    const store = open()
    const model: Model = new Map()
    for (const [nth, command] of list.entries()) await perform(store, model, command, nth)
    await check(store, model)
    await store.close()
  })
  await fc.assert(property, { numRuns: Math.ceil(RUNS / 2) })
})
