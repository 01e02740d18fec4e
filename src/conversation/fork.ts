/** Forks a conversation: a new one begins with a copy of the log up to an event. */

import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { requestHeadOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import { isOnPathIn, pathToEntry } from '../log/ancestry.ts'
import { anchorOf, type Entry, eventKindOf } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { pendingCallCount } from '../log/open-calls.ts'
import { entryOf } from '../state/at.ts'
import type { Branch, DroppedEntry } from '../state/branch.ts'
import { GRANT_KEYS } from '../state/call-status.ts'
import { branchOf, type State } from '../state/state.ts'
import type { ConversationRecord, NewConversation } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import type { StoredEvent } from '../store/contract/query.ts'
import { type Stamp, stampEvents } from './stamp.ts'
import type { Status } from '../state/status.ts'
import { policyUpdate, statusUpdate } from './decide.ts'

/** How to fork. */
export interface ForkOptions extends Partial<
  Pick<NewConversation, 'id' | 'title' | 'public' | 'tags' | 'metadata' | 'sandboxId' | 'owner'>
> {
  /**
   * The event to fork from: the path to it is copied, and HEAD is there; where the path holds a result of a call on
   * another branch, or a reply asked for there, all of the log up to the event. Default: the whole log, with all
   * branches and HEAD.
   */
  readonly from?: string
}

/** What a fork takes along, and what is appended to it. */
export interface ForkPlan {
  /** Positions to copy, ascending; null for all. */
  readonly positions: ReadonlySet<number> | null
  /**
   * The policy, which is never less strict than that of the source, and the status: calls that are open stay open, and
   * wait.
   */
  readonly appended: readonly Event[]
  /** That status, by which the fork is listed. */
  readonly status: Status
}

/**
 * Decides a fork. A state update to fork from stands for the event before it on its branch, as it does for HEAD (design
 * D7). O(depth · log depth), where the log up to there is copied O(events), for the whole log O(1).
 * @throws ColloquyError `unknown_event` when no event of the tree has the id; `evicted` when a snapshot or `evict`
 * dropped its branch.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'InterruptEvent', id: 'b' }])
 * [...planFork(state, 'a').positions] // [0]
 * planFork(state).appended[0].value // 'idle'
 */
export function planFork(state: State, from?: string): ForkPlan {
  const { confirmationPolicy, callStatuses } = state.header
  if (from === undefined) {
    const agrees = callStatuses.some(({ grant }) => grant !== 'started')
    return { positions: null, appended: statusesOf(state.branch, agrees), status: statusOf(state.branch) }
  }
  const end = anchorOf(entryOf(state.log, from))
  const branch = branchOf(end)
  const path = pathToEntry(end)
  // A result of a call on another branch ends no call here, for as long as that call is known to be elsewhere (U3).
  // Likewise a reply stands where the event that it was asked at says, also when that is on another branch (U10).
  const strays =
    end !== null &&
    ([...branch.dropped].some((dropped) => isStray(state, end, dropped)) ||
      path.some((entry) => isAskedElsewhere(state, end, entry)))
  // A state update stands on a path only where an event names it as its parent; it may have brought a policy that holds
  // no more.
  const isSilent =
    confirmationPolicy === null &&
    path.every((entry) => eventKindOf(entry) !== 'ConversationStateUpdateEvent')
  const copied: readonly Entry[] = strays ? state.log.entries.slice(0, end.seq + 1) : path
  return {
    positions: new Set(copied.map(({ seq }) => seq)),
    appended: [
      ...(isSilent ? [] : [policyUpdate(confirmationPolicy)]),
      ...statusesOf(branch, copied.some(mayAgree)),
    ],
    status: statusOf(branch),
  }
}

/** Whether a result names an event that is not on the path; where its body was evicted, it may. */
function isStray({ log }: State, end: Entry | null, { entry, reason }: DroppedEntry): boolean {
  if (reason !== 'orphan_result') return false
  const { event } = entry
  if (event === null) return true
  const id = 'action_id' in event ? event.action_id : null
  const named = typeof id === 'string' ? findEventIn(log, id) : undefined
  return named !== undefined && named.seq < entry.seq && !isOnPathIn(named, end)
}

/** Whether an event says that its model was asked at an earlier one off the path. What stands in the view is loaded. */
function isAskedElsewhere({ log }: State, end: Entry, { event, seq }: Entry): boolean {
  const after = event === null ? undefined : requestHeadOf(event)
  const named = typeof after === 'string' ? findEventIn(log, after) : undefined
  return named !== undefined && named.seq < seq && !isOnPathIn(named, end)
}

/** Whether an entry may say of calls that they may be executed; what was evicted may be anything. */
function mayAgree(entry: Entry): boolean {
  const { event } = entry
  if (event === null) return eventKindOf(entry) === 'ConversationStateUpdateEvent'
  if (event.kind !== 'ConversationStateUpdateEvent') return false
  return event.key === GRANT_KEYS.approved || event.key === GRANT_KEYS.held
}

/**
 * What a copy begins with. A consent was given to the source alone, also for calls of a branch that HEAD is not on:
 * waiting ends it.
 */
function statusesOf(branch: Branch, agrees: boolean): Event[] {
  const [status, waits] = [statusUpdate(statusOf(branch)), statusUpdate('waiting_for_confirmation')]
  return agrees && statusOf(branch) === 'idle' ? [waits, status] : [status]
}

const statusOf = ({ pendingCalls }: Branch): Status =>
  pendingCallCount(pendingCalls) > 0 ? 'waiting_for_confirmation' : 'idle'

/** How many events are read at once. */
const PAGE = 500
/**
 * How much is appended at once, in events and in characters: mostly all of a fork, so that a kill leaves it empty or
 * whole.
 */
const BATCH = { events: 10_000, characters: 2 ** 25 }

/**
 * Writes a fork. Ids are kept, also those that were derived from the source's. A fork that cannot be finished is
 * deleted. O(events).
 * @throws ColloquyError `conversation_exists`, what the store throws.
 */
export async function writeFork(
  store: Store,
  source: ConversationRecord,
  id: string,
  plan: ForkPlan,
  length: number,
  options: ForkOptions,
  stamp: Stamp,
): Promise<void> {
  const { title = source.title, public: open = false, tags = {}, metadata = {}, sandboxId = null } = options
  const { owner = source.owner } = options
  const { timeZone } = source
  await store.createConversation({
    id,
    title,
    public: open,
    tags,
    metadata,
    timeZone,
    parentConversationId: source.id,
    sandboxId,
    owner,
    status: plan.status,
  })
  try {
    let copied = 0
    let batch: Fact[] = []
    let room = BATCH.characters
    const flush = async (): Promise<void> => {
      // The copy is known by position.
      await store.append(id, batch, { mode: 'import', expected: copied })
      copied += batch.length
      batch = []
      room = BATCH.characters
    }
    for (let from = 0; from < length; from += PAGE) {
      const events = await store.read(source.id, { from, limit: Math.min(PAGE, length - from) })
      for (const fact of events.filter(({ seq }) => plan.positions?.has(seq) ?? true).map(withId)) {
        if (batch.length === BATCH.events || room < 0) await flush()
        batch.push(fact)
        room -= JSON.stringify(fact).length
      }
    }
    batch.push(...stampEvents(plan.appended, stamp))
    await flush()
  } catch (error) {
    await store.deleteConversation(id).catch(() => undefined)
    throw error
  }
}

/** The fact with its id written into it: in the fork another would be derived. */
function withId({ fact, id }: StoredEvent): Fact {
  return id === null || fact.id !== undefined || isQuarantined(fact) ? fact : { ...fact, id }
}
