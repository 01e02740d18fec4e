/** Counts units of work per event for each operation of the fold, instead of timing it. */

import type { Event } from '../src/event/types.ts'
import { work } from '../src/log/work.ts'
import { stateAt, switchTo } from '../src/state/at.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { initialState } from '../src/state/state.ts'
import { readTail } from './tail.ts'
import { makeEvents, seeded, type WorkloadOptions } from './workload.ts'

const SMALL = { action: 90, observation: 30, systemPrompt: 30, message: 30 } as const
const LOOKUPS = 1_000

/** Units of work are copied slots, visited units and index probes. */
export function countWork(length: number): Record<string, number> {
  return {
    ...countFold('growing view', length, {}),
    ...countFold('condensed view', length, { condenseAt: 80 }),
    ...countFold('branches', length, { branchEvery: 40 }),
    ...countFold('reused ids', length, { parallel: 3, reuseCallIds: true }),
    ...countFold('steered', length, { steered: true }),
    ...countPiled(length),
    ...countFold('second answers', length, { reuseCallIds: true, secondAnswers: true, branchEvery: 40 }),
  }
}

function countFold(title: string, length: number, options: WorkloadOptions): Record<string, number> {
  const events = makeEvents(length, { ...options, sizes: SMALL })
  const random = seeded(3)
  const requests = Array.from({ length: LOOKUPS }, () => events[Math.floor(random() * length)]?.id ?? '')
  // One fold measures both costs: reading the view adds to what folding counted.
  let state = initialState()
  let folded = 0
  const viewed = countSpent(length, () => {
    for (const event of events) {
      const before = total()
      state = reduce(state, event)
      folded += total() - before
      readTail(state.branch.view)
    }
  })
  return {
    [`reduce, ${title}`]: folded / length,
    [`view each time, ${title}`]: viewed,
    [`state at, ${title}`]: countSpent(LOOKUPS, () => requests.forEach((id) => stateAt(state, id))),
    [`switch, ${title}`]: countSpent(LOOKUPS, () => requests.forEach((id) => switchTo(state, id))),
    [`switch appended, ${title}`]: countSpent(LOOKUPS, () => {
      let position = state
      for (const [index, value] of requests.entries()) {
        position = reduce(position, {
          kind: 'ConversationStateUpdateEvent',
          id: `m${index}`,
          key: 'leaf_event_id',
          value,
        })
      }
    }),
  }
}

/** Replies that were all requested at the first message: each is inserted as far back as allowed. */
function countPiled(events: number): Record<string, number> {
  // The pile is always higher than a reply may pass (1,024 units).
  const length = Math.max(events, 4_096)
  const half = Math.floor(length / 2)
  const piled = (pile: number, more: object): Event[] =>
    Array.from({ length }, (_, index): Event => {
      const id = `p${index}`
      const content = [{ text: id }]
      if (index < pile)
        return { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content } }
      const llm_message = { role: 'assistant' as const, content, reply: { after: 'p0' } }
      return { kind: 'MessageEvent', id, source: 'agent', llm_message, ...more }
    })
  const spentOn = (events: readonly Event[]) => countSpent(length, () => replay(events))
  return {
    'reduce, replies before a pile': spentOn(piled(100, {})),
    'reduce, replies before half the log': spentOn(piled(half, {})),
    'reduce, each reply on a branch of its own': spentOn(piled(half, { parent_id: `p${half - 1}` })),
  }
}

const total = (): number => work.slots + work.units + work.probes

export function countSpent(count: number, run: () => void): number {
  const before = total()
  run()
  return (total() - before) / count
}
