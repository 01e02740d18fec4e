import { Component, type ComponentChild } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { maskSecrets } from '../../event/mask.ts'
import { listDroppedResults, listPendingCalls } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { counted } from '../../explain/explanation.ts'
import { progressText, WORK_STATUSES } from '../describe.ts'
import { glimpse } from '../glimpse.ts'
import { childNames, workSpans, workStatus } from '../model/calls.ts'
import { type Reading, tokensOfUnit, totalOf, type UnitRow, unitRows } from '../model/view-reading.ts'
import {
  ConversationLink,
  describe,
  differ,
  digits,
  EventLink,
  EventLinks,
  Fold,
  More,
  Section,
  Table,
  wordsOf,
} from './parts.tsx'
import { positionIn, type Reader, stateHere } from './session.ts'
import { countIn, removedWholeUnits } from '../../explain/removal.ts'
import { findEventIn } from '../../log/log.ts'
import { unitEvents } from '../../view/units.ts'

const UNITS = 40

interface ViewProps {
  readonly reader: Reader
  readonly state: State
  readonly reading: Reading | null
  readonly budgetCut: number
}

export function ViewPanel({ reader, state, reading, budgetCut }: ViewProps): ComponentChild {
  const [more, setMore] = useState(0)
  const { view } = state.branch
  const limit = UNITS * (more + 1)
  const from = Math.max(0, view.units.length - limit)
  const rows = unitRows(view, from, reading?.starts ?? null)
  const picked = state.log.entries.get(reader.position - 1)?.id ?? null
  return (
    <div>
      {from > 0 && (
        <p class="form">
          <button
            type="button"
            onClick={() => setMore(more + 1)}
          >{`Show ${Math.min(UNITS, from)} more`}</button>
          <span class="quiet">{counted(from, 'unit')} above</span>
        </p>
      )}
      {rows.length === 0 && <p class="quiet">The view is empty: no request would be sent.</p>}
      {/* Boxes are reused for other units, because removed elements stay in memory for a long time. */}
      <div>
        {rows.map((row) => (
          <UnitBox
            key={row.index % limit}
            row={row}
            reader={reader}
            isPicked={picked !== null && [...unitEvents(row.unit)].some(({ id }) => id === picked)}
            isOver={row.position < budgetCut}
            isLine={budgetCut > 0 && row.position === budgetCut && !row.isPending}
          />
        ))}
      </div>
      {rows.length > 0 && (
        <p class="quiet">{counted(view.length, 'event')} in the view; ✂ marks where it may be cut.</p>
      )}
      {view.unhandledCondensationRequest && <p class="note warning">A condensation was requested.</p>}
      <Pending reader={reader} state={state} />
      <Dropped reader={reader} state={state} />
    </div>
  )
}

function Pending({ reader, state }: { reader: Reader; state: State }): ComponentChild {
  const calls = listPendingCalls(state)
  if (calls.length === 0) return null
  return (
    <Section title={`${counted(calls.length, 'pending call')}`}>
      <p>
        <EventLinks reader={reader} ids={calls.map(({ entry }) => entry.id)} limit={20} />
      </p>
    </Section>
  )
}

function Dropped({ reader, state }: { reader: Reader; state: State }): ComponentChild {
  const dropped = listDroppedResults(state)
  if (dropped.length === 0) return null
  return (
    <Section title={`${counted(dropped.length, 'result')} left out of the view`}>
      <ul>
        {dropped.slice(-20).map(({ id, reason }) => (
          <li key={id}>
            <EventLink reader={reader} event={id} />
            {reason === 'duplicate_result' ? ': its call has one already' : ': it ends no call of the view'}
          </li>
        ))}
      </ul>
    </Section>
  )
}

interface UnitProps {
  readonly row: UnitRow
  readonly reader: Reader
  readonly isPicked: boolean
  readonly isOver: boolean
  readonly isLine: boolean
}

class UnitBox extends Component<UnitProps> {
  override shouldComponentUpdate(next: UnitProps): boolean {
    const now = this.props
    return (
      differ(next.row, now.row, ['unit', 'position', 'isCut']) ||
      differ(next, now, ['isPicked', 'isOver', 'isLine'])
    )
  }

  override render({ row, reader, isPicked, isOver, isLine }: UnitProps): ComponentChild {
    const { unit, position, index, isCut, isPending, summaryOf } = row
    const tokens = totalOf(tokensOfUnit(unit))
    const look = `${isPending ? ' pending' : ''}${isPicked ? ' picked' : ''}${isOver ? ' over' : ''}`
    return [
      isCut && index > 0 && (
        <div class="cut quiet" title={`may be cut at ${position}`}>
          ✂
        </div>
      ),
      isLine && <div class="line">the budget leaves out everything above</div>,
      <div class={`unit ${unit.type}${look}`}>
        <span class="at quiet">{isPending ? '…' : String(position)}</span>
        <div class="body">
          {Array.from(unitEvents(unit), (item, number) => (
            <div class="item">
              {wordsOf(describe(item.event))}
              {number === 0 && tokens > 0 && (
                <span class="tok quiet" title="estimated tokens">
                  {digits(tokens)}
                </span>
              )}
              {EventLink({ reader, event: summaryOf ?? item.id, text: '↗' })}
            </div>
          ))}
          {isPending && <p class="tone-warn">out of the view until all its calls have results</p>}
          {summaryOf !== null && <Condensed key={summaryOf} reader={reader} id={summaryOf} />}
        </div>
      </div>,
    ]
  }
}

function Condensed({ reader, id }: { reader: Reader; id: string }): ComponentChild {
  const last = reader.session.replayed.states.at(-1)
  const entry = last === undefined ? undefined : findEventIn(last.log, id)
  const taken = useMemo(
    () => (entry === undefined || last === undefined ? [] : removedWholeUnits(entry, last.log)),
    [entry, last],
  )
  if (entry === undefined) return null
  return (
    <Fold
      summary={<summary class="quiet">{`replaces ${counted(countIn(taken), 'event')} of the view`}</summary>}
    >
      {() => {
        const items = taken.flatMap((unit) => [...unitEvents(unit)])
        return [
          items.slice(0, ROWS).map(({ id, event }) => (
            <div class="item quiet" key={id}>
              {wordsOf(describe(event))}
              <EventLink reader={reader} event={id} text="↗" />
            </div>
          )),
          <More count={items.length - ROWS} />,
        ]
      }}
    </Fold>
  )
}

const ROWS = 200

const CALL_COLUMNS = ['Call', 'Status', 'Working result', 'Completion', 'Progress', 'Task']

export function CallsPanel({ reader }: { reader: Reader }): ComponentChild {
  const { session, position, family } = reader
  const { replayed } = session
  const state = stateHere(reader)
  const spans = useMemo(() => workSpans(state), [state])
  const names = useMemo(() => childNames(replayed, family.titles), [replayed, family.titles])
  const children = [...names]
    .map(([action, name]) => ({ action, name, start: positionIn(session, action) ?? Infinity }))
    .filter(({ start }) => start <= position)
    .toSorted((a, b) => a.start - b.start)
  const rest = spans.length - ROWS
  return (
    <div>
      <Section title={`${counted(spans.length, 'background call')} of the branch`}>
        {rest > 0 && <p class="quiet">{`${counted(rest, 'earlier call')} not shown`}</p>}
        {spans.length > 0 && (
          <Table id="calls" names={CALL_COLUMNS} texts={CALL_COLUMNS.length}>
            {spans.slice(-ROWS).map((span) => {
              const { action, result, end } = span
              const { outcome, task, progress } = workStatus(replayed, position, span)
              const { role, tone } = WORK_STATUSES[outcome]
              return (
                <tr key={action.seq}>
                  <td>
                    <EventLink reader={reader} event={action.seq} text={glimpse(action.event.tool_name)} />
                  </td>
                  <td class={`tone-${tone}`}>{role}</td>
                  <td>
                    <EventLink reader={reader} event={result.seq} />
                  </td>
                  <td>{end !== null && <EventLink reader={reader} event={end.seq} />}</td>
                  <td>{progress !== null && shortened(progressText(maskSecrets(progress)))}</td>
                  <td class="mono">{task !== null && shortened(JSON.stringify(maskSecrets(task)))}</td>
                </tr>
              )
            })}
          </Table>
        )}
      </Section>
      {children.length > 0 && (
        <Section title={counted(children.length, 'subagent')}>
          <ul class="list" id="subagents">
            {children.slice(0, ROWS).map(({ action, name }) => (
              <li key={action}>
                <EventLink reader={reader} event={action} />
                <div>
                  {'opened '}
                  <ConversationLink family={family} name={name} />
                </div>
              </li>
            ))}
          </ul>
          <More count={children.length - ROWS} />
        </Section>
      )}
    </div>
  )
}

const shortened = (text: string): string => glimpse(text).slice(0, 160)
