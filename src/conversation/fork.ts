/** Forks a conversation: a store, a state and a place in it go in; a new conversation with a copy of the log up to there comes out. */

import { type Fact, isQuarantined } from '../event/quarantine.ts'
import type { Event } from '../event/types.ts'
import { isOnPath, pathTo } from '../log/ancestry.ts'
import { anchorOf, type Entry, eventKindOf } from '../log/entry.ts'
import { findEntry } from '../log/log.ts'
import { openCount } from '../log/open-calls.ts'
import { entryOf } from '../state/at.ts'
import type { Branch, DroppedEntry } from '../state/branch.ts'
import { branchOf, type State } from '../state/state.ts'
import type { ConversationRecord, NewConversation } from '../store/conversation-record.ts'
import type { Store } from '../store/store.ts'
import type { StoredEvent } from '../store/stored-event.ts'
import { type Stamp, stampEvents } from './draft.ts'
import { policyUpdate, statusUpdate } from './updates.ts'

/** How to fork. */
export interface ForkOptions extends Partial<
  Pick<NewConversation, 'id' | 'title' | 'public' | 'tags' | 'metadata'>
> {
  /**
   * The event to fork from: the path to it is copied, and HEAD is there; where the path holds an answer to a call on another branch, all of
   * the log up to the event. Default: the whole log, with all branches and HEAD.
   */
  readonly from?: string
}

/** What a fork takes along, and what is appended to it. */
export interface ForkPlan {
  /** Positions to copy, ascending; null for all. */
  readonly positions: ReadonlySet<number> | null
  /** The policy, which is never less strict than that of the source, and the status: calls that are open stay open, and wait. */
  readonly appended: readonly Event[]
}

/**
 * Decides a fork. A state update to fork from stands for the event before it on its branch, as it does for HEAD (design D7). O(depth · log
 * depth), where the log up to there is copied O(events), for the whole log O(1).
 * @throws ColloquyError `unknown_event` when no event of the tree has the id; `not_held` when a snapshot or `compact` let go of its branch.
 * @example
 * const state = replay([{ kind: 'PauseEvent', id: 'a' }, { kind: 'InterruptEvent', id: 'b' }])
 * [...planFork(state, 'a').positions] // [0]
 * planFork(state).appended[0].value // 'idle'
 */
export function planFork(state: State, from?: string): ForkPlan {
  if (from === undefined) return { positions: null, appended: [statusOf(state.branch)] }
  const { confirmationPolicy } = state.header
  const end = anchorOf(entryOf(state.log, from))
  const branch = branchOf(end)
  const path = pathTo(end)
  // An answer to a call on another branch answers nothing here, for as long as that call is known to be elsewhere (U3).
  const strays = end !== null && [...branch.dropped].some((dropped) => isStray(state, end, dropped))
  // A state update stands on a path only where an event names it as its parent; it may have brought a policy that holds no more.
  const isSilent =
    confirmationPolicy === null &&
    path.every((entry) => eventKindOf(entry) !== 'ConversationStateUpdateEvent')
  return {
    positions: new Set(
      strays ? state.log.entries.slice(0, end.seq + 1).map(({ seq }) => seq) : path.map(({ seq }) => seq),
    ),
    appended: [...(isSilent ? [] : [policyUpdate(confirmationPolicy)]), statusOf(branch)],
  }
}

/** Whether an answer names an event that does not stand on the path; where its body was let go, it may. */
function isStray({ log }: State, end: Entry | null, { entry, reason }: DroppedEntry): boolean {
  if (reason !== 'orphan_answer') return false
  const { event } = entry
  if (event === null) return true
  const id = 'action_id' in event ? event.action_id : null
  const named = typeof id === 'string' ? findEntry(log, id) : undefined
  return named !== undefined && named.seq < entry.seq && !isOnPath(named, end)
}

const statusOf = ({ openCalls }: Branch): Event =>
  statusUpdate(openCount(openCalls) > 0 ? 'waiting_for_confirmation' : 'idle')

/** How many events are read at once. */
const PAGE = 500
/** How much is appended at once, in events and in characters: mostly all of a fork, so that a kill leaves it empty or whole. */
const BATCH = { events: 10_000, characters: 2 ** 25 }

/**
 * Writes a fork. Ids are kept, also those that were derived from the source's. A fork that cannot be finished is deleted. O(events).
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
  const { title = source.title, public: open = false, tags = {}, metadata = {} } = options
  const { timeZone } = source
  await store.createConversation({
    id,
    title,
    public: open,
    tags,
    metadata,
    timeZone,
    parentConversationId: source.id,
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
