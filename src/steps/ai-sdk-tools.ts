/** Tools of the AI SDK: described to the model, and executed by this library. */

import { ColloquyError } from '../event/errors.ts'
import type { JsonObject } from '../event/shapes.ts'
import { LIMITS } from '../messages/ai-sdk/blocks.ts'
import { readModelOutput } from './tool-result.ts'
import type { StepTool, ToolContext, ToolDescription, ToolOutput } from './tool.ts'

/** The fields of the `ai` package's `tool()` that are read. */
export interface AiSdkTool {
  readonly description?: unknown
  readonly execute?: unknown
  readonly toModelOutput?: unknown
  readonly needsApproval?: unknown
  /** `provider` with `isProviderExecuted`, or the older `provider-defined`, for a provider's tool. */
  readonly type?: unknown
  readonly isProviderExecuted?: unknown
}

/** Tools by name, as `streamText` accepts them. */
export type AiSdkTools = Readonly<Record<string, AiSdkTool>>

/** Converts a tool for a step. The SDK checked the arguments when the model wrote them. */
export function stepToolOf(name: string, tool: AiSdkTool): StepTool {
  const execute = tool.execute as (args: JsonObject, options: object) => unknown
  const toModelOutput = tool.toModelOutput as ((shown: object) => unknown) | undefined
  return {
    name,
    description: typeof tool.description === 'string' ? tool.description : '',
    parameters: {},
    async execute(args, { signal, call }: ToolContext): Promise<ToolOutput> {
      const { tool_call_id: toolCallId } = call
      const options = { toolCallId, messages: [], abortSignal: signal }
      const output = await lastOf(execute.call(tool, args, options))
      if (toModelOutput === undefined) return output as ToolOutput
      return readModelOutput(
        await toModelOutput.call(tool, { toolCallId, input: args, output }),
        LIMITS.parts.kinds,
      )
    },
  }
}

async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output
  let last: unknown
  for await (const item of output as AsyncIterable<unknown>) last = item
  return last
}

/**
 * Returns the tool for the SDK, without its `execute`.
 * @throws ColloquyError `invalid_argument` for a tool with `needsApproval`, which the SDK would never
 *   request, or a tool that nothing executes.
 */
export function sdkDescriptionOf(name: string, tool: AiSdkTool): object {
  if (tool.needsApproval !== undefined && tool.needsApproval !== false) {
    throw new ColloquyError(
      'invalid_argument',
      `The tool ${name} has needsApproval, which steps do not support. Pass a policy to the run instead: run(step, { policy }).`,
      { name },
    )
  }
  const isOfProvider = typeof tool.type === 'string' && tool.type.startsWith('provider')
  if (typeof tool.execute !== 'function' && !(isOfProvider && tool.isProviderExecuted !== false)) {
    // The model would call it again and again.
    throw new ColloquyError(
      'invalid_argument',
      `The tool ${name} has no execute function. Add one, and pass a policy to the run to confirm calls first.`,
      { name },
    )
  }
  const { execute: _, needsApproval: __, ...described } = tool
  return described
}

export const sdkToolOf = ({ description, parameters }: ToolDescription): object => ({
  description,
  // The result of `jsonSchema` of the `ai` package.
  inputSchema: { [Symbol.for('vercel.ai.schema')]: true, jsonSchema: parameters, validate: undefined },
})
