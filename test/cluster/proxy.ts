/**
 * A proxy to the primary, which it finds through Patroni. It closes connections to a node that is no longer
 * primary: otherwise clients of an isolated node would wait a quarter of an hour.
 */

import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { type ClusterNode, healthOf } from './cluster.ts'

/** Interval and timeout of health checks, in milliseconds. */
const INTERVAL = 500
const TIMEOUT = 1_000

/** Consecutive failures after which a node no longer counts as primary. */
const FAILURES = 2

export interface Proxy {
  readonly port: number
  close(): Promise<void>
}

interface Backend {
  readonly node: ClusterNode
  readonly sockets: Set<Socket>
  isUp: boolean
  failures: number
}

export async function startProxy(host: string, nodes: readonly ClusterNode[]): Promise<Proxy> {
  const backends = nodes.map((node): Backend => ({ node, sockets: new Set(), isUp: false, failures: 0 }))
  let turn = 0
  const server = createServer((client) => {
    client.on('error', () => undefined)
    // If two nodes claim to be primary, both get connections: preventing that is the cluster's job.
    const up = backends.filter(({ isUp }) => isUp)
    const backend = up[(turn += 1) % up.length]
    if (backend === undefined) client.destroy()
    else join(client, backend)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const stop = new AbortController()
  const checking = backends.map(async (backend) => {
    while (!stop.signal.aborted) {
      await check(backend)
      await new Promise((resolve) => setTimeout(resolve, INTERVAL))
    }
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async close() {
      stop.abort()
      for (const { sockets } of backends) for (const socket of sockets) socket.destroy()
      server.close()
      await Promise.all(checking)
    },
  }
}

async function check(backend: Backend): Promise<void> {
  const health = await healthOf(backend.node, TIMEOUT)
  if (health?.isPrimary === true) {
    backend.isUp = true
    backend.failures = 0
    return
  }
  backend.failures += 1
  // A node that denies being primary is believed at once.
  if (health === null && backend.failures < FAILURES) return
  backend.isUp = false
  for (const socket of backend.sockets) socket.destroy()
}

function join(client: Socket, { node, sockets }: Backend): void {
  const server = connect(5432, node.address)
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    sockets.add(one)
    one.setNoDelay(true)
    one.on('error', () => undefined)
    one.on('close', () => {
      sockets.delete(one)
      other.destroy()
    })
    one.pipe(other)
  }
}
