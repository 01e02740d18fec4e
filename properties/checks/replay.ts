/** R1 to R6: every way of folding a log produces the same state. */

import type { Fact } from '../../src/event/quarantine.ts'
import { stateAt } from '../../src/state/at.ts'
import { encodeState } from '../../src/state/read.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { hold, same, total } from '../../src/testing/failure.ts'

export function statesOf(facts: readonly Fact[]): State[] {
  const states = [initialState()]
  for (const fact of facts) {
    const before = states.at(-1) as State
    states.push(total('R2', `reduce at position ${states.length - 1}`, () => reduce(before, fact)))
  }
  return states
}

export function checkReplay(facts: readonly Fact[]): void {
  const input = JSON.stringify(facts)
  const states = statesOf(facts)
  const texts = states.map((state) => encodeState(state))
  const last = texts.at(-1)

  same('R4', 'replay', encodeState(replay(facts)), last)
  same('R5', 'a second fold', encodeState(replay(facts)), last)
  same(
    'R5',
    'the fold of facts that were written and read',
    encodeState(replay(JSON.parse(input) as readonly Fact[])),
    last,
  )
  const name = { conversationId: 'c-1' }
  const called = facts.reduce<State>(reduce, initialState(name))
  same('R5', 'a fold with a conversation id', encodeState(replay(facts, name)), encodeState(called))
  for (const index of cuts(facts.length)) {
    let state = states[index] as State
    for (const fact of facts.slice(index)) state = reduce(state, fact)
    same('R1', `the fold resumed after ${index} facts`, encodeState(state), last)
  }
  for (const index of cuts(facts.length).slice(0, 4))
    checkContinuations(facts, states[index] as State, index, states.at(-1) as State)

  for (const [index, state] of states.entries()) {
    same('R3', `the state after ${index} facts, encoded again`, encodeState(state), texts[index])
    hold('R3', Object.isFrozen(state.header), 'the header is not frozen')
  }
  same('R3', 'the facts after the fold', JSON.stringify(facts), input)
}

/** R6: continues an old state in several interleaved ways. */
function checkContinuations(facts: readonly Fact[], from: State, index: number, last: State): void {
  const rest = facts.slice(index)
  const known = facts.slice(0, index).find((fact) => fact.id !== undefined)?.id
  const again = rest.slice(0, 1).map((fact): Fact => (known === undefined ? fact : { ...fact, id: known }))
  const lists = [rest, rest.slice(1), rest.toReversed(), [...again, ...rest]]
  const starts = [from]
  const head = from.log.head
  // Equal unless a fact was appended without moving HEAD.
  if (head !== null && head.id !== null && head.seq === index - 1) starts.push(stateAt(last, head.id))
  const ways = starts.flatMap((start) => lists.map((list) => ({ list, state: start })))
  for (let step = 0; step <= rest.length; step += 1) {
    for (const way of ways) {
      const fact = way.list[step]
      if (fact !== undefined) way.state = total('R2', 'reduce', () => reduce(way.state, fact))
    }
  }
  const fresh = lists.map((list) => encodeState(replay([...facts.slice(0, index), ...list])))
  for (const [n, { state }] of ways.entries()) {
    same('R6', `continuation ${n} after ${index} facts`, encodeState(state), fresh[n % lists.length])
  }
}

/** R6 when persistent vectors gain a level, which needs long logs. */
export function checkLongReplay(facts: readonly Fact[]): void {
  const last = encodeState(replay(facts))
  for (const index of [1, 31, 32, 33, 64, 1023, 1024, 1025, 1056, 1057].filter((cut) => cut < facts.length)) {
    const old = replay(facts.slice(0, index))
    const text = encodeState(old)
    let [one, other] = [old, old]
    for (const [n, fact] of facts.slice(index).entries()) {
      one = reduce(one, fact)
      const skipped = facts[index + n + 1]
      if (skipped !== undefined) other = reduce(other, skipped)
    }
    same('R1', `the fold resumed after ${index} facts`, encodeState(one), last)
    same(
      'R6',
      `fold without fact ${index}`,
      encodeState(other),
      encodeState(replay(facts.toSpliced(index, 1))),
    )
    same('R3', `the state after ${index} facts`, encodeState(old), text)
  }
}

function cuts(length: number): number[] {
  const step = Math.max(1, Math.floor(length / 12))
  const places: number[] = []
  for (let index = 0; index < length; index += step) places.push(index)
  return places
}
