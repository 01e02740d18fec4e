import { invalidArgument } from '../event/check-value.ts'
import { copyJson } from '../event/freeze.ts'
import type { Issue } from '../event/issues.ts'
import { attempt } from '../event/json.ts'
import { type Loaded, loadLine, loadValue } from '../event/load.ts'
import { type Fact, quarantine, type Quarantined } from '../event/quarantine.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import type { Entry } from '../log/entry.ts'
import type { Branch } from '../state/branch.ts'
import type { Checkpoint, State } from '../state/state.ts'

/** One item of a log: a line, a fact, or the result of `loadLine`. */
export type LogItem = string | Fact | Loaded

/** Rejects one text, which would be read as a log of characters. */
export function checkIsLog(log: unknown): void {
  if (typeof log === 'string') invalidArgument('log', 'must be a list of lines, not one text')
}

/** Loads an item. Decodes facts again: checks rely on valid types. If a getter throws, `loadValue` reports it. */
export const loadItem = (item: unknown): Loaded =>
  typeof item === 'string' ? loadLine(item) : (attempt(() => loadedFrom(item), null) ?? loadValue(item))

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

function loadedFrom(item: unknown): Loaded | null {
  const line = quarantinedFrom(item)
  if (line !== null) return { fact: line, upcasts: [], warnings: [] }
  if (!isRecord(item) || Object.hasOwn(item, 'kind') || !Object.hasOwn(item, 'fact')) return null
  const { fact, upcasts } = item
  const warnings = issuesFrom(item['warnings'])
  if (warnings === null || !Array.isArray(upcasts)) return null
  return { fact: quarantinedFrom(fact) ?? loadValue(fact).fact, upcasts, warnings }
}

/** Returns a quarantined line. Reads each field once, because it may be a getter. */
function quarantinedFrom(item: unknown): Quarantined | null {
  if (!isRecord(item) || item['quarantined'] !== true) return null
  const { raw, id, parent_id, event_kind: kind } = item
  const issues = issuesFrom(item['issues'])
  if (typeof raw !== 'string' || issues === null) return null
  return quarantine(raw, issues, { id, parent_id, kind } as JsonObject)
}

function issuesFrom(list: unknown): readonly Issue[] | null {
  const { value } = copyJson(list)
  return Array.isArray(value) && value.every(isIssue) ? value : null
}

const isIssue = (item: unknown): boolean =>
  isRecord(item) &&
  typeof item['msg'] === 'string' &&
  typeof item['type'] === 'string' &&
  Array.isArray(item['loc']) &&
  item['loc'].every((step) => typeof step === 'string' || typeof step === 'number')

/** Types of warnings that break law E8; all other warnings break E7. */
const LOSSES: ReadonlySet<string> = new Set(['number_changed', 'duplicate_key'])

export function reportWarnings(
  warnings: readonly Issue[],
  entry: Parameters<Report>[1],
  report: Report,
): void {
  for (const { loc, msg, type } of warnings) {
    const law = LOSSES.has(type) ? 'E8' : 'E7'
    report(law, entry, `${loc.join('.') || 'the event'}: ${msg.replace(/\.$/, '')}`)
  }
}

/** A place where a log breaks a law. */
export interface LawViolation {
  /** Number in properties/laws.md, such as `R1`; `sentenceOf` returns its sentence. */
  readonly law: string
  /** Id of the event; null for a line without a readable id. */
  readonly id: string | null
  /** Position in the log, from 0. */
  readonly seq: number
  readonly message: string
}

export type Report = (law: string, index: Pick<Entry, 'id' | 'seq'>, message: string) => void

export interface LogStep {
  readonly before: State
  readonly after: State
  readonly entry: Checkpoint & { readonly id: string; readonly event: Event }
  readonly above: Branch
}

export interface LawWatch {
  readonly step: (step: LogStep) => void
  readonly end?: (state: State) => void
}
