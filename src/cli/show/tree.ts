/** Draws the tree of a recording, one line for each event. */

import { type ActionEvent, type Entry, isToolResult, type State } from '../../index.ts'
import { contentText, type Described, describeEntry } from '../../inspector/index.ts'
import { kindOf, listLeaves, pathTo } from '../../state/index.ts'
import { type Recording, titleOf } from '../input/recording.ts'
import { counted, fit, glimpse, padStart, safe } from '../print/text.ts'
import { eventRow, heading, idWidth, type Page, shownId } from './page.ts'

export function treeJson({ state }: Recording) {
  const { log } = state
  const onHeadPath = new Set(pathTo(state))
  const inTree = [...log.entries].filter((entry) => entry.inTree)
  return {
    roots: inTree.filter((entry) => entry.parent === null).map((entry) => entry.id),
    events: inTree.map((entry) => ({
      id: entry.id,
      kind: kindOf(entry),
      parent: entry.parent?.id ?? null,
      on_head_path: onHeadPath.has(entry),
    })),
  }
}

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
  if (log.head === null && roots > 0) yield '  HEAD is before every event: the next one starts a new root'
  for (const entry of log.entries) {
    if (!entry.inTree)
      yield page.paint('dim', `  line ${lineOf(recording, entry)} is not in the tree: ${outReason(entry)}`)
  }
  if (branches > 1) yield page.paint('dim', '  ● leads to HEAD   ○ on another branch   · state update')
}

/** The lines that lead to a row, and its mark. */
function rails({ depth, forks, isRemark, onHeadPath }: TreeRow): string {
  const mark = isRemark ? '·' : onHeadPath ? '●' : '○'
  return forks ? `${'│ '.repeat(depth - 1)}├─${mark}` : '│ '.repeat(depth) + mark
}

const lineOf = ({ lines }: Recording, { seq }: Entry): string => String(lines[seq] ?? '')

const outReason = ({ id }: Entry): string =>
  id === null ? 'it has no id that can be read' : `its id ${shownId(id)} exists already`

/** An entry at its place on the page. */
interface TreeRow {
  readonly entry: Entry
  /** How many branches run beside it, left of it. */
  readonly depth: number
  /** Whether it is the first of a branch that leaves the line on its left. */
  readonly forks: boolean
  readonly onHeadPath: boolean
  /** Whether nothing but state updates hangs on it. */
  readonly isEnd: boolean
  /** A state update that nothing hangs on: a remark on the row above rather than a branch. */
  readonly isRemark: boolean
}

interface Shape {
  readonly children: ReadonlyMap<Entry | null, readonly Entry[]>
  /** Number of entries below and at each position. */
  readonly sizes: Int32Array
  /** The entries from the root to HEAD. */
  readonly onHeadPath: ReadonlySet<Entry>
}

/**
 * The rows of the tree, a branch before the line that it leaves. A line goes straight down: only the entries of a side
 * branch stand further right, the line to HEAD never, and of two other branches the larger goes on. So the depth grows
 * with the logarithm of the number of events, not with their number. O(n).
 */
export function* treeRows(state: State): IterableIterator<TreeRow> {
  const shape = shapeOf(state)
  const todo: { entry: Entry; depth: number; forks: boolean }[] = []
  /** Yields the remarks on an entry, or on the empty tree, and notes the branches below for later. */
  function* below(above: Entry | null, depth: number, onHeadPath: boolean): IterableIterator<TreeRow> {
    const branches: Entry[] = []
    for (const entry of shape.children.get(above) ?? []) {
      if (!isRemark(entry, shape)) branches.push(entry)
      else yield { entry, depth, forks: false, onHeadPath, isEnd: false, isRemark: true }
    }
    const main = mainOf(branches, shape)
    if (main !== undefined) todo.push({ entry: main, depth, forks: false })
    for (const entry of branches.toReversed()) {
      // Roots stand under each other: there is no line that the others could leave.
      if (entry !== main) todo.push({ entry, depth: above === null ? 0 : depth + 1, forks: above !== null })
    }
  }
  yield* below(null, 0, false)
  for (let place = todo.pop(); place !== undefined; place = todo.pop()) {
    const { entry, depth } = place
    const onHeadPath = leadsToHead(entry, shape)
    yield { ...place, onHeadPath, isEnd: isEnd(entry, shape), isRemark: false }
    yield* below(entry, depth, onHeadPath)
  }
}

function shapeOf(state: State): Shape {
  const { log } = state
  const children = new Map<Entry | null, Entry[]>()
  const sizes = new Int32Array(log.entries.length).fill(1)
  for (const entry of log.entries) {
    if (!entry.inTree) continue
    const siblings = children.get(entry.parent)
    if (siblings === undefined) children.set(entry.parent, [entry])
    else siblings.push(entry)
  }
  // A parent always stands before its children.
  for (const { seq, inTree, parent } of log.entries.slice().toReversed()) {
    if (inTree && parent !== null) sizes[parent.seq] = (sizes[parent.seq] ?? 0) + (sizes[seq] ?? 0)
  }
  return { children, sizes, onHeadPath: new Set(pathTo(state)) }
}

const leadsToHead = (entry: Entry, { onHeadPath }: Shape): boolean => onHeadPath.has(entry)

const isRemark = (entry: Entry, { children }: Shape): boolean =>
  kindOf(entry) === 'ConversationStateUpdateEvent' && !children.has(entry)

const isEnd = (entry: Entry, shape: Shape): boolean =>
  (shape.children.get(entry) ?? []).every((child) => isRemark(child, shape))

/** The child that goes on in the same column: the one that leads to HEAD, else the first of the largest. */
function mainOf(children: readonly Entry[], shape: Shape): Entry | undefined {
  let best: Entry | undefined
  for (const child of children) {
    if (leadsToHead(child, shape)) return child
    if (best === undefined || (shape.sizes[child.seq] ?? 0) > (shape.sizes[best.seq] ?? 0)) best = child
  }
  return best
}

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
