/** Finds the place of the next fact: a log and a fact go in, the entry with id, time and effective parent comes out. */

import { deriveEventId, ROOT } from '../event/ids.ts'
import { isQuarantined, type Fact } from '../event/quarantine.ts'
import { isInstant } from '../event/time.ts'
import { jumpFrom } from './ancestry.ts'
import { anchorOf, type Entry, type Report } from './entry.ts'
import { findEntry, type Log } from './log.ts'

const NOTHING: readonly Report[] = Object.freeze([])

/** Where a fact stands when it is appended to a log (design D8, D15, D16). Never throws. O(log n). */
export function place(log: Log, fact: Fact, conversationId: string): Entry {
  const seq = log.entries.length
  const reports: Report[] = []
  const event = isQuarantined(fact) ? null : fact
  const quarantined = isQuarantined(fact) ? fact : null
  const id = fact.id ?? (event === null ? null : deriveEventId(conversationId, seq, event))
  const report = (code: Report['code'], message: string) => reports.push({ seq, id, code, message })

  if (quarantined !== null) {
    const first = quarantined.issues[0]
    const reason = first === undefined ? '' : `: ${[...first.loc, first.msg].join(' ')}`
    report('quarantined', `not an event${reason}`)
  }
  const twin = id === null ? undefined : findEntry(log, id)
  if (twin !== undefined) {
    report('duplicate_id', `id ${quote(id)} already stands at position ${twin.seq}`)
  }
  const stands = id !== null && twin === undefined

  let timestamp = log.entries.last()?.timestamp ?? null
  if (event?.timestamp !== undefined) {
    if (isInstant(event.timestamp)) timestamp = event.timestamp
    else report('unreadable_timestamp', `${quote(event.timestamp)} is no date and time`)
  }

  let parent: Entry | null = null
  if (stands) {
    const asked = fact.parent_id ?? null
    // Mostly it is HEAD, which need not be looked for.
    const asks = asked === log.head?.id ? log.head : undefined
    const found = asks ?? (asked === null || asked === ROOT ? undefined : findEntry(log, asked))
    parent = found ?? (asked === ROOT ? null : log.head)
    if (asked !== null && asked !== ROOT && found === undefined) {
      report('unknown_parent', `parent ${quote(asked)} does not stand earlier in the log`)
    }
  }
  const kind = event?.kind ?? quarantined?.event_kind
  const canBeHead = stands && kind !== 'ConversationStateUpdateEvent'
  const above = canBeHead ? null : anchorOf(parent)
  const depth = parent === null ? 0 : parent.depth + 1
  const jump = jumpFrom(parent)
  const said = reports.length === 0 ? NOTHING : reports
  return {
    seq,
    id,
    event,
    quarantined,
    timestamp,
    stands,
    canBeHead,
    parent,
    depth,
    jump,
    above,
    reports: said,
  }
}

/** Text of unknown origin, made safe and short enough for a message. */
export function quote(text: string | null): string {
  const shown = JSON.stringify(text ?? '')
  return shown.length > 80 ? `${shown.slice(0, 76)}…"` : shown
}
