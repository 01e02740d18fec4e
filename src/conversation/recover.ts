/** Ends the run of a process that died: its calls get true results, and its error stands in the log. */

import { hasCode } from '../event/errors.ts'
import type { Store } from '../store/contract/store.ts'
import { decideRecover } from './decide.ts'
import { type LoggedEvent, toLogged } from './logged-event.ts'
import type { Replica } from './replica.ts'
import { callsOfLostRun } from './lost-calls.ts'
import { holdLease } from './run/lease.ts'

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
    return { outcome: events.length > 0 ? 'recovered' : 'not_running', events: events.map(toLogged) }
  } finally {
    await held.release()
  }
}
