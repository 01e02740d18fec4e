/**
 * Runs before each test file: all properties use one seed, so that the same code passes or fails
 * everywhere. `COLLOQUY_SEED` overrides it, with `random` for random ones; nightly runs and runs under
 * load use new seeds.
 */

import * as fc from 'fast-check'

const SEED = 20_261_122

const input = process.env['COLLOQUY_SEED']
if (input !== 'random') fc.configureGlobal({ seed: input === undefined ? SEED : Number(input) })
