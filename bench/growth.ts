/**
 * Prints how the time of each operation grows with the log: the time of one at each length, the slope of time over length
 * (both as logarithms: 0 is constant, 1 linear), and which it is said to be. `npm run bench:growth -- --to 100000 --only memory`.
 */

import { DatabaseSync } from 'node:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createEngine } from '../src/conversation/engine.ts'
import { decodeLine } from '../src/event/decode.ts'
import type { Event } from '../src/event/types.ts'
import { explain } from '../src/explain/explain.ts'
import { findings } from '../src/explain/findings.ts'
import { checkLog } from '../src/laws/check-log.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { stateAt, switchTo } from '../src/state/at.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { decodeSnapshot, encodeSnapshot } from '../src/state/snapshot.ts'
import type { Store } from '../src/store/contract/store.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { GRAMMARS } from '../test/messages/grammars.ts'
import { countWork } from './count.ts'
import { machine } from './measure.ts'
import { readTail } from './tail.ts'
import { makeEvents, seeded } from './workload.ts'

type Growth = 'constant' | 'logarithmic' | 'linear'

/** An operation: what it is said to grow like, and one of it, the n-th. */
interface Operation {
  readonly name: string
  readonly growth: Growth
  readonly run: (n: number) => unknown
}

/** The steepest slope that each may have, and the noise of a busy machine. */
const STEEPEST: Readonly<Record<Growth, number>> = { constant: 0.15, logarithmic: 0.3, linear: 1.15 }
/** Milliseconds that each operation is given at each length, and the fewest times it is done. */
const [BUDGET, FEWEST] = [250, 5]
const SMALL = { action: 90, observation: 120, systemPrompt: 300, message: 90 } as const
const ID = 'grown'
/** Events beside which the work of the fold is counted. */
const COUNTED = 100_000

const { values: options } = parseArgs({
  options: {
    to: { type: 'string', default: '100000' },
    only: { type: 'string', multiple: true, default: ['fold', 'memory', 'sqlite'] },
  },
})
const to = Number(options.to)
if (!(to >= 100)) throw new Error(`--to ${options.to}: must be a number of events, 100 or more`)
const lengths = Array.from({ length: Math.floor(Math.log10(to / 100) + 1e-9) + 1 }, (_, i) => 100 * 10 ** i)

/** A view that condensations keep short, as in a long conversation. */
const logOf = (length: number): Event[] => makeEvents(length, { sizes: SMALL, condenseAt: 80 })

const more = (n: number): Event => ({
  kind: 'MessageEvent',
  id: `more-${n}`,
  timestamp: '2027-01-01T00:00:00Z',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'And then?' }] },
})

function foldOperations(length: number): Operation[] {
  const events = logOf(length)
  const state = replay(events, { conversationId: ID })
  const line = JSON.stringify(events[length >> 1])
  const random = seeded(5)
  const asked = Array.from({ length: 997 }, () => events[Math.floor(random() * length)]?.id ?? '')
  const at = (n: number): string => asked[n % asked.length] ?? ''
  const saved = encodeSnapshot(state)
  const messages = toMessages(state)
  return [
    { name: 'decode a line', growth: 'constant', run: () => decodeLine(line) },
    { name: 'import a line: decode and reduce', growth: 'logarithmic', run: () => imported(line, state) },
    { name: 'reduce one event', growth: 'logarithmic', run: (n) => reduce(state, more(n)) },
    {
      name: 'view after an event',
      growth: 'logarithmic',
      run: (n) => readTail(reduce(state, more(n)).branch.view),
    },
    { name: 'state at an event', growth: 'logarithmic', run: (n) => stateAt(state, at(n)) },
    { name: 'switch to an event', growth: 'logarithmic', run: (n) => switchTo(state, at(n)) },
    { name: 'messages, neutral', growth: 'constant', run: () => toMessages(state) },
    ...Object.entries(GRAMMARS).map(([name, { write }]): Operation => ({
      name: `messages, ${name}`,
      growth: 'constant',
      run: () => write(messages),
    })),
    { name: 'explain an event', growth: 'linear', run: (n) => explain(state, at(n)) },
    {
      name: 'snapshot, save the last 100',
      growth: 'constant',
      run: () => encodeSnapshot(state, length - 100),
    },
    { name: 'snapshot, save all', growth: 'linear', run: () => encodeSnapshot(state) },
    { name: 'snapshot, open', growth: 'linear', run: () => decodeSnapshot(saved, ID) },
    { name: 'replay', growth: 'linear', run: () => replay(events) },
    { name: 'check', growth: 'linear', run: () => checkLog(events) },
    { name: 'findings', growth: 'linear', run: () => findings(state) },
  ]
}

function imported(line: string, state: ReturnType<typeof replay>): unknown {
  const decoded = decodeLine(line)
  return decoded.ok ? reduce(state, { ...decoded.event, id: 'imported' }) : null
}

async function storeOperations(store: Store, length: number): Promise<Operation[]> {
  const events = logOf(length)
  await store.createConversation({ id: ID })
  for (let from = 0; from < length; from += 1_000)
    await store.append(ID, events.slice(from, from + 1_000), { mode: 'import' })
  const engine = createEngine({ store })
  const conversation = await engine.open(ID)
  await conversation.state()
  const random = seeded(5)
  const asked = Array.from({ length: 997 }, () => events[Math.floor(random() * length)]?.id ?? '')
  const middle = events[length >> 1]
  const search = (query: object) => () => store.search({ conversationId: ID, limit: 20, ...query })
  const { next_page_id } = await store.search({ conversationId: ID, limit: Math.min(100, length >> 1) })
  const end = await store.feed({ from: 'end' })
  return [
    { name: 'append', growth: 'logarithmic', run: (n) => store.append(ID, [more(n)]) },
    { name: 'send a message', growth: 'logarithmic', run: () => conversation.sendMessage('And then?') },
    { name: 'read one', growth: 'logarithmic', run: (n) => store.get(ID, asked[n % asked.length] ?? '') },
    { name: 'page, first', growth: 'logarithmic', run: search({}) },
    { name: 'page, last', growth: 'logarithmic', run: search({ order: 'timestamp_desc' }) },
    {
      name: 'page, from the middle',
      growth: 'logarithmic',
      run: search({ timestampGte: middle?.timestamp }),
    },
    {
      name: 'page, by its cursor',
      growth: 'logarithmic',
      run: search({ cursor: next_page_id, limit: Math.min(100, length >> 1) }),
    },
    { name: 'page, of a kind', growth: 'logarithmic', run: search({ kinds: ['ObservationEvent'] }) },
    { name: 'page, of a source', growth: 'logarithmic', run: search({ source: 'user' }) },
    { name: 'page, of a path', growth: 'logarithmic', run: search({ leafId: events.at(-1)?.id }) },
    { name: 'follow: what is new', growth: 'logarithmic', run: () => store.feed({ after: end.next }) },
    {
      name: 'open again',
      growth: 'linear',
      run: async () => (await createEngine({ store }).open(ID)).state(),
    },
    { name: 'fork', growth: 'linear', run: () => conversation.fork() },
  ]
}

/** Microseconds of one, the least of several stretches; each long enough for the clock. */
async function timeOf({ run }: Operation): Promise<number> {
  const end = performance.now() + BUDGET
  const times: number[] = []
  for (let n = 0; n < FEWEST || (performance.now() < end && n < 2_000); n += 1) {
    const start = performance.now()
    const made = run(n)
    if (made instanceof Promise) await made
    times.push((performance.now() - start) * 1_000)
  }
  return Math.min(...times)
}

/** The slope of the line that fits best through the logarithms. */
function slopeOf(times: readonly number[]): number {
  const points = times.map((time, i) => [Math.log(lengths[i] ?? 1), Math.log(time)] as const)
  const [x, y] = [0, 1].map((i) => points.reduce((sum, point) => sum + (point[i] ?? 0), 0) / points.length)
  const top = points.reduce((sum, [a, b]) => sum + (a - (x ?? 0)) * (b - (y ?? 0)), 0)
  return top / points.reduce((sum, [a]) => sum + (a - (x ?? 0)) ** 2, 0)
}

/** What a slope is, whatever was said. */
const growthOf = (slope: number): Growth =>
  slope < STEEPEST.constant ? 'constant' : slope < STEEPEST.logarithmic ? 'logarithmic' : 'linear'

const show = (time: number): string => time.toFixed(time < 10 ? 2 : 0).padStart(11)

/** Measures operations at every length, and prints a row for each. */
async function printGroup(
  title: string,
  open: (length: number) => Promise<{ operations: readonly Operation[]; close: () => unknown }>,
): Promise<void> {
  const rows = new Map<string, { readonly growth: Growth; readonly times: number[] }>()
  for (const length of lengths) {
    const { operations, close } = await open(length)
    for (const operation of operations) {
      const row = rows.get(operation.name) ?? { growth: operation.growth, times: [] }
      rows.set(operation.name, row)
      globalThis.gc?.()
      row.times.push(await timeOf(operation))
    }
    await close()
  }
  console.log(
    `\n${`${title}, µs each`.padEnd(36)}${lengths.map((n) => n.toLocaleString('en').padStart(11)).join('')}   slope  is`,
  )
  for (const [name, { growth, times }] of rows) {
    const slope = slopeOf(times)
    const verdict = slope > STEEPEST[growth] ? `${growthOf(slope)}, and should be ${growth}` : growthOf(slope)
    console.log(`${name.padEnd(36)}${times.map(show).join('')}${slope.toFixed(2).padStart(8)}  ${verdict}`)
  }
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-growth-'))
const STORES: Readonly<Record<string, (length: number) => Store>> = {
  memory: () => memoryStore(),
  sqlite: (length) => sqliteStore({ database: new DatabaseSync(join(folder, `${length}.db`)) }),
}

/** The counted work of the fold, which a test bounds. */
function printWork(): void {
  const counted = lengths.filter((length) => length >= 1_000 && length <= COUNTED)
  const counts = counted.map((length) => countWork(length))
  console.log(
    `\n${'counted work of one event'.padEnd(46)}${counted.map((n) => n.toLocaleString('en').padStart(11)).join('')}  growth`,
  )
  for (const name of Object.keys(counts[0] ?? {})) {
    const values = counts.map((one) => one[name] ?? 0)
    const growth = (values.at(-1) ?? 0) / (values[0] ?? 1)
    console.log(`${name.padEnd(46)}${values.map(show).join('')}${growth.toFixed(2).padStart(8)}`)
  }
}

console.log(machine())
try {
  for (const name of options.only) {
    const open = STORES[name]
    if (name === 'fold') {
      await printGroup('the fold', async (length) => ({
        operations: foldOperations(length),
        close: () => undefined,
      }))
      printWork()
    } else if (open === undefined) throw new Error(`--only ${name}: must be fold, memory or sqlite`)
    else
      await printGroup(`over ${name}`, async (length) => {
        const store = open(length)
        return { operations: await storeOperations(store, length), close: () => store.close() }
      })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
