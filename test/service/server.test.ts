import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/service.ts'
import { createSockets } from '../../src/service/node/sockets.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { isLoopback, namesLoopback } from '../../src/service/node/server.ts'
import { listen, type Listening, type ListenOptions } from '../../src/service/node/server.ts'

const start = async (options: Partial<ListenOptions> = {}): Promise<Listening> => {
  const server = await listen({ fetch: () => new Response('hello'), port: 0, ...options })
  onTestFinished(() => server.close())
  return server
}

/** `open` releases everyone waiting for `passed`. */
function latch(): { readonly passed: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: resolve }
}

/** A connection whose incoming data is read as text. */
function dial(
  { port }: Listening,
  text: string,
): { readonly socket: Socket; readonly output: Promise<string> } {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  let all = ''
  socket.setEncoding('utf8').on('data', (piece: string) => void (all += piece))
  const output = new Promise<string>((resolve) => {
    socket.on('error', () => undefined).on('close', () => resolve(all))
  })
  return { socket, output: output }
}

const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n'

const withHost = ({ port }: Listening, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, headers: { host }, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject).end()
  })

describe('closing', () => {
  it('completes requests, then ends streams, and refuses new connections', async () => {
    const order: string[] = []
    const arrived = latch()
    const mayGo = latch()
    const stream = latch()
    const server = await start({
      async fetch(request) {
        if (request.url.endsWith('/stream')) {
          const body = new ReadableStream({
            async start(controller) {
              controller.enqueue(new TextEncoder().encode('data: 1\n\n'))
              await stream.passed
              controller.close()
            },
          })
          return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
        }
        if (!request.url.endsWith('/slow')) return new Response('quick')
        arrived.open()
        await mayGo.passed
        order.push('answered')
        return new Response('slow')
      },
      async onShutdown() {
        order.push('closing')
        stream.open()
      },
    })
    const idle = await fetch(`${server.url}/quick`).then((response) => response.text())
    const streamed = await fetch(`${server.url}/stream`)
    const slow = fetch(`${server.url}/slow`).then(async (response) => [
      await response.text(),
      response.headers.get('connection'),
    ])
    await arrived.passed
    const closed = server.close()
    // The first connection may still reach the backlog.
    const isRefused = () =>
      fetch(`${server.url}/quick`).then(
        () => false,
        () => true,
      )
    await expect.poll(isRefused).toBe(true)
    expect(order).toEqual([])
    mayGo.open()
    expect(await slow).toEqual(['slow', 'close'])
    expect(await streamed.text()).toBe('data: 1\n\n')
    await closed
    expect([idle, ...order]).toEqual(['quick', 'answered', 'closing'])
    await expect(fetch(server.url)).rejects.toThrow()
    await server.close()
  })

  it('cuts off connections that have not ended at the deadline', async () => {
    const server = await start({
      fetch: () => new Promise<never>(() => undefined),
      onShutdown: () => new Promise<never>(() => undefined),
      upgrade: (_request, socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
      shutdownTimeout: 30,
    })
    const waiting = dial(server, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const upgraded = dial(server, `GET / HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}`)
    await new Promise((resolve) => upgraded.socket.once('data', resolve))
    await server.close()
    expect(await waiting.output).toBe('')
    expect(await upgraded.output).toContain('101')
  })
})

describe('invalid requests', () => {
  it.each<[string, string, number]>([
    ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n\r\n', 400],
    ['a broken header', 'GET / HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n', 400],
    [
      'a header of 40,000 bytes',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
      431,
    ],
    [
      'two body lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['no host in HTTP/1.1', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['an invalid host', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
  ])('get an error response for %s', async (_what, text, status) => {
    const server = await start()
    const { output } = dial(server, text)
    expect(await output).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect((await fetch(server.url)).status).toBe(200)
  })
})

it.each([true, false])('HTTP/1.0 without a host gets 200 with `onlyLocal: %s`', async (onlyLocal) => {
  const server = await start({ onlyLocal })
  const { output: text } = dial(server, 'GET /health HTTP/1.0\r\n\r\n')
  expect(await text).toMatch(/^HTTP\/1\.[01] 200 /)
})

const echo = async (request: Request): Promise<Response> => {
  const { pathname } = new URL(request.url)
  const names = [...request.headers.keys()].toSorted().join()
  return new Response(`${request.method} ${pathname} ${names} ${await request.text()}|`)
}

describe('a request that offers an upgrade to HTTP/2', () => {
  /** What curl and Java's HttpClient offer by default over plain HTTP/1.1. */
  const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'
  it.each<[string, Partial<ListenOptions>]>([
    ['with sockets', { upgrade: (_request, socket) => void socket.destroy() }],
    ['without sockets', {}],
  ])('is handled as HTTP/1.1, four times on one connection, %s', async (_where, options) => {
    const server = await start({ fetch: echo, ...options })
    const head = `Host: localhost\r\n${OFFER}`
    const { socket, output } = dial(server, `GET /a HTTP/1.1\r\n${head}X-A: \xe9\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.write(`POST /b HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\nhel`)
    socket.write('lo')
    await new Promise((resolve) => socket.once('data', resolve))
    socket.write(`POST /c HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.write('GET /d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    const bodies = [...(await output).matchAll(/(GET|POST) (\/\w) [^|]*\|/g)].map(([text]) => text.split(' '))
    expect(bodies.map(([method, path, , text]) => [method, path, text])).toEqual([
      ['GET', '/a', '|'],
      ['POST', '/b', 'hello|'],
      ['POST', '/c', 'hi|'],
      ['GET', '/d', '|'],
    ])
  })

  it('does not keep its connection open when the server closes', async () => {
    const server = await start({ upgrade: (_request, socket) => void socket.destroy(), fetch: echo })
    const { socket, output: text } = dial(server, `GET /a HTTP/1.1\r\nHost: localhost\r\n${OFFER}\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    await server.close()
    expect(await text).toContain('GET /a')
  })
})

describe('an upgrade request that throws in the handler', () => {
  it('gets 400, and the server continues', async () => {
    const server = await start({
      upgrade() {
        throw new Error('not caught where it is thrown')
      },
    })
    const { output: text } = dial(server, `GET //[ HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}`)
    expect(await text).toMatch(/^HTTP\/1\.1 400 /)
    expect((await fetch(server.url)).status).toBe(200)
  })
})

const throwing = (): never => {
  throw new Error('not caught where it is thrown')
}

describe('a rejected upgrade', () => {
  const engine = createEngine({ store: memoryStore() })
  const { upgrade } = createSockets(createService({ engine }))
  it.each<[string, Partial<ListenOptions>, string]>([
    ['for an unknown path', { upgrade }, '404'],
    ['for another host', { upgrade, onlyLocal: true }, '403'],
    ['for an error', { upgrade: throwing }, '400'],
  ])('%s closes a connection that the peer keeps open', async (_, options, status) => {
    // A connection that is kept is closed at the deadline.
    const server = await start({ ...options, shutdownTimeout: 300_000 })
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`GET /elsewhere HTTP/1.1\r\nHost: elsewhere.example\r\n${UPGRADE}`)
    let text = ''
    socket.setEncoding('utf8').on('data', (piece: string) => void (text += piece))
    await once(socket, 'end')
    expect(text).toContain(`HTTP/1.1 ${status}`)
    const begin = performance.now()
    await server.close()
    expect(performance.now() - begin).toBeLessThan(3_000)
  })
})

describe('an error response of Node or of the WebSocket library', () => {
  const engine = createEngine({ store: memoryStore() })
  const { upgrade } = createSockets(createService({ engine }))
  const head = 'Host: localhost\r\n'
  it.each([
    ['without a host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['for an unknown expectation', `GET / HTTP/1.1\r\n${head}Expect: more\r\n\r\n`, 417],
    ['for a POST', `POST /sockets/events/a HTTP/1.1\r\n${head}${UPGRADE}`, 400],
    [
      'without a socket key',
      `GET /sockets/events/a HTTP/1.1\r\n${head}${UPGRADE.replace('Sec-WebSocket-Key', 'X-Key')}`,
      400,
    ],
  ])('%s has a detail', async (_, request, status) => {
    const text = await dial(await start({ upgrade }), request).output
    const [line = '', body = ''] = [text.split('\r\n')[0], text.split('\r\n\r\n')[1]]
    expect(line).toContain(`HTTP/1.1 ${status}`)
    expect(JSON.parse(body)).toEqual({ detail: expect.any(String) })
  })

  it('for an unknown expectation follows the response to an earlier request', async () => {
    const request = `GET / HTTP/1.1\r\n${head}`
    const { output } = dial(await start({ upgrade }), `${request}\r\n${request}Expect: more\r\n\r\n`)
    expect((await output).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 417'])
  })
})

describe('a server with `onlyLocal`', () => {
  it.each<[string, number]>([
    ['localhost', 200],
    ['LOCALHOST:80', 200],
    ['127.0.0.1:1', 200],
    ['127.9.9.9', 200],
    ['[::1]:8000', 200],
    ['colloquy.localhost', 200],
    ['elsewhere.example', 403],
    ['127.0.0.1.elsewhere.example', 403],
    ['localhost.elsewhere.example:80', 403],
    ['192.168.0.1', 403],
  ])('responds to the host %s with %i', async (host, status) => {
    expect(await withHost(await start({ onlyLocal: true }), host)).toBe(status)
    expect(await withHost(await start(), host)).toBe(200)
  })

  it('rejects sockets of other hosts and of cross-site pages', async () => {
    let upgrades = 0
    const server = await start({
      onlyLocal: true,
      upgrade(_request, socket) {
        upgrades += 1
        socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
      },
    })
    const ask = (headers: string): Promise<string> =>
      dial(server, `GET / HTTP/1.1\r\n${headers}\r\n${UPGRADE}`).output
    const host = `Host: 127.0.0.1:${server.port}`
    expect(await ask(host)).toContain('101')
    expect(await ask(`${host}\r\nOrigin: http://127.0.0.1:${server.port}`)).toContain('101')
    expect(await ask('Host: elsewhere.example')).toContain('403')
    expect(await ask(`${host}\r\nOrigin: https://elsewhere.example`)).toContain('403')
    expect(await ask(`${host}\r\nSec-Fetch-Site: cross-site`)).toContain('403')
    expect(upgrades).toBe(2)
  })
})

describe('a listen address', () => {
  it('is named in the error if its port is in use or it belongs to another machine', async () => {
    const { port } = await start()
    await expect(start({ port })).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`)
    await expect(start({ host: '192.0.2.1' })).rejects.toThrow('192.0.2.1 is not an address of this machine')
  })

  it.each<[string, boolean]>([
    ['localhost', true],
    ['127.0.0.1', true],
    ['127.255.0.3', true],
    ['::1', true],
    ['[::1]', true],
    ['::ffff:127.0.0.1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['127.0.0.1.example', false],
    ['127.1', false],
    ['', false],
  ])('%j is a loopback address: %s', (host, local) => {
    expect(isLoopback(host)).toBe(local)
    expect(namesLoopback(host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)).toBe(local)
  })
})
