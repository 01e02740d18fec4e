/** Tools of the AI SDK: the model is asked with them, and this library executes them. */

import { ColloquyError } from '../event/errors.ts'
import type { JsonObject } from '../event/shapes.ts'
import { LIMITS } from '../messages/ai-sdk/blocks.ts'
import { readModelOutput } from './tool-result.ts'
import type { StepTool, ToolContext, ToolDescription, ToolOutput } from './tool.ts'

/** What `tool()` of the `ai` package gives, as far as it is read here. */
export interface AiSdkTool {
  readonly description?: unknown
  readonly execute?: unknown
  readonly toModelOutput?: unknown
  readonly needsApproval?: unknown
  /** `provider` with `isProviderExecuted`, or the older `provider-defined`, for one that the provider may execute. */
  readonly type?: unknown
  readonly isProviderExecuted?: unknown
}

/** Tools by their names, as `streamText` takes them. */
export type AiSdkTools = Readonly<Record<string, AiSdkTool>>

/** The tool as a step executes it. The SDK has checked the arguments when the model wrote them. */
export function stepToolOf(name: string, tool: AiSdkTool): StepTool {
  const execute = tool.execute as (args: JsonObject, options: object) => unknown
  const show = tool.toModelOutput as ((shown: object) => unknown) | undefined
  return {
    name,
    description: typeof tool.description === 'string' ? tool.description : '',
    parameters: {},
    async execute(args, { signal, call }: ToolContext): Promise<ToolOutput> {
      const { tool_call_id: toolCallId } = call
      const options = { toolCallId, messages: [], abortSignal: signal }
      const output = await lastOf(execute.call(tool, args, options))
      if (show === undefined) return output as ToolOutput
      return readModelOutput(await show.call(tool, { toolCallId, input: args, output }), LIMITS.parts.kinds)
    },
  }
}

/** A tool that streams its output gives the whole at last. */
async function lastOf(given: unknown): Promise<unknown> {
  if (typeof given !== 'object' || given === null || !(Symbol.asyncIterator in given)) return given
  let last: unknown
  for await (const output of given as AsyncIterable<unknown>) last = output
  return last
}

/**
 * The tool as the SDK is given it: it executes nothing by itself.
 * @throws ColloquyError `invalid_argument` for a tool that wants approval by the SDK, which would never be asked for,
 * or that nothing executes.
 */
export function sdkAskedWith(name: string, tool: AiSdkTool): object {
  if (tool.needsApproval !== undefined && tool.needsApproval !== false) {
    throw new ColloquyError(
      'invalid_argument',
      `The tool ${name} has needsApproval, which no step asks for. Give the run a policy instead: run(step, { policy }).`,
      { name },
    )
  }
  const isOfProvider = typeof tool.type === 'string' && tool.type.startsWith('provider')
  if (typeof tool.execute !== 'function' && !(isOfProvider && tool.isProviderExecuted !== false)) {
    // The model would call it again and again.
    throw new ColloquyError(
      'invalid_argument',
      `The tool ${name} has no execute, so that nothing would execute its calls. Give it one; a policy lets a user see a call first.`,
      { name },
    )
  }
  const { execute: _, needsApproval: __, ...asked } = tool
  return asked
}

/** A tool of this library as the SDK is given it. */
export const sdkToolOf = ({ description, parameters }: ToolDescription): object => ({
  description,
  // What `jsonSchema` of the `ai` package gives.
  inputSchema: { [Symbol.for('vercel.ai.schema')]: true, jsonSchema: parameters, validate: undefined },
})
