import { isTextPart } from '../event/shapes.ts'
import { earlyEndOf, replyOf } from '../event/reply.ts'
import { hasText } from '../event/text.ts'
import type { Event } from '../event/types.ts'

/** The status of a conversation. */
export type Status =
  | 'idle'
  | 'running'
  | 'paused'
  | 'waiting_for_confirmation'
  | 'finished'
  | 'error'
  | 'stuck'
  | 'deleting'

/** All statuses. */
export const STATUSES: readonly Status[] = Object.freeze([
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
])

/**
 * Whether a value is one of the eight statuses.
 * @example
 * isStatus('stuck') // true
 * isStatus('asleep') // false
 */
export const isStatus = (value: unknown): value is Status => (STATUSES as readonly unknown[]).includes(value)

/** Whether an event is a final reply: text for the user without calls, not interrupted or ended early. */
export function isFinalReply(event: Event): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return false
  const { content, tool_calls } = event.llm_message
  const speaks = (content ?? []).some((part) => isTextPart(part) && hasText(part.text))
  if (!speaks || (tool_calls?.length ?? 0) > 0) return false
  return replyOf(event)?.interrupted !== true && earlyEndOf(event) === null
}

export const isFinish = (event: Event): boolean =>
  event.kind === 'ObservationEvent' && event.tool_name === 'finish' && event.observation.is_error !== true
