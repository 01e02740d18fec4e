/** A store whose calls a scheduler orders, and a secret box without delays. */

import type fc from 'fast-check'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { SecretBox } from '../../src/service/settings/secret-box.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** Seals without delay. */
export const BOX: SecretBox = {
  isOpen: false,
  seal: async (_, value) => ({ sealed: JSON.stringify(value) }),
  open: async (_, stored) => ('sealed' in stored ? (JSON.parse(stored.sealed) as JsonObject) : stored.open),
}

/** Delays each store call until the scheduler releases it. */
export const scheduledStore = (store: Store, scheduler: fc.Scheduler): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name === 'watch') return value.bind(target)
      return async (...input: unknown[]): Promise<unknown> => {
        await scheduler.schedule(Promise.resolve(), String(name))
        return value.apply(target, input)
      }
    },
  })
