/**
 * Prints what opening from a snapshot costs in time and heap, next to folding the log: `npm run
 * bench:snapshot`.
 */

import type { Event } from '../src/event/types.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { listLeavesIn } from '../src/state/at.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { evict, decodeSnapshot, encodeSnapshot } from '../src/state/snapshot.ts'
import type { State } from '../src/state/state.ts'
import { noArguments } from '../test/usage.ts'
import { machine, measure, type Piece, estimateMemory } from './measure.ts'
import { ONE_KB } from './events-of-size.ts'
import { makeLines } from './workload.ts'

const LENGTHS = [1_000, 10_000, 100_000]
/** Maximum number of events in the view. */
const VIEW = 1_000
/** Events since the last snapshot. */
const TAIL = 1_000

interface Row {
  readonly name: string
  /** Minimum cost of folding `TARGET_LENGTH` events as a multiple of this; null without a target. */
  readonly target: number | null
}

/** Length at which targets are checked. */
const TARGET_LENGTH = 100_000

const FOLD = 'JSON.parse and replay'
const ROWS: readonly Row[] = [
  { name: 'decodeSnapshot', target: 20 },
  { name: 'decodeSnapshot and one event', target: null },
  { name: 'decodeSnapshot and messages', target: null },
  { name: 'encodeSnapshot, whole', target: null },
  { name: `encodeSnapshot, last ${TAIL}`, target: null },
  { name: 'compact, whole', target: null },
  { name: 'compact, last parts', target: null },
  { name: 'leaves, compacted', target: null },
]

const message: Event = {
  kind: 'MessageEvent',
  id: 'one-more',
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text: 'And then?', cache_prompt: false }] },
}

const parse = (lines: readonly string[]): Event[] => lines.map((line) => JSON.parse(line) as Event)

function requireState(state: State | null): State {
  if (state === null) throw new Error('a snapshot does not open')
  return state
}

function pieces(lines: readonly string[]): Piece[] {
  const state = replay(parse(lines))
  const parts = encodeSnapshot(state)
  const since = Math.max(0, lines.length - TAIL)
  let folded = evict(replay(parse(lines.slice(0, since))))
  for (const event of parse(lines.slice(since))) folded = reduce(folded, event)
  const compacted = evict(folded)
  const decode = () => requireState(decodeSnapshot(parts, ''))
  return [
    { name: FOLD, count: 1, run: () => replay(parse(lines)) },
    { name: 'decodeSnapshot', count: 1, times: 5, run: decode },
    { name: 'decodeSnapshot and one event', count: 1, times: 5, run: () => reduce(decode(), message) },
    { name: 'decodeSnapshot and messages', count: 1, times: 5, run: () => toMessages(decode()) },
    { name: 'encodeSnapshot, whole', count: 1, run: () => encodeSnapshot(state) },
    { name: `encodeSnapshot, last ${TAIL}`, count: 1, times: 5, run: () => encodeSnapshot(folded, since) },
    { name: 'compact, whole', count: 1, run: () => evict(state) },
    { name: 'compact, last parts', count: 1, times: 5, run: () => evict(folded) },
    { name: 'leaves, compacted', count: 1, times: 5, run: () => listLeavesIn(compacted.log) },
  ]
}

async function printHeap(lines: readonly string[]): Promise<void> {
  const parts = encodeSnapshot(replay(parse(lines)))
  const bytes = parts.reduce((sum, part) => sum + part.bytes.length, 0)
  const parsed = await estimateMemory(() => parse(lines))
  const rows = [
    ['parsed events', parsed],
    ['replay', await estimateMemory(() => replay(parse(lines)))],
    ['compact', await estimateMemory(() => evict(replay(parse(lines))))],
    [
      'decodeSnapshot, a copy of its bytes',
      await estimateMemory(() => decodeSnapshot(structuredClone(parts), '')),
    ],
    ['the parts as stored', bytes],
  ] as const
  for (const [name, size] of rows) {
    console.log(
      `${name.padEnd(38)}${(size / 1e6).toFixed(1).padStart(9)} MB ${(size / parsed).toFixed(3).padStart(7)}`,
    )
  }
}

noArguments()
console.log(machine())
for (const length of LENGTHS) {
  const lines = makeLines(length, { sizes: ONE_KB, condenseAt: VIEW })
  const timings = measure(pieces(lines), length > 50_000 ? 5 : 9)
  const fold = timings.find(({ name }) => name === FOLD)
  console.log(
    `\n${length.toLocaleString('en')} events of 1 kB, at most ${VIEW.toLocaleString('en')} in the view`,
  )
  console.log(`${'ms'.padEnd(38)}${'minimum'.padStart(9)}${'median'.padStart(9)}  folding costs`)
  for (const { name, minimum, median } of timings) {
    const row = ROWS.find((candidate) => candidate.name === name)
    const times = [minimum, median].map((us) => (us / 1e3).toFixed(2).padStart(9)).join('')
    const ratio = (fold?.minimum ?? 0) / minimum
    const target = length === TARGET_LENGTH ? (row?.target ?? null) : null
    const verdict = target === null ? '' : `  (at least ${target})  ${ratio >= target ? 'holds' : 'MISSES'}`
    console.log(`${name.padEnd(38)}${times}${row === undefined ? '' : `  ${ratio.toFixed(1)} x${verdict}`}`)
  }
  await printHeap(lines)
}
