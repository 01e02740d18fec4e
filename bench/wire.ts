/** Prints the cost of the next request, and of proving its prefix: `npm run bench:wire`. */

import type { Event } from '../src/event/types.ts'
import { toAnthropic } from '../src/messages/anthropic/write.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { requestCache } from '../src/messages/request-cache.ts'
import { toOpenAIChat } from '../src/messages/openai-chat/write.ts'
import { WIRES } from '../properties/wire/reply.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { noArguments } from '../test/usage.ts'
import { machine, median } from './measure.ts'
import { decoded, makeLines } from './workload.ts'

const ROUNDS = 9
const EVENTS = [2_000, 20_000]

const WRITERS = { anthropic: toAnthropic, 'openai-chat': toOpenAIChat } as const

const timed = (run: () => unknown): number => {
  const start = performance.now()
  run()
  return performance.now() - start
}

const quartile = (times: readonly number[]): number =>
  times.toSorted((left, right) => left - right)[Math.floor(times.length / 4)] ?? 0

noArguments()
console.log(machine())
console.log(
  'Targets: a repeated proof costs at most 1.3 times plain; the first one adds at most 4 times JSON.parse.',
)
for (const length of EVENTS) {
  const lines = makeLines(length)
  for (const [name, write] of Object.entries(WRITERS)) {
    const parse: number[] = []
    const plain: number[] = []
    const first: number[] = []
    const repeated: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      // New events each round, so that no digest of the last round is cached.
      let events: Event[] = []
      parse.push(timed(() => (events = lines.map((line) => JSON.parse(line) as Event))))
      const messages = toMessages(replay(events))
      write(messages, { prove: false })
      const before = timed(() => write(messages, { prove: false }))
      first.push(timed(() => write(messages)))
      const proven = timed(() => write(messages))
      plain.push(
        Math.min(
          before,
          timed(() => write(messages, { prove: false })),
        ),
      )
      repeated.push(
        Math.min(
          proven,
          timed(() => write(messages)),
        ),
      )
    }
    const ratios = repeated.map((time, round) => time / (plain[round] ?? time))
    const [floor, firstCost] = [median(parse), median(first) - median(plain)]
    console.log(
      [
        `${length.toLocaleString('en')} events, ${name}`.padEnd(28),
        `JSON.parse ${floor.toFixed(0)} ms`,
        `plain ${median(plain).toFixed(1)} ms`,
        `repeated ${median(ratios).toFixed(2)} (minimum ${Math.min(...ratios).toFixed(2)}) times plain`,
        `first ${(firstCost / floor).toFixed(2)} times JSON.parse added`,
      ].join('   '),
    )
  }
}

/** Events of one more turn. */
const TURN = 4
const TURNS = 41
const SMALL = { action: 300, observation: 600, systemPrompt: 1_000, message: 300 }

console.log('\nThe next request after one more turn, with a cache, and the cost of copying its messages.')
console.log(
  'Target: at most 3 times `list.slice()`, or a tenth of copying and serializing it; "net" excludes the',
)
console.log('time of the same turn in a separate log. All times are lower quartiles.')
for (const length of [1_000, 100_000]) {
  const lines = makeLines(length + TURN * TURNS, { sizes: SMALL })
  const events = lines.map(decoded)
  for (const [name, { write }] of Object.entries(WIRES)) {
    const cache = requestCache()
    const options = { tools: [{ name: 'ls' }], model: 'any', cache }
    let state = replay(events.slice(0, length))
    write(toMessages(state, { cache }), options)
    const times = { next: [] as number[], alone: [] as number[], copy: [] as number[], json: [] as number[] }
    for (let turn = 0; turn < TURNS; turn += 1) {
      const [from, to] = [length + turn * TURN, length + (turn + 1) * TURN]
      for (const event of events.slice(from, to)) state = reduce(state, event)
      let request: object = {}
      times.next.push(timed(() => (request = write(toMessages(state, { cache }), options))))
      const single = replay(lines.slice(from, to).map(decoded))
      times.alone.push(timed(() => write(toMessages(single, { cache }), options)))
      const list = Array.isArray(request)
        ? request
        : (Object.values(request).findLast(Array.isArray) as object[])
      times.copy.push(timed(() => list.slice()))
      if (turn % 10 === 0) times.json.push(timed(() => JSON.stringify(list.slice())))
    }
    const [next, alone, copy, json] = [times.next, times.alone, times.copy, times.json].map(quartile) as [
      number,
      number,
      number,
      number,
    ]
    console.log(
      [
        `${length.toLocaleString('en')} events, ${name}`.padEnd(34),
        `next ${next.toFixed(3)} ms`,
        `slice ${copy.toFixed(3)} ms (${(next / copy).toFixed(1)} times, net ${((next - alone) / copy).toFixed(1)})`,
        `with its JSON ${json.toFixed(2)} ms (${(next / json).toFixed(3)} times)`,
      ].join('   '),
    )
  }
}
