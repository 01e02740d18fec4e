/** Who waits for news of which conversation: callbacks go in, and are called when somebody says that there are some. */

import type { Unwatch } from './store.ts'

interface Watch {
  readonly wake: () => void
}

/** The watches of one store within its process. */
export class Watches {
  readonly #watches = new Map<string, Set<Watch>>()

  /** Watches a conversation, which need not exist, until the function that it returns is called. O(1). */
  add(conversationId: string, wake: () => void): Unwatch {
    const watch: Watch = { wake }
    const all = this.#watches.get(conversationId) ?? new Set()
    this.#watches.set(conversationId, all.add(watch))
    return () => {
      all.delete(watch)
      if (all.size === 0 && this.#watches.get(conversationId) === all) this.#watches.delete(conversationId)
    }
  }

  /** Calls those who watch a conversation, soon but not at once: what they throw is theirs, and fails no append. O(watches). */
  wake(conversationId: string): void {
    for (const watch of this.#watches.get(conversationId) ?? []) {
      void Promise.resolve().then(() => {
        if (this.#watches.get(conversationId)?.has(watch) === true) watch.wake()
      })
    }
  }

  /** The conversations that anybody watches. */
  ids(): Iterable<string> {
    return this.#watches.keys()
  }

  /** Ends all watches. */
  clear(): void {
    this.#watches.clear()
  }
}
