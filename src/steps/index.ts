/** Entry point `colloquy/steps`: steps that call a model through its provider's client, and execute tools. */

export { SERVERS, type ServerName } from './servers.ts'
export { aiSdkStep, type AiSdkStepOptions, type AiSdkTool, type AiSdkTools } from './ai-sdk.ts'
export { type AnthropicClient, anthropicStep, type AnthropicStepOptions } from './anthropic.ts'
export { type BedrockClient, bedrockStep, type BedrockStepOptions } from './bedrock.ts'
export { type GoogleClient, googleStep, type GoogleStepOptions } from './google.ts'
export { type InteractionsClient, interactionsStep, type InteractionsStepOptions } from './interactions.ts'
export { type OpenAIChatClient, openaiChatStep, type OpenAIChatStepOptions } from './openai-chat.ts'
export * from './openai-responses.ts'
export { type McpClient, type McpTool, mcpTools, type McpToolOptions } from './mcp.ts'
export type { JsonSchema, SchemaIssue, SchemaResult, StandardSchema } from './tool.ts'
export { subagent, type SubagentOptions } from './subagent.ts'
export type { StepOptions } from './step-of.ts'
export {
  background,
  type BackgroundOptions,
  type ProviderTool,
  type StepTool,
  tool,
  type ToolContext,
  type ToolOutput,
} from './tool.ts'
