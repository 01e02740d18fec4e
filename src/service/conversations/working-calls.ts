import type { Conversation } from '../../conversation/conversation.ts'
import { workExpiresAt } from '../../conversation/background.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { Step, Yielded } from '../../conversation/run/step.ts'
import { completionOf, isWorkingResult } from '../../event/completion.ts'
import { hasCode } from '../../event/errors.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import { listWorkingCalls } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { type Job, Jobs, JobWorker } from '../../conversation/jobs.ts'
import { wasHandled } from './run-progress.ts'
import type { Runs } from './runs.ts'

/**
 * A conversation with calls that are running in the background. Completions at `from` or later in its log
 * have not been handled.
 */
interface WatchedConversation {
  readonly conversation_id: string
  readonly from: number
}

export const canRunAfterCompletion = ({ header: { status } }: State): boolean =>
  status === 'idle' || status === 'running'

/**
 * Watches conversations with working calls, and runs a conversation again when a call ends. Stores a job
 * before a run appends its first `WorkingObservation`, so that another process continues after a crash.
 */
export class WorkingCalls {
  readonly #engine: Engine
  readonly #runs: Runs
  readonly #interval: number
  readonly #onFailure: (error: unknown) => void
  readonly #jobs: Jobs<WatchedConversation>
  readonly #worker: JobWorker<WatchedConversation>
  readonly #closing = new AbortController()

  constructor(engine: Engine, runs: Runs, ttl: number, onFailure: (error: unknown) => void) {
    this.#engine = engine
    this.#runs = runs
    this.#interval = ttl / 3
    this.#onFailure = onFailure
    this.#jobs = new Jobs({ store: engine.store, collection: 'working-calls', ttl })
    this.#worker = new JobWorker(this.#jobs, (job) => this.#watch(job), onFailure)
  }

  watched(conversation: Conversation, step: Step): Step {
    let job: Job<WatchedConversation> | null = null
    const begin = async (): Promise<void> => {
      const { id } = conversation
      const from = (await conversation.state()).log.entries.length
      job = await this.#jobs.take(id, (before) => before ?? { conversation_id: id, from })
      const watch = (): void => {
        unlisten()
        if (job !== null) this.#worker.start(job)
        job = null
      }
      const unlisten = this.#runs.onEnd(id, watch)
      // An interrupt may have ended the run meanwhile.
      if (!this.#runs.has(id)) watch()
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

  /** Starts to watch conversations whose process has died. */
  async startDue(): Promise<void> {
    if (this.#runs.possible) await this.#worker.startDue()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#worker.close()
  }

  async #watch(job: Job<WatchedConversation>): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, job.lost])
    let timer: ReturnType<typeof setInterval> | undefined
    try {
      const conversation = await this.#engine.open(job.id)
      const check = (): void => void this.#continueLost(conversation).catch(this.#onFailure)
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
    if (await wasHandled(this.#engine.store, conversation.id, from)) return
    if (canRunAfterCompletion(await conversation.state())) await this.#runs.join(conversation, from)
  }

  /** Starts a run after the process of a working call died: the run continues the call, or ends it as lost. */
  async #continueLost(conversation: Conversation): Promise<void> {
    const state = await conversation.state()
    const expiry = await workExpiresAt(this.#engine.store, conversation.id, state)
    if (expiry === null || expiry > Date.now() || this.#closing.signal.aborted) return
    if (['idle', 'running', 'finished', 'stuck'].includes(state.header.status))
      await this.#runs.join(conversation, state.log.entries.length)
  }
}

function eventsOf(yielded: Yielded): readonly Event[] {
  if ('kind' in yielded) return [yielded]
  return 'events' in yielded ? yielded.events : yielded
}
