/** The ways in which a primary fails, and what is done to have the node back. */

import { readFile, statfs } from 'node:fs/promises'
import { type Cluster, type ClusterNode, DISK_SIZE } from './cluster.ts'
import { isolate, killAll, link, processesOf, signalAll } from './network.ts'
import { sleep } from './rounds.ts'
import { eventually, sh } from './shell.ts'

/** One of them. */
export interface Fault {
  readonly name: string
  /** Milliseconds until it is ended where no other node takes over. Default: 30,000. */
  readonly longest?: number
  begin(node: ClusterNode, cluster: Cluster): Promise<void>
  /** Once others write again, or the node itself. */
  end(node: ClusterNode, cluster: Cluster): Promise<void>
}

/** Milliseconds that a node has to stop in good order. */
const STOP_TIMEOUT = 30_000

const started = (node: ClusterNode, cluster: Cluster): Promise<void> => Promise.resolve(cluster.start(node))

/** A megabyte of the write-ahead log, which is one file, in small records; and how many of them there may be. */
const USE_UP = `SELECT count(pg_logical_emit_message(false, 'full', repeat('x', 1000))) FROM generate_series(1, 1000)`
const LOG_FILES = 200

/** In the order in which they take turns. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'kill',
    begin: ({ name }) => killAll(name),
    end: started,
  },
  {
    name: 'stop',
    async begin({ name }) {
      // Patroni is the first process of the host, and stops the server in good order.
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
    // It is for an operator to make room.
    longest: 10_000,
    async begin(node, cluster) {
      await fill(node.disk)
      // Into the files that it has already it can still write: those of the log are used up.
      const use = async (): Promise<void> => {
        for (let count = 0; count < LOG_FILES; count += 1) {
          await cluster.ask(node, (client) => client.query(USE_UP))
        }
      }
      use().catch(() => undefined)
    },
    end: ({ disk }) => resize(disk, DISK_SIZE),
  },
  {
    // What waits for a standby when a server crashes is there when it is up again, and lost when it dies then.
    name: 'ahead',
    async begin(node, cluster) {
      const names = cluster.nodes.map(({ name }) => name)
      await isolate(names, true)
      await sleep(WAITING)
      // Else Patroni sees to it that no standby takes over from a server that is ahead.
      for (const id of await processesOf(node.name)) if (await isPatroni(id)) process.kill(id, 'SIGSTOP')
      await cluster.ask(node, async (client) => {
        const { rows } = await client.query<{ readonly id: number }>('SELECT pg_backend_pid() AS id')
        for (const { id } of rows) process.kill(id, 'SIGKILL')
      })
      await sleep(AHEAD)
      await killAll(node.name)
      await isolate(names, false)
    },
    end: started,
  },
]

/** Milliseconds in which writes come to wait for the standbys, and in which clients see them after the crash. */
const WAITING = 500
const AHEAD = 2_000

const isPatroni = async (id: number): Promise<boolean> =>
  (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).includes('/usr/bin/patroni')

/** Bytes that may be written to a disk while it is being filled. */
const STEP = 64 * 1_024

/** Leaves no room on a disk. What is written meanwhile lets no limit be set below it. */
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
