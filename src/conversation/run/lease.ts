/**
 * The lease of a run: taken from the store, renewed while the run lasts, and given back; a signal is aborted when it is
 * lost.
 */

import { hasCode, ColloquyError } from '../../event/errors.ts'
import type { Lease, Store } from '../../store/contract/store.ts'
import { type Replica, waitForState } from '../replica.ts'
import { backOff } from '../async.ts'
import type { Status } from '../../state/status.ts'

/** A lease that is being renewed. */
export interface HeldLease {
  readonly lease: Lease
  /** Aborted when the lease passed to another owner, or ran out while the store could not be reached. */
  readonly lost: AbortSignal
  /**
   * Ends the renewal and gives the lease back. One that was lost is left to expire: a process that looks for runs that
   * died then finds what this one has left undone.
   */
  release(): Promise<void>
  /** Ends the renewal and lets the lease expire at once, for a run that is left as one that died. Never throws. */
  abandon(): Promise<void>
}

/**
 * Takes the lease of a conversation, and renews it three times within `ttl` milliseconds.
 * @throws ColloquyError `already_running` while another run holds it, with its `owner` and with `expiresAt` in
 * milliseconds since 1970 on the store's clock.
 */
export async function holdLease(
  store: Store,
  conversationId: string,
  owner: string,
  ttl: number,
): Promise<HeldLease> {
  const lease = await take(store, conversationId, owner, ttl)
  const lost = new AbortController()
  const lose = (): void =>
    lost.abort(
      new ColloquyError('lease_lost', 'The run lease was lost; another run may have begun.', {
        conversationId,
        owner,
      }),
    )
  let renewedAt = performance.now()
  let released = false
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    const askedAt = performance.now()
    // The store may be back before the lease has run out.
    if (askedAt - renewedAt > ttl) lose()
    if (released || lost.signal.aborted) return
    try {
      const renewed = await store.acquireLease(conversationId, owner, ttl)
      if (renewed?.generation === lease.generation) renewedAt = askedAt
      else {
        lose()
        // It had run out, and no other process took it: what came instead is another lease, which expires at once.
        if (renewed !== null) await store.acquireLease(conversationId, owner, 1)
      }
    } catch {
      if (performance.now() - renewedAt > ttl) lose()
    }
  }
  const timer = setInterval(() => {
    renewing = Promise.all([renewing, renew()]).then(() => undefined)
  }, ttl / 3)
  const endRenewal = async (): Promise<void> => {
    released = true
    clearInterval(timer)
    // A renewal that reached the store after the release would take the lease again.
    await renewing
  }
  return {
    lease,
    lost: lost.signal,
    async release() {
      await endRenewal()
      if (!lost.signal.aborted) await store.releaseLease(lease)
    },
    async abandon() {
      await endRenewal()
      // Where the store cannot be reached, it expires a little later.
      if (lost.signal.aborted) return
      await store.acquireLease(conversationId, owner, 1).catch(() => undefined)
      await expired()
    },
  }
}

const BRIEF = 'brief-'

/**
 * A name for who holds a lease for a moment and runs nothing. A run that finds it waits: else no run would do what that
 * one was asked for (law I5).
 */
export const briefOwner = (id: string): string => `${BRIEF}${id}`

/** Whether a run may be live under a lease. */
export const isOfRun = ({ owner }: Lease): boolean => !owner.startsWith(BRIEF)

/** So often one who holds it for a moment is waited for, together some two seconds; by then its process has died. */
const MOST_WAITS = 50

async function take(store: Store, conversationId: string, owner: string, ttl: number): Promise<Lease> {
  for (let waits = 0; ; waits += 1) {
    const lease = await store.acquireLease(conversationId, owner, ttl)
    if (lease !== null) return lease
    const other = await store.getLease(conversationId)
    // Given back meanwhile.
    if (other === null) continue
    if (isOfRun(other) || waits === MOST_WAITS) throw alreadyRunning(other)
    await backOff(waits + 1)
  }
}

/** Waits until a lease of a millisecond is over, so that who is told of its end may take one at once. */
const expired = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2))

/**
 * Makes sure that no run is live. The lease of one that died is ended; where that left the conversation `running`, it
 * stays expired, for the process that looks for such runs. @throws ColloquyError `already_running` while it holds.
 */
export async function checkRest(
  store: Store,
  conversationId: string,
  owner: string,
  status: Status,
): Promise<void> {
  // Whether a lease has expired the store says, by its own clock.
  if ((await store.getLease(conversationId)) === null) return
  if (status !== 'running') return endLease(store, conversationId, owner)
  await take(store, conversationId, owner, 1)
  await expired()
}

/**
 * Ends a lease that has expired, for a conversation that is at rest. @throws ColloquyError `already_running` while it
 * holds.
 */
export async function endLease(store: Store, conversationId: string, owner: string): Promise<void> {
  await store.releaseLease(await take(store, conversationId, owner, 1_000))
}

function alreadyRunning({ conversationId, owner, expiresAt }: Lease): ColloquyError {
  const until = new Date(Math.min(expiresAt, 8.64e15)).toISOString()
  return new ColloquyError(
    'already_running',
    `The conversation is running: ${owner} holds the lease until ${until}. ` +
      'Interrupt the active run, or pass `wait: true`.',
    { conversationId, owner, expiresAt },
  )
}

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
