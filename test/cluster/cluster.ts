/** A PostgreSQL cluster: three servers under Patroni and one etcd, each on its own host. */

import { spawn } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { BIN } from './install.ts'
import { makeHost, onHost } from './network.ts'
import { eventually, sh } from './shell.ts'

/** The user that Debian's package creates. */
const USER = 'postgres'

const PASSWORD = 'of-this-run-only'

/** Size of a node's file system, in the syntax of `mount`. Only its content uses memory. */
export const DISK_SIZE = '4g'

/** Patroni's section for each etcd API, with tested timings. */
export const SETTINGS = {
  2: { section: 'etcd', ttl: 10, loop_wait: 1, retry_timeout: 3 },
  3: { section: 'etcd3', ttl: 20, loop_wait: 5, retry_timeout: 3 },
} as const

export type EtcdVersion = keyof typeof SETTINGS

export interface ClusterNode {
  readonly name: string
  readonly address: string
  /** Mount point of the database's own file system. */
  readonly disk: string
}

/** A server's state as Patroni reports it. */
export interface Health {
  readonly isPrimary: boolean
  readonly state: string
  readonly timeline: number
}

export interface Cluster {
  readonly nodes: readonly ClusterNode[]
  /** Starts Patroni, which starts the server. */
  start(node: ClusterNode): void
  /** Deletes the data of a stopped node that can no longer follow. */
  wipe(node: ClusterNode): Promise<void>
  /** Connects directly to a node for one task. */
  withClient<T>(node: ClusterNode, work: (client: pg.Client) => Promise<T>): Promise<T>
  /** The primary. Returns null if no node, or more than one node, claims to be primary. */
  primary(): Promise<ClusterNode | null>
  /** A node that does not follow the primary, or null. */
  lagging(primary: ClusterNode): Promise<ClusterNode | null>
  /** Waits for a primary that all other nodes follow synchronously; null on timeout. */
  steady(timeout: number): Promise<ClusterNode | null>
}

/** Starts a cluster below a folder and waits until it is up. */
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

/** Starts a program on a host, as the other user and in its own process group. */
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

/** Patroni reads YAML, which includes JSON. */
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
  // PostgreSQL defaults, except what slows a failover and what a small machine requires.
  wal_retrieve_retry_interval: '500ms',
  // An isolated primary shuts down only after its standbys time out; the default is a minute.
  wal_sender_timeout: '5s',
  wal_receiver_timeout: '5s',
  shared_buffers: '64MB',
  max_connections: 100,
  min_wal_size: '8MB',
  max_wal_size: '64MB',
  wal_keep_size: '64MB',
}

/** The URL of a database on `host`. */
export const urlAt = (host: string, port: number): string =>
  `postgres://postgres:${PASSWORD}@${host}:${port}/postgres`

/** Patroni's report on a node, or null on timeout. */
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
    async withClient({ address }, work) {
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

/** Names of the nodes that follow `node`. */
async function followersOf(cluster: Cluster, node: ClusterNode): Promise<readonly string[]> {
  try {
    const { rows } = await cluster.withClient(node, (client) =>
      client.query<{ readonly name: string }>(FOLLOWERS),
    )
    return rows.map(({ name }) => name)
  } catch {
    return []
  }
}

const FOLLOWERS = `SELECT application_name AS name FROM pg_stat_replication
WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')`
