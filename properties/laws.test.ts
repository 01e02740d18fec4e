/** checkLog has no findings in legal logs, names the law and event of each mistake, and never throws. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countSpent } from '../bench/count.ts'
import { makeLines } from '../bench/workload.ts'
import { EVENT_KINDS } from '../src/event/kinds.ts'
import { loadValue } from '../src/event/load.ts'
import { isQuarantined } from '../src/event/quarantine.ts'
import { GRAMMARS as ALL } from '../src/messages/grammars.ts'
import { checkLog } from '../src/laws/check-log.ts'
import { LAWS } from '../src/laws/sentences.ts'
import { pendingCallCount } from '../src/log/open-calls.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { listDroppedResultsIn } from '../src/state/dropped.ts'
import { replay } from '../src/state/reduce.ts'
import { anyEvent, hostileLog, legalLog } from '../src/testing/index.ts'
import { hold, same, total } from '../src/testing/failure.ts'
import { readTree } from '../test/model/tree.ts'
import { MUTATIONS } from './mutations/all.ts'
import { always, RUNS } from './run.ts'
import { Tally } from './tally.ts'

const PLAIN = {}

/** Units of work per event, and the number of requests written. */
const perEvent = (length: number, options: Parameters<typeof makeLines>[1]) => {
  const lines = makeLines(length, {
    ...options,
    sizes: { action: 90, observation: 30, systemPrompt: 30, message: 30 },
  })
  let written = 0
  const cost = countSpent(length, () =>
    checkLog(lines, {
      ended: true,
      grammars: options === PLAIN ? ['anthropic'] : [],
      messages: (state, more) => ((written += 1), toMessages(state, more).slice(-3)),
    }),
  )
  return { cost, written }
}

const GRAMMARS = ALL.map(({ name }) => name)

const brokenAtEnd = (facts: readonly object[]): string[] =>
  checkLog(facts as never, { ended: true }).map(({ law }) => law)

const fieldName = () =>
  fc.constantFrom(
    'id',
    'parent_id',
    'timestamp',
    'source',
    'llm_message',
    'tool_call',
    'key',
    'value',
    'action_id',
  )

/** Whether an item is or contains a valid event. */
function isDecoded(item: object): boolean {
  const fact: unknown = 'fact' in item ? item.fact : item
  return !isQuarantined(loadValue(fact).fact)
}

describe('`checkLog`', () => {
  it('accepts a pending call that HEAD moved back to if it once had a result and nothing followed', () => {
    const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
    const update = { kind: 'ConversationStateUpdateEvent', source: 'environment' }
    const log = [
      {
        kind: 'MessageEvent',
        id: 'm',
        source: 'user',
        llm_message: { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      },
      {
        kind: 'ActionEvent',
        id: 'a',
        source: 'agent',
        thought: [],
        action: { kind: 'ls' },
        tool_name: 'ls',
        tool_call_id: 'c',
        tool_call: call,
        llm_response_id: 'r',
      },
      { ...update, id: 's', key: 'started_actions', value: ['a'] },
      {
        kind: 'ObservationEvent',
        id: 'o',
        source: 'environment',
        action_id: 'a',
        tool_name: 'ls',
        tool_call_id: 'c',
        observation: { kind: 'ls', content: [] },
      },
      { kind: 'ConversationErrorEvent', id: 'e', source: 'environment', code: 'Lost', detail: 'It is lost.' },
      { ...update, id: 'h', key: 'leaf_event_id', value: 'a' },
    ]
    expect(brokenAtEnd(log)).toEqual([])
    expect(brokenAtEnd(log.filter(({ id }) => id !== 'o'))).toEqual(['P1'])
    expect(brokenAtEnd([...log, { ...update, id: 't', key: 'execution_status', value: 'error' }])).toEqual([
      'P1',
    ])
  })

  it('reports no violation in a legal log', () => {
    always(
      legalLog(),
      (log) => {
        const { header, branch } = replay(log)
        const ended = header.status !== 'running' && pendingCallCount(branch.pendingCalls) === 0
        const [violations] = checkLog(log, { ended })
        hold(violations?.law ?? 'T6', violations === undefined, `${violations?.id}: ${violations?.message}`)
      },
      RUNS / 2,
    )
    always(
      legalLog(),
      (log) => same('M6', 'violations in requests', checkLog(log, { grammars: GRAMMARS }), []),
      RUNS / 20,
    )
  })

  it('reports the broken law and the event of each mistake', () => {
    const tally = new Tally<string>()
    always(
      legalLog(),
      (log) => {
        const mistakes = MUTATIONS.flatMap(([law, mistake, make]) => {
          const mutant = make(log)
          if (mutant === null) return []
          const violations = checkLog(mutant.log, { ended: mutant.ended === true })
          const isFound = violations.some(
            (one) => one.law === law && (one.id === mutant.id || (mutant.id === null && law === 'P8')),
          )
          hold(law, isFound, () => `${mistake}: ${mutant.id} among ${JSON.stringify(violations)}`)
          return [mistake]
        })
        tally.count(mistakes)
      },
      RUNS / 5,
    )
    tally.require(MUTATIONS.map(([, mistake]) => mistake))
  })

  it('never throws on a hostile log, cites existing laws, and agrees with a naive reading', () => {
    always(
      hostileLog(),
      (facts) => {
        const violations = total('E2', 'checkLog', () => checkLog(facts, { ended: true }))
        for (const { law } of violations) hold(law, Object.hasOwn(LAWS, law), 'unknown law')
        const repairs = readTree(facts).flatMap(({ position: index, warnings }) => warnings.map(() => index))
        const messages = violations.filter(
          ({ law, message }) => (law === 'T6' && !message.startsWith('the reply stands')) || law === 'E2',
        )
        same(
          'T6',
          'warnings',
          messages.map(({ seq }) => seq),
          repairs,
        )
        const state = replay(facts)
        const dropped = new Set(
          [...state.log.entries].flatMap(({ branch }) => listDroppedResultsIn(branch).map(({ id }) => id)),
        )
        const unmatched = [...state.log.entries].filter(({ warnings }) =>
          warnings.some(({ code }) => code === 'nothing_completed'),
        )
        const cited = violations.filter(({ law }) => law === 'P12').map(({ seq }) => seq)
        same(
          'P12',
          'completions',
          cited,
          unmatched.map(({ seq }) => seq),
        )
        for (const { id } of violations.filter(({ law }) => law === 'P4'))
          hold('P4', dropped.has(id ?? ''), `${id} was not dropped`)
      },
      RUNS / 2,
    )
    always(hostileLog(), (facts) => void checkLog(facts, { grammars: GRAMMARS }), RUNS / 20)
  })

  it('never throws on arbitrary values, and reports E2 for each that is not an event', () => {
    always(
      fc.array(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true })),
      (values) => {
        const violations = total('E2', 'checkLog', () =>
          checkLog(values as never, { ended: true, grammars: GRAMMARS }),
        )
        hold(
          'E2',
          violations.filter(({ law }) => law === 'E2').length === values.length,
          'a value that is not an event has no violation',
        )
      },
    )
    const whatever = fc.oneof(fc.anything({ withBigInt: true, withNullPrototype: true }), anyEvent())
    // Invalid events that claim to be decoded.
    const claimed = fc
      .tuple(fc.constantFrom(...EVENT_KINDS, 'foo', 'toString'), fc.dictionary(fieldName(), whatever))
      .map(([kind, fields]) => Object.freeze({ source: 'user', ...fields, kind }))
    const issues = fc.oneof(
      whatever,
      fc.array(
        fc.record(
          { loc: fc.oneof(whatever, fc.array(whatever)), msg: whatever, type: whatever },
          { requiredKeys: [] },
        ),
      ),
    )
    const broken = fc.record({ loc: fc.constant([]), msg: fc.constant('no'), type: fc.constant('missing') })
    const stored = fc.record({
      quarantined: fc.constant(true),
      raw: fc.string(),
      issues: fc.oneof(issues, fc.array(broken)),
      id: fc.oneof(whatever, fc.string()),
    })
    const item = fc.record({
      fact: fc.oneof(claimed, stored, whatever),
      upcasts: fc.constant([]),
      warnings: fc.oneof(fc.constant([]), issues),
    })
    let frozen = 0
    always(fc.array(fc.oneof(item, stored, claimed), { maxLength: 5 }), (values) => {
      for (const one of values) if (!isDecoded(one)) frozen += 1
      for (const facts of [values, values.map(Object.freeze)])
        total('E2', 'checkLog', () => checkLog(facts as never, { ended: true, grammars: GRAMMARS }))
      const refused = checkLog(values as never).filter(({ law }) => law === 'E2').length
      hold(
        'E2',
        refused >= values.filter((one) => !isDecoded(one)).length,
        'a value that is not an event was accepted',
      )
    })
    expect(frozen).toBeGreaterThan(RUNS / 10)
    const proxy = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
        has: () => {
          throw new Error('no')
        },
      },
    )
    expect(checkLog([proxy] as never).map(({ law }) => law)).toEqual(['E2'])
  })

  it('has a constant cost per event and writes O(log n) requests', () => {
    for (const options of [
      PLAIN,
      { condenseAt: 80 },
      { branchEvery: 40 },
      { parallel: 3, reuseCallIds: true, secondAnswers: true },
    ]) {
      const [short, long] = [perEvent(250, options), perEvent(2_000, options)]
      expect(long.cost / short.cost).toBeLessThan(1.5)
      expect(long.written).toBeLessThanOrEqual(12 + 2 * Math.log2(2_000))
    }
  })
})
