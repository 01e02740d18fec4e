import type { ComponentChild } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { isColloquyError } from '../../event/errors.ts'
import { cutPoints, listLeaves } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { safe } from '../glimpse.ts'
import { readAtOnce, totalOf } from '../model/view-reading.ts'
import { type Change, type Outcome, whatIf } from '../model/what-if.ts'
import { describe, Json, Section, digits } from './parts.tsx'
import { RequestPanel, type RequestProps } from './request-panel.tsx'
import { ViewPanel } from './view-panel.tsx'

const SUMMARY = '[This part was condensed.]'

type WhatIfProps = Omit<RequestProps, 'isReal'>

export function WhatIfPanel({ reader, state, form, setForm }: WhatIfProps): ComponentChild {
  const leaves = useMemo(() => listLeaves(state).toReversed().slice(0, 500), [state])
  const [change, setChange] = useState<Change | null>(null)
  const [from, setFrom] = useState(0)
  const [to, setTo] = useState(0)
  const [limit, setLimit] = useState(Math.max(4, Math.floor(state.branch.view.length / 2)))
  const outcome = useMemo(() => tried(state, change), [state, change])
  const { length } = state.branch.view
  const places = (value: number, set: (position: number) => void, label: string): ComponentChild => (
    <label>
      {label}{' '}
      <input
        type="number"
        min={0}
        max={length}
        value={value}
        onInput={(event) => set(Math.floor(Number(event.currentTarget.value)) || 0)}
      />
    </label>
  )
  const cutBefore = (index: number): number => cutPoints(state).findLast((cut) => cut <= index) ?? 0
  const cutAfter = (index: number): number => cutPoints(state).find((cut) => cut >= index) ?? length
  const condense = (): void => {
    const [first, last] = [cutBefore(Math.min(from, to)), cutAfter(Math.max(from, to))]
    setFrom(first)
    setTo(last)
    setChange(first === last ? null : { type: 'condense', from: first, to: last, summary: SUMMARY })
  }
  const cut = (): void => {
    const index = cutBefore(from)
    setFrom(index)
    setChange({ type: 'cut', index })
  }
  return (
    <div>
      <p class="quiet">Nothing is written: neither the log nor the selected position changes.</p>
      <fieldset>
        <legend>Condense</legend>
        {places(from, setFrom, 'from event')}
        {places(to, setTo, 'up to')}
        <button type="button" disabled={from === to} onClick={condense}>
          Condense these
        </button>
        <label>
          or to at most{' '}
          <input
            type="number"
            min={4}
            value={limit}
            onInput={(event) => setLimit(Math.max(4, Math.floor(Number(event.currentTarget.value)) || 4))}
          />{' '}
          events
        </label>
        <button type="button" onClick={() => setChange({ type: 'plan', maxEvents: limit, summary: SUMMARY })}>
          Condense by plan
        </button>
      </fieldset>
      <fieldset>
        <legend>Cut</legend>
        {places(from, setFrom, 'leave out everything before')}
        <button type="button" onClick={cut}>
          Cut there
        </button>
        <span class="quiet">A number between cut points (✂ in the view) means the lower one.</span>
      </fieldset>
      {leaves.length > 1 && (
        <fieldset>
          <legend>Another leaf</legend>
          <label>
            HEAD at{' '}
            <select
              value=""
              onChange={(event) =>
                event.currentTarget.value !== '' && setChange({ type: 'leaf', id: event.currentTarget.value })
              }
            >
              <option value="">choose a leaf</option>
              {leaves.map((leaf) => {
                const { role, text } = describe(leaf)
                return (
                  <option key={leaf.seq} value={leaf.id ?? ''}>
                    {leaf.seq + 1} {role} {text.slice(0, 60)}
                  </option>
                )
              })}
            </select>
          </label>
        </fieldset>
      )}
      {change !== null && (
        <WhatIfResult
          reader={reader}
          state={state}
          outcome={outcome}
          form={form}
          setForm={setForm}
          clear={() => setChange(null)}
        />
      )}
    </div>
  )
}

function tried(state: State, change: Change | null): Outcome | string {
  if (change === null) return ''
  try {
    return whatIf(state, change)
  } catch (error) {
    if (isColloquyError(error)) return error.message
    throw error
  }
}

interface ResultProps extends WhatIfProps {
  readonly outcome: Outcome | string
  readonly clear: () => void
}

function WhatIfResult({ reader, state, outcome, form, setForm, clear }: ResultProps): ComponentChild {
  const [shows, show] = useState<'view' | 'sent'>('view')
  if (typeof outcome === 'string') return <p class="note error">{safe(outcome)}</p>
  const [now, then] = [readAtOnce(state), readAtOnce(outcome.state)]
  const [before, after] = [totalOf(now.tokens), totalOf(then.tokens)]
  return (
    <Section title="State after the change">
      <p class="note">
        {safe(outcome.text)}
        {` About ${digits(after)} tokens would be sent instead of ${digits(before)}.`}
      </p>
      <p class="form">
        <button type="button" aria-pressed={shows === 'view'} onClick={() => show('view')}>
          View
        </button>
        <button type="button" aria-pressed={shows === 'sent'} onClick={() => show('sent')}>
          Sent
        </button>
        <button type="button" onClick={clear}>
          Discard the change
        </button>
      </p>
      {shows === 'view' ? (
        <ViewPanel reader={reader} state={outcome.state} reading={then} budgetCut={0} />
      ) : (
        <RequestPanel reader={reader} state={outcome.state} form={form} setForm={setForm} isReal={false} />
      )}
      {outcome.event !== null && (
        <details>
          <summary>The event that would be appended</summary>
          <Json value={outcome.event} label="condensation" />
        </details>
      )}
    </Section>
  )
}
