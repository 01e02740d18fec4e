/**
 * Working calls, their progress and their completions have distinct roles, in the command and in the
 * inspector.
 */

import { expect, it } from 'vitest'
import { describeEvent } from '../../src/inspector/index.ts'
import { completionMessage, type CompletionOutcome } from '../../src/event/completion.ts'
import type { Event } from '../../src/event/types.ts'
import { call } from '../conversation/script.ts'

const ACTION = { id: 'a', event: call('a', 'report') }

const progress = (value: object): Event =>
  ({
    kind: 'ConversationStateUpdateEvent',
    key: 'call_progress',
    value: { action_id: 'a', ...value },
  }) as Event

const described = (event: Event): string[] => {
  const { role, subject, text } = describeEvent(event)
  return [role, subject, text]
}

it('a working result', () => {
  const observation = { kind: 'WorkingObservation', content: [{ type: 'text' as const, text: 'Started.' }] }
  const call = { tool_name: 'report', tool_call_id: 'a', action_id: 'a' }
  expect(described({ kind: 'ObservationEvent', ...call, observation })).toEqual([
    'working',
    'report',
    'Started.',
  ])
})

it('progress', () => {
  expect(described(progress({ progress: 0.42, content: 'reading' }))).toEqual(['progress', '', '42% reading'])
  expect(described(progress({ progress: { page: 3 } }))).toEqual(['progress', '', '{"page":3}'])
  expect(described(progress({}))).toEqual(['progress', '', '(empty)'])
})

it.each<[CompletionOutcome, string]>([
  ['done', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['lost', 'lost'],
])('a completion: %s', (outcome, role) => {
  const message = completionMessage(ACTION, [{ type: 'text', text: 'Sales went up.' }], outcome)
  expect(described(message)).toEqual([role, 'report', 'Sales went up.'])
})
