/** Converts branches and naive readings to comparable text. */

import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { activatedSkillsIn, type Branch } from '../../src/state/branch.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { isPending, type Unit } from '../../src/view/units.ts'
import { cutPointsIn, listPendingBatchesIn, viewEventsIn } from '../../src/view/view.ts'
import type { BranchReading } from '../../test/model/branch.ts'
import { cutPointsOf, pendingOf, viewOf } from '../../test/model/naive.ts'
import { hasPendingCall, type Unit as NaiveUnit } from '../../test/model/unit.ts'

const described = new WeakMap<Branch, string>()

/** Cached for each branch, because a branch must never change. */
export function describeBranch(branch: Branch): string {
  const known = described.get(branch)
  if (known !== undefined) return known
  const { view } = branch
  const text = JSON.stringify({
    units: [...view.units].map(describeUnit),
    events: [...viewEventsIn(view)].map((item) => item.id),
    length: view.length,
    pending: listPendingBatchesIn(view).map(describeUnit),
    cutPointsIn: cutPointsIn(view),
    unhandled: view.unhandledCondensationRequest,
    open: listPendingCallsIn(branch.pendingCalls).map((call) => call.entry.seq),
    working: listPendingCallsIn(branch.workingCalls).map(({ entry, result }) => [entry.seq, result.seq]),
    systemPrompt: branch.systemPrompt?.seq ?? null,
    lastUserMessage: branch.lastUserMessage?.seq ?? null,
    skills: activatedSkillsIn(branch),
    dropped: listDroppedResultsIn(branch),
  })
  described.set(branch, text)
  return text
}

/** By position, except a derived summary, which has none. */
export function describeUnit(unit: Unit): object {
  if (unit.type === 'message')
    return {
      message: 'seq' in unit.item ? unit.item.seq : sorted(unit.item.event),
      ...(unit.completes !== undefined && { completes: unit.completes.seq }),
    }
  return {
    response: unit.responseId,
    calls: [...unit.calls].map((call) => call.seq),
    results: [...unit.results].map((answer) => [answer.entry.seq, answer.call.seq]),
    pending: isPending(unit),
  }
}

export function describeReading(reading: BranchReading): string {
  const { units } = reading
  const view = viewOf(units)
  return JSON.stringify({
    units: units.map(describeNaive),
    events: view.map((item) => item.id),
    length: view.length,
    pending: pendingOf(units).map(describeNaive),
    cutPointsIn: cutPointsOf(units),
    unhandled: reading.unhandled,
    open: reading.open,
    working: reading.working,
    systemPrompt: reading.systemPrompt,
    lastUserMessage: reading.lastUserMessage,
    skills: reading.skills,
    dropped: reading.dropped,
  })
}

function describeNaive(unit: NaiveUnit): object {
  if (unit.type === 'message')
    return {
      message: unit.item.position ?? sorted(unit.item.event),
      ...(unit.completes !== undefined && { completes: unit.completes }),
    }
  return {
    response: unit.response,
    calls: unit.calls.map((call) => call.position),
    results: unit.results.map((answer) => [answer.position, answer.call]),
    pending: hasPendingCall(unit),
  }
}

const sorted = (event: object): [string, unknown][] =>
  Object.entries(event).toSorted(([a], [b]) => (a < b ? -1 : 1))
