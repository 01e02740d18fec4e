import type { Engine } from '../../conversation/engine.ts'
import { expiredLeases } from '../../conversation/recover.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { type Job } from '../../conversation/jobs.ts'
import { wasHandled } from './run-progress.ts'
import { isOfService, positionOf, type Runs, type WantedRun } from './runs.ts'
import type { WorkingCalls } from './working-calls.ts'

type OnFailure = (error: unknown) => void

export class LostRuns {
  readonly #engine: Engine
  readonly #runs: Runs
  readonly #workingCalls: WorkingCalls
  readonly #interval: number
  readonly #onFailure: OnFailure
  #timer: ReturnType<typeof setTimeout> | undefined
  #checking: Promise<void> = Promise.resolve()
  #closed = false

  constructor(
    engine: Engine,
    runs: Runs,
    workingCalls: WorkingCalls,
    interval: number,
    onFailure: OnFailure,
  ) {
    this.#engine = engine
    this.#runs = runs
    this.#workingCalls = workingCalls
    this.#interval = interval
    this.#onFailure = onFailure
  }

  start(): void {
    if (this.#closed) return
    this.#checking = this.check()
      .catch((error: unknown) => {
        if (!hasCode(error, 'closed') && !hasCode(error, 'store_closed')) this.#onFailure(error)
      })
      .finally(() => {
        if (!this.#closed) this.#timer = setTimeout(() => this.start(), this.#interval)
      })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#workingCalls.close()
    await this.#checking
  }

  /**
   * Executes due run commands, then handles expired leases: continues each unfinished run if a slot is free,
   * and recovers conversations without an unfinished run.
   */
  async check(): Promise<void> {
    await this.#carryOutCommands()
    await this.#workingCalls.startDue()
    for await (const id of expiredLeases(this.#engine.store)) {
      if (this.#closed) return
      if (this.#runs.has(id)) continue
      try {
        await this.#runs.takeOver(await this.#engine.open(id), true)
      } catch (error) {
        if (hasCode(error, 'unknown_conversation')) continue
        if (isOfService(error)) throw error
        // A failure of one conversation does not affect the others.
        this.#onFailure(error)
      }
    }
  }

  async #carryOutCommands(): Promise<void> {
    const { store } = this.#engine
    let jobs: readonly Job<WantedRun>[]
    do {
      jobs = this.#runs.possible ? await this.#runs.wanted.claim() : []
      for (const [index, job] of jobs.entries()) {
        const { conversation_id: id } = job.record
        try {
          if (this.#closed) throw new ColloquyError('closed', 'The service is shutting down.')
          const conversation = await this.#engine.open(id)
          const from = await positionOf(store, job.record)
          if (from === null || (await wasHandled(store, id, from))) await job.finish()
          else this.#runs.join(conversation, from, job).catch(() => undefined)
        } catch (error) {
          if (isOfService(error)) {
            for (const rest of jobs.slice(index)) rest.abandon()
            throw error
          }
          // If the store fails now, this process must not keep the remaining jobs.
          if (hasCode(error, 'unknown_conversation')) await job.finish().catch(() => job.abandon())
          else {
            job.abandon()
            this.#onFailure(error)
          }
        }
      }
    } while (jobs.length === MAX_PAGE_SIZE)
  }
}
