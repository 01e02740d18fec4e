/** Brings a branch of the engine and a naive reading of it into one form: text that can be compared. */

import { listOpenCalls } from '../../src/log/open-calls.ts'
import { activatedSkills, type Branch } from '../../src/state/branch.ts'
import { droppedAnswers } from '../../src/state/dropped.ts'
import { cutPoints } from '../../src/view/cut-points.ts'
import { isPending, type Unit } from '../../src/view/unit.ts'
import { pendingUnits, viewEvents } from '../../src/view/view.ts'
import type { BranchReading } from '../../test/model/branch.ts'
import { cutPointsOf, pendingOf, viewOf } from '../../test/model/naive.ts'
import { pending, type Unit as NaiveUnit } from '../../test/model/unit.ts'

const described = new WeakMap<Branch, string>()

/** What a branch says. Each branch object is described once: what it says must never change. */
export function describeBranch(branch: Branch): string {
  const known = described.get(branch)
  if (known !== undefined) return known
  const { view } = branch
  const text = JSON.stringify({
    units: [...view.units].map(describeUnit),
    events: [...viewEvents(view)].map((item) => item.id),
    length: view.length,
    pending: pendingUnits(view).map(describeUnit),
    cutPoints: cutPoints(view),
    unhandled: view.unhandledCondensationRequest,
    open: listOpenCalls(branch.openCalls).map((call) => call.entry.seq),
    systemPrompt: branch.systemPrompt?.seq ?? null,
    lastUserMessage: branch.lastUserMessage?.seq ?? null,
    skills: activatedSkills(branch),
    dropped: droppedAnswers(branch),
  })
  described.set(branch, text)
  return text
}

/** A unit by positions; the derived summary of a condensation, which has none, with its whole body. */
export function describeUnit(unit: Unit): object {
  if (unit.type === 'message')
    return { message: 'seq' in unit.item ? unit.item.seq : sorted(unit.item.event) }
  return {
    response: unit.responseId,
    calls: [...unit.calls].map((call) => call.seq),
    answers: [...unit.answers].map((answer) => [answer.entry.seq, answer.call.seq]),
    pending: isPending(unit),
  }
}

/** The same of the naive reading. */
export function describeReading(reading: BranchReading): string {
  const { units } = reading
  const view = viewOf(units)
  return JSON.stringify({
    units: units.map(describeNaive),
    events: view.map((item) => item.id),
    length: view.length,
    pending: pendingOf(units).map(describeNaive),
    cutPoints: cutPointsOf(units),
    unhandled: reading.unhandled,
    open: reading.open,
    systemPrompt: reading.systemPrompt,
    lastUserMessage: reading.lastUserMessage,
    skills: reading.skills,
    dropped: reading.dropped,
  })
}

function describeNaive(unit: NaiveUnit): object {
  if (unit.type === 'message') return { message: unit.item.at ?? sorted(unit.item.event) }
  return {
    response: unit.response,
    calls: unit.calls.map((call) => call.at),
    answers: unit.answers.map((answer) => [answer.at, answer.call]),
    pending: pending(unit),
  }
}

const sorted = (event: object): [string, unknown][] =>
  Object.entries(event).toSorted(([a], [b]) => (a < b ? -1 : 1))
