/** Runs in a copy of the project: checks followers, streamed replies and explanations. Prints the first broken law. */

import * as fc from 'fast-check'
import { checkExplained, checkFindings, checkFoundOfLegal } from '../checks/explain.ts'
import { checkFollowers, followSteps, SCRIPTED } from '../checks/followed.ts'
import { streamCommands } from '../checks/stream-commands.ts'
import { checkStreams } from '../checks/streamed.ts'
import { hostileLog, legalLog } from '../../src/testing/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { VirtualTime } from '../virtual-time.ts'
import { lawOf, ONE_IN, SOUND } from './say-verdict.ts'

const file = process.argv[3] ?? ''

/** Skips checks that the fault cannot affect. */
async function hold<T>(
  about: RegExp,
  total: string,
  values: fc.Arbitrary<T>,
  runs: number,
  check: (value: T) => unknown,
  examples: [T][] = [],
): Promise<void> {
  if (file !== '' && !about.test(file)) return
  const property = fc.asyncProperty(values, async (value) => void (await check(value)))
  const numRuns = Math.ceil(runs / ONE_IN)
  const { failed, errorInstance } = await fc.check(property, {
    seed: 2026,
    numRuns,
    endOnFailure: true,
    examples,
  })
  if (!failed) return
  console.log(lawOf(errorInstance, total))
  process.exit(0)
}

await hold(/^explain\//, 'O4', hostileLog(), 60, checkExplained)
await hold(/^explain\//, 'O5', hostileLog(), 40, checkFindings)
await hold(/^explain\//, 'O5', legalLog(), 40, checkFoundOfLegal)
await hold(/^conversation\/s/, 'B5', streamCommands, 300, checkStreams)

const time = new VirtualTime()
const clock = (): bigint => BigInt(Date.now()) * 1000n
const position = { open: () => memoryStore({ clock }), keep: null, putBack: () => undefined }
time.install()
await hold(
  /^conversation\/follow\//,
  'B4',
  followSteps,
  30,
  (steps) => checkFollowers(position, time, steps),
  [[SCRIPTED]],
)
console.log(SOUND)
process.exit(0)
