/**
 * Recovers whatever conversations processes that died have left running: for a server that starts, and now and then
 * while it is up.
 */

import { hasCode } from '../event/errors.ts'
import { type Recovery, recover } from './recover.ts'
import { endLease } from './run/lease.ts'
import type { Shared } from './shared.ts'

/** What a recovery came to in one conversation, or why it came to nothing. */
export type ConversationRecovery = { readonly conversationId: string } & (
  | Recovery
  | { readonly outcome: 'failed'; readonly events: readonly []; readonly error: unknown }
)

/**
 * Recovers each conversation whose lease has expired and was not given back, one after the other; where that fails, the
 * others are recovered all the same. @throws what the store throws when it is asked for leases.
 */
export async function recoverAll(shared: Shared): Promise<ConversationRecovery[]> {
  const all: ConversationRecovery[] = []
  for await (const conversationId of expiredLeases(shared)) {
    try {
      all.push({ conversationId, ...(await recoverOne(shared, conversationId)) })
    } catch (error) {
      shared.check()
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
async function* expiredLeases({ store }: Shared): AsyncGenerator<string> {
  let page
  let after: string | undefined
  do {
    page = await store.listLeases({ expired: true, limit: PAGE, ...(after !== undefined && { after }) })
    for (const { conversationId } of page) yield conversationId
    after = page.at(-1)?.conversationId
  } while (page.length === PAGE)
}

async function recoverOne(shared: Shared, id: string): Promise<Recovery> {
  const { store } = shared
  const owner = shared.newBriefOwner()
  const recovery = await shared.use(id, (replica) => recover(store, replica, owner))
  if (recovery.outcome !== 'not_running') return recovery
  // Nothing was left undone but to give the lease back.
  await endLease(store, id, owner)
  return recovery
}
