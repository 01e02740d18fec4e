/** A killed service's pending messages are answered by another, with or without client requests (law I5). */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/service.ts'
import { hasUnfinishedRun } from '../../src/service/conversations/run-progress.ts'
import { replay } from '../../src/state/reduce.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { timedStore, TTL } from '../conversation/timed-store.ts'
import { clientOver } from './client.ts'
import { gate } from './gate.ts'

const folder = mkdtempSync(join(tmpdir(), 'colloquy-crash-'))
const children = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of children) await kill(child)
  rmSync(folder, { recursive: true, force: true })
})

interface Life {
  readonly child: ChildProcess
  readonly url: string
  readonly line: () => Promise<string>
}

async function live(file: string, way: 'hang' | 'reply'): Promise<Life> {
  const child = spawn(process.execPath, [join(inject('built'), 'test/crash-child.js'), file, way], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<string> => String((await lines.next()).value)
  return { child, url: await line(), line }
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  const dead = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await dead
}

const say = (text: string): object => ({ content: [{ type: 'text', text }] })

async function post(url: string, body: object): Promise<{ readonly id: string; readonly success: boolean }> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(response.ok).toBe(true)
  return response.json() as never
}

describe('a service restarted after a kill during a run', () => {
  it.each([
    ['a message is posted', true, false],
    ['a message is posted and its sender polls', true, true],
    ['no client sends a request', false, false],
  ])('replies and finishes the run when %s', async (name, says, polls) => {
    const file = join(mkdtempSync(join(tmpdir(), 'colloquy-crash-')), 'x.db')
    const first = await live(file, 'hang')
    const { id } = await post(`${first.url}/api/conversations`, { initial_message: say('Slow.') })
    expect(await first.line(), name).toBe('asked')
    await kill(first.child)
    const { url } = await live(file, 'reply')
    if (says)
      await post(`${url}/api/conversations/${id}/events`, { ...say('And now?'), run: true, role: 'user' })
    const store = sqliteStore({ file })
    const engine = createEngine({ store })
    const conversation = await engine.open(id)
    const quit = new AbortController()
    const poll = async (): Promise<void> => {
      while (!quit.signal.aborted) {
        await (await fetch(`${url}/api/conversations/${id}`)).json()
        await sleep(10)
      }
    }
    const polling = polls ? poll() : null
    const { header, log } = await conversation.waitFor(['finished', 'paused'])
    quit.abort()
    await polling
    expect(header.status).toBe('finished')
    const reply = JSON.stringify([...log.entries].findLast(({ event }) => event?.source === 'agent')?.event)
    expect(reply).toContain(says ? 'And now?' : 'Slow.')
    // The run releases its lease after its last event.
    await expect.poll(() => store.listLeases({ expired: true })).toEqual([])
    await engine.close()
    await store.close()
  })
})

describe('messages sent over sockets', () => {
  it('get one reply each although the service is killed up to 32 ms after their events, twice', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'colloquy-crash-')), 'x.db')
    const store = sqliteStore({ file })
    const engine = createEngine({ store })
    let { child, url } = await live(file, 'reply')
    for (let round = 0; round < 2; round += 1) {
      const send = async (delay: number): Promise<() => Promise<readonly [string, string]>> => {
        const { id } = await post(`${url}/api/conversations`, {})
        const socket = new WebSocket(`${url.replace('http', 'ws')}/sockets/events/${id}`)
        socket.addEventListener('error', () => undefined)
        const { promise: returned, resolve } = Promise.withResolvers<string>()
        socket.addEventListener('message', ({ data }) => {
          if (String(data).includes('Said over a socket.')) resolve(String(data))
        })
        await new Promise((open) => socket.addEventListener('open', open))
        return async () => {
          await sleep(32 - Math.random() * delay)
          socket.send(JSON.stringify({ role: 'user', ...say('Said over a socket.'), run: true }))
          return [id, JSON.parse(await returned).id]
        }
      }
      // A message with a longer delay is sent longer before the kill.
      const senders = await Promise.all([0, 0, 1, 2, 4, 8, 16, 32].map(send))
      const sent = await Promise.all(senders.map((start) => start()))
      await kill(child)
      ;({ child, url } = await live(file, 'reply'))
      for (const [id, sentId] of sent) {
        const { log } = await (await engine.open(id)).waitFor('finished')
        const messages = [...log.entries].flatMap(({ event }) =>
          event?.kind === 'MessageEvent' ? [event] : [],
        )
        expect(messages.map(({ id: ofMessage, source }) => [source, ofMessage === sentId])).toEqual([
          ['user', true],
          ['agent', false],
        ])
      }
    }
    await engine.close()
    await store.close()
  })
})

describe('two services over one store', () => {
  it('a message posted to the second starts no run while the first runs the conversation', async () => {
    const store = memoryStore()
    const { step, reached, open } = gate()
    const firstEngine = createEngine({ store })
    const conversation = await firstEngine.create({ id: 'c' })
    await conversation.sendMessage('Hi')
    const running = conversation.run(step)
    await reached
    let requestCount = 0
    const second = await clientOver(store, {
      agent: () => async () => {
        requestCount += 1
        return []
      },
    })
    await second.post('/api/conversations/c/events', { ...say('More'), run: true, role: 'user' })
    open()
    expect((await running).status).toBe('finished')
    await second.service.runs.settle()
    expect(requestCount).toBe(0)
    await second.engine.close()
    await firstEngine.close()
  })

  it('the check for lost runs releases the expired leases of running and idle conversations', async () => {
    const { store, expire } = timedStore()
    const engine = createEngine({ store })
    for (const id of ['running', 'idle']) {
      const conversation = await engine.create({ id })
      await conversation.sendMessage('Hi')
      await store.acquireLease(id, 'dead', TTL)
      if (id === 'running')
        await conversation.append({
          kind: 'ConversationStateUpdateEvent',
          key: 'execution_status',
          value: id,
        })
    }
    expire()
    const service = createService({ engine })
    await service.lostRuns.check()
    expect(await store.listLeases()).toEqual([])
    expect((await (await engine.open('running')).state()).header.error?.code).toBe('RunLost')
    expect((await (await engine.open('idle')).state()).header.status).toBe('idle')
    await engine.close()
  })
})

describe('`hasUnfinishedRun`', () => {
  const user: Event = {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: { role: 'user', content: [{ text: 'Hi' }] },
  }
  const running: Event = { kind: 'ConversationStateUpdateEvent', key: 'execution_status', value: 'running' }
  const lost: Event = {
    kind: 'ConversationErrorEvent',
    source: 'environment',
    code: 'RunLost',
    detail: 'The run ended without a final status.',
  }
  const reply: Event = {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: 'Hello' }] },
  }

  it.each<[string, boolean, readonly Event[]]>([
    ['a prompt without a reply', true, [user, running]],
    ['a prompt that no run has read', true, [user]],
    ['a prompt whose run was lost once', true, [user, running, lost, running]],
    ['a prompt whose run was lost twice', false, [user, running, lost, running, lost, running]],
    ['a prompt after two lost runs', true, [user, running, lost, running, lost, user, running]],
    ['a prompt after an error', true, [user, running, lost, user]],
    ['an error after a prompt', false, [user, running, lost]],
    ['a reply', false, [user, running, reply, running]],
    ['a pause', false, [user, running, { kind: 'PauseEvent', source: 'user' }]],
    ['an empty log', false, []],
  ])('for %s, returns %s', (_, expected, events) => {
    expect(hasUnfinishedRun(replay(events))).toBe(expected)
  })
})
