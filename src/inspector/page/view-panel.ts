/** The view at the place of the reader: its units, where it may be cut, what was condensed, and what waits. */

import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import { listDroppedResults, listPendingCalls } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { unitEvents } from '../../view/unit.ts'
import type { Event } from '../../event/types.ts'
import { counted } from '../glimpse.ts'
import type { Reading } from '../model/reading.ts'
import { tokensOfUnit, totalOf } from '../model/tokens.ts'
import { takenOut, type UnitRow, unitRows } from '../model/units.ts'
import { EventLink, EventLinks, inWords, Role, Said, Section, shown } from './parts.ts'
import type { Reader } from './session.ts'
import { findEvent } from '../../state/read.ts'

/** How many units are shown at first, and how many more each time. */
const UNITS = 60

/** The view of a state, its end in sight. */
export function ViewPanel({
  reader,
  state,
  reading,
  budgetCut,
}: {
  reader: Reader
  state: State
  /** What was read off it; null while it is not known. */
  reading: Reading | null
  budgetCut: number
}): ComponentChild {
  const [more, setMore] = useState(0)
  const { view } = state.branch
  const from = Math.max(0, view.units.length - UNITS * (more + 1))
  const rows = unitRows(view, from, reading?.starts ?? null)
  const picked = state.log.entries.get(reader.place - 1)?.id ?? null
  return h(
    'div',
    null,
    from > 0 &&
      h(
        'p',
        { class: 'form' },
        h(
          'button',
          { type: 'button', onClick: () => setMore(more + 1) },
          `Show ${Math.min(UNITS, from)} more`,
        ),
        h('span', { class: 'quiet' }, `${counted(from, 'unit')} above`),
      ),
    rows.length === 0 && h('p', { class: 'quiet' }, 'Nothing is in the view: no model would be asked.'),
    rows.map((row) => [
      row.isCut &&
        row.index > 0 &&
        h('div', { class: 'cut', key: `cut-${row.index}`, title: `may be cut at ${row.at}` }, '✂'),
      budgetCut > 0 &&
        row.at === budgetCut &&
        !row.isPending &&
        h('div', { class: 'line', key: 'budget' }, 'the budget leaves out what stands above'),
      h(UnitBox, {
        key: `${row.unit.rank}/${row.unit.first}/${row.unit.type}`,
        row,
        reader,
        picked,
        isOver: row.at < budgetCut,
      }),
    ]),
    rows.length > 0 &&
      h(
        'p',
        { class: 'quiet' },
        `${counted(view.length, 'event')} in the view; ✂ marks where it may be cut.`,
      ),
    view.unhandledCondensationRequest && h('p', { class: 'note warning' }, 'A condensation is asked for.'),
    h(Pending, { reader, state }),
    h(Dropped, { reader, state }),
  )
}

interface UnitProps {
  readonly row: UnitRow
  readonly reader: Reader
  readonly picked: string | null
  readonly isOver: boolean
}

function UnitBox({ row, reader, picked, isOver }: UnitProps): ComponentChild {
  const { unit, at, isPending, summaryOf } = row
  const items = [...unitEvents(unit)]
  const has = items.some(({ id }) => id === picked)
  const tokens = totalOf(tokensOfUnit(unit))
  return h(
    'div',
    {
      class: `unit ${unit.type}${isPending ? ' pending' : ''}${has ? ' picked' : ''}${isOver ? ' over' : ''}`,
    },
    h('span', { class: 'at' }, isPending ? '…' : String(at)),
    h(
      'div',
      { class: 'body' },
      items.map((item, index) => {
        const words = inWords(item.event)
        return h(
          'div',
          { class: 'item', key: item.id },
          h(Role, { words }),
          h('span', { class: 'words' }, h(Said, { words })),
          index === 0 && tokens > 0 && h('span', { class: 'tok', title: 'estimated tokens' }, shown(tokens)),
          h(EventLink, { reader, event: summaryOf ?? item.id, text: '↗' }),
        )
      }),
      isPending && h('p', { class: 'tone-warn' }, 'out of the view until its results are there'),
      summaryOf !== null && h(Condensed, { reader, id: summaryOf }),
    ),
  )
}

/** What a summary stands for. */
function Condensed({ reader, id }: { reader: Reader; id: string }): ComponentChild {
  const [open, setOpen] = useState(false)
  const last = reader.session.replayed.states.at(-1)
  const entry = last === undefined ? undefined : findEvent(last, id)
  if (entry === undefined) return null
  const taken = open ? takenOut(entry) : []
  const items = taken.flatMap((unit) => [...unitEvents(unit)])
  const event = entry.event as Extract<Event, { kind: 'Condensation' }> | null
  return h(
    'details',
    {
      onToggle: (toggled: { readonly currentTarget: HTMLDetailsElement }) =>
        setOpen(toggled.currentTarget.open),
    },
    h(
      'summary',
      { class: 'quiet' },
      `stands for ${counted(event?.forgotten_event_ids?.length ?? 0, 'event')} that were condensed`,
    ),
    items.slice(0, 200).map((item) => {
      const words = inWords(item.event)
      return h(
        'div',
        { class: 'item quiet', key: item.id },
        h(Role, { words }),
        h('span', { class: 'words' }, h(Said, { words })),
        h(EventLink, { reader, event: item.id, text: '↗' }),
      )
    }),
    items.length > 200 && h('p', { class: 'quiet' }, `and ${items.length - 200} more`),
  )
}

function Pending({ reader, state }: { reader: Reader; state: State }): ComponentChild {
  const calls = listPendingCalls(state)
  if (calls.length === 0) return null
  return h(
    Section,
    { title: `${counted(calls.length, 'pending call')}` },
    h('p', null, h(EventLinks, { reader, ids: calls.map(({ entry }) => entry.id), most: 20 })),
  )
}

function Dropped({ reader, state }: { reader: Reader; state: State }): ComponentChild {
  const dropped = listDroppedResults(state)
  if (dropped.length === 0) return null
  return h(
    Section,
    { title: `${counted(dropped.length, 'result')} left out of the view` },
    h(
      'ul',
      null,
      dropped
        .slice(-20)
        .map(({ id, reason }) =>
          h(
            'li',
            { key: id },
            h(EventLink, { reader, event: id }),
            reason === 'duplicate_result' ? ': its call has one already' : ': it ends no call of the view',
          ),
        ),
    ),
  )
}
