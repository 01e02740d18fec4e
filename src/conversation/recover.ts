import { hasCode, nullOn } from '../event/errors.ts'
import { endLease, holdLease, recordsStarts } from './run/lease.ts'
import type { EngineContext } from './engine-context.ts'
import type { Store } from '../store/contract/store.ts'
import { decideRecover, callsOfRun } from './decide.ts'
import type { AppendedEvent } from './logged-event.ts'
import { allConversations } from '../store/kit/query/page.ts'

/** Result of a recovery. */
export interface Recovery {
  /**
   * `recovered`: the calls were ended, and an error was set. `not_running`: there was nothing to do. `live`:
   * a run holds the lease.
   */
  readonly outcome: 'recovered' | 'not_running' | 'live'
  readonly events: readonly AppendedEvent[]
}

/** Duration of a recovery's lease in milliseconds. The lease is renewed until the recovery ends. */
const TTL = 10_000

/** Recovers a conversation. With `unheld`, returns `live` for any lease that was not released, even an expired one. */
export function recover(context: EngineContext, id: string, unheld = false): Promise<Recovery> {
  const { store } = context
  return context.use(id, async (replica) => {
    const { header } = await replica.refresh()
    if (header.status !== 'running') return { outcome: 'not_running', events: [] }
    const previous = (await store.getLease(id))?.owner
    const owner = context.newBriefOwner(previous)
    if (unheld && previous !== undefined) return { outcome: 'live', events: [] }
    const lease = await holdLease(store, id, owner, TTL).catch(nullOn('already_running'))
    if (lease === null) return { outcome: 'live', events: [] }
    try {
      await replica.refresh()
      const { generation } = lease.lease
      const events = await replica.commit(
        (state) => decideRecover(state, recordsStarts(previous) ? callsOfRun(state) : undefined),
        { depends: true, lease: { owner, generation } },
      )
      await lease.release()
      return { outcome: events.length > 0 ? 'recovered' : 'not_running', events }
    } catch (error) {
      // An expired lease lets the next recovery find the run, and shows whether the run recorded each start.
      await (previous !== undefined ? lease.abandon() : lease.release())
      throw error
    }
  })
}

/** What `recoverAll` did with one conversation, or why its recovery failed. */
export type ConversationRecovery = { readonly conversationId: string } & (
  | Recovery
  | { readonly outcome: 'failed'; readonly events: readonly []; readonly error: unknown }
)

export async function recoverAll(context: EngineContext): Promise<ConversationRecovery[]> {
  const { store } = context
  const all: ConversationRecovery[] = []
  const add = async (conversationId: string, unheld: boolean): Promise<void> => {
    try {
      const recovery = await recoverOne(context, conversationId, unheld)
      if (recovery !== null) all.push({ conversationId, ...recovery })
    } catch (error) {
      context.check()
      const isLive = hasCode(error, 'already_running')
      const none = { conversationId, events: [] } as const
      all.push(isLive ? { ...none, outcome: 'live' } : { ...none, outcome: 'failed', error })
    }
  }
  for await (const id of expiredLeases(store)) await add(id, false)
  for (const status of ['running', NOT_LISTED])
    for await (const { id } of allConversations(store, { status, order: 'created_at' })) await add(id, true)
  return all
}

/** Status filter for conversations without a recorded status, such as imported ones. */
const NOT_LISTED = ''

const PAGE_SIZE = 100

export async function* expiredLeases(store: Store): AsyncGenerator<string> {
  let page
  let after: string | undefined
  do {
    page = await store.listLeases({ expired: true, limit: PAGE_SIZE, ...(after !== undefined && { after }) })
    for (const { conversationId } of page) yield conversationId
    after = page.at(-1)?.conversationId
  } while (page.length === PAGE_SIZE)
}

/** Recovers a conversation. With `unheld`, returns null if the conversation has a lease or needs no recovery. */
async function recoverOne(context: EngineContext, id: string, unheld: boolean): Promise<Recovery | null> {
  const { store } = context
  if (unheld && (await store.getLease(id)) !== null) return null
  const recovery = await recover(context, id, unheld)
  if (unheld) return recovery.outcome === 'recovered' ? recovery : null
  // The run had ended; only its lease remains.
  if (recovery.outcome === 'not_running') await endLease(store, id, context.newBriefOwner())
  return recovery
}
