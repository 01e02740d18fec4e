/** Draws the tree of a recording, one line for each event. */

import type { Entry } from '../../index.ts'
import { listLeaves } from '../../state/index.ts'
import { type Recording, titleOf } from '../input/recording.ts'
import { describeEntry } from '../../inspector/index.ts'
import { treeRows, type TreeRow } from './layout.ts'
import { eventRow, heading, idWidth, type Page, shownId } from './page.ts'
import { counted, padStart, safe } from '../print/text.ts'

/** Draws the tree of a recording. Lazy, so that a reader who stops early is not kept waiting. */
export function* showTree(page: Page, recording: Recording): IterableIterator<string> {
  const { state } = recording
  const { log } = state
  const branches = listLeaves(state).length
  const remark = `${counted(log.entries.length, 'event')}, ${branches === 1 ? '1 branch' : `${branches} branches`}`
  yield heading(page, safe(titleOf(recording)), remark)
  const idColumns = idWidth(
    page,
    [...log.entries].map((entry) => entry.id),
  )
  const lineColumns = String(recording.lines.at(-1) ?? 0).length
  let roots = 0
  for (const row of treeRows(state)) {
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
    if (!entry.inTree)
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
