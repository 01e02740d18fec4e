import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/bedrock/blocks.ts'
import { collectBedrock, fromBedrock } from '../messages/bedrock/read.ts'
import { toBedrock } from '../messages/bedrock/write.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'
import { checkTools, type ToolDescription } from './tool.ts'

/** A `BedrockRuntime` of `@aws-sdk/client-bedrock-runtime`, or an object of that shape. */
export interface BedrockClient {
  converse(params: never, options?: { readonly abortSignal?: AbortSignal }): PromiseLike<unknown>
  converseStream(params: never, options?: { readonly abortSignal?: AbortSignal }): PromiseLike<unknown>
}

/**
 * Options of `bedrockStep`. Other fields are added to the request (`inferenceConfig` …). The tools in
 * `toolConfig` are added to the step's tools.
 */
export type BedrockStepOptions = ClientStepOptions<BedrockClient>

/**
 * Returns a step that calls a model of Amazon Bedrock, and executes the calls of its replies.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, or a schema that JSON Schema cannot express.
 * @example
 * const client = new BedrockRuntime({ region: 'eu-central-1' })
 * const step = bedrockStep({ client, model: 'eu.anthropic.claude-sonnet-5-5' })
 * typeof step // 'function'
 */
export function bedrockStep({ client, toolConfig = {}, ...options }: BedrockStepOptions): Step {
  const { tools: more, ...config } = toolConfig as Pick<BedrockStepOptions, 'tools'>
  return stepOf(
    { ...options, tools: [...checkTools('tools', options.tools), ...checkTools('toolConfig.tools', more)] },
    {
      limits: LIMITS,
      describe: describeTools,
      write: (messages, writing, { model, tools: listed, ...rest }) => ({
        ...rest,
        modelId: model,
        ...(listed !== undefined && { toolConfig: { ...config, tools: listed } }),
        ...toBedrock(messages, writing),
      }),
      async send(request, abortSignal, stream) {
        if (!stream) return client.converse(request, { abortSignal })
        const reply = await client.converseStream(request, { abortSignal })
        return (reply as { readonly stream?: unknown }).stream
      },
      read: fromBedrock,
      collect: collectBedrock,
    },
  )
}

const describeTools = (tools: readonly ToolDescription[]): object[] =>
  tools.map(({ name, description, parameters }) => ({
    toolSpec: { name, ...(description === '' ? {} : { description }), inputSchema: { json: parameters } },
  }))
