import { ColloquyError } from '../../src/event/errors.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

export const altered = (change: (inner: Store) => Partial<Store>): Store => {
  const inner = memoryStore()
  return { ...inner, ...change(inner) }
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A fault, the kit case that must detect it, and a store that has it. */
export type Fault = readonly [fault: string, finder: string, make: () => Store]

/** Wraps a store. Closing the wrapper leaves the store open, as the end of a process leaves its database. */
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
