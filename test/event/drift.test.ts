/** Law E7: dropping, nulling or changing a payload field never loses the event, its call or its result. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { loadLine } from '../../src/event/load.ts'
import { isAction, isObservation } from '../../src/event/published/payload-schema.ts'
import type { PublishedAction, PublishedObservation } from '../../src/event/published/payload-schema.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { replay } from '../../src/state/reduce.ts'
import { jsonValue } from '../../src/testing/json.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { linesOf, recordedLogs } from '../recorded.ts'
import { type Fields, PARTS, REQUIRED } from './payloads.ts'
import { sampleOf } from './samples.ts'

/** Fields that no kind requires, some with a default, and one that no kind has. */
const OTHERS = ['is_input', 'timeout', 'task_list', 'metadata', 'exit_code', 'view_range', 'data', 'later']

/** A kind and its payload, with one field changed. */
const drifted = fc
  .tuple(fc.constantFrom(...PARTS), fc.nat(), fc.constantFrom('drop', 'null', 'alter'), jsonValue)
  .map(([[part, kind], index, how, value]) => {
    const payload: Fields & { readonly kind: string } = { kind, ...REQUIRED[kind] }
    const fields = [...Object.keys(REQUIRED[kind] ?? {}), ...OTHERS]
    const field = fields[index % fields.length] as string
    const { [field]: _, ...rest } = payload
    const altered = how === 'drop' ? rest : { ...rest, [field]: how === 'null' ? null : value }
    return { part, kind, payload: { ...altered, kind } }
  })

const CALL = { tool_name: 'tool', tool_call_id: 'c1' }

describe('a payload that differs from its schema', () => {
  it('E7 loads with warnings, fails isAction or isObservation, and stays paired', () => {
    let runs = 0
    let misfits = 0
    fc.assert(
      fc.property(drifted, ({ part, kind, payload }) => {
        const action = { ...sampleOf('ActionEvent').minimal, ...CALL, id: 'a', action: { kind: 'OwnAction' } }
        const result = {
          ...sampleOf('ObservationEvent').minimal,
          ...CALL,
          id: 'o',
          action_id: 'a',
          observation: { kind: 'OwnObservation', content: [] },
        }
        const events = [
          { ...action, ...(part === 'action' && { action: payload }) },
          { ...result, ...(part === 'observation' && { observation: payload }) },
        ]
        const loaded = events.map((event) => loadLine(JSON.stringify(event)))
        expect(loaded.map(({ fact }) => fact)).toEqual(events)
        const [one, other] = loaded.map(({ warnings }) => warnings)
        const warnings = (part === 'action' ? one : other) ?? []
        expect(part === 'action' ? other : one).toEqual([])
        for (const { loc } of warnings) expect(loc[0]).toBe(part)
        const fits =
          part === 'action'
            ? isAction(payload, kind as PublishedAction['kind'])
            : isObservation(payload, kind as PublishedObservation['kind'])
        expect(fits).toBe(warnings.length === 0)
        const { branch } = replay(loaded.map(({ fact }) => fact))
        expect(listPendingCallsIn(branch.pendingCalls)).toEqual([])
        expect(listDroppedResultsIn(branch)).toEqual([])
        expect([...viewEventsIn(branch.view)].map(({ id }) => id)).toEqual(['a', 'o'])
        runs += 1
        misfits += warnings.length > 0 ? 1 : 0
      }),
      { numRuns: 1_000 },
    )
    expect(misfits * 20).toBeGreaterThan(runs)
  })

  it('E7 is rejected if a field that every observation has is invalid', () => {
    const { minimal } = sampleOf('ObservationEvent')
    for (const observation of [
      { kind: '' },
      { kind: 'GlobObservation', content: 'text' },
      { is_error: false },
      7,
    ]) {
      expect(decodeEvent({ ...minimal, observation })).toMatchObject({ ok: false })
    }
  })

  it('E7 loads if any payload field in the recorded logs is missing or null', () => {
    const tried = new Set<string>()
    for (const line of recordedLogs().flatMap((log) => linesOf(log))) {
      const event = JSON.parse(line) as Fields
      for (const part of ['action', 'observation']) {
        const payload = event[part] as Fields | null | undefined
        for (const field of Object.keys(payload ?? {})) {
          const name = `${String(payload?.['kind'])}.${field}`
          // Fields that every observation has are checked with the event.
          if (tried.has(name) || ['kind', 'content', 'is_error'].includes(field)) continue
          tried.add(name)
          const { [field]: _, ...rest } = payload as Fields
          for (const drift of [rest, { ...rest, [field]: null }]) {
            const { fact } = loadLine(JSON.stringify({ ...event, [part]: drift }))
            expect([name, isQuarantined(fact) ? fact.issues : null]).toEqual([name, null])
          }
        }
      }
    }
  })
})
