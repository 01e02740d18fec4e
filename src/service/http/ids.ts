/** Bounds how many ids one request may ask for. */

import { HttpProblem } from './problem.ts'

/** Most that are asked for at once. */
const MOST_IDS = 100

/** For the table of replies. */
export const TOO_MANY_IDS = {
  400: { description: `More than ${MOST_IDS} ids` },
} as const

/** For the table of replies of what can be large. */
export const TOO_LARGE = {
  413: { description: 'More bytes than one response holds: ask for fewer' },
} as const

/** @param what what is asked for, in the plural. @throws HttpProblem 400. */
export function checkIds(ids: readonly string[], what: string): void {
  if (ids.length <= MOST_IDS) return
  throw new HttpProblem(400, `Cannot get more than ${MOST_IDS} ${what} at once, got ${ids.length}.`)
}
