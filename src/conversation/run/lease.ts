import { invalidArgument, MAX_DELAY } from '../../event/check-value.ts'
import { hasCode, ColloquyError } from '../../event/errors.ts'
import type { State } from '../../state/state.ts'
import type { Lease, Store } from '../../store/contract/store.ts'
import { type Replica, waitForState } from '../replica.ts'
import { backOff } from '../async.ts'

/** Default milliseconds until a run's lease expires when it is no longer renewed, as after a crash. */
export const DEFAULT_LEASE_TTL = 45_000

export function checkLeaseTtl(value: unknown): void {
  if (!(Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= MAX_DELAY))
    invalidArgument('leaseTtl', `must be an integer of milliseconds from 1 to ${MAX_DELAY}`)
}

export interface HeldLease {
  readonly lease: Lease
  /** Aborted when the lease passed to another owner, or expired while the store was unreachable. */
  readonly lost: AbortSignal
  /** Ends the renewal and releases the lease. Leaves a lost lease to its new owner. Never throws. */
  release(): Promise<void>
  /** Ends the renewal and lets the lease expire at once, so that recovery finds the run. Never throws. */
  abandon(): Promise<void>
}

/**
 * Acquires the lease of a conversation, and renews it every `ttl / 3` milliseconds.
 * @throws ColloquyError `already_running` if another run holds the lease. The error has the lease's `owner`,
 *   and `expiresAt` in milliseconds since 1970 on the store's clock.
 */
export async function holdLease(
  store: Store,
  conversationId: string,
  owner: string,
  ttl: number,
): Promise<HeldLease> {
  const lease = await acquire(store, conversationId, owner, ttl)
  const lost = new AbortController()
  const message = 'The run lost its lease, and another run may have started. Stop this run.'
  const lose = (): void => lost.abort(new ColloquyError('lease_lost', message, { conversationId, owner }))
  let renewedAt = performance.now()
  let released = false
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    const requestedAt = performance.now()
    // The lease may have expired before the store was reachable again.
    if (requestedAt - renewedAt > ttl) lose()
    if (released || lost.signal.aborted) return
    try {
      const renewed = await store.acquireLease(conversationId, owner, ttl)
      if (renewed?.generation === lease.generation) renewedAt = requestedAt
      else {
        lose()
        // The old lease had expired, so `acquireLease` created a new lease, which must expire at once.
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
    // A renewal that reaches the store after the release would acquire the lease again.
    await renewing
  }
  return {
    lease,
    lost: lost.signal,
    async release() {
      await endRenewal()
      // If the store is unreachable, the lease expires later. The run's result must not depend on the release.
      if (!lost.signal.aborted) await store.releaseLease(lease).catch(() => undefined)
    },
    async abandon() {
      await endRenewal()
      if (lost.signal.aborted) return
      await store.acquireLease(conversationId, owner, 1).catch(() => undefined)
      await expired()
    },
  }
}

const BRIEF = 'brief-'
export const RUN = 'run-'

/**
 * Returns an owner for a brief lease, such as the lease of a recovery. While a brief lease is held, a run
 * waits and does not fail with `already_running` (law I5).
 */
export const briefOwner = (id: string, previous?: string): string =>
  `${BRIEF}${recordsStarts(previous) ? RUN : ''}${id}`

export const isOfRun = ({ owner }: Lease): boolean => !owner.startsWith(BRIEF)

/** Whether a lease's owner is a run or the recovery of a run. Runs record the start of each call. */
export const recordsStarts = (owner?: string | null): boolean =>
  owner?.replace(BRIEF, '').startsWith(RUN) === true

/** Maximum number of waits for a brief lease. After all waits (about 2 s), the lease's owner is probably dead. */
const MAX_WAITS = 50

async function acquire(store: Store, conversationId: string, owner: string, ttl: number): Promise<Lease> {
  for (let waits = 0; ; waits += 1) {
    const lease = await store.acquireLease(conversationId, owner, ttl)
    if (lease !== null) return lease
    const other = await store.getLease(conversationId)
    if (other === null) continue
    if (isOfRun(other) || waits === MAX_WAITS) throw alreadyRunning(other)
    await backOff(waits + 1)
  }
}

/** Waits two milliseconds, so that a lease of one millisecond has expired. */
const expired = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2))

/**
 * Checks that no run is active. Releases the lease of a dead run, unless the status is `running`, because a
 * recovery then needs the expired lease. @throws ColloquyError `already_running` while a run holds the
 * lease.
 */
export async function checkRest(store: Store, replica: Replica, newId: string): Promise<void> {
  // The store decides by its own clock whether a lease has expired.
  const previous = await store.getLease(replica.id)
  if (previous === null) return
  const lease = await acquire(store, replica.id, briefOwner(newId, previous.owner), 1)
  // Read under the lease: the run may have ended after an earlier read.
  const { header } = await replica.refresh()
  if (header.status === 'running') await expired()
  else await store.releaseLease(lease)
}

export async function endLease(store: Store, conversationId: string, owner: string): Promise<void> {
  await store.releaseLease(await acquire(store, conversationId, owner, 1_000))
}

function alreadyRunning({ conversationId, owner, expiresAt }: Lease): ColloquyError {
  const until = new Date(Math.min(expiresAt, 8.64e15)).toISOString()
  return new ColloquyError(
    'already_running',
    `The conversation is running: ${owner} holds the lease until ${until}. ` +
      'Interrupt the active run, or wait for its end (`run` accepts `wait: true`).',
    { conversationId, owner, expiresAt },
  )
}

/**
 * `MIN_PAUSE` and `MAX_PAUSE`: first and longest pause between two attempts, in milliseconds. The pause
 * doubles while the lease's expiry stays the same.
 */
const MIN_PAUSE = 100
const MAX_PAUSE = 5_000
/** Maximum milliseconds between two checks of a lease, because its owner may release it early. */
const MAX_WAIT = 15_000

/**
 * Waits until a lease is free, then acquires it. Returns null if aborted, or if `isWanted` returns false for
 * the state before an attempt. Calls `onWait` before each wait.
 */
export async function awaitLease(
  store: Store,
  replica: Replica,
  owner: string,
  ttl: number,
  signal: AbortSignal | undefined,
  onWait: (owner: string) => void,
  isWanted: (state: State) => boolean = () => true,
): Promise<HeldLease | null> {
  let previousExpiry: unknown = null
  let pause = MIN_PAUSE
  for (;;) {
    if (signal?.aborted === true || !isWanted(replica.state)) return null
    try {
      return await holdLease(store, replica.id, owner, ttl)
    } catch (error) {
      if (!hasCode(error, 'already_running')) throw error
      const { expiresAt, owner: holder } = error.data
      onWait(String(holder))
      // If the store's clock differs, the lease may be held after `expiresAt`. Attempts then become rarer.
      pause = expiresAt === previousExpiry ? Math.min(2 * pause, MAX_PAUSE) : MIN_PAUSE
      previousExpiry = expiresAt
      const { status } = (await replica.refresh()).header
      const remaining = typeof expiresAt === 'number' ? expiresAt - Date.now() : 0
      const isLive = status === 'running'
      const wait = isLive ? Math.min(Math.max(remaining, pause), MAX_WAIT) : pause
      await waitWithin(wait, replica, ({ header }) => isLive && header.status !== 'running', signal)
    }
  }
}

/** Resolves when the state matches, when `milliseconds` have passed, or on an abort. */
export async function waitWithin(
  milliseconds: number,
  replica: Replica,
  fits: (state: State) => boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const due = new AbortController()
  const timer = setTimeout(() => due.abort(), milliseconds)
  const over = signal === undefined ? due.signal : AbortSignal.any([due.signal, signal])
  try {
    await waitForState(replica, fits, over)
  } catch (error) {
    if (!over.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
}
