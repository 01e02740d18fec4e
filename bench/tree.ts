/** Compares the cost of opening a tree of conversations with folding its logs: `npm run bench:tree`. */

import { createEngine } from '../src/conversation/engine.ts'
import { toTreeTimeline } from '../src/messages/index.ts'
import { replay, type State, type StateTree } from '../src/state/index.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import type { Store } from '../src/store/contract/store.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { noArguments } from '../test/usage.ts'
import { machine, median } from './measure.ts'
import { decoded, makeLines } from './workload.ts'

const LEVELS = 5
const CHILDREN = 1_000
/** Events of each conversation. */
const EVENTS = 30
const ROUNDS = 3

const idOf = (level: number, index: number): string => (level === 0 ? 'root' : `level-${level}-${index}`)

/** A root with a thousand children, each the start of a chain down to the last level. */
async function fill(store: Store): Promise<string[]> {
  const events = makeLines(EVENTS).map((line) => decoded(line))
  const ids: string[] = []
  for (let level = 0; level <= LEVELS; level += 1)
    for (let index = 0; index < (level === 0 ? 1 : CHILDREN); index += 1) {
      const id = idOf(level, index)
      await store.createConversation({
        id,
        ...(level > 0 && { parentConversationId: idOf(level - 1, index), tags: { subagent: 'true' } }),
        status: 'idle',
      })
      await store.append(id, events, { mode: 'import' })
      ids.push(id)
    }
  return ids
}

async function time<T>(work: () => Promise<T>): Promise<number> {
  globalThis.gc?.()
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function open(store: Store): Promise<StateTree> {
  const engine = createEngine({ store })
  const tree = await (await engine.open('root')).tree()
  await engine.close()
  return tree
}

async function foldEach(store: Store, ids: readonly string[]): Promise<number> {
  const engine = createEngine({ store })
  let entries = 0
  for (const id of ids) entries += (await (await engine.open(id)).state()).log.entries.length
  await engine.close()
  return entries
}

/** Keeps the states, as a tree does. */
async function foldOnly(store: Store, ids: readonly string[]): Promise<State[]> {
  const states: State[] = []
  for (const id of ids) {
    const facts = (await store.read(id, { limit: EVENTS })).map(({ fact }) => fact)
    states.push(replay(facts, { conversationId: id }))
  }
  return states
}

noArguments()
console.log(machine())
for (const [name, store] of [
  ['memory', memoryStore()],
  ['SQLite', sqliteStore({ file: ':memory:' })],
] as const) {
  const ids = await fill(store)
  const tree = await open(store)
  const operations = {
    tree: () => open(store),
    each: () => foldEach(store, ids),
    fold: () => foldOnly(store, ids),
  }
  const times = { tree: [] as number[], each: [] as number[], fold: [] as number[] }
  for (let round = -1; round < ROUNDS; round += 1)
    for (const key of ['tree', 'each', 'fold'] as const) {
      const spent = await time<unknown>(operations[key])
      if (round >= 0) times[key].push(spent)
    }
  const [treeTime, eachTime, foldTime] = [times.tree, times.each, times.fold].map(median) as [
    number,
    number,
    number,
  ]
  console.log(
    `\n${name}: ${ids.length} conversations on ${LEVELS} levels below the root, ${EVENTS} events each`,
  )
  console.log(`  tree()                            ${treeTime.toFixed(0).padStart(6)} ms`)
  console.log(
    `  open() and state() of each        ${eachTime.toFixed(0).padStart(6)} ms  ${(treeTime / eachTime).toFixed(2)} x`,
  )
  console.log(
    `  read and replay of each           ${foldTime.toFixed(0).padStart(6)} ms  ${(treeTime / foldTime).toFixed(2)} x (target 2)`,
  )
  console.log(
    `  toTreeTimeline                    ${(await time(async () => toTreeTimeline(tree))).toFixed(0).padStart(6)} ms`,
  )
  await store.close()
}
