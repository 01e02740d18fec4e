/** The tree in few rows: a reply's calls and their results in one, state updates as remarks. */

import { type ActionEvent, type Entry, isToolResult } from '../../index.ts'
import { contentText, type Described, describeEntry } from '../../inspector/index.ts'
import { rails } from './tree.ts'
import type { TreeRow } from './layout.ts'
import { eventRow, type Page, shownId } from './page.ts'
import { fit, glimpse, padStart } from '../print/text.ts'

/** Rows that are shown as one. */
interface Group {
  readonly row: TreeRow
  readonly entries: Entry[]
  readonly remarks: string[]
  /** The row at the lower end, which says whether a branch ends here. */
  last: TreeRow
}

/** Draws a tree with one line for each message and each reply. */
export function* showCompactTree(
  page: Page,
  rows: Iterable<TreeRow>,
  lines: readonly number[],
  head: Entry | null,
): IterableIterator<string> {
  const lineColumns = String(lines.at(-1) ?? 0).length
  for (const { row, entries, remarks, last } of groups(rows)) {
    const remark = remarks.length === 0 ? [] : [`[${remarks.join(', ')}]`]
    const id = shownId(last.entry.id)
    const end = last.entry === head ? [`◀ HEAD ${id}`] : last.isEnd ? [`◁ ${id}`] : []
    yield eventRow(page, {
      lead: `${padStart(String(lines[row.entry.seq] ?? ''), lineColumns + 2)} `,
      gutter: `${rails(row)} `,
      described: describeGroup(entries),
      id: null,
      idColumns: 0,
      note: [...remark, ...end].join(' '),
    })
  }
}

function groups(rows: Iterable<TreeRow>): Group[] {
  const out: Group[] = []
  for (const row of rows) {
    const group = out.at(-1)
    if (group !== undefined && row.isRemark) group.remarks.push(remarkOf(row.entry))
    else if (group !== undefined && joins(group, row)) {
      group.entries.push(row.entry)
      group.last = row
    } else out.push({ row, entries: [row.entry], remarks: [], last: row })
  }
  return out
}

/** Whether a row goes on with a reply: another call of it, or a result. */
function joins({ entries, row: first }: Group, { entry, depth, forks }: TreeRow): boolean {
  const call = callOf(entries[0])
  if (call === null || forks || depth !== first.depth || entry.event === null) return false
  return isToolResult(entry.event) || callOf(entry)?.llm_response_id === call.llm_response_id
}

const callOf = (entry: Entry | undefined): ActionEvent | null =>
  entry?.event?.kind === 'ActionEvent' ? entry.event : null

function remarkOf(entry: Entry): string {
  const { subject, text } = describeEntry(entry)
  return subject === 'execution_status' ? text : subject === 'leaf_event_id' ? 'HEAD moves' : subject
}

function describeGroup(entries: readonly Entry[]): Described {
  const [first, ...others] = entries.map(describeEntry)
  const calls = entries.flatMap((entry) => callOf(entry) ?? [])
  if (first === undefined || calls.length === 0 || others.length === 0) return first ?? NOTHING
  const refusals = entries.flatMap((entry) => {
    const { role, text } = describeEntry(entry)
    return ['rejected', 'error', 'failed'].includes(role) ? [` → ${role}: ${text}`] : []
  })
  const words = calls.length === 1 ? first.text : contentText(calls[0]?.thought ?? [])
  // What went wrong matters more than what was asked for.
  const text = refusals.length === 0 ? glimpse(words) : fit(glimpse(words), ASKED) + refusals.join('')
  return { role: 'agent', tone: 'agent', subject: toolNames(calls), text }
}

/** Columns for a call that was refused or failed. */
const ASKED = 32

const NOTHING: Described = { role: '', tone: 'dim', subject: '', text: '' }

/** `terminal ×2, file_editor` */
function toolNames(calls: readonly ActionEvent[]): string {
  const counts = new Map<string, number>()
  for (const { tool_name } of calls) counts.set(tool_name, (counts.get(tool_name) ?? 0) + 1)
  return glimpse(Array.from(counts, ([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', '))
}
