/** Finds the events that start a reply, and HEAD at the request for the reply. */

import { requestHeadOf, replyOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import { type Entry, isOnPathIn } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import type { Checkpoint } from '../state/state.ts'
import type { LogStep } from './load.ts'

interface ReplyStart {
  readonly responseId: string
  /** HEAD at the request, as the reply records it, or else the reply's parent; null if HEAD was empty. */
  readonly head: Checkpoint | null
  readonly isRecorded: boolean
}

export function responseIdOf(event: Event): string | null {
  const isMessage =
    event.kind === 'MessageEvent' && event.source === 'agent' && event.llm_message.role === 'assistant'
  if (event.kind !== 'ActionEvent' && !isMessage) return null
  return (event.llm_response_id ?? '') === '' ? null : (event.llm_response_id ?? null)
}

export const isCutOff = (event: Event): boolean => replyOf(event)?.interrupted === true

export function replyStarts(): (step: LogStep) => ReplyStart | null {
  const known = new Map<string, Entry>()
  return ({ before, entry }) => {
    const responseId = responseIdOf(entry.event)
    if (responseId === null) return null
    const last = known.get(responseId)
    known.set(responseId, entry)
    if (last !== undefined && isOnPathIn(last, entry.parent)) return null
    const after = requestHeadOf(entry.event)
    const named = typeof after === 'string' ? findEventIn(before.log, after) : undefined
    if (named !== undefined) return { responseId, head: named, isRecorded: true }
    if (after === null) return { responseId, head: null, isRecorded: true }
    return { responseId, head: entry.parent as Checkpoint | null, isRecorded: after === true }
  }
}
