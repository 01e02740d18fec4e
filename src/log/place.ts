import { quote } from '../event/text.ts'
import type { HeadStep, TreeAccess } from '../event/tree-rule.ts'
import { movedHead, anchorIn, canKindBeHead, effectiveParent } from '../event/tree-rule.ts'
import { type Entry, type LogWarning, NO_WARNINGS } from './entry.ts'
import { findEventIn, type Log } from './log.ts'
import { deriveEventId } from '../event/ids.ts'
import { isQuarantined, type Fact } from '../event/quarantine.ts'
import { isInstant } from '../event/time.ts'

type Warned = { -readonly [K in 'seq' | 'id' | 'warnings']: Entry[K] }

/** Adds a warning to an entry that is not in a log yet. */
export function warn(entry: Warned, code: LogWarning['code'], message: string): void {
  const { seq, id, warnings } = entry
  entry.warnings = [...warnings, { seq, id, code, message }]
}

/** Returns the entry of a fact that is appended to a log (design D8, D15, D16). Never throws. O(log n). */
export function placeFact(log: Log, fact: Fact, conversationId: string): Entry {
  const seq = log.entries.length
  const event = isQuarantined(fact) ? null : fact
  const quarantined = isQuarantined(fact) ? fact : null
  const id = fact.id ?? (event === null ? null : deriveEventId(conversationId, seq, event))
  const draft: Warned = { seq, id, warnings: NO_WARNINGS }

  if (quarantined !== null) warn(draft, 'quarantined', 'not an event')
  const existing = id === null ? undefined : findEventIn(log, id)
  if (existing !== undefined)
    warn(draft, 'duplicate_id', `id ${quote(id)} already exists at position ${existing.seq}`)
  const inTree = id !== null && existing === undefined

  let timestamp = log.entries.last()?.timestamp ?? null
  if (event?.timestamp !== undefined) {
    if (isInstant(event.timestamp)) timestamp = event.timestamp
    else warn(draft, 'unreadable_timestamp', `${quote(event.timestamp)} is not a date and time`)
  }

  let parent: Entry | null = null
  if (inTree) {
    const known = effectiveParent(LOG_TREE, log, log.head, fact.parent_id)
    parent = known === undefined ? log.head : known
    if (known === undefined)
      warn(draft, 'unknown_parent', `parent ${quote(fact.parent_id ?? '')} is not earlier in the log`)
  }
  const kind = event?.kind ?? quarantined?.event_kind
  const canBeHead = inTree && canKindBeHead(kind)
  const above = canBeHead ? null : anchorIn(LOG_TREE, log, parent)
  const depth = parent === null ? 0 : parent.depth + 1
  const jump = jumpFrom(parent)
  return {
    seq,
    id,
    event,
    quarantined,
    timestamp,
    inTree,
    canBeHead,
    parent,
    depth,
    jump,
    above,
    unit: null,
    warnings: draft.warnings,
  }
}

const LOG_TREE: TreeAccess<Log, Entry> = { find: findEventIn, above: (_, entry) => entry.above }

export function headAfter(log: Log, entry: Entry): HeadStep<Entry> {
  if (entry.canBeHead) return { head: entry, move: 'none' }
  return movedHead(LOG_TREE, log, log.head, entry.inTree ? entry.event : null)
}

/** Returns the jump pointer of a new child: skew-binary, so that any ancestor is O(log depth) hops away. */
export function jumpFrom(parent: Entry | null): Entry | null {
  if (parent === null) return null
  const near = parent.jump
  if (near === null) return parent
  const far = near.jump
  return far !== null && parent.depth - near.depth === near.depth - far.depth ? far : parent
}
