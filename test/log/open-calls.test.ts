/** Compares the index of pending calls with a plain list. */

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

describe('the index of pending calls', () => {
  it('agrees with a plain list after any order of calls and results, in every version', () => {
    const steps = fc.array(fc.record({ id: fc.constantFrom('a', 'b', '', 'c1'), drop: fc.nat() }), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(steps, (list) => {
        let calls: PendingCallIndex = null
        let model: PendingCall[] = []
        const versions: [PendingCallIndex, PendingCall[]][] = []
        for (const [seq, { id, drop }] of list.entries()) {
          if (drop % 3 === 0 && model.length > 0) {
            const removed = model[drop % model.length] as PendingCall
            calls = withoutOpenCall(calls, removed)
            model = model.filter((one) => one !== removed)
          } else {
            const added = call(seq, id)
            calls = withOpenCall(calls, added)
            model = [...model, added]
          }
          versions.push([calls, model])
        }
        for (const [version, expected] of versions) {
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

  it('sorts 1,000 calls once, however often they are listed', () => {
    let calls: PendingCallIndex = null
    for (let seq = 0; seq < 1_000; seq += 1) calls = withOpenCall(calls, call(seq, `c${seq % 7}`))
    const before = work.probes
    for (let times = 0; times < 1_000; times += 1) listPendingCallsIn(calls)
    expect(work.probes - before).toBe(1_000)
  })

  it('finds any of 20,000 calls with one id in fewer than 60 probes', () => {
    let calls: PendingCallIndex = null
    for (let seq = 0; seq < 20_000; seq += 1) calls = withOpenCall(calls, call(seq, 'same'))
    const before = work.probes
    for (let seq = 0; seq < 1_000; seq += 1) openCallOf(calls, 'same', seq * 20)
    expect((work.probes - before) / 1_000).toBeLessThan(60)
  })
})
