/** The scrubber and what holds at the place: status, HEAD, pending calls, tokens and the budget. */

import { type ComponentChild, h } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { pendingCallCount } from '../../log/open-calls.ts'
import { counted, glimpse } from '../glimpse.ts'
import type { BudgetLine } from '../model/budget-line.ts'
import { NONE, PARTS, type Tokens, totalOf } from '../model/tokens.ts'
import { EventLink, inWords, shown } from './parts.ts'
import { lengthOf, type Reader, stateHere } from './session.ts'
import type { Status } from '../../state/status.ts'

type Input = { readonly currentTarget: HTMLInputElement }

/** A slider over the log, with a button for each way. */
export function Scrubber({ reader }: { reader: Reader }): ComponentChild {
  const { place, go, session } = reader
  const count = lengthOf(session)
  const entry = session.replayed.states.at(-1)?.log.entries.get(place - 1)
  const words = entry === undefined ? null : inWords(entry)
  const step = (by: number, label: string, text: string): ComponentChild =>
    h(
      'button',
      {
        type: 'button',
        'aria-label': label,
        title: label,
        disabled: place + by < 0 || place + by > count,
        onClick: () => go(place + by),
      },
      text,
    )
  return h(
    'div',
    { class: 'scrub' },
    step(-1, 'One event back (k)', '‹'),
    h('input', {
      type: 'range',
      min: 0,
      max: count,
      value: place,
      'aria-label': 'Place in the log',
      'aria-valuetext':
        words === null
          ? 'before the first event'
          : `event ${place} of ${count}: ${words.role} ${words.subject}`,
      onInput: (event: Input) => go(Number(event.currentTarget.value)),
    }),
    step(1, 'One event on (j)', '›'),
    h('span', { class: 'mono quiet' }, `${shown(place)} / ${shown(count)}`),
  )
}

const TONES: Readonly<Record<Status, string>> = {
  idle: 'dim',
  running: 'good',
  paused: 'warn',
  waiting_for_confirmation: 'warn',
  finished: 'good',
  error: 'bad',
  stuck: 'bad',
  deleting: 'bad',
}

/** What the state says in short. */
export function Facts({ reader }: { reader: Reader }): ComponentChild {
  const { header, log, branch } = stateHere(reader)
  const pending = pendingCallCount(branch.pendingCalls)
  return h(
    'div',
    { class: 'facts' },
    h(
      'span',
      { class: `chip tone-${TONES[header.status]}`, id: 'status' },
      header.status.replaceAll('_', ' '),
    ),
    header.error !== null &&
      h('span', { class: 'tone-bad' }, glimpse(`${header.error.code}: ${header.error.detail}`).slice(0, 160)),
    h(
      'span',
      null,
      'HEAD ',
      log.head === null ? 'at nothing' : h(EventLink, { reader, event: log.head.seq }),
    ),
    h('span', null, counted(branch.view.length, 'event'), ' in the view'),
    h('span', { class: pending > 0 ? 'tone-warn' : 'quiet' }, counted(pending, 'pending call')),
  )
}

export interface BudgetProps {
  /** Null while they are being counted. */
  readonly tokens: Tokens | null
  readonly budget: number
  readonly setBudget: (budget: number) => void
  readonly line: BudgetLine | null
}

/** Tokens by part against the budget. */
export function Budget({ tokens: given, budget, setBudget, line }: BudgetProps): ComponentChild {
  // The last ones stand until there are others, so that nothing flickers.
  const last = useRef<Tokens>(NONE)
  if (given !== null) last.current = given
  const tokens = last.current
  const total = totalOf(tokens)
  const whole = Math.max(total, budget, 1)
  const said = useMemo(
    () =>
      PARTS.filter((part) => tokens[part] > 0)
        .map((part) => `${part} ${shown(tokens[part])}`)
        .join(', '),
    [tokens],
  )
  return h(
    'div',
    { class: 'facts' },
    h(
      'span',
      { id: 'tokens', class: given === null ? 'quiet' : '', 'data-done': given === null ? undefined : '' },
      '≈ ',
      h('b', null, shown(total)),
      ' tokens of ',
    ),
    h(
      'label',
      null,
      h('span', { class: 'out' }, 'Budget in tokens'),
      h('input', {
        type: 'number',
        min: 0,
        step: 1000,
        style: { width: '11ch' },
        value: budget,
        onInput: (event: Input) => setBudget(Math.max(0, Number(event.currentTarget.value) || 0)),
      }),
    ),
    h(
      'span',
      { class: 'stack', role: 'img', 'aria-label': `tokens by part: ${said}`, title: said },
      PARTS.map((part) =>
        h('i', { key: part, class: `p-${part}`, style: { width: `${(tokens[part] / whole) * 100}%` } }),
      ),
    ),
    h(
      'span',
      { class: 'legend', 'aria-hidden': 'true' },
      PARTS.filter((part) => tokens[part] > 0).map((part) =>
        h('span', { key: part }, h('i', { class: `p-${part}` }), `${part} ${shown(tokens[part])}`),
      ),
    ),
    line !== null && line.refused !== null && h('span', { class: 'tone-bad' }, glimpse(line.refused)),
    line !== null &&
      line.cut > 0 &&
      h('span', { class: 'tone-warn' }, `the budget leaves out ${counted(line.cut, 'event')}`),
  )
}
