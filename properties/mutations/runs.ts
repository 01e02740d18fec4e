/** Mistakes in how runs begin and end, and in what is kept of replies. */

import type { Event } from '../../src/event/types.ts'
import { pendingCallCount } from '../../src/log/open-calls.ts'
import { replay } from '../../src/state/reduce.ts'
import { blames, indexOf, said, status, type Mutation } from './mutant.ts'

const isWaiting = (log: readonly Event[]): boolean => pendingCallCount(replay(log).branch.pendingCalls) > 0

const isFinished = (event: Event): boolean =>
  event.kind === 'ConversationStateUpdateEvent' && event.value === 'finished'

/** Of runs and replies. */
export const RUN_MISTAKES: readonly Mutation[] = [
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
    'I2',
    'a log ends with a reply that was asked for before the last message',
    (log) =>
      isWaiting(log)
        ? null
        : blames(
            [
              ...log,
              status('s', 'running'),
              said('m', 'user'),
              said('n', 'user'),
              said('wrong', 'agent', { reply: { after: 'm' } }),
            ],
            'wrong',
            true,
          ),
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
]
