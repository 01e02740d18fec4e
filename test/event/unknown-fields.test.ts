/** Law E7 and design D49: an event with unknown fields is loaded, and requests do not contain them. */

import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/service.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadLine, loadValue } from '../../src/event/load.ts'
import { shapeOfKind, walkShapes } from '../../src/event/nested-shapes.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { GRAMMARS } from '../../src/messages/grammars.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { replay } from '../../src/state/reduce.ts'
import { hostileLog, legalLog } from '../../src/testing/index.ts'
import { jsonValue } from '../../src/testing/json.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { backends } from '../conversation/backends.ts'
import { Tally } from '../../properties/tally.ts'

const NAMES = [
  'classification',
  'reasoning_details',
  'of_tomorrow',
  '__proto__',
  'constructor',
  'toJSON',
  '',
  'raw',
]

const SECRET = 'sesame-of-tomorrow'

/** Names that no shape has, with any values. */
const surplus = fc
  .dictionary(fc.constantFrom(...NAMES), jsonValue, { minKeys: 1, maxKeys: 3 })
  // As in parsed JSON, `__proto__` is an own key.
  .map((fields) => JSON.parse(JSON.stringify(fields)) as JsonObject)

/** Parts of other kinds and images may have any fields of their provider. */
const isOpen = (value: JsonObject): boolean =>
  Object.hasOwn(value, 'image_urls') ||
  !['undefined', 'text', 'thinking', 'redacted_thinking'].includes(String(value['type']))

/** Adds the fields to an event and to every closed shape in it. */
const widen = (event: Event, fields: JsonObject): Event =>
  walkShapes(event as object as JsonObject, shapeOfKind(event.kind), (value) =>
    isOpen(value) ? value : { ...value, ...fields },
  ) as object as Event

const widenLog = (facts: readonly Fact[], fields: JsonObject): Fact[] =>
  // Events without an id stay unchanged, since their derived id depends on the body.
  facts.map((fact) => (isQuarantined(fact) || fact.id === undefined ? fact : widen(fact, fields)))

const ids = (items: Iterable<{ readonly id: string | null }>): (string | null)[] =>
  [...items].map(({ id }) => id)

/** Returns the state of a log without the bodies of its events. */
function summaryOf(facts: readonly Fact[]): object {
  const state = replay(facts, { conversationId: 'c' })
  const { branch, header, log } = state
  return {
    header,
    head: log.head?.id,
    view: ids(viewEventsIn(branch.view)),
    pending: listPendingCallsIn(branch.pendingCalls).map(({ entry }) => entry.id),
    dropped: [...listDroppedResultsIn(branch)].map(({ id, reason }) => [id, reason]),
    warnings: [...log.entries].map(({ id, warnings }) => [id, warnings]),
  }
}

function requestsOf(facts: readonly Fact[]): string[] {
  const messages = toMessages(replay(facts, { conversationId: 'c' }))
  return GRAMMARS.map((grammar) => {
    try {
      return JSON.stringify(grammar.write(messages))
    } catch (error) {
      return String(error)
    }
  })
}

describe('an unknown field', () => {
  it('E7 stays in its event, is reported with its path, and changes no state and no request', () => {
    const tally = new Tally<'nested' | 'call' | 'result' | 'message' | 'thinking'>()
    fc.assert(
      fc.property(fc.oneof(hostileLog(), legalLog()), surplus, (facts, fields) => {
        const wide = widenLog(facts, fields)
        for (const [index, fact] of facts.entries()) {
          const widened = wide[index] as Fact
          if (isQuarantined(fact) || widened === fact) continue
          const text = JSON.stringify(widened)
          for (const { fact: read, warnings } of [loadLine(text), loadValue(JSON.parse(text))]) {
            expect(JSON.stringify(read)).toBe(text)
            const paths = warnings.filter(({ type }) => type === 'unknown_field').map(({ loc }) => loc)
            for (const name of Object.keys(fields)) expect(paths).toContainEqual([name])
            for (const path of paths) expect(fields).toHaveProperty([String(path.at(-1))])
          }
          expect(encodeEvent(widened as Event)).toBe(text)
          expect(decodeEvent(JSON.parse(text)).ok).toBe(false)
          tally.count([
            ...(loadLine(text).warnings.some(({ loc }) => loc.length > 1) ? (['nested'] as const) : []),
            ...(fact.kind === 'ActionEvent' ? (['call'] as const) : []),
            ...(fact.kind === 'ObservationEvent' ? (['result'] as const) : []),
            ...(fact.kind === 'MessageEvent' ? (['message'] as const) : []),
            ...(text.includes('"signature"') ? (['thinking'] as const) : []),
          ])
        }
        expect(summaryOf(wide)).toEqual(summaryOf(facts))
        expect(requestsOf(wide)).toEqual(requestsOf(facts))
      }),
      { numRuns: 60 },
    )
    tally.require(['nested', 'call', 'result', 'message', 'thinking'])
  })
})

it('X6 a secret in an unknown field is masked, also in signed thinking', () => {
  const rules = redactionRules({ secrets: [SECRET] })
  const tally = new Tally<'signed'>()
  fc.assert(
    fc.property(fc.oneof(hostileLog(), legalLog()), surplus, (facts, fields) => {
      for (const fact of widenLog(facts, { ...fields, of_tomorrow: { note: SECRET } })) {
        const text = JSON.stringify(fact)
        if (!text.includes(SECRET)) continue
        const redacted = redact(fact, rules)
        expect(JSON.stringify(redacted)).not.toContain(SECRET)
        expect(Object.keys(redacted)).toEqual(Object.keys(fact))
        if (text.includes('"signature":"')) tally.count(['signed'])
      }
    }),
    { numRuns: 200 },
  )
  tally.require(['signed'])
})

it.each([
  { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'c2VhbGVk' },
])('X6 a secret next to %j removes the signatures of the whole reply', (block) => {
  const rules = redactionRules({ secrets: [SECRET] })
  const other = { type: 'thinking', thinking: 'Well.', signature: 'c2ln' }
  const blocks = [{ ...block, of_tomorrow: { [SECRET]: [SECRET] } }, other]
  const action = { kind: 'ActionEvent', id: 'a', tool_name: 'ls', thought: [], thinking_blocks: blocks }
  const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
  const loaded = loadValue({ ...action, tool_call_id: 'c', tool_call: call, llm_response_id: 'r' }).fact
  expect(isQuarantined(loaded)).toBe(false)
  const text = JSON.stringify(redact(loaded, rules))
  expect(text).not.toContain(SECRET)
  expect(text).not.toContain('c2ln')
  expect(text).toContain('Well.')
})

describe('an unknown field of a stored event', () => {
  const BACKENDS = backends()
  afterAll(() => BACKENDS.remove())

  it.each(BACKENDS.names)('is read back, copied to forks and served over HTTP with %s', async (name) => {
    const store = (await BACKENDS.make(name)).open()
    const engine = createEngine({ store })
    const service = createService({ engine })
    const runs = name === 'memory' ? 12 : 3
    await fc.assert(
      fc.asyncProperty(legalLog(), surplus, async (facts, fields) => {
        const id = crypto.randomUUID()
        const wide = widenLog(facts, { ...fields, of_tomorrow: { note: SECRET } })
        await store.createConversation({ id })
        await store.append(id, wide, { mode: 'import', expected: 'none' })
        const source = await engine.open(id)
        const fork = await source.fork()
        for (const copy of [source, fork]) {
          const log = (await store.read(copy.id)).map(({ fact }) => fact).slice(0, wide.length)
          expect(log.map((fact) => JSON.stringify(fact))).toEqual(wide.map((fact) => JSON.stringify(fact)))
          expect(log.map((fact) => loadValue(fact).fact)).toEqual(log)
        }
        // The test client is not used: it checks events against the schema, which has no unknown fields.
        const url = `http://localhost/api/conversations/${id}/events/search?limit=100`
        const response = await service.fetch(new Request(url))
        const served = (await response.json()) as { readonly items: readonly JsonObject[] }
        expect(served.items.length).toBe(Math.min(100, wide.length))
        for (const item of served.items)
          expect(item).toMatchObject(wide.find((fact) => fact.id === item['id']) ?? {})
      }),
      { numRuns: runs },
    )
    await engine.close()
    await store.close()
  })
})
