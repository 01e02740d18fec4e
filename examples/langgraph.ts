/**
 * A LangGraph graph with checkpoints in a Colloquy database. After a crash, start the program again:
 * the graph continues with the unfinished step.
 *
 *   npm install ./colloquy-0.1.0.tgz @langchain/langgraph @langchain/langgraph-checkpoint @langchain/core
 *   FILE=graph.db node langgraph.ts
 */

import { Annotation, StateGraph } from '@langchain/langgraph'
import { colloquySaver } from 'colloquy/langgraph'
import { sqliteStore } from 'colloquy/sqlite'

const store = sqliteStore({ file: process.env['FILE'] ?? 'graph.db' })
const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (log, more) => [...log, ...more], default: () => [] }),
})

/** Replace this with a node that calls a model or a tool. This node adds a line. */
const work = ({ log }: typeof State.State) => {
  console.log(`step ${log.length}`)
  return { log: [`did ${log.length}`] }
}
const graph = new StateGraph(State)
  .addNode('work', work)
  .addEdge('__start__', 'work')
  .addConditionalEdges('work', ({ log }) => (log.length < 5 ? 'work' : '__end__'))
  .compile({ checkpointer: colloquySaver({ store }) })

const config = { configurable: { thread_id: 'thread-1' }, durability: 'sync' as const }
const { next, values } = await graph.getState(config)
// A thread that has started receives no input and continues where it stopped.
const hasStarted = next.length > 0 || Object.keys(values as object).length > 0
const { log } = await graph.invoke(hasStarted ? null : { log: ['asked'] }, config)
console.log(log.join(', '))
await store.close()
