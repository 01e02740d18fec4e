/** The main entry: the exports that most programs need. All except `memoryStore` are also exported by other entries. */

export { Conversation } from './conversation/conversation.ts'
export { createEngine, type Engine, type EngineOptions } from './conversation/engine.ts'
export type { AppendedEvent, LoggedEvent } from './conversation/logged-event.ts'
export { explainPrefix, type PrefixChange } from './context/explain-prefix.ts'
export type { Hook } from './conversation/run/hooks.ts'
export type { RunOptions } from './conversation/run/options.ts'
export type { Step, StepInput } from './conversation/run/step.ts'
export type { SubscriptionItem } from './conversation/subscribe.ts'
export { ColloquyError, type ErrorCode, hasCode, isColloquyError } from './event/errors.ts'
export { EVENT_KINDS, type EventKind, isToolResult } from './event/kinds.ts'
export { loadLine, loadValue } from './event/load.ts'
export { maskSecrets } from './event/mask.ts'
export { isAction, isObservation } from './event/published/payload-schema.ts'
export { type Fact, isQuarantined } from './event/quarantine.ts'
export type { ActionEvent, Event, EventOf, MessageEvent, ToolResultEvent } from './event/types.ts'
/** `Event` by another name, for code that also uses the DOM's `Event`. */
export type { Event as ConversationEvent } from './event/types.ts'
export type { Entry, LogWarning } from './log/entry.ts'
export type { PendingCall } from './log/open-calls.ts'
export { toAiSdk } from './messages/ai-sdk/write.ts'
export { toAnthropic } from './messages/anthropic/write.ts'
export { toBedrock } from './messages/bedrock/write.ts'
export { toGoogle } from './messages/google/write.ts'
export { toInteractions } from './messages/interactions/write.ts'
export type { MessageOptions, NeutralMessage } from './messages/message.ts'
export { toMessages } from './messages/neutral.ts'
export { toOpenAIChat } from './messages/openai-chat/write.ts'
export { toOpenAIResponses } from './messages/openai-responses/write.ts'
export { stateAt, switchTo } from './state/at.ts'
export {
  findEvent,
  listBranches,
  listPendingCalls,
  listWarnings,
  listWorkingCalls,
  pathTo,
  viewEvents,
} from './state/read.ts'
export { reduce, replay } from './state/reduce.ts'
export { initialState, type State } from './state/state.ts'
export type { Status } from './state/status.ts'
export type { ConversationRecord } from './store/contract/conversation-record.ts'
export type { EventQuery, StoredEvent } from './store/contract/query.ts'
export type { TextHit, TextIndex, TextPage, TextQuery, TextRole, TextSearch } from './store/contract/text.ts'
export type { DisposableStore, Store } from './store/contract/store.ts'
export { memoryStore, type MemoryStoreOptions } from './store/memory/store.ts'
