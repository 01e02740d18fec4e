/** The cost of writing a request with a cache, in a growing run and after a move of HEAD. */

import { describe, expect, it, vi } from 'vitest'
import { toMessages } from '../../src/messages/neutral.ts'
import { requestCache } from '../../src/messages/request-cache.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { makeEvents } from '../../bench/workload.ts'
import { type WireGrammar, WIRES } from '../../properties/wire/reply.ts'
import { frozen } from '../../properties/checks/request-cache.ts'

const SMALL = { action: 60, observation: 60, systemPrompt: 60, message: 60 }
const GRAMMARS = Object.keys(WIRES) as WireGrammar[]
/** A run's events: a prompt, a user's message, then replies that each call a tool. */
const events = makeEvents(5_000, { sizes: SMALL })
  .filter(({ kind }, index) => kind !== 'MessageEvent' || index === 1)
  .map(frozen)

const listOf = (request: object): object[] =>
  Array.isArray(request) ? request : (Object.values(request).findLast(Array.isArray) as object[])

/** Writes requests with one cache. Returns the number of turns read and of new messages for each. */
function costs(grammar: WireGrammar) {
  const cache = requestCache()
  const pairs = vi.spyOn(WIRES[grammar].limits, 'pairs')
  let before = new Set<object>()
  return (state: State): { readonly turns: number; readonly written: number } => {
    pairs.mockClear()
    const request = WIRES[grammar].write(toMessages(state, { cache }), { tools: [], model: 'any', cache })
    const turns = pairs.mock.calls.reduce((sum, [read]) => sum + read.length, 0)
    const list = listOf(request)
    const written = list.filter((message) => !before.has(message)).length
    before = new Set(list)
    return { turns, written }
  }
}

describe('a request with a cache', () => {
  it.each(GRAMMARS)('costs only its new events in a run of any length: %s', (grammar) => {
    const cost = costs(grammar)
    for (const length of [100, 1_000, 4_000]) {
      let state = replay(events.slice(0, length))
      expect(cost(state).written).toBeGreaterThan(length / 4)
      for (const event of events.slice(length, length + 20)) {
        state = reduce(state, event)
        const { turns, written } = cost(state)
        expect(turns).toBeLessThan(4)
        // Interactions writes texts, calls and results as separate steps.
        expect(written).toBeLessThan(5)
      }
    }
  })

  it.each(GRAMMARS)('reads few turns after a move of HEAD: %s', (grammar) => {
    const cost = costs(grammar)
    let state = replay(events.slice(0, 4_000))
    const turns = cost(state).turns
    expect(turns).toBeGreaterThan(1_000)
    for (const back of [2, 40, 400]) {
      const value = events[4_000 - back]?.id ?? null
      state = reduce(state, frozen({ kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id', value }))
      expect(cost(state).turns).toBeLessThan(100)
      state = reduce(state, events.find(({ kind }) => kind === 'MessageEvent') as never)
      expect(cost(state).turns).toBeLessThan(4)
    }
  })
})
