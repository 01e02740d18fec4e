/** By which status a conversation is listed: said by the process that sees another one in its log. */

import type { State } from '../state/state.ts'
import type { Store } from '../store/contract/store.ts'

/** What this process knows of the status that the store lists a conversation by. */
export class ListedStatus {
  readonly #store: Store
  readonly #id: string
  #known: string | null = null
  /** The length of the log for which that is known. */
  #at = 0

  constructor(store: Store, id: string) {
    this.#store = store
    this.#id = id
  }

  /**
   * The same after an append of this process to a log of so many events, null where others have appended besides: they
   * may have had it listed by another status.
   */
  async appended(state: State, to: number | null): Promise<void> {
    await this.say(state, to === this.#at ? this.#known : null)
  }

  /**
   * Has the conversation listed by the status of a state, unless its log has gone on: who appended says it then. A
   * process that dies before it does leaves that to the next reader of the conversation.
   * @param known what a record that was just read has
   */
  async say({ header, log }: State, known: string | null): Promise<void> {
    this.#known = known
    this.#at = log.entries.length
    if (header.status === known) return
    try {
      if (await this.#store.setStatus(this.#id, header.status, this.#at)) this.#known = header.status
    } catch {
      // The log says it; a store that cannot be written to says so to the writers.
    }
  }
}
