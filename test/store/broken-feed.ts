import { altered, type Fault } from './altered.ts'

export const FEED_FAULTS: readonly Fault[] = [
  [
    'returns a cursor beyond the limit of the page',
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
    'omits deletions',
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
    'reports an acquired lease as a change',
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
