/** Mistakes in calls, results and replies. */

import { isToolResult } from '../../src/event/kinds.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { isOnPathIn } from '../../src/log/entry.ts'
import { replay } from '../../src/state/reduce.ts'
import {
  behindCall,
  blames,
  indexOf,
  isCall,
  resultOf,
  text,
  status,
  update,
  withEvent,
  type Mutant,
  type Mutation,
} from './mutant.ts'

/** The result's children move to its parent. */
function withoutResult(log: readonly Event[]): Mutant | null {
  const { entries } = replay(log).log
  for (const entry of entries) {
    const { event } = entry
    if (event === null || !isToolResult(event)) continue
    // An interrupt would have to add a result, which breaks another law.
    if (log.slice(entry.seq).some(({ kind }) => kind === 'InterruptEvent')) continue
    const pending = [...entries].find(
      (other) =>
        other.event?.kind === 'ActionEvent' &&
        other.event.tool_call_id === event.tool_call_id &&
        isOnPathIn(other, entry),
    )
    const response = (pending?.event as ActionEvent | undefined)?.llm_response_id
    const requests = [...entries].find(
      (later) =>
        later.event !== null &&
        'llm_response_id' in later.event &&
        later.event.kind !== 'Condensation' &&
        later.event.llm_response_id !== response &&
        later.seq > entry.seq &&
        isOnPathIn(entry, later),
    )
    const referenceCount = JSON.stringify(log).split(JSON.stringify(entry.id)).length - 2
    const childCount = log.filter(({ parent_id }) => parent_id === entry.id).length
    // Avoids breaking other laws: a duplicate call id could match another result.
    const unique =
      log.filter((other) => isCall(other) && other.tool_call_id === event.tool_call_id).length === 1
    if (requests === undefined || referenceCount !== childCount || !unique) continue
    // P9 requires a result for an interrupted call.
    const isInterrupted = [...entries].some(
      ({ event: other, seq }) =>
        other?.kind === 'InterruptEvent' && seq > (pending?.seq ?? 0) && seq < requests.seq,
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

/** The second call of a reply follows the result of the first. */
function splitBatch(log: readonly Event[]): Mutant | null {
  const split = behindCall(log, (call) => {
    const { parent_id: _, ...second } = call
    return [resultOf('r', call), { ...second, id: 'wrong', tool_call_id: 'other', thought: [] }]
  })
  return blames(split, 'wrong')
}

const isStart = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.key === 'started_actions'

/** With a policy that requires confirmation. */
function withPolicy(
  log: readonly Event[],
  add: (call: ActionEvent) => readonly Event[],
  kind = 'AlwaysConfirm',
): readonly Event[] | null {
  const call = log.find(isCall)
  if (call === undefined || ['finish', 'think'].includes(call.tool_name)) return null
  return behindCall(log, () => [
    update('policy', 'confirmation_policy', { kind }),
    status('runs', 'running'),
    ...add(call),
  ])
}

export const CALL_MISTAKES: readonly Mutation[] = [
  ['P8', 'a result is missing', withoutResult],
  [
    'P4',
    'a result is appended twice',
    (log) => {
      const index = indexOf(log, (event) => 'action_id' in event && isToolResult(event))
      const result = log[index]
      return result === undefined
        ? null
        : {
            log: log.toSpliced(index + 1, 0, {
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
  ['M7', 'the calls of a reply are separated by a result', splitBatch],
  [
    'M7',
    'the text of a reply is an event after its call',
    (log) => {
      const added = behindCall(log, (call) => [
        { ...text('wrong', 'agent'), llm_response_id: call.llm_response_id } as Event,
      ])
      return blames(added, 'wrong')
    },
  ],
  [
    'P1',
    'a call is pending at the end',
    (log) => {
      const stored = behindCall(log, () => [status('s', 'finished')])
      return stored === null ? null : { log: stored, id: stored.at(-2)?.id ?? null, ended: true }
    },
  ],
  [
    'P1',
    'the status is finished before the result',
    (log) =>
      blames(
        behindCall(log, () => [status('wrong', 'finished')]),
        'wrong',
      ),
  ],
  [
    'P6',
    'a call is started twice',
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
    'a call is executed while it waits',
    (log) =>
      blames(
        behindCall(log, (call) => [status('s', 'waiting_for_confirmation'), resultOf('wrong', call)]),
        'wrong',
      ),
  ],
  [
    'P7',
    'a call is executed while it waits, and its result names no call',
    (log) =>
      blames(
        behindCall(log, (call) => [
          status('s', 'waiting_for_confirmation'),
          { ...resultOf('wrong', call), action_id: 'none' },
        ]),
        'wrong',
      ),
  ],
  [
    'P7',
    'a call is started against the policy',
    (log) =>
      blames(
        withPolicy(log, (call) => [update('wrong', 'started_actions', [call.id])]),
        'wrong',
      ),
  ],
  [
    'P7',
    'a risky call is executed against the policy without a recorded start',
    (log) => {
      const known = log.filter((event) => !isStart(event))
      const risky = known.map((event) =>
        isCall(event) ? { ...event, security_risk: 'HIGH' as const } : event,
      )
      return blames(
        withPolicy(risky, (call) => [resultOf('wrong', call)], 'ConfirmRisky'),
        'wrong',
      )
    },
  ],
  [
    'P8',
    'a call with a result is started',
    (log) =>
      blames(
        behindCall(log, (call) => [resultOf('r', call), update('wrong', 'started_actions', [call.id])]),
        'wrong',
      ),
  ],
  [
    'P9',
    'an interrupt leaves a call pending',
    (log) =>
      blames(
        behindCall(log, () => [
          status('s', 'running'),
          { kind: 'InterruptEvent', id: 'i' },
          status('t', 'running'),
          text('wrong', 'agent'),
        ]),
        'wrong',
      ),
  ],
]
