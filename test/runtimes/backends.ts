/** Only the memory store, which works in every runtime. `npm test` runs the same tests over databases too. */

import { memoryStore } from '../../src/store/memory/store.ts'

export const backends = () => ({
  names: ['memory'],
  async make() {
    const store = memoryStore()
    return { location: '', open: () => ({ ...store, close: async () => undefined }) }
  },
  remove: async () => undefined,
})
