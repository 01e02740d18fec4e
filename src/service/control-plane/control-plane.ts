import { checkOptionNames } from '../../event/check-value.ts'
import { hasCode } from '../../event/errors.ts'
import type { Store } from '../../store/contract/store.ts'
import type { Lifecycle } from '../conversations/conversations.ts'
import { Deletions } from './deletions.ts'
import type { ControlPlaneContext } from './app-conversations.ts'
import { type RunInOrder, serialQueue } from '../../conversation/async.ts'
import { PendingMessages } from './pending-messages.ts'
import type { SandboxProvider } from './sandbox-provider.ts'
import { Sandboxes } from './sandboxes.ts'
import { type StartTask, StartTasks } from './start-tasks.ts'

/** Options of the control plane. */
export interface ControlPlaneOptions {
  /** Runs the sandboxes. `close` also closes the provider. Default: none; conversations run in the service. */
  readonly provider?: SandboxProvider
  /** Maximum number of running sandboxes whose spec has a command. Starting one more pauses the oldest. Default: 5. */
  readonly maxSandboxes?: number
  /** Maximum milliseconds for a sandbox to start. Default: 120,000. */
  readonly sandboxTimeout?: number
  /** Milliseconds after which another process continues the work of a crashed process. Default: 15,000. */
  readonly staleAfter?: number
  /** Called with each failed start task. Its `agent_server_url` is null. Default: none. */
  readonly onStartFailed?: (task: StartTask) => void
}

/** Starts conversations and their sandboxes. */
export interface ControlPlane extends ControlPlaneContext {
  readonly store: Store
  readonly tasks: StartTasks
  readonly pending: PendingMessages
  readonly deletions: Deletions
  /** Delivers pending messages in the background once a sandbox runs; `close` waits for the delivery. */
  readonly deliverWhenUp: (sandboxId: string) => void
  /** Runs changes of records one after the other, so that no change undoes another. */
  readonly inTurn: RunInOrder
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}

export function createPlane(
  lifecycle: Lifecycle,
  onFailure: (error: unknown) => void,
  options: ControlPlaneOptions = {},
): ControlPlane {
  checkOptionNames(options, 'provider maxSandboxes sandboxTimeout staleAfter onStartFailed')
  const { provider = null, maxSandboxes = 5, sandboxTimeout = 120_000, staleAfter = 15_000 } = options
  const { store } = lifecycle.engine
  const report = (error: unknown): void => {
    // Work interrupted by the shutdown has not failed.
    if (!hasCode(error, 'closed') && !hasCode(error, 'store_closed')) onFailure(error)
  }
  const sandboxes = new Sandboxes(store, { provider, limit: maxSandboxes })
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
  const workers = [tasks.worker, deletions.worker, pending.worker]
  const continueWork = async (): Promise<void> => {
    for (const worker of workers) await worker.startDue()
    for (const id of await sandboxes.sweep()) deliverWhenUp(id)
  }
  const closing = new AbortController()
  const whenUp = async (id: string): Promise<void> => {
    await sandboxes.settled(id, sandboxTimeout, closing.signal)
    if (!closing.signal.aborted) await pending.deliverIn(id)
  }
  const deliverWhenUp = (id: string): void => inBackground(whenUp(id))
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    ...context,
    store,
    tasks,
    pending,
    deletions,
    inTurn: serialQueue(),
    deliverWhenUp,
    async start() {
      timer ??= setInterval(() => inBackground(continueWork()), staleAfter)
      await continueWork()
    },
    async close() {
      clearInterval(timer)
      closing.abort()
      for (const worker of workers) await worker.close()
      await Promise.allSettled(background)
      await provider?.close()
    },
  }
}
