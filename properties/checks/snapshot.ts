/** R7 to R9: opened snapshots and compacted states equal the original state. */

import { hasCode } from '../../src/event/errors.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { isOnPathIn, kindOf, pathToEntry } from '../../src/log/entry.ts'
import { findEventIn, listWarningsIn } from '../../src/log/log.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { listLeavesIn, stateAt, switchTo } from '../../src/state/at.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import {
  canReduce,
  completeSnapshot,
  decodeSnapshot,
  encodeParts,
  evict,
  isEvicted,
  readSnapshot,
  type SnapshotPart,
  type StoredFact,
} from '../../src/state/snapshot.ts'
import type { State } from '../../src/state/state.ts'
import { listPendingBatchesIn, viewEventsIn } from '../../src/view/view.ts'
import { type Across, across } from './across.ts'
import { describeBranch, describeUnit } from './describe.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'
import { staged } from './staged.ts'

/** Small, so that short logs have several chunks. */
const SIZE = 8

const descriptions = new WeakMap<State, string>()

/** Everything in a state, including bodies. */
export function describeState(state: State): string {
  const known = descriptions.get(state)
  if (known !== undefined) return known
  const { branch, log } = state
  const text = JSON.stringify({
    state: encodeState(state),
    branch: describeBranch(branch),
    header: state.header,
    view: [...viewEventsIn(branch.view)].map((item) => item.event),
    pending: listPendingBatchesIn(branch.view).map(describeUnit),
    open: listPendingCallsIn(branch.pendingCalls).map(({ entry, rank, first }) => [
      entry.seq,
      entry.event,
      rank,
      first,
    ]),
    prompt: branch.systemPrompt?.event,
    lastUserMessage: branch.lastUserMessage?.event,
    head: [log.head?.seq, log.head?.id],
    listLeavesIn: listLeavesIn(log).map((entry) => entry.seq),
    warnings: listWarningsIn(log),
    messages: toMessages(state),
    closed: toMessages(state, { pending: { close: 'closed' } }),
    kinds: [...log.entries].map(kindOf),
  })
  descriptions.set(state, text)
  return text
}

export type Met = (situation: Across) => void

export function checkSnapshots(
  facts: readonly Fact[],
  met: Met = () => undefined,
  cuts = cutsOf(facts.length),
): void {
  const states = statesOf(facts)
  for (const cut of cuts) {
    const index = states[cut] as State
    const parts = total('R8', `encodeSnapshot after ${cut} facts`, () => encodeParts(index, 0, SIZE))
    const opened = open(parts, index, `the snapshot after ${cut} facts`)
    const compacted = total('R7', `compact after ${cut} facts`, () => evict(index))
    same('R7', `the compacted state after ${cut} facts`, describeState(compacted), describeState(index))
    checkLetGo(index, opened)
    const end = foldOn(facts, states, opened, met)
    for (const situation of across(states, cut, end.log.entries.length)) met(situation)
    foldOn(facts, states, compacted, met)
    checkChain(facts, states, parts, cut, end)
  }
}

export function checkOneSnapshot(facts: readonly Fact[]): void {
  const { log, cut } = staged(facts, facts.length >>> 1)
  checkSnapshots(log, undefined, [cut])
}

function cutsOf(length: number): number[] {
  return [...new Set([0, 1, 1 / 3, 1 / 2, 3 / 4].map((part) => Math.round(part * length)))]
}

/** @param facts the log, to read bodies from */
function open(
  parts: readonly SnapshotPart[],
  expected: State,
  what: string,
  facts: readonly Fact[] | null = null,
): State {
  const { conversationId } = expected
  const opened =
    facts === null
      ? total('R7', what, () => decodeSnapshot(parts, conversationId))
      : completed(parts, foundIn(expected, facts))
  hold('R7', opened !== null, `${what} cannot be decoded`)
  same('R7', what, describeState(opened), describeState(expected))
  const again = encodeParts(opened, 0, SIZE, facts === null)
  hold('R8', isEqual(again, parts), () => `${what} has different bytes when it is encoded again`)
  return opened
}

const foundIn = ({ log }: State, facts: readonly Fact[]): Map<number, StoredFact> =>
  new Map([...log.entries].map(({ seq, id }) => [seq, { id, fact: facts[seq] as Fact }]))

/** Null if the log lacks a body or contains a different one. */
function completed(parts: readonly SnapshotPart[], log: ReadonlyMap<number, StoredFact>): State | null {
  const saved = readSnapshot(parts, '')
  if (saved === null) return null
  const { lacking } = saved
  const matches = new Map([...log].filter(([seq]) => lacking.includes(seq)))
  for (const [index, seq] of lacking.entries()) {
    const less = new Map(matches)
    less.delete(seq)
    hold(
      'R9',
      completeSnapshot(saved, less) === null,
      () => `a snapshot is complete without the body at ${seq}`,
    )
    const other = matches.get(lacking[index + 1] ?? -1)
    const isOther = other === undefined || completeSnapshot(saved, less.set(seq, other)) === null
    hold('R9', isOther, () => `the body at ${seq} can be another event's`)
  }
  return completeSnapshot(saved, matches)
}

/** Folds the rest of the log as far as possible. */
function foldOn(facts: readonly Fact[], states: readonly State[], from: State, met: Met): State {
  let state = from
  for (const fact of facts.slice(from.log.entries.length)) {
    const index = state.log.entries.length
    const wanted = states[index + 1] as State
    const isReducible = total('R7', 'canReduce', () => canReduce(state, fact))
    if (!isReducible) {
      met('evicted')
      hold(
        'R7',
        needsMore(state, wanted),
        `canReduce is false at position ${index}, but nothing evicted is needed`,
      )
      hold(
        'R7',
        throwsEvicted(() => reduce(state, fact)),
        `reduce did not throw evicted at position ${index}`,
      )
      break
    }
    state = total('R7', `reduce at position ${index}`, () => reduce(state, fact))
    met('folded_on')
    same('R7', `header and branch at position ${index}`, glance(state), glance(wanted))
  }
  const { length } = state.log.entries
  same('R7', `the state after ${length} facts`, describeState(state), describeState(states[length] as State))
  return state
}

const glance = ({ header, branch, log }: State) => [header, log.head?.seq, describeBranch(branch)]

/** Whether the last fact's parent or HEAD is missing in a shorter state. */
function needsMore(shorter: State, { log }: State): boolean {
  return [log.entries.last()?.parent, log.head].some((entry) => {
    const known = entry === null || entry === undefined ? undefined : shorter.log.entries.get(entry.seq)
    return known !== undefined && throwsEvicted(() => known.branch)
  })
}

/** Continuing an opened snapshot writes only new parts, which open together with the old ones. */
function checkChain(
  facts: readonly Fact[],
  states: readonly State[],
  parts: readonly SnapshotPart[],
  since: number,
  state: State,
): void {
  const { length } = state.log.entries
  const more = total('R8', 'encodeSnapshot since', () => encodeParts(state, since, SIZE, false))
  const first = Math.floor(since / SIZE)
  same(
    'R8',
    `parts since ${since} of ${length}`,
    more.map(({ part }) => part),
    [0, ...Array.from({ length: Math.ceil(length / SIZE) - first }, (_, n) => first + n + 1)],
  )
  const all = new Map([...parts, ...more].map((each) => [each.part, each]))
  const whole = encodeParts(states[length] as State, 0, SIZE, false)
  hold('R8', isEqual([...all.values()], whole), `parts since ${since} differ from the whole snapshot`)
  const opened = open([...all.values()].toReversed(), states[length] as State, 'the updated snapshot', facts)
  foldOn(facts, states, evict(opened), () => undefined)
}

/** A compacted state reports what it has evicted; the rest is unchanged. */
function checkLetGo(whole: State, state: State): void {
  const real = [...whole.log.entries]
  for (const [seq, entry] of [...state.log.entries].entries()) {
    hold('R7', state.log.entries.get(seq) === entry, `entry ${seq} is another object at the second access`)
    const before = real[seq]
    const facts = [entry.canBeHead, entry.depth, entry.jump?.seq, entry.above?.seq, entry.warnings]
    same('R7', `entry ${seq}`, facts, [
      before?.canBeHead,
      before?.depth,
      before?.jump?.seq,
      before?.above?.seq,
      before?.warnings,
    ])
    if (entry.event !== null) same('R7', `body ${seq}`, entry.event, before?.event)
    const other = state.log.entries.get((seq * 7) % real.length)
    if (other !== undefined && other.inTree && entry.inTree) {
      const isAbove = pathToEntry(entry).includes(other)
      same('R7', `whether ${other.seq} is an ancestor of ${seq}`, isOnPathIn(other, entry), isAbove)
    }
    const { id } = entry
    if (id === null) continue
    same('R7', `position of ${id}`, findEventIn(state.log, id)?.seq, findEventIn(whole.log, id)?.seq)
    if (!entry.inTree) continue
    checkLook(
      !throwsEvicted(() => entry.branch),
      `switchTo ${id}`,
      () => switchTo(state, id),
      () => switchTo(whole, id),
    )
    checkLook(
      !isEvicted(state, id),
      `stateAt ${id}`,
      () => stateAt(state, id),
      () => stateAt(whole, id),
    )
  }
}

/** Without `current`, the lookup must report an eviction. */
function checkLook(current: boolean, what: string, look: () => State, expected: () => State): void {
  if (throwsEvicted(look)) return hold('R7', !current, `${what} throws evicted for a loaded entry`)
  hold('R7', current, `${what} returns an evicted state`)
  same('R7', what, describeState(look()), describeState(expected()))
}

function throwsEvicted(run: () => unknown): boolean {
  try {
    run()
    return false
  } catch (error) {
    if (hasCode(error, 'evicted')) return true
    throw error
  }
}

function isEqual(some: readonly SnapshotPart[], others: readonly SnapshotPart[]): boolean {
  return (
    some.length === others.length &&
    others.every(({ part, bytes }) => {
      const match = some.find((each) => each.part === part)?.bytes
      return match?.length === bytes.length && bytes.every((byte, index) => byte === match[index])
    })
  )
}

/** The numbers are arbitrary, so the result can be identical. */
export interface Damage {
  readonly how: 'flip' | 'cut' | 'grow' | 'drop' | 'swap' | 'foreign' | 'shift' | 'zero'
  readonly part: number
  readonly position: number
}

/** R9: damaged parts are rejected, or open as the original state. */
export function checkDamage(
  facts: readonly Fact[],
  foreign: readonly Fact[],
  damages: readonly Damage[],
): number {
  const state = replay(facts)
  const parts = encodeParts(state, 0, SIZE)
  const others = encodeParts(replay(foreign), 0, SIZE)
  let refused = 0
  for (const damage of damages) {
    const spoilt = spoil(parts, others, damage)
    const opened = total('R9', `decodeSnapshot after ${JSON.stringify(damage)}`, () =>
      decodeSnapshot(spoilt, ''),
    )
    if (opened === null) refused += 1
    else same('R9', `the state after ${JSON.stringify(damage)}`, describeState(opened), describeState(state))
    hold(
      'R9',
      opened === null || damage.how !== 'flip',
      () => `a flipped bit was not detected: ${JSON.stringify(damage)}`,
    )
  }
  return refused
}

function spoil(
  parts: readonly SnapshotPart[],
  others: readonly SnapshotPart[],
  damage: Damage,
): SnapshotPart[] {
  const n = damage.part % parts.length
  const { part, bytes } = parts[n] as SnapshotPart
  const replaced = (by: Uint8Array): SnapshotPart[] =>
    parts.map((each) => (each.part === part ? { part, bytes: by } : each))
  const index = damage.position % bytes.length
  switch (damage.how) {
    case 'flip':
      return replaced(
        bytes.map((byte, here) => (here === index ? byte ^ (1 << (damage.position % 8)) : byte)),
      )
    case 'zero':
      return replaced(bytes.map((byte, here) => (here >= index && here < index + 64 ? 0 : byte)))
    case 'cut':
      return replaced(bytes.slice(0, index))
    case 'grow':
      return replaced(new Uint8Array([...bytes, ...bytes.slice(0, (index & ~3) + 4)]))
    case 'drop':
      return parts.filter((each) => each.part !== part)
    case 'swap': {
      const other = parts[damage.position % parts.length] as SnapshotPart
      return parts.map((each) => ({
        part: each.part === part ? other.part : each.part === other.part ? part : each.part,
        bytes: each.bytes,
      }))
    }
    case 'foreign':
      return replaced(others[damage.position % others.length]?.bytes ?? bytes)
    case 'shift': {
      // The same bytes, unaligned in a larger buffer.
      const room = new Uint8Array(bytes.length + 9)
      room.set(bytes, 1 + (damage.position % 8))
      return replaced(room.subarray(1 + (damage.position % 8), 1 + (damage.position % 8) + bytes.length))
    }
  }
}
