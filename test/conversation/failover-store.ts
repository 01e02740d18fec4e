/** A store whose database loses the end of its log, as after a failover or a restored backup. */

import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { wrapStore } from './stores.ts'

export interface FailoverStore {
  readonly store: Store
  /** Truncates the log to its first events; can wake watchers, as a lost connection does. */
  readonly failOver: (length: number, wakes: boolean) => Promise<void>
}

export async function failoverStore(): Promise<FailoverStore> {
  let current = memoryStore()
  const wakes = new Set<() => void>()
  await current.createConversation({ id: 'c' })
  const store = new Proxy(current, {
    get(_target, name) {
      if (name === 'watch') return watch
      const value: unknown = Reflect.get(current, name)
      return typeof value === 'function' ? value.bind(current) : value
    },
  })
  const watch: Store['watch'] = (_id, wake) => {
    wakes.add(wake)
    return () => void wakes.delete(wake)
  }
  const follow = (next: Store): void => {
    next.watch('c', () => {
      for (const wake of wakes) wake()
    })
  }
  follow(current)
  return {
    store: wrapStore(store, {}),
    async failOver(length, wakesThem) {
      const stored = (await current.read('c', { limit: 1_000_000 })).slice(0, length)
      const next = memoryStore()
      await next.createConversation({ id: 'c' })
      const facts = stored.map(({ fact }) => fact)
      if (facts.length > 0) await next.append('c', facts, { mode: 'import' })
      current = next
      follow(current)
      if (wakesThem) for (const wake of wakes) wake()
    },
  }
}
