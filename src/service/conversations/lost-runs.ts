/** The look that a service takes now and then after runs of processes that died, and have left work to do. */

import type { Engine } from '../../conversation/engine.ts'
import { ColloquyError, hasCode } from '../../event/errors.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { type Job } from '../jobs.ts'
import { wasHandled } from './run-progress.ts'
import { positionOf, type Runs, type WantedRun } from './runs.ts'
import { isOfService } from './transient.ts'

/** A failure of the store alone, as a service's own log has it. */
type OnFailure = (error: unknown) => void

const PAGE = 100

/** Looks after the runs of processes that died: when it starts, and then at an interval. */
export class LostRuns {
  readonly #engine: Engine
  readonly #runs: Runs
  readonly #interval: number
  readonly #onFailure: OnFailure
  #timer: ReturnType<typeof setTimeout> | undefined
  #looking: Promise<void> = Promise.resolve()
  #closed = false

  /** @param interval milliseconds between two looks */
  constructor(engine: Engine, runs: Runs, interval: number, onFailure: OnFailure) {
    this.#engine = engine
    this.#runs = runs
    this.#interval = interval
    this.#onFailure = onFailure
  }

  /** Begins to look; what it finds is run in the background. */
  start(): void {
    if (this.#closed) return
    this.#looking = this.look()
      .catch((error: unknown) => {
        if (!hasCode(error, 'closed') && !hasCode(error, 'store_closed')) this.#onFailure(error)
      })
      .finally(() => {
        if (!this.#closed) this.#timer = setTimeout(() => this.start(), this.#interval)
      })
  }

  /** Looks no more; resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  /**
   * Takes over every conversation whose lease has expired: those with work to do are run, for as long as there is room,
   * and all others are recovered; and every command to run that such a process has kept. O(leases that were not given
   * back, commands that are due), and a fold of each that has expired.
   */
  async look(): Promise<void> {
    const { store } = this.#engine
    await this.#carryOutCommands()
    let page
    let after: string | undefined
    do {
      page = await store.listLeases({ expired: true, limit: PAGE, ...(after !== undefined && { after }) })
      for (const { conversationId: id } of page) {
        if (this.#closed) return
        if (this.#runs.has(id)) continue
        try {
          await this.#runs.takeOver(await this.#engine.open(id), true)
        } catch (error) {
          if (hasCode(error, 'unknown_conversation')) continue
          if (isOfService(error)) throw error
          // What one conversation suffers from keeps no other one back.
          this.#onFailure(error)
        }
      }
      after = page.at(-1)?.conversationId
    } while (page.length === PAGE)
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
          if (hasCode(error, 'unknown_conversation')) await job.finish()
          else {
            job.abandon()
            this.#onFailure(error)
          }
        }
      }
    } while (jobs.length === MAX_PAGE_SIZE)
  }
}
