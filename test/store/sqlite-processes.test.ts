/** Several processes open, append to and watch one SQLite file. Acknowledged writes survive kills. */

import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, it } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'
import { DRIVERS, type Driver, folder, openStore } from './sqlite-drivers.ts'

const FILES = folder()
const CHILD = join(inject('built'), 'test/sqlite-child.js')

/** Kills per driver; a thorough run uses 100 or more. */
const KILLS = Number(process.env['COLLOQUY_KILLS'] ?? 5)

const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  FILES.remove()
})

interface Child {
  readonly process: ChildProcess
  /** Complete lines so far, without a last line that a kill has truncated. */
  readonly lines: () => readonly string[]
  /** Resolves with its standard error when it has ended. */
  readonly ended: Promise<string>
  /** Resolves after `count` lines. */
  readonly waitForLines: (count: number) => Promise<void>
}

function start(driver: Driver, file: string, ...more: readonly string[]): Child {
  const child = spawn(process.execPath, [CHILD, driver, file, ...more], { stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let out = ''
  let err = ''
  const lines = (): readonly string[] => out.split('\n').slice(0, -1)
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = new Promise<string>((resolve) => {
    child.on('close', () => {
      running.delete(child)
      resolve(err)
    })
  })
  const waitForLines = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = (): unknown => lines().length >= count && resolve()
      child.stdout.on('data', check)
      void ended.then((problem) => reject(new Error(`the child has ended: ${problem}`)))
      check()
    })
  return { process: child, lines, ended, waitForLines }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function wholeLog(store: Store): Promise<StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const part = await store.read('c', { from: all.length })
    if (part.length === 0) return all
    all.push(...part)
  }
}

/** Checks a log against the acknowledgements and itself: complete batches, positions, HEAD and paths. */
async function check(store: Store, messages: readonly string[]): Promise<StoredEvent[]> {
  const acknowledged = messages.filter((line) => !line.startsWith('snapshot '))
  const saved = messages
    .filter((line) => line.startsWith('snapshot '))
    .map((line) => Number(line.split(' ')[1]))
  const log = await wholeLog(store)
  await checkSnapshot(store, saved.at(-1) ?? 0, log.length)
  expect(await store.auditBlobs()).toMatchObject({ unused: [], damaged: [], missing: [] })
  const record = await store.getConversation('c')
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i))
  expect(record?.version).toBe(log.length)
  for (const line of acknowledged) {
    const [version, headId, last] = line.split(' ')
    expect(log[Number(version) - 1]?.id, line).toBe(last)
    expect(headOf(log.slice(0, Number(version))), line).toBe(headId)
  }
  const batches = Map.groupBy(log, ({ id }) => id?.split('.').slice(0, 3).join('.') ?? '')
  for (const [name, events] of batches) {
    expect(events.map(({ id }) => id)).toEqual(
      Array.from({ length: Number(name.split('.')[2]) }, (_, i) => `${name}.${i}`),
    )
  }
  expect(record?.headId ?? null).toBe(headOf(log))
  if (record?.headId) {
    const depth = pathOf(log, record.headId).length
    expect(await store.count({ conversationId: 'c', leafId: record.headId })).toBe(depth)
  }
  expect(await store.count({ conversationId: 'c' })).toBe(log.length)
  return log
}

/** Checks that a snapshot is complete, from a single save, and no older than the last acknowledged one. */
async function checkSnapshot(store: Store, atLeast: number, atMost: number): Promise<void> {
  const texts = (await store.loadSnapshot('c')).map(({ bytes }) => new TextDecoder().decode(bytes))
  const [version, count] = texts[0]?.split(' ').map(Number) ?? [0, 0]
  expect(texts).toEqual(Array.from({ length: count ?? 0 }, () => `${version} ${count} `.repeat(2_000)))
  expect(version).toBeGreaterThanOrEqual(atLeast)
  expect(version).toBeLessThanOrEqual(atMost)
}

/** HEAD derived from the events (design D7, D8); here every move targets a message. */
function headOf(log: readonly StoredEvent[]): string | null {
  const last = log.at(-1)
  if (last === undefined || !('kind' in last.fact)) return null
  if (last.fact.kind !== 'ConversationStateUpdateEvent') return last.id
  return typeof last.fact.value === 'string' ? last.fact.value : null
}

function pathOf(log: readonly StoredEvent[], leafId: string): string[] {
  const parents = new Map(log.map(({ id, parentId }) => [id, parentId]))
  const path: string[] = []
  for (let id: string | null | undefined = leafId; id; id = parents.get(id)) path.push(id)
  return path
}

describe.each(DRIVERS)('several processes on a SQLite file with %s', (driver) => {
  it('can create the file at the same time, and lose no append', async () => {
    const file = FILES.next()
    const names = ['a', 'b', 'd']
    const children = names.map((name) => start(driver, file, 'some', name, '60'))
    const problems = await Promise.all(children.map(({ ended }) => ended))
    expect(problems.map((text) => text.replaceAll(/.*(Experimental|trace-warnings).*\n/g, ''))).toEqual(
      names.map(() => ''),
    )
    const store = openStore(driver, file)
    const log = await wholeLog(store)
    expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: 180 }, (_, i) => i))
    expect(log.map(({ parentId }) => parentId)).toEqual([null, ...log.slice(0, -1).map(({ id }) => id)])
    for (const name of names) {
      const ownEvents = log.filter(({ id }) => id?.startsWith(`${name}-`))
      expect(ownEvents.map(({ id }) => id)).toEqual(Array.from({ length: 60 }, (_, i) => `${name}-${i}`))
    }
    await store.close()
  })

  it('are woken by an append of another process', async () => {
    const file = FILES.next()
    const store = openStore(driver, file, { pollInterval: 10 })
    // Watched before any call: the watch itself opens the file.
    const woken = Promise.withResolvers<void>()
    const unwatch = store.watch('c', () => woken.resolve())
    const child = start(driver, file, 'some', 'a', '1')
    await woken.promise
    unwatch()
    await child.ended
    expect(await store.read('c')).toHaveLength(1)
    await store.close()
  })

  it(
    `lose no acknowledged write when one is killed, ${KILLS} times`,
    async () => {
      let survivors = 0
      for (let round = 0; round < KILLS;) {
        // Every third file is killed during its creation.
        const file = FILES.next()
        const acknowledged: string[] = []
        const isEarly = Math.floor(round / 4) % 3 === 2
        for (let life = 0; life < (isEarly ? 1 : 4) && round < KILLS; life += 1) {
          const child = start(driver, file, 'forever', `r${round}`)
          if (isEarly) await sleep(60 + Math.random() * 120)
          else await child.waitForLines(2)
          await sleep(Math.random() * 60)
          child.process.kill('SIGKILL')
          await child.ended
          acknowledged.push(...child.lines().filter((line) => line !== 'open'))
          const store = openStore(driver, file)
          if ((await store.getConversation('c')) !== null)
            survivors += (await check(store, acknowledged)).length
          else expect(acknowledged).toEqual([])
          await store.close()
          round += 1
        }
      }
      expect(survivors).toBeGreaterThan(KILLS)
    },
    600_000 + KILLS * 20_000,
  )
})
