/**
 * Runs before each test file: all properties draw from one seed, so that the same code gives the same verdict everywhere.
 * `COLLOQUY_SEED` gives another one, or `random` ones; the night, and the runs beside a load, take new ones.
 */

import * as fc from 'fast-check'

const SEED = 20_261_122

const input = process.env['COLLOQUY_SEED']
if (input !== 'random') fc.configureGlobal({ seed: input === undefined ? SEED : Number(input) })
