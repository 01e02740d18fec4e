/** Shows the problems of a recording: lines that do not load, and what a correct server would not write. */

import { UPCASTERS } from '../../event/index.ts'
import { findEvent, isToolResult, listWarnings, type State, switchTo } from '../../index.ts'
import { glimpseIssue, reasonOf } from '../../inspector/index.ts'
import { checkLog, type LawViolation, sentenceOf } from '../../laws/index.ts'
import { listDroppedResults, listLeaves } from '../../state/index.ts'
import type { Options } from '../commands.ts'
import { issueAsJson, type LineIssue, type Recording, titleOf } from '../input/recording.ts'
import { counted, fit, glimpse, hideSecrets, inLines, pad, padStart, safe, width } from '../print/text.ts'
import { heading, type Page, type View, wrapped } from './page.ts'

export const checkView: View<'check'> = {
  json: ({ recording: { lines, quarantined, issues, warnings } }) => ({
    events: lines.length,
    valid: lines.length - quarantined,
    issues: issues.map(issueAsJson),
    warnings: warnings.map(issueAsJson),
  }),
  *show(page, { recording, title }) {
    const { issues, state, lines } = recording
    const bad = new Set(issues.map((issue) => issue.line)).size
    const verdict =
      lines.length === 0
        ? page.paint('warn', 'nothing to check: there is no event')
        : bad === 0
          ? page.paint('good', '✓ every event loads')
          : page.paint('bad', `✗ ${bad.toLocaleString('en')} cannot be loaded`)
    yield `${heading(page, title, counted(state.log.entries.length, 'event'))}  ${verdict}`
    yield* sessionNotes(page, recording)
    const lineColumns = String(lines.at(-1) ?? 0).length
    yield* issueRows(page, issues, lineColumns)
    const odd = breachesOf(recording).filter(({ code }) => code !== 'quarantined')
    const notes = [...upcastRepairs(recording), ...odd].toSorted((a, b) => a.line - b.line)
    for (const { line, what, detail } of notes) {
      const lead = `  note: line ${padStart(String(line), lineColumns)}  `
      const room = page.columns - width(lead) - REPAIR_WIDTH - 2
      yield page.paint('dim', `${lead}${pad(what, REPAIR_WIDTH)}  ${fit(detail, room)}`)
    }
  },
}

function* issueRows(page: Page, issues: readonly LineIssue[], lineColumns: number): IterableIterator<string> {
  const kinds = issues.slice(0, MEASURED_ISSUES).map((issue) => width(kindText(issue)))
  const locs = issues.slice(0, MEASURED_ISSUES).map((issue) => width(locText(issue)))
  const kindColumns = Math.max(0, ...kinds)
  const locColumns = Math.max(0, ...locs)
  let last = 0
  for (const issue of issues) {
    const isNew = issue.line !== last
    last = issue.line
    const lead = isNew ? `  line ${padStart(String(issue.line), lineColumns)}` : ' '.repeat(7 + lineColumns)
    const room = page.columns - lead.length - kindColumns - locColumns - 6
    yield [
      page.paint('dim', lead),
      pad(isNew ? kindText(issue) : '', kindColumns),
      page.paint('strong', pad(locText(issue), locColumns)),
      fit(glimpse(issue.issue.msg), Math.max(room, 24)),
    ].join('  ')
  }
}

const MEASURED_ISSUES = 1000

const kindText = ({ kind }: LineIssue): string => fit(glimpse(kind ?? '?'), 28)

const locText = ({ issue }: LineIssue): string => fit(glimpse(issue.loc.join('.') || '(all)'), 32)

export interface Repair {
  readonly line: number
  readonly what: string
  readonly detail: string
}

/** A repair that no log of a correct server needs. */
interface Breach extends Repair {
  readonly code: string
}

const REPORTS = {
  quarantined: 'quarantined',
  duplicate_id: 'repeated id',
  unknown_parent: 'unknown parent',
  head_ignored: 'HEAD not moved',
  unreadable_timestamp: 'unreadable time',
  reply_not_placed: 'reply not placed',
  nothing_completed: 'nothing completed',
} as const

const DROPPED = {
  duplicate_result: 'second result',
  orphan_result: 'stray result',
} as const

/** Losses of parsing; any other type concerns a payload. */
const LOSSES: ReadonlyMap<string, string> = new Map([
  ['number_changed', 'number changed'],
  ['duplicate_key', 'repeated key'],
])

const REPAIR_WIDTH = 16

/**
 * Other problems of a loaded log, on all branches: warnings, results that end no call, payloads that do not
 * fit their kind, losses of JSON. O(n), and O(dropped results) for each branch.
 */
function breachesOf(recording: Recording): Breach[] {
  const { state, warnings } = recording
  const odd = warnings.map(({ line, issue }): Breach => {
    const lost = LOSSES.get(issue.type)
    return { line, what: lost ?? 'odd payload', detail: glimpseIssue(issue), code: issue.type }
  })
  const dropped = new Map<string, Breach>()
  for (const { id } of listLeaves(state)) {
    const branch = id === null ? state : switchTo(state, id)
    for (const [result, breach] of branchRepairs(recording, branch)) dropped.set(result, breach)
  }
  return [...odd, ...logRepairs(recording, state), ...dropped.values()].toSorted((a, b) => a.line - b.line)
}

export function repairsOf(recording: Recording, state: State = recording.state): Repair[] {
  const end = recording.lines[state.log.entries.length - 1] ?? 0
  const upcasts = upcastRepairs(recording).filter(({ line }) => line <= end)
  return [...upcasts, ...logRepairs(recording, state), ...branchRepairs(recording, state).values()].toSorted(
    (a, b) => a.line - b.line,
  )
}

export function upcastRepairs({ upcasts }: Pick<Recording, 'upcasts'>): Repair[] {
  return Array.from(upcasts, ([name, { count, line }]) => {
    const description = UPCASTERS.find((upcaster) => upcaster.name === name)?.description ?? ''
    return {
      line,
      what: 'older shape',
      detail: `${name}${count === 1 ? '' : ` on ${counted(count, 'line')}`}: ${description}`,
    }
  })
}

function logRepairs({ lines }: Recording, state: State): Breach[] {
  return listWarnings(state).map(({ seq, id, code, message }) => {
    const detail = (): string => {
      if (code === 'quarantined') return reasonOf(state.log.entries.get(seq)?.quarantined ?? null)
      const existing = code === 'duplicate_id' && id !== null ? findEvent(state, id) : undefined
      // The core counts positions; people need lines.
      return glimpse(
        existing === undefined
          ? message
          : `left out of the tree: line ${lines[existing.seq]} has the id ${id} already`,
      )
    }
    return { line: lines[seq] ?? 0, what: REPORTS[code], detail: detail(), code }
  })
}

function branchRepairs({ lines }: Recording, state: State): Map<string, Breach> {
  const result = new Map<string, Breach>()
  for (const { id, reason } of listDroppedResults(state)) {
    const entry = findEvent(state, id)
    if (entry?.event === undefined || entry.event === null || !isToolResult(entry.event)) continue
    const { tool_name, tool_call_id } = entry.event
    const why =
      reason === 'duplicate_result' ? 'its call has a result already' : 'it ends no pending call of the view'
    const detail = glimpse(`left out of the view: ${why} (${tool_name}, ${tool_call_id})`)
    result.set(id, { line: lines[entry.seq] ?? 0, what: DROPPED[reason], detail, code: reason })
  }
  return result
}

export interface Finding extends Pick<LawViolation, 'law' | 'id' | 'message'> {
  /** The line of the file; in a database the position plus 1. */
  readonly line: number
}

export interface Judged {
  readonly recording: Pick<Recording, 'file' | 'conversation' | 'form'>
  readonly title: string
  readonly events: number
  readonly findings: readonly Finding[]
}

export function judgeLog(recording: Recording, { ended, grammar = [] }: Options<'check'>): Judged {
  const { file, conversation, form, lines, loaded } = recording
  const violations = checkLog(loaded, {
    ended: ended === true,
    grammars: grammar,
    ...(conversation && { conversationId: conversation }),
  })
  const findings = violations.map(({ law, id, seq, message }) => ({
    law,
    line: lines[seq] ?? 0,
    id,
    message: hideSecrets(inLines(message, lines)),
  }))
  return {
    recording: { file, conversation, form },
    title: titleOf(recording),
    events: lines.length,
    findings,
  }
}

const byLaw = (findings: readonly Finding[]) => Map.groupBy(findings, ({ law }) => law)

const MAX_SHOWN = 5

export function* showLaws(page: Page, { title, events, findings }: Judged): IterableIterator<string> {
  const groups = byLaw(findings)
  const verdict =
    events === 0
      ? page.paint('warn', 'nothing to check: there is no event')
      : findings.length === 0
        ? page.paint('good', '✓ breaks no law')
        : page.paint('bad', `✗ ${counted(findings.length, 'violation')} of ${counted(groups.size, 'law')}`)
  yield `${heading(page, safe(title), counted(events, 'event'))}  ${verdict}`
  for (const [law, group] of groups) {
    yield* wrapped(page, `  ${page.paint('bad', law.padEnd(4))} `, 7, sentenceOf(law) ?? '')
    const columns = String(group.at(-1)?.line ?? 0).length
    for (const { line, message } of group.slice(0, MAX_SHOWN)) {
      const lead = `       line ${padStart(String(line), columns)}  `
      yield* wrapped(page, page.paint('dim', lead), lead.length, message)
    }
    if (group.length > MAX_SHOWN)
      yield page.paint('dim', `       and ${counted(group.length - MAX_SHOWN, 'more event')}`)
  }
}

/** One document of all recordings; a log without violations is a suite with one passed case. */
export function* junitOf(judged: readonly Judged[]): IterableIterator<string> {
  const cases = judged.map(({ findings }) => [...byLaw(findings)])
  const failures = cases.reduce((sum, laws) => sum + laws.length, 0)
  const tests = cases.reduce((sum, laws) => sum + Math.max(1, laws.length), 0)
  yield '<?xml version="1.0" encoding="UTF-8"?>'
  yield `<testsuites name="colloquy check --laws" tests="${tests}" failures="${failures}">`
  for (const [index, { title }] of judged.entries()) {
    const laws = cases[index] ?? []
    const count = Math.max(1, laws.length)
    const name = escaped(title)
    yield `  <testsuite name="${name}" tests="${count}" failures="${laws.length}" errors="0" skipped="0" time="0">`
    if (laws.length === 0) yield `    <testcase classname="${name}" name="laws" time="0"/>`
    for (const [law, findings] of laws) yield* failed(name, law, findings)
    yield '  </testsuite>'
  }
  yield '</testsuites>'
}

function* failed(suite: string, law: string, findings: readonly Finding[]): IterableIterator<string> {
  const sentence = escaped(sentenceOf(law) ?? '')
  const [first] = findings
  yield `    <testcase classname="${suite}" name="${law}: ${sentence}" time="0">`
  yield `      <failure type="${law}" message="${escaped(first === undefined ? '' : first.message)}">`
  for (const { line, id, message } of findings)
    yield escaped(`line ${line}${id === null ? '' : ` (${id})`}: ${message}`)
  yield '      </failure>'
  yield '    </testcase>'
}

// Characters that XML does not allow, or that a terminal acts upon.
const UNFIT = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/gu

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

const escaped = (text: string): string =>
  text.replace(UNFIT, '\ufffd').replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)

export const LISTED = 12

export function* sessionNotes(page: Page, { session }: Recording): IterableIterator<string> {
  for (const { what, count, line } of session?.notes ?? [])
    yield page.paint('dim', `  note: line ${line}  ${glimpse(what)}${count === 1 ? '' : `, ${count} times`}`)
}

export function* repairRows({ paint, columns }: Page, repairs: readonly Repair[]): IterableIterator<string> {
  const lineColumns = String(repairs.at(-1)?.line ?? 0).length
  for (const { line, what, detail } of repairs.slice(0, LISTED)) {
    const lead = `  line ${padStart(String(line), lineColumns)}  `
    yield `${paint('dim', lead)}${paint('warn', pad(what, REPAIR_WIDTH))}  ${fit(detail, columns - lead.length - REPAIR_WIDTH - 2)}`
  }
  if (repairs.length > LISTED) yield `  and ${repairs.length - LISTED} more: colloquy check shows them all`
}
