/** Counts what an import added, repaired and quarantined, from what the store made of each event. */

import { type Fact, isQuarantined, type StoredEvent } from '../../index.ts'
import { parseInstant, ROOT } from '../../event/index.ts'
import {
  type Broken,
  count,
  issuesOf,
  type LineIssue,
  noteBroken,
  type Upcasts,
  warningsOf,
} from '../input/recording.ts'
import type { Decoded } from '../input/decode.ts'
import type { Form } from '../input/open.ts'

/** What the log puts right, as `replay` names it. */
export type RepairCode = 'duplicate_id' | 'unknown_parent' | 'unreadable_timestamp'

/** How many issues are listed: a file of the wrong kind has as many as lines. */
const MOST_ISSUES = 1000

/** What became of one file. It grows while the file is read. */
export interface ImportReport {
  readonly file: string
  readonly form: Form
  /** Its id in the store. */
  conversation: string
  /** Whether the conversation was not there before. */
  created: boolean
  /** Events in the file, those quarantined among them. */
  events: number
  added: number
  /** Transient events, which no store keeps. */
  skipped: number
  quarantined: number
  broken: Broken | null
  readonly issues: LineIssue[]
  /** What is wrong with events that were added all the same. */
  readonly warnings: LineIssue[]
  readonly upcasts: Map<string, Upcasts>
  readonly repairs: Map<RepairCode, Upcasts>
  /** Where HEAD was moved to, since base_state.json has it there; undefined when it was not. */
  head: { readonly value: string | null; readonly added: boolean } | undefined
  readonly notes: string[]
}

/** A report of nothing yet. */
export function newReport(
  file: string,
  form: Form,
  conversation: string,
  notes: readonly string[],
): ImportReport {
  return {
    file,
    form,
    conversation,
    created: false,
    events: 0,
    added: 0,
    skipped: 0,
    quarantined: 0,
    broken: null,
    issues: [],
    warnings: [],
    upcasts: new Map(),
    repairs: new Map(),
    head: undefined,
    notes: [...notes],
  }
}

/** Notes what reading a line came to. */
export function noteRead(
  report: ImportReport,
  line: number,
  { fact, upcasts, warnings, broken }: Decoded,
): void {
  report.broken = noteBroken(report.broken, line, broken)
  for (const name of upcasts) count(report.upcasts, name, line)
  if (isQuarantined(fact)) report.quarantined += 1
  const room = MOST_ISSUES - report.issues.length
  if (room > 0) report.issues.push(...issuesOf(fact, line).slice(0, room))
  const more = MOST_ISSUES - report.warnings.length
  if (more > 0) report.warnings.push(...warningsOf(fact, warnings, line).slice(0, more))
}

/** Notes what the store made of a fact. */
export function noteStored(report: ImportReport, line: number, fact: Fact, stored: StoredEvent): void {
  const parent = fact.parent_id ?? null
  if (!stored.inTree && stored.id !== null) count(report.repairs, 'duplicate_id', line)
  if (stored.inTree && parent !== null && parent !== ROOT && parent !== stored.parentId)
    count(report.repairs, 'unknown_parent', line)
  if (!isQuarantined(fact) && fact.timestamp !== undefined && parseInstant(fact.timestamp) === undefined)
    count(report.repairs, 'unreadable_timestamp', line)
}
