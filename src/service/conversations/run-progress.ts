import type { Conversation } from '../../conversation/conversation.ts'
import { isLostTwice } from '../../conversation/run/plan-calls.ts'
import { isTurnOver } from '../../conversation/turn.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import { eventKindOf } from '../../log/entry.ts'
import { findEventIn } from '../../log/log.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import { hasNoPrompt, type Status } from '../../state/status.ts'
import type { Store } from '../../store/contract/store.ts'

export function hasUnfinishedRun(state: State): boolean {
  const { header, branch, log } = state
  const message = branch.lastUserMessage
  if (message === null) return false
  const { status } = header
  if (status === 'waiting_for_confirmation') return granted(header.callStatuses, 'approved').size > 0
  const failedAt = header.error === null ? -1 : (findEventIn(log, header.error.event_id)?.seq ?? -1)
  const isOpen = status === 'running' || status === 'idle' || (status === 'error' && failedAt < message.seq)
  if (!isOpen || isTurnOver(branch) || hasNoPrompt(branch)) return false
  return !isLostTwice(state, message.seq)
}

const PAGE_SIZE = 100

/** Whether a run has begun or continued since a position of the log. Reads the store: a state may be outdated. */
export async function wasHandled(store: Pick<Store, 'read'>, id: string, from: number): Promise<boolean> {
  for (let start = from; ; start += PAGE_SIZE) {
    const events = await store.read(id, { from: start, limit: PAGE_SIZE })
    if (events.some(({ fact }) => isOfRun(fact))) return true
    if (events.length < PAGE_SIZE) return false
  }
}

const isOfRun = (fact: Fact): boolean =>
  (!isQuarantined(fact) && fact.source === 'agent') || reportsStatus(fact, 'running')

export const reportsStatus = (fact: Fact, status: Status): boolean =>
  !isQuarantined(fact) &&
  fact.kind === 'ConversationStateUpdateEvent' &&
  fact.key === 'execution_status' &&
  fact.value === status

/** Resolves when a run has appended an event at position `from` or later, or when the signal is aborted. */
export async function awaitRun(conversation: Conversation, from: number, signal: AbortSignal): Promise<void> {
  for await (const item of conversation.subscribe({ after: from - 1, signal }))
    if (item.type === 'event' && isOfRun(item.fact)) return
}

/** Minimum milliseconds to wait for another process's lease to expire. */
const MIN_WAIT = 1_000
const MAX_WAIT = 60_000

/**
 * Waits for evidence that another process's active run handles a message. Returns true once a later event of
 * the run appears. Returns false if the status stops being `running`, or if no event appears before the lease
 * expires (the wait is at least 1 and at most 60 seconds).
 */
export async function isHandledByOtherRun(
  conversation: Conversation,
  from: number,
  expiresAt: number,
): Promise<boolean> {
  const remaining = expiresAt - Date.now()
  const due = new AbortController()
  const timer = setTimeout(() => due.abort(), Math.min(Math.max(remaining, MIN_WAIT), MAX_WAIT))
  try {
    for await (const item of conversation.subscribe({ after: from - 1, signal: due.signal })) {
      if (item.type !== 'event' || isQuarantined(item.fact)) continue
      const { fact } = item
      if (fact.source === 'agent') return true
      if (fact.kind === 'ConversationStateUpdateEvent' && fact.key === 'execution_status')
        return fact.value === 'running'
    }
    return false
  } finally {
    clearTimeout(timer)
  }
}

export async function wasPausedSince(conversation: Conversation, from: number): Promise<boolean> {
  const { log } = await conversation.state()
  const kinds = log.entries.slice(from).map(eventKindOf)
  return kinds.some((kind) => kind === 'PauseEvent' || kind === 'InterruptEvent')
}
