/**
 * Writes a branch as OpenTelemetry spans, by the conventions for generative AI, at the times of the events.
 */

import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { hashText } from '../event/text.ts'
import { parseInstant } from '../event/time.ts'
import { type CallItem, type MessageItem, type TimelineItem, toTimeline } from '../messages/timeline.ts'
import { pathTo } from '../state/read.ts'
import type { State } from '../state/state.ts'
import { textIn } from './content.ts'

/** Options of `toSpans`. */
export interface SpanOptions {
  /** Id of the conversation, from which the trace and span ids are derived. Default: `conversation`. */
  readonly conversationId?: string
  /** Name of the service. Default: `colloquy`. */
  readonly service?: string
  /**
   * Whether to include messages, arguments and results; the conventions omit them by default. Default: false.
   */
  readonly content?: boolean
}

/** Spans in the JSON format of OTLP, as a collector accepts them at `/v1/traces`. */
export interface OtlpTraces {
  readonly resourceSpans: readonly JsonObject[]
}

interface Span {
  readonly id: string
  readonly parent: string | null
  readonly name: string
  /** 1 is internal, 3 a client. */
  readonly kind: 1 | 3
  readonly from: bigint
  readonly to: bigint
  readonly attributes: Readonly<Record<string, JsonValue>>
  readonly error: string | null
}

/**
 * Converts HEAD's branch to one trace: `invoke_agent` for each turn that a user started (or a reply before
 * any), with a child `chat` for each reply, which starts at the event under HEAD at its request, and
 * `execute_tool` for each call with a result. The same state has the same ids, so sending it again creates no
 * second trace. An event without a time has that of the previous event. Pure; O(path).
 *
 * @throws ColloquyError `evicted` like `toTimeline`.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * toSpans(state).resourceSpans.length // 1
 */
export function toSpans(state: State, options: SpanOptions = {}): OtlpTraces {
  const { conversationId = 'conversation', service = 'colloquy' } = options
  const arrivals = arrivalsOn(state)
  const spans = spansOf(toTimeline(state), arrivals, conversationId, options.content === true)
  const traceId = hexOf(`trace ${conversationId}`, 32)
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'service.name': service }) },
        scopeSpans: [{ scope: { name: 'colloquy' }, spans: spans.map((span) => otlpOf(span, traceId)) }],
      },
    ],
  }
}

/** A turn that may continue. */
interface Turn {
  readonly id: string
  readonly from: bigint
  to: bigint
  error: string | null
}

/** Time of an event, and of the previous event on the path, tool results included. */
interface Arrival {
  readonly time: bigint
  readonly before: bigint
}

function arrivalsOn(state: State): Map<string, Arrival> {
  const arrivals = new Map<string, Arrival>()
  let before = 0n
  for (const { id, timestamp } of pathTo(state)) {
    const time = timeOf(timestamp, before)
    if (id !== null) arrivals.set(id, { time, before })
    before = time
  }
  return arrivals
}

const isReply = (item: TimelineItem): item is MessageItem | CallItem =>
  item.type === 'call' || (item.type === 'message' && item.source === 'agent')

function spansOf(
  items: readonly TimelineItem[],
  arrivals: ReadonlyMap<string, Arrival>,
  conversationId: string,
  withContent: boolean,
): Span[] {
  const spans: Span[] = []
  const turns: Turn[] = []
  /** The reply whose span was written last; its later calls belong to it. */
  let reply: string | null = null
  const base = { 'gen_ai.conversation.id': conversationId }
  for (const item of items) {
    const { time: now, before } = arrivals.get(item.id) ?? { time: 0n, before: 0n }
    const requested = isReply(item) ? requestTime(item, arrivals, before) : now
    const isUsers = item.type === 'message' && item.source === 'user'
    // An event before the first turn, such as a system prompt, belongs to none; a log may start with a reply.
    if (isUsers || (turns.length === 0 && isReply(item)))
      turns.push({
        id: hexOf(`turn ${item.id}`, 16),
        from: requested === 0n ? now : requested,
        to: now,
        error: null,
      })
    const turn = turns.at(-1)
    if (turn === undefined) continue
    turn.to = now > turn.to ? now : turn.to
    if (item.type === 'error') turn.error = `${item.code}: ${item.detail}`
    if (!isReply(item)) continue
    const replyId = item.reply?.id ?? item.id
    if (replyId !== reply)
      spans.push(chatSpan(item, turn.id, { from: requested, to: now }, base, withContent))
    reply = replyId
    if (item.type !== 'call' || item.result === null) continue
    const to = arrivals.get(item.result.id)?.time ?? now
    spans.push(toolSpan(item, turn.id, { from: now, to }, base, withContent))
    turn.to = to > turn.to ? to : turn.to
  }
  const invoked = turns.map(({ id, from, to, error }): Span => {
    const attributes = { ...base, 'gen_ai.operation.name': 'invoke_agent' }
    return { id, parent: null, name: 'invoke_agent', kind: 1, from, to, attributes, error }
  })
  return [...invoked, ...spans]
}

/** Time of a request: of the event that its reply records, else of the event before it. */
function requestTime(
  { reply }: MessageItem | CallItem,
  arrivals: ReadonlyMap<string, Arrival>,
  before: bigint,
): bigint {
  const after = reply?.after
  return (typeof after === 'string' ? arrivals.get(after)?.time : undefined) ?? before
}

interface Times {
  readonly from: bigint
  readonly to: bigint
}

function chatSpan(
  item: MessageItem | CallItem,
  parent: string,
  times: Times,
  base: JsonObject,
  withContent: boolean,
): Span {
  const { reply } = item
  const tokens = reply?.tokens ?? null
  const model = reply?.model ?? null
  const id = reply?.id ?? null
  const outcome = reply?.outcome ?? null
  const text = textIn(item.content)
  return {
    id: hexOf(`chat ${item.id}`, 16),
    parent,
    name: model === null ? 'chat' : `chat ${model}`,
    kind: 3,
    // The first event of a log has no predecessor.
    from: times.from === 0n ? times.to : times.from,
    to: times.to,
    attributes: {
      ...base,
      'gen_ai.operation.name': 'chat',
      ...(model === null ? {} : { 'gen_ai.request.model': model, 'gen_ai.response.model': model }),
      ...(id === null ? {} : { 'gen_ai.response.id': id }),
      ...(outcome === null ? {} : { 'gen_ai.response.finish_reasons': [outcome] }),
      ...(tokens === null
        ? {}
        : {
            'gen_ai.usage.input_tokens': tokens.input,
            'gen_ai.usage.output_tokens': tokens.output,
            'gen_ai.usage.cache_read.input_tokens': tokens.cache_read,
            'gen_ai.usage.cache_creation.input_tokens': tokens.cache_write,
          }),
      ...(withContent && text !== ''
        ? {
            'gen_ai.output.messages': JSON.stringify([
              { role: 'assistant', parts: [{ type: 'text', content: text }] },
            ]),
          }
        : {}),
    },
    error: null,
  }
}

function toolSpan(
  item: CallItem,
  parent: string,
  times: Times,
  base: JsonObject,
  withContent: boolean,
): Span {
  const { tool, status, result } = item
  return {
    id: hexOf(`tool ${item.id}`, 16),
    parent,
    name: `execute_tool ${tool}`,
    kind: 1,
    ...times,
    attributes: {
      ...base,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': item.toolCallId,
      ...(withContent
        ? {
            'gen_ai.tool.call.arguments': JSON.stringify(item.arguments),
            'gen_ai.tool.call.result': textIn(result?.content ?? []),
          }
        : {}),
    },
    error: status === 'completed' ? null : status,
  }
}

/** Nanoseconds since 1970. */
const timeOf = (timestamp: string | null, before: bigint): bigint => {
  const micros = timestamp === null ? undefined : parseInstant(timestamp)
  return micros === undefined ? before : BigInt(micros) * 1000n
}

/** An id of hexadecimal digits, derived from a text. */
function hexOf(text: string, digits: number): string {
  let hex = ''
  for (let index = 0; hex.length < digits; index += 1) hex += hashText(`${index} ${text}`)
  return hex.slice(0, digits)
}

function otlpOf({ id, parent, name, kind, from, to, attributes, error }: Span, traceId: string): JsonObject {
  return {
    traceId,
    spanId: id,
    ...(parent === null ? {} : { parentSpanId: parent }),
    name,
    kind,
    startTimeUnixNano: String(from),
    // A clock that went back must not create a span that ends before it starts.
    endTimeUnixNano: String(to < from ? from : to),
    attributes: attributesOf(attributes),
    status: error === null ? {} : { code: 2, message: error },
  }
}

const attributesOf = (values: Readonly<Record<string, JsonValue>>): JsonObject[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: valueOf(value) }))

function valueOf(value: JsonValue): JsonObject {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueOf) } }
  if (typeof value === 'number') return { intValue: String(value) }
  return { stringValue: String(value) }
}
