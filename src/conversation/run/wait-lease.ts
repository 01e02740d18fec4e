/** Waits for the lease of a run that may be dead: an owner that lives renews it, and one that died lets it expire. */

import { hasCode } from '../../event/errors.ts'
import type { Store } from '../../store/contract/store.ts'
import type { Replica } from '../replica.ts'
import { waitForState } from '../wait.ts'
import { type HeldLease, holdLease } from './lease.ts'

/**
 * Milliseconds between two tries: at least the first of these, twice as many after each that came too early, at most
 * the second.
 */
const SOON = 100
const SELDOM = 5_000
/** A lease that holds for longer is looked at before, since its owner may give it back. */
const LATEST = 15_000

/**
 * Takes the lease once no other run holds it: when the other run says that it has ended, and when its lease has
 * expired. One timer, however long it takes. Null when `signal` is aborted first.
 * @param onWait called when another run was found to hold it
 * @throws ColloquyError `unknown_conversation` when the conversation is deleted, and what the store throws.
 */
export async function awaitLease(
  store: Store,
  replica: Replica,
  owner: string,
  ttl: number,
  signal: AbortSignal | undefined,
  onWait: () => void,
): Promise<HeldLease | null> {
  let known: unknown = null
  let least = SOON
  for (;;) {
    if (signal?.aborted === true) return null
    try {
      return await holdLease(store, replica.id, owner, ttl)
    } catch (error) {
      if (!hasCode(error, 'already_running')) throw error
      onWait()
      const { expiresAt } = error.data
      // The store's clock may be another than this one: then the lease lives on, and is asked for more and more seldom.
      least = expiresAt === known ? Math.min(2 * least, SELDOM) : SOON
      known = expiresAt
      const { status } = (await replica.refresh()).header
      const left = typeof expiresAt === 'number' ? expiresAt - Date.now() : 0
      const isLive = status === 'running'
      await untilRest(replica, isLive ? Math.min(Math.max(left, least), LATEST) : least, isLive, signal)
    }
  }
}

/**
 * Resolves after so many milliseconds, when the signal is aborted, and where it is to be looked at, when the status is
 * running no more.
 */
async function untilRest(
  replica: Replica,
  milliseconds: number,
  looks: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const due = new AbortController()
  const timer = setTimeout(() => due.abort(), milliseconds)
  const over = signal === undefined ? due.signal : AbortSignal.any([due.signal, signal])
  try {
    await waitForState(replica, ({ header }) => looks && header.status !== 'running', over)
  } catch (error) {
    if (!over.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
}
