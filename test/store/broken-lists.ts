import { altered, type Fault } from './altered.ts'

export const LIST_FAULTS: readonly Fault[] = [
  [
    'ends a list at an empty page',
    'list: a rare value is found through pages that can be short and have a cursor',
    () =>
      altered((inner) => ({
        async listConversations(query) {
          const page = await inner.listConversations(query)
          return { ...page, cursor: page.items.length === 0 ? null : page.cursor }
        },
      })),
  ],
  [
    'updates the conversation when a status is set',
    'list: a status belongs to a version of the log, and setting it does not update the conversation',
    () =>
      altered((inner) => ({
        async setStatus(...input) {
          const isSet = await inner.setStatus(...input)
          if (isSet) await inner.updateConversation(input[0], {})
          return isSet
        },
      })),
  ],
  [
    'ignores `expected` in updateConversation',
    'record: concurrent changes that pass `expected` lose no metadata',
    () => altered((inner) => ({ updateConversation: (id, patch) => inner.updateConversation(id, patch) })),
  ],
  [
    'counts only the first page of items',
    'items: a count equals the list',
    () =>
      altered((inner) => ({
        async countItems(collection, filter) {
          return {
            count: (await inner.listItems(collection, { ...filter, limit: 7 })).items.length,
            more: false,
          }
        },
      })),
  ],
]
