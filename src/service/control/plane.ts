/** The control plane: an engine, runs and a provider of sandboxes go in; its parts, and its beginning and end, come out. */

import { hasCode } from '../../event/errors.ts'
import type { Store } from '../../store/store.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { Telling } from './app-conversation.ts'
import { pause } from '../pause.ts'
import { type InTurn, turns } from '../turns.ts'
import { Pending } from './pending.ts'
import type { SandboxProvider } from './sandbox.ts'
import { Sandboxes } from './sandboxes.ts'
import type { StartTask } from './start-task.ts'
import { StartTasks } from './start-tasks.ts'

/** How a control plane works. */
export interface PlaneOptions {
  /** Runs the sandboxes; closed with the control plane. Default: none, and conversations run in the service itself. */
  readonly provider?: SandboxProvider
  /** How many sandboxes may run; before one more does, the oldest are paused. Default: 5. */
  readonly maxSandboxes?: number
  /** Milliseconds that a sandbox may take to come up. Default: 120,000. */
  readonly patience?: number
  /** Milliseconds after which a start that nobody has written to is taken for left behind. Default: 15,000. */
  readonly stale?: number
  /** Told of each start that has come to nothing: whoever asked for it may not be there to see. Default: nobody is. */
  readonly onStartFailed?: (task: StartTask) => void
}

/** What the operations work on. */
export interface Plane extends Telling {
  readonly store: Store
  readonly tasks: StartTasks
  readonly pending: Pending
  /** Waits until a sandbox runs, for as long as it may take, and says then what waits for it. */
  readonly whenUp: (sandboxId: string) => Promise<void>
  /** Changes of records that were read before, one after the other: none of them undoes another. */
  readonly inTurn: InTurn
  /** Lets a work go on that nobody waits for but the end of the service. */
  readonly inBackground: (work: Promise<void>) => void
  /** Goes on with what was left undone when a service ended, and looks for more of it from time to time. */
  readonly start: () => Promise<void>
  /** Lets go of all work, and ends the sandboxes. */
  readonly close: () => Promise<void>
}

/** Puts a control plane together; nothing is done before it is asked for, or started. */
export function createPlane(
  lifecycle: Lifecycle,
  onFailure: (error: unknown) => void,
  options: PlaneOptions = {},
): Plane {
  const { provider = null, maxSandboxes = 5, patience = 120_000, stale = 15_000 } = options
  const { store } = lifecycle.engine
  const tell = (error: unknown): void => {
    // Work that is cut off by the end of the service is nobody's failure.
    if (!hasCode(error, 'closed') && !hasCode(error, 'store_closed')) onFailure(error)
  }
  const sandboxes = new Sandboxes(store, { provider, most: maxSandboxes })
  const telling = { lifecycle, sandboxes }
  const tasks: StartTasks = new StartTasks(telling, {
    patience,
    stale,
    onReady: (id) => pending.deliver(id),
    onFailed: options.onStartFailed ?? (() => undefined),
    onFailure: tell,
  })
  const pending = new Pending(telling, tasks, tell)
  const background = new Set<Promise<void>>()
  const inBackground = (work: Promise<void>): void => {
    const done = work.catch(tell).finally(() => background.delete(done))
    background.add(done)
  }
  const lookAround = async (): Promise<void> => {
    await tasks.takeOver()
    await sandboxes.sweep()
    await pending.deliverAll()
  }
  const closing = new AbortController()
  const whenUp = async (id: string): Promise<void> => {
    const until = performance.now() + patience
    while (
      !closing.signal.aborted &&
      performance.now() < until &&
      (await sandboxes.state(id)).status === 'STARTING'
    ) {
      await pause(50, closing.signal)
    }
    if (!closing.signal.aborted) await pending.deliverAll()
  }
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    ...telling,
    store,
    tasks,
    pending,
    inTurn: turns(),
    inBackground,
    whenUp,
    async start() {
      timer ??= setInterval(() => inBackground(lookAround()), stale)
      await lookAround()
    },
    async close() {
      clearInterval(timer)
      closing.abort()
      await tasks.close()
      await pending.close()
      await Promise.allSettled(background)
      await provider?.close()
    },
  }
}
