/**
 * Where clients find the primary: a proxy that asks Patroni, as is usual before it. It joins a connection to a node that
 * says it is the primary, and ends those to a node that does not say so any more: a client that waits for a node which
 * has been cut off would wait for a quarter of an hour.
 */

import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { type ClusterNode, healthOf } from './cluster.ts'

/** Milliseconds between two questions to a node, and until one has failed. */
const INTERVAL = 500
const TIMEOUT = 1_000

/** So many failures in a row, and a node is the primary no more. */
const FAILURES = 2

/** A proxy that runs. */
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

/** Starts one. */
export async function startProxy(host: string, nodes: readonly ClusterNode[]): Promise<Proxy> {
  const backends = nodes.map((node): Backend => ({ node, sockets: new Set(), isUp: false, failures: 0 }))
  let turn = 0
  const server = createServer((client) => {
    client.on('error', () => undefined)
    // Should two say that they are the primary, both get connections: it is the cluster that must see to it.
    const up = backends.filter(({ isUp }) => isUp)
    const backend = up[(turn += 1) % up.length]
    if (backend === undefined) client.destroy()
    else join(client, backend)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const stop = new AbortController()
  const looking = backends.map(async (backend) => {
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
      await Promise.all(looking)
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
  // One that says that it is not is believed at once.
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
