/**
 * Runs before each test file. All properties use the same seed, so that the same code passes or fails
 * everywhere. `COLLOQUY_SEED` sets another seed; `random` draws new seeds, as in `.ci/stress`.
 */

import * as fc from 'fast-check'

const SEED = 20_261_122

const input = process.env['COLLOQUY_SEED']
if (input !== 'random') fc.configureGlobal({ seed: input === undefined ? SEED : Number(input) })
