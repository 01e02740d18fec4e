/** The official client, as it is published, against `colloquy serve`: each method does what docs/interface.md states. */

import { PAGE_SOCKETS } from './page-sockets.ts'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeWorld, methods, type World } from './clients.ts'
import { CLOUD } from './cloud.ts'
import { CONVERSATIONS } from './conversations.ts'
import { FILES } from './files.ts'
import { sectionOf } from './page.ts'
import { REMOTE_CONVERSATIONS } from './remote-conversations.ts'
import { SETTINGS } from './settings.ts'
import type { Row } from './table.ts'
import { browserFetch, type Server, startServer } from './world.ts'

const ROWS: readonly Row[] = [...CONVERSATIONS, ...REMOTE_CONVERSATIONS, ...FILES, ...CLOUD, ...SETTINGS]

// Loaded first: the client looks for it when it is loaded.
Object.assign(globalThis, { window: PAGE_SOCKETS })

const count = (as: Row['as']): number => ROWS.filter((row) => row.as === as).length

describe('the table', () => {
  it('has each method that asks a server once, by the prototypes of the client', () => {
    expect(ROWS.map(({ client, method }) => `${client}.${method}`).toSorted()).toEqual(methods().toSorted())
  })

  it('says enough of them: at least 110 work, and at most 33 give an empty list', () => {
    expect(count('works')).toBeGreaterThanOrEqual(110)
    expect(count('empty')).toBeLessThanOrEqual(33)
    for (const { as, why } of ROWS) expect(why !== null).toBe(as === 'out')
  })

  it('is in the page', async () => {
    const file = join(resolve(import.meta.dirname, '../..'), 'docs/interface.md')
    const page = readFileSync(file, 'utf8')
    const marked = /(?<=<!-- client -->\n)[^]*(?=<!-- end of client -->)/
    await expect(page.replace(marked, () => `\n${sectionOf(ROWS)}\n\n`)).toMatchFileSnapshot(file)
  })
})

describe.each([
  ['a program, with a key', 'the-key-of-the-client', null],
  ['a page of another origin, without keys', null, 'http://localhost:5173'],
] as const)('%s', (_, key, origin) => {
  let server: Server
  let world: World
  const ask = globalThis.fetch

  beforeAll(async () => {
    server = await startServer(key)
    if (origin !== null) globalThis.fetch = browserFetch(origin, ask)
    world = await makeWorld(server)
  })
  afterAll(async () => {
    globalThis.fetch = ask
    await server?.stop()
  })

  const here = ROWS.filter(
    ({ where }) => where === 'both' || where === (key === null ? 'without keys' : 'with keys'),
  )

  it.each(here.map((row) => [`${row.client}.${row.method}`, row.as, row] as const))(
    '%s %s',
    async (_name, as, { call, gives }) => {
      if (call === null) return
      if (as === 'out') return expect(call(world)).rejects.toThrow()
      const input = await call(world)
      if (as === 'empty') return expect(input).toEqual(gives)
      if (typeof gives !== 'object' || gives === null || Array.isArray(gives) || '$$typeof' in gives)
        return expect(input).toEqual(gives)
      expect(input).toMatchObject(gives)
    },
  )
})
