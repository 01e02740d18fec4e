/** Mistakes in runs and in the records of replies. */

import type { Event } from '../../src/event/types.ts'
import { pendingCallCount } from '../../src/log/open-calls.ts'
import { replay } from '../../src/state/reduce.ts'
import { blames, indexOf, text, status, type Mutation } from './mutant.ts'

const isWaiting = (log: readonly Event[]): boolean => pendingCallCount(replay(log).branch.pendingCalls) > 0

const isFinished = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.value === 'finished'

export const RUN_MISTAKES: readonly Mutation[] = [
  [
    'I1',
    'a log ends with the status running',
    (log) => (log.length === 0 ? null : blames([...log, status('wrong', 'running')], 'wrong', true)),
  ],
  [
    'I2',
    'a conversation is finished with an unread message',
    (log) => {
      const index = indexOf(log, isFinished)
      return index < 0
        ? null
        : blames([...log.slice(0, index), text('m', 'user'), status('wrong', 'finished')], 'wrong')
    },
  ],
  [
    'I2',
    'a log ends with a reply that was requested before the last message',
    (log) =>
      isWaiting(log)
        ? null
        : blames(
            [
              ...log,
              status('s', 'running'),
              text('m', 'user'),
              text('n', 'user'),
              text('wrong', 'agent', { reply: { after: 'm' } }),
            ],
            'wrong',
            true,
          ),
  ],
  [
    'I3',
    'a second reply follows a pause',
    (log) =>
      blames(
        [
          ...log,
          status('s', 'running'),
          { kind: 'PauseEvent', id: 'p' },
          text('r', 'agent'),
          text('wrong', 'agent'),
        ],
        'wrong',
      ),
  ],
  [
    'I4',
    'a reply follows an interrupt',
    (log) =>
      blames(
        [...log, status('s', 'running'), { kind: 'InterruptEvent', id: 'i' }, text('wrong', 'agent')],
        'wrong',
      ),
  ],
  [
    'I7',
    'a truncated reply is final',
    (log) =>
      isWaiting(log)
        ? null
        : blames(
            [
              ...log,
              text('m', 'user'),
              text('r', 'agent', { reply: { outcome: 'truncated' } }),
              status('wrong', 'finished'),
            ],
            'wrong',
          ),
  ],
  [
    'M14',
    'the record of a reply is invalid',
    (log) =>
      blames(
        [...log, text('wrong', 'agent', { reply: { grammar: 'anthropic', parts: [{ text: 'first' }] } })],
        'wrong',
      ),
  ],
  [
    'M15',
    'the request position of a reply is unknown',
    (log) => blames([...log, text('wrong', 'agent', { reply: { after: 'none' } })], 'wrong'),
  ],
]
