/** The store of a process that can be delayed or killed: earlier calls finish, later ones wait or never run. */

import { ColloquyError } from '../../src/event/errors.ts'
import type { Store } from '../../src/store/contract/store.ts'

export interface Killable {
  readonly store: Store
  /** Dies in the n-th call from now: the call succeeds, but its caller gets no result. */
  readonly dieAfter: (calls: number) => void
  /** Delays the n-th call from now. */
  readonly holdAfter: (calls: number, milliseconds: number) => void
  readonly isDead: () => boolean
}

/** The wrapped store stays usable. */
export function killable(store: Store): Killable {
  let remaining = Infinity
  let free = Infinity
  let hold = 0
  let blocked: Promise<void> = Promise.resolve()
  return {
    dieAfter: (calls) => void (remaining = Math.min(remaining, calls)),
    holdAfter: (calls, milliseconds) => {
      free = calls
      hold = milliseconds
    },
    isDead: () => remaining <= 0,
    store: new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'watch') return value.bind(target)
        return async (...args: unknown[]): Promise<unknown> => {
          if (free <= 0) {
            free = Infinity
            blocked = new Promise((resolve) => void setTimeout(resolve, hold))
          }
          free -= 1
          await blocked
          if (remaining <= 0) throw dead()
          remaining -= 1
          const result: unknown = await value.apply(target, args)
          if (remaining <= 0) throw dead()
          return result
        }
      },
    }),
  }
}

const dead = (): ColloquyError => new ColloquyError('store_closed', 'The process is dead.', {})
