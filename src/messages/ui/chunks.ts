/** What to tell a client of the AI SDK, so that the message that it has becomes the one that it should have. */

import { canonicalJson } from '../../event/encode.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { UIChunk, UIPart, UIReasoningPart, UITextPart, UIToolPart } from './types.ts'

/** What leads from some parts to others, and what the client has then. */
export interface UIAdvance {
  readonly chunks: readonly UIChunk[]
  /** The others, and maybe a border more: a step that was taken back leaves its own. */
  readonly shown: readonly UIPart[]
}

/**
 * The chunks that lead from some parts to others; null where none do, as only the last step can be taken back. Borders
 * of steps are not compared. O(parts + length of those that changed).
 */
export function advance(from: readonly UIPart[], to: readonly UIPart[]): UIAdvance | null {
  const had = from.filter(isSaid)
  const wanted = to.filter(isSaid)
  const other = had.findIndex((part, at) => !leadsTo(part, wanted[at]))
  const base = other < 0 ? from : from.slice(0, from.findLastIndex((part) => !isSaid(part)) + 1)
  const kept = base.filter(isSaid).length
  if (other >= 0 && other < kept) return null
  const chunks: UIChunk[] = base.length < from.length ? [{ type: 'reset-step' }] : []
  for (const [at, part] of wanted.slice(0, kept).entries())
    chunks.push(...changed(had[at] ?? part, part, String(at)))
  let seen = 0
  const shown = base.map((part) => (isSaid(part) ? (wanted[seen++] ?? part) : part))
  seen = 0
  for (const part of to) {
    const isNew = seen >= kept
    const id = String(seen)
    if (isSaid(part)) seen += 1
    const last = shown.at(-1)
    if (!isNew || (!isSaid(part) && last !== undefined && !isSaid(last))) continue
    chunks.push(...added(part, id))
    shown.push(part)
  }
  return { chunks, shown }
}

const STEP: UIPart = { type: 'step-start' }

/**
 * The parts of a reply with what is on its way and in no event yet. While the conversation is `paused`, that belongs to
 * the reply which the pause or the interruption met, so that it is before the mark. O(parts).
 */
export function withLive(
  parts: readonly UIPart[],
  live: readonly (UITextPart | UIReasoningPart)[],
  paused: boolean,
): readonly UIPart[] {
  if (live.length === 0) return parts
  const end = parts.findLastIndex((part) => !isMark(part)) + 1
  const before = paused ? parts.slice(0, end) : parts
  // A client that was told of the mark first takes back its step alone.
  const border = before.length === end && before.at(-1)?.type !== 'step-start' ? [STEP] : []
  const first = before.filter(isSaid).length
  // Reasoning is named by its index among the parts.
  const named = live.map((part, index) =>
    part.type === 'reasoning' ? { ...part, id: String(first + index) } : part,
  )
  return [...before, ...border, ...named, ...parts.slice(before.length)]
}

const isMark = ({ type }: UIPart): boolean => type === 'data-pause' || type === 'data-interrupt'

/** Whether a part is more than a border. */
export const isSaid = (part: UIPart): boolean => part.type !== 'step-start'

/** Whether a part can become another one by what comes behind it. */
function leadsTo(from: UIPart | undefined, to: UIPart | undefined): boolean {
  if (from === undefined || to === undefined || from.type !== to.type) return false
  if ('text' in from && 'text' in to)
    return from.state === 'streaming' ? to.text.startsWith(from.text) : from.text === to.text
  if (isTool(from) && isTool(to))
    return from.toolCallId === to.toolCallId && (from.state === to.state || !from.state.startsWith('output-'))
  return isTool(from) || canonicalJson(from as never as JsonValue) === canonicalJson(to as never as JsonValue)
}

const isTool = (part: UIPart): part is UIToolPart => 'toolCallId' in part

/** Texts and reasoning are named by their place among the parts. */
function added(part: UIPart, id: string): UIChunk[] {
  if (isTool(part)) {
    const { type, toolCallId, input } = part
    const toolName = type.slice('tool-'.length)
    return [{ type: 'tool-input-available', toolCallId, toolName, input }, ...settled(part)]
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
  if (isTool(from) && isTool(to)) return isSameOutcome(from, to) ? [] : settled(to)
  if (!('text' in from && 'text' in to) || from.state !== 'streaming') return []
  const delta = to.text.slice(from.text.length)
  return [
    ...(delta === '' ? [] : [{ type: `${to.type}-delta` as const, id, delta }]),
    ...(to.state === 'streaming' ? [] : [{ type: `${to.type}-end` as const, id }]),
  ]
}

/** Whether nothing else became of a call: HEAD may have moved to where it has another result. */
function isSameOutcome(from: UIToolPart, to: UIToolPart): boolean {
  const [had, wanted] = [outcomeOf(from), outcomeOf(to)]
  return from.state === to.state && (had === wanted || canonicalJson(had) === canonicalJson(wanted))
}

function outcomeOf(part: UIToolPart): JsonValue {
  if ('output' in part) return part.output
  if ('errorText' in part) return part.errorText
  return part.state === 'output-denied' ? (part.approval.reason ?? null) : null
}

/** What became of a call that the client knows. That it is asked for again, or begun, is not told. */
function settled(part: UIToolPart): UIChunk[] {
  const { toolCallId } = part
  switch (part.state) {
    case 'approval-requested':
      return [{ type: 'tool-approval-request', approvalId: part.approval.id, toolCallId }]
    case 'approval-responded':
      return [...asked(part.approval.id, toolCallId), approval(part.approval)]
    case 'output-available':
      return [{ type: 'tool-output-available', toolCallId, output: part.output }]
    case 'output-error':
      return [{ type: 'tool-output-error', toolCallId, errorText: part.errorText }]
    case 'output-denied':
      return [
        ...asked(part.approval.id, toolCallId),
        approval(part.approval),
        { type: 'tool-output-denied', toolCallId },
      ]
    default:
      return []
  }
}

/** A decision is told of what was asked for only. */
const asked = (approvalId: string, toolCallId: string): UIChunk[] => [
  { type: 'tool-approval-request', approvalId, toolCallId },
]

const approval = (given: { id: string; approved: boolean; reason?: string }): UIChunk => ({
  type: 'tool-approval-response',
  approvalId: given.id,
  approved: given.approved,
  ...(given.reason === undefined ? {} : { reason: given.reason }),
})
