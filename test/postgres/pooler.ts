/**
 * A pooler in front of a server, like pgbouncer in transaction mode: it lends each client the longest idle
 * backend for one transaction, and forwards no notifications.
 */

import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import pg from 'pg'

export interface Pooler {
  readonly url: string
  /** Number of backends that have served a statement. */
  served(): number
  close(): Promise<void>
}

interface Backend {
  readonly socket: Socket
  client: Client | null
  readonly responses: Reader
  used: boolean
}

interface Client {
  readonly socket: Socket
  backend: Backend | null
  /** Messages that wait for a backend. */
  waiting: Buffer[]
  /** Requested turns without a ReadyForQuery yet. */
  turns: number
  readonly requests: Reader
}

/** Turns received bytes into complete messages. */
type Reader = (data: Buffer) => Buffer[]

/** AuthenticationOk, then ReadyForQuery: the test pooler needs no password. */
const WELCOME = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73])

/** Type assigned to a client's first message, which has no type byte. */
const GREETING = '!'

/** Bytes of type and length. */
const HEADER = 5

/** Client messages answered by ReadyForQuery: Query and Sync. */
const TURNS = new Set(['Q', 'S'])

/** Starts a pooler with `size` connected backends. */
export async function startPooler(url: string, size: number): Promise<Pooler> {
  const idle: Backend[] = []
  const queue: Client[] = []
  const sockets = new Set<Socket>()
  const backends = await Promise.all(Array.from({ length: size }, () => connected(url)))
  for (const backend of backends) {
    sockets.add(backend.socket)
    idle.push(backend)
    backend.socket.on('data', (data: Buffer) => respond(backend, data))
  }

  function lend(): void {
    while (idle.length > 0 && queue.length > 0) {
      const [backend, client] = [idle.shift(), queue.shift()]
      if (backend === undefined || client === undefined) return
      backend.client = client
      backend.used = true
      client.backend = backend
      for (const message of client.waiting.splice(0)) backend.socket.write(message)
    }
  }

  function request(client: Client, data: Buffer): void {
    for (const message of client.requests(data)) {
      const type = String.fromCharCode(message[0] ?? 0)
      if (type === GREETING) {
        client.socket.write(WELCOME)
        continue
      }
      if (type === 'X') return void client.socket.end()
      if (TURNS.has(type)) client.turns += 1
      if (client.backend !== null) client.backend.socket.write(message)
      else {
        client.waiting.push(message)
        if (!queue.includes(client)) queue.push(client)
      }
    }
    lend()
  }

  function respond(backend: Backend, data: Buffer): void {
    for (const message of backend.responses(data)) {
      const type = String.fromCharCode(message[0] ?? 0)
      // Unsolicited backend messages are dropped.
      if (backend.client === null || type === 'A') continue
      const { client } = backend
      client.socket.write(message)
      if (type !== 'Z') continue
      client.turns -= 1
      const isInTransaction = message[5] !== 73
      if (isInTransaction || client.turns > 0) continue
      backend.client = null
      client.backend = null
      idle.push(backend)
    }
    lend()
  }

  // Without delay, since messages are forwarded one by one.
  const server = createServer({ noDelay: true }, (socket) => {
    const client: Client = { socket, backend: null, waiting: [], turns: 0, requests: reader(true) }
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data: Buffer) => request(client, data))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const poolerUrl = new URL(url)
  poolerUrl.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: poolerUrl.href,
    served: () => backends.filter(({ used }) => used).length,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** A backend whose login was done by the driver. The pooler then uses its socket. */
async function connected(url: string): Promise<Backend> {
  const socket = new Socket()
  const driver = new pg.Client({ connectionString: url, stream: () => socket })
  driver.on('error', () => undefined)
  await driver.connect()
  socket.removeAllListeners('data').setNoDelay(true)
  return { socket, client: null, responses: reader(false), used: false }
}

/** Splits bytes into messages: type, length and content. A client's first message gets a type. O(bytes). */
function reader(isGreeted: boolean): Reader {
  let chunks: Buffer[] = isGreeted ? [Buffer.from(GREETING)] : []
  let size = chunks.length
  let needed = HEADER
  return (data) => {
    chunks.push(data)
    size += data.length
    if (size < needed) return []
    const all = Buffer.concat(chunks)
    const messages: Buffer[] = []
    let index = 0
    for (;;) {
      const remaining = all.length - index
      needed = remaining < HEADER ? HEADER : 1 + all.readInt32BE(index + 1)
      if (remaining < needed) break
      messages.push(all.subarray(index, index + needed))
      index += needed
    }
    chunks = [all.subarray(index)]
    size = all.length - index
    return messages
  }
}
