import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { requestHeadOf } from '../event/reply.ts'
import type { ActionEvent, Event } from '../event/types.ts'
import { anchorOf, type Entry, type EventEntry, eventKindOf, isOnPathIn, pathToEntry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { pendingCallCount } from '../log/open-calls.ts'
import { entryOf } from '../state/at.ts'
import type { Branch, DroppedEntry } from '../state/branch.ts'
import { GRANT_KEYS, granted, type PendingCallStatus } from '../state/call-status.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import type { ConversationRecord, NewConversation } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import type { StoredEvent } from '../store/contract/query.ts'
import { formatInstant } from '../store/kit/record.ts'
import { type Stamp, stampEvents } from './stamp.ts'
import type { Status } from '../state/status.ts'
import { errorResults, openCallsOf, policyUpdate, statusUpdate } from './decide.ts'
import { toPolicy } from './run/policy.ts'

/** Options of a fork. */
export interface ForkOptions extends Partial<
  Pick<NewConversation, 'id' | 'title' | 'public' | 'tags' | 'metadata' | 'sandboxId' | 'owner'>
> {
  /**
   * Id of the event that becomes the fork's HEAD. A state update cannot be HEAD, so its nearest ancestor that
   * can be HEAD is used instead. Only the path to HEAD is copied. However, the whole log up to HEAD is copied
   * if this path has a result whose call is on another branch, or a reply that was requested on another
   * branch. Without `from`, the whole log is copied.
   */
  readonly from?: string
}

/** What a fork copies and appends. */
export interface ForkPlan {
  /** Positions to copy, ascending; null for the whole log. */
  readonly positions: ReadonlySet<number> | null
  /**
   * Events to append: the source's confirmation policy, if the copy's policy could otherwise differ; error
   * results of calls that do not await a confirmation; status updates.
   */
  readonly appended: readonly Event[]
  readonly status: Status
}

/**
 * Returns what a fork copies and appends. `from` is the last event to copy; without it, the whole log is
 * copied. If `from` is a state update, which cannot be HEAD, the fork ends at the update's nearest ancestor
 * that can be HEAD (design D7). O(depth · log depth), O(events) if the log up to a position is copied, or O(k
 * log k) for the whole log with k pending calls.
 * @throws ColloquyError `unknown_event` when the event is not in the tree; `evicted` when a snapshot or
 *   `evict` left out its branch.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'InterruptEvent', id: 'b' }])
 * [...planFork(state, 'a').positions] // [0]
 * planFork(state).appended[0].value // 'idle'
 */
export function planFork(state: State, from?: string): ForkPlan {
  const { confirmationPolicy, callStatuses } = state.header
  if (from === undefined) {
    const hasApprovals = callStatuses.some(({ grant }) => grant !== 'started')
    return { positions: null, ...endOf(state, callStatuses, state.branch, hasApprovals) }
  }
  const end = anchorOf(entryOf(state.log, from))
  const branch = branchOf(end)
  const path = pathToEntry(end)
  // If the copy lacked a result's call, the result would end another call (U3). If the copy lacked the event
  // after which a reply was requested, the reply would move in the view (U10).
  const refersElsewhere =
    end !== null &&
    ([...branch.dropped].some((dropped) => namesEventOffPath(state, end, dropped)) ||
      path.some((entry) => isAskedElsewhere(state, end, entry)))
  // A path contains a state update only if an event names it as parent. Such an update may set an old policy.
  const hasNoPolicy =
    confirmationPolicy === null &&
    path.every((entry) => eventKindOf(entry) !== 'ConversationStateUpdateEvent')
  const { header } = (end as Checkpoint | null) ?? state
  const copied: readonly Entry[] = refersElsewhere ? state.log.entries.slice(0, end.seq + 1) : path
  const statuses = [...callStatuses, ...header.callStatuses]
  const { appended, status } = endOf(state, statuses, branch, copied.some(mayApprove))
  return {
    positions: new Set(copied.map(({ seq }) => seq)),
    appended: [...(hasNoPolicy ? [] : [policyUpdate(confirmationPolicy)]), ...appended],
    status,
  }
}

function namesEventOffPath({ log }: State, end: Entry | null, { entry, reason }: DroppedEntry): boolean {
  if (reason !== 'orphan_result') return false
  const { event } = entry
  if (event === null) return true
  const id = 'action_id' in event ? event.action_id : null
  const named = typeof id === 'string' ? findEventIn(log, id) : undefined
  return named !== undefined && named.seq < entry.seq && !isOnPathIn(named, end)
}

function isAskedElsewhere({ log }: State, end: Entry, { event, seq }: Entry): boolean {
  const after = event === null ? undefined : requestHeadOf(event)
  const named = typeof after === 'string' ? findEventIn(log, after) : undefined
  return named !== undefined && named.seq < seq && !isOnPathIn(named, end)
}

function mayApprove(entry: Entry): boolean {
  const { event } = entry
  if (event === null) return eventKindOf(entry) === 'ConversationStateUpdateEvent'
  if (event.kind !== 'ConversationStateUpdateEvent') return false
  return event.key === GRANT_KEYS.approved || event.key === GRANT_KEYS.held
}

/**
 * Returns the results and status events that end a copy, and the copy's status. Approvals in the copied log
 * do not apply to the copy: a `waiting_for_confirmation` status revokes them.
 */
function endOf(
  state: State,
  callStatuses: readonly PendingCallStatus[],
  branch: Branch,
  hasApprovals: boolean,
): Pick<ForkPlan, 'appended' | 'status'> {
  const ended = endedCalls(state, callStatuses, branch)
  const waits = pendingCallCount(branch.pendingCalls) > ended.length
  const status = waits ? 'waiting_for_confirmation' : 'idle'
  const revoked = hasApprovals && !waits ? [statusUpdate('waiting_for_confirmation')] : []
  return { appended: [...ended, ...revoked, statusUpdate(status)], status }
}

/** Returns results for calls that began in the source, and for calls that neither have nor await a decision. */
function endedCalls(state: State, callStatuses: readonly PendingCallStatus[], branch: Branch): Event[] {
  const { header } = state
  const open = openCallsOf({ branch })
  const started = granted(callStatuses, 'started')
  const isWaiting = header.status === 'waiting_for_confirmation'
  const decided = new Set([
    ...callStatuses.map(({ action_id }) => action_id),
    ...(isWaiting ? openCallsOf(state) : []).map(({ id }) => id),
  ])
  const policy = toPolicy(header.confirmationPolicy)
  const events = open.map(({ event }) => event)
  const replies = Map.groupBy(events, ({ llm_response_id }) => llm_response_id)
  const waits = ({ id, event }: EventEntry<ActionEvent>): boolean =>
    decided.has(id) || policy(event, replies.get(event.llm_response_id) ?? [event])
  // A result refers to a call id, so calls with the same call id end together.
  const callIds = new Set(
    open.flatMap((call) => (started.has(call.id) || !waits(call) ? [call.event.tool_call_id] : [])),
  )
  const ended = open.filter(({ event }) => callIds.has(event.tool_call_id))
  return errorResults(ended, ({ id }) => (started.has(id) ? CONTINUES_IN_SOURCE : NOT_COPIED))
}

const CONTINUES_IN_SOURCE =
  'The conversation was copied while this call was running. Its result is in the original; whether it took effect is not known here.'

const NOT_COPIED =
  'The conversation was copied before this call had a result. The copy does not execute it; whether the original does is not known here.'

const PAGE_SIZE = 500
/** Limits of one append. A fork that fits into one append is empty or complete if the process is killed. */
const BATCH = { events: 10_000, characters: 2 ** 25 }

/** Copies events, which keep their ids, including derived ids. Deletes the fork if an append fails. */
export async function writeFork(
  store: Store,
  source: ConversationRecord,
  id: string,
  plan: ForkPlan,
  length: number,
  options: ForkOptions,
  stamp: Stamp,
): Promise<void> {
  const { from: _, title = source.title, owner = source.owner, ...fields } = options
  await store.createConversation({
    ...fields,
    id,
    title,
    owner,
    timeZone: source.timeZone,
    parentConversationId: source.id,
    status: plan.status,
  })
  try {
    let copied = 0
    let batch: Fact[] = []
    let room = BATCH.characters
    let last: string | null = null
    const flush = async (): Promise<void> => {
      // Existing events are recognized by position.
      await store.append(id, batch, { mode: 'import', expected: copied })
      copied += batch.length
      batch = []
      room = BATCH.characters
    }
    for (let from = 0; from < length; from += PAGE_SIZE) {
      const events = await store.read(source.id, { from, limit: Math.min(PAGE_SIZE, length - from) })
      for (const event of events.filter(({ seq }) => plan.positions?.has(seq) ?? true)) {
        if (batch.length === BATCH.events || room < 0) await flush()
        const fact = withId(event)
        batch.push(fact)
        room -= JSON.stringify(fact).length
        last = event.time
      }
    }
    batch.push(...stampEvents(plan.appended, stamp, last === null ? null : formatInstant(last)))
    await flush()
  } catch (error) {
    await store.deleteConversation(id).catch(() => undefined)
    throw error
  }
}

function withId({ fact, id }: StoredEvent): Fact {
  return id === null || fact.id !== undefined || isQuarantined(fact) ? fact : { ...fact, id }
}
