/** Entry point `colloquy/events`: types, schemas and decoding of events. Browsers can load it: it needs only zod. */

export { isImagePart, isOpenPart, isTextPart, wordsIn } from './shapes.ts'
export {
  type CallProgress,
  completionId,
  completionOf,
  type Completes,
  type CompletionOutcome,
  isWorkingResult,
  type WorkingObservation,
} from './completion.ts'
export { type Decoded, decodeEvent, decodeLine } from './decode.ts'
export { withDefaults } from './nested-shapes.ts'
export { canonicalJson, encodeEvent } from './encode.ts'
export { ColloquyError, type ErrorCode, hasCode, isColloquyError } from './errors.ts'
export { deriveEventId, isLegalId, ROOT } from './ids.ts'
export type { Issue } from './issues.ts'
export { eventJsonSchema, eventJsonSchemas } from './event-schema.ts'
export { EVENT_KINDS, type EventKind, isEventKind, isToolResult, type KindFacts, KINDS } from './kinds.ts'
export { type Loaded, loadLine, loadValue } from './load.ts'
export { maskSecrets } from './mask.ts'
export {
  type ActionOf,
  isAction,
  isObservation,
  type ObservationOf,
  type PublishedAction,
  type PublishedObservation,
} from './published/payload-schema.ts'
export { type Fact, isQuarantined, quarantine, type Quarantined } from './quarantine.ts'
export type { EarlyEnd, GrammarName, ReplyRecord } from './reply.ts'
export {
  type Action,
  type Content,
  type CriticResult,
  type ImageContent,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageToolCall,
  type Observation,
  type OpenPart,
  type ReasoningItemModel,
  type RedactedThinkingBlock,
  type SecurityRisk,
  type Source,
  SOURCES,
  type TextContent,
  type ThinkingBlock,
  type ToolDefinition,
  type UserMessage,
} from './shapes.ts'
export { parseInstant } from './time.ts'
export type * from './types.ts'
export { type Upcast, upcast, type Upcaster, UPCASTERS } from './upcast.ts'
