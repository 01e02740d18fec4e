/** Entry point `colloquy/ai-sdk`: a step for AI SDK models, AI SDK messages, and streams for `useChat`. */

export * from './conversation/ui-messages.ts'
export type { AiSdkMessage } from './messages/ai-sdk/blocks.ts'
export { type AiSdkStep, collectAiSdk, fromAiSdk } from './messages/ai-sdk/read.ts'
export { toAiSdk } from './messages/ai-sdk/write.ts'
export { fromUIMessage } from './messages/ui/read.ts'
export type * from './messages/ui/types.ts'
export { toUIMessages, type UIMessagesOptions } from './messages/ui/write.ts'
export { aiSdkStep, type AiSdkStepOptions, type AiSdkTool, type AiSdkTools } from './steps/ai-sdk.ts'
