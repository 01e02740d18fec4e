/** Two engines act on a conversation: its state equals a replay of the log, and every store has the same log. */

import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { RUNS } from '../../properties/run.ts'
import { toLogged } from '../../src/conversation/logged-event.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { checkLog } from './check-log.ts'
import { OPERATION_NAMES, performOperation } from './operations.ts'
import { backends } from './backends.ts'

const BACKENDS = backends()
const open: Store[] = []
afterAll(async () => {
  await Promise.all(open.map((store) => store.close()))
  await BACKENDS.remove()
})

interface Command {
  readonly operation: string
  readonly engine: number
  readonly picks: readonly number[]
}

/** Operations that rarely succeed except in sequence. */
const SEQUENCES = [
  ['pause', 'resume'],
  ['send', 'call', 'wait', 'approve'],
  ['call', 'wait', 'reject'],
  ['run', 'call', 'recover'],
  ['run', 'call', 'interrupt'],
  ['call', 'moveToRoot', 'appendResult'],
  ['send', 'edit'],
  ['finish', 'restart'],
] as const

/** Runs all sequences and operations once, whatever the random commands are. */
const SCRIPT: readonly Command[] = [...SEQUENCES.flat(), ...OPERATION_NAMES].map((operation, index) => ({
  operation,
  engine: index % 2,
  picks: [1, 2, 3, 4, 5, 6],
}))

const command = (operation: string): fc.Arbitrary<Command> =>
  fc.record({
    operation: fc.constant(operation),
    engine: fc.nat(1),
    picks: fc.array(fc.nat(1_000), { minLength: 6, maxLength: 6 }),
  })

const commands = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom(...OPERATION_NAMES).chain((operation) => fc.tuple(command(operation))),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(...SEQUENCES).chain((operations) => fc.tuple(...operations.map(command))),
      },
    ),
    { maxLength: 30, size: 'max' },
  )
  .map((sequences): Command[] => sequences.flat())

/** Two engines with the same ids and times; the second has no cache. */
function countingEngines(store: Store): [Engine, Engine] {
  let ids = 0
  let time = 1_700_000_000_000_000n
  const shared = { store, newId: () => `n${(ids += 1)}`, clock: () => (time += 1_000n) }
  return [createEngine(shared), createEngine({ ...shared, cacheBytes: 0 })]
}

/** Performs all commands on a store, compares the state with a replay after each, and returns the log. */
async function perform(store: Store, id: string, list: readonly Command[]) {
  const engines = countingEngines(store)
  await store.createConversation({ id })
  const outcomes: unknown[] = []
  for (const [index, { operation, engine, picks }] of list.entries()) {
    let next = 0
    const pick = (below: number): number => (picks[next++ % picks.length] as number) % below
    const conversation = await (engines[engine] as Engine).open(id)
    const outcome = await performOperation(conversation, operation, pick, `d${index}`)
    outcomes.push(typeof outcome === 'string' ? outcome : outcome.map((event) => event.id))
    const log = await store.read(id)
    if (typeof outcome !== 'string')
      for (const event of outcome) expect(log.map(toLogged)).toContainEqual(event)
    const facts = log.map(({ fact }) => fact)
    const expected = encodeState(replay(facts, { conversationId: id }))
    for (const each of engines) expect(encodeState(await (await each.open(id)).state())).toBe(expected)
    expect((await store.getConversation(id))?.headId ?? null).toBe(
      (await conversation.state()).log.head?.id ?? null,
    )
  }
  const log = await store.read(id)
  checkLog(
    log.map(({ fact }) => fact),
    id,
  )
  await Promise.all(engines.map((engine) => engine.close()))
  return {
    outcomes,
    log: log.map(({ seq, fact, parentId, inTree, time }) => ({ seq, fact, parentId, inTree, time })),
  }
}

describe('random operations of two engines', () => {
  it('lead to the state of a replay, and to the same log in every store', async () => {
    const stores = await Promise.all(BACKENDS.names.map(async (name) => (await BACKENDS.make(name)).open()))
    open.push(...stores)
    let count = 0
    const successes = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        const id = `c${(count += 1)}`
        const [memory, ...others] = await Promise.all(stores.map((store) => perform(store, id, list)))
        for (const other of others) expect(other).toEqual(memory)
        for (const [index, { operation }] of list.entries()) {
          const outcome = memory?.outcomes[index]
          if (Array.isArray(outcome) && outcome.length > 0)
            successes.set(operation, (successes.get(operation) ?? 0) + 1)
        }
      }),
      { numRuns: Math.max(5, Math.round(RUNS / 16)), examples: [[[...SCRIPT]]] },
    )
    // Every operation succeeded at least once.
    expect(OPERATION_NAMES.filter((operation) => !successes.has(operation))).toEqual([])
  })
})
