import { anchorOf } from '../../log/entry.ts'
import type { State } from '../../state/state.ts'
import { workSpans } from './calls.ts'

export interface Lanes {
  /** The column of each position's dot; 255 for an entry without a dot, such as one outside the tree. */
  readonly column: Uint8Array
  /** For each position, a bit for each column whose line continues in the next row. */
  readonly through: Uint32Array
  readonly forks: ReadonlyMap<number, readonly number[]>
  readonly width: number
}

interface Chain {
  readonly from: number
  first: number
  to: number
  column: number
}

/** Maximum number of columns. Further branches are drawn over each other in the last column. */
const MAX_COLUMNS = 10
const MAX_CALL_COLUMNS = 4

export const NO_COLUMN = 255

/**
 * Returns the lanes of a tree. State updates and the first other child stay in their parent's column. Every
 * further child, and every root, starts a line in the first free column.
 */
export function lanesOf({ log }: State): Lanes {
  const count = log.entries.length
  const chainOf = Array.from<Chain | undefined>({ length: count })
  const chains: Chain[] = []
  const hasChild = new Uint8Array(count)
  for (const entry of log.entries) {
    if (!entry.inTree) continue
    const above = anchorOf(entry.parent)
    const chain = above === null ? undefined : chainOf[above.seq]
    if (!entry.canBeHead && chain !== undefined) {
      chainOf[entry.seq] = chain
      chain.to = Math.max(chain.to, entry.seq)
    } else if (above !== null && chain !== undefined && hasChild[above.seq] === 0) {
      hasChild[above.seq] = 1
      chainOf[entry.seq] = chain
      chain.to = entry.seq
    } else {
      const begun: Chain = { from: above?.seq ?? entry.seq, first: entry.seq, to: entry.seq, column: 0 }
      chains.push(begun)
      chainOf[entry.seq] = begun
    }
  }
  return drawn(count, chains, chainOf, placeChains(chains, MAX_COLUMNS))
}

/** Returns lanes for background calls: a line leads from the first result to the completion or the log's end. */
export function callLanesOf(state: State): Lanes | null {
  const spans = workSpans(state)
  if (spans.length === 0) return null
  const count = state.log.entries.length
  const chainOf = Array.from<Chain | undefined>({ length: count })
  const chains = spans.map(({ result, end }) => {
    const chain = { from: result.seq, first: result.seq, to: end?.seq ?? count, column: 0 }
    chainOf[result.seq] = chain
    if (end !== null) chainOf[end.seq] = chain
    return chain
  })
  return drawn(count, chains, chainOf, placeChains(chains, MAX_CALL_COLUMNS))
}

function placeChains(chains: Chain[], maximum: number): number {
  const ends: number[] = []
  for (const chain of chains.toSorted((a, b) => a.from - b.from || a.first - b.first)) {
    const free = ends.findIndex((end) => end < chain.from)
    chain.column = Math.min(free < 0 ? ends.length : free, maximum - 1)
    ends[chain.column] = Math.max(ends[chain.column] ?? -1, chain.to)
  }
  return Math.max(1, ends.length)
}

function drawn(
  count: number,
  chains: readonly Chain[],
  chainOf: readonly (Chain | undefined)[],
  width: number,
): Lanes {
  const column = new Uint8Array(count).fill(NO_COLUMN)
  const through = new Uint32Array(count)
  const forks = new Map<number, number[]>()
  for (const [seq, chain] of chainOf.entries()) if (chain !== undefined) column[seq] = chain.column
  // Each change of the number of open lines: position, difference, column.
  const changes: [number, number, number][] = []
  for (const chain of chains) {
    if (chain.from !== chain.first) forks.set(chain.from, [...(forks.get(chain.from) ?? []), chain.column])
    if (chain.to > chain.from) changes.push([chain.from, 1, chain.column], [chain.to, -1, chain.column])
  }
  changes.sort((a, b) => a[0] - b[0])
  const open = new Int32Array(width)
  let bits = 0
  let next = 0
  for (let seq = 0; seq < count; seq += 1) {
    for (; changes[next]?.[0] === seq; next += 1) {
      const [, by, index] = changes[next] as [number, number, number]
      open[index] = (open[index] ?? 0) + by
      bits = (open[index] ?? 0) > 0 ? bits | (1 << index) : bits & ~(1 << index)
    }
    through[seq] = bits
  }
  return { column, through, forks, width }
}
