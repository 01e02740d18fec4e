/**
 * The entry `colloquy/store-kit`: the store contract and logic of all adapters: query checks, append and
 * lease decisions, pages. Adapters provide tables and transactions.
 */

// The contract.
export type {
  AppendOptions,
  AppendResult,
  DisposableStore,
  ExpectedVersion,
  Lease,
  LeaseQuery,
  ReadOptions,
  Replacement,
  SaveSnapshotOptions,
  SnapshotPart,
  Store,
  Unwatch,
} from '../contract/store.ts'
export type * from '../contract/conversation-record.ts'
export type * from '../contract/blobs.ts'
export * from '../contract/feed.ts'
export type { Item, ItemChange, ItemClaim, ItemFilter, ItemQuery, Items, NewItem } from '../contract/items.ts'
export * from '../contract/query.ts'

// Appends: what the transaction reads of the log, and what it then writes.
export {
  type AppendContext,
  type AppendDecision,
  decideAppend,
  EMPTY_TIP,
  idsToLoad,
  type Lane,
  type LaneEnd,
  type LaneOrigin,
  type LogTip,
  type PathSegment,
  pathSegments,
  type PlacedEvent,
  type TreeNode,
} from './append/decide-append.ts'
export { checkReplaced, checkReplacements } from './append/replace.ts'

// Searches, lists and their pages.
export {
  type CheckedEventFilter,
  type CheckedEventQuery,
  checkEventFilter,
  checkEventQuery,
  checkReadOptions,
  eventCursor,
} from './query/event-query.ts'
export * from './query/conversation-query.ts'
export { nearestName } from './query/check-value.ts'
export { compareRecords, fitsEvent, fitsRecord, pageOfEvents, pageOfRecords } from './query/fits.ts'
export { foldText, messageText } from './query/message-text.ts'
export { countWithin, pageOf } from './query/page.ts'

// Texts of all conversations: what is indexed of an event, and how a search becomes a page.
export * from '../contract/text.ts'
export { eventText, lineOf, sizeOfLine } from './query/text-tokens.ts'
export {
  type CheckedTextQuery,
  checkTextQuery,
  findTextPage,
  firstPlace,
  fitsText,
  type FoundText,
  noFullText,
  placeBehind,
  type RankedHits,
  type RankedPlace,
  type RankPlace,
  scoreText,
  type TextClause,
  textPlace,
  type TextSource,
} from './query/text-query.ts'

// Records, leases, snapshots, items and the feed.
export { checkStatus, type Clock, compareIds, laterOf, microsNow, newRecord, patchRecord } from './record.ts'
export { type CheckedLeaseQuery, checkLease, checkLeaseQuery, nextLease } from './record.ts'
export { checkParts } from './record.ts'
export {
  type CheckedChange,
  type CheckedItem,
  type CheckedItemQuery,
  checkChanges,
  checkClaim,
  checkItemFilter,
  checkItemQuery,
  dueItems,
  itemConflict,
  itemCursor,
  itemOf,
  mayBeItem,
  pageOfItems,
} from './items.ts'
export {
  checkFeedQuery,
  type CheckedFeedQuery,
  feedEnd,
  type FeedPart,
  type FeedPlan,
  type FeedRow,
  fillFeed,
  heldPositions,
  planFeed,
  rowsFor,
  shardOf,
  FEED_CHANGE,
} from './feed.ts'

// Long strings, which are kept once by their content.
export { blobText, LARGE_STRING } from '../../event/text.ts'
export {
  blobReader,
  blobsOf,
  checkBlobs,
  checkGetOptions,
  checkRange,
  type Digests,
  findBlob,
  type LargeString,
  NO_BLOBS,
  replaceStrings,
  type SplitBody,
  splitBody,
  textContent,
  withReferences,
} from './blobs.ts'
export { digestOf, utf8Pieces } from '../../event/sha-256.ts'

// Reading rows, watches within a process, and errors.
export { readEvent, readObject } from './row.ts'
export { conversationExists, refuseWithin, storeClosed, unknownConversation } from './errors.ts'
export { Watches } from './watches.ts'
