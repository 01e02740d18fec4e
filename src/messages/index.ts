/** Entry point `colloquy/messages`: writes requests and reads replies in each provider's message format. */

export { type AiSdkStep, collectAiSdk, fromAiSdk } from './ai-sdk/read.ts'
export type { AiSdkMessage } from './ai-sdk/blocks.ts'
export { toAiSdk } from './ai-sdk/write.ts'
export { type AnthropicReply, collectAnthropic, fromAnthropic } from './anthropic/read.ts'
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
} from './bedrock/rules.ts'
export { toBedrock } from './bedrock/write.ts'
export { resolveBlobs } from './resolve-blobs.ts'
export { collectGoogle, fromGoogle, type GoogleReply } from './google/read.ts'
export type { GoogleContent, GooglePart, GoogleRequest } from './google/rules.ts'
export { toGoogle } from './google/write.ts'
export { collectInteractions, fromInteractions, type InteractionsReply } from './interactions/read.ts'
export type {
  InteractionsContent,
  InteractionsMedia,
  InteractionsRequest,
  InteractionsStep,
  InteractionsText,
} from './interactions/rules.ts'
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
export type { ReadOptions, Reply, ReplyCollector, ReplyOutcome, ReplyTool } from './reply.ts'
export { type RecordedUsage, type ReplyTokens, tokensIn, tokensOfReply } from './reply-usage.ts'
export { type ChatReply, collectOpenAIChat, fromOpenAIChat } from './openai-chat/read.ts'
export type { ChatMessage } from './openai-chat/rules.ts'
export { toOpenAIChat } from './openai-chat/write.ts'
export { collectOpenAIResponses, fromOpenAIResponses, type ResponsesReply } from './openai-responses/read.ts'
export type { ResponsesItem, ResponsesRequest } from './openai-responses/rules.ts'
export { toOpenAIResponses } from './openai-responses/write.ts'
export {
  digestOfTools,
  type LeftOut,
  type LeftOutReason,
  type RequestRecord,
  requestRecord,
  type WriteOptions,
} from './prefix.ts'
