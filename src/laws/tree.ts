/** The warnings of a replay as broken laws: what had to be repaired, ignored or quarantined. */

import { canonicalJson } from '../event/encode.ts'
import { quote } from '../event/text.ts'
import type { Entry, LogWarning } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import type { Report } from './violation.ts'

/** The law that each warning is about. */
const LAW_OF: Readonly<Record<LogWarning['code'], string>> = {
  quarantined: 'E2',
  duplicate_id: 'T6',
  unknown_parent: 'T6',
  head_ignored: 'T6',
  unreadable_timestamp: 'T6',
  reply_not_placed: 'T6',
}

/** Reports each warning of an entry of the whole log. O(log n), and O(size) for an id that stands twice. */
export function reportRepairs(log: Log, entry: Entry, report: Report): void {
  for (const warning of entry.warnings) report(LAW_OF[warning.code], entry, sentenceFor(log, entry, warning))
}

function sentenceFor(log: Log, entry: Entry, { code, message }: LogWarning): string {
  switch (code) {
    case 'quarantined':
      return `the line is ${message.replace(/\.$/, '')}; a correct server writes one of the 19 events on each line`
    case 'duplicate_id':
      return twice(findEventIn(log, entry.id ?? ''), entry)
    case 'unknown_parent':
      return parentOf(log, entry)
    case 'head_ignored':
      return `${message}; a correct server moves HEAD to an event that the log has`
    case 'unreadable_timestamp':
      return `${message}; a correct server writes ISO 8601`
    case 'reply_not_placed':
      return `the reply ${message}; a correct server appends a reply before so much else`
  }
}

function twice(first: Entry | undefined, entry: Entry): string {
  const where = `${quote(entry.id)} is the id of the event at position ${first?.seq ?? 0}`
  const isSame = bodyOf(first) === bodyOf(entry)
  return isSame
    ? `${where} already, which says the same; a correct server appends an event once`
    : `${where} already, which says something else; a correct server gives each event an id of its own`
}

const bodyOf = (entry: Entry | undefined): string =>
  canonicalJson(entry?.event ?? entry?.quarantined?.raw ?? null)

function parentOf(log: Log, entry: Entry): string {
  const asked = entry.event?.parent_id ?? entry.quarantined?.parent_id ?? ''
  const named = findEventIn(log, asked)
  const why =
    asked === entry.id
      ? 'is the event itself'
      : named === undefined
        ? 'is no event of this log'
        : `comes later in the log, at position ${named.seq}`
  return `its parent ${quote(asked)} ${why}; a correct server names an event that stands before it`
}
