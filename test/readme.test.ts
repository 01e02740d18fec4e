/** The README is held to what it says: each sample runs as a file, twice, and gives what stands beside its lines (`docs.test.ts` checks its types); each command parses. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseRequest } from '../src/cli/args/args.ts'
import { eventJsonSchemas } from '../src/event/index.ts'
import { ColloquyError, type ErrorCode } from '../src/index.ts'
import { STATUSES } from '../src/state/index.ts'
import { toProblem } from '../src/service/http/failure.ts'
import { testDatabase } from './postgres/database.ts'
import { providerServer } from '../src/testing/node/provider-server.ts'
import { blocks, checked, clientsOf, project, README, ROOT, runSamples, SAME, SHOWN } from './readme.ts'

const samples = blocks('ts').map(({ heading, code }, at) => ({ name: `${at + 1}, ${heading}`, at, code }))
const { folder, write, remove } = project()
const provider = await providerServer()
afterAll(async () => {
  await provider.close()
  remove()
})

const shown = (code: string): number => [...code.matchAll(SHOWN)].length

describe('the samples', () => {
  write('same.js', SAME)
  const files = samples.map(({ at, code }) => write(`sample-${at}.ts`, checked(code)))

  it('are there, and show values', () => {
    expect(samples.length).toBeGreaterThanOrEqual(8)
    expect(samples.filter(({ code }) => shown(code) > 0).length).toBeGreaterThanOrEqual(7)
  })

  const turns: Promise<readonly string[]>[] = []
  it.for(samples)('run twice in one folder: $name', async ({ at }, { signal }) => {
    turns[0] ??= run(files, signal)
    turns[1] ??= turns[0].then(() => run(files, signal))
    expect((await Promise.all(turns)).map((problems) => problems[at])).toEqual(['', ''])
  })

  it('of stores run twice over PostgreSQL', async ({ signal }) => {
    const overUrl = samples.filter(({ code }) => code.includes('DATABASE_URL'))
    expect(overUrl).toHaveLength(1)
    const { url, drop } = await testDatabase()
    try {
      const file = files[overUrl[0]?.at ?? -1] ?? ''
      for (let turn = 0; turn < 2; turn += 1)
        expect(await run([file], signal, { DATABASE_URL: url })).toEqual([''])
    } finally {
      await drop()
    }
  })

  it('fail when a value is not the one that they show', async ({ signal }) => {
    const wrong = write('wrong.ts', checked('[1, 2].length // 2\n[1].concat(2) // [2]\n'))
    const loud = write('loud.ts', `console.error('loud')`)
    const [told, heard] = await run([wrong, loud], signal)
    expect(told).toContain('[ 1, 2 ] is not [ 2 ]')
    expect(heard).toBe('loud\n')
  })
})

function run(
  files: readonly string[],
  signal: AbortSignal,
  added: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const { DATABASE_URL: _, DB_PASSWORD: __, ...env } = process.env
  return runSamples({ folder, write }, files, { ...env, ...clientsOf(provider.url), ...added }, signal)
}

/** The lines that call the command, without their comments and what stands before it. */
const calls = blocks('sh')
  .flatMap(({ code }) => code.split('\n'))
  .concat([...README.matchAll(/`(npx colloquy [^`]*)`/g)].map((match) => match[1] ?? ''))
  .flatMap((line) => /\bnpx colloquy ([^#]*)/.exec(line)?.[1]?.trim() ?? [])

describe('the commands', () => {
  it('are there', () => {
    expect(calls).toContain('demo')
    expect(calls.length).toBeGreaterThan(15)
  })

  it.each(calls)('parses: npx colloquy %s', (line) => {
    // An ellipsis that is a word of its own stands for what the reader has.
    const words = line.replace(/ … /, ' --db my.db --conversation ID ').split(/\s+/)
    expect(parseRequest(words).command).toBe(words.includes('--help') ? 'help' : words[0])
  })
})

it('says as what each error is told over HTTP', () => {
  const rows = [...README.matchAll(/^\| (\d+|none) +\| (.*) \|$/gm)]
  const told = rows.flatMap(([, status = '', codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map((match) => [match[1] ?? '', status] as const),
  )
  const source = readFileSync(join(ROOT, 'src/event/errors.ts'), 'utf8')
  const codes = [...source.matchAll(/^ {2}\| '(\w+)'$/gm)].map((match) => match[1] as ErrorCode)
  const real = codes.map((code) => [
    code,
    String(toProblem(new ColloquyError(code, ''), {})?.status ?? 'none'),
  ])
  expect(codes.length).toBeGreaterThan(20)
  expect(told.toSorted()).toEqual(real.toSorted())
})

it('names all statuses', () => {
  const list = /^The status is ([^.]*)\./m.exec(README)?.[1] ?? ''
  expect([...list.matchAll(/`(\w+)`/g)].map((match) => match[1])).toEqual([...STATUSES])
})

it('names all kinds of events', () => {
  const section = README.split(/^## /m).find((text) => text.startsWith('Events and states')) ?? ''
  const prose = section.replace(/^```[^]*?^```/gm, '')
  const names = new Set([...prose.matchAll(/`([A-Z]\w*[a-z])`/g)].map((match) => match[1]))
  const {
    AgentErrorEvent: _,
    ObservationEvent: __,
    UserRejectObservation: ___,
    ...others
  } = eventJsonSchemas()
  expect([...names].toSorted()).toEqual(Object.keys(others).toSorted())
})

it('links to nothing that the package does not hold', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] }
  const linked = [...README.matchAll(/\]\((?!https?:|#)([^)]*)\)/g)].map((match) => match[1])
  const ships = (path = '') => files.some((entry) => path === entry || path.startsWith(`${entry}/`))
  expect(linked.filter((path) => !ships(path))).toEqual([])
  const anchors = [...README.matchAll(/\]\(#([^)]*)\)/g)].map((match) => match[1])
  const headings = [...README.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
    text.toLowerCase().replaceAll(' ', '-'),
  )
  expect(anchors.filter((anchor) => !headings.includes(anchor ?? ''))).toEqual([])
})
