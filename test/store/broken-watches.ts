import { altered, type Fault } from './altered.ts'

export const WATCH_FAULTS: readonly Fault[] = [
  [
    'does not wake watchers on deletion',
    'watch: a deletion, and recreation with the same id, notify the watchers',
    () =>
      altered((inner) => ({
        watch: (id, wake) =>
          inner.watch(id, (news) => {
            const wakeIf = async (): Promise<void> =>
              (await inner.getConversation(id ?? '')) === null ? undefined : wake(news)
            void wakeIf()
          }),
      })),
  ],
  [
    'omits leases that expire after the largest safe integer',
    'lease: lists contain a lease of the maximum duration',
    () =>
      altered((inner) => ({
        listLeases: async (query) =>
          (await inner.listLeases(query)).filter(({ expiresAt }) => expiresAt <= Number.MAX_SAFE_INTEGER),
      })),
  ],
]
