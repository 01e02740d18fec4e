/** A cluster of PostgreSQL: three servers under Patroni, each on a host of its own, and etcd on a fourth. */

import { spawn } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { BIN } from './install.ts'
import { makeHost, onHost } from './network.ts'
import { eventually, sh } from './shell.ts'

/** What the servers run as: the user that Debian's package makes. */
const USER = 'postgres'

const PASSWORD = 'of-this-run-only'

/** How large the file system of a node is, as `mount` takes it. It takes memory for what is on it alone. */
export const DISK_SIZE = '4g'

/** Which interface of etcd Patroni uses, and the settings that it was tried with there. */
export const SETTINGS = {
  2: { section: 'etcd', ttl: 10, loop_wait: 1, retry_timeout: 3 },
  3: { section: 'etcd3', ttl: 20, loop_wait: 5, retry_timeout: 3 },
} as const

export type EtcdVersion = keyof typeof SETTINGS

/** One server. */
export interface ClusterNode {
  readonly name: string
  readonly address: string
  /** Where its database is: a file system of its own. */
  readonly disk: string
}

/** What Patroni says of a server. */
export interface Health {
  readonly isPrimary: boolean
  /** As in `running`. */
  readonly state: string
  readonly timeline: number
}

/** A cluster that runs. */
export interface Cluster {
  readonly nodes: readonly ClusterNode[]
  /** Starts Patroni on a node, which starts the server. */
  start(node: ClusterNode): void
  /** Removes what a node holds, as for one that cannot follow any more. It must not run. */
  wipe(node: ClusterNode): Promise<void>
  /** A connection to the primary itself, for one piece of work. */
  ask<T>(node: ClusterNode, work: (client: pg.Client) => Promise<T>): Promise<T>
  /** The primary; null when there is none, or two say that they are. */
  primary(): Promise<ClusterNode | null>
  /** A node that does not follow a primary; null when all do. */
  lagging(primary: ClusterNode): Promise<ClusterNode | null>
  /** Waits for a primary that all other nodes follow synchronously; null when that takes longer. */
  steady(timeout: number): Promise<ClusterNode | null>
}

/** Starts one, below a folder; all are up when it returns. */
export async function startCluster(folder: string, etcd: EtcdVersion): Promise<Cluster> {
  const logs = join(folder, 'logs')
  await mkdir(logs, { recursive: true })
  await chmod(folder, 0o755)
  const [user, group] = [await idOf('-u'), await idOf('-g')]

  const etcdAddress = await makeHost('etcd', 2)
  const etcdFolder = join(folder, 'etcd')
  await mkdir(etcdFolder, { mode: 0o700 })
  await chown(etcdFolder, user, group)
  startOn('etcd', ['/usr/bin/etcd', ...etcdArguments(etcdAddress, etcdFolder)], logs)

  const nodes: ClusterNode[] = []
  for (const number of [1, 2, 3]) {
    const name = `n${number}`
    const address = await makeHost(name, 10 + number)
    const disk = join(folder, name)
    await mkdir(disk)
    const options = `size=${DISK_SIZE},mode=700,uid=${user},gid=${group}`
    await sh('mount', ['-t', 'tmpfs', '-o', options, 'colloquy-cluster', disk])
    const node = { name, address, disk }
    await writeFile(configOf(folder, node), JSON.stringify(patroniConfig(node, etcd, etcdAddress)))
    nodes.push(node)
  }
  const cluster = clusterOf(nodes, folder, logs)
  for (const node of nodes) cluster.start(node)
  if ((await cluster.steady(120_000)) === null) throw new Error(`the cluster does not start; see ${logs}`)
  return cluster
}

const idOf = async (option: '-u' | '-g'): Promise<number> => Number(await sh('id', [option, USER]))

const configOf = (folder: string, { name }: { readonly name: string }): string => join(folder, `${name}.json`)

/** Starts a program on a host, as the other user and in a group of its own. */
function startOn(host: string, command: readonly string[], logs: string): void {
  const log = openSync(join(logs, `${host}.log`), 'a')
  const [program = '', ...rest] = [
    ...onHost(host),
    'setpriv',
    `--reuid=${USER}`,
    `--regid=${USER}`,
    '--clear-groups',
    ...command,
  ]
  const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' }
  const child = spawn(program, rest, { stdio: ['ignore', log, log], detached: true, cwd: '/', env })
  child.unref()
  closeSync(log)
}

const etcdArguments = (address: string, folder: string): string[] => [
  '--name=etcd',
  '--enable-v2',
  `--data-dir=${folder}`,
  `--listen-client-urls=http://${address}:2379`,
  `--advertise-client-urls=http://${address}:2379`,
  `--listen-peer-urls=http://${address}:2380`,
  `--initial-advertise-peer-urls=http://${address}:2380`,
  `--initial-cluster=etcd=http://${address}:2380`,
]

const login = (username: string): object => ({ username, password: PASSWORD })

/** Patroni reads YAML, and JSON is that. */
function patroniConfig({ name, address, disk }: ClusterNode, etcd: EtcdVersion, etcdAddress: string): object {
  const { section, ...timing } = SETTINGS[etcd]
  return {
    scope: 'colloquy',
    name,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    [section]: { host: `${etcdAddress}:2379` },
    bootstrap: {
      dcs: {
        ...timing,
        maximum_lag_on_failover: 1_048_576,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        synchronous_node_count: 2,
        primary_start_timeout: 5,
        postgresql: { use_pg_rewind: true, parameters: PARAMETERS },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums', { 'wal-segsize': '1' }],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(disk, 'data'),
      bin_dir: BIN,
      pgpass: join(disk, 'pgpass'),
      authentication: {
        superuser: login('postgres'),
        replication: login('replicator'),
        rewind: login('rewinder'),
      },
      pg_hba: ['host all all all md5', 'host replication all all md5'],
      parameters: { unix_socket_directories: disk },
      basebackup: [{ checkpoint: 'fast' }],
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
    },
    watchdog: { mode: 'off' },
  }
}

const PARAMETERS = {
  // Tried as PostgreSQL is set by default, but for what makes failing over slow, and for a small machine.
  wal_retrieve_retry_interval: '500ms',
  // A primary that was cut off shuts down once its standbys are known to be gone, for which it waits a minute by default.
  wal_sender_timeout: '5s',
  wal_receiver_timeout: '5s',
  shared_buffers: '64MB',
  max_connections: 100,
  min_wal_size: '8MB',
  max_wal_size: '64MB',
  wal_keep_size: '64MB',
}

/** The address of a database for whoever connects to `host`. */
export const urlAt = (host: string, port: number): string =>
  `postgres://postgres:${PASSWORD}@${host}:${port}/postgres`

/** What Patroni on a node says of it; null when it says nothing in time. */
export async function healthOf({ address }: ClusterNode, timeout: number): Promise<Health | null> {
  try {
    const response = await fetch(`http://${address}:8008/primary`, { signal: AbortSignal.timeout(timeout) })
    const { state = '', timeline = 0 } = (await response.json()) as Partial<Health>
    return { isPrimary: response.status === 200, state, timeline }
  } catch {
    return null
  }
}

function clusterOf(nodes: readonly ClusterNode[], folder: string, logs: string): Cluster {
  const cluster: Cluster = {
    nodes,
    start(node) {
      startOn(node.name, ['/usr/bin/patroni', configOf(folder, node)], logs)
    },
    async wipe({ disk }) {
      for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true, force: true })
    },
    async ask({ address }, work) {
      const client = new pg.Client({
        connectionString: urlAt(address, 5432),
        connectionTimeoutMillis: 3_000,
        query_timeout: 60_000,
      })
      client.on('error', () => undefined)
      try {
        await client.connect()
        return await work(client)
      } finally {
        await client.end().catch(() => undefined)
      }
    },
    async primary() {
      const healths = await Promise.all(nodes.map((node) => healthOf(node, 1_000)))
      const primaries = nodes.filter((_, index) => healths[index]?.isPrimary === true)
      return primaries.length === 1 ? (primaries[0] ?? null) : null
    },
    async lagging(primary) {
      const names = await followersOf(cluster, primary)
      return nodes.find((node) => node !== primary && !names.includes(node.name)) ?? null
    },
    async steady(timeout) {
      let result: ClusterNode | null = null
      await eventually(
        async () => {
          const primary = await cluster.primary()
          const isSteady = primary !== null && (await cluster.lagging(primary)) === null
          if (isSteady) result = primary
          return isSteady
        },
        timeout,
        200,
      )
      return result
    },
  }
  return cluster
}

/** The names of the nodes that follow one. */
async function followersOf(cluster: Cluster, node: ClusterNode): Promise<readonly string[]> {
  try {
    const { rows } = await cluster.ask(node, (client) => client.query<{ readonly name: string }>(FOLLOWERS))
    return rows.map(({ name }) => name)
  } catch {
    return []
  }
}

const FOLLOWERS = `SELECT application_name AS name FROM pg_stat_replication
WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')`
