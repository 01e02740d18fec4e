import type { Conversation } from '../../conversation/conversation.ts'
import { workExpiresAt } from '../../conversation/background.ts'
import type { Engine } from '../../conversation/engine.ts'
import { type Job, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { expiredLeases } from '../../conversation/recover.ts'
import type { Step, Yielded } from '../../conversation/run/step.ts'
import { completionOf, isWorkingResult } from '../../event/completion.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import { isOnPathIn } from '../../log/entry.ts'
import { listWorkingCalls } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { wasHandled } from './run-progress.ts'
import { isOfService, positionOf, type Runs, type WantedRun } from './runs.ts'

/**
 * A conversation with calls that are running in the background. The service has not yet handled the
 * completions at position `from` or later in its log.
 */
interface WatchedConversation {
  readonly conversation_id: string
  readonly from: number
}

/** Whether the completion just before `from` can start a run. A completion outside HEAD's branch cannot. */
export const canRunAfterCompletion = ({ header: { status }, log }: State, from: number): boolean => {
  const completion = log.entries.get(from - 1)
  if (completion === undefined || !isOnPathIn(completion, log.head)) return false
  return status === 'idle' || status === 'running'
}

interface LostRunsParts {
  readonly engine: Engine
  readonly runs: Runs
  /** Milliseconds that a lease of a run lasts. */
  readonly leaseTtl: number
  readonly onFailure: (error: unknown) => void
}

/**
 * At each check, starts requested runs and continues runs whose process died. Continues a run at once when its
 * background call has ended. Stores a job before a run appends its first `WorkingObservation`, so that after a
 * crash another process watches the call.
 */
export class LostRuns {
  readonly #parts: LostRunsParts
  readonly #interval: number
  readonly #watched: Jobs<WatchedConversation>
  readonly #watcher: JobWorker<WatchedConversation>
  readonly #closing = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #checking: Promise<void> = Promise.resolve()

  constructor(parts: LostRunsParts) {
    const { engine, leaseTtl: ttl, onFailure } = parts
    this.#parts = parts
    this.#interval = ttl / 3
    this.#watched = new Jobs({ store: engine.store, collection: 'working-calls', ttl })
    this.#watcher = new JobWorker(this.#watched, (job, signal) => this.#watch(job, signal), onFailure)
  }

  start(): void {
    if (this.#isClosed) return
    this.#checking = this.check()
      .catch((error: unknown) => {
        if (!hasCode(error, 'closed') && !hasCode(error, 'store_closed')) this.#parts.onFailure(error)
      })
      .finally(() => {
        if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), this.#interval)
      })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#watcher.close()
    await this.#checking
  }

  /**
   * Executes due requests for runs, and watches the calls of dead processes. Then handles expired leases:
   * continues each unfinished run if a slot is free, and recovers conversations without an unfinished run.
   */
  async check(): Promise<void> {
    const { engine, runs, onFailure } = this.#parts
    await this.#carryOutCommands()
    if (runs.possible) await this.#watcher.startDue()
    for await (const id of expiredLeases(engine.store)) {
      if (this.#isClosed) return
      if (runs.has(id)) continue
      try {
        await runs.takeOver(await engine.open(id), true)
      } catch (error) {
        if (hasCode(error, 'unknown_conversation')) continue
        if (isOfService(error)) throw error
        // A failure of one conversation does not affect the others.
        onFailure(error)
      }
    }
  }

  /** Wraps a step. Once the step yields a background call, this service watches the conversation. */
  watched(conversation: Conversation, step: Step): Step {
    let job: Job<WatchedConversation> | null = null
    const begin = async (): Promise<void> => {
      const { id } = conversation
      const from = (await conversation.state()).log.entries.length
      job = await this.#watched.take(id, (before) => before ?? { conversation_id: id, from })
      const watch = (): void => {
        unlisten()
        if (job !== null) this.#watcher.start(job)
        job = null
      }
      const unlisten = this.#parts.runs.onEnd(id, watch)
      // An interrupt may have ended the run meanwhile.
      if (!this.#parts.runs.has(id)) watch()
    }
    const call: Step = async function* (input) {
      if (typeof step !== 'function')
        throw new TypeError('The agent returned no step. Pass `agent: () => step`.')
      for await (const yielded of await step(input)) {
        if (job === null && eventsOf(yielded).some(isWorkingResult)) await begin()
        yield yielded
      }
    }
    return Object.assign(call, step)
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #carryOutCommands(): Promise<void> {
    const { engine, runs, onFailure } = this.#parts
    const { store } = engine
    let jobs: readonly Job<WantedRun>[]
    do {
      jobs = runs.possible ? await runs.wanted.claim() : []
      for (const [index, job] of jobs.entries()) {
        const { conversation_id: id } = job.record
        try {
          if (this.#isClosed) throw new ColloquyError('closed', 'The service is shutting down.')
          const conversation = await engine.open(id)
          const from = await positionOf(store, job.record)
          if (from === null || (await wasHandled(store, id, from))) await job.finish()
          else runs.join(conversation, from, job).catch(() => undefined)
        } catch (error) {
          if (isOfService(error)) {
            for (const rest of jobs.slice(index)) rest.abandon()
            throw error
          }
          // If the store fails now, this process must not keep the remaining jobs.
          if (hasCode(error, 'unknown_conversation')) await job.finish().catch(() => job.abandon())
          else {
            job.abandon()
            onFailure(error)
          }
        }
      }
    } while (jobs.length === MAX_PAGE_SIZE)
  }

  async #watch(job: Job<WatchedConversation>, signal: AbortSignal): Promise<void> {
    let timer: ReturnType<typeof setInterval> | undefined
    try {
      const conversation = await this.#parts.engine.open(job.id)
      const check = (): void => void this.#continueLost(conversation).catch(this.#parts.onFailure)
      timer = setInterval(check, this.#interval)
      check()
      for await (const item of conversation.subscribe({ after: job.record.from - 1, signal })) {
        if (item.type === 'reset') break
        const isCompletion =
          item.type === 'event' && !isQuarantined(item.fact) && completionOf(item.fact) !== null
        if (isCompletion) {
          const from = item.seq + 1
          await this.#runFrom(conversation, from)
          job.record = { ...job.record, from }
          await job.save()
        }
        const isChecked = isCompletion || item.type === 'caught_up'
        if (isChecked && listWorkingCalls(await conversation.state()).length === 0) break
      }
      await (signal.aborted ? job.release(0) : job.finish())
    } catch (error) {
      if (hasCode(error, 'unknown_conversation')) await job.finish()
      else if (!signal.aborted) throw error
    } finally {
      clearInterval(timer)
    }
  }

  async #runFrom(conversation: Conversation, from: number): Promise<void> {
    if (await wasHandled(this.#parts.engine.store, conversation.id, from)) return
    if (canRunAfterCompletion(await conversation.state(), from))
      await this.#parts.runs.join(conversation, from)
  }

  /** Starts a run after the process of a working call died: the run continues the call, or ends it as lost. */
  async #continueLost(conversation: Conversation): Promise<void> {
    const state = await conversation.state()
    const expiry = await workExpiresAt(this.#parts.engine.store, conversation.id, state)
    if (expiry === null || expiry > Date.now() || this.#closing.signal.aborted) return
    if (['idle', 'running', 'finished', 'stuck'].includes(state.header.status))
      await this.#parts.runs.join(conversation, state.log.entries.length)
  }
}

function eventsOf(yielded: Yielded): readonly Event[] {
  if ('kind' in yielded) return [yielded]
  return 'events' in yielded ? yielded.events : yielded
}
