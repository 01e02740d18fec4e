import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../postgres/database.ts'
import { KEYS, serveInProcess, startServer } from './start-server.ts'
import { colloquy, folder, messageEvent, lines, SAMPLE } from './run-command.ts'

describe('colloquy serve', () => {
  it('serves an imported database, stores new conversations, and exits with 0 on a signal', async () => {
    const path = folder({ 'one.jsonl': lines(messageEvent('u1', 'Hello')) })
    const db = path('events.db')
    expect((await colloquy(['import', path('one.jsonl'), '--db', db])).code).toBe(0)
    const first = await startServer(['--db', db])
    const searchUrl = `${first.url}/api/v1/conversation/one/events/search`
    const response = await fetch(searchUrl)
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { items: [{ id: 'u1' }], next_page_id: null },
    ])
    const created = await fetch(`${first.url}/api/conversations`, {
      method: 'POST',
      body: JSON.stringify({ conversation_id: 'two' }),
    })
    expect(created.status).toBe(201)
    const { code, out, log } = await first.stop('SIGTERM')
    expect(code).toBe(0)
    expect(out).toContain(first.url)
    expect(log).toMatchObject([
      { level: 'info', message: 'request', path: '/api/v1/conversation/one/events/search', status: 200 },
      { level: 'info', message: 'request', path: '/api/conversations', status: 201 },
    ])
    expect(log[0]?.request_id).toBe(response.headers.get('x-request-id'))
    const second = await startServer(['--db', db])
    expect((await fetch(`${second.url}/api/v1/conversation/two/events/count`)).status).toBe(200)
    expect((await second.stop('SIGINT')).code).toBe(0)
    expect((await colloquy(['conversations', '--db', db])).out).toContain('two')
  })

  it('serves a PostgreSQL database without printing its password', async () => {
    const database = await testDatabase()
    onTestFinished(() => database.drop())
    const server = await serveInProcess(['--db', database.url])
    const created = await fetch(`${server.url}/api/conversations`, {
      method: 'POST',
      body: JSON.stringify({ conversation_id: 'c' }),
    })
    const count = await fetch(`${server.url}/api/v1/conversation/c/events/count`)
    expect([created.status, count.status]).toEqual([201, 200])
    const { code, out } = await server.stop()
    const { password } = new URL(database.url)
    expect(code).toBe(0)
    expect(password === '' || !out.includes(`:${password}@`)).toBe(true)
  })

  it('closes sockets with the code 1001 when it stops', async () => {
    const path = folder({})
    const server = await serveInProcess(['--db', path('events.db')])
    await fetch(`${server.url}/api/conversations`, {
      method: 'POST',
      body: JSON.stringify({ conversation_id: 'c' }),
    })
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/events/c?resend_mode=all`)
    await once(socket, 'message')
    const closed = once(socket, 'close')
    const { code } = await server.stop()
    const [event] = (await closed) as [CloseEvent]
    expect([code, event.code]).toEqual([0, 1001])
  })

  it('requires one of the configured keys, and logs none of them', async () => {
    const path = folder({})
    const server = await serveInProcess(['--db', path('events.db'), '--host', '0.0.0.0'], {
      [KEYS]: 'first-key, second-key ,',
    })
    const statusWith = async (key: string): Promise<number> =>
      (await fetch(`${server.url}/api/keys`, { headers: { 'X-Session-API-Key': key } })).status
    expect([
      await statusWith('first-key'),
      await statusWith('second-key'),
      await statusWith('third-key'),
      await statusWith(''),
    ]).toEqual([200, 200, 401, 401])
    const { out, log } = await server.stop()
    expect(log).toHaveLength(4)
    expect(out + JSON.stringify(log)).not.toMatch(/(first|second|third)-key/)
  })

  it('reports a port in use in one line', async () => {
    const path = folder({})
    const { url } = await serveInProcess(['--db', path('a.db')])
    const { port } = new URL(url)
    const { code, out, err } = await colloquy(['serve', '--db', path('b.db'), '--port', port])
    expect([code, out, err]).toEqual([
      1,
      '',
      `colloquy: port ${port} of 127.0.0.1 is in use: use another port, or 0 for any free one\n`,
    ])
  })

  it.each<[string, readonly string[], Readonly<Record<string, string>>, number, RegExp]>([
    [
      'the host 0.0.0.0 without keys',
      ['--host', '0.0.0.0'],
      {},
      2,
      /gives other machines access without a key: set COLLOQUY_SESSION_API_KEYS/,
    ],
    ['the host :: without keys', ['--host', '::'], {}, 2, /gives other machines access/],
    ['a blank list of keys', [], { [KEYS]: ' , ' }, 2, /contains no key: add one/],
    ['the port 65536', ['--port', '65536'], {}, 2, /--port must be an integer from 0 to 65535/],
    ['a FILE', ['a.jsonl'], {}, 2, /accepts no FILE/],
    ['a database in memory', ['--db', ':memory:'], {}, 2, /use a file/],
    [
      'an address of another machine',
      ['--host', '192.0.2.1'],
      { [KEYS]: 'k' },
      1,
      /is not an address of this machine/,
    ],
    [
      'a database in a missing folder',
      ['--db', '/nowhere/at/all.db'],
      {},
      1,
      /^colloquy: \/nowhere\/at\/all\.db: The database file cannot be opened\. Check that its folder exists/m,
    ],
    ['a folder as the database', ['--db', '.'], {}, 1, /^colloquy: \.: is a directory, not a database$/m],
    [
      'a file that is not a database',
      ['--db', SAMPLE],
      {},
      1,
      /^colloquy: \S+sample\.jsonl: The file is not a SQLite database/,
    ],
    [
      'an unreachable PostgreSQL server',
      ['--db', 'postgres://u:pass-word@127.0.0.1:1/x'],
      {},
      1,
      /^colloquy: postgres:\/\/u:\*\*\*@127\.0\.0\.1:1\/x: PostgreSQL rejected the call or is unreachable/,
    ],
  ])('rejects %s in one line', async (_what, args, env, code, message) => {
    const port = args.includes('--port') ? [] : ['--port', '0']
    const outcome = await colloquy(['serve', ...port, ...args], { env })
    expect([outcome.code, outcome.out]).toEqual([code, ''])
    expect(outcome.err).toMatch(message)
    expect(outcome.err.trim().split('\n')).toHaveLength(1)
    expect(outcome.err).not.toContain('pass-word')
  })
})
