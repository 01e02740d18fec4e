/** Computes status and error by the rows of the status table (design section 3). */

import type { Event } from '../../src/event/types.ts'
import { readBranch } from './branch.ts'
import { type Note, ignoreNote } from './notes.ts'
import type { Node } from './tree.ts'
import { isBlank } from '../../src/messages/rules.ts'

const STATUSES = [
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
]

export interface StatusReading {
  readonly status: string
  readonly error: { readonly code: string; readonly detail: string; readonly event_id: string } | null
}

/** Status and error after each number of facts, from none to all: each depends on the facts before it only. */
export function readStatuses(nodes: readonly Node[], note: Note = ignoreNote): StatusReading[] {
  let status = 'idle'
  let error: StatusReading['error'] = null
  /** Position at which the status last became paused. */
  let pausedAt = -1
  const readings: StatusReading[] = [{ status, error }]
  for (const node of nodes) {
    if (!node.inTree || node.event === null) {
      readings.push({ status, error })
      continue
    }
    const before = status
    status = nextStatus(nodes, node, node.event, before, pausedAt, note) ?? before
    if (node.event.kind === 'ConversationErrorEvent' && status === 'error') {
      error = { code: node.event.code, detail: node.event.detail, event_id: node.id ?? '' }
    }
    if (status !== 'error') error = null
    else if (error !== null && node.event.kind !== 'ConversationErrorEvent') note('error_remains')
    if (status === 'paused' && before !== 'paused') pausedAt = node.position
    if (status === 'finished' && before !== 'finished') note('finished')
    readings.push({ status, error })
  }
  return readings
}

const completes = (nodes: readonly Node[], node: Node): boolean =>
  readBranch(nodes.slice(0, node.position + 1), node.position).working.length <
  readBranch(nodes.slice(0, node.position), node.parent).working.length

/** The status from the first matching row, or null. */
function nextStatus(
  nodes: readonly Node[],
  node: Node,
  event: Event,
  status: string,
  pausedAt: number,
  note: Note,
): string | null {
  const is = (...names: readonly string[]) => names.includes(status)
  const hasPendingCalls = (index: number | null) =>
    readBranch(nodes.slice(0, node.position + 1), index).open.length > 0

  if (event.kind === 'ConversationStateUpdateEvent') {
    if (event.key === 'execution_status') return statusOf(event.value)
    if (event.key === 'full_state') {
      const value = event.value
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
      return statusOf(Object.entries(value).find(([key]) => key === 'execution_status')?.[1])
    }
    if (event.key === 'leaf_event_id' && node.moved) {
      if (is('finished', 'stuck')) return 'idle'
      if (is('waiting_for_confirmation') && !hasPendingCalls(node.head)) return 'idle'
    }
    return null
  }
  if (event.kind === 'PauseEvent' || event.kind === 'InterruptEvent') {
    return is('idle', 'running') ? 'paused' : null
  }
  if (event.kind === 'ConversationErrorEvent') return is('deleting') ? null : 'error'
  if (event.kind === 'MessageEvent' && (event.source === 'user' || completes(nodes, node))) {
    return is('finished', 'stuck') ? 'idle' : null
  }
  if (event.kind === 'ActionEvent') {
    if (is('idle', 'finished', 'error', 'stuck')) return 'running'
    if (!is('paused')) return null
    const replies = newResponses(nodes, pausedAt, node.position)
    if (replies.includes(event.llm_response_id) && replies.length === 1) note('reply_in_flight')
    const second = replies.length > 1 && replies.at(-1) === event.llm_response_id
    if (second) note('second_reply')
    return second && firstOf(nodes, event.llm_response_id) === node.position ? 'running' : null
  }
  if (
    event.kind === 'ObservationEvent' &&
    event.tool_name === 'finish' &&
    event.observation.is_error !== true &&
    !is('paused', 'deleting')
  ) {
    return 'finished'
  }
  if (event.kind === 'MessageEvent' && event.source === 'agent') {
    const hasOutput = (event.llm_message.content ?? []).some((part) => {
      if (!['text', 'image'].includes(part.type ?? 'text')) return false
      if ('image_urls' in part) return (part.image_urls as readonly string[]).length > 0
      return 'text' in part && !isBlank(String(part.text))
    })
    const calls = (event.llm_message.tool_calls ?? []).length > 0
    const { reply } = event.llm_message as {
      reply?: { interrupted?: unknown; outcome?: unknown; output?: unknown } | null
    }
    const endedEarly = ['truncated', 'paused', 'refused', 'filtered', 'broken_off', 'failed'].some(
      (end) => end === reply?.outcome,
    )
    const isIncomplete = (reply?.interrupted === true || endedEarly) && !Array.isArray(reply)
    if (isIncomplete) note(endedEarly ? 'ended_early' : 'cut_off')
    const isFinal = hasOutput || (reply?.output === true && !Array.isArray(reply))
    return isFinal && !calls && !isIncomplete && is('idle', 'running', 'error', 'stuck') ? 'finished' : null
  }
  const isResult =
    event.kind === 'ObservationEvent' ||
    event.kind === 'UserRejectObservation' ||
    event.kind === 'AgentErrorEvent'
  if (isResult && is('waiting_for_confirmation') && !hasPendingCalls(node.position)) {
    note('confirmation_answered')
    const byUser = event.kind === 'UserRejectObservation' && (event.rejection_source ?? 'user') === 'user'
    return byUser ? 'idle' : 'running'
  }
  return null
}

const statusOf = (value: unknown): string | null =>
  typeof value === 'string' && STATUSES.includes(value) ? value : null

/** Position of the first action of an LLM response in the whole log. */
const firstOf = (nodes: readonly Node[], response: string): number =>
  nodes.find(
    ({ inTree, event }) => inTree && event?.kind === 'ActionEvent' && event.llm_response_id === response,
  )?.position ?? -1

/** The LLM responses whose first action is after `from`, up to and including `to`, in order. */
function newResponses(nodes: readonly Node[], from: number, to: number): string[] {
  const matches: string[] = []
  for (const { position: index, inTree, event } of nodes.slice(0, to + 1)) {
    if (!inTree || event?.kind !== 'ActionEvent' || index <= from) continue
    if (firstOf(nodes, event.llm_response_id) === index) matches.push(event.llm_response_id)
  }
  return matches
}
