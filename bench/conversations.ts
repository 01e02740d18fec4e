/**
 * Compares the cost of live conversations with reading the same rows by the bare driver: `npm run
 * bench:conversations -- [LENGTH…]`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createEngine, type Engine } from '../src/conversation/engine.ts'
import type { Fact } from '../src/event/quarantine.ts'
import { toAnthropic } from '../src/messages/anthropic/write.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/contract/store.ts'
import { orUsage } from '../test/usage.ts'
import { machine, median, estimateMemory } from './measure.ts'
import { ONE_KB } from './events-of-size.ts'
import { makeLines, MEASURED_MIX } from './workload.ts'

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e'
/** Maximum number of events in the view. */
const VIEW = 200
const LENGTHS = [1_000, 10_000, 100_000]
const BATCH = 500
/** Minimum number of turns. Short logs run more, until the engine's code is compiled as in a server. */
const ROUNDS = 7
const EVENTS_TIMED = 200_000
const LONG = 10_000

/** Disables snapshots. */
const withoutSnapshots = (store: Store): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name === 'loadSnapshot') return async () => []
      if (name === 'saveSnapshot') return async () => undefined
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

async function fill(file: string, lines: readonly string[]): Promise<void> {
  const store = sqliteStore({ file, synchronous: 'normal' })
  await store.createConversation({ id: ID })
  for (let index = 0; index < lines.length; index += BATCH) {
    const facts = lines.slice(index, index + BATCH).map((line) => JSON.parse(line) as Fact)
    await store.append(ID, facts, { mode: 'import' })
  }
  const engine = createEngine({ store })
  const conversation = await engine.open(ID)
  await conversation.state()
  // Closing waits for the snapshot that opening a long log writes.
  await engine.close()
  await store.close()
}

/** Opens a conversation and reads its state, like a process that has just started. */
async function open(engine: Engine): Promise<unknown> {
  return (await engine.open(ID)).state()
}

/** Opens a conversation and writes its next request. */
async function openToRequest(engine: Engine): Promise<unknown> {
  return toAnthropic(toMessages(await (await engine.open(ID)).state()))
}

async function catchUp(engine: Engine): Promise<number> {
  const conversation = await engine.open(ID)
  let count = 0
  for await (const item of conversation.subscribe()) {
    if (item.type === 'caught_up') break
    count += 1
  }
  return count
}

interface Task {
  readonly name: string
  /** Created for each turn; neither creating nor closing it is timed. */
  readonly store: Store
  readonly run: (engine: Engine) => unknown
}

/** Milliseconds of each task, timed in turns. */
async function time(tasks: readonly Task[], length: number): Promise<Map<string, readonly number[]>> {
  const times = new Map(tasks.map(({ name }): [string, number[]] => [name, []]))
  const rounds = Math.max(ROUNDS, Math.ceil(EVENTS_TIMED / length))
  for (let round = Math.floor(-rounds / 3); round < rounds; round += 1) {
    for (const { name, store, run } of tasks) {
      // Collecting garbage before each short turn would discard compiled code, and time its compilation.
      if (length >= LONG) globalThis.gc?.()
      const engine = createEngine({ store })
      const start = performance.now()
      await run(engine)
      if (round >= 0) times.get(name)?.push(performance.now() - start)
      await engine.close()
    }
  }
  return times
}

let targetCount = 0
let metCount = 0

function print(
  name: string,
  value: string,
  ratio: number,
  rule: 'most' | 'least',
  target: number | null,
): void {
  const holds = target === null || (rule === 'most' ? ratio <= target : ratio >= target)
  if (target !== null) targetCount += 1
  if (target !== null && holds) metCount += 1
  const verdict = target === null ? '' : `  (at ${rule} ${target})  ${holds ? 'holds' : 'MISSES'}`
  console.log(`${name.padEnd(48)}${value.padStart(12)}${ratio.toFixed(2).padStart(9)}${verdict}`)
}

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

async function run(folder: string, bodies: string, length: number): Promise<void> {
  const sizes = bodies === '1kb' ? ONE_KB : MEASURED_MIX
  const lines = makeLines(length, { sizes, condenseAt: VIEW })
  const file = join(folder, `${bodies}-${length}.db`)
  await fill(file, lines)
  const store = sqliteStore({ file })
  const bare = new DatabaseSync(file)
  const rows = bare.prepare(`SELECT body FROM colloquy_event
    WHERE log = (SELECT number FROM colloquy_log WHERE conversation_id = ?) ORDER BY seq`)
  // Returning arrays is the faster row format.
  rows.setReturnArrays(true)
  const floor = (): unknown =>
    (rows.all(ID) as object as [string][]).map(([body]) => JSON.parse(body) as unknown)
  const snapshot = bare.prepare(`SELECT bytes FROM colloquy_snapshot_part
    WHERE number = (SELECT number FROM colloquy_conversation WHERE conversation_id = ?) ORDER BY part`)
  const plain = withoutSnapshots(store)
  const times = await time(
    [
      { name: 'read and parse the rows', store, run: floor },
      { name: 'open without a snapshot', store: plain, run: open },
      { name: 'open with a snapshot', store, run: open },
      { name: 'read the rows of the snapshot', store, run: () => snapshot.all(ID) },
      { name: 'open with a snapshot, write a request', store, run: openToRequest },
      { name: 'subscribe, catch up from the start', store, run: catchUp },
    ],
    length,
  )
  const ms = (name: string): number => median(times.get(name) ?? [])
  const base = ms('read and parse the rows')
  console.log(
    `\nSQLite, ${length.toLocaleString('en')} events, bodies ${bodies}, at most ${VIEW} in the view`,
  )
  console.log(`${''.padEnd(48)}${'ms, median'.padStart(12)}${'ratio'.padStart(9)}`)
  const show = (name: string): string => ms(name).toFixed(1)
  print('read and parse the rows', show('read and parse the rows'), 1, 'most', null)
  print(
    'open without a snapshot',
    show('open without a snapshot'),
    ms('open without a snapshot') / base,
    'most',
    1.5,
  )
  const faster = ms('open without a snapshot') / ms('open with a snapshot')
  print(
    'open with a snapshot: times faster',
    show('open with a snapshot'),
    faster,
    'least',
    length >= 100_000 ? 20 : null,
  )
  print('read the rows of the snapshot', show('read the rows of the snapshot'), 1, 'most', null)
  const request = 'open with a snapshot, write a request'
  const perRow = ms(request) / ms('read the rows of the snapshot')
  print(request, show(request), perRow, 'most', length >= 100_000 ? 10 : null)
  print(
    'subscribe, catch up from the start',
    show('subscribe, catch up from the start'),
    ms('subscribe, catch up from the start') / base,
    'most',
    null,
  )
  const parsed = await estimateMemory(floor)
  const openWithSnapshot = async (): Promise<unknown> => {
    const engine = createEngine({ store })
    await (await engine.open(ID)).state()
    return engine
  }
  const openWithoutSnapshot = async (): Promise<unknown> => {
    const engine = createEngine({ store: plain })
    await (await engine.open(ID)).state()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    return engine
  }
  print('heap of the parsed events', mb(parsed), 1, 'most', null)
  for (const [name, make] of [
    ['opened from a snapshot', openWithSnapshot],
    ['without a snapshot, idle', openWithoutSnapshot],
  ] as const) {
    const bytes = await estimateMemory(make)
    print(
      `heap of the conversation, ${name}`,
      mb(bytes),
      bytes / parsed,
      'most',
      length >= 100_000 ? 1.5 : null,
    )
  }
  bare.close()
  await store.close()
}

console.log(machine())
const requestedLengths = orUsage(() =>
  process.argv.slice(2).map((text) => {
    if (/^[1-9]\d*$/.test(text)) return Number(text)
    throw new Error(`${text}: must be a number of events`)
  }),
)
const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))
try {
  for (const length of requestedLengths.length > 0 ? requestedLengths : LENGTHS) {
    for (const bodies of ['1kb', 'mix']) await run(folder, bodies, length)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`\n${metCount} of ${targetCount} rows meet their targets`)
