/** T1 to T8: the tree, HEAD, and results that depend on the whole log. */

import type { Fact } from '../../src/event/quarantine.ts'
import { type Entry, isOnPathIn, pathToEntry } from '../../src/log/entry.ts'
import { listWarningsIn } from '../../src/log/log.ts'
import { entryOf, listLeavesIn, stateAt, switchTo } from '../../src/state/at.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { headAt } from '../../test/model/naive.ts'
import { readStatuses, type StatusReading } from '../../test/model/status.ts'
import { type Node, pathOf, readTree, skipUpdates } from '../../test/model/tree.ts'
import { describeBranch } from './describe.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'

export function checkTree(facts: readonly Fact[]): void {
  const nodes = readTree(facts)
  const states = statesOf(facts)
  const state = states.at(-1) as State
  const statuses = readStatuses(nodes)
  for (const [length, then] of states.entries()) {
    same('T2', `HEAD after ${length} facts`, then.log.head?.seq ?? null, headAt(nodes, length))
    const { status, error } = then.header
    same('T5', `status after ${length} facts`, { status, error }, statuses[length])
  }
  same(
    'T6',
    'warnings',
    listWarningsIn(state.log).flatMap(({ seq, code }) =>
      code === 'nothing_completed' ? [] : `${seq} ${code}`,
    ),
    nodes.flatMap((node) => node.warnings.map((code) => `${node.position} ${code}`)),
  )
  for (const entry of state.log.entries) checkEntry(state, nodes, entry)
  const name = 'c-1'
  const called = [...replay(facts, { conversationId: name }).log.entries].map((entry) => entry.id)
  same(
    'T3',
    'ids derived from a conversation id',
    called,
    readTree(facts, name).map((node) => node.id),
  )
  checkLeaves(state, nodes)
  for (const node of nodes) {
    if (node.inTree && node.id !== null) checkStateAt(states, nodes, node, statuses)
  }
  hold(
    'T4',
    throws(() => stateAt(state, 'no such id\n')),
    'stateAt does not throw for an unknown id',
  )
  hold(
    'T4',
    throws(() => switchTo(state, 'no such id\n')),
    'switchTo does not throw for an unknown id',
  )
}

function checkEntry(state: State, nodes: readonly Node[], entry: Entry): void {
  const node = nodes[entry.seq] as Node
  const here = {
    id: entry.id,
    inTree: entry.inTree,
    parent: entry.parent?.seq ?? null,
    timestamp: entry.timestamp,
  }
  const { id, inTree, parent, timestamp } = node
  same('T3', `position ${entry.seq}`, here, { id, inTree, parent, timestamp })
  const path = pathToEntry(entry)
  hold(
    'T1',
    new Set(path).size === path.length && path[0]?.parent === null,
    `no simple path to position ${entry.seq}`,
  )
  const expected = pathOf(nodes, node.position)
  same(
    'T1',
    `path to position ${entry.seq}`,
    path.map((each) => each.seq),
    expected,
  )
  for (const other of state.log.entries) {
    if (!other.inTree || !entry.inTree) continue
    same(
      'T1',
      `${other.seq} on the path to ${entry.seq}`,
      isOnPathIn(other, entry),
      expected.includes(other.seq),
    )
  }
}

function checkLeaves(state: State, nodes: readonly Node[]): void {
  const real = nodes.filter((node) => node.inTree && node.kind !== 'ConversationStateUpdateEvent')
  const inner = new Set(real.flatMap(({ position }) => pathOf(nodes, position).slice(0, -1)))
  const ends = real.filter(({ position }) => !inner.has(position))
  same(
    'T7',
    'leaves',
    listLeavesIn(state.log).map((entry) => entry.seq),
    ends.map((node) => node.position),
  )
}

function checkStateAt(
  states: readonly State[],
  nodes: readonly Node[],
  node: Node,
  statuses: readonly StatusReading[],
): void {
  const id = node.id ?? ''
  const now = states.at(-1) as State
  const then = total('T4', `stateAt(${node.position})`, () => stateAt(now, id))
  same('T4', 'log length of the state at the event', then.log.entries.length, node.position + 1)
  same('T4', 'HEAD of the state at the event', then.log.head?.seq ?? null, skipUpdates(nodes, node.position))
  const { status, error } = then.header
  same('T4', 'status of the state at the event', { status, error }, statuses[node.position + 1])
  if (node.head === node.position) {
    same(
      'T4',
      `the state at ${node.position}`,
      encodeState(then),
      encodeState(states[node.position + 1] as State),
    )
  }
  const there = total('T4', `switchTo(${node.position})`, () => switchTo(now, id))
  same(
    'T4',
    'HEAD after switching to the event',
    there.log.head?.seq ?? null,
    skipUpdates(nodes, node.position),
  )
  same('T4', 'log length after switching to the event', there.log.entries.length, nodes.length)
  hold('T4', there.header === now.header, 'switching to another branch changed the header')
  const real = there.log.head
  if (node.position % 5 === 0 && real !== null && real.id !== null) checkSwitched(now, there, real.id)
  hold('T4', entryOf(now.log, id).seq === node.position, 'an id belongs to another event')
}

/** T8: appending after a switch of branches equals naming the parent. */
function checkSwitched(now: State, there: State, id: string): void {
  const message = {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: { role: 'user', content: [{ text: 'there' }] },
  } as const
  const moved = reduce(there, { ...message, id: 'next' })
  const named = reduce(now, { ...message, id: 'next', parent_id: id })
  same(
    'T8',
    'the branch after the appended event',
    describeBranch(moved.branch),
    describeBranch(named.branch),
  )
  same('T8', 'the header after the appended event', moved.header, named.header)
}

function throws(run: () => unknown): boolean {
  try {
    run()
    return false
  } catch {
    return true
  }
}
