/** Entry `colloquy/messages`: writes requests and reads replies in each provider's message format. */

export { collectAiSdk } from './ai-sdk/read.ts'
export { type AiSdkStep, fromAiSdk } from './ai-sdk/read.ts'
export type { AiSdkMessage } from './ai-sdk/blocks.ts'
export { fromUIMessage } from './ui/read.ts'
export type {
  AiSdkUIMessage,
  UIChunk,
  UIDataPart,
  UIFilePart,
  UIPart,
  UIReasoningPart,
  UIStepPart,
  UITextPart,
  UIToolPart,
  UIToolState,
} from './ui/types.ts'
export { toUIMessages, type UIMessagesOptions } from './ui/write.ts'
export { toAiSdk } from './ai-sdk/write.ts'
export { collectAnthropic } from './anthropic/read.ts'
export { type AnthropicReply, fromAnthropic } from './anthropic/read.ts'
export type { AnthropicBlock, AnthropicMessage, AnthropicRequest } from './anthropic/blocks.ts'
export { toAnthropic } from './anthropic/write.ts'
export { type BedrockReply, collectBedrock, fromBedrock } from './bedrock/read.ts'
export type {
  BedrockBlock,
  BedrockBytes,
  BedrockMessage,
  BedrockReasoning,
  BedrockRequest,
  BedrockResultBlock,
} from './bedrock/blocks.ts'
export { toBedrock } from './bedrock/write.ts'
export { resolveBlobs } from './resolve-blobs.ts'
export { collectGoogle } from './google/read.ts'
export { fromGoogle, type GoogleReply } from './google/read.ts'
export type { GoogleContent, GooglePart, GoogleRequest } from './google/blocks.ts'
export { toGoogle } from './google/write.ts'
export { collectInteractions, fromInteractions, type InteractionsReply } from './interactions/read.ts'
export type {
  InteractionsContent,
  InteractionsMedia,
  InteractionsRequest,
  InteractionsStep,
  InteractionsText,
} from './interactions/blocks.ts'
export { toInteractions } from './interactions/write.ts'
export type {
  AssistantMessage,
  MessageOptions,
  NeutralMessage,
  NeutralToolCall,
  PendingCallHandling,
  RequestCache,
  SystemMessage,
  ToolMessage,
  UserMessage,
} from './message.ts'
export { toMessages } from './neutral.ts'
export { requestCache } from './request-cache.ts'
export {
  type CallItem,
  type CondensationItem,
  type ErrorItem,
  type MessageItem,
  type StopItem,
  type SystemItem,
  type TimelineCallStatus,
  type TimelineItem,
  type TimelineOptions,
  type TimelineReply,
  type TimelineResult,
  toTimeline,
  toTreeTimeline,
  type TreeTimelineItem,
} from './timeline.ts'
export type { ReplyCollector } from './reply.ts'
export type { ReadOptions, Reply, ReplyOutcome, ReplyTool } from './reply.ts'
export { type RecordedUsage, type ReplyTokens, tokensIn, tokensOfReply } from './reply-usage.ts'
export { collectOpenAIChat } from './openai-chat/read.ts'
export { type ChatReply, fromOpenAIChat } from './openai-chat/read.ts'
export type { ChatMessage } from './openai-chat/blocks.ts'
export { toOpenAIChat } from './openai-chat/write.ts'
export { collectOpenAIResponses } from './openai-responses/read.ts'
export { fromOpenAIResponses, type ResponsesReply } from './openai-responses/read.ts'
export type { ResponsesItem, ResponsesRequest } from './openai-responses/blocks.ts'
export { toOpenAIResponses } from './openai-responses/write.ts'
export {
  digestOfTools,
  type LeftOut,
  type LeftOutReason,
  type RequestRecord,
  requestRecord,
  type WriteOptions,
} from './prefix.ts'
