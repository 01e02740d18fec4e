import { EventEmitter } from 'eventemitter3'
import type { Unwatch, Wake } from '../contract/store.ts'

const ANY = Symbol('any conversation')

/** The watches of a store in this process. */
export class Watches {
  #emitter = new EventEmitter<string | symbol>()
  #count = 0

  /** Watches all conversations (null) or one, which need not exist. The returned function ends the watch. O(1). */
  add(conversationId: string | null, wake: Wake): Unwatch {
    const emitter = this.#emitter
    const name = conversationId ?? ANY
    let watching = true
    const wakeSoon = (id?: string): void => {
      void Promise.resolve().then(() => {
        if (watching && emitter === this.#emitter) wake(id)
      })
    }
    emitter.on(name, wakeSoon)
    this.#count += 1
    return () => {
      if (watching && emitter === this.#emitter) this.#count -= 1
      watching = false
      emitter.off(name, wakeSoon)
    }
  }

  /** Calls the watchers of a conversation soon. Exceptions become unhandled rejections. O(watches). */
  wake(conversationId: string): void {
    this.#emitter.emit(conversationId, conversationId)
    this.#emitter.emit(ANY, conversationId)
  }

  /** Calls all watchers, when it is unknown which conversations changed. O(watches). */
  wakeAll(): void {
    this.#emitter.emit(ANY)
    for (const id of this.ids()) this.#emitter.emit(id, id)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  ids(): Iterable<string> {
    return this.#emitter.eventNames().filter((name) => typeof name === 'string')
  }

  clear(): void {
    this.#emitter = new EventEmitter()
    this.#count = 0
  }
}
