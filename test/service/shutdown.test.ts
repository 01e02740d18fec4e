import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { serve } from '../../src/service/node/server.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { startServer } from '../cli/start-server.ts'
import { folder } from '../cli/run-command.ts'
import { gate } from './gate.ts'

/** Kinds and status of a conversation whose service closes during its first reply. */
async function closedIn(
  step: Step,
  options: { reached: Promise<void>; shutdownTimeout: number; open?(): void; request?: string },
) {
  const store = memoryStore()
  const server = await serve({
    store,
    port: 0,
    shutdownTimeout: options.shutdownTimeout,
    agent: () => step,
  })
  const response = await fetch(`${server.url}/api/conversations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      workspace: { working_dir: '/tmp' },
      initial_message: { role: 'user', content: [{ type: 'text', text: 'Hi' }], run: true },
    }),
  })
  const { id } = (await response.json()) as { readonly id: string }
  await options.reached
  const client = options.request === undefined ? null : connect(server.port, '127.0.0.1')
  client?.on('error', () => undefined)
  if (client !== null) await new Promise<void>((done) => client.write(options.request ?? '', () => done()))
  const start = performance.now()
  const closed = server.close()
  setTimeout(() => options.open?.(), 20)
  await closed
  const milliseconds = performance.now() - start
  const lease = await store.getLease(id)
  client?.destroy()
  const stored = await createEngine({ store }).open(id)
  const events = await stored.search({ limit: 100 })
  return {
    milliseconds,
    lease,
    status: await stored.read(({ header }) => header.status),
    kinds: events.items
      .map(({ fact }) => ('kind' in fact ? fact.kind : fact))
      .filter((kind) => kind !== 'ConversationStateUpdateEvent'),
  }
}

it('a run that ends in time finishes during the shutdown', async () => {
  const { step, reached, open } = gate()
  expect(await closedIn(step, { reached, open, shutdownTimeout: 60_000 })).toMatchObject({
    status: 'finished',
    kinds: ['MessageEvent', 'MessageEvent'],
  })
})

it('a run that does not end in time is interrupted, and its conversation is paused', async () => {
  const { step, reached } = gate()
  expect(await closedIn(step, { reached, shutdownTimeout: 200 })).toMatchObject({
    status: 'paused',
    kinds: ['MessageEvent', 'InterruptEvent'],
  })
})

const HEAD = 'POST /api/conversations HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

it.each([
  ['a whole head and half of a body', `${HEAD}content-length: 100\r\n\r\n{`],
  ['half of a head', HEAD],
  ['half of a chunk', `${HEAD}transfer-encoding: chunked\r\n\r\n40\r\n{`],
])('a client that has sent %s does not delay the shutdown', async (_, request) => {
  const { step, reached, open } = gate()
  const { milliseconds, ...ended } = await closedIn(step, {
    reached,
    open,
    shutdownTimeout: 200_000,
    request,
  })
  expect(ended).toEqual({ status: 'finished', lease: null, kinds: ['MessageEvent', 'MessageEvent'] })
  // It would wait for half of the timeout.
  expect(milliseconds).toBeLessThan(5_000)
})

it('a step that ignores its signal does not delay the shutdown, and its lease is released', async () => {
  const reached = Promise.withResolvers<void>()
  // oxlint-disable-next-line require-yield -- it never returns.
  const step: Step = async function* () {
    reached.resolve()
    await new Promise<never>(() => undefined)
  }
  const { milliseconds, ...ended } = await closedIn(step, {
    reached: reached.promise,
    shutdownTimeout: 400,
    request: `${HEAD}content-length: 100\r\n\r\n{`,
  })
  expect(ended).toEqual({ status: 'paused', lease: null, kinds: ['MessageEvent', 'InterruptEvent'] })
  // The step never ends.
  expect(milliseconds).toBeLessThan(2_000)
})

/** Status of the response on a connection of its own; `closed` if it ends without one, or the error's code. */
async function statusOf(url: string, request: string, onSent?: () => void): Promise<string> {
  const client = connect(Number(new URL(url).port), '127.0.0.1', () => client.write(request, onSent))
  let text = ''
  client.setEncoding('latin1').on('data', (part: string) => void (text += part))
  const { promise, resolve } = Promise.withResolvers<string>()
  client.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'error'))
  client.once('close', () => resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'closed'))
  return promise
}

const START = JSON.stringify({
  workspace: { working_dir: '/tmp' },
  initial_message: { role: 'user', content: [{ type: 'text', text: 'Hi' }], run: true },
})
const UPGRADE = 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n'

it('a shutdown during a hanging agent keeps the lease of another process', async () => {
  const store = memoryStore()
  const agentCalled = Promise.withResolvers<void>()
  const agent = (): Promise<Step> => {
    agentCalled.resolve()
    return new Promise(() => undefined)
  }
  const server = await serve({ store, port: 0, shutdownTimeout: 200, agent })
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  await fetch(`${server.url}/api/conversations/c/run`, { method: 'POST' })
  await agentCalled.promise
  const { step, reached, open } = gate()
  const run = conversation.run(step)
  await reached
  await server.close()
  expect(await store.getLease('c')).not.toBeNull()
  open()
  expect(await run).toMatchObject({ status: 'finished' })
  await engine.close()
})

it('`/ready` returns 503 from the beginning of the shutdown', async () => {
  const server = await serve({ store: memoryStore(), port: 0 })
  const ready = statusOf(server.url, 'GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const closed = server.close()
  expect(await ready).toBe('503')
  await closed
})

it('requests in the kernel backlog get a response during the shutdown', async () => {
  const { url, child, stop } = await startServer(['--db', folder({})('events.db')])
  child.kill('SIGSTOP')
  const sent: Promise<void>[] = []
  const clients = [
    'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n',
    `${HEAD}content-length: ${START.length}\r\n\r\n${START}`,
    `GET /sockets/events/c HTTP/1.1\r\nhost: localhost\r\n${UPGRADE}sec-websocket-key: ${'A'.repeat(22)}==\r\n\r\n`,
    `${HEAD}content-length: 100\r\n\r\n{`,
    '',
  ].flatMap((request) =>
    Array.from({ length: 8 }, () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      sent.push(promise)
      return statusOf(url, request, resolve)
    }),
  )
  // Without its loop, the process leaves them in the backlog.
  await Promise.all(sent)
  const stopped = stop('SIGTERM')
  child.kill('SIGCONT')
  const counts: Record<string, number> = {}
  for (const status of await Promise.all(clients)) counts[status] = (counts[status] ?? 0) + 1
  expect(counts).toEqual({ 200: 8, 201: 8, 503: 8, closed: 16 })
  expect((await stopped).code).toBe(0)
})
