/**
 * Plays all deliberate faults, then tries the properties for so many minutes (60, or the first argument) with many more runs
 * than `npm test`, from seeds that it prints.
 */

import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'

const RUNS = 4000
const minutes = Number(process.argv[2] ?? 60)
if (!(minutes > 0)) throw new Error(`npm run test:night takes a number of minutes, not ${process.argv[2]}`)

const vitest = ['--config', 'test/vitest.config.ts', '--root', '.', '--reporter', 'dot', '--testTimeout', '0']
const end = performance.now() + minutes * 60_000
let { status } = spawnSync('vitest', ['run', ...vitest, 'properties/faults'], {
  env: { ...process.env, COLLOQUY_FAULTS: 'all' },
  stdio: 'inherit',
})
for (let round = 1; status === 0 && (round === 1 || performance.now() < end); round += 1) {
  const seed = String(randomInt(2 ** 31))
  console.log(`round ${round}: COLLOQUY_SEED=${seed} COLLOQUY_RUNS=${RUNS}`)
  ;({ status } = spawnSync('vitest', ['run', ...vitest, 'properties', '--exclude', 'properties/faults/**'], {
    env: { ...process.env, COLLOQUY_RUNS: String(RUNS), COLLOQUY_SEED: seed },
    stdio: 'inherit',
  }))
}
process.exitCode = status ?? 1
