/** `/sockets/bash-events`: the socket of the commands that clients run in sandboxes. */

import { once } from 'node:events'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { CLOSE } from '../../src/service/live/server-frames.ts'
import { SlowReader } from '../../src/service/live/start.ts'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import type { SandboxFiles } from '../../src/service/sandbox-files/contract.ts'
import { Commands } from '../../src/service/sandbox-files/command-operations.ts'
import {
  type Client,
  type ClientOptions,
  type LiveFixture,
  type LiveFixtureOptions,
  liveFixtureOfTest,
} from './live-fixture.ts'
import { folder } from './sandbox-commands.ts'

interface BashFrame {
  readonly kind: string
  readonly id: string
  readonly timestamp: string
  readonly command?: string
  readonly command_id?: string
  readonly exit_code?: number
  readonly stdout?: string
  readonly stderr?: string
  readonly code?: string
  readonly detail?: string
}

const KEY = { type: 'auth', session_api_key: 'k' }
const framesOf = ({ frames }: Client): BashFrame[] => frames.map((text) => JSON.parse(text) as BashFrame)

async function begin(options: LiveFixtureOptions = {}) {
  const directory = folder()
  const home = realpathSync(directory.path)
  const cwd = join(home, 'a')
  mkdirSync(cwd)
  const provider = processSandboxes({ directory: home, givesFiles: true })
  const fixture: LiveFixture = await liveFixtureOfTest({
    controlPlane: { provider },
    keys: ['k'],
    ...options,
  })
  onTestFinished(async () => {
    await fixture.service.controlPlane.close()
    directory.remove()
  })
  const request = async (method: string, path: string, body?: object) => {
    const response = await fetch(fixture.server.url + path, {
      method,
      headers: { 'x-session-api-key': 'k', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as { id: string; items: BashFrame[] } }
  }
  return {
    fixture,
    cwd,
    home,
    request,
    connect: (query: ClientOptions['query'] = {}, more: ClientOptions = {}) =>
      fixture.connect('', { protocol: 'bash-events', query, first: KEY, ...more }),
    run: async (command: string, more: object = {}) => {
      const { body } = await request('POST', '/api/bash/start_bash_command', { command, cwd, ...more })
      return body.id
    },
    stored: async () => (await request('GET', '/api/bash/bash_events/search')).body.items,
  }
}

/** Resolves once the key is accepted: an invalid frame gets an error. */
async function ready(client: Client): Promise<Client> {
  await once(client.socket, 'open')
  client.send('{')
  await client.count(1)
  return client
}

const outputOf = (client: Client, id: string): Promise<BashFrame> =>
  client.find<BashFrame>(({ kind, command_id }) => kind === 'BashOutput' && command_id === id)

it('the socket sends each command and its output, the stored ones first on request', async () => {
  const { connect, run, stored } = await begin()
  const live = await ready(connect())
  const first = await run('echo one; echo wrong >&2; exit 3')
  const all = connect({ resend_mode: 'all' })
  const [seen, replayed] = await Promise.all([outputOf(live, first), outputOf(all, first)])
  expect(seen).toEqual(replayed)
  expect(seen).toMatchObject({ exit_code: 3, stdout: 'one\n', stderr: 'wrong\n' })
  const older = connect({ resend_all: 'true' })
  await outputOf(older, first)
  const liveOnly = await ready(connect())
  const second = await run('echo two')
  for (const client of [all, older, liveOnly]) await outputOf(client, second)
  const events = await stored()
  expect(events.map(({ kind }) => kind)).toEqual(['BashCommand', 'BashOutput', 'BashCommand', 'BashOutput'])
  expect(framesOf(all)).toEqual(events)
  expect(framesOf(older)).toEqual(events)
  expect(framesOf(live).slice(1)).toEqual(events)
  expect(framesOf(liveOnly).slice(1)).toEqual(events.slice(2))
})

it('the socket runs commands of clients, and reports invalid frames without closing', async () => {
  const { connect, cwd, home, stored } = await begin()
  const client = await ready(connect())
  for (const [frame, code] of [
    ['{', 'InvalidFrame'],
    [{ cmd: 'echo no' }, 'ValidationError'],
    [{ command: 'echo no', cwd, timeout: 'soon' }, 'ValidationError'],
    [{ command: 'echo no', cwd, timeout: 601 }, 'ValidationError'],
    [[], 'ValidationError'],
    [{ command: 'echo no' }, 'HTTP400'],
    [{ command: 'echo no', cwd: '/tmp' }, 'HTTP403'],
    [{ command: 'echo no', cwd: join(home, 'a/none') }, 'HTTP404'],
  ] as const) {
    const before = client.frames.length
    client.send(frame)
    await client.count(before + 1)
    expect([frame, framesOf(client)[before]]).toEqual([
      frame,
      {
        kind: 'BashError',
        id: expect.any(String),
        timestamp: expect.any(String),
        code,
        detail: expect.any(String),
      },
    ])
  }
  client.socket.send(Buffer.from('{}'))
  await client.find<BashFrame>(({ detail }) => detail?.startsWith('Binary frames') === true)
  expect(await stored()).toEqual([])
  // A second key is ignored.
  client.send(KEY)
  client.send({ command: 'echo yes', cwd, timeout: 30 })
  const output = await client.find<BashFrame>(({ kind }) => kind === 'BashOutput')
  expect(output).toMatchObject({ exit_code: 0, stdout: 'yes\n' })
  expect(framesOf(client).slice(-2)).toEqual(await stored())
})

it('the socket closes with a code after a wrong key, an invalid query or a shutdown', async () => {
  const silent = await begin({ sockets: { authTimeout: 200 } })
  const { code, reason } = await silent.connect({}, { first: undefined }).closed
  expect([code, reason]).toEqual([CLOSE.unauthorized, expect.stringContaining('No key was sent in time')])
  const { connect, fixture } = await begin()
  for (const [client, code, reason] of [
    [connect({}, { first: { ...KEY, session_api_key: 'wrong' } }), CLOSE.unauthorized, 'Unauthorized'],
    [connect({}, { first: { command: 'echo no', cwd: '/' } }), CLOSE.unauthorized, 'Unauthorized'],
    [connect({ session_api_key: 'k' }), CLOSE.unauthorized, 'Do not send keys in URLs'],
    [connect({ after: 1 }), CLOSE.badRequest, 'Unknown parameter "after"'],
    [connect({ resend_mode: 'since' }), CLOSE.badRequest, 'query.resend_mode'],
    [connect({ resend_all: 'perhaps' }), CLOSE.badRequest, 'query.resend_all'],
  ] as const) {
    const closed = await client.closed
    expect([closed.code, closed.reason]).toEqual([code, expect.stringContaining(reason)])
    expect(client.frames).toEqual([])
  }
  const open = await ready(connect())
  await fixture.sockets.close()
  expect((await open.closed).code).toBe(CLOSE.away)
  expect(fixture.failures).toEqual([])
})

it('the service accepts 50 readers, and another one after a reader leaves', async () => {
  const { connect, run } = await begin()
  const clients = Array.from({ length: 50 }, () => connect({ resend_mode: 'all' }))
  const id = await run('echo all')
  await Promise.all(clients.map((client) => outputOf(client, id)))
  expect(await connect().closed).toEqual({
    code: CLOSE.busy,
    reason: 'Too many clients are reading bash events. Try again later.',
  })
  clients[0]?.socket.close()
  await clients[0]?.closed
  await outputOf(connect({ resend_mode: 'all' }), id)
})

it('the socket does not send the commands of conversations', async () => {
  const { connect, request, home, cwd } = await begin()
  const { body } = await request('POST', '/api/conversations', {
    workspace: { working_dir: join(home, 'x') },
  })
  const client = connect({ resend_mode: 'all' })
  const command = { command: 'echo scoped' }
  expect(
    (await request('POST', `/api/conversations/${body.id}/bash/execute_bash_command`, command)).status,
  ).toBe(200)
  expect((await request('POST', `/api/bash/execute_bash_command?cid=${body.id}`, command)).status).toBe(200)
  await request('POST', '/api/bash/execute_bash_command', { command: 'echo own', cwd })
  await client.find<BashFrame>(({ kind }) => kind === 'BashOutput')
  expect(framesOf(client).map(({ command: text, stdout }) => text ?? stdout)).toEqual(['echo own', 'own\n'])
})

const instant: SandboxFiles['run'] = async (command) => {
  if (command === 'fail') throw new Error('no shell')
  return { exit_code: 0, stdout: command, stderr: '' }
}
const commandsOf = (run = instant) =>
  new Commands({ home: '/', list: async () => [], run } as unknown as SandboxFiles)
const start = async (commands: Commands, command: string): Promise<void> => {
  const { output } = await commands.start({ command, cwd: '/' })
  await output.catch(() => undefined)
}

it('a command that fails to run has an output event with exit code -1', async () => {
  const commands = commandsOf()
  const stop = new AbortController()
  const events = commands.follow(false, stop.signal)
  const { event, output } = await commands.start({ command: 'fail', cwd: '/' })
  await expect(output).rejects.toThrow('no shell')
  expect((await events.next()).value).toEqual(event)
  const { value } = await events.next()
  expect(value).toMatchObject({ command_id: event.id, exit_code: -1 })
  expect(JSON.stringify(value)).not.toContain('no shell')
  stop.abort()
})

it('a reader gets each event once and in order, whenever it joins and however slowly it reads', async () => {
  const step = fc.constantFrom('run', 'run', 'clear', 'join', 'join all', 'read', 'leave')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const commands = commandsOf()
      const readers: {
        readonly stop: AbortController
        readonly events: ReturnType<Commands['follow']>
        expected: string[]
      }[] = []
      for (const [index, what] of steps.entries()) {
        if (what === 'run') {
          await start(commands, `${index}`)
          const [command, output] = commands.all.slice(-2).map(({ id }) => id)
          for (const { expected } of readers) expected.push(String(command), String(output))
        }
        if (what === 'clear') {
          commands.clear()
          for (const reader of readers) reader.expected = []
        }
        if (what.startsWith('join') && readers.length < 50) {
          const stop = new AbortController()
          const isAll = what === 'join all'
          const expected = isAll ? commands.all.map(({ id }) => id) : []
          readers.push({ stop, events: commands.follow(isAll, stop.signal), expected })
        }
        const reader = readers[index % readers.length]
        if (what === 'read' && reader !== undefined && reader.expected.length > 0)
          expect((await reader.events.next()).value?.id).toBe(reader.expected.shift())
        if (what === 'leave') readers.splice(0, 1)[0]?.stop.abort()
      }
      for (const { stop, events, expected } of readers) {
        for (const id of expected) expect((await events.next()).value?.id).toBe(id)
        stop.abort()
        expect(await events.next()).toEqual({ done: true, value: undefined })
      }
    }),
  )
})

it('a reader that falls behind the history gets an error instead of a gap', async () => {
  const commands = commandsOf()
  const stop = new AbortController()
  const events = commands.follow(true, stop.signal)
  await start(commands, 'first')
  expect((await events.next()).value).toMatchObject({ command: 'first' })
  for (let index = 0; index < 501; index += 1) await start(commands, String(index))
  expect(commands.all).toHaveLength(1_000)
  await expect(events.next()).rejects.toThrow(SlowReader)
  stop.abort()
})
