/** The timeline of a log. Renders only the visible rows. */

import { Component, type ComponentChild, createRef } from 'preact'
import type { Entry } from '../../log/entry.ts'
import { type Lanes, NO_COLUMN } from '../model/lanes.ts'
import { captionOf, describe, differ, digits, Fold, roleOf } from './parts.tsx'
import { lengthOf, type Reader, type Session } from './session.ts'
import { firstIndex } from '../../event/json.ts'
import { kindCounts, type SearchFilter } from '../model/search.ts'
import { safe } from '../glimpse.ts'

/** Height of a row in pixels, as in the style sheet. */
const ROW = 24
const MARGIN = 8
const COLUMN = 11

interface TimelineProps {
  readonly reader: Reader
  readonly matches: readonly number[] | null
  /** 1 for each event that is in the view at `reader.position`; null until computed. */
  readonly inView: Uint8Array | null
  readonly flags: ReadonlyMap<number, string>
}

interface Scroll {
  readonly top: number
  readonly height: number
  readonly position: number
  readonly matches: readonly number[] | null
}

export class Timeline extends Component<TimelineProps, Scroll> {
  override state: Scroll = { top: 0, height: 600, position: -1, matches: null }
  readonly #box = createRef<HTMLDivElement>()
  #watch: ResizeObserver | null = null
  #at = 0

  /** Scrolls before rows are rendered, so that moving to another event renders the rows only once. */
  static override getDerivedStateFromProps(next: TimelineProps, scroll: Scroll): Scroll {
    return scroll.position === next.reader.position && scroll.matches === next.matches
      ? scroll
      : scrolled(next, scroll)
  }

  override componentDidMount(): void {
    const box = this.#box.current
    if (box === null) return
    this.setState(scrolled(this.props, { ...this.state, height: box.clientHeight }))
    this.#watch = new ResizeObserver(() => {
      if (box.clientHeight !== this.state.height) this.setState({ height: box.clientHeight })
    })
    this.#watch.observe(box)
  }

  override componentWillUnmount(): void {
    this.#watch?.disconnect()
  }

  override componentDidUpdate(): void {
    const box = this.#box.current
    const { top } = this.state
    if (box === null || top === this.#at) return
    this.#at = top
    box.scrollTop = top
  }

  readonly #scrolled = (): void => {
    this.#at = this.#box.current?.scrollTop ?? 0
    if (Math.abs(this.#at - this.state.top) >= 1) this.setState({ top: this.#at })
  }

  override render(
    { reader, matches: result, inView, flags }: TimelineProps,
    { top, height }: Scroll,
  ): ComponentChild {
    const count = result === null ? lengthOf(reader.session) : result.length
    const first = Math.max(0, Math.floor(top / ROW) - MARGIN)
    const end = Math.min(count, Math.ceil((top + height) / ROW) + MARGIN)
    const last = reader.session.replayed.states.at(-1)
    const rows: ComponentChild[] = []
    const picked = selectedRow(this.props)
    // While the selected row is rendered, CSS alone styles the rows after it as later.
    const isMarked = picked >= first && picked < end
    for (let index = first; index < end; index += 1) {
      const seq = result === null ? index : (result[index] ?? 0)
      const entry = last?.log.entries.get(seq)
      if (entry === undefined) continue
      const isLater = seq >= reader.position
      const isGone = !isLater && inView !== null && inView[seq] !== 1
      rows.push(
        <TimelineRow
          key={index % (end - first + 1)}
          entry={entry}
          index={index}
          count={count}
          lanes={result === null ? reader.session.lanes : null}
          picked={index === picked}
          look={isLater ? (isMarked ? '' : ' later') : isGone ? ' gone' : ''}
          flag={flags.get(seq) ?? ''}
          go={reader.go}
        />,
      )
    }
    return (
      <div
        class="rows"
        ref={this.#box}
        role="listbox"
        tabIndex={0}
        aria-label="Events of the log"
        aria-activedescendant={picked >= 0 ? 'picked' : undefined}
        onScroll={this.#scrolled}
      >
        <div role="presentation" style={{ height: `${count * ROW}px` }}>
          {rows}
        </div>
      </div>
    )
  }
}

interface RowProps {
  readonly entry: Entry
  readonly index: number
  readonly count: number
  readonly lanes: Session['lanes'] | null
  readonly picked: boolean
  readonly look: string
  readonly flag: string
  readonly go: (position: number) => void
}

/** Returns a scroll offset at which the selected row is visible, without reading the layout. */
function scrolled(props: TimelineProps, { top, height }: Scroll): Scroll {
  const { reader, matches: result } = props
  const count = result === null ? lengthOf(reader.session) : result.length
  const y = selectedRow(props) * ROW
  // Scroll some rows further than needed, so that the next steps need no scrolling.
  const ahead = Math.floor(height / 3 / ROW) * ROW
  const to = y < 0 ? top : y < top ? y - ahead : y + ROW > top + height ? y + ROW - height + ahead : top
  return {
    top: Math.max(0, Math.min(to, count * ROW - height)),
    height,
    position: reader.position,
    matches: result,
  }
}

function selectedRow({ reader, matches: result }: TimelineProps): number {
  const seq = reader.position - 1
  if (result === null) return seq
  const index = firstIndex(0, result.length, (at) => (result[at] ?? 0) >= seq)
  return result[index] === seq ? index : -1
}

/** A row of the timeline. Its content is created again only if its entry, lanes or flag change. */
class TimelineRow extends Component<RowProps> {
  #holds: readonly ComponentChild[] = []
  #of: RowProps | null = null

  override shouldComponentUpdate(next: RowProps): boolean {
    return differ(next, this.props, ['entry', 'index', 'count', 'lanes', 'picked', 'look', 'flag'])
  }

  override render(props: RowProps): ComponentChild {
    const { entry, index, count, picked, look, go } = props
    const last = this.#of
    if (last === null || differ(last, props, ['entry', 'lanes', 'flag'])) this.#holds = insideOf(props)
    this.#of = props
    return (
      <div
        class={`row${look}`}
        id={picked ? 'picked' : undefined}
        role="option"
        aria-selected={picked ? 'true' : 'false'}
        aria-setsize={count}
        aria-posinset={index + 1}
        style={`transform:translateY(${index * ROW}px)`}
        onClick={() => go(entry.seq + 1)}
      >
        {this.#holds}
      </div>
    )
  }
}

function insideOf({ entry, lanes, flag }: RowProps): readonly ComponentChild[] {
  const described = describe(entry)
  return [
    <span class="seq quiet">{String(entry.seq + 1)}</span>,
    lanes !== null && laneOf(lanes.tree, entry.seq, entry.canBeHead),
    lanes !== null && lanes.calls !== null && laneOf(lanes.calls, entry.seq, true, 'calls'),
    roleOf(described),
    captionOf(described),
    flag !== '' && (
      <span class={`flag sev sev-${flag}`} title="see the tab Why">
        !
      </span>
    ),
  ]
}

function laneOf(lanes: Lanes, seq: number, isReal: boolean, look = ''): ComponentChild {
  const columns = lanes.width
  const x = (column: number): number => column * COLUMN + 7
  const above = seq === 0 ? 0 : (lanes.through[seq - 1] ?? 0)
  const below = lanes.through[seq] ?? 0
  const ownValue = lanes.column[seq] ?? NO_COLUMN
  const forks = lanes.forks.get(seq) ?? []
  const lines: ComponentChild[] = []
  const middle = ROW / 2
  for (let column = 0; column < columns; column += 1) {
    const bit = 1 << column
    const from = (above & bit) === 0 ? middle : 0
    const to = (below & bit) === 0 ? middle : ROW
    if (from < to && !(forks.includes(column) && from === middle))
      lines.push(<path class={`lane c${column % 5}`} d={`M${x(column)} ${from}V${to}`} />)
  }
  for (const column of forks)
    if (ownValue !== NO_COLUMN && column !== ownValue)
      lines.push(
        <path
          class={`lane c${column % 5}`}
          d={`M${x(ownValue)} ${middle}Q${x(column)} ${middle} ${x(column)} ${ROW}`}
        />,
      )
  return (
    <svg class={look} width={columns * COLUMN + 4} height={ROW} aria-hidden="true">
      {lines}
      {ownValue !== NO_COLUMN && (
        <circle class={`dot c${ownValue % 5}`} cx={x(ownValue)} cy={middle} r={isReal ? 3.5 : 1.5} />
      )}
    </svg>
  )
}

interface LogToolsProps {
  readonly session: Session
  readonly filter: SearchFilter
  readonly setFilter: (filter: SearchFilter) => void
  readonly count: number
}

export function LogTools({ session, filter, setFilter, count }: LogToolsProps): ComponentChild {
  const toggle = (kind: string): void => {
    const hidden = new Set(filter.hidden)
    if (!hidden.delete(kind)) hidden.add(kind)
    setFilter({ ...filter, hidden })
  }
  const isNarrow = filter.hidden.size > 0
  return (
    <div class="log-tools" role="search">
      <input
        type="search"
        id="search"
        placeholder="Search events (/)"
        aria-label="Search events"
        value={filter.text}
        onInput={(event) => setFilter({ ...filter, text: event.currentTarget.value })}
      />
      <Fold class="menu" summary={<summary>{isNarrow ? `Kinds −${filter.hidden.size}` : 'Kinds'}</summary>}>
        {() => (
          <div>
            {kindCounts(session.replayed).map(([kind, count]) => (
              <label key={kind}>
                <input type="checkbox" checked={!filter.hidden.has(kind)} onChange={() => toggle(kind)} />
                {safe(kind)}
                <span class="count quiet">{digits(count)}</span>
              </label>
            ))}
            {isNarrow && (
              <button type="button" onClick={() => setFilter({ ...filter, hidden: new Set() })}>
                Show all kinds
              </button>
            )}
          </div>
        )}
      </Fold>
      <span class="quiet mono" role="status" style={{ alignSelf: 'center' }}>
        {count === lengthOf(session) ? '' : `${digits(count)} found`}
      </span>
    </div>
  )
}
