/** The step that asks any model of the AI SDK. */

import type { Step } from '../conversation/run/step.ts'
import { LIMITS } from '../messages/ai-sdk/blocks.ts'
import { type AiSdkStep, collectAiSdk, fromAiSdk } from '../messages/ai-sdk/read.ts'
import { toAiSdk } from '../messages/ai-sdk/write.ts'
import { openStream, type Version } from './ai-sdk-6.ts'
import { type AiSdkTools, sdkAskedWith, sdkToolOf, stepToolOf } from './ai-sdk-tools.ts'
import { sortTools, type SortedTools, type StepOptions, stepOf } from './step-of.ts'
import type { StepTool, ToolDescription } from './tool.ts'

/** Any other field is given to `streamText` as it is (`providerOptions`, `maxOutputTokens`, `temperature` …). */
export interface AiSdkStepOptions extends Omit<StepOptions, 'tools' | 'stream'> {
  /** `streamText` of the `ai` package, version 6 or 7. */
  readonly streamText: (options: never) => object
  /** A model, or its name, as `streamText` takes it. */
  readonly model: unknown
  /** Tools of the SDK by their names, or a list of tools of this library. Default: none. */
  readonly tools?: AiSdkTools | readonly StepTool[]
  readonly [field: string]: unknown
}

/**
 * A step that asks a model through the AI SDK, and executes the calls of its replies: the SDK makes one step, and
 * executes nothing. Consent is the run's: `needsApproval` of a tool is refused, give the run a policy.
 * @throws ColloquyError `invalid_argument` for a tool that cannot be described to a model, that has `needsApproval`,
 * or that has no `execute` and is not the provider's.
 * @example
 * const step = aiSdkStep({ streamText, model: 'anthropic/claude-sonnet-5-5' })
 * typeof step // 'function'
 */
export function aiSdkStep(options: AiSdkStepOptions): Step {
  const { streamText, tools: given = [], system: _, write: __, prove: ___, ...rest } = options
  const { sorted, asked } = isList(given) ? ofLibrary(given) : ofSdk(given)
  const version: Version = { current: 7 }
  return stepOf(
    {
      model: options.model,
      limits: LIMITS,
      tools: sorted.described.map(({ name, description, parameters }) => ({ name, description, parameters })),
      describe: (listed) => listed,
      write: (messages, writing) => ({
        // What goes wrong is in the stream; the SDK would write it to the console too.
        onError: () => undefined,
        ...rest,
        ...sdkTools(asked, writing.tools),
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

/** The tools of a request; those of the history where the step has none. */
function sdkTools(asked: Tools['asked'], listed: readonly object[] = []): object {
  if (Object.keys(asked).length > 0) return { tools: asked }
  const tools = (listed as readonly ToolDescription[]).map((tool) => [tool.name, sdkToolOf(tool)] as const)
  return tools.length === 0 ? {} : { tools: Object.fromEntries(tools) }
}

const isList = (tools: AiSdkTools | readonly StepTool[]): tools is readonly StepTool[] => Array.isArray(tools)

interface Tools {
  readonly sorted: SortedTools
  readonly asked: Readonly<Record<string, object>>
}

function ofLibrary(tools: readonly StepTool[]): Tools {
  const sorted = sortTools(tools)
  return {
    sorted,
    asked: Object.fromEntries(sorted.described.map((described) => [described.name, sdkToolOf(described)])),
  }
}

/** The SDK describes its own tools to the model. */
function ofSdk(tools: AiSdkTools): Tools {
  const own = Object.entries(tools).flatMap(([name, tool]) =>
    typeof tool.execute === 'function' ? [stepToolOf(name, tool)] : [],
  )
  return {
    sorted: sortTools(own),
    asked: Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, sdkAskedWith(name, tool)])),
  }
}
