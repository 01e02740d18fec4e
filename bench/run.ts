/**
 * Prints the engine's cost per event at growing lengths, next to floors measured in the same run: `npm
 * run bench`.
 */

import { decodeLine } from '../src/event/decode.ts'
import type { Event } from '../src/event/types.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { stateAt, switchTo } from '../src/state/at.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { initialState, type State } from '../src/state/state.ts'
import { noArguments } from '../test/usage.ts'
import { machine, measure, type Piece, type Timing } from './measure.ts'
import { readTail } from './tail.ts'
import { decoded, makeLines, MEASURED_MIX, seeded } from './workload.ts'

const LENGTHS = [1_000, 10_000, 100_000]
/** Random look-ups per timing, enough to hide the clock's resolution. */
const LOOKUPS = 20_000

interface Row {
  readonly name: string
  readonly floor: string
  /** Maximum cost as a multiple of the floor; null without a target. */
  readonly target: number | null
}

const ROWS: readonly Row[] = [
  { name: 'decode', floor: 'JSON.parse', target: null },
  { name: 'reduce one at a time', floor: 'JSON.parse', target: 1 },
  { name: 'replay', floor: 'JSON.parse', target: 0.5 },
  { name: 'view after each append', floor: 'JSON.parse', target: null },
  { name: 'messages of the whole view', floor: 'JSON.parse', target: null },
  { name: 'state at a random event', floor: 'Map.get', target: 8 },
  { name: 'branch switch', floor: 'Map.get', target: 8 },
  { name: 'branch switch, appended', floor: 'Map.get', target: null },
]

function pieces(lines: readonly string[]): Piece[] {
  const count = lines.length
  const events = lines.map((line) => decoded(line))
  const state = replay(events)
  const ids = events.map((event) => event.id ?? '')
  const index = new Map(ids.map((id, seq) => [id, seq]))
  const random = seeded(7)
  const lookups = Array.from({ length: LOOKUPS }, () => ids[Math.floor(random() * count)] ?? '')
  const updates = lookups.map((value, index): Event => ({
    kind: 'ConversationStateUpdateEvent',
    id: `move-${index}`,
    timestamp: '2026-02-01T00:00:00Z',
    key: 'leaf_event_id',
    value,
  }))
  return [
    { name: 'JSON.parse', count, run: () => lines.map((line) => JSON.parse(line)) },
    { name: 'Map.get', count: LOOKUPS, times: 9, run: () => lookups.map((id) => index.get(id)) },
    { name: 'decode', count, run: () => lines.map((line) => decodeLine(line)) },
    { name: 'reduce one at a time', count, run: () => reduceEach(events) },
    { name: 'replay', count, run: () => replay(events) },
    { name: 'view after each append', count, run: () => readEach(events) },
    { name: 'messages of the whole view', count, run: () => toMessages(state) },
    {
      name: 'state at a random event',
      count: LOOKUPS,
      times: 9,
      run: () => lookups.map((id) => stateAt(state, id)),
    },
    { name: 'branch switch', count: LOOKUPS, times: 9, run: () => lookups.map((id) => switchTo(state, id)) },
    {
      name: 'branch switch, appended',
      count: LOOKUPS,
      run: () => updates.map((update) => reduce(state, update)),
    },
  ]
}

/** Keeps every state of a log. */
function reduceEach(events: readonly Event[]): State[] {
  let state = initialState()
  return events.map((event) => (state = reduce(state, event)))
}

function readEach(events: readonly Event[]): number {
  let state = initialState()
  let seen = 0
  for (const event of events) {
    state = reduce(state, event)
    seen += readTail(state.branch.view)
  }
  return seen
}

const formatNumber = (value: number): string => value.toFixed(value < 10 ? 3 : 1).padStart(9)

function print(length: number, lines: readonly string[], timings: readonly Timing[]): void {
  const bytes = lines.reduce((sum, line) => sum + line.length, 0)
  console.log(`\n${length.toLocaleString('en')} events, ${(bytes / length / 1_000).toFixed(1)} kB each`)
  console.log(
    `${'µs per unit'.padEnd(30)}${'minimum'.padStart(9)}${'median'.padStart(9)}  ratio to its floor`,
  )
  for (const { name, minimum, median } of timings) {
    const row = ROWS.find((candidate) => candidate.name === name)
    const floor = timings.find((timing) => timing.name === row?.floor)
    const ratio = floor === undefined ? '' : `${(minimum / floor.minimum).toFixed(2)} x ${floor.name}`
    const target = row?.target === null || row === undefined ? '' : ` (target ${row.target})`
    console.log(`${name.padEnd(30)}${formatNumber(minimum)}${formatNumber(median)}  ${ratio}${target}`)
  }
}

noArguments()
console.log(machine())
console.log(`sizes: ${JSON.stringify(MEASURED_MIX)} bytes`)
for (const length of LENGTHS) {
  const lines = makeLines(length)
  print(length, lines, measure(pieces(lines), length > 50_000 ? 3 : 7))
}
