/** Listeners of one kind of news, each called by itself: one that throws costs no other its news. */

import { EventEmitter } from 'eventemitter3'

/** A set of callbacks. */
export class Listeners<T> {
  readonly #emitter = new EventEmitter<'news'>()

  /**
   * Adds one, also when it was added before; returns what removes it, at once. What it throws becomes a rejection that
   * nothing handles, as of any callback that nothing waits for. O(listeners) to remove.
   */
  add(call: (news: T) => void): () => void {
    let listens = true
    const guarded = (news: T): void => {
      // An emitter still calls what was removed while it was calling.
      if (!listens) return
      try {
        call(news)
      } catch (error) {
        void Promise.reject(error)
      }
    }
    this.#emitter.on('news', guarded)
    return () => {
      listens = false
      this.#emitter.off('news', guarded)
    }
  }

  /** Calls all that there are; those added by them hear the next news. Never throws. O(listeners). */
  tell(news: T): void {
    this.#emitter.emit('news', news)
  }
}
