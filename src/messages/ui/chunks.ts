import { canonicalJson } from '../../event/encode.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { UIChunk, UIDataPart, UIPart, UIReasoningPart, UITextPart, UIToolPart } from './types.ts'

interface UIAdvance {
  readonly chunks: readonly UIChunk[]
  /** The client's parts after the client has applied the chunks; can include the `step-start` of a retracted step. */
  readonly parts: readonly UIPart[]
}

/**
 * Returns the chunks that turn `from` into `to`, ignoring step borders. Returns null if the chunks would
 * change more than the last step, because only the last step can be retracted. O(parts + length of the
 * changed parts).
 */
export function advance(from: readonly UIPart[], to: readonly UIPart[]): UIAdvance | null {
  const before = from.filter(isContent)
  const after = to.filter(isContent)
  const firstDifference = before.findIndex((part, index) => !leadsTo(part, after[index]))
  const base = firstDifference < 0 ? from : from.slice(0, from.findLastIndex((part) => !isContent(part)) + 1)
  const keptCount = base.filter(isContent).length
  if (firstDifference >= 0 && firstDifference < keptCount) return null
  const chunks: UIChunk[] = base.length < from.length ? [{ type: 'reset-step' }] : []
  for (const [index, part] of after.slice(0, keptCount).entries())
    chunks.push(...changed(before[index] ?? part, part, String(index)))
  let index = 0
  const shown = base.map((part) => (isContent(part) ? (after[index++] ?? part) : part))
  index = 0
  for (const part of to) {
    const isNew = index >= keptCount
    const id = String(index)
    if (isContent(part)) index += 1
    const last = shown.at(-1)
    if (!isNew || (!isContent(part) && last !== undefined && !isContent(last))) continue
    chunks.push(...added(part, id))
    shown.push(part)
  }
  return { chunks, parts: shown }
}

const STEP: UIPart = { type: 'step-start' }

/**
 * Adds to a reply's parts the live content that has no event yet. While `paused`, this content belongs to the
 * interrupted reply, so it precedes the part of the pause or interrupt. O(parts).
 */
export function withLive(
  parts: readonly UIPart[],
  live: readonly (UITextPart | UIReasoningPart)[],
  paused: boolean,
): readonly UIPart[] {
  if (live.length === 0) return parts
  const end = parts.findLastIndex((part) => !isMark(part)) + 1
  const before = paused ? parts.slice(0, end) : parts
  // With this border, a client that already received the pause or interrupt retracts only the new step.
  const border = before.length === end && before.at(-1)?.type !== 'step-start' ? [STEP] : []
  const first = before.filter(isContent).length
  // The id of reasoning is its index among the parts.
  const named = live.map((part, index) =>
    part.type === 'reasoning' ? { ...part, id: String(first + index) } : part,
  )
  return [...before, ...border, ...named, ...parts.slice(before.length)]
}

const isMark = ({ type }: UIPart): boolean => type === 'data-pause' || type === 'data-interrupt'

export const isContent = (part: UIPart): boolean => part.type !== 'step-start'

function leadsTo(from: UIPart | undefined, to: UIPart | undefined): boolean {
  if (from === undefined || to === undefined || from.type !== to.type) return false
  if ('text' in from && 'text' in to)
    return from.state === 'streaming' ? to.text.startsWith(from.text) : from.text === to.text
  if (isTool(from) && isTool(to))
    return (
      from.toolCallId === to.toolCallId &&
      (from.state === to.state || !hasOutput(from) || isReplaced(from, to))
    )
  if (isProgress(from)) return isData(to) && from.id === to.id
  return isTool(from) || canonicalJson(from as never as JsonValue) === canonicalJson(to as never as JsonValue)
}

const hasOutput = ({ state }: UIToolPart): boolean => state.startsWith('output-')

const isReplaced = (from: UIToolPart, to: UIToolPart): boolean => 'preliminary' in from && hasOutput(to)

const isProgress = (part: UIPart): part is UIDataPart => part.type === 'data-progress'

const isTool = (part: UIPart): part is UIToolPart => 'toolCallId' in part

/** Returns the chunks of a new part. For a text or reasoning part, `id` is its index, not counting step parts. */
function added(part: UIPart, id: string): UIChunk[] {
  if (isTool(part)) {
    const { type, toolCallId, input } = part
    const toolName = type.slice('tool-'.length)
    return [{ type: 'tool-input-available', toolCallId, toolName, input }, ...outcomeChunks(part)]
  }
  if (isData(part)) return [part]
  switch (part.type) {
    case 'step-start':
      return [{ type: 'start-step' }]
    case 'file':
      return [{ type: 'file', mediaType: part.mediaType, url: part.url }]
    default:
      return [
        { type: `${part.type}-start`, id },
        ...changed({ ...part, text: '', state: 'streaming' }, part, id),
      ]
  }
}

const isData = (part: UIPart): part is Extract<UIPart, { data: unknown }> => 'data' in part

function changed(from: UIPart, to: UIPart, id: string): UIChunk[] {
  if (isTool(from) && isTool(to)) {
    // After HEAD moves, a call can have another result.
    return from.state === to.state && isEqualJson(outcomeOf(from), outcomeOf(to)) ? [] : outcomeChunks(to)
  }
  if (isProgress(from) && isProgress(to)) return isEqualJson(from.data, to.data) ? [] : [to]
  if (!('text' in from && 'text' in to) || from.state !== 'streaming') return []
  const delta = to.text.slice(from.text.length)
  return [
    ...(delta === '' ? [] : [{ type: `${to.type}-delta` as const, id, delta }]),
    ...(to.state === 'streaming' ? [] : [{ type: `${to.type}-end` as const, id }]),
  ]
}

const isEqualJson = (from: JsonValue, to: JsonValue): boolean =>
  from === to || canonicalJson(from) === canonicalJson(to)

function outcomeOf(part: UIToolPart): JsonValue {
  if ('output' in part) return [part.output, part.preliminary ?? false]
  if ('errorText' in part) return part.errorText
  return part.state === 'output-denied' ? (part.approval.reason ?? null) : null
}

function outcomeChunks(part: UIToolPart): UIChunk[] {
  const { toolCallId } = part
  switch (part.state) {
    case 'approval-requested':
      return [{ type: 'tool-approval-request', approvalId: part.approval.id, toolCallId }]
    case 'approval-responded':
      return decisionChunks(part.approval, toolCallId)
    case 'output-available':
      return [
        {
          type: 'tool-output-available',
          toolCallId,
          output: part.output,
          ...(part.preliminary === true && { preliminary: true }),
        },
      ]
    case 'output-error':
      return [{ type: 'tool-output-error', toolCallId, errorText: part.errorText }]
    case 'output-denied':
      return [...decisionChunks(part.approval, toolCallId), { type: 'tool-output-denied', toolCallId }]
    default:
      return []
  }
}

/** Returns the chunks of a decision: an approval request, which the AI SDK requires first, and the response. */
const decisionChunks = (
  { id: approvalId, approved, reason }: { id: string; approved: boolean; reason?: string },
  toolCallId: string,
): UIChunk[] => [
  { type: 'tool-approval-request', approvalId, toolCallId },
  { type: 'tool-approval-response', approvalId, approved, ...(reason !== undefined && { reason }) },
]
