/**
 * The entry `colloquy/store-kit`: the store contract and logic of all adapters: query checks, append and
 * lease decisions, pages. Adapters provide tables and transactions.
 */

// The contract.
export type * from '../contract/store.ts'
export type * from '../contract/conversation-record.ts'
export type * from '../contract/blobs.ts'
export * from '../contract/feed.ts'
export type * from '../contract/items.ts'
export * from '../contract/query.ts'
export * from '../contract/text.ts'

// Appends: what the transaction reads of the log, and what it then writes.
export {
  type AppendContext,
  type AppendDecision,
  decideAppend,
  EMPTY_TIP,
  idsToLoad,
  type LaneOrigin,
  type LogTip,
  pathSegments,
  type TreeNode,
} from './append/decide-append.ts'
export { checkReplaced, checkReplacements } from './append/replace.ts'

// Searches, lists and their pages.
export {
  type CheckedEventFilter,
  checkEventFilter,
  checkEventQuery,
  checkReadOptions,
  eventCursor,
} from './query/event-query.ts'
export {
  type CheckedConversationFilter,
  checkConversationFilter,
  checkConversationQuery,
  checkExact,
  keysOf,
  lookedCount,
  lookedPage,
  walkOf,
} from './query/conversation-query.ts'
export { nearestName } from './query/check-value.ts'
export { fitsEvent, fitsRecord, pageOfEvents, pageOfRecords } from './query/fits.ts'
export { pageOf } from './query/page.ts'
export { noFullText } from './query/text-query.ts'

// Records, leases, snapshots, items and the feed.
export {
  checkLease,
  checkLeaseQuery,
  checkParts,
  checkStatus,
  compareIds,
  laterOf,
  microsNow,
  newRecord,
  nextLease,
  patchRecord,
} from './record.ts'
export {
  checkChanges,
  checkClaim,
  checkItemFilter,
  checkItemQuery,
  dueItems,
  itemConflict,
  itemOf,
  pageOfItems,
} from './items.ts'
export {
  checkFeedQuery,
  FEED_CHANGE,
  feedEnd,
  type FeedRow,
  fillFeed,
  planFeed,
  rowsFor,
  shardOf,
} from './feed.ts'

// Long strings, and what all stores share within a process.
export { blobReader, checkGetOptions, findBlob, NO_BLOBS, withReferences } from './blobs.ts'
export { conversationExists, refuseWithin, storeClosed, unknownConversation } from './errors.ts'
export { Watches } from './watches.ts'
