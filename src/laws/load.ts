/** Takes whatever a log is given as: lines, facts, facts with the warnings of their loading, or no events at all. */

import { copyJson } from '../event/freeze.ts'
import { isLegalId } from '../event/ids.ts'
import type { Issue } from '../event/issues.ts'
import { type Loaded, loadLine, loadValue } from '../event/load.ts'
import type { Fact, Quarantined } from '../event/quarantine.ts'
import type { Event } from '../event/types.ts'
import type { Entry } from '../log/entry.ts'
import type { Branch } from '../state/branch.ts'
import type { Checkpoint, State } from '../state/state.ts'

/** One item of a log: a line, a fact, or a fact as `loadLine` gives it. */
export type LogItem = string | Fact | Loaded

/**
 * The fact of an item, with what there is to say of it. It is decoded here whatever it claims, since all that looks at
 * it later takes it for an event. Total on any value. O(size).
 */
export function loadItem(item: unknown): Loaded {
  if (typeof item === 'string') return loadLine(item)
  try {
    const kept = keptFrom(item)
    if (kept !== null) return { fact: kept, upcasts: [], warnings: [] }
    const loaded = loadedFrom(item)
    if (loaded !== null) return loaded
  } catch {
    // A value that throws when it is looked at; loading it says so.
  }
  return loadValue(item)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** What has the shape of a fact with its warnings, whatever the fact is; null for anything else. */
function loadedFrom(item: unknown): Loaded | null {
  if (!isObject(item) || Object.hasOwn(item, 'kind') || !Object.hasOwn(item, 'fact')) return null
  const { fact, upcasts } = item
  const warnings = issuesFrom(item['warnings'])
  if (warnings === null || !Array.isArray(upcasts)) return null
  return { fact: keptFrom(fact) ?? loadValue(fact).fact, upcasts, warnings }
}

/** A line in quarantine, each of its fields read once; null for what is none. */
function keptFrom(item: unknown): Quarantined | null {
  if (!isObject(item) || item['quarantined'] !== true) return null
  const { raw, id, parent_id: parent, event_kind: kind } = item
  const issues = issuesFrom(item['issues'])
  if (typeof raw !== 'string' || issues === null) return null
  if (id !== undefined && !(typeof id === 'string' && isLegalId(id))) return null
  if (parent !== undefined && parent !== null && typeof parent !== 'string') return null
  if (kind !== undefined && typeof kind !== 'string') return null
  return {
    quarantined: true,
    raw,
    issues,
    ...(id !== undefined && { id }),
    ...(parent !== undefined && { parent_id: parent }),
    ...(kind !== undefined && { event_kind: kind }),
  }
}

/** A list of issues, each of their fields read once; null where anything in it is none. */
function issuesFrom(list: unknown): readonly Issue[] | null {
  if (!Array.isArray(list)) return null
  const issues: Issue[] = []
  for (const given of list as readonly unknown[]) {
    if (!isObject(given)) return null
    const { loc, msg, type, ...more } = given
    const path = Array.isArray(loc) ? copyJson(loc).value : null
    if (!isPath(path) || typeof msg !== 'string' || typeof type !== 'string') return null
    issues.push({ loc: path, msg, type, ...more })
  }
  return issues
}

const isPath = (value: unknown): value is Issue['loc'] =>
  Array.isArray(value) && value.every((step) => typeof step === 'string' || typeof step === 'number')

/** What a line's JSON loses; any other warning is that of a payload. */
const LOSSES: ReadonlySet<string> = new Set(['number_changed', 'duplicate_key'])

/** Reports what is wrong with an event that loads all the same: E7 and E8. */
export function reportWarnings(warnings: readonly Issue[], at: Parameters<Report>[1], report: Report): void {
  for (const { loc, msg, type } of warnings)
    report(LOSSES.has(type) ? 'E8' : 'E7', at, `${loc.join('.') || 'the event'}: ${msg.replace(/\.$/, '')}`)
}

/** One place where a log is not what a correct server writes. */
export interface LawViolation {
  /** The number of the law in properties/laws.md, as `R1`; `sentenceOf` gives its sentence. */
  readonly law: string
  /** The id of the event; null for a line that has none that can be read. */
  readonly id: string | null
  /** Its position in the log, from 0. */
  readonly seq: number
  /** One sentence: what is wrong, and what a correct server would have written. */
  readonly message: string
}

/** Says that a law is broken by the fact at a place of the log. */
export type Report = (law: string, at: Pick<Entry, 'id' | 'seq'>, message: string) => void

/** One event that is in the tree, with the states around it. */
export interface LogStep {
  readonly before: State
  readonly after: State
  readonly entry: Checkpoint & { readonly id: string; readonly event: Event }
  /** The branch that it came to: that of the path to its parent. */
  readonly above: Branch
}

/** A check that is told of each event of a log in turn, and then of its end. */
export interface LawWatch {
  readonly step: (step: LogStep) => void
  readonly end?: (state: State) => void
}
