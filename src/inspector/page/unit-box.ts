/** A unit of the view: its calls and results, with the mark before it where the view may be cut. */

import { Component, type ComponentChild, h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { eventsIn, unitsTakenOut } from '../../explain/taken-out.ts'
import { findEventIn } from '../../log/log.ts'
import { unitEvents } from '../../view/unit.ts'
import { counted } from '../glimpse.ts'
import { tokensOfUnit, totalOf } from '../model/tokens.ts'
import type { UnitRow } from '../model/units.ts'
import { EventLink, inWords, roleOf, saidOf, shown } from './parts.ts'
import type { Reader } from './session.ts'

export interface UnitProps {
  readonly row: UnitRow
  readonly reader: Reader
  /** Whether it holds the event at the place. */
  readonly isPicked: boolean
  /** Whether the budget leaves it out. */
  readonly isOver: boolean
  /** Whether the budget cuts right before it. */
  readonly isLine: boolean
}

/** Whether a unit holds an event. */
export function holds({ unit }: UnitRow, id: string): boolean {
  for (const item of unitEvents(unit)) if (item.id === id) return true
  return false
}

/** One unit, which is made again only when something of it changes. */
export class UnitBox extends Component<UnitProps> {
  override shouldComponentUpdate(next: UnitProps): boolean {
    const now = this.props
    return (
      next.row.unit !== now.row.unit ||
      next.row.at !== now.row.at ||
      next.row.isCut !== now.row.isCut ||
      next.isPicked !== now.isPicked ||
      next.isOver !== now.isOver ||
      next.isLine !== now.isLine
    )
  }

  override render({ row, reader, isPicked, isOver, isLine }: UnitProps): ComponentChild {
    const { unit, at, index, isCut, isPending, summaryOf } = row
    const tokens = totalOf(tokensOfUnit(unit))
    const look = `${isPending ? ' pending' : ''}${isPicked ? ' picked' : ''}${isOver ? ' over' : ''}`
    return [
      isCut && index > 0 && h('div', { class: 'cut', title: `may be cut at ${at}` }, '✂'),
      isLine && h('div', { class: 'line' }, 'the budget leaves out what stands above'),
      h(
        'div',
        { class: `unit ${unit.type}${look}` },
        h('span', { class: 'at' }, isPending ? '…' : String(at)),
        h(
          'div',
          { class: 'body' },
          Array.from(unitEvents(unit), (item, no) => {
            const words = inWords(item.event)
            return h(
              'div',
              { class: 'item' },
              roleOf(words),
              h('span', { class: 'words' }, saidOf(words)),
              no === 0 && tokens > 0 && h('span', { class: 'tok', title: 'estimated tokens' }, shown(tokens)),
              EventLink({ reader, event: summaryOf ?? item.id, text: '↗' }),
            )
          }),
          isPending && h('p', { class: 'tone-warn' }, 'out of the view until its results are there'),
          summaryOf !== null && h(Condensed, { key: summaryOf, reader, id: summaryOf }),
        ),
      ),
    ]
  }
}

/** What a summary stands for. */
function Condensed({ reader, id }: { reader: Reader; id: string }): ComponentChild {
  const [open, setOpen] = useState(false)
  const last = reader.session.replayed.states.at(-1)
  const entry = last === undefined ? undefined : findEventIn(last.log, id)
  const taken = useMemo(() => (entry === undefined ? [] : unitsTakenOut(entry)), [entry])
  if (entry === undefined) return null
  const items = open ? taken.flatMap((unit) => [...unitEvents(unit)]) : []
  return h(
    'details',
    {
      onToggle: (toggled: { readonly currentTarget: HTMLDetailsElement }) =>
        setOpen(toggled.currentTarget.open),
    },
    h(
      'summary',
      { class: 'quiet' },
      `stands for ${counted(eventsIn(taken), 'event')} of the view that ${eventsIn(taken) === 1 ? 'was' : 'were'} condensed`,
    ),
    items.slice(0, 200).map((item) => {
      const words = inWords(item.event)
      return h(
        'div',
        { class: 'item quiet', key: item.id },
        roleOf(words),
        h('span', { class: 'words' }, saidOf(words)),
        h(EventLink, { reader, event: item.id, text: '↗' }),
      )
    }),
    items.length > 200 && h('p', { class: 'quiet' }, `and ${items.length - 200} more`),
  )
}
