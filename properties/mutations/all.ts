/** Mistakes that servers make: each takes a legal log, and gives one with the mistake, the law that it breaks and the event to blame. */

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
