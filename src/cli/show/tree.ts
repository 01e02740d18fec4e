/** A recording goes in, its tree as lines of text comes out, one line per event. */

import { type Entry, leaves } from '../../index.ts'
import { type Recording, titleOf } from '../recording.ts'
import { describeEntry } from './describe.ts'
import { treeRows, type TreeRow } from './layout.ts'
import { eventRow, heading, idWidth, type Page, shownId } from './page.ts'
import { counted, padStart, safe } from './text.ts'

/** Draws the tree of a recording. Lazy, so that a reader who stops early is not kept waiting. */
export function* showTree(page: Page, recording: Recording): IterableIterator<string> {
  const { log } = recording.state
  const branches = leaves(log).length
  const remark = `${counted(log.entries.length, 'event')}, ${branches === 1 ? '1 branch' : `${branches} branches`}`
  yield heading(page, safe(titleOf(recording)), remark)
  const idColumns = idWidth(
    page,
    [...log.entries].map((entry) => entry.id),
  )
  const lineColumns = String(recording.lines.at(-1) ?? 0).length
  let roots = 0
  for (const row of treeRows(log)) {
    if (row.entry.parent === null && !row.isRemark && (roots += 1) > 1) yield ''
    yield eventRow(page, {
      lead: `${padStart(lineOf(recording, row.entry), lineColumns + 2)} `,
      gutter: `${rails(row)} `,
      described: describeEntry(row.entry),
      id: row.entry.id,
      idColumns,
      note: row.entry === log.head ? '◀ HEAD' : '',
    })
  }
  if (log.head === null && roots > 0) yield '  HEAD stands before every event: the next one starts a new root'
  for (const entry of log.entries) {
    if (!entry.stands)
      yield page.paint('dim', `  line ${lineOf(recording, entry)} is not in the tree: ${outReason(entry)}`)
  }
  if (branches > 1) yield page.paint('dim', '  ● leads to HEAD   ○ on another branch   · state update')
}

/** The lines that lead to a row, and its mark. */
export function rails({ depth, forks, isRemark, onHeadPath }: TreeRow): string {
  const mark = isRemark ? '·' : onHeadPath ? '●' : '○'
  return forks ? `${'│ '.repeat(depth - 1)}├─${mark}` : '│ '.repeat(depth) + mark
}

const lineOf = ({ lines }: Recording, { seq }: Entry): string => String(lines[seq] ?? '')

const outReason = ({ id }: Entry): string =>
  id === null ? 'it has no id that can be read' : `its id ${shownId(id)} stands there already`
