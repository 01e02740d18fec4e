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

/** Returns units of work per event: copied slots, visited units and index probes. */
export function countWork(length: number): Record<string, number> {
  return {
    ...countFold('growing view', length, {}),
    ...countFold('condensed view', length, { condenseAt: 80 }),
    ...countFold('branches', length, { branchEvery: 40 }),
    ...countFold('reused ids', length, { parallel: 3, reuseCallIds: true }),
    ...countFold('steered', length, { steered: true }),
    ...countInsertedReplies(length),
    ...countFold('second answers', length, { reuseCallIds: true, secondAnswers: true, branchEvery: 40 }),
  }
}

function countFold(title: string, length: number, options: WorkloadOptions): Record<string, number> {
  const events = makeEvents(length, { ...options, sizes: SMALL })
  const random = seeded(3)
  const ids = Array.from({ length: LOOKUPS }, () => events[Math.floor(random() * length)]?.id ?? '')
  // One fold measures both costs: reading the view adds to what folding counted.
  let state = initialState()
  let reduceWork = 0
  const viewWork = countSpent(length, () => {
    for (const event of events) {
      const before = total()
      state = reduce(state, event)
      reduceWork += total() - before
      readTail(state.branch.view)
    }
  })
  return {
    [`reduce, ${title}`]: reduceWork / length,
    [`view each time, ${title}`]: viewWork,
    [`state at, ${title}`]: countSpent(LOOKUPS, () => ids.forEach((id) => stateAt(state, id))),
    [`switch, ${title}`]: countSpent(LOOKUPS, () => ids.forEach((id) => switchTo(state, id))),
    [`switch appended, ${title}`]: countSpent(LOOKUPS, () => {
      let moved = state
      for (const [index, value] of ids.entries()) {
        moved = reduce(moved, {
          kind: 'ConversationStateUpdateEvent',
          id: `m${index}`,
          key: 'leaf_event_id',
          value,
        })
      }
    }),
  }
}

/** Replies that were all requested at the first message, so each is inserted as far back as allowed. */
function countInsertedReplies(events: number): Record<string, number> {
  // The messages outnumber the units that a reply may pass (1,024).
  const length = Math.max(events, 4_096)
  const half = Math.floor(length / 2)
  const eventsWithPile = (pile: number, more: object): Event[] =>
    Array.from({ length }, (_, index): Event => {
      const id = `p${index}`
      const content = [{ text: id }]
      if (index < pile)
        return { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content } }
      const llm_message = { role: 'assistant' as const, content, reply: { after: 'p0' } }
      return { kind: 'MessageEvent', id, source: 'agent', llm_message, ...more }
    })
  const replayWork = (events: readonly Event[]) => countSpent(length, () => replay(events))
  return {
    'reduce, replies before a pile': replayWork(eventsWithPile(100, {})),
    'reduce, replies before half the log': replayWork(eventsWithPile(half, {})),
    'reduce, replies on separate branches': replayWork(eventsWithPile(half, { parent_id: `p${half - 1}` })),
  }
}

const total = (): number => work.slots + work.units + work.probes

export function countSpent(count: number, run: () => void): number {
  const before = total()
  run()
  return (total() - before) / count
}
