/** Compares condensations with a plain reading of the rules, and counts their work: O(log view) each. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { hasText } from '../../src/event/text.ts'
import { work } from '../../src/log/work.ts'
import { findings } from '../../src/explain/findings.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState } from '../../src/state/state.ts'
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import { eventCount, isPending, stretchStarts, type Unit, unitEvents } from '../../src/view/units.ts'

const message = (id: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text: id }] },
})

const call = (id: string, reply: string, thinks = false): Event => ({
  kind: 'ActionEvent',
  id,
  source: 'agent',
  thought: [],
  tool_name: 'ls',
  tool_call_id: `call-${id}`,
  tool_call: { id: `call-${id}`, name: 'ls', arguments: '{}', origin: 'completion' },
  llm_response_id: reply,
  action: null,
  ...(thinks && { thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 's' }] }),
})

const result = (id: string, of: string): Event => ({
  kind: 'AgentErrorEvent',
  id,
  source: 'environment',
  tool_name: 'ls',
  tool_call_id: `call-${of}`,
  error: 'no',
})

const condensation = (id: string, ids: readonly string[], offset: number | null): Event => ({
  kind: 'Condensation',
  id,
  source: 'environment',
  llm_response_id: `r-${id}`,
  forgotten_event_ids: [...ids],
  summary: 's',
  summary_offset: offset,
})

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const messages = (count: number): Event[] => list(count, (i) => message(`u${i}`))
const summaries = (count: number, offset: number): Event[] =>
  list(count, (i) => condensation(`c${i}`, [], offset))
const forgetSummaries = (count: number): Event[] =>
  list(count, (i) => condensation(`d${i}`, [`c${i}-summary`], null))

/** Logs of about 2n events in which n condensations meet a view of n units. */
const SHAPES: Readonly<Record<string, (n: number) => Event[]>> = {
  'each message is forgotten at once': (n) =>
    list(n, (i) => [message(`u${i}`), condensation(`c${i}`, [`u${i}`], 0)]).flat(),
  'offsets are beyond the view': (n) => [
    ...messages(n),
    ...list(n, (i) => condensation(`c${i}`, [`u${i}`], 1e15)),
  ],
  'offsets are at the end': (n) => [
    ...messages(n),
    ...list(n, (i) => condensation(`c${i}`, [`u${i}`], n - 1 - i)),
  ],
  'the view has only summaries': (n) => [message('u'), ...summaries(n, 0)],
  'the last message is forgotten first': (n) => [
    ...messages(n),
    ...list(n, (i) => condensation(`c${i}`, [`u${n - 1 - i}`], null)),
  ],
  'calls of one reply are forgotten': (n) => [
    ...list(n, (i) => call(`a${i}`, 'r')),
    ...list(n, (i) => condensation(`c${i}`, [`a${i}`], 0)),
  ],
  'results follow a forgotten call': (n) => [
    ...list(n, (i) => call(`a${i}`, 'r')),
    condensation('c', ['a0'], 0),
    ...list(n, (i) => result(`o${i}`, `a${i}`)),
  ],
  'offsets are inside one long stretch': (n) => [
    message('u'),
    ...list(n, (i) => [call(`a${i}`, `r${i}`, i === 0), result(`o${i}`, `a${i}`)]).flat(),
    ...summaries(n, 2),
  ],
  'summaries are forgotten': (n) => [message('u'), ...summaries(n, 1e9), ...forgetSummaries(n)],
  'summaries between two messages are forgotten': (n) => [
    message('u'),
    message('v'),
    ...summaries(n, 1),
    ...forgetSummaries(n),
  ],
}

const total = (): number => work.slots + work.units + work.probes

function workPerEvent(run: (events: readonly Event[]) => unknown, events: readonly Event[]): number {
  const before = total()
  run(events)
  return (total() - before) / events.length
}

describe('counted work of n condensations', () => {
  it.each(Object.entries(SHAPES))('is O(n log n) when %s', (_, make) => {
    const [short, long] = [workPerEvent(replay, make(500)), workPerEvent(replay, make(4_000))]
    // log 4,000 / log 500 is 1.33.
    expect(long / short).toBeLessThan(1.6)
    expect(long).toBeLessThan(230)
  })
})

describe('counted work of checkLog and findings', () => {
  it.each(Object.entries(SHAPES))('is O(n log n) when %s', (_, make) => {
    const [few, many] = [make(100), make(800)]
    // log 800 / log 100 is 1.45.
    expect(workPerEvent(checkLog, many) / workPerEvent(checkLog, few)).toBeLessThan(2)
    expect(workPerEvent(findings, many) / workPerEvent(findings, few)).toBeLessThan(2)
  })
})

/** The units after a condensation, by the rules of design section 4. */
function expected(units: readonly Unit[], event: Event & { readonly kind: 'Condensation' }): string[] {
  const listed = new Set(event.forgotten_event_ids ?? [])
  const starts = stretchStarts(units)
  const hits = units.map((unit) => [...unitEvents(unit)].filter(({ id }) => listed.has(id)).length)
  const gone = new Set(starts.filter((_, index) => (hits[index] ?? 0) > 0))
  const remaining = units.map((unit, index) => (isPending(unit) ? 0 : eventCount(unit) - (hits[index] ?? 0)))
  const offset = Math.min(
    event.summary_offset ?? -1,
    remaining.reduce((sum, count) => sum + count, 0),
  )
  const inserts = (event.summary_offset ?? null) !== null && hasText(event.summary)
  const names: string[] = []
  let isInserted = !inserts
  let count = 0
  for (const [index, unit] of units.entries()) {
    if (!isInserted && count >= offset && starts[index] === index) {
      names.push(`${event.id ?? ''}-summary`)
      isInserted = true
    }
    count += remaining[index] ?? 0
    if (!gone.has(starts[index] ?? -1)) names.push(nameOf(unit))
  }
  return isInserted ? names : [...names, `${event.id ?? ''}-summary`]
}

const nameOf = (unit: Unit): string =>
  Array.from(unitEvents(unit), ({ id }) => id).join(' ') + (isPending(unit) ? ' pending' : '')

const ID = fc.nat(60)
const STEP = fc.oneof(
  fc.constant({ type: 'message' } as const),
  fc.record({ type: fc.constant('call' as const), reply: fc.nat(12), thinks: fc.boolean() }),
  fc.record({ type: fc.constant('result' as const), of: ID }),
  fc.record({
    type: fc.constant('condensation' as const),
    ids: fc.array(fc.tuple(ID, fc.boolean()), { maxLength: 4 }),
    offset: fc.option(fc.oneof(fc.nat(30), fc.constant(1e15)), { freq: 4 }),
  }),
)

describe('a condensation', () => {
  it('follows the rules for any ids and offsets, with and without a snapshot', () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 80 }), fc.nat(80), (steps, restart) => {
        let state = initialState({ conversationId: 'c' })
        for (const [index, step] of steps.entries()) {
          const id = `e${index}`
          if (index === restart) state = decodeSnapshot(encodeSnapshot(state), 'c') ?? state
          if (step.type !== 'condensation') {
            const event =
              step.type === 'message'
                ? message(id)
                : step.type === 'call'
                  ? call(id, `r${step.reply}`, step.thinks)
                  : result(id, `e${step.of}`)
            state = reduce(state, event)
            continue
          }
          const ids = step.ids.map(([of, isSummary]) => (isSummary ? `e${of}-summary` : `e${of}`))
          const event = condensation(id, ids, step.offset) as Event & { readonly kind: 'Condensation' }
          const names = expected([...state.branch.view.units], event)
          state = reduce(state, event)
          const { view } = state.branch
          expect(Array.from(view.units, nameOf)).toEqual(names)
          expect(view.length).toBe([...view.units].reduce((sum, unit) => sum + eventCount(unit), 0))
          for (let index = 0; index < view.units.length; index += 1)
            expect(view.units.get(index)).toBe(view.units.slice(index, index + 1)[0])
          expect(view.units.last()).toBe(view.units.get(view.units.length - 1))
        }
      }),
      { numRuns: 1_500 },
    )
  })
})
