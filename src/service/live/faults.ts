/** What went wrong with a stream goes in; whether it may be tried again, and what its reader may be told, come out. */

import { ColloquyError, hasCode } from '../../event/errors.ts'
import { HttpProblem } from '../http/problem.ts'
import { pause } from '../pause.ts'

/** A failure in words for a client. */
export interface Told {
  readonly code: string
  readonly detail: string
}

/** What a client may be told of a failure: what the library says on purpose, and of all else only that it happened. */
export function tellOf(error: unknown): Told {
  if (error instanceof ColloquyError) return { code: error.code, detail: error.message }
  if (error instanceof HttpProblem) return { code: `HTTP${error.status}`, detail: sayProblem(error) }
  return { code: 'InternalError', detail: 'The server failed; what it has written is kept.' }
}

/** A problem in one sentence. */
export function sayProblem({ detail }: HttpProblem): string {
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return JSON.stringify(detail)
  return (detail as readonly { readonly loc: readonly unknown[]; readonly msg: string }[])
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    .join('; ')
}

/** The peer took nothing for as long as it was waited for. */
export class SlowReader extends Error {
  override readonly name = 'SlowReader'
}

/** Whether the store may be there again in a moment. */
export const isPassing = (error: unknown): boolean =>
  hasCode(error, 'store_busy') || hasCode(error, 'store_unavailable')

/** How often a stream tries again before it gives up, and the milliseconds it waits before, doubled each time. */
export const MOST_TRIES = 6
const FIRST_WAIT = 50

/** Waits before a try; ends early when the signal is aborted. */
export const waitBefore = (tries: number, signal: AbortSignal): Promise<void> =>
  pause(FIRST_WAIT * 2 ** tries, signal)
