/**
 * Catch-up subscriptions: every event after a position, once and in order, first from the store and then live (law B).
 */

import type { Fact } from '../event/quarantine.ts'
import type { StreamingDeltaEvent } from '../event/types.ts'
import { invalidArgument } from '../store/kit/query/check-value.ts'
import type { Store } from '../store/contract/store.ts'
import { type LoggedEvent, toLogged } from './logged-event.ts'
import type { Status } from '../state/status.ts'
import type { Replica } from './replica.ts'
import { type ReplyPlace, ReplyReader } from './streamed.ts'
import type { EngineContext } from './engine-context.ts'

/** What a subscription gives. */
export type SubscriptionItem =
  /** With the execution status right after it, or the latest one where that was evicted from memory. */
  | (LoggedEvent & { readonly status: Status })
  /**
   * What stood in the log when the subscription began has been given; said once. `seq` is the last position given, or
   * `after`.
   */
  | { readonly type: 'caught_up'; readonly seq: number }
  /**
   * The log has not what was read of it, or what `after` names: a database was restored, or failed over to one that
   * lacks the end. What was given before does not hold; the log is given from its first event on, and a `caught_up`
   * after it.
   */
  | { readonly type: 'reset' }
  /**
   * More of a reply that is under way, before any event that was appended after it: what was said so far to begin with,
   * then each character once and in order. `said` is how far it goes. Of a reply that was
   * over before a reader came, or before it had read the one before, it gets the events alone.
   */
  | { readonly type: 'delta'; readonly event: StreamingDeltaEvent; readonly said: ReplyPlace }

/** From where to read, and until when. */
export interface SubscribeOptions {
  /** The position after which to begin. Default: -1, the whole log. */
  readonly after?: number
  /**
   * The id of the event at `after`, as the reader has it: where another one stands there, a `reset` comes first. A
   * reader that goes on after a failure gives it, since the log may have become another one meanwhile.
   */
  readonly afterId?: string
  /** Ends the subscription. */
  readonly signal?: AbortSignal
  /** How far the reader has come with a reply that was under way: `said` of the last delta that it was given. */
  readonly said?: ReplyPlace
}

const PAGE = 256

/**
 * Reads on and on. Events are pulled from the log when the reader asks for them, and words from the reply, so that a
 * slow reader holds up no other, needs no queue and misses nothing. O(1) for each event.
 * @throws ColloquyError `invalid_argument` for options that are none, `unknown_conversation` when the conversation is
 * deleted, and what the store throws; then subscribe again after the last position, with its id.
 */
export async function* subscribe(
  context: Pick<EngineContext, 'store' | 'pin' | 'listen'>,
  id: string,
  options: SubscribeOptions = {},
): AsyncGenerator<SubscriptionItem, void, undefined> {
  const { after = -1, afterId, signal, said = null } = options
  if (!Number.isSafeInteger(after) || after < -1)
    invalidArgument('after', 'must be a position in the log, or -1 for all of it')
  const { replica, release } = await context.pin(id)
  const reader = new ReplyReader(replica.replies, said)
  let failure: { readonly error: unknown } | null = null
  let wake = nobodyWaits
  const wakeUp = (): void => wake()
  const ends = [release]
  signal?.addEventListener('abort', wakeUp)
  replica.gone.addEventListener('abort', wakeUp)
  const isOver = (): boolean => signal?.aborted === true
  /** What was said before the event at a position. */
  function* before(seq: number): Generator<SubscriptionItem> {
    for (let next = reader.next(seq); next !== null && !isOver(); next = reader.next(seq))
      yield { type: 'delta', ...next }
  }
  try {
    ends.push(
      replica.changes.add(wakeUp),
      replica.replies.news.add(() => {
        reader.hear()
        wake()
      }),
      replica.failures.add((error) => {
        failure = { error }
        wake()
      }),
      replica.follow(),
      context.listen(replica),
    )
    let end = (await replica.refresh()).log.entries.length
    let { epoch } = replica
    let told = false
    let next = after + 1
    let isForeign = afterId !== undefined && replica.state.log.entries.get(after)?.id !== afterId
    const isAnother = (): boolean =>
      isForeign || replica.epoch !== epoch || next > replica.state.log.entries.length
    const isNews = (): boolean =>
      isOver() ||
      failure !== null ||
      replica.gone.aborted ||
      isAnother() ||
      replica.state.log.entries.length > next ||
      reader.has(next)
    while (!isOver()) {
      replica.gone.throwIfAborted()
      throwFailure(failure)
      if (isAnother()) {
        ;({ epoch } = replica)
        isForeign = false
        next = 0
        told = false
        reader.skipSaid()
        yield { type: 'reset' }
        end = replica.state.log.entries.length
      }
      for (const event of await readFrom(context.store, replica, next)) {
        if (isAnother()) break
        if (reader.isBehind) await reader.finish(event.fact)
        // Every layer of generators that an event goes through costs each reader.
        if (reader.has(event.seq)) yield* before(event.seq)
        if (isOver()) return
        yield event
        next = event.seq + 1
      }
      if (isAnother()) continue
      if (!told && next >= end) {
        told = true
        yield { type: 'caught_up', seq: next - 1 }
      }
      if (reader.has(next)) yield* before(next)
      end = replica.state.log.entries.length
      if (isNews()) continue
      await new Promise<void>((resolve) => {
        wake = resolve
        if (isNews()) resolve()
      })
    }
  } finally {
    for (const end of ends) end()
    signal?.removeEventListener('abort', wakeUp)
    replica.gone.removeEventListener('abort', wakeUp)
  }
}

const nobodyWaits = (): void => undefined

function throwFailure(failure: { readonly error: unknown } | null): void {
  if (failure !== null) throw failure.error
}

type Read = Extract<SubscriptionItem, { type: 'event' }>

/** The next events: from memory as far as their bodies are there, else from the store. */
async function readFrom(store: Store, replica: Replica, from: number): Promise<Read[]> {
  const { log, header } = replica.state
  if (from >= log.entries.length) return []
  const held: Read[] = []
  for (let seq = from; seq < from + PAGE; seq += 1) {
    const entry = log.entries.get(seq)
    const fact = entry?.event ?? entry?.quarantined
    if (entry === undefined || !fact) break
    const event = toLogged({ seq, id: entry.id, parentId: entry.parent?.id ?? null, fact })
    held.push({ ...event, status: statusAt(replica, seq, fact) })
  }
  if (held.length > 0) return held
  const events = await store.read(replica.id, { from, limit: PAGE })
  // The log is shorter than it was.
  if (events.length === 0) await replica.refresh()
  return events.map((event) => ({ ...toLogged(event), status: header.status }))
}

const statuses = new WeakMap<Replica, WeakMap<Fact, Status>>()

/**
 * The status right after an event; the latest where its checkpoint was evicted. The error that tells so is made once
 * for all readers.
 */
function statusAt(replica: Replica, seq: number, fact: Fact): Status {
  const own = statuses.get(replica) ?? new WeakMap<Fact, Status>()
  statuses.set(replica, own)
  const known = own.get(fact)
  if (known !== undefined) return known
  const { log, header } = replica.state
  let { status } = header
  try {
    status = log.entries.get(seq)?.header.status ?? status
  } catch {
    // Evicted.
  }
  own.set(fact, status)
  return status
}
