/** Facts and what the store made of them go in, one by one; what an import has to tell comes out. */

import { type Fact, isInstant, isQuarantined, ROOT, type StoredEvent } from '../../index.ts'
import { type Broken, count, issuesOf, type LineIssue, noteBroken, type Upcasts } from '../recording.ts'
import type { Decoded } from '../input/decode.ts'
import type { Form } from '../input/open.ts'

/** What the log puts right, as `replay` names it. */
export type RepairCode = 'duplicate_id' | 'unknown_parent' | 'unreadable_timestamp'

/** How many issues are told: a file of the wrong kind has as many as lines. */
const MOST_ISSUES = 1000

/** What became of one file. It grows while the file is read. */
export interface Report {
  readonly file: string
  readonly form: Form
  /** Its id in the store. */
  conversation: string
  /** Whether the conversation was not there before. */
  created: boolean
  /** Events in the file, those set aside among them. */
  events: number
  added: number
  /** Transient events, which no store keeps. */
  skipped: number
  quarantined: number
  broken: Broken | null
  readonly issues: LineIssue[]
  readonly upcasts: Map<string, Upcasts>
  readonly repairs: Map<RepairCode, Upcasts>
  /** Where HEAD was moved to, since base_state.json has it there; undefined when it was not. */
  head: { readonly value: string | null; readonly added: boolean } | undefined
  readonly notes: string[]
}

/** A report of nothing yet. */
export function newReport(file: string, form: Form, conversation: string, notes: readonly string[]): Report {
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
    upcasts: new Map(),
    repairs: new Map(),
    head: undefined,
    notes: [...notes],
  }
}

/** Notes what reading a line came to. */
export function noteRead(report: Report, line: number, { fact, upcasts, broken }: Decoded): void {
  report.broken = noteBroken(report.broken, line, broken)
  for (const name of upcasts) count(report.upcasts, name, line)
  if (isQuarantined(fact)) report.quarantined += 1
  const room = MOST_ISSUES - report.issues.length
  if (room > 0) report.issues.push(...issuesOf(fact, line).slice(0, room))
}

/** Notes what the store made of a fact. */
export function noteStored(report: Report, line: number, fact: Fact, stored: StoredEvent): void {
  const parent = fact.parent_id ?? null
  if (!stored.stands && stored.id !== null) count(report.repairs, 'duplicate_id', line)
  if (stored.stands && parent !== null && parent !== ROOT && parent !== stored.parentId)
    count(report.repairs, 'unknown_parent', line)
  if (!isQuarantined(fact) && fact.timestamp !== undefined && !isInstant(fact.timestamp))
    count(report.repairs, 'unreadable_timestamp', line)
}
