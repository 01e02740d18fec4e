/** A length goes in, a log of it comes out in batches: the measured mix of kinds, some rare ones, state updates, and branches. */

import { randomUUID } from 'node:crypto'
import type { Event } from '../../src/event/types.ts'
import { decoded, makeLines, type MEASURED_MIX } from '../workload.ts'

/** Mean sizes of the bodies, by kind, in bytes. */
export type Sizes = Readonly<Record<keyof typeof MEASURED_MIX, number>>

/** Bodies of about one kilobyte each. */
export const ONE_KB: Sizes = { action: 800, observation: 700, systemPrompt: 700, message: 700 }

/** Events made at once: a million at a time would not fit in memory. */
const CHUNK = 10_000

/** Events appended at once. */
const BATCH = 500

/** HEAD goes back by a tenth of the log, so often at any length but those that are too short for it. */
const BRANCHES = 30

/** Events that a branch has at least. */
const SHORTEST = 80

/** The log, in batches to import. */
export function* logBatches(length: number, sizes: Sizes): Generator<Event[]> {
  const ids: string[] = []
  const branchEvery = Math.max(SHORTEST, Math.floor(length / BRANCHES))
  let batch: Event[] = []
  for (let from = 0; from < length; from += CHUNK) {
    // The seed is the number of lines: with another for each chunk no id comes twice.
    const lines = makeLines(CHUNK + from / CHUNK, { sizes }).slice(0, Math.min(CHUNK, length - from))
    for (const [i, line] of lines.entries()) {
      const seq = from + i
      const timestamp = new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString()
      const target = seq % branchEvery === branchEvery - 1 ? ids[Math.floor(seq * 0.9)] : undefined
      const event = spiced({ ...decoded(line), timestamp }, seq, target)
      ids.push(event.id ?? '')
      batch.push(event)
      if (batch.length === BATCH) {
        yield batch
        batch = []
      }
    }
  }
  if (batch.length > 0) yield batch
}

/** Events to append, each one once: with random ids, as agents give them, and later than all of the log. */
export function freshEvents(sizes: Sizes): () => Event {
  const events = makeLines(2_000, { sizes }).map(decoded)
  let given = 0
  return () => {
    const event = events[given % events.length] as Event
    const timestamp = new Date(Date.UTC(2030, 0, 1) + given).toISOString()
    given += 1
    return Object.freeze({ ...event, id: randomUUID(), timestamp })
  }
}

/** What a log of the workload lacks, so that filters have something to find and paths have lanes. */
function spiced(event: Event, seq: number, target: string | undefined): Event {
  const { id = '', timestamp = '' } = event
  if (target !== undefined) {
    return Object.freeze({
      kind: 'ConversationStateUpdateEvent',
      id,
      timestamp,
      key: 'leaf_event_id',
      value: target,
    })
  }
  if (seq % 500 === 499)
    return Object.freeze({ kind: 'PauseEvent', id, timestamp, source: seq % 1000 === 499 ? 'user' : 'agent' })
  if (seq % 20 !== 19) return Object.freeze(event)
  return Object.freeze({
    kind: 'ConversationStateUpdateEvent',
    id,
    timestamp,
    key: 'stats',
    value: 'x'.repeat(500),
  })
}
