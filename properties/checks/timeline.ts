/** O1: the timeline contains everything on the branch exactly once, unchanged. */

import { completionOf, progressOf } from '../../src/event/completion.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { type CallItem, type TimelineItem, toTimeline } from '../../src/messages/timeline.ts'
import { maskSecrets } from '../../src/event/mask.ts'
import { evict } from '../../src/state/snapshot.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { type BranchReading, readBranch } from '../../test/model/branch.ts'
import { headAt } from '../../test/model/naive.ts'
import { type Node, pathOf, readTree } from '../../test/model/tree.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'

const TYPES: Readonly<Record<string, string>> = {
  SystemPromptEvent: 'system',
  MessageEvent: 'message',
  ActionEvent: 'call',
  Condensation: 'condensation',
  CondensationSummaryEvent: 'condensation',
  ConversationErrorEvent: 'error',
  ServerErrorEvent: 'error',
  PauseEvent: 'pause',
  InterruptEvent: 'interrupt',
}

/** At HEAD, after every fact. */
export function checkTimeline(facts: readonly Fact[], met: (status: string) => void = () => undefined): void {
  const nodes = readTree(facts)
  const reports = reportsIn(nodes)
  for (const [length, state] of statesOf(facts).entries()) {
    const items = total('O1', `toTimeline after ${length} facts`, () => toTimeline(state))
    const head = headAt(nodes, length)
    const reading = readBranch(nodes.slice(0, length), head)
    const latest = latestIn(nodes, reports, length)
    checkReports(state, items, reportsOn(nodes, reports, { head, length }), met)
    const shown = pathOf(nodes, head).filter((index) => nodes[index]?.event && TYPES[nodes[index].kind ?? ''])
    same(
      'O1',
      `the timeline after ${length} facts`,
      items.map(describe),
      shown.map(text(nodes, reading, state)),
    )
    hold('O1', !JSON.stringify(items).includes('"signature"'), 'the timeline contains a signature')
    for (const item of items) {
      if (item.type === 'call') {
        met(item.status)
        const progress = item.status === 'working' ? latest.get(item.id) : undefined
        same('O1', `progress of ${item.id}`, item.progress, progress)
        if (progress !== undefined) met('latest progress')
      }
      if (item.forgottenBy !== null) met('forgotten')
    }
    const middle = items[items.length >> 1]
    if (middle !== undefined) {
      const rest = toTimeline(state, { after: middle.id })
      same('O1', 'items after an item', rest, items.slice((items.length >> 1) + 1))
    }
    checkEvicted(state, items, met)
  }
  const input = JSON.stringify(facts)
  const loaded = toTimeline(replay(JSON.parse(input) as readonly Fact[]))
  same('O1', 'the timeline of a log that was written and read', loaded, toTimeline(replay(facts)))
}

function checkReports(
  state: State,
  items: readonly TimelineItem[],
  expected: readonly (readonly [number, object])[],
  met: (situation: string) => void,
): void {
  const all = toTimeline(state, { progress: true })
  const reported = all.flatMap((item) => (item.type === 'progress' ? [[item.seq, item.report]] : []))
  same('O1', 'progress', reported, expected)
  const others = all.filter(({ type }) => type !== 'progress')
  same('O1', 'the timeline without progress', others, items)
  if (expected.length > 0) met('progress')
}

/** Reports on the last event of the path before them. */
function reportsOn(
  nodes: readonly Node[],
  reports: ReadonlyMap<number, object>,
  { head, length }: { head: number | null; length: number },
): [number, object][] {
  const path = pathOf(nodes, head)
  return [...reports].filter(
    ([index]) => index < length && nodes[index]?.parent === path.findLast((position) => position < index),
  )
}

/** Progress of calls that work where it is reported, by position. */
export function reportsIn(nodes: readonly Node[]): Map<number, object> {
  return new Map(
    nodes.flatMap(({ position: index, event, inTree, parent }) => {
      const report = event === null || !inTree ? null : progressOf(event)
      if (report === null) return []
      const { working } = readBranch(nodes.slice(0, index), parent)
      const isWorking = working.some(([call]) => nodes[call]?.id === report.action_id)
      return isWorking ? [[index, maskSecrets(report)] as const] : []
    }),
  )
}

/** Their latest reports, until their first completion on any branch. */
function latestIn(
  nodes: readonly Node[],
  reports: ReadonlyMap<number, object>,
  length: number,
): Map<string, object> {
  const latest = new Map<string, object>()
  for (const { position: index, event, inTree } of nodes.slice(0, length)) {
    const report = reports.get(index)
    const id = event === null ? undefined : progressOf(event)?.action_id
    if (report !== undefined && id !== undefined) latest.set(id, { ...latest.get(id), ...report })
    const completed = event === null || !inTree ? null : completionOf(event)
    if (completed === null) continue
    const { completions } = readBranch(nodes.slice(0, index + 1), index)
    if ([...completions.values()].includes(index)) latest.delete(completed.action_id)
  }
  return latest
}

/** After eviction, the timeline is unchanged or reports that it is unavailable. */
function checkEvicted(state: State, items: readonly TimelineItem[], met: (status: string) => void): void {
  const evicted = evict(state)
  try {
    same('O1', 'the timeline of an evicted state', toTimeline(evicted), items)
    if (items.length > 0) met('evicted and whole')
  } catch (error) {
    if (!hasCode(error, 'evicted')) throw error
    met('evicted')
  }
}

const describe = (item: TimelineItem): object => ({
  id: item.id,
  seq: item.seq,
  type: item.type,
  forgottenBy: item.forgottenBy,
  ...(item.type === 'call' ? { status: item.status, result: item.result?.id ?? null } : {}),
  ...(item.type === 'call' ? { completion: item.completion?.id ?? null } : {}),
  ...(item.type === 'message' ? { completes: item.completes ?? null } : {}),
  ...(item.type === 'condensation' ? { forgot: item.forgot.toSorted() } : {}),
})

const text =
  (nodes: readonly Node[], reading: BranchReading, state: State) =>
  (index: number): object => {
    const { id, kind } = nodes[index] as Node
    const type = TYPES[kind ?? '']
    const { forgottenBy } = reading
    const forgot = [...forgottenBy].flatMap(([each, by]) => (by === id ? [each] : [])).toSorted()
    return {
      id,
      seq: index,
      type,
      forgottenBy: forgottenBy.get(id ?? '') ?? null,
      ...(type === 'call' ? callSaid(nodes, index, reading, state) : {}),
      ...(type === 'condensation' ? { forgot } : {}),
      ...(type === 'call' ? { completion: nodes[reading.completions.get(index) ?? -1]?.id ?? null } : {}),
      ...(type === 'message' ? { completes: completedBy(nodes, reading, index) } : {}),
    }
  }

function completedBy(nodes: readonly Node[], { completions }: BranchReading, index: number): string | null {
  const call = [...completions].find(([, message]) => message === index)?.[0]
  return nodes[call ?? -1]?.id ?? null
}

function callSaid(
  nodes: readonly Node[],
  index: number,
  { results, completions }: BranchReading,
  { header }: State,
): Pick<CallItem, 'status'> & { readonly result: string | null } {
  const result = nodes[results.get(index) ?? -1]
  if (result === undefined) {
    const call = nodes[index]
    const settled = header.callStatuses.find(({ action_id }) => action_id === call?.id)?.grant
    const canRun = call?.event?.kind === 'ActionEvent' && (call.event.action ?? null) !== null
    const waits = header.status === 'waiting_for_confirmation' && canRun && settled !== 'approved'
    return { status: waits ? 'waiting' : (settled ?? 'pending'), result: null }
  }
  const { event, id } = result
  const failed =
    event?.kind === 'AgentErrorEvent' ||
    (event?.kind === 'ObservationEvent' && event.observation.is_error === true)
  if (event?.kind === 'ObservationEvent' && event.observation.kind === 'WorkingObservation') {
    const message = nodes[completions.get(index) ?? -1]?.event
    const outcome = message?.kind === 'MessageEvent' ? completionOf(message)?.outcome : undefined
    return {
      status: outcome === undefined ? 'working' : outcome === 'done' ? 'completed' : 'failed',
      result: id,
    }
  }
  const status = event?.kind === 'UserRejectObservation' ? 'rejected' : failed ? 'failed' : 'completed'
  return { status, result: id }
}
