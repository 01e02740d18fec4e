/**
 * The watches of one store within its process, by conversation: an append wakes them, and none of them can fail or
 * delay it.
 */

import { EventEmitter } from 'eventemitter3'
import type { Unwatch } from '../contract/store.ts'

/** The watches of one store within its process. */
export class Watches {
  /** An event for each conversation, named by its id. */
  #emitter = new EventEmitter<string>()

  /** Watches a conversation, which need not exist, until the function that it returns is called. O(1). */
  add(conversationId: string, wake: () => void): Unwatch {
    const emitter = this.#emitter
    let watching = true
    const wakeSoon = (): void => {
      void Promise.resolve().then(() => {
        if (watching && emitter === this.#emitter) wake()
      })
    }
    emitter.on(conversationId, wakeSoon)
    return () => {
      watching = false
      emitter.off(conversationId, wakeSoon)
    }
  }

  /**
   * Calls those who watch a conversation, soon but not at once: what they throw is theirs, and fails no append.
   * O(watches).
   */
  wake(conversationId: string): void {
    this.#emitter.emit(conversationId)
  }

  /** The conversations that anybody watches. */
  ids(): Iterable<string> {
    return this.#emitter.eventNames()
  }

  /** Ends all watches. */
  clear(): void {
    this.#emitter = new EventEmitter()
  }
}
