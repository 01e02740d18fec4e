/** The open calls against a plain list, for every order of calls and results. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ActionEvent } from '../../src/event/types.ts'
import type { EventEntry } from '../../src/log/entry.ts'
import {
  latestOpenCall,
  listPendingCallsIn,
  type PendingCall,
  openCallOf,
  type PendingCallIndex,
  pendingCallCount,
  withOpenCall,
  withoutOpenCall,
} from '../../src/log/open-calls.ts'
import { work } from '../../src/log/work.ts'

function call(seq: number, toolCallId: string): PendingCall {
  const event: ActionEvent = {
    kind: 'ActionEvent',
    id: `a${seq}`,
    thought: [],
    tool_name: 'terminal',
    tool_call_id: toolCallId,
    tool_call: { id: toolCallId, name: 'terminal', arguments: '{}', origin: 'completion' },
    llm_response_id: 'r',
  }
  const entry = { seq, id: `a${seq}`, event } as EventEntry<ActionEvent>
  return { entry, rank: seq, first: seq }
}

describe('open calls', () => {
  it('agree with a list of calls, and earlier versions stay', () => {
    const steps = fc.array(fc.record({ id: fc.constantFrom('a', 'b', '', 'c1'), drop: fc.nat() }), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(steps, (list) => {
        let calls: PendingCallIndex = null
        let model: PendingCall[] = []
        const stored: [PendingCallIndex, PendingCall[]][] = []
        for (const [seq, { id, drop }] of list.entries()) {
          if (drop % 3 === 0 && model.length > 0) {
            const gone = model[drop % model.length] as PendingCall
            calls = withoutOpenCall(calls, gone)
            model = model.filter((one) => one !== gone)
          } else {
            const made = call(seq, id)
            calls = withOpenCall(calls, made)
            model = [...model, made]
          }
          stored.push([calls, model])
        }
        for (const [version, expected] of stored) {
          expect(listPendingCallsIn(version)).toEqual(expected)
          expect(pendingCallCount(version)).toBe(expected.length)
          for (const id of ['a', 'b', '', 'c1', 'never']) {
            expect(latestOpenCall(version, id)).toBe(
              expected.findLast((one) => one.entry.event.tool_call_id === id),
            )
          }
          for (const one of expected) {
            expect(openCallOf(version, one.entry.event.tool_call_id, one.entry.seq)).toBe(one)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  it('stay balanced when calls come in order under one id', () => {
    let calls: PendingCallIndex = null
    for (let seq = 0; seq < 20_000; seq += 1) calls = withOpenCall(calls, call(seq, 'same'))
    const before = work.probes
    for (let seq = 0; seq < 1_000; seq += 1) openCallOf(calls, 'same', seq * 20)
    expect((work.probes - before) / 1_000).toBeLessThan(60)
  })
})
