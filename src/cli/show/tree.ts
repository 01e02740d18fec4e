import { type Entry, findEvent, type State } from '../../index.ts'
import { describeEntry } from '../../inspector/index.ts'
import { kindOf, listLeaves, pathTo } from '../../state/index.ts'
import type { Recording } from '../input/recording.ts'
import { counted } from '../print/text.ts'
import { type Page, shownId, type View } from './page.ts'

export const treeView: View<'tree'> = {
  json({ state, recording }) {
    const onHeadPath = new Set(pathTo(state))
    const inTree = [...state.log.entries].filter((entry) => entry.inTree)
    return {
      roots: inTree.filter((entry) => entry.parent === null).map((entry) => entry.id),
      events: inTree.map((entry) => ({
        id: entry.id,
        kind: kindOf(entry),
        parent: entry.parent?.id ?? null,
        on_head_path: onHeadPath.has(entry),
      })),
      subagents: recording.subagents.map(({ id, actionId }) => ({ id, action_id: actionId })),
    }
  },
  /** Yields the tree's lines lazily, so that a reader who stops early does not wait. */
  *show(page, { recording, state, title }) {
    const { entries } = state.log
    const branches = listLeaves(state).length
    const counts = `${counted(entries.length, 'event')}, ${counted(branches, 'branch', 'branches')}`
    yield page.heading(title, counts)
    yield* treeLines(page, recording)
    for (const { id, actionId } of recording.subagents)
      if (actionId === null || findEvent(state, actionId) === undefined)
        yield page.paint('dim', `  ↳ ${shownId(id)} was not opened by a call of this log`)
    for (const entry of entries) {
      if (entry.inTree) continue
      const why = entry.id === null ? 'it has no readable id' : `its id ${shownId(entry.id)} exists already`
      yield page.paint('dim', `  line ${lineOf(recording, entry)} is not in the tree: ${why}`)
    }
    if (branches > 1) yield page.paint('dim', '  ● leads to HEAD   ○ on another branch   · state update')
  },
}

export function* treeLines(
  page: Page,
  recording: Recording,
  skip: (row: TreeRow) => boolean = () => false,
): IterableIterator<string> {
  const { state } = recording
  const { log } = state
  const idColumns = page.idColumns(log.entries)
  const lineColumns = String(recording.lines.at(-1) ?? 0).length
  const subagents = Map.groupBy(recording.subagents, ({ actionId }) => actionId)
  let roots = 0
  for (const row of treeRows(state)) {
    if (skip(row)) continue
    if (row.entry.parent === null && !row.isRemark && (roots += 1) > 1) yield ''
    const { id } = row.entry
    const lead = `${lineOf(recording, row.entry).padStart(lineColumns + 2)} `
    const notes = (subagents.get(id ?? '') ?? []).map((one) => `↳ ${shownId(one.id)}`)
    if (row.entry === log.head) notes.push('◀ HEAD')
    const described = describeEntry(row.entry)
    yield page.eventRow({ lead, gutter: `${rails(row)} `, described, id, note: notes.join(' ') }, idColumns)
  }
  if (log.head === null && roots > 0) yield '  HEAD is before every event: the next event becomes a new root'
}

function rails({ depth, forks, isRemark, onHeadPath }: TreeRow): string {
  const mark = isRemark ? '·' : onHeadPath ? '●' : '○'
  return forks ? `${'│ '.repeat(depth - 1)}├─${mark}` : '│ '.repeat(depth) + mark
}

const lineOf = ({ lines }: Recording, { seq }: Entry): string => String(lines[seq] ?? '')

export interface TreeRow {
  readonly entry: Entry
  readonly depth: number
  readonly forks: boolean
  readonly onHeadPath: boolean
  /** Whether a row is a state update without children. Such a row is shown with the row above. */
  readonly isRemark: boolean
}

type TreeShape = ReturnType<typeof shapeOf>

/** Yields rows in O(n). The child on HEAD's path, or else the largest subtree, is not indented: O(log n) levels. */
function* treeRows(state: State): IterableIterator<TreeRow> {
  const shape = shapeOf(state)
  const todo: { entry: Entry; depth: number; forks: boolean }[] = []
  function* below(above: Entry | null, depth: number, onHeadPath: boolean): IterableIterator<TreeRow> {
    const children = shape.children.get(above) ?? []
    for (const entry of children)
      if (isRemark(entry, shape)) yield { entry, depth, forks: false, onHeadPath, isRemark: true }
    const branches = children.filter((entry) => !isRemark(entry, shape))
    const [main] = branches.toSorted((a, b) => shape.weightOf(b) - shape.weightOf(a))
    if (main !== undefined) todo.push({ entry: main, depth, forks: false })
    for (const entry of branches.toReversed()) {
      // Roots are listed one after another, because no line connects them.
      if (entry !== main) todo.push({ entry, depth: above === null ? 0 : depth + 1, forks: above !== null })
    }
  }
  yield* below(null, 0, false)
  for (let position = todo.pop(); position !== undefined; position = todo.pop()) {
    const { entry, depth } = position
    const onHeadPath = shape.onHeadPath.has(entry)
    yield { ...position, onHeadPath, isRemark: false }
    yield* below(entry, depth, onHeadPath)
  }
}

function shapeOf(state: State) {
  const { log } = state
  const entries = [...log.entries].filter(({ inTree }) => inTree)
  const children = Map.groupBy(entries, ({ parent }) => parent)
  const sizes = new Int32Array(log.entries.length).fill(1)
  // A parent is always before its children.
  for (const { seq, parent } of entries.toReversed())
    if (parent !== null) sizes[parent.seq] = (sizes[parent.seq] ?? 0) + (sizes[seq] ?? 0)
  const onHeadPath = new Set(pathTo(state))
  const weightOf = (entry: Entry): number => (onHeadPath.has(entry) ? Infinity : (sizes[entry.seq] ?? 0))
  return { children, onHeadPath, weightOf }
}

const isRemark = (entry: Entry, { children }: TreeShape): boolean =>
  kindOf(entry) === 'ConversationStateUpdateEvent' && !children.has(entry)
