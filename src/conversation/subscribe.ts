/** Catch-up subscriptions: a position goes in; every event after it comes out once, in order, first from the store, then live (law B). */

import type { Event } from '../event/types.ts'
import { refuse } from '../store/check.ts'
import type { Store } from '../store/store.ts'
import { type LoggedEvent, toLogged } from './logged-event.ts'
import type { Replica } from './replica.ts'

/** What a subscription gives. */
export type SubscriptionItem =
  | LoggedEvent
  /** What stood in the log when the subscription began has been given; said once. `seq` is the last position given, or `after`. */
  | { readonly type: 'caught_up'; readonly seq: number }
  /** A transient event, given to those who are there; before any event that was appended after it. */
  | { readonly type: 'delta'; readonly event: Event }
  /** So many deltas were left out, because the reader was too slow for them; no event of the log ever is. */
  | { readonly type: 'lagged'; readonly deltas: number }

/** From where to read, and until when. */
export interface SubscribeOptions {
  /** The position after which to begin. Default: -1, the whole log. */
  readonly after?: number
  /** Ends the subscription. */
  readonly signal?: AbortSignal
  /** How many deltas may wait for a slow reader; the oldest are left out beyond. Default: 256. */
  readonly deltas?: number
}

/** A transient event, and the length of the log when it was published. */
interface Delta {
  readonly event: Event
  readonly at: number
}

const PAGE = 256

/**
 * Reads on and on. Events are pulled from the log when the reader asks for them, so that a slow reader holds up nobody, needs no queue and
 * misses nothing; only deltas wait in a queue, bounded by `deltas`. O(1) for each event.
 * @throws ColloquyError `invalid_query` for options that are none, `unknown_conversation` when the conversation is deleted, and what the store
 * throws; then subscribe again after the last position.
 */
export async function* subscribe(
  store: Store,
  replica: Replica,
  options: SubscribeOptions = {},
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const { after = -1, signal, deltas: most = 256 } = options
  if (!Number.isSafeInteger(after) || after < -1)
    refuse('after', 'must be a position in the log, or -1 for all of it')
  if (!Number.isSafeInteger(most) || most < 0) refuse('deltas', 'must be a number of events')
  const deltas: Delta[] = []
  let lagged = 0
  let wake = nobodyWaits
  const wakeUp = (): void => wake()
  const ends = [
    replica.changes.add(wakeUp),
    replica.published.add((event) => {
      deltas.push({ event, at: replica.state.log.entries.length })
      if (deltas.length > most) lagged += deltas.splice(0, deltas.length - most).length
      wake()
    }),
    replica.follow(),
  ]
  signal?.addEventListener('abort', wakeUp)
  replica.gone.addEventListener('abort', wakeUp)
  const isOver = (): boolean => signal?.aborted === true
  /** The deltas that were published before the event at a position. */
  function* before(seq: number): Generator<SubscriptionItem> {
    if (lagged > 0) {
      yield { type: 'lagged', deltas: lagged }
      lagged = 0
    }
    for (let next = deltas[0]; next !== undefined && next.at <= seq && !isOver(); next = deltas[0]) {
      deltas.shift()
      yield { type: 'delta', event: next.event }
    }
  }
  try {
    let end = (await replica.refresh()).log.entries.length
    let told = false
    let next = after + 1
    while (!isOver()) {
      replica.gone.throwIfAborted()
      const events = await readFrom(store, replica, next)
      for (const event of events) {
        yield* before(event.seq)
        if (isOver()) return
        yield event
        next = event.seq + 1
      }
      if (!told && next >= end) {
        told = true
        yield { type: 'caught_up', seq: next - 1 }
      }
      yield* before(next)
      end = replica.state.log.entries.length
      if (end > next || isOver() || isNext(deltas, next)) continue
      await new Promise<void>((resolve) => {
        wake = resolve
        if (
          isOver() ||
          replica.gone.aborted ||
          replica.state.log.entries.length > next ||
          isNext(deltas, next)
        )
          resolve()
      })
    }
  } finally {
    for (const end of ends) end()
    signal?.removeEventListener('abort', wakeUp)
    replica.gone.removeEventListener('abort', wakeUp)
  }
}

const nobodyWaits = (): void => undefined

const isNext = (deltas: readonly Delta[], next: number): boolean => (deltas[0]?.at ?? Infinity) <= next

/** The next events: from memory as far as their bodies are held there, else from the store. */
async function readFrom(store: Store, replica: Replica, from: number): Promise<LoggedEvent[]> {
  const { entries } = replica.state.log
  if (from >= entries.length) return []
  const held: LoggedEvent[] = []
  for (let seq = from; seq < from + PAGE; seq += 1) {
    const entry = entries.get(seq)
    const fact = entry?.event ?? entry?.quarantined
    if (entry === undefined || !fact) break
    held.push(toLogged({ seq, id: entry.id, parentId: entry.parent?.id ?? null, fact }))
  }
  if (held.length > 0) return held
  const events = await store.read(replica.id, { from, limit: PAGE })
  return events.map(toLogged)
}
