/** Checks of append: values that are not events are rejected without other effects. */

import * as fc from 'fast-check'
import { isColloquyError } from '../../event/errors.ts'
import { EVENT_KINDS } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import { anyEvent } from '../event.ts'
import { equal, holds, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, pause, say, storable, update } from './facts.ts'

const message = { kind: 'MessageEvent', id: 'x', source: 'user' }
const llm = (content: unknown): object => ({ ...message, llm_message: { role: 'user', content } })

/** Each lacks, or has in another form, what a store places or finds an event by. */
const SHAPELESS: readonly object[] = [
  message,
  { ...message, llm_message: null },
  { ...message, llm_message: [] },
  llm('text'),
  llm([null]),
  llm(['text']),
  llm([{ text: 7 }]),
  { ...say('x', 'a'), extended_content: [7] },
  { ...say('x', 'a'), source: undefined },
  { ...pause('x'), source: 'a,b c' },
  { ...pause('x'), source: 7 },
  { ...pause('x'), id: 7 },
  { ...pause('x'), id: null },
  { ...pause('x'), parent_id: 7 },
  { ...pause('x'), timestamp: 7 },
  { quarantined: true, id: 'x' },
]

function nested(levels: number): object {
  let value: object = {}
  for (let i = 1; i < levels; i += 1) value = i % 2 === 0 ? [value] : { value }
  return value
}

function frozen(levels: number): object {
  let value: object = Object.freeze({})
  for (let i = 1; i < levels; i += 1) value = Object.freeze([value])
  return value
}

const maimed: fc.Arbitrary<Fact> = fc
  .tuple(anyEvent(), fc.nat(), fc.option(fc.jsonValue({ maxDepth: 2 })))
  .map(([event, index, value]) => {
    const fields = Object.keys(event)
    const { [fields[index % fields.length] as string]: _, ...rest } = event as object as Record<
      string,
      unknown
    >
    const field = fields[index % fields.length] as string
    return { ...rest, ...(field !== 'id' && value !== null && { [field]: value }), id: 'x' } as object as Fact
  })

export const APPEND_SHAPE: readonly Check[] = [
  {
    name: 'append: an event without its required fields is invalid_event, and concurrent appends succeed',
    async run({ store }) {
      const id = await begin(store, 'c')
      const modes = ['live', 'import'] as const
      for (const [i, shapeless] of SHAPELESS.entries()) {
        const input = shapeless as Fact
        await Promise.all([
          store.append(id, [pause(`a${i}`)]),
          ...modes.map((mode) =>
            rejects('invalid_event', JSON.stringify(input), () => store.append(id, [input], { mode })),
          ),
          store.append(id, [say(`b${i}`, 'word')]),
        ])
      }
      const kinds = EVENT_KINDS
      equal((await store.getConversation(id))?.version, 2 * SHAPELESS.length, 'the version')
      equal(await store.count({ conversationId: id, kinds }), 2 * SHAPELESS.length, 'events of all kinds')
      equal(await store.count({ conversationId: id, text: 'word' }), SHAPELESS.length, 'messages')
    },
  },
  {
    name: 'append: nested deeper than an event may be, or no JSON, it is invalid_event',
    async run({ store }) {
      const id = await begin(store, 'c')
      const cycle: Record<string, unknown> = {}
      cycle['self'] = cycle
      const values: readonly unknown[] = [nested(512), nested(20_000), frozen(512), frozen(20_000), cycle, 7n]
      for (const [i, value] of values.entries()) {
        const input = update('u', 'k', null) as object
        const what = `value ${i}`
        await rejects('invalid_event', what, () => store.append(id, [{ ...input, value } as Fact]))
        const whole = Object.freeze({ ...input, value }) as Fact
        await rejects('invalid_event', what, () => store.append(id, [pause('p'), whole], { mode: 'import' }))
      }
      equal(await store.read(id), [], 'the log')
    },
  },
  {
    name: 'append: whatever is done to an event, it is kept and found, or refused with an error of the contract',
    async run({ store, runsOf }) {
      let runs = 0
      const property = fc.asyncProperty(maimed, async (input) => {
        const id = await begin(store, `c${(runs += 1)}`)
        const stored = await store.append(id, [input], { mode: 'import' }).catch((error: unknown) => {
          holds(isColloquyError(error), `an append failed with ${String(error)}`)
          return null
        })
        if (stored === null || storable([input]).length === 0) return
        const again = await store.append(id, [input], { mode: 'import' })
        equal(again.version, 1, 'the version when it is appended again')
        const page = await store.search({ conversationId: id, kinds: EVENT_KINDS })
        equal(idsOf(page.items), ['x'], 'what is found by its kind')
      })
      await fc.assert(property, { numRuns: runsOf(100) })
    },
  },
]
