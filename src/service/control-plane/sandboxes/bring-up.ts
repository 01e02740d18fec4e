/** Starts or resumes a sandbox and waits until it runs, within a time limit. */

import { HttpProblem } from '../../http/problem.ts'
import { pause } from '../../../conversation/async.ts'
import type { Sandboxes } from './sandboxes.ts'

/** How to wait. */
export interface Waiting {
  /** Milliseconds for which it may take. */
  readonly sandboxTimeout: number
  /** Milliseconds between two heartbeats. */
  readonly heartbeatInterval: number
  /** Called when the waiting begins, and from time to time while it goes on. */
  readonly onBeat: () => Promise<void>
  readonly signal: AbortSignal
}

/**
 * @param sandbox.mayStart whether it is started when there is none with its id
 * @throws HttpProblem 409 when it does not come up, with the reason; the reason of the signal.
 */
export async function bringUp(
  sandboxes: Sandboxes,
  { id, mayStart }: { readonly id: string; readonly mayStart: boolean },
  { sandboxTimeout, heartbeatInterval, onBeat, signal }: Waiting,
): Promise<void> {
  if (mayStart && (await sandboxes.find(id)) === null) await sandboxes.start(null, id)
  else await sandboxes.resume(id)
  await onBeat()
  const start = performance.now()
  let told = start
  for (let wait = 20; ; wait = Math.min(500, wait * 1.5)) {
    const { status, status_detail } = await sandboxes.state(id)
    if (status === 'RUNNING') return
    const why = status_detail === null ? '' : `: ${status_detail}`
    if (status !== 'STARTING') throw new HttpProblem(409, `The sandbox is ${status}${why}`)
    const now = performance.now()
    if (now - start > sandboxTimeout) {
      throw new HttpProblem(409, `The sandbox did not come up within ${sandboxTimeout} ms${why}`)
    }
    if (now - told > heartbeatInterval) {
      told = now
      await onBeat()
    }
    await pause(wait, signal)
    signal.throwIfAborted()
  }
}
