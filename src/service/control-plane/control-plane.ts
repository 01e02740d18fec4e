/** Puts the control plane together: starts, sandboxes and pending messages, begun and ended as one. */

import { hasCode } from '../../event/errors.ts'
import type { Store } from '../../store/contract/store.ts'
import type { Lifecycle } from '../conversations/conversations.ts'
import { Deletions } from './deletions.ts'
import type { ControlPlaneContext } from './app-conversations.ts'
import { pause } from '../../conversation/async.ts'
import { type RunInOrder, serialQueue } from '../../conversation/async.ts'
import { PendingMessages } from './pending-messages.ts'
import type { SandboxProvider } from './sandbox-provider.ts'
import { Sandboxes } from './sandboxes.ts'
import { type StartTask } from './start-task.ts'
import { StartTasks } from './start-tasks.ts'

/** How a control plane works. */
export interface ControlPlaneOptions {
  /** Runs the sandboxes; closed with the control plane. Default: none, and conversations run in the service itself. */
  readonly provider?: SandboxProvider
  /** How many sandboxes may run; before one more does, the oldest are paused. Default: 5. */
  readonly maxSandboxes?: number
  /** Milliseconds that a sandbox may take to come up. Default: 120,000. */
  readonly sandboxTimeout?: number
  /** Milliseconds after which other processes continue the work of one that died. Default: 15,000. */
  readonly staleAfter?: number
  /** Called with each start that has failed: the client that asked for it may not be there to see. Default: none. */
  readonly onStartFailed?: (task: StartTask) => void
}

/** What the operations work on. */
export interface ControlPlane extends ControlPlaneContext {
  readonly store: Store
  readonly tasks: StartTasks
  readonly pending: PendingMessages
  readonly deletions: Deletions
  /** Waits until a sandbox runs, for as long as it may take, and says then what waits for it. */
  readonly whenUp: (sandboxId: string) => Promise<void>
  /** Changes of records that were read before, one after the other: none of them undoes another. */
  readonly inTurn: RunInOrder
  /** Lets a work go on that only the end of the service waits for. */
  readonly inBackground: (work: Promise<void>) => void
  /** Goes on with what was left undone when a service ended, and looks for more of it from time to time. */
  readonly start: () => Promise<void>
  /** Gives all work back, and ends the sandboxes. */
  readonly close: () => Promise<void>
}

/** Puts a control plane together; nothing is done before it is asked for, or started. */
export function createPlane(
  lifecycle: Lifecycle,
  onFailure: (error: unknown) => void,
  options: ControlPlaneOptions = {},
): ControlPlane {
  const { provider = null, maxSandboxes = 5, sandboxTimeout = 120_000, staleAfter = 15_000 } = options
  const { store } = lifecycle.engine
  const report = (error: unknown): void => {
    // Work that is cut off by the end of the service is no failure.
    if (!hasCode(error, 'closed') && !hasCode(error, 'store_closed')) onFailure(error)
  }
  const sandboxes = new Sandboxes(store, { provider, most: maxSandboxes })
  const context = { lifecycle, sandboxes }
  const tasks: StartTasks = new StartTasks(context, {
    sandboxTimeout,
    staleAfter,
    onReady: (id) => pending.deliver(id),
    onFailed: options.onStartFailed ?? (() => undefined),
    onFailure: report,
  })
  const pending = new PendingMessages(context, tasks, report, staleAfter)
  const background = new Set<Promise<void>>()
  const inBackground = (work: Promise<void>): void => {
    const done = work.catch(report).finally(() => background.delete(done))
    background.add(done)
  }
  const deletions = new Deletions({ lifecycle, tasks, pending }, staleAfter, report)
  const lookAround = async (): Promise<void> => {
    await tasks.worker.startDue()
    await deletions.worker.startDue()
    for (const id of await sandboxes.sweep()) inBackground(whenUp(id))
    await pending.worker.startDue()
  }
  const closing = new AbortController()
  const whenUp = async (id: string): Promise<void> => {
    const until = performance.now() + sandboxTimeout
    while (
      !closing.signal.aborted &&
      performance.now() < until &&
      (await sandboxes.state(id)).status === 'STARTING'
    ) {
      await pause(50, closing.signal)
    }
    if (!closing.signal.aborted) await pending.deliverIn(id)
  }
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    ...context,
    store,
    tasks,
    pending,
    deletions,
    inTurn: serialQueue(),
    inBackground,
    whenUp,
    async start() {
      timer ??= setInterval(() => inBackground(lookAround()), staleAfter)
      await lookAround()
    },
    async close() {
      clearInterval(timer)
      closing.abort()
      await tasks.close()
      await pending.close()
      await deletions.worker.close()
      await Promise.allSettled(background)
      await provider?.close()
    },
  }
}
