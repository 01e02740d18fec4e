/** Every public name of the core, listed one by one; nothing else is public. */

// event/: what a fact is
export { canonicalJson, encodeEvent } from './event/encode.ts'
export { decodeEvent, decodeLine, type Decoded } from './event/decode.ts'
export { withDefaults } from './event/defaults.ts'
export { ColloquyError, type ErrorCode, hasCode } from './event/errors.ts'
export { deriveEventId, isLegalId, ROOT } from './event/ids.ts'
export type { Issue } from './event/issues.ts'
export { eventJsonSchema, eventJsonSchemas } from './event/json-schema.ts'
export { EVENT_KINDS, type EventKind, isAnswer, isEventKind, type KindFacts, KINDS } from './event/kinds.ts'
export { type Loaded, loadLine, loadValue } from './event/load.ts'
export { maskSecrets } from './event/mask.ts'
export type { ActionOf, PublishedAction } from './event/published/actions.ts'
export { isAction, isObservation } from './event/published/narrow.ts'
export type { ObservationOf, PublishedObservation } from './event/published/observations.ts'
export { type Fact, isQuarantined, type Quarantined } from './event/quarantine.ts'
export type {
  Action,
  Content,
  CriticResult,
  ImageContent,
  JsonObject,
  JsonValue,
  Message,
  MessageToolCall,
  Observation,
  ReasoningItemModel,
  RedactedThinkingBlock,
  SecurityRisk,
  Source,
  TextContent,
  ThinkingBlock,
  ToolDefinition,
} from './event/shapes.ts'
export { isInstant, parseInstant } from './event/time.ts'
export type {
  ACPToolCallEvent,
  ActionEvent,
  AgentErrorEvent,
  AnswerEvent,
  Condensation,
  CondensationRequest,
  CondensationSummaryEvent,
  ConversationErrorEvent,
  ConversationStateUpdateEvent,
  Event,
  EventOf,
  HookEventType,
  HookExecutionEvent,
  InterruptEvent,
  LLMCompletionLogEvent,
  MessageEvent,
  ObservationEvent,
  PauseEvent,
  ServerErrorEvent,
  StreamingDeltaEvent,
  SystemPromptEvent,
  TokenEvent,
  UserRejectObservation,
} from './event/types.ts'
export { type Upcast, type Upcaster, upcast, UPCASTERS } from './event/upcast.ts'

// log/: facts in order
export { isOnPath, pathTo } from './log/ancestry.ts'
export { type Entry, type EventEntry, kindOf, type Report } from './log/entry.ts'
export { findEntry, listReports, type Log } from './log/log.ts'
export { listOpenCalls, type OpenCall, type OpenCalls, openCount } from './log/open-calls.ts'
export type { DropReason } from './log/pairing.ts'
export type { Vector } from './log/vector.ts'

// view/: what the model may see
export { summaryId } from './view/condense.ts'
export { cutPoints } from './view/cut-points.ts'
export {
  type Answered,
  type BatchUnit,
  isPending,
  type MessageUnit,
  type Unit,
  unitItems,
  type ViewItem,
} from './view/unit.ts'
export { pendingUnits, type View, viewEvents } from './view/view.ts'

// state/: what the facts mean
export { leaves, stateAt, switchTo } from './state/at.ts'
export { activatedSkills, type Branch } from './state/branch.ts'
export { type Dropped, droppedAnswers } from './state/dropped.ts'
export { encodeState } from './state/encode.ts'
export type { Header, StateError } from './state/header.ts'
export { reduce, replay } from './state/reduce.ts'
export { initialState, type Moment, type State, type StateOptions } from './state/state.ts'
export { isStatus, type Status, STATUSES } from './state/status.ts'

// messages/: what the model is sent
export { type AiSdkMessage, toAiSdk } from './messages/ai-sdk.ts'
export {
  type AnthropicBlock,
  type AnthropicMessage,
  type AnthropicRequest,
  toAnthropic,
} from './messages/anthropic.ts'
export type {
  AssistantMessage,
  MessageOptions,
  NeutralMessage,
  NeutralToolCall,
  PendingCalls,
  SystemMessage,
  ToolMessage,
  UserMessage,
} from './messages/message.ts'
export { toMessages } from './messages/neutral.ts'
export { type ChatMessage, toOpenAIChat } from './messages/openai-chat.ts'
export { type ResponsesItem, type ResponsesRequest, toOpenAIResponses } from './messages/openai-responses.ts'

// store/: where facts are kept
export type { Appended, AppendOptions, ExpectedVersion } from './store/append.ts'
export type {
  ConversationFilter,
  ConversationOrder,
  ConversationPatch,
  ConversationQuery,
  ConversationRecord,
  NewConversation,
} from './store/conversation-record.ts'
export type { Lease } from './store/lease.ts'
export { memoryStore, type MemoryStoreOptions } from './store/memory.ts'
export type { EventFilter, EventPage, EventQuery, Page } from './store/query.ts'
export type { ReadOptions, Store, Unwatch } from './store/store.ts'
export type { StoredEvent } from './store/stored-event.ts'
