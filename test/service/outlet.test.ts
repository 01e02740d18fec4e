import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { Budget } from '../../src/service/node/budget.ts'
import { Outlet } from '../../src/service/node/sockets.ts'

it('all waiting writes resolve when the client reads again', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [[socket, request]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [
    [WebSocket, { socket: Duplex }],
    unknown,
  ]
  client.pause()
  const outlet = new Outlet(socket, request.socket, {
    maxBytes: 1_000,
    writeTimeout: 60_000,
    budget: new Budget(1e9),
  })
  const large = new Uint8Array(8 * 2 ** 20)
  const waits = [outlet.write(large), outlet.write(large)]
  expect(waits).not.toContain(null)
  client.resume()
  await Promise.all(waits)
  expect(outlet.accepted).toBe(2)
  client.terminate()
  server.close()
  await once(server, 'close')
})
