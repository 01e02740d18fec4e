/** Logs of background calls: results, progress and completions in any order, twice, for unknown calls, on any branch. */

import * as fc from 'fast-check'
import { PROGRESS_KEY, WORKING } from '../src/event/completion.ts'
import type { Event } from '../src/event/types.ts'
import { call, says } from '../test/conversation/script.ts'

interface Command {
  readonly do: (typeof COMMANDS)[number]
  /** Selects a call, the latest first; 9 is an unknown one. */
  readonly call: number
  /** Selects a parent or HEAD, the latest first. */
  readonly back: number
  readonly isElsewhere: boolean
  readonly value: object
}

const COMMANDS = [
  'say',
  'reply',
  'call',
  'call',
  'work',
  'work',
  'work',
  'end',
  'progress',
  'progress',
  'progress',
  'complete',
  'go',
] as const

/** A call that works, and that reports after the user's next message too. */
const BEGINNING = (['say', 'call', 'work', 'progress', 'say', 'progress'] as const).map((each): Command => ({
  do: each,
  call: 0,
  back: 1,
  isElsewhere: false,
  value: {},
}))

const VALUES = [
  { progress: 0.5 },
  { progress: { pages: 3 } },
  { content: 'half' },
  { content: ['a'], progress: 1, task: 'secret-handle' },
  { task: 'secret-handle' },
  { progress: { encrypted_content: 'gAAA' } },
  {},
]

const OUTCOMES = ['done', 'failed', 'cancelled', 'lost'] as const

export const backgroundLog = (): fc.Arbitrary<Event[]> =>
  fc
    .tuple(
      fc.constantFrom(3, BEGINNING.length),
      fc.array(
        fc.record({
          do: fc.constantFrom(...COMMANDS),
          call: fc.nat(9),
          back: fc.nat(8),
          isElsewhere: fc.boolean(),
          value: fc.constantFrom(...VALUES),
        }),
        { minLength: 8, maxLength: 30 },
      ),
    )
    .map(([length, commands]) => [...BEGINNING.slice(0, length), ...commands].reduce(write, []))

function write(log: readonly Event[], command: Command): Event[] {
  const id = `e${log.length}`
  const calls = log.flatMap((event) => (event.kind === 'ActionEvent' ? [event.id ?? ''] : []))
  const action_id = (command.call < 9 ? calls.at(-1 - (command.call % calls.length)) : undefined) ?? 'unknown'
  const parentId = log.at(-1 - command.back)?.id ?? '__root__'
  const parent = command.isElsewhere && command.back % 4 === 0 ? { parent_id: parentId } : {}
  const result = {
    kind: 'ObservationEvent',
    id,
    tool_name: 'work',
    tool_call_id: action_id,
    action_id,
  } as const
  const content = [{ type: 'text' as const, text: `of ${id}` }]
  const update = { kind: 'ConversationStateUpdateEvent', id, source: 'environment' } as const
  switch (command.do) {
    case 'say':
      return [...log, { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content } }]
    case 'reply':
      return [...log, { ...says(id), id }]
    case 'call':
      return [...log, call(id, 'work', { llm_response_id: command.isElsewhere ? 'r' : `r-${id}` })]
    case 'work':
      return [...log, { ...result, observation: { kind: WORKING, content, task: 'secret-handle' } }]
    case 'end':
      return [...log, { ...result, observation: { kind: 'Observation', content } }]
    case 'progress':
      return [
        ...log,
        { ...update, ...parent, key: PROGRESS_KEY, value: { ...command.value, action_id } as never },
      ]
    case 'complete': {
      const outcome = OUTCOMES[command.back % OUTCOMES.length]
      const completes = { action_id, tool_call_id: action_id, tool_name: 'work', outcome }
      const llm_message = { role: 'user', content, completes }
      return [...log, { kind: 'MessageEvent', id, source: 'environment', ...parent, llm_message } as Event]
    }
    case 'go':
      return [...log, { ...update, key: 'leaf_event_id', value: parentId === '__root__' ? null : parentId }]
  }
}
