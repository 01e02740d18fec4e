/** Calls each method of the published official client against `colloquy serve`, and compares docs/interface.md with the results. */

import { PAGE_SOCKETS } from './page-sockets.ts'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFixture, methods, type Fixture } from './fixture.ts'
import { CLOUD } from './cloud.ts'
import { CONVERSATIONS } from './conversations.ts'
import { FILES } from './files.ts'
import { sectionOf } from './interface-section.ts'
import { REMOTE_CONVERSATIONS } from './remote-conversations.ts'
import { SETTINGS } from './settings.ts'
import type { MethodRow } from './method-row.ts'
import { browserFetch, type Server, startServer } from './server.ts'

const ROWS: readonly MethodRow[] = [
  ...CONVERSATIONS,
  ...REMOTE_CONVERSATIONS,
  ...FILES,
  ...CLOUD,
  ...SETTINGS,
]

// The client reads `window` when it is loaded.
Object.assign(globalThis, { window: PAGE_SOCKETS })

const OUTCOMES = { works: 'works', empty: 'returns an empty value', rejected: 'is rejected' } as const

const count = (status: MethodRow['status']): number => ROWS.filter((row) => row.status === status).length

describe('the table of client methods', () => {
  it('contains each method that calls a server once', () => {
    expect(ROWS.map(({ client, method }) => `${client}.${method}`).toSorted()).toEqual(methods().toSorted())
  })

  it('has at least 110 working methods and at most 33 with an empty result', () => {
    expect(count('works')).toBeGreaterThanOrEqual(110)
    expect(count('empty')).toBeLessThanOrEqual(33)
    for (const { status, reason } of ROWS) expect(reason !== null).toBe(status === 'rejected')
  })

  it('is in docs/interface.md', async () => {
    const file = join(resolve(import.meta.dirname, '../..'), 'docs/interface.md')
    const page = readFileSync(file, 'utf8')
    const marked = /(?<=<!-- client -->\n)[^]*(?=<!-- end of client -->)/
    await expect(page.replace(marked, () => `\n${sectionOf(ROWS)}\n\n`)).toMatchFileSnapshot(file)
  })
})

describe.each([
  ['the official client in a program with a key', 'the-key-of-the-client', null],
  ['the official client in a page of another origin without keys', null, 'http://localhost:5173'],
] as const)('%s', (_, key, origin) => {
  let server: Server
  let fixture: Fixture
  const originalFetch = globalThis.fetch

  beforeAll(async () => {
    server = await startServer(key)
    if (origin !== null) globalThis.fetch = browserFetch(origin, originalFetch)
    fixture = await createFixture(server)
  })
  afterAll(async () => {
    globalThis.fetch = originalFetch
    await server?.stop()
  })

  const rows = ROWS.filter(
    ({ condition }) => condition === 'both' || condition === (key === null ? 'without keys' : 'with keys'),
  )

  it.each(rows.map((row) => [`${row.client}.${row.method}`, OUTCOMES[row.status], row] as const))(
    '%s %s',
    async (_name, _outcome, { status, call, expected }) => {
      if (call === null) return
      if (status === 'rejected') return expect(call(fixture)).rejects.toThrow()
      const result = await call(fixture)
      if (status === 'empty') return expect(result).toEqual(expected)
      if (
        typeof expected !== 'object' ||
        expected === null ||
        Array.isArray(expected) ||
        '$$typeof' in expected
      )
        return expect(result).toEqual(expected)
      expect(result).toMatchObject(expected)
    },
  )
})
