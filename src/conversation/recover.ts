/** Ends the run of a dead process: its calls get true results, and its error is appended. */

import { hasCode } from '../event/errors.ts'
import { endLease, holdLease } from './run/lease.ts'
import type { EngineContext } from './engine-context.ts'
import type { Store } from '../store/contract/store.ts'
import { decideRecover, callsOfLostRun } from './decide.ts'
import type { LoggedEvent } from './logged-event.ts'
import type { Replica } from './replica.ts'

/** Result of a recovery. */
export interface Recovery {
  /**
   * `recovered`: pending calls ended, error set. `not_running`: nothing to do. `live`: a run holds the lease.
   */
  readonly outcome: 'recovered' | 'not_running' | 'live'
  readonly events: readonly LoggedEvent[]
}

/** Milliseconds until others may recover after this recovery is killed. The lease is renewed meanwhile. */
const TTL = 10_000

/** Recovers a conversation that is running without a live lease, and holds the lease meanwhile. */
export async function recover(store: Store, replica: Replica, owner: string): Promise<Recovery> {
  const { header } = await replica.refresh()
  if (header.status !== 'running') return { outcome: 'not_running', events: [] }
  const hadLease = (await store.getLease(replica.id)) !== null
  const lease = await holdLease(store, replica.id, owner, TTL).catch((error: unknown) => {
    if (hasCode(error, 'already_running')) return null
    throw error
  })
  if (lease === null) return { outcome: 'live', events: [] }
  try {
    await replica.refresh()
    const { generation } = lease.lease
    const events = await replica.commit(
      (state) => decideRecover(state, hadLease ? callsOfLostRun(state) : undefined),
      { depends: true, lease: { owner, generation } },
    )
    return { outcome: events.length > 0 ? 'recovered' : 'not_running', events }
  } finally {
    await lease.release()
  }
}

/** Result of a recovery of one conversation, or why it failed. */
export type ConversationRecovery = { readonly conversationId: string } & (
  | Recovery
  | { readonly outcome: 'failed'; readonly events: readonly []; readonly error: unknown }
)

/**
 * Recovers each conversation whose lease expired unreleased, in sequence; a failure does not affect the
 * others. @throws the store's errors when it lists leases.
 */
export async function recoverAll(context: EngineContext): Promise<ConversationRecovery[]> {
  const all: ConversationRecovery[] = []
  for await (const conversationId of expiredLeases(context.store)) {
    try {
      all.push({ conversationId, ...(await recoverOne(context, conversationId)) })
    } catch (error) {
      context.check()
      const isLive = hasCode(error, 'already_running')
      all.push({
        conversationId,
        events: [],
        ...(isLive ? { outcome: 'live' } : { outcome: 'failed', error }),
      })
    }
  }
  return all
}

const PAGE = 100

/** Yields the ids of conversations with an expired lease. O(expired leases). */
export async function* expiredLeases(store: Store): AsyncGenerator<string> {
  let page
  let after: string | undefined
  do {
    page = await store.listLeases({ expired: true, limit: PAGE, ...(after !== undefined && { after }) })
    for (const { conversationId } of page) yield conversationId
    after = page.at(-1)?.conversationId
  } while (page.length === PAGE)
}

async function recoverOne(context: EngineContext, id: string): Promise<Recovery> {
  const { store } = context
  const owner = context.newBriefOwner()
  const recovery = await context.use(id, (replica) => recover(store, replica, owner))
  if (recovery.outcome !== 'not_running') return recovery
  // The run had ended; only its lease remains.
  await endLease(store, id, owner)
  return recovery
}
