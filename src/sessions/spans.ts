/** Writes a branch as OpenTelemetry spans, by the conventions for generative AI. */

import { checkOptionNames } from '../event/check-value.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { hashText } from '../event/text.ts'
import { parseInstant } from '../event/time.ts'
import { toTimeline } from '../messages/timeline.ts'
import type { CallItem, MessageItem, TimelineItem, TimelineReply } from '../messages/timeline.ts'
import { pathTo } from '../state/read.ts'
import type { State, StateTree } from '../state/state.ts'
import { isSameReply, textIn } from './content.ts'

/** Options of `toSpans`. */
export interface SpanOptions {
  /** Conversation id; determines the trace id. Default: the tree's id, or `conversation` for a state. */
  readonly conversationId?: string
  /** Name of the service. Default: `colloquy`. */
  readonly service?: string
  /** Whether spans contain the replies' texts and the calls' arguments and results. Default: false. */
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
  /** Kind of the span in OTLP: 1 is internal, 3 is client. */
  readonly kind: 1 | 3
  readonly from: bigint
  readonly to: bigint
  readonly attributes: Readonly<Record<string, JsonValue>>
  readonly error: string | null
}

/**
 * Writes HEAD's branch as one OpenTelemetry trace. Each turn is an `invoke_agent` span; a reply before the
 * first user message begins a turn too. The children of a turn are a `chat` span for each reply and an
 * `execute_tool` span for each call with a result. The span of a background call lasts until the call is
 * completed. The turns of a tree's subagents (see `Conversation.tree`) are children of the `execute_tool` span
 * of the call that started the subagent, or of the parent's first turn if this call is unknown or has no result.
 *
 * The ids of spans depend only on the log, so that a trace can be sent twice without duplicates. An event
 * without a time gets the time of the previous event. O(path).
 * @throws ColloquyError `evicted`, see `toTimeline`.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * toSpans(state).resourceSpans.length // 1
 */
export function toSpans(source: State | StateTree, options: SpanOptions = {}): OtlpTraces {
  checkOptionNames(options, 'conversationId service content')
  const tree = 'children' in source ? source : { id: 'conversation', state: source, children: [] }
  const { conversationId = tree.id, service = 'colloquy' } = options
  const spans = treeSpans(tree, { id: conversationId, prefix: '', parent: null }, options.content === true)
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

/** A conversation of the trace. Its prefix makes its span ids differ from the ids of other conversations. */
interface TracedConversation {
  readonly id: string
  readonly prefix: string
  /** Id of the parent span, which is a call or a turn of the parent conversation. Null for the root. */
  readonly parent: string | null
}

function treeSpans(
  { state, children }: Pick<StateTree, 'state' | 'children'>,
  traced: TracedConversation,
  withContent: boolean,
): Span[] {
  const spans = spansOf(toTimeline(state), arrivalsOn(state), traced, withContent)
  if (children.length === 0) return spans
  const ids = new Set(spans.map(({ id }) => id))
  // A call without a result has no span; then its subagents belong to the first turn.
  const [first] = spans
  const below = children.flatMap((child) => {
    const call = spanId('tool', traced.prefix, child.actionId ?? '')
    const parent = ids.has(call) ? call : (first?.id ?? traced.parent)
    return treeSpans(child, { id: child.id, prefix: `${child.id} `, parent }, withContent)
  })
  return [...spans, ...below]
}

const spanId = (kind: string, prefix: string, eventId: string): string =>
  hexOf(`${kind} ${prefix}${eventId}`, 16)

/** Time of an event, and time of the event before it on the path. */
interface Arrival {
  readonly time: bigint
  readonly before: bigint
}

function arrivalsOn(state: State): Map<string, Arrival> {
  const arrivals = new Map<string, Arrival>()
  let before = 0n
  for (const { id, timestamp } of pathTo(state)) {
    const time = instantOf(timestamp, before)
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
  { id: conversationId, prefix, parent }: TracedConversation,
  withContent: boolean,
): Span[] {
  const spans: Span[] = []
  const turns: { readonly id: string; readonly from: bigint; to: bigint; error: string | null }[] = []
  /** The latest reply. Its first item adds a `chat` span; its further calls add none. */
  let reply: TimelineReply | null = null
  const base = { 'gen_ai.conversation.id': conversationId }
  for (const item of items) {
    const { time: now, before } = arrivals.get(item.id) ?? { time: 0n, before: 0n }
    const requested = isReply(item) ? requestTime(item, arrivals, before) : now
    // The first event of a log has no predecessor.
    const from = requested === 0n ? now : requested
    const isUsers = item.type === 'message' && item.source === 'user'
    // An event before the first turn, such as a system prompt, is in no turn. But a reply at the start begins a turn.
    if (isUsers || (turns.length === 0 && isReply(item)))
      turns.push({ id: spanId('turn', prefix, item.id), from, to: now, error: null })
    // Replies of two turns may share an id. Where their requests are unknown, a user message separates them.
    if (isUsers && reply?.after === undefined) reply = null
    const turn = turns.at(-1)
    if (turn === undefined) continue
    turn.to = now > turn.to ? now : turn.to
    if (item.type === 'error') turn.error = `${item.code}: ${item.detail}`
    if (!isReply(item)) continue
    const { id: turnId } = turn
    if (!isSameReply(item.reply, reply)) {
      const attributes = { ...base, ...chatAttributes(item, withContent) }
      const model = item.reply?.model ?? null
      const name = model === null ? 'chat' : `chat ${model}`
      const id = spanId('chat', prefix, item.id)
      spans.push({ id, parent: turnId, name, kind: 3, from, to: now, attributes, error: null })
    }
    reply = item.reply
    if (item.type !== 'call' || item.result === null) continue
    const { tool, status } = item
    const to = arrivals.get((item.completion ?? item.result).id)?.time ?? now
    const attributes = { ...base, ...toolAttributes(item, withContent) }
    const error = status === 'completed' || status === 'working' ? null : status
    const id = spanId('tool', prefix, item.id)
    spans.push({
      id,
      parent: turnId,
      name: `execute_tool ${tool}`,
      kind: 1,
      from: now,
      to,
      attributes,
      error,
    })
    turn.to = to > turn.to ? to : turn.to
  }
  const invoked = turns.map((turn): Span => {
    const attributes = { ...base, 'gen_ai.operation.name': 'invoke_agent' }
    return { ...turn, parent, name: 'invoke_agent', kind: 1, attributes }
  })
  return [...invoked, ...spans]
}

/**
 * Returns the time of the event that was HEAD when the model was called. If that event is unknown, returns
 * `before`, the time of the event before the reply.
 */
function requestTime(
  { reply }: MessageItem | CallItem,
  arrivals: ReadonlyMap<string, Arrival>,
  before: bigint,
): bigint {
  const after = reply?.after
  return (typeof after === 'string' ? arrivals.get(after)?.time : undefined) ?? before
}

function chatAttributes({ reply, content }: MessageItem | CallItem, withContent: boolean): JsonObject {
  const { tokens = null, model = null, id = null, outcome = null } = reply ?? {}
  const text = textIn(content)
  return {
    'gen_ai.operation.name': 'chat',
    ...(model !== null && { 'gen_ai.request.model': model, 'gen_ai.response.model': model }),
    ...(id !== null && { 'gen_ai.response.id': id }),
    ...(outcome !== null && { 'gen_ai.response.finish_reasons': [outcome] }),
    ...(tokens !== null && {
      'gen_ai.usage.input_tokens': tokens.input,
      'gen_ai.usage.output_tokens': tokens.output,
      'gen_ai.usage.cache_read.input_tokens': tokens.cache_read,
      'gen_ai.usage.cache_creation.input_tokens': tokens.cache_write,
    }),
    ...(withContent &&
      text !== '' && {
        'gen_ai.output.messages': JSON.stringify([
          { role: 'assistant', parts: [{ type: 'text', content: text }] },
        ]),
      }),
  }
}

const toolAttributes = (item: CallItem, withContent: boolean): JsonObject => ({
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': item.tool,
  'gen_ai.tool.call.id': item.toolCallId,
  ...(withContent && {
    'gen_ai.tool.call.arguments': JSON.stringify(item.arguments),
    'gen_ai.tool.call.result': textIn((item.completion ?? item.result)?.content ?? []),
  }),
})

/** Returns nanoseconds since 1970, or `before` if `timestamp` has no valid time. */
const instantOf = (timestamp: string | null, before: bigint): bigint => {
  const micros = timestamp === null ? undefined : parseInstant(timestamp)
  // OTLP has no time before 1970, and none after 64 bits of nanoseconds, in the year 2554.
  return micros === undefined || micros < 0n || micros >= 2n ** 64n / 1000n ? before : micros * 1000n
}

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
  Object.entries(values).map(([key, value]) => ({ key, value: spanValue(value) }))

function spanValue(value: JsonValue): JsonObject {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(spanValue) } }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { stringValue: String(value) }
}
