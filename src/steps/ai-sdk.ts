import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/ai-sdk/blocks.ts'
import { type AiSdkStep, collectAiSdk, fromAiSdk } from '../messages/ai-sdk/read.ts'
import { toAiSdk } from '../messages/ai-sdk/write.ts'
import { openStream, type Version } from './ai-sdk-6.ts'
import { type AiSdkTools, sdkDescriptionOf, sdkToolOf, stepToolOf } from './ai-sdk-tools.ts'
import { sortTools, type SortedTools, type StepOptions, stepOf } from './step-of.ts'
import type { StepTool, ToolDescription } from './tool.ts'

/**
 * Other fields are passed to `streamText` unchanged (`providerOptions`, `maxOutputTokens`, `temperature` …).
 */
export interface AiSdkStepOptions extends Omit<StepOptions, 'tools' | 'stream'> {
  readonly streamText: (options: never) => object
  readonly model: unknown
  /** Tools of the SDK by name, or a list of tools of this library. Default: none. */
  readonly tools?: AiSdkTools | readonly StepTool[]
  readonly [field: string]: unknown
}

/**
 * Returns a step that calls a model through the AI SDK, and executes the calls itself. The run's policy
 * decides about confirmation; refuses tools with `needsApproval`.
 * @throws ColloquyError `invalid_argument` for a tool that cannot be described to a model, that has
 *   `needsApproval`, or that has no `execute` and is not the provider's.
 * @example
 * const step = aiSdkStep({ streamText, model: 'anthropic/claude-sonnet-5-5' })
 * typeof step // 'function'
 */
export function aiSdkStep(options: AiSdkStepOptions): Step {
  const { streamText, tools: toolOptions = [], system: _, write: __, prove: ___, ...rest } = options
  const { sorted, described: requested } = isList(toolOptions) ? ofLibrary(toolOptions) : ofSdk(toolOptions)
  const version: Version = { current: 7 }
  return stepOf(
    {
      model: options.model,
      limits: LIMITS,
      tools: sorted.described.map(({ name, description, parameters }) => ({ name, description, parameters })),
      describe: (listed) => listed,
      write: (messages, writing) => ({
        // Errors are in the stream; the SDK would also print them.
        onError: () => undefined,
        ...rest,
        ...toolFields(requested, writing.tools),
        messages: toAiSdk(messages, writing),
        allowSystemInMessages: true,
      }),
      send: async (request, signal) =>
        openStream(version, request as { readonly messages: readonly object[] }, (sent) => {
          const result = streamText({ ...sent, abortSignal: signal } as never)
          return (result as { readonly fullStream: AsyncIterable<object> }).fullStream
        }),
      read: (reply, reading) => fromAiSdk(reply as AiSdkStep, reading),
      collect: collectAiSdk,
    },
    sorted,
    options as StepOptions,
  )
}

/** The tools of a request; those of the history if the step has none. */
function toolFields(described: Tools['described'], listed: readonly object[] = []): object {
  if (Object.keys(described).length > 0) return { tools: described }
  const tools = (listed as readonly ToolDescription[]).map((tool) => [tool.name, sdkToolOf(tool)] as const)
  return tools.length === 0 ? {} : { tools: Object.fromEntries(tools) }
}

const isList = (tools: AiSdkTools | readonly StepTool[]): tools is readonly StepTool[] => Array.isArray(tools)

interface Tools {
  readonly sorted: SortedTools
  readonly described: Readonly<Record<string, object>>
}

function ofLibrary(tools: readonly StepTool[]): Tools {
  const sorted = sortTools(tools)
  return {
    sorted,
    described: Object.fromEntries(
      sorted.described.map((described) => [described.name, sdkToolOf(described)]),
    ),
  }
}

function ofSdk(tools: AiSdkTools): Tools {
  const executable = Object.entries(tools).flatMap(([name, tool]) =>
    typeof tool.execute === 'function' ? [stepToolOf(name, tool)] : [],
  )
  return {
    sorted: sortTools(executable),
    described: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, sdkDescriptionOf(name, tool)]),
    ),
  }
}
