import type { Step } from '../conversation/run/step.ts'
import { isObject } from '../event/json.ts'
import { LIMITS, type AnthropicRequest } from '../messages/anthropic/blocks.ts'
import { collectAnthropic, fromAnthropic } from '../messages/anthropic/read.ts'
import { toAnthropic } from '../messages/anthropic/write.ts'
import type { CacheTime } from '../messages/cache-marks.ts'
import { dialectOf, type ServerName } from './servers.ts'
import { type ClientStepOptions, stepOf } from './step-of.ts'

/** A client of the `@anthropic-ai/sdk` package, or an object of that shape. */
export interface AnthropicClient {
  readonly messages: {
    create(params: never, options?: { readonly signal?: AbortSignal }): PromiseLike<unknown>
  }
}

/** Options of `anthropicStep`. Other fields are added to the request (`thinking`, `cache_control` …). */
export interface AnthropicStepOptions extends ClientStepOptions<AnthropicClient> {
  /** Maximum tokens of a reply. */
  readonly max_tokens: number
  /** A compatible server whose requirements differ from Anthropic's. Default: Anthropic's own server. */
  readonly server?: ServerName
}

/**
 * Returns a step that calls Anthropic Messages, and executes the calls of its replies.
 * @throws ColloquyError `invalid_argument` for duplicate tool names, a schema that JSON Schema cannot express,
 *   or an unknown server.
 * @example
 * const client = new Anthropic({ apiKey: 'sk-ant-…' })
 * const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 4096 })
 * typeof step // 'function'
 */
export function anthropicStep({ client, server, ...options }: AnthropicStepOptions): Step {
  const { signs = true, reasoning } = dialectOf(server)
  // With a thinking budget, signatures do not depend on earlier messages, and the provider refuses calls that
  // have lost their thinking.
  const isBound = !hasBudget(options['thinking'])
  return stepOf(
    { ...options, prove: options.prove ?? isBound },
    {
      limits: LIMITS,
      describe: (tools) =>
        tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
      write(messages, writing, rest, stream) {
        const written = toAnthropic(messages, {
          ...writing,
          signs,
          ...(reasoning !== undefined && { reasoning }),
          cached: cacheTimeOf(rest['cache_control']),
        })
        return {
          ...rest,
          ...(!isBound && isUnthought(written) && { thinking: { type: 'disabled' } }),
          ...withContainer(written, rest['container']),
          stream,
        }
      },
      send: (request, signal) => client.messages.create(request, { signal }),
      read: fromAnthropic,
      collect: collectAnthropic,
    },
  )
}

const hasBudget = (thinking: unknown): boolean => isObject(thinking) && thinking['type'] === 'enabled'

/** Whether a request ends in a tool loop without thinking. The provider rejects it if thinking is enabled. */
function isUnthought({ messages }: AnthropicRequest): boolean {
  const last = messages.at(-1)
  const isLoop =
    last?.role === 'assistant' || last?.content.some(({ type }) => type === 'tool_result') === true
  const reply = messages.findLast(({ role }) => role === 'assistant')
  return isLoop && reply !== undefined && reply.content[0]?.type.endsWith('thinking') !== true
}

function cacheTimeOf(mark: unknown): CacheTime | null {
  if (!isObject(mark)) return null
  return mark['ttl'] === '1h' ? '1h' : '5m'
}

/** Adds the id of the last reply's container to the option `container`, which may already list skills. */
function withContainer({ container, ...request }: AnthropicRequest, input: unknown): object {
  if (container === undefined) return request
  return { ...request, container: isObject(input) ? { ...input, id: container } : container }
}
