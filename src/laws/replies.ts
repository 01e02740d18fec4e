/** Finds the first event of each reply, and HEAD when the reply was requested. */

import { requestHeadOf, replyOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import { type Entry, isOnPathIn } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import type { Checkpoint, State } from '../state/state.ts'
import type { LogStep } from './load.ts'

export function responseIdOf(event: Event): string | null {
  const isMessage =
    event.kind === 'MessageEvent' && event.source === 'agent' && event.llm_message.role === 'assistant'
  if (event.kind !== 'ActionEvent' && !isMessage) return null
  return (event.llm_response_id ?? '') === '' ? null : (event.llm_response_id ?? null)
}

export const isCutOff = (event: Event): boolean => replyOf(event)?.interrupted === true

export function replyStarts() {
  const known = new Map<string, Entry>()
  return ({ before, entry }: LogStep) => {
    const responseId = responseIdOf(entry.event)
    if (responseId === null) return null
    const last = known.get(responseId)
    known.set(responseId, entry)
    if (last !== undefined && isOnPathIn(last, entry.parent)) return null
    return { responseId, head: headOfRequest(before, entry) }
  }
}

/** Returns HEAD when a reply was requested: the recorded HEAD, else the reply's parent. Null for an empty HEAD. */
export function headOfRequest({ log }: State, { event, parent }: LogStep['entry']): Checkpoint | null {
  const after = requestHeadOf(event)
  if (after === null) return null
  return (typeof after === 'string' ? findEventIn(log, after) : undefined) ?? (parent as Checkpoint | null)
}
