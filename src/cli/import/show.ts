/** Shows what became of an imported file, as text or as JSON. */

import { maskSecrets } from '../../index.ts'
import { UPCASTERS } from '../../event/index.ts'
import { issueAsJson } from '../input/recording.ts'
import type { RepairCode, ImportReport } from './report.ts'
import { glimpseIssue } from '../../inspector/index.ts'
import { heading, type Page } from '../show/page.ts'
import { repairRows } from '../show/replay.ts'
import type { Repair } from '../show/repairs.ts'
import { counted, glimpse, safe } from '../print/text.ts'

const REPAIRS: Readonly<Record<RepairCode, { readonly what: string; readonly detail: string }>> = {
  duplicate_id: { what: 'repeated id', detail: 'kept beside the tree' },
  unknown_parent: { what: 'unknown parent', detail: 'hangs on HEAD as it stood' },
  unreadable_timestamp: { what: 'unreadable time', detail: 'has the time of the event before it' },
}

/** The report as one JSON object, with every secret masked. */
export function importAnswer(report: ImportReport): Readonly<Record<string, unknown>> {
  const { file, conversation, created, events, added, skipped, quarantined, head, notes } = report
  return maskSecrets({
    file,
    conversation,
    created,
    events,
    added,
    present: present(report),
    skipped,
    upcasts: Array.from(report.upcasts, ([name, { count, line }]) => ({ name, count, line })),
    quarantined,
    issues: report.issues.map(issueAsJson),
    warnings: report.warnings.map(issueAsJson),
    repairs: Array.from(report.repairs, ([code, { count, line }]) => ({ code, count, line })),
    head: head ?? null,
    notes,
  })
}

/** How many events of the file were there already. */
const present = ({ events, added, head }: ImportReport): number =>
  events - added + (head?.added === true ? 1 : 0)

/** Shows the report to people. */
export function* showImport(page: Page, report: ImportReport, database: string): IterableIterator<string> {
  const { file, conversation, created, events, added, head, notes, skipped } = report
  const there = present(report)
  const counts = [
    counted(events, 'event'),
    `${added.toLocaleString('en')} added`,
    ...(there > 0 ? [`${there.toLocaleString('en')} there already`] : []),
  ].join(', ')
  yield heading(page, safe(file), counts)
  const verb = created ? 'new' : added > 0 ? 'continued' : 'unchanged'
  yield `  ${page.paint('strong', safe(conversation))} in ${safe(database)}  ${page.paint('dim', verb)}`
  if (head !== undefined) {
    const where = head.value === null ? 'before every event' : `at ${glimpse(head.value)}`
    const how = head.added ? 'an event was added that moves it there' : 'as the event after the last one says'
    yield `  HEAD ${where}, as base_state.json has it: ${how}`
  }
  yield* repairRows(page, repairs(report))
  if (skipped > 0) yield `  left out: ${counted(skipped, 'streaming delta')}, which no store keeps`
  for (const note of notes) yield `  ${page.paint('warn', 'note')}: ${glimpse(note)}`
}

function repairs({ upcasts, issues, warnings, repairs, quarantined }: ImportReport): Repair[] {
  const lines = new Set<number>()
  const aside = issues.flatMap(({ line, issue }): Repair[] => {
    if (lines.has(line)) return []
    lines.add(line)
    return [{ line, what: 'quarantined', detail: glimpseIssue(issue) }]
  })
  const more = quarantined - aside.length
  const last = aside.at(-1)
  if (more > 0 && last !== undefined)
    aside.push({ line: last.line, what: 'quarantined', detail: `and ${counted(more, 'more line')}` })
  const older = Array.from(upcasts, ([name, { line, count }]): Repair => {
    const about = UPCASTERS.find((upcaster) => upcaster.name === name)?.description ?? ''
    return { line, what: 'older shape', detail: `${name}${times(count)}: ${about}` }
  })
  const righted = Array.from(repairs, ([code, { line, count }]): Repair => {
    const { what, detail } = REPAIRS[code]
    return { line, what, detail: count === 1 ? detail : `${times(count).trim()}: ${detail}` }
  })
  const odd = warnings.map(({ line, issue }): Repair => ({ line, what: 'odd', detail: glimpseIssue(issue) }))
  return [...older, ...aside, ...odd, ...righted].toSorted((a, b) => a.line - b.line)
}

const times = (count: number): string => (count === 1 ? '' : ` on ${counted(count, 'line')}`)
