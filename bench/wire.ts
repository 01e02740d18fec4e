/** Prints what it costs to prove the prefix of a request while it is written: `npm run bench:wire`. */

import type { Event } from '../src/event/types.ts'
import { toAnthropic } from '../src/messages/anthropic/write.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { toOpenAIChat } from '../src/messages/openai-chat/write.ts'
import { replay } from '../src/state/reduce.ts'
import { noArguments } from '../test/usage.ts'
import { machine, median } from './measure.ts'
import { makeLines } from './workload.ts'

const ROUNDS = 9
const EVENTS = [2_000, 20_000]

const WRITERS = { anthropic: toAnthropic, 'openai-chat': toOpenAIChat } as const

const timed = (run: () => unknown): number => {
  const begun = performance.now()
  run()
  return performance.now() - begun
}

noArguments()
console.log(machine())
console.log('Targets: seen before at most 1.3 times plain; the first time at most 4 times JSON.parse more.')
for (const length of EVENTS) {
  const lines = makeLines(length)
  for (const [name, write] of Object.entries(WRITERS)) {
    const parse: number[] = []
    const plain: number[] = []
    const first: number[] = []
    const again: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      // Events of their own each round, so that no digest of the round before is at hand.
      let events: Event[] = []
      parse.push(timed(() => (events = lines.map((line) => JSON.parse(line) as Event))))
      const messages = toMessages(replay(events))
      write(messages, { prove: false })
      const before = timed(() => write(messages, { prove: false }))
      first.push(timed(() => write(messages)))
      const proved = timed(() => write(messages))
      plain.push(
        Math.min(
          before,
          timed(() => write(messages, { prove: false })),
        ),
      )
      again.push(
        Math.min(
          proved,
          timed(() => write(messages)),
        ),
      )
    }
    const ratios = again.map((time, round) => time / (plain[round] ?? time))
    const [floor, more] = [median(parse), median(first) - median(plain)]
    console.log(
      [
        `${length.toLocaleString('en')} events, ${name}`.padEnd(28),
        `JSON.parse ${floor.toFixed(0)} ms`,
        `plain ${median(plain).toFixed(1)} ms`,
        `seen before ${median(ratios).toFixed(2)} (least ${Math.min(...ratios).toFixed(2)}) times plain`,
        `first ${(more / floor).toFixed(2)} times JSON.parse more`,
      ].join('   '),
    )
  }
}
