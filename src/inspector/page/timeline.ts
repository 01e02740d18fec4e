/** The log as a list with its tree beside it; only the rows in sight are made. */

import { Component, createRef, h, type ComponentChild } from 'preact'
import type { Entry } from '../../log/entry.ts'
import { type Lanes, NO_COLUMN } from '../model/lanes.ts'
import { inWords, Role, Said } from './parts.ts'
import { lengthOf, type Reader } from './session.ts'

/** The height of a row, in pixels; the style sheet says the same. */
const ROW = 24
/** How many rows are made beyond those in sight. */
const MARGIN = 8
const COLUMN = 11

export interface TimelineProps {
  readonly reader: Reader
  /** The positions that are shown, ascending; null for all. */
  readonly found: readonly number[] | null
  /** 1 for each position that is in the view at the place, once it is known. */
  readonly inView: Uint8Array | null
  /** Positions of which something is to be said, and how bad it is. */
  readonly flags: ReadonlyMap<number, string>
}

interface Scroll {
  readonly top: number
  readonly height: number
}

/** The timeline: a list box whose selected row is the place of the reader. */
export class Timeline extends Component<TimelineProps, Scroll> {
  override state: Scroll = { top: 0, height: 600 }
  readonly #box = createRef<HTMLDivElement>()
  #watch: ResizeObserver | null = null

  override componentDidMount(): void {
    const box = this.#box.current
    if (box === null) return
    this.#watch = new ResizeObserver(() => this.#measure())
    this.#watch.observe(box)
    this.#measure()
    this.#show()
  }

  override componentWillUnmount(): void {
    this.#watch?.disconnect()
  }

  override componentDidUpdate(before: TimelineProps): void {
    const { reader, found } = this.props
    if (before.reader.place !== reader.place || before.found !== found) this.#show()
  }

  #measure(): void {
    const box = this.#box.current
    if (box !== null && box.clientHeight !== this.state.height)
      this.setState({ top: this.state.top, height: box.clientHeight })
  }

  /** Scrolls just so far that the row of the place is in sight. Reads no layout: the box tells when it was scrolled. */
  #show(): void {
    const box = this.#box.current
    const row = this.#rowOfPlace()
    if (box === null || row < 0) return
    const { top, height } = this.state
    const y = row * ROW
    // Some rows further than needed, so that the next steps need no scrolling.
    const ahead = Math.floor(height / 3 / ROW) * ROW
    const to = Math.max(0, y < top ? y - ahead : y + ROW > top + height ? y + ROW - height + ahead : top)
    if (to === top) return
    box.scrollTop = to
    this.setState({ top: to, height })
  }

  #rowOfPlace(): number {
    const { reader, found } = this.props
    const seq = reader.place - 1
    if (found === null) return seq
    let low = 0
    for (let high = found.length; low < high;) {
      const middle = (low + high) >>> 1
      if ((found[middle] ?? 0) < seq) low = middle + 1
      else high = middle
    }
    return found[low] === seq ? low : -1
  }

  readonly #scrolled = (): void => {
    const top = this.#box.current?.scrollTop ?? 0
    if (Math.abs(top - this.state.top) >= 1) this.setState({ top, height: this.state.height })
  }

  override render({ reader, found, inView, flags }: TimelineProps, { top, height }: Scroll): ComponentChild {
    const count = found === null ? lengthOf(reader.session) : found.length
    const first = Math.max(0, Math.floor(top / ROW) - MARGIN)
    const end = Math.min(count, Math.ceil((top + height) / ROW) + MARGIN)
    const last = reader.session.replayed.states.at(-1)
    const rows: ComponentChild[] = []
    for (let at = first; at < end; at += 1) {
      const seq = found === null ? at : (found[at] ?? 0)
      const entry = last?.log.entries.get(seq)
      if (entry === undefined) continue
      const isLater = seq >= reader.place
      const isGone = !isLater && inView !== null && inView[seq] !== 1
      rows.push(
        h(Row, {
          key: at % (end - first + 1),
          entry,
          at,
          count,
          lanes: found === null ? reader.session.lanes : null,
          columns: reader.session.lanes.width,
          picked: seq === reader.place - 1,
          look: isLater ? ' later' : isGone ? ' gone' : '',
          flag: flags.get(seq) ?? '',
          go: reader.go,
        }),
      )
    }
    return h(
      'div',
      {
        class: 'rows',
        ref: this.#box,
        role: 'listbox',
        tabIndex: 0,
        'aria-label': 'Events of the log',
        'aria-activedescendant': this.#rowOfPlace() >= 0 ? 'picked' : undefined,
        onScroll: this.#scrolled,
      },
      h('div', { role: 'presentation', style: { height: `${count * ROW}px` } }, rows),
    )
  }
}

interface RowProps {
  readonly entry: Entry
  readonly at: number
  readonly count: number
  readonly lanes: Lanes | null
  readonly columns: number
  readonly picked: boolean
  readonly look: string
  readonly flag: string
  readonly go: (place: number) => void
}

/** One row, which is made again only when something of it changes. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const now = this.props
    return (
      next.entry !== now.entry ||
      next.at !== now.at ||
      next.count !== now.count ||
      next.lanes !== now.lanes ||
      next.picked !== now.picked ||
      next.look !== now.look ||
      next.flag !== now.flag
    )
  }

  override render({ entry, at, count, lanes, columns, picked, look, flag, go }: RowProps): ComponentChild {
    const words = inWords(entry)
    return h(
      'div',
      {
        class: `row${look}`,
        id: picked ? 'picked' : undefined,
        role: 'option',
        'aria-selected': picked ? 'true' : 'false',
        'aria-setsize': count,
        'aria-posinset': at + 1,
        style: { transform: `translateY(${at * ROW}px)` },
        onClick: () => go(entry.seq + 1),
      },
      h('span', { class: 'seq' }, String(entry.seq + 1)),
      lanes !== null && laneOf(lanes, entry.seq, columns, entry.canBeHead, picked),
      h(Role, { words }),
      h(Said, { words }),
      flag !== '' &&
        h(
          'span',
          { class: `flag sev sev-${flag}`, title: 'see Why' },
          flag === 'error' ? '!' : flag === 'warning' ? '!' : '·',
        ),
    )
  }
}

/** The tree at a row: the lines that run through it, those that begin here, and the entry's own dot. */
function laneOf(
  lanes: Lanes,
  seq: number,
  columns: number,
  isReal: boolean,
  picked: boolean,
): ComponentChild {
  const x = (column: number): number => column * COLUMN + 7
  const above = seq === 0 ? 0 : (lanes.through[seq - 1] ?? 0)
  const below = lanes.through[seq] ?? 0
  const own = lanes.column[seq] ?? NO_COLUMN
  const forks = lanes.forks.get(seq) ?? []
  const lines: ComponentChild[] = []
  const middle = ROW / 2
  for (let column = 0; column < columns; column += 1) {
    const bit = 1 << column
    const from = (above & bit) === 0 ? middle : 0
    const to = (below & bit) === 0 ? middle : ROW
    if (from < to && !(forks.includes(column) && from === middle))
      lines.push(h('path', { class: `lane c${column % 5}`, d: `M${x(column)} ${from}V${to}` }))
  }
  for (const column of forks)
    if (own !== NO_COLUMN && column !== own)
      lines.push(
        h('path', {
          class: `lane c${column % 5}`,
          d: `M${x(own)} ${middle}Q${x(column)} ${middle} ${x(column)} ${ROW}`,
        }),
      )
  return h(
    'svg',
    { width: columns * COLUMN + 4, height: ROW, 'aria-hidden': 'true' },
    lines,
    own !== NO_COLUMN &&
      h('circle', {
        class: `dot c${own % 5}${picked ? ' on' : ''}`,
        cx: x(own),
        cy: middle,
        r: isReal ? 3.5 : 1.5,
      }),
  )
}
