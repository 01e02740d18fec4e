/** The view at the place of the reader: its units, where it may be cut, what was condensed, and what waits. */

import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import { listDroppedResults, listPendingCalls } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { counted } from '../glimpse.ts'
import type { Reading } from '../model/reading.ts'
import { unitRows } from '../model/units.ts'
import { EventLink, EventLinks, Section } from './parts.ts'
import type { Reader } from './session.ts'
import { holds, UnitBox } from './unit-box.ts'

/** How many units are shown at first, and how many more each time. */
const UNITS = 40

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
  const most = UNITS * (more + 1)
  const from = Math.max(0, view.units.length - most)
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
    h(
      'div',
      null,
      rows.map((row) =>
        h(UnitBox, {
          // As many boxes as are shown, which go from unit to unit: an element that is taken out of a page stays in
          // memory until all of it is looked through.
          key: row.index % most,
          row,
          reader,
          isPicked: picked !== null && holds(row, picked),
          isOver: row.at < budgetCut,
          isLine: budgetCut > 0 && row.at === budgetCut && !row.isPending,
        }),
      ),
    ),
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
