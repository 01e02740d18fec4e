/** What the timeline is narrowed with: words to look for, and kinds to leave out. */

import { type ComponentChild, h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { type Filter, kindCounts } from '../model/search.ts'
import { safe } from '../glimpse.ts'
import { shown } from './parts.ts'
import { lengthOf, type Session } from './session.ts'

type Input = { readonly currentTarget: HTMLInputElement }

export interface LogToolsProps {
  readonly session: Session
  readonly filter: Filter
  readonly setFilter: (filter: Filter) => void
  /** How many events are shown. */
  readonly count: number
}

/** The search field and the list of kinds. */
export function LogTools({ session, filter, setFilter, count }: LogToolsProps): ComponentChild {
  const [open, setOpen] = useState(false)
  const kinds = useMemo(() => (open ? kindCounts(session.replayed) : []), [session, open])
  const toggle = (kind: string): void => {
    const hidden = new Set(filter.hidden)
    if (!hidden.delete(kind)) hidden.add(kind)
    setFilter({ ...filter, hidden })
  }
  const isNarrow = filter.hidden.size > 0
  return h(
    'div',
    { class: 'log-tools', role: 'search' },
    h('input', {
      type: 'search',
      id: 'search',
      placeholder: 'Search events (/)',
      'aria-label': 'Search events',
      value: filter.text,
      onInput: (event: Input) => setFilter({ ...filter, text: event.currentTarget.value }),
    }),
    h(
      'details',
      {
        class: 'menu',
        onToggle: (event: { readonly currentTarget: HTMLDetailsElement }) =>
          setOpen(event.currentTarget.open),
      },
      h('summary', null, isNarrow ? `Kinds −${filter.hidden.size}` : 'Kinds'),
      h(
        'div',
        null,
        kinds.map(([kind, many]) =>
          h(
            'label',
            { key: kind },
            h('input', { type: 'checkbox', checked: !filter.hidden.has(kind), onChange: () => toggle(kind) }),
            safe(kind),
            h('span', { class: 'count' }, shown(many)),
          ),
        ),
        isNarrow &&
          h(
            'button',
            { type: 'button', onClick: () => setFilter({ ...filter, hidden: new Set() }) },
            'Show all kinds',
          ),
      ),
    ),
    h(
      'span',
      { class: 'quiet mono', role: 'status', style: { alignSelf: 'center' } },
      count === lengthOf(session) ? '' : `${shown(count)} found`,
    ),
  )
}
