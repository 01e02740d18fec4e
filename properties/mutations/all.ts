/** Mistakes of servers: each breaks a law in a legal log, and names the event to blame. */

import { CALL_MISTAKES } from './calls.ts'
import { LINE_MISTAKES } from './lines.ts'
import type { Mutation } from './mutant.ts'
import { RUN_MISTAKES } from './runs.ts'
import { VIEW_MISTAKES } from './view.ts'

export const MUTATIONS: readonly Mutation[] = [
  ...LINE_MISTAKES,
  ...CALL_MISTAKES,
  ...RUN_MISTAKES,
  ...VIEW_MISTAKES,
]
