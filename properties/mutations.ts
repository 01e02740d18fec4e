/** Mistakes that servers make: each takes a legal log, and gives one with the mistake, the law that it breaks and the event to blame. */

import { isToolResult } from '../src/event/kinds.ts'
import type { ActionEvent, Event, EventOf } from '../src/event/types.ts'
import { isOnPathIn } from '../src/log/ancestry.ts'
import { pendingCallCount } from '../src/log/open-calls.ts'
import { replay } from '../src/state/reduce.ts'
import { isPending } from '../src/view/unit.ts'

/** A log with a mistake in it. */
export interface Mutant {
  readonly log: readonly (Event | string)[]
  /** One of the ids that may be blamed. */
  readonly id: string | null
  readonly ended?: boolean
}

/** A mistake, or null where the log has no place for it. */
export type Mutation = readonly [law: string, mistake: string, make: (log: readonly Event[]) => Mutant | null]

const update = (id: string, key: string, value: unknown): Event =>
  ({ kind: 'ConversationStateUpdateEvent', id, key, value }) as Event
const status = (id: string, value: string): Event => update(id, 'execution_status', value)
const said = (id: string, source: 'user' | 'agent', more: object = {}): Event => ({
  kind: 'MessageEvent',
  id,
  source,
  llm_message: {
    role: source === 'user' ? 'user' : 'assistant',
    content: [{ type: 'text', text: 'so' }],
    ...more,
  },
  ...(source === 'agent' && { llm_response_id: `of-${id}` }),
})
const resultOf = (id: string, call: Event): EventOf<'ObservationEvent'> => {
  const { id: action_id = '', tool_name, tool_call_id } = call as ActionEvent
  return {
    kind: 'ObservationEvent',
    id,
    tool_name,
    tool_call_id,
    action_id,
    observation: { kind: 'X', content: [] },
  }
}
const isCall = (event: Event): event is ActionEvent => event.kind === 'ActionEvent'
const indexOf = (log: readonly Event[], is: (event: Event) => boolean): number => log.findIndex(is)

/** The log up to its first call, and what is added behind. */
function behindCall(
  log: readonly Event[],
  add: (call: ActionEvent) => readonly Event[],
): readonly Event[] | null {
  const at = indexOf(log, isCall)
  const call = log[at]
  return call === undefined ? null : [...log.slice(0, at + 1), ...add(call as ActionEvent)]
}

/** The log with one event replaced. */
function withEvent(
  log: readonly Event[],
  is: (event: Event) => boolean,
  change: (event: Event) => Event | string,
  idOf: (event: Event) => string | null = ({ id }) => id ?? null,
): Mutant | null {
  const at = indexOf(log, is)
  const event = log[at]
  return event === undefined ? null : { log: log.with(at, change(event) as Event), id: idOf(event) }
}

const blames = (log: readonly Event[] | null, id: string, ended = false): Mutant | null =>
  log === null ? null : { log, id, ended }

/** A complete batch in the view at the end. */
function lastBatch(log: readonly Event[]): readonly string[] | null {
  const units = [...replay(log).branch.view.units]
  const unit = units.findLast((each) => each.type === 'batch' && !isPending(each))
  return unit?.type === 'batch' ? [...unit.calls].map(({ id }) => id) : null
}

const condensation = (ids: readonly string[], offset = 0): Event => ({
  kind: 'Condensation',
  id: 'wrong',
  llm_response_id: 'condenser',
  forgotten_event_ids: ids,
  summary: 'so far',
  summary_offset: offset,
})

/** A result is lost, and the model is asked on behind it. What hung on it hangs on what it hung on. */
function withoutResult(log: readonly Event[]): Mutant | null {
  const { entries } = replay(log).log
  for (const entry of entries) {
    const { event } = entry
    if (event === null || !isToolResult(event)) continue
    // Behind it an interrupt would have to give the call a result: then another law is broken.
    if (log.slice(entry.seq).some(({ kind }) => kind === 'InterruptEvent')) continue
    const pending = [...entries].find(
      (other) =>
        other.event?.kind === 'ActionEvent' &&
        other.event.tool_call_id === event.tool_call_id &&
        isOnPathIn(other, entry),
    )
    const response = (pending?.event as ActionEvent | undefined)?.llm_response_id
    const asked = [...entries].find(
      (later) =>
        later.event !== null &&
        'llm_response_id' in later.event &&
        later.event.kind !== 'Condensation' &&
        later.event.llm_response_id !== response &&
        later.seq > entry.seq &&
        isOnPathIn(entry, later),
    )
    const named = JSON.stringify(log).split(JSON.stringify(entry.id)).length - 2
    const hung = log.filter(({ parent_id }) => parent_id === entry.id).length
    // Only parents can be mended; no call id may stand twice, so that no other result can be taken for it.
    const unique =
      log.filter((other) => isCall(other) && other.tool_call_id === event.tool_call_id).length === 1
    if (asked === undefined || named !== hung || !unique) continue
    // Of a call that was interrupted, P9 says that it has a result.
    const isInterrupted = [...entries].some(
      ({ event: other, seq }) =>
        other?.kind === 'InterruptEvent' && seq > (pending?.seq ?? 0) && seq < asked.seq,
    )
    if (isInterrupted) continue
    const rest = log.filter((other) => other !== event && other.id !== entry.id)
    return {
      log: rest.map((other) =>
        other.parent_id === entry.id ? { ...other, parent_id: entry.parent?.id ?? null } : other,
      ),
      id: null,
    }
  }
  return null
}

/** The second call of a reply comes behind the result of the first. */
function splitBatch(log: readonly Event[]): Mutant | null {
  const split = behindCall(log, (call) => {
    const { parent_id: _, ...second } = call
    return [resultOf('r', call), { ...second, id: 'wrong', tool_call_id: 'other', thought: [] }]
  })
  return blames(split, 'wrong')
}

const isWaiting = (log: readonly Event[]): boolean => pendingCallCount(replay(log).branch.pendingCalls) > 0

const isFinished = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.value === 'finished'

/** All mistakes. */
export const MUTATIONS: readonly Mutation[] = [
  ['P8', 'a result is lost', withoutResult],
  [
    'P4',
    'a result is written twice',
    (log) => {
      const at = indexOf(log, (event) => 'action_id' in event && isToolResult(event))
      const result = log[at]
      return result === undefined
        ? null
        : {
            log: log.toSpliced(at + 1, 0, {
              ...result,
              id: 'wrong',
              ...('parent_id' in result && { parent_id: result.id ?? null }),
            }),
            id: 'wrong',
          }
    },
  ],
  [
    'P4',
    'a result names no call',
    (log) =>
      withEvent(
        log,
        isToolResult,
        (event) =>
          ({
            ...event,
            tool_call_id: 'none',
            ...('action_id' in event && { action_id: 'none' }),
          }) as Event,
      ),
  ],
  [
    'T6',
    'a parent is not there',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => ({ ...event, parent_id: 'none' }),
      ),
  ],
  [
    'T6',
    'an id stands twice',
    (log) =>
      log.length < 2
        ? null
        : { log: [...log, { ...said('x', 'user'), id: log[0]?.id ?? '' }], id: log[0]?.id ?? '' },
  ],
  ['T6', 'HEAD goes nowhere', (log) => blames([...log, update('wrong', 'leaf_event_id', 'none')], 'wrong')],
  [
    'T6',
    'a time is none',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => ({ ...event, timestamp: 'soon' }),
      ),
  ],
  [
    'E2',
    'a line is cut off',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => JSON.stringify(event).slice(0, -1),
        () => null,
      ),
  ],
  [
    'E7',
    'a payload lacks a field',
    (log) => withEvent(log, isCall, (event) => ({ ...event, action: { kind: 'TerminalAction' } }) as Event),
  ],
  [
    'E8',
    'a key stands twice',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => `{"kind":"${event.kind}",${JSON.stringify(event).slice(1)}`,
      ),
  ],
  ['T5', 'a status is none', (log) => blames([...log, status('wrong', 'sleeping')], 'wrong')],
  ['M7', 'a reply is split', splitBatch],
  [
    'M7',
    'the words of a reply stand apart',
    (log) => {
      const added = behindCall(log, (call) => [
        { ...said('wrong', 'agent'), llm_response_id: call.llm_response_id } as Event,
      ])
      return blames(added, 'wrong')
    },
  ],
  [
    'P1',
    'a call is left at the end',
    (log) => {
      const kept = behindCall(log, () => [status('s', 'finished')])
      return kept === null ? null : { log: kept, id: kept.at(-2)?.id ?? null, ended: true }
    },
  ],
  [
    'P1',
    'finished before the result',
    (log) =>
      blames(
        behindCall(log, () => [status('wrong', 'finished')]),
        'wrong',
      ),
  ],
  [
    'P6',
    'a call is begun twice',
    (log) =>
      blames(
        behindCall(log, ({ id }) => [
          update('s', 'started_actions', [id]),
          update('wrong', 'started_actions', [id]),
        ]),
        'wrong',
      ),
  ],
  [
    'P7',
    'a call runs while it waits',
    (log) =>
      blames(
        behindCall(log, (call) => [status('s', 'waiting_for_confirmation'), resultOf('wrong', call)]),
        'wrong',
      ),
  ],
  [
    'P8',
    'a call is begun that has its result',
    (log) =>
      blames(
        behindCall(log, (call) => [resultOf('r', call), update('wrong', 'started_actions', [call.id])]),
        'wrong',
      ),
  ],
  [
    'P9',
    'an interrupt leaves a call',
    (log) =>
      blames(
        behindCall(log, () => [
          status('s', 'running'),
          { kind: 'InterruptEvent', id: 'i' },
          status('t', 'running'),
          said('wrong', 'agent'),
        ]),
        'wrong',
      ),
  ],
  [
    'I1',
    'a log ends while it runs',
    (log) => (log.length === 0 ? null : blames([...log, status('wrong', 'running')], 'wrong', true)),
  ],
  [
    'I2',
    'a message is not read',
    (log) => {
      const at = indexOf(log, isFinished)
      return at < 0
        ? null
        : blames([...log.slice(0, at), said('m', 'user'), status('wrong', 'finished')], 'wrong')
    },
  ],
  [
    'I3',
    'replies go on behind a pause',
    (log) =>
      blames(
        [
          ...log,
          status('s', 'running'),
          { kind: 'PauseEvent', id: 'p' },
          said('r', 'agent'),
          said('wrong', 'agent'),
        ],
        'wrong',
      ),
  ],
  [
    'I4',
    'a reply goes on behind an interrupt',
    (log) =>
      blames(
        [...log, status('s', 'running'), { kind: 'InterruptEvent', id: 'i' }, said('wrong', 'agent')],
        'wrong',
      ),
  ],
  [
    'I7',
    'a reply that was cut short is final',
    (log) =>
      isWaiting(log)
        ? null
        : blames(
            [
              ...log,
              said('m', 'user'),
              said('r', 'agent', { reply: { outcome: 'truncated' } }),
              status('wrong', 'finished'),
            ],
            'wrong',
          ),
  ],
  [
    'M14',
    'a record is garbled',
    (log) =>
      blames(
        [...log, said('wrong', 'agent', { reply: { grammar: 'anthropic', parts: [{ text: 'first' }] } })],
        'wrong',
      ),
  ],
  [
    'M15',
    'a reply was asked for nowhere',
    (log) => blames([...log, said('wrong', 'agent', { reply: { after: 'none' } })], 'wrong'),
  ],
  [
    'V3',
    'half of a batch is forgotten',
    (log) => {
      const ids = lastBatch(log)
      return ids === null ? null : blames([...log, condensation(ids)], 'wrong')
    },
  ],
  ['V3', 'a summary stands beyond the view', (log) => blames([...log, condensation([], 1_000_000)], 'wrong')],
  [
    'K1',
    'a pending call is forgotten',
    (log) =>
      blames(
        behindCall(log, ({ id = '' }) => [condensation([id])]),
        'wrong',
      ),
  ],
]
