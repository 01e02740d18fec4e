import { altered, type Fault } from './altered.ts'

export const FEED_FAULTS: readonly Fault[] = [
  [
    'goes on behind the page that it would have given without a limit',
    'feed: pages of any size return all past changes once and in order, then new ones',
    () =>
      altered((inner) => ({
        async feed(query = {}) {
          const { next } = await inner.feed({ ...query, limit: 100 })
          return { ...(await inner.feed(query)), next }
        },
      })),
  ],
  [
    'tells no deletions',
    'feed: a deletion is reported before a new conversation with the same id',
    () =>
      altered((inner) => ({
        async feed(query) {
          const page = await inner.feed(query)
          return { ...page, items: page.items.filter(({ type }) => type !== 'deleted') }
        },
      })),
  ],
  [
    'takes a lease for a change',
    'feed: calls that are rejected or change nothing are not reported',
    () =>
      altered((inner) => ({
        async acquireLease(id, owner, ttl) {
          await inner.updateConversation(id, {})
          return inner.acquireLease(id, owner, ttl)
        },
      })),
  ],
]
