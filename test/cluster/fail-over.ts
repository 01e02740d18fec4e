/** One failover: the primary fails during writes and recovers. Then the data is compared with the acknowledgements. */

import type { Child } from './children.ts'
import type { Cluster, ClusterNode } from './cluster.ts'
import type { Fault } from './faults.ts'
import { type Ledger, readDifferences } from './ledger.ts'
import { killAll } from './network.ts'
import type { Failover } from './report.ts'
import { sleep } from './rounds.ts'
import type { Services } from './services.ts'
import { eventually } from './shell.ts'

export interface Run {
  readonly cluster: Cluster
  readonly services: Services
  readonly ledger: Ledger
  readonly writers: readonly Child[]
  readonly reader: Child
  readonly say: (line: string) => void
}

/** Milliseconds of writing before the fault. */
const BEFORE = 1_500
/** Milliseconds of writing after all nodes are back. */
const AFTER = 1_500

/** Milliseconds without a write after which the fault counts as effective. */
const MIN_GAP = 1_000

/** Maximum duration of a fault in milliseconds, in case that no failover happens. */
const MAX_FAULT = 30_000

/** Milliseconds for a node to follow again before it is rebuilt. */
const RETURN = 60_000

/** Number of writes after the fault that count as resumed writing. */
const MIN_WRITES = 5

const KINDS = ['store', 'engine', 'item']

/** Fails the primary once. @throws Error if the cluster does not recover, or a child process ended. */
export async function failOver(run: Run, fault: Fault, number: number): Promise<Failover> {
  const { cluster, ledger, writers, reader } = run
  const before = await steady(run)
  await Promise.all([...writers, reader].map((child) => child.send('round', number)))
  await sleep(BEFORE)
  const instant = Date.now()
  await fault.begin(before.node, cluster)
  // A full disk still accepts a few writes.
  await eventually(() => Date.now() - ledger.lastAt(number, KINDS) > MIN_GAP, MAX_FAULT)
  const silent = Date.now()
  await eventually(
    () => KINDS.every((kind) => ledger.since(number, kind, silent) >= MIN_WRITES),
    fault.longest ?? MAX_FAULT,
  )
  await fault.end(before.node, cluster)
  const after = await steady(run)
  await sleep(AFTER)
  await Promise.all(writers.map((writer) => writer.send('hold', number)))
  const primary = (await steady(run)).node
  const rounds = number === 1 ? [1] : [number - 1, number]
  const checked = await cluster.withClient(primary, (client) => ledger.check(client, rounds))
  const [misread, resets] = await waitForReaders(run, primary, number)
  await reader.send('hold', number)
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

/** Waits for the readers. Returns their remaining differences from the log, and the number of their resets. */
async function waitForReaders(
  { cluster, reader }: Run,
  primary: ClusterNode,
  round: number,
): Promise<readonly [string[], number]> {
  let matches: string[] = []
  let resets = 0
  await eventually(
    async () => {
      const seen = await reader.query(round)
      matches = await cluster.withClient(primary, (client) => readDifferences(seen, client, round))
      resets = seen[3]
      return matches.length === 0
    },
    MAX_FAULT,
    500,
  )
  return [matches, resets]
}

/** Waits for all nodes; rebuilds a node that does not return by itself. */
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
    say(`  ${lagging.name} does not follow; it is rebuilt`)
    await killAll(lagging.name)
    await cluster.wipe(lagging)
    cluster.start(lagging)
  }
  throw new Error('the cluster does not recover')
}
