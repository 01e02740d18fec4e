/** Faults of a primary, and how its node is restored. */

import { readFile, statfs } from 'node:fs/promises'
import { type Cluster, type ClusterNode, DISK_SIZE } from './cluster.ts'
import { isolate, killAll, link, processesOf, signalAll } from './network.ts'
import { sleep } from './rounds.ts'
import { eventually, sh } from './shell.ts'

export interface Fault {
  readonly name: string
  /** Maximum duration in milliseconds if no other node becomes primary. Default: 30,000. */
  readonly longest?: number
  begin(node: ClusterNode, cluster: Cluster): Promise<void>
  /** Called once writes succeed again, on any node. */
  end(node: ClusterNode, cluster: Cluster): Promise<void>
}

/** Milliseconds for an orderly stop. */
const STOP_TIMEOUT = 30_000

const start = (node: ClusterNode, cluster: Cluster): Promise<void> => Promise.resolve(cluster.start(node))

/** Fills one file of the write-ahead log, 1 MB, with small records. */
const FILL_LOG_FILE = `SELECT count(pg_logical_emit_message(false, 'full', repeat('x', 1000))) FROM generate_series(1, 1000)`
/** Maximum number of files to fill. */
const LOG_FILES = 200

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill',
    begin: ({ name }) => killAll(name),
    end: start,
  },
  {
    name: 'stop',
    async begin({ name }) {
      // Patroni is the first process of the host. On SIGTERM it stops the server in an orderly way.
      const [first = 0] = (await processesOf(name)).toSorted((a, b) => a - b)
      process.kill(first, 'SIGTERM')
    },
    async end(node, cluster) {
      const isEmpty = async (): Promise<boolean> => (await processesOf(node.name)).length === 0
      if (!(await eventually(isEmpty, STOP_TIMEOUT))) await killAll(node.name)
      cluster.start(node)
    },
  },
  {
    name: 'pause',
    begin: ({ name }) => signalAll(name, 'SIGSTOP'),
    end: ({ name }) => signalAll(name, 'SIGCONT'),
  },
  {
    name: 'partition',
    begin: ({ name }) => link(name, false),
    end: ({ name }) => link(name, true),
  },
  {
    name: 'full disk',
    // Writes fail until an operator frees space, so a longer wait shows nothing.
    longest: 10_000,
    async begin(node, cluster) {
      await fill(node.disk)
      // PostgreSQL can still write to preallocated log files: use them up.
      const use = async (): Promise<void> => {
        for (let count = 0; count < LOG_FILES; count += 1) {
          await cluster.withClient(node, (client) => client.query(FILL_LOG_FILE))
        }
      }
      use().catch(() => undefined)
    },
    end: ({ disk }) => resize(disk, DISK_SIZE),
  },
  {
    // After a crash and a restart, commits that waited for a standby are visible. If the server then dies, they
    // are lost.
    name: 'ahead',
    async begin(node, cluster) {
      const names = cluster.nodes.map(({ name }) => name)
      await isolate(names, true)
      await sleep(WAITING)
      // Patroni would keep standbys from replacing a server that is ahead.
      for (const id of await processesOf(node.name)) if (await isPatroni(id)) process.kill(id, 'SIGSTOP')
      await cluster.withClient(node, async (client) => {
        const { rows } = await client.query<{ readonly id: number }>('SELECT pg_backend_pid() AS id')
        for (const { id } of rows) process.kill(id, 'SIGKILL')
      })
      await sleep(VISIBLE)
      await killAll(node.name)
      await isolate(names, false)
    },
    end: start,
  },
]

/** Milliseconds for writes to block on the standbys, and for clients to see them after the crash. */
const WAITING = 500
const VISIBLE = 2_000

const isPatroni = async (id: number): Promise<boolean> =>
  (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).includes('/usr/bin/patroni')

/** Bytes that other writers may add while the disk is being filled. */
const STEP = 64 * 1_024

/** Shrinks a disk to its used size. Concurrent writes can make that limit too low: retry with a larger one. */
async function fill(disk: string): Promise<void> {
  for (let more = 0; ; more += STEP) {
    const { blocks, bfree, bsize } = await statfs(disk)
    try {
      return await resize(disk, String((blocks - bfree) * bsize + more))
    } catch (error) {
      if (more > 100 * STEP) throw error
    }
  }
}

async function resize(disk: string, size: string): Promise<void> {
  await sh('mount', ['-o', `remount,size=${size}`, disk])
}
