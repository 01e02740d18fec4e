/** Ends the run of a process that died: its calls get true results, and its error stands in the log. */

import { hasCode } from '../event/errors.ts'
import { endLease, holdLease } from './run/lease.ts'
import type { EngineContext } from './engine-context.ts'
import type { Store } from '../store/contract/store.ts'
import { decideRecover, callsOfLostRun } from './decide.ts'
import type { LoggedEvent } from './logged-event.ts'
import type { Replica } from './replica.ts'

/** What a recovery did. */
export interface Recovery {
  /**
   * `recovered`: every pending call was ended and the error set. `not_running`: the status is another, so nothing is to
   * be done. `live`: a run holds the lease.
   */
  readonly outcome: 'recovered' | 'not_running' | 'live'
  /** What was appended. */
  readonly events: readonly LoggedEvent[]
}

/** Milliseconds for which a recovery that was killed keeps others away; while it lives, its lease is renewed. */
const TTL = 10_000

/** Acts only on a conversation that is running without a live lease, and holds the lease while it does. */
export async function recover(store: Store, replica: Replica, owner: string): Promise<Recovery> {
  const { header } = await replica.refresh()
  if (header.status !== 'running') return { outcome: 'not_running', events: [] }
  const hadLease = (await store.getLease(replica.id)) !== null
  const held = await holdLease(store, replica.id, owner, TTL).catch((error: unknown) => {
    if (hasCode(error, 'already_running')) return null
    throw error
  })
  if (held === null) return { outcome: 'live', events: [] }
  try {
    await replica.refresh()
    const { generation } = held.lease
    const events = await replica.commit(
      (state) => decideRecover(state, hadLease ? callsOfLostRun(state) : undefined),
      { depends: true, lease: { owner, generation } },
    )
    return { outcome: events.length > 0 ? 'recovered' : 'not_running', events }
  } finally {
    await held.release()
  }
}

/** What a recovery came to in one conversation, or why it came to nothing. */
export type ConversationRecovery = { readonly conversationId: string } & (
  | Recovery
  | { readonly outcome: 'failed'; readonly events: readonly []; readonly error: unknown }
)

/**
 * Recovers each conversation whose lease has expired and was not given back, one after the other; where that fails, the
 * others are recovered all the same. @throws what the store throws when it is asked for leases.
 */
export async function recoverAll(context: EngineContext): Promise<ConversationRecovery[]> {
  const all: ConversationRecovery[] = []
  for await (const conversationId of expiredLeases(context)) {
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

/** The conversations whose lease has expired. */
async function* expiredLeases({ store }: EngineContext): AsyncGenerator<string> {
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
  // Nothing was left undone but to give the lease back.
  await endLease(store, id, owner)
  return recovery
}
