import type { ComponentChild } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { counted } from '../../explain/explanation.ts'
import type { Finding } from '../../explain/index.ts'
import { pendingCallCount } from '../../log/open-calls.ts'
import type { State } from '../../state/state.ts'
import { STATUS_TONES } from '../describe.ts'
import { glimpse } from '../glimpse.ts'
import { findingsOf, flagsOf } from '../model/replayed.ts'
import type { Form } from '../model/request.ts'
import { type SearchFilter, isOpen, matching } from '../model/search.ts'
import type { BudgetLine, Reading, Tokens } from '../model/view-reading.ts'
import { budgetLine, NO_TOKENS, TOKEN_GROUPS, readAtOnce, reading, totalOf } from '../model/view-reading.ts'
import { CostPanel } from './cost-panel.tsx'
import { EventPanel, FindingItem, WhyPanel } from './event-panel.tsx'
import { EventLink, describe, digits } from './parts.tsx'
import { RequestPanel } from './request-panel.tsx'
import type { Family, Reader, Session } from './session.ts'
import { inTurns, lengthOf, named, positionIn, rename, stateHere } from './session.ts'
import { LogTools, Timeline } from './timeline.tsx'
import { CallsPanel, ViewPanel } from './view-panel.tsx'
import { WhatIfPanel } from './what-if-panel.tsx'

const AT_ONCE = 2000

/** Maximum time for which the page is blocked, in milliseconds. */
const TURN = 4

function useFindings({ replayed }: Session): readonly Finding[] | null {
  const [matches, set] = useState<readonly Finding[] | null>(() =>
    replayed.document.findings !== null || replayed.loaded.length <= AT_ONCE ? findingsOf(replayed) : null,
  )
  const [of, setOf] = useState(replayed)
  useEffect(() => {
    if (matches !== null && of === replayed) return undefined
    const look = (): void => {
      set(findingsOf(replayed))
      setOf(replayed)
    }
    // Wait until the page is drawn and idle, because the search cannot be interrupted.
    const timer = setTimeout(
      () => (typeof requestIdleCallback === 'function' ? requestIdleCallback(look) : look()),
      200,
    )
    return () => clearTimeout(timer)
  }, [replayed])
  return matches
}

function useFound({ replayed }: Session, filter: SearchFilter): readonly number[] | null {
  const [matches, set] = useState<readonly number[] | null>(null)
  useEffect(() => {
    if (isOpen(filter)) {
      set(null)
      return undefined
    }
    const after = filter.text === '' ? 0 : 120
    return inTurns(matching(replayed, filter), { after, turn: TURN }, ({ value }) => set(value.slice()))
  }, [replayed, filter])
  return matches
}

const QUICK = 400

function useReading(state: State): Reading | null {
  const isShort = state.branch.view.units.length <= QUICK
  const last = useRef<Reading | null>(null)
  const now = useMemo(() => (isShort ? readAtOnce(state) : null), [state, isShort])
  const [later, set] = useState<Reading | null>(null)
  useEffect(() => {
    if (isShort) return undefined
    return inTurns(reading(state, last.current), { after: REST, turn: TURN }, ({ done, value }) => {
      if (done === true) set((last.current = value))
    })
  }, [state, isShort])
  return isShort ? now : later?.state === state ? later : null
}

/** Milliseconds for which the reader's position must not change before expensive work starts. */
const REST = 150

/** Returns a value once it has not changed for a moment. The first value is returned at once. */
function useSettled<T>(value: T): T {
  const [settled, settle] = useState(value)
  useEffect(() => {
    if (Object.is(settled, value)) return undefined
    const timer = setTimeout(() => settle(() => value), REST)
    return () => clearTimeout(timer)
  }, [value, settled])
  return settled
}

const TABS = {
  view: 'View',
  sent: 'Sent',
  event: 'Event',
  why: 'Why',
  cost: 'Cost',
  'what-if': 'What if',
  calls: 'Calls',
} as const

type Tab = keyof typeof TABS
const TAB_NAMES = Object.keys(TABS) as Tab[]

const FIRST_FOUND = 3

const BUDGET = 200_000

interface AppProps {
  readonly session: Session
  readonly family: Family
  readonly head: ComponentChild
}

export function App({ session, family, head }: AppProps): ComponentChild {
  const [position, go] = usePlace(session)
  // Read the linked event only once, because the page rewrites its address.
  const [missing] = useState(() => (linkedPlace(session) === null ? named('event') : null))
  const [tab, setTab] = useState<Tab>('view')
  const [form, setForm] = useState<Form>('anthropic')
  const [budget, setBudget] = useState(BUDGET)
  const [filter, setFilter] = useState<SearchFilter>({ text: '', hidden: new Set() })
  const goTo: Reader['goTo'] = useCallback(
    (event) => {
      const to = positionIn(session, event)
      if (to !== null) go(to)
    },
    [session, go],
  )
  const reader: Reader = { session, family, position, go, goTo }
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
  const flags = useMemo(() => flagsOf(findings ?? [], (id) => (positionIn(session, id) ?? 0) - 1), [findings])
  const matches = useFound(session, filter)
  // Expensive panels are rendered when the reader rests, not at each step.
  const resting = useMemo((): ComponentChild => {
    const rested: Reader = { ...reader, position: settled.log.entries.length }
    switch (tab) {
      case 'view':
      case 'event':
        return null
      case 'sent':
        return <RequestPanel reader={rested} state={settled} form={form} setForm={setForm} isReal />
      case 'why':
        return <WhyPanel reader={rested} findings={findings} />
      case 'cost':
        return <CostPanel reader={rested} />
      case 'what-if':
        return <WhatIfPanel reader={rested} state={settled} form={form} setForm={setForm} />
      case 'calls':
        return <CallsPanel reader={rested} />
    }
  }, [session, settled, go, goTo, tab, form, findings, family.titles, family.index])
  const panel = (): ComponentChild => {
    if (tab === 'view')
      return <ViewPanel reader={reader} state={state} reading={read} budgetCut={line?.cut ?? 0} />
    return tab === 'event' ? <EventPanel reader={reader} isSettled={settled === state} /> : resting
  }
  // The toolbar is rendered again only when its inputs change, not at each step.
  const count = matches === null ? lengthOf(session) : matches.length
  const tools = useMemo(
    () => <LogTools session={session} filter={filter} setFilter={setFilter} count={count} />,
    [session, filter, count],
  )
  const sums = useMemo(
    () => <Budget tokens={tokens} budget={budget} setBudget={setBudget} line={line} />,
    [tokens, budget, line],
  )
  const tabs = useMemo(
    () => (
      <div class="tabs" role="tablist" aria-label="Panels of the position">
        {TAB_NAMES.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            data-done={name === 'why' && findings !== null ? '' : undefined}
            aria-selected={tab === name ? 'true' : 'false'}
            aria-controls="panel"
            tabIndex={tab === name ? 0 : -1}
            onClick={() => setTab(name)}
            onKeyDown={(event) => moveTab(event, name, setTab)}
          >
            {name === 'why' && findings !== null && findings.length > 0
              ? `Why (${findings.length})`
              : TABS[name]}
          </button>
        ))}
      </div>
    ),
    [tab, findings],
  )
  return (
    <div class="app">
      <header class="bar">{head}</header>
      <nav class="log" aria-label="Log">
        {tools}
        <Timeline reader={reader} matches={matches} inView={read?.marks ?? null} flags={flags} />
      </nav>
      <main class="place">
        <Scrubber reader={reader} />
        {missing !== null && position === lengthOf(session) && (
          <p class="note warning" role="status">
            The address names the event "{glimpse(missing)}", which is not in this log.
          </p>
        )}
        <Facts reader={reader} />
        {sums}
        <First reader={reader} findings={findings} more={() => setTab('why')} />
        {tabs}
        <div
          class={`panel${tab === 'view' ? ' stick' : ''}`}
          id="panel"
          role="tabpanel"
          aria-labelledby={`tab-${tab}`}
          tabIndex={0}
          key={tab}
        >
          {panel()}
        </div>
      </main>
    </div>
  )
}

interface FirstProps {
  readonly reader: Reader
  readonly findings: readonly Finding[] | null
  readonly more: () => void
}

function First({ reader, findings, more }: FirstProps): ComponentChild {
  const worst = (findings ?? []).filter(({ severity }) => severity !== 'note').slice(0, FIRST_FOUND)
  if (worst.length === 0) return null
  const rest = (findings?.length ?? 0) - worst.length
  return (
    <section class="found" aria-label="Findings">
      <ul>
        {worst.map((finding, index) => (
          <FindingItem key={index} reader={reader} finding={finding} rule={false} />
        ))}
      </ul>
      {rest > 0 && (
        <button type="button" class="link" onClick={more}>{`and ${counted(rest, 'more finding')}`}</button>
      )}
    </section>
  )
}

function moveTab(event: KeyboardEvent, from: Tab, setTab: (tab: Tab) => void): void {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (by === undefined) return
  event.preventDefault()
  const to = TAB_NAMES[(TAB_NAMES.indexOf(from) + by + TAB_NAMES.length) % TAB_NAMES.length] ?? from
  setTab(to)
  document.querySelector<HTMLElement>(`#tab-${to}`)?.focus()
}

function usePlace(session: Session): [number, Reader['go']] {
  const count = lengthOf(session)
  const [position, set] = useState(() => linkedPlace(session) ?? count)
  // The position is in a ref, because key presses arrive faster than the page is drawn.
  const latest = useRef(position)
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
  // A reader at the end of a growing log stays at its end.
  const length = useRef(count)
  useEffect(() => {
    if (latest.current === length.current) go(count)
    length.current = count
  }, [session])
  const settled = useSettled(position)
  useEffect(() => {
    const entry = session.replayed.states.at(-1)?.log.entries.get(settled - 1)
    if (linkedPlace(session) === settled) return
    const id = entry?.id ?? null
    const isKnown = id !== null && positionIn(session, id) === settled
    rename({ event: isKnown ? id : null, at: isKnown || entry === undefined ? null : String(settled) })
  }, [settled, session])
  return [position, go]
}

function linkedPlace(session: Session): number | null {
  const [event, index] = [named('event'), named('at')]
  if (event !== null) return positionIn(session, event)
  return index !== null && /^\d{1,9}$/.test(index) ? positionIn(session, Number(index) - 1) : null
}

function useKeys({ go, session }: Reader, setTab: (tab: Tab) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.altKey || event.ctrlKey || event.metaKey) return
      const index = event.target instanceof HTMLElement ? event.target : document.body
      if (event.key === 'Escape') return index.blur()
      if (index.matches('input:not([type=range]), select, textarea, [contenteditable]')) return
      const isList = index === document.body || index.matches('.rows')
      const step = STEPS[event.key]
      if (step !== undefined && (isList || event.key === 'j' || event.key === 'k')) {
        event.preventDefault()
        return go((position) => step(position, lengthOf(session)))
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

const STEPS: Readonly<Record<string, (position: number, count: number) => number>> = {
  j: (position) => position + 1,
  k: (position) => position - 1,
  ArrowDown: (position) => position + 1,
  ArrowUp: (position) => position - 1,
  ArrowRight: (position) => position + 1,
  ArrowLeft: (position) => position - 1,
  PageDown: (position) => position + 20,
  PageUp: (position) => position - 20,
  Home: () => 0,
  End: (_, count) => count,
}

function Scrubber({ reader }: { reader: Reader }): ComponentChild {
  const { position, go, session } = reader
  const count = lengthOf(session)
  const entry = session.replayed.states.at(-1)?.log.entries.get(position - 1)
  const described = entry === undefined ? null : describe(entry)
  const step = (by: number, label: string, text: string): ComponentChild => (
    <button
      type="button"
      aria-label={label}
      title={label}
      disabled={position + by < 0 || position + by > count}
      onClick={() => go(position + by)}
    >
      {text}
    </button>
  )
  return (
    <div class="scrub">
      {step(-1, 'One event back (k)', '‹')}
      <input
        type="range"
        min={0}
        max={count}
        value={position}
        aria-label="Position in the log"
        aria-valuetext={
          described === null
            ? 'before the first event'
            : `event ${position} of ${count}: ${described.role} ${described.subject}`
        }
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      {step(1, 'One event forward (j)', '›')}
      <span class="mono quiet">
        {digits(position)} / {digits(count)}
      </span>
    </div>
  )
}

function Facts({ reader }: { reader: Reader }): ComponentChild {
  const { header, log, branch } = stateHere(reader)
  const pending = pendingCallCount(branch.pendingCalls)
  const working = pendingCallCount(branch.workingCalls)
  return (
    <div class="facts">
      <span class={`chip tone-${STATUS_TONES[header.status]}`} id="status">
        {header.status.replaceAll('_', ' ')}
      </span>
      {header.error !== null && (
        <span class="tone-bad">{glimpse(`${header.error.code}: ${header.error.detail}`).slice(0, 160)}</span>
      )}
      <span>
        HEAD {log.head === null ? 'before every event' : <EventLink reader={reader} event={log.head.seq} />}
      </span>
      <span>{counted(branch.view.length, 'event')} in the view</span>
      <span class={pending > 0 ? 'tone-warn' : 'quiet'}>{counted(pending, 'pending call')}</span>
      {working > 0 && <span class="tone-tool">{counted(working, 'working call')}</span>}
    </div>
  )
}

const COLORS: Readonly<Record<keyof Tokens, string>> = {
  system: '#9068b8',
  tools: '#b8a05a',
  user: '#4f9e6e',
  agent: '#4d8fd1',
  reasoning: '#c77fae',
  calls: '#5fa9b3',
  results: '#8a97a5',
}

interface BudgetProps {
  readonly tokens: Tokens | null
  readonly budget: number
  readonly setBudget: (budget: number) => void
  readonly line: BudgetLine | null
}

function Budget({ tokens: args, budget, setBudget, line }: BudgetProps): ComponentChild {
  // The previous counts are shown until there are new ones, so that nothing flickers.
  const last = useRef<Tokens>(NO_TOKENS)
  if (args !== null) last.current = args
  const tokens = last.current
  const total = totalOf(tokens)
  const whole = Math.max(total, budget, 1)
  const groups = TOKEN_GROUPS.filter((group) => tokens[group] > 0)
  const message = groups.map((group) => `${group} ${digits(tokens[group])}`).join(', ')
  return (
    <div class="facts">
      <span id="tokens" class={args === null ? 'quiet' : ''} data-done={args === null ? undefined : ''}>
        ≈ <b>{digits(total)}</b>
        {' tokens of '}
      </span>
      <label>
        <span class="out">Budget in tokens</span>
        <input
          type="number"
          min={0}
          step={1000}
          style={{ width: '11ch' }}
          value={budget}
          onInput={(event) => setBudget(Math.max(0, Number(event.currentTarget.value) || 0))}
        />
      </label>
      <span class="stack" role="img" aria-label={`tokens by part: ${message}`} title={message}>
        {TOKEN_GROUPS.map((part) => (
          <i key={part} style={{ background: COLORS[part], width: `${(tokens[part] / whole) * 100}%` }} />
        ))}
      </span>
      <span class="legend quiet" aria-hidden="true">
        {groups.map((group) => (
          <span key={group}>
            <i style={{ background: COLORS[group] }} />
            {group} {digits(tokens[group])}
          </span>
        ))}
      </span>
      {line !== null && line.refused !== null && <span class="tone-bad">{glimpse(line.refused)}</span>}
      {line !== null && line.cut > 0 && (
        <span class="tone-warn">{`the budget leaves out ${counted(line.cut, 'event')}`}</span>
      )}
    </div>
  )
}
