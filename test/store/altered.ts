/** Memory stores with something changed: what broken stores, and stores of a process that ends, are made of. */

import { ColloquyError } from '../../src/event/errors.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

/** A memory store with some methods replaced. */
export const altered = (change: (inner: Store) => Partial<Store>): Store => {
  const inner = memoryStore()
  return { ...inner, ...change(inner) }
}

/** Lets others come in between. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A fault, the case of the kit that must find it, and a store that has it. */
export type Fault = readonly [fault: string, finder: string, make: () => Store]

/** A way into a store that can be closed without closing the store: as a process that ends, whose data does not. */
export function handle(inner: Store): Store {
  let closed = false
  const guarded = Object.entries(inner).map(([name, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [name, value]
    if (name === 'close') return [name, async () => void (closed = true)]
    const guard = (...inputs: readonly unknown[]): unknown => {
      if (!closed) return Reflect.apply(value, inner, inputs)
      const error = new ColloquyError('store_closed', 'closed')
      if (name === 'watch') throw error
      return Promise.reject(error)
    }
    return [name, guard]
  })
  return Object.fromEntries(guarded) as Store
}
