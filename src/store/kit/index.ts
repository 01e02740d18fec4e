/**
 * The entry `colloquy/store-kit`: the store contract, and the code that all adapters share (checks of
 * queries, decisions about appends and leases, and pages). An adapter adds tables and transactions.
 */

export type * from '../contract/store.ts'
export type * from '../contract/conversation-record.ts'
export type * from '../contract/blobs.ts'
export * from '../contract/feed.ts'
export type * from '../contract/items.ts'
export * from '../contract/query.ts'
export * from '../contract/text.ts'

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

export {
  type CheckedEventFilter,
  type CheckedEventQuery,
  checkEventFilter,
  checkEventQuery,
  checkReadOptions,
  eventCursor,
} from './query/event-query.ts'
export * from './query/conversation-query.ts'
export { nearestName } from '../../event/check-value.ts'
export { compareRecords, fitsEvent, fitsRecord, pageOfEvents, pageOfRecords } from './query/fits.ts'
export { foldText, messageText } from './query/message-text.ts'
export { countWithin, pageOf } from './query/page.ts'

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

export {
  type CheckedLeaseQuery,
  checkLease,
  checkLeaseQuery,
  checkParts,
  checkStatus,
  type Clock,
  compareIds,
  laterOf,
  microsNow,
  newRecord,
  nextLease,
  patchRecord,
} from './record.ts'
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
  pageOfItems,
} from './items.ts'
export {
  checkFeedQuery,
  type CheckedFeedQuery,
  FEED_CHANGE,
  feedEnd,
  type FeedPart,
  type FeedPlan,
  type FeedRow,
  fillFeed,
  heldPositions,
  planFeed,
  rowsFor,
  shardOf,
} from './feed.ts'

export { blobText, LARGE_STRING } from '../../event/text.ts'
export {
  blobReader,
  blobsOf,
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

export { conversationExists, refuseWithin, storeClosed, unknownConversation } from './errors.ts'
export { Watches } from './watches.ts'
