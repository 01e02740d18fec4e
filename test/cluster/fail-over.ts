/** One failover: the primary fails while all write, comes back, and what there is then is held to what was acknowledged. */

import type { Child } from './children.ts'
import type { Cluster, ClusterNode } from './cluster.ts'
import type { Fault } from './faults.ts'
import { type Ledger, misreadBy } from './ledger.ts'
import { killAll } from './network.ts'
import type { Failover } from './report.ts'
import { sleep } from './rounds.ts'
import type { Services } from './services.ts'
import { eventually } from './shell.ts'

/** All that takes part. */
export interface Run {
  readonly cluster: Cluster
  readonly services: Services
  readonly ledger: Ledger
  readonly writers: readonly Child[]
  readonly reader: Child
  readonly say: (line: string) => void
}

/** Milliseconds of writing before the fault, and once all nodes are back. */
const BEFORE = 1_500
const AFTER = 1_500

/** Milliseconds without a write that show that the fault has come about. */
const SILENCE = 1_000

/** Milliseconds until a fault is ended of which nothing has come: the node may go on by itself then. */
const LONGEST = 30_000

/** Milliseconds for a node to follow again, before it is made anew. */
const RETURN = 60_000

/** So many writes after the fault show that they flow again. */
const FLOWING = 5

const KINDS = ['store', 'engine', 'item']

/** Fails the primary once. @throws Error where the cluster does not come back, or a process of ours has ended. */
export async function failOver(run: Run, fault: Fault, number: number): Promise<Failover> {
  const { cluster, ledger, writers, reader } = run
  const before = await steady(run)
  await Promise.all([...writers, reader].map((child) => child.tell('round', number)))
  await sleep(BEFORE)
  const instant = Date.now()
  await fault.begin(before.node, cluster)
  // A full disk takes some writes yet.
  await eventually(() => Date.now() - ledger.lastAt(number, KINDS) > SILENCE, LONGEST)
  const silent = Date.now()
  await eventually(
    () => KINDS.every((kind) => ledger.since(number, kind, silent) >= FLOWING),
    fault.longest ?? LONGEST,
  )
  await fault.end(before.node, cluster)
  const after = await steady(run)
  await sleep(AFTER)
  await Promise.all(writers.map((writer) => writer.tell('hold', number)))
  const primary = (await steady(run)).node
  const rounds = number === 1 ? [1] : [number - 1, number]
  const checked = await cluster.ask(primary, (client) => ledger.check(client, rounds))
  const [misread, resets] = await readersAt(run, primary, number)
  await reader.tell('hold', number)
  if (!(await run.services.isAlive())) throw new Error('a service has ended')
  return {
    fault: fault.name,
    from: before.node.name,
    to: after.node.name,
    gap: Math.max(...KINDS.map((kind) => ledger.gap(number, kind, instant))),
    serviceGap: ledger.gap(number, 'service', instant),
    ...checked,
    acknowledged: ledger.count(number),
    misread,
    resets,
    rebuilt: before.rebuilt + after.rebuilt,
  }
}

/** In what readers differ from the log, once they have had time to read it; and how often they started over so far. */
async function readersAt(
  { cluster, reader }: Run,
  primary: ClusterNode,
  round: number,
): Promise<readonly [string[], number]> {
  let matches: string[] = []
  let resets = 0
  await eventually(
    async () => {
      const seen = await reader.ask(round)
      matches = await cluster.ask(primary, (client) => misreadBy(seen, client, round))
      resets = seen[3]
      return matches.length === 0
    },
    LONGEST,
    500,
  )
  return [matches, resets]
}

/** Waits for all nodes; one that does not come back by itself is made anew. */
async function steady({
  cluster,
  say,
}: Run): Promise<{ readonly node: ClusterNode; readonly rebuilt: number }> {
  for (let rebuilt = 0; rebuilt < 4; rebuilt += 1) {
    const node = await cluster.steady(RETURN)
    if (node !== null) return { node, rebuilt }
    const primary = await cluster.primary()
    const lagging = primary && (await cluster.lagging(primary))
    if (lagging === null) continue
    say(`  ${lagging.name} does not follow; it is made anew`)
    await killAll(lagging.name)
    await cluster.wipe(lagging)
    cluster.start(lagging)
  }
  throw new Error('the cluster does not come back')
}
