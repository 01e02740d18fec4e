import type { Store } from '../../src/store/contract/store.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'

/** A whole log, read in pages. */
export async function logOf(store: Store, id = 'c'): Promise<StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const part = await store.read(id, { from: all.length, limit: 500 })
    all.push(...part)
    if (part.length < 500) return all
  }
}

export const wrapStore = (store: Store, calls: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(Object.hasOwn(calls, name) ? calls : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** Reports every call with its method and arguments. */
export const spyStore = (store: Store, onCall: (method: string, input: readonly unknown[]) => void): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...input: unknown[]): unknown => {
        onCall(String(name), input)
        return Reflect.apply(value, target, input)
      }
    },
  })
