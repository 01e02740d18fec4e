/** The page: a log that is open, the place of the reader in it, and what is shown of it there. */

import { type ComponentChild, h } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LogDocument, LogTitle } from '../log-document.ts'
import type { Filter } from '../model/search.ts'
import type { Form } from '../model/request.ts'
import { budgetLine } from '../model/budget-line.ts'
import { totalOf } from '../model/tokens.ts'
import { flagsOf } from '../model/why.ts'
import { named, rename } from './address.ts'
import { CostPanel } from './cost-panel.ts'
import { EventPanel } from './event-panel.ts'
import { LogTools } from './log-tools.ts'
import { Budget, Facts, Scrubber } from './place-bar.ts'
import { RequestPanel } from './request-panel.ts'
import { lengthOf, placeOf, type Reader, type Session, stateHere } from './session.ts'
import { useSettled } from './settled.ts'
import { Timeline } from './timeline.ts'
import { useFindings, useFound, useReading } from './later.ts'
import { ViewPanel } from './view-panel.ts'
import { WhatIfPanel } from './what-if-panel.ts'
import { FindingItem, WhyPanel } from './why-panel.ts'
import { counted, glimpse } from '../glimpse.ts'

const TABS = {
  view: 'View',
  sent: 'Sent',
  event: 'Event',
  why: 'Why',
  cost: 'Cost',
  'what-if': 'What if',
} as const

type Tab = keyof typeof TABS
const TAB_NAMES = Object.keys(TABS) as Tab[]

/** How many findings stand above the tabs. */
const FIRST_FOUND = 3

/** What a budget is at first: the window of many models. */
const BUDGET = 200_000

export interface AppProps {
  readonly session: Session
  /** Every log that can be chosen, which of them this one is, and what reads another. */
  readonly titles: readonly LogTitle[]
  readonly index: number
  readonly read: (index: number) => Promise<LogDocument>
  /** What stands above all: the choice of a log. */
  readonly head: ComponentChild
}

/** One log. */
export function App({ session, titles, index, read: readLog, head }: AppProps): ComponentChild {
  const [place, go] = usePlace(session)
  // The address is written anew at once.
  const [missing] = useState(() => (linkedPlace(session) === null ? named('event') : null))
  const [tab, setTab] = useState<Tab>('view')
  const [form, setForm] = useState<Form>('anthropic')
  const [budget, setBudget] = useState(BUDGET)
  const [filter, setFilter] = useState<Filter>({ text: '', hidden: new Set() })
  const goTo: Reader['goTo'] = useCallback(
    (event) => {
      const to = placeOf(session, event)
      if (to !== null) go(to)
    },
    [session, go],
  )
  const reader: Reader = { session, place, go, goTo }
  useKeys(reader, setTab)
  const state = stateHere(reader)
  const settled = useSettled(state)
  const read = useReading(state)
  const tokens = read?.tokens ?? null
  const line = useMemo(
    () => (read !== null && totalOf(read.tokens) > budget ? budgetLine(read, budget) : null),
    [read, budget],
  )
  const findings = useFindings(session)
  const flags = useMemo(() => flagsOf(findings ?? [], (id) => (placeOf(session, id) ?? 0) - 1), [findings])
  const found = useFound(session, filter)
  // What is dear to make is made where the reader rests, and not once more at each step.
  const resting = useMemo((): ComponentChild => {
    const rested: Reader = { session, place: settled.log.entries.length, go, goTo }
    switch (tab) {
      case 'view':
      case 'event':
        return null
      case 'sent':
        return h(RequestPanel, { reader: rested, state: settled, form, setForm, isReal: true })
      case 'why':
        return h(WhyPanel, { reader: rested, found: findings })
      case 'cost':
        return h(CostPanel, { reader: rested, titles, index, read: readLog })
      case 'what-if':
        return h(WhatIfPanel, { reader: rested, state: settled, form, setForm })
    }
  }, [session, settled, go, goTo, tab, form, findings, titles, index])
  const panel = (): ComponentChild => {
    if (tab === 'view') return h(ViewPanel, { reader, state, reading: read, budgetCut: line?.cut ?? 0 })
    return tab === 'event' ? h(EventPanel, { reader, isSettled: settled === state }) : resting
  }
  // What no step changes is not made at each of them.
  const count = found === null ? lengthOf(session) : found.length
  const tools = useMemo(() => h(LogTools, { session, filter, setFilter, count }), [session, filter, count])
  const sums = useMemo(() => h(Budget, { tokens, budget, setBudget, line }), [tokens, budget, line])
  const tabs = useMemo(
    () =>
      h(
        'div',
        { class: 'tabs', role: 'tablist', 'aria-label': 'What is shown of the place' },
        TAB_NAMES.map((name) =>
          h(
            'button',
            {
              key: name,
              type: 'button',
              role: 'tab',
              id: `tab-${name}`,
              'data-done': name === 'why' && findings !== null ? '' : undefined,
              'aria-selected': tab === name ? 'true' : 'false',
              'aria-controls': 'panel',
              tabIndex: tab === name ? 0 : -1,
              onClick: () => setTab(name),
              onKeyDown: (event: KeyboardEvent) => moveTab(event, name, setTab),
            },
            name === 'why' && findings !== null && findings.length > 0
              ? `Why (${findings.length})`
              : TABS[name],
          ),
        ),
      ),
    [tab, findings],
  )
  return h(
    'div',
    { class: 'app' },
    h('header', { class: 'bar' }, head),
    h(
      'nav',
      { class: 'log', 'aria-label': 'Log' },
      tools,
      h(Timeline, { reader, found, inView: read?.marks ?? null, flags }),
    ),
    h(
      'main',
      { class: 'place' },
      h(Scrubber, { reader }),
      missing !== null &&
        place === lengthOf(session) &&
        h(
          'p',
          { class: 'note warning', role: 'status' },
          `No event of this log is "${glimpse(missing)}", which the address names.`,
        ),
      h(Facts, { reader }),
      sums,
      h(First, { reader, findings, more: () => setTab('why') }),
      tabs,
      h(
        'div',
        {
          class: `panel${tab === 'view' ? ' stick' : ''}`,
          id: 'panel',
          role: 'tabpanel',
          'aria-labelledby': `tab-${tab}`,
          tabIndex: 0,
          key: tab,
        },
        panel(),
      ),
    ),
  )
}

/** The worst findings, on the first screen. */
function First({
  reader,
  findings,
  more,
}: {
  reader: Reader
  findings: ReturnType<typeof useFindings>
  more: () => void
}): ComponentChild {
  const worst = (findings ?? []).filter(({ severity }) => severity !== 'note').slice(0, FIRST_FOUND)
  if (worst.length === 0) return null
  const rest = (findings?.length ?? 0) - worst.length
  return h(
    'section',
    { class: 'found', 'aria-label': 'Findings' },
    h(
      'ul',
      null,
      worst.map((finding, at) => h(FindingItem, { key: at, reader, finding, rule: false })),
    ),
    rest > 0 &&
      h('button', { type: 'button', class: 'link', onClick: more }, `and ${counted(rest, 'more finding')}`),
  )
}

/** Arrow keys go from tab to tab, as screen readers expect. */
function moveTab(event: KeyboardEvent, from: Tab, setTab: (tab: Tab) => void): void {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (by === undefined) return
  event.preventDefault()
  const to = TAB_NAMES[(TAB_NAMES.indexOf(from) + by + TAB_NAMES.length) % TAB_NAMES.length] ?? from
  setTab(to)
  document.querySelector<HTMLElement>(`#tab-${to}`)?.focus()
}

/** The place in the address: of the event that a link names, else at the end. */
function usePlace(session: Session): [number, Reader['go']] {
  const count = lengthOf(session)
  const [place, set] = useState(() => linkedPlace(session) ?? count)
  // Known at once: keys come faster than the page is drawn.
  const latest = useRef(place)
  const go = useCallback(
    (to: number | ((from: number) => number)) => {
      const wanted = typeof to === 'number' ? to : to(latest.current)
      latest.current = Math.min(Math.max(wanted, 0), lengthOf(session))
      set(latest.current)
    },
    [session],
  )
  useEffect(() => {
    const read = (): void => {
      const linked = linkedPlace(session)
      if (linked !== null) go(linked)
    }
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [session])
  // Who looks at the end of a log that goes on stays at its end.
  const length = useRef(count)
  useEffect(() => {
    if (latest.current === length.current) go(count)
    length.current = count
  }, [session])
  const settled = useSettled(place)
  useEffect(() => {
    const entry = session.replayed.states.at(-1)?.log.entries.get(settled - 1)
    if (linkedPlace(session) === settled) return
    const id = entry?.id ?? null
    const isKnown = id !== null && placeOf(session, id) === settled
    rename({ event: isKnown ? id : null, at: isKnown || entry === undefined ? null : String(settled) })
  }, [settled, session])
  return [place, go]
}

function linkedPlace(session: Session): number | null {
  const [event, at] = [named('event'), named('at')]
  if (event !== null) return placeOf(session, event)
  return at !== null && /^\d{1,9}$/.test(at) ? placeOf(session, Number(at) - 1) : null
}

/** Keys that work wherever no text is being typed. */
function useKeys({ go, session }: Reader, setTab: (tab: Tab) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.altKey || event.ctrlKey || event.metaKey) return
      const at = event.target instanceof HTMLElement ? event.target : document.body
      if (event.key === 'Escape') return at.blur()
      if (at.matches('input:not([type=range]), select, textarea, [contenteditable]')) return
      const isList = at === document.body || at.matches('.rows')
      const step = STEPS[event.key]
      if (step !== undefined && (isList || event.key === 'j' || event.key === 'k')) {
        event.preventDefault()
        return go((place) => step(place, lengthOf(session)))
      }
      if (event.key === '/') {
        event.preventDefault()
        return document.querySelector<HTMLElement>('#search')?.focus()
      }
      const tab = TAB_NAMES[Number(event.key) - 1]
      if (tab !== undefined) setTab(tab)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [go, session])
}

const STEPS: Readonly<Record<string, (place: number, count: number) => number>> = {
  j: (place) => place + 1,
  k: (place) => place - 1,
  ArrowDown: (place) => place + 1,
  ArrowUp: (place) => place - 1,
  ArrowRight: (place) => place + 1,
  ArrowLeft: (place) => place - 1,
  PageDown: (place) => place + 20,
  PageUp: (place) => place - 20,
  Home: () => 0,
  End: (_, count) => count,
}
