/** Moves HEAD to where a conversation's documents have it, when its log alone would replay to another place. */

import { createHash } from 'node:crypto'
import { type Event, isQuarantined, type Store } from '../../index.ts'
import { quoted } from '../print/text.ts'
import type { ImportReport } from './report.ts'

/** The end of the log, as the last append of an import left it. */
export interface LogEnd {
  /** How many events the import has put there or found there. */
  readonly length: number
  /** How many there are. */
  readonly version: number
  readonly headId: string | null
}

/**
 * The log alone decides where HEAD is (design D7), so what the documents say becomes a fact of the log; the same one
 * each time.
 */
export async function moveHead(
  store: Store,
  report: ImportReport,
  wanted: string | null | undefined,
  { length, version, headId }: LogEnd,
): Promise<void> {
  if (wanted === undefined) return
  const id = report.conversation
  const move = headMove(id, length, wanted)
  if (version > length) {
    const [next] = await store.read(id, { from: length, limit: 1 })
    if (next?.id === move.id) report.head = { value: wanted, added: false }
    else if (headId !== wanted)
      report.notes.push('the conversation has gone on since: HEAD stays where it is')
    return
  }
  const anchor = await anchorOf(store, id, wanted)
  if (anchor === undefined) {
    report.notes.push(`base_state.json has HEAD at ${quoted(wanted ?? '')}, which is not there: HEAD stays`)
  } else if (anchor !== headId) {
    await store.append(id, [move], { mode: 'import', expected: length })
    report.added += 1
    report.head = { value: wanted, added: true }
  }
}

/**
 * The entry that HEAD means when it is sent to an event: itself, or the nearest above that is no state update;
 * undefined for none.
 */
async function anchorOf(store: Store, id: string, wanted: string | null): Promise<string | null | undefined> {
  if (wanted === null) return null
  let event = await store.get(id, wanted)
  if (event === null) return undefined
  while (event !== null) {
    const { fact, parentId }: { fact: typeof event.fact; parentId: string | null } = event
    const kind = isQuarantined(fact) ? fact.event_kind : fact.kind
    if (kind !== 'ConversationStateUpdateEvent') return event.id
    event = parentId === null ? null : await store.get(id, parentId)
  }
  return null
}

/** The event that moves HEAD, with an id that agent servers can read in a file's name. */
function headMove(conversation: string, position: number, value: string | null): Event {
  const hash = createHash('sha256')
    .update(JSON.stringify([conversation, position, value]))
    .digest('hex')
  const id = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-')
  return { kind: 'ConversationStateUpdateEvent', id, source: 'environment', key: 'leaf_event_id', value }
}
