/** Applies each row of the status table to every status (design section 3). */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { GRANT_KEYS, GRANTS } from '../../src/state/call-status.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { listPendingCalls } from '../../src/state/read.ts'
import type { State } from '../../src/state/state.ts'
import { type Status, STATUSES } from '../../src/state/status.ts'
import * as build from '../build.ts'

const status = (value: unknown, key = 'execution_status'): Event =>
  ({ kind: 'ConversationStateUpdateEvent', key, value }) as Event
const message = (source: 'user' | 'agent' | 'environment', text: string, calls?: string): Event => ({
  kind: 'MessageEvent',
  source,
  llm_message: {
    role: source === 'agent' ? 'assistant' : 'user',
    content: [{ text }],
    ...(calls === undefined
      ? {}
      : { tool_calls: [{ id: calls, name: 'ls', arguments: '{}', origin: 'completion' }] }),
  },
})
const action = (id: string, response = id): Event => build.action(id, { response })
const observe = (actionId: string, tool = 'ls', isError = false): Event => ({
  kind: 'ObservationEvent',
  tool_name: tool,
  tool_call_id: `call-${actionId}`,
  action_id: actionId,
  observation: { kind: 'AnyObservation', is_error: isError },
})
const reject = (actionId: string, source?: 'user' | 'hook'): Event => ({
  kind: 'UserRejectObservation',
  tool_name: 'ls',
  tool_call_id: `call-${actionId}`,
  action_id: actionId,
  ...(source === undefined ? {} : { rejection_source: source }),
})
const fail = (actionId: string): Event => ({
  kind: 'AgentErrorEvent',
  tool_name: 'ls',
  tool_call_id: `call-${actionId}`,
  error: 'no',
})
const trouble: Event = {
  kind: 'ConversationErrorEvent',
  id: 'e',
  source: 'environment',
  code: 'C',
  detail: 'D',
}

/** A conversation with pending calls in a status. */
const stateWith = (value: Status, ...calls: string[]): State =>
  replay([...calls.map((id) => action(id)), status(value)])

const after = (before: State, ...events: Event[]): Status => events.reduce(reduce, before).header.status

interface Row {
  readonly title: string
  readonly events: readonly Event[]
  /** Calls that are already pending. */
  readonly open?: readonly string[]
  /** The new status for each status that changes. */
  readonly becomes: Partial<Record<Status, Status>>
}

const all = (to: Status, ...except: Status[]): Partial<Record<Status, Status>> =>
  Object.fromEntries(STATUSES.filter((one) => !except.includes(one)).map((one) => [one, to]))

const ROWS: readonly Row[] = [
  ...STATUSES.map((to) => ({ title: `execution_status ${to}`, events: [status(to)], becomes: all(to) })),
  {
    title: 'execution_status with an unknown value',
    events: [status('sleeping'), status(null), status(7)],
    becomes: {},
  },
  {
    title: 'full_state',
    events: [status({ execution_status: 'stuck', x: 1 }, 'full_state')],
    becomes: all('stuck'),
  },
  {
    title: 'full_state without a status',
    events: [status({ title: 'x' }, 'full_state'), status(null, 'full_state')],
    becomes: {},
  },
  { title: 'another key', events: [status('paused', 'agent_status')], becomes: {} },
  {
    title: 'HEAD moved to an event without pending calls',
    open: ['a'],
    events: [status(null, 'leaf_event_id')],
    becomes: { finished: 'idle', stuck: 'idle', waiting_for_confirmation: 'idle' },
  },
  {
    title: 'HEAD moved to an event with a pending call',
    open: ['a'],
    events: [status('a', 'leaf_event_id')],
    becomes: { finished: 'idle', stuck: 'idle' },
  },
  {
    title: 'HEAD moved to an unknown event',
    open: ['a'],
    events: [status('nowhere', 'leaf_event_id')],
    becomes: {},
  },
  { title: 'pause', events: [{ kind: 'PauseEvent' }], becomes: { idle: 'paused', running: 'paused' } },
  {
    title: 'interrupt',
    events: [{ kind: 'InterruptEvent' }],
    becomes: { idle: 'paused', running: 'paused' },
  },
  { title: 'conversation error', events: [trouble], becomes: all('error', 'deleting') },
  { title: 'user message', events: [message('user', 'hi')], becomes: { finished: 'idle', stuck: 'idle' } },
  { title: 'environment message', events: [message('environment', 'hi')], becomes: {} },
  {
    title: 'action',
    events: [action('n')],
    becomes: { idle: 'running', finished: 'running', error: 'running', stuck: 'running' },
  },
  {
    title: 'finish result',
    open: ['a', 'b'],
    events: [observe('a', 'finish')],
    becomes: all('finished', 'paused', 'deleting'),
  },
  { title: 'failed finish result', open: ['a', 'b'], events: [observe('a', 'finish', true)], becomes: {} },
  {
    title: 'agent text',
    events: [message('agent', 'done')],
    becomes: { idle: 'finished', running: 'finished', error: 'finished', stuck: 'finished' },
  },
  { title: 'blank agent text', events: [message('agent', ' \n')], becomes: {} },
  { title: 'agent text with tool calls', events: [message('agent', 'done', 'c')], becomes: {} },
  {
    title: 'last result',
    open: ['a'],
    events: [observe('a')],
    becomes: { waiting_for_confirmation: 'running' },
  },
  { title: 'last error', open: ['a'], events: [fail('a')], becomes: { waiting_for_confirmation: 'running' } },
  {
    title: 'last rejection',
    open: ['a'],
    events: [reject('a')],
    becomes: { waiting_for_confirmation: 'idle' },
  },
  {
    title: 'last rejection by a user',
    open: ['a'],
    events: [reject('a', 'user')],
    becomes: { waiting_for_confirmation: 'idle' },
  },
  {
    title: 'last rejection by a hook',
    open: ['a'],
    events: [reject('a', 'hook')],
    becomes: { waiting_for_confirmation: 'running' },
  },
  {
    title: 'answer while another call is pending',
    open: ['a', 'b'],
    events: [observe('a'), reject('a')],
    becomes: {},
  },
  {
    title: 'kinds without a status',
    events: [
      { kind: 'CondensationRequest' },
      { kind: 'CondensationSummaryEvent', summary: 's' },
      { kind: 'Condensation', llm_response_id: 'r' },
      { kind: 'SystemPromptEvent', system_prompt: { text: 's' }, tools: [] },
      { kind: 'TokenEvent', source: 'agent', prompt_token_ids: [], response_token_ids: [] },
      { kind: 'ServerErrorEvent', source: 'environment', code: 'c', detail: 'd' },
      { kind: 'ACPToolCallEvent', tool_call_id: 'c', title: 't' },
      { kind: 'LLMCompletionLogEvent', filename: 'f', log_data: '{}' },
      { kind: 'StreamingDeltaEvent', content: 'x' },
      { kind: 'HookExecutionEvent', hook_event_type: 'Stop', hook_command: 'h', success: true, exit_code: 0 },
    ],
    becomes: {},
  },
]

describe('status transitions', () => {
  it.each(ROWS)('follow the table for: $title', ({ events, open, becomes }) => {
    const results = Object.fromEntries(
      STATUSES.map((one) => [one, after(stateWith(one, ...(open ?? [])), ...events)]),
    )
    expect(results).toEqual({ ...Object.fromEntries(STATUSES.map((one) => [one, one])), ...becomes })
  })
})

const paused = (...before: Event[]): State => replay([...before, { kind: 'PauseEvent' }])

describe('a pause during a reply', () => {
  it('holds for all calls of the first new reply', () => {
    expect(after(paused(), action('a', 'r1'), action('b', 'r1'))).toBe('paused')
  })
  it('ends at the second new reply', () => {
    expect(after(paused(), action('a', 'r1'), action('b', 'r2'))).toBe('running')
  })
  it('does not count further calls of an earlier reply', () => {
    expect(after(paused(action('a', 'r0')), action('b', 'r0'), action('c', 'r1'))).toBe('paused')
    expect(after(paused(action('a', 'r0'), action('b', 'r1')), action('c', 'r0'), action('d', 'r2'))).toBe(
      'paused',
    )
    expect(after(paused(action('a', 'r0')), action('b', 'r0'), action('c', 'r1'), action('d', 'r2'))).toBe(
      'running',
    )
  })
  it('counts replies again after a second pause', () => {
    const again = [status('running'), { kind: 'PauseEvent' } as Event]
    expect(after(paused(), action('a', 'r1'), ...again, action('b', 'r2'))).toBe('paused')
    expect(after(paused(), action('a', 'r1'), ...again, action('b', 'r2'), action('c', 'r3'))).toBe('running')
  })
  it('holds after a finish result and a reply with text', () => {
    expect(after(paused(action('a')), observe('a', 'finish'), message('agent', 'done'))).toBe('paused')
  })
})

describe('the error in the header', () => {
  it('is the latest error, and disappears when the status changes', () => {
    const state = replay([trouble])
    expect(state.header.error).toEqual({ code: 'C', detail: 'D', event_id: 'e' })
    const next = reduce(state, { ...trouble, id: 'f', code: 'E' } as Event)
    expect(next.header.error).toEqual({ code: 'E', detail: 'D', event_id: 'f' })
    expect(reduce(next, status('error')).header.error?.event_id).toBe('f')
    expect(reduce(next, message('user', 'go on')).header.error?.event_id).toBe('f')
    expect(reduce(next, action('a')).header.error).toBeNull()
  })
  it('is not set while the conversation is being deleted', () => {
    const state = replay([status('deleting'), trouble])
    expect(state.header).toMatchObject({ status: 'deleting', error: null, inFlight: null })
  })
})

it('an unchanged header stays the same frozen object (design D5)', () => {
  const running = replay([action('a')])
  const more = [observe('a'), action('b'), { kind: 'CondensationRequest' } as Event].reduce(reduce, running)
  expect(more.header).toBe(running.header)
  expect(Object.isFrozen(more.header)).toBe(true)
})

describe('the statuses of calls', () => {
  it('are the latest of each pending call, in log order, whatever ends or leaves the branch', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const steps = fc.array(
      fc.record({ how: fc.constantFrom(...GRANTS, 'end', 'leave'), ids: fc.subarray(names) }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(steps, (list) => {
        let state = replay(names.map((name) => action(name, 'r')))
        let known = new Map<string, string>()
        for (const { how, ids } of list) {
          if (how === 'end') for (const id of ids) state = reduce(state, observe(id))
          else if (how === 'leave') state = reduce(state, status(ids[0] ?? 'e', 'leaf_event_id'))
          else {
            state = reduce(state, status(ids, GRANT_KEYS[how as (typeof GRANTS)[number]]))
            const pending = listPendingCalls(state).map(({ entry }) => entry.id)
            const grants = pending.map((id) => [id, ids.includes(id) ? how : known.get(id)] as const)
            known = new Map(grants.flatMap(([id, grant]) => (grant === undefined ? [] : [[id, grant]])))
          }
          expect(state.header.callStatuses.map(({ action_id, grant }) => [action_id, grant])).toEqual([
            ...known,
          ])
        }
      }),
      { numRuns: 500 },
    )
  })
})
