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
export {
  type DropReason,
  type Entry,
  type EventEntry,
  kindOf,
  type Remains,
  type Report,
} from './log/entry.ts'
export { findEntry, listReports, type Log } from './log/log.ts'
export { listOpenCalls, type OpenCall, type OpenCalls, openCount } from './log/open-calls.ts'
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
export type { CallGrant, Grant } from './state/grants.ts'
export type { Header, StateError } from './state/header.ts'
export { reduce, replay } from './state/reduce.ts'
export { initialState, type Moment, type State, type StateOptions } from './state/state.ts'
export { canReduce, compact, decodeSnapshot, encodeSnapshot, isHeld } from './state/snapshot.ts'
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

// context/: decisions about the view
export { finalResponse } from './context/final-response.ts'
export { stuckDetector, type StuckDetector } from './context/stuck/detector.ts'
export { nudgeMessage } from './context/stuck/nudge.ts'
export type { StuckOptions, StuckPattern, StuckThresholds } from './context/stuck/thresholds.ts'
export type { StuckVerdict } from './context/stuck/verdict.ts'
export { fallbackTitle, titleInput } from './context/title.ts'
export { resumeTranscript, type TranscriptOptions } from './context/transcript.ts'
export { unmatchedActions } from './context/unmatched.ts'
export { type TokenCounts, type Usage, type UsageOf, usageOfState, usageTotals } from './context/usage.ts'
export { type Fit, fitToBudget, type FitOptions, type NoFit, type WriteMessages } from './context/budget.ts'
export { cacheBreakpoints } from './context/cache-breakpoints.ts'
export {
  type Condenser,
  type CondenserDecision,
  noopCondenser,
  pipelineCondenser,
  type RefusalCode,
  type RefusalReason,
  type Trigger,
} from './context/condenser/condenser.ts'
export type { SummaryEvent } from './context/condenser/event-text.ts'
export type { CondensationLimits } from './context/condenser/limits.ts'
export { condensationOf, type CondensationPlan, planCondensation } from './context/condenser/plan.ts'
export { buildSummaryPrompt, type SummaryPromptInput } from './context/condenser/prompt.ts'
export {
  rollingCondenser,
  type RollingOptions,
  type Summarise,
  type Summary,
} from './context/condenser/rolling.ts'
export type { SummaryBudget, SummaryRequest } from './context/condenser/summary-request.ts'
export { type CountTokens, estimateTokens } from './context/estimate.ts'
export { type MaskingOptions, observationMasking } from './context/masking.ts'
export type { BuiltInPattern } from './context/redaction/built-in.ts'
export { SECRET_FIELDS } from './context/redaction/field-names.ts'
export { redactRecord } from './context/redaction/record.ts'
export { redact, redactLog, type RedactLogOptions } from './context/redaction/redact.ts'
export { type RedactionOptions, redactionRules, type RedactionRules } from './context/redaction/rules.ts'
export { redactingStore } from './context/redaction/store.ts'
export { stablePrefix } from './context/stable-prefix.ts'

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
export { isReservedId, listUserConversations } from './store/own-records.ts'
export type { EventFilter, EventPage, EventQuery, Page } from './store/query.ts'
export type { SaveSnapshotOptions, SnapshotPart } from './store/snapshot.ts'
export type { ReadOptions, Store, Unwatch } from './store/store.ts'
export type { StoredEvent } from './store/stored-event.ts'

// conversation/: the live object a server holds
export { type BranchInfo, listBranches } from './conversation/branches.ts'
export { Conversation, type SendOptions } from './conversation/conversation.ts'
export {
  decideApprove,
  decideEdit,
  decideInterrupt,
  decideNavigate,
  decidePause,
  decidePolicy,
  decideRecover,
  decideReject,
  decideRestart,
  decideResume,
} from './conversation/decide.ts'
export { createEngine, type Engine, type EngineOptions } from './conversation/engine.ts'
export { type ForkOptions, type ForkPlan, planFork } from './conversation/fork.ts'
export { placeLateAnswers } from './conversation/late-answers.ts'
export type { LoggedEvent } from './conversation/logged-event.ts'
export type { Recovery } from './conversation/recover.ts'
export type { Hook, HookInput, HookOutcome } from './conversation/run/hooks.ts'
export type { RunOptions, RunResult } from './conversation/run/loop.ts'
export { type CallPlan, planCalls } from './conversation/run/plan-calls.ts'
export { type Policy, policyOf } from './conversation/run/policy.ts'
export type { Step, StepInput, Yielded } from './conversation/run/step.ts'
export type { SubscribeOptions, SubscriptionItem } from './conversation/subscribe.ts'
