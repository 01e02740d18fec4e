/** The step that asks Anthropic Messages. */

import type { Step } from '../conversation/run/step.ts'
import { isObject } from '../event/json.ts'
import { LIMITS } from '../messages/anthropic/blocks.ts'
import { type AnthropicReply, collectAnthropic, fromAnthropic } from '../messages/anthropic/read.ts'
import type { AnthropicRequest } from '../messages/anthropic/blocks.ts'
import { toAnthropic } from '../messages/anthropic/write.ts'
import type { CacheTime } from '../messages/cache-marks.ts'
import { sortTools, type StepOptions, stepOf, toolList } from './step-of.ts'
import type { ToolDescription } from './tool.ts'

/** What is asked: a client of the `@anthropic-ai/sdk` package, or anything of that shape. */
export interface AnthropicClient {
  readonly messages: {
    create(params: never, options?: { readonly signal?: AbortSignal }): PromiseLike<unknown>
  }
}

/** Any other field is given to the request as it is (`thinking`, `cache_control`, `temperature` …). */
export interface AnthropicStepOptions extends StepOptions {
  readonly client: AnthropicClient
  readonly model: string
  readonly max_tokens: number
  readonly [field: string]: unknown
}

/**
 * A step that asks Anthropic Messages, and executes the calls of its replies.
 * @throws ColloquyError `invalid_argument` for a tool that cannot be described to a model.
 * @example
 * const client = new Anthropic({ apiKey: 'sk-ant-…' })
 * const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 4096 })
 * typeof step // 'function'
 */
export function anthropicStep(options: AnthropicStepOptions): Step {
  const { client, tools: given, system: _, stream = true, write: __, prove: ___, ...rest } = options
  const sorted = sortTools(given)
  const tools = [...describe(sorted.described), ...sorted.given]
  return stepOf(
    {
      model: options.model,
      limits: LIMITS,
      tools,
      describe,
      write(messages, writing) {
        const written = toAnthropic(messages, { ...writing, cached: timeOf(rest['cache_control']) })
        return {
          ...rest,
          ...(hasBudget(rest['thinking']) && isUnthought(written) && { thinking: { type: 'disabled' } }),
          ...toolList(writing),
          ...withContainer(written, rest['container']),
          stream,
        }
      },
      send: (request, signal) => client.messages.create(request as never, { signal }),
      read: (reply, reading) => fromAnthropic(reply as AnthropicReply, reading),
      collect: collectAnthropic,
    },
    sorted,
    // Models that take a budget of thinking bind nothing, and refuse a turn whose calls have lost theirs.
    { ...options, prove: options.prove ?? !hasBudget(rest['thinking']) },
  )
}

const describe = (tools: readonly ToolDescription[]): object[] =>
  tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }))

const hasBudget = (thinking: unknown): boolean => isObject(thinking) && thinking['type'] === 'enabled'

/** Whether a request ends in a tool loop that begins without thinking: with thinking on, the provider refuses it. */
function isUnthought({ messages }: AnthropicRequest): boolean {
  const last = messages.at(-1)
  const isLoop =
    last?.role === 'assistant' || last?.content.some(({ type }) => type === 'tool_result') === true
  const reply = messages.findLast(({ role }) => role === 'assistant')
  return isLoop && reply !== undefined && reply.content[0]?.type.endsWith('thinking') !== true
}

/** For how long a mark asks, null where there is none. */
function timeOf(mark: unknown): CacheTime | null {
  if (!isObject(mark)) return null
  return mark['ttl'] === '1h' ? '1h' : '5m'
}

/** A request whose container has the skills that it is given with each request. */
function withContainer({ container, ...request }: AnthropicRequest, given: unknown): object {
  if (container === undefined) return request
  return { ...request, container: isObject(given) ? { ...given, id: container } : container }
}
