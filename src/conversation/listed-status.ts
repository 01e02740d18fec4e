/** By which status a conversation is listed: said by the process that sees another one in its log. */

import type { State } from '../state/state.ts'
import type { Store } from '../store/contract/store.ts'

/** What this process knows of the status that the store lists a conversation by. */
export class ListedStatus {
  readonly #store: Store
  readonly #id: string
  #known: string | null = null

  constructor(store: Store, id: string) {
    this.#store = store
    this.#id = id
  }

  /** Others have appended: they may have had it listed by another status. */
  forget(): void {
    this.#known = null
  }

  /**
   * Has the conversation listed by the status of a state, unless its log has gone on: who appended says it then. A
   * process that dies before it does leaves that to the next reader of the conversation.
   * @param known what a record that was just read has
   */
  async say({ header, log }: State, known = this.#known): Promise<void> {
    this.#known = known
    if (header.status === known) return
    try {
      if (await this.#store.setStatus(this.#id, header.status, log.entries.length))
        this.#known = header.status
    } catch {
      // The log says it; a store that cannot be written to says so to the writers.
    }
  }
}
