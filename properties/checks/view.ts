/** V1 to V4: incremental, rebuilt and naive views agree, and units follow their rules. */

import { completionOf } from '../../src/event/completion.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { requestHeadOf } from '../../src/event/reply.ts'
import type { Condensation } from '../../src/event/types.ts'
import { type Entry, pathToEntry } from '../../src/log/entry.ts'
import { logPrefix } from '../../src/log/log.ts'
import { stateAt, switchTo } from '../../src/state/at.ts'
import { type Branch, EMPTY_BRANCH, foldBranch, workingCallOf } from '../../src/state/branch.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { branchOf, type State } from '../../src/state/state.ts'
import { isPending, stretchStarts, type Unit, unitEvents, type ViewItem } from '../../src/view/units.ts'
import { cutPointsIn, replyPlace, viewEventsIn } from '../../src/view/view.ts'
import { readBranch } from '../../test/model/branch.ts'
import { headAt } from '../../test/model/naive.ts'
import { readTree, skipUpdates } from '../../test/model/tree.ts'
import { describeBranch, describeReading, describeUnit } from './describe.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'
import { isBlank } from '../../src/messages/rules.ts'

export function checkViews(facts: readonly Fact[]): void {
  const nodes = readTree(facts)
  const expected = nodes.map((node) => describeReading(readBranch(nodes, node.inTree ? node.position : null)))
  const empty = describeReading(readBranch([], null))
  const naive = (index: number | null) => (index === null ? empty : (expected[index] ?? empty))

  for (const [length, state] of statesOf(facts).entries()) {
    const head = headAt(nodes, length)
    same('V1', `the view after ${length} facts`, describeBranch(state.branch), naive(head))
    const rebuilt = replay(facts.slice(0, length))
    same('V1', `the rebuilt view after ${length} facts`, describeBranch(rebuilt.branch), naive(head))
    for (const node of nodes.slice(0, length)) {
      if (!node.inTree || node.id === null) continue
      const index = total('V1', 'stateAt', () => stateAt(state, node.id ?? ''))
      same(
        'V1',
        `the view at ${node.position}, seen after ${length} facts`,
        describeBranch(index.branch),
        naive(node.position),
      )
      const there = total('V1', 'switchTo', () => switchTo(state, node.id ?? ''))
      const real = naive(skipUpdates(nodes, node.position))
      same('V1', `the view from ${node.position}, after ${length} facts`, describeBranch(there.branch), real)
    }
  }
  const state = replay(facts)
  for (const entry of state.log.entries) {
    if (!entry.inTree) continue
    same(
      'V1',
      `the fold of only the path to ${entry.seq}`,
      describeBranch(refolded(state, entry)),
      naive(entry.seq),
    )
  }
}

function refolded(state: State, entry: Entry): Branch {
  let branch = EMPTY_BRANCH
  for (const each of pathToEntry(entry)) {
    const log = logPrefix(state.log, each.seq, null)
    const completes = each.event === null ? null : completionOf(each.event)
    const completed = completes === null ? undefined : workingCallOf(branch, completes.action_id, log)
    branch = foldBranch(branch, each, log, replyPlace(branch.view, each, log), completed ?? null)
  }
  return branch
}

export function checkUnits(facts: readonly Fact[]): void {
  const state = replay(facts)
  for (const entry of state.log.entries) {
    if (!entry.inTree) continue
    const before = branchOf(entry.parent)
    const after = branchOf(entry)
    if (entry.event?.kind === 'Condensation') checkCondensation(before, after, entry.event)
    else checkGrowth(before, after, entry)
  }
  checkCuts(state)
}

const textOf = (unit: Unit): string => JSON.stringify(describeUnit(unit))
const idsOf = (unit: Unit): string[] => [...unitEvents(unit)].map((item) => item.id)

/** V2: a condensation removes only whole units, each for a reason, and adds at most one summary. */
function checkCondensation(before: Branch, after: Branch, event: Condensation): void {
  const listed = new Set(event.forgotten_event_ids ?? [])
  const units = [...before.view.units]
  const starts = stretchStarts(units)
  const hit = units.map((unit) => idsOf(unit).some((id) => listed.has(id)))
  const gone = units.map((_, i) => hit.some((h, j) => h && starts[j] === starts[i]))
  const stored = units.filter((_, i) => !gone[i]).map(textOf)
  const now = [...after.view.units].map(textOf)
  const wants = (event.summary_offset ?? null) !== null && !isBlank(event.summary ?? '')
  same('V2', 'units after a condensation', now.length, stored.length + (wants ? 1 : 0))
  const added = now.findIndex((text, index) => text !== stored[index])
  same('V2', 'remaining units', wants ? now.toSpliced(added < 0 ? stored.length : added, 1) : now, stored)
  same('V2', 'pending calls', listOf(after), listOf(before))
  hold('V2', !after.view.unhandledCondensationRequest, 'a condensation left its request unhandled')
}

const listOf = (branch: Branch): string => JSON.stringify(JSON.parse(describeBranch(branch)).open)

/** V4: other events append a unit, insert a late reply, or change one batch. */
function checkGrowth(before: Branch, after: Branch, entry: Entry): void {
  const old = [...before.view.units].map(textOf)
  const now = [...after.view.units].map(textOf)
  const changed = old.findIndex((text, index) => text !== now[index])
  if (changed < 0) {
    hold('V4', now.length - old.length <= 1, `position ${entry.seq} added several units`)
    return
  }
  const behind = (from: number) => before.view.units.slice(from)
  if (now.length > old.length) {
    same('V4', `units around position ${entry.seq}`, now.toSpliced(changed, 1), old)
    hold(
      'V4',
      mayPass(entry, behind(changed)),
      `the reply at position ${entry.seq} precedes a unit of its own request`,
    )
    return
  }
  same('V4', `units after position ${entry.seq}`, now.toSpliced(changed, 1), old.toSpliced(changed, 1))
  const unit = before.view.units.get(changed) as Unit
  const isAtPlace = changed === old.length - 1 || mayPass(entry, behind(changed + 1))
  const open = isPending(unit) || (isAtPlace && unit.type === 'batch' && unit.onlyErrors)
  hold('V4', open, `position ${entry.seq} changed a closed unit`)
}

/** A late reply can precede messages, but not replies. */
const mayPass = ({ event }: Entry, units: readonly Unit[]): boolean =>
  event !== null &&
  requestHeadOf(event) !== undefined &&
  units.every((unit) => unit.type === 'message' && requestHeadOf(unit.item.event) === undefined)

/** V3: exactly the listed events are removed between two cut points, and more than them elsewhere. */
function checkCuts(state: State): void {
  const { view } = state.branch
  const items = [...viewEventsIn(view)]
  const ids = items.map((item) => item.id)
  // Events and derived summaries with the same id cannot be listed separately.
  if (new Set(ids).size !== ids.length) return
  const points = cutPointsIn(view)
  same('V3', 'ends', [points[0], points.at(-1)], [0, items.length])
  hold(
    'V3',
    points.every((point, i) => i === 0 || point > (points[i - 1] ?? 0)),
    'cut points do not ascend',
  )
  const step = Math.max(1, Math.floor(points.length / 4))
  for (let i = 0; i < points.length; i += step) {
    for (let j = i; j < points.length; j += step) {
      const [from = 0, to = 0] = [points[i], points[j]]
      same(
        'V3',
        `removing ${from} to ${to}`,
        without(state, ids.slice(from, to)),
        ids.toSpliced(from, to - from),
      )
    }
  }
  const legal = new Set(points)
  for (const index of ids.keys()) {
    if (legal.has(index)) continue
    const remaining = without(state, ids.slice(0, index))
    hold('V3', remaining.length < ids.length - index, `position ${index} is missing from the cut points`)
  }
}

function without(state: State, ids: readonly string[]): string[] {
  const forget = reduce(state, {
    kind: 'Condensation',
    llm_response_id: 'r',
    forgotten_event_ids: ids,
    id: 'forget!',
  })
  return [...viewEventsIn(forget.branch.view)].map((item: ViewItem) => item.id)
}
