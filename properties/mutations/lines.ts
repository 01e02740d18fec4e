/** Mistakes in lines, ids, parents, timestamps and values. */

import type { Event } from '../../src/event/types.ts'
import { blames, isCall, text, status, update, withEvent, type Mutation } from './mutant.ts'

export const LINE_MISTAKES: readonly Mutation[] = [
  [
    'T6',
    'a parent is unknown',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => ({ ...event, parent_id: 'none' }),
      ),
  ],
  [
    'T6',
    'an id is repeated',
    (log) =>
      log.length < 2
        ? null
        : { log: [...log, { ...text('x', 'user'), id: log[0]?.id ?? '' }], id: log[0]?.id ?? '' },
  ],
  [
    'T6',
    'HEAD moves to an unknown event',
    (log) => blames([...log, update('wrong', 'leaf_event_id', 'none')], 'wrong'),
  ],
  [
    'T6',
    'a timestamp is invalid',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => ({ ...event, timestamp: 'soon' }),
      ),
  ],
  [
    'E2',
    'a line is truncated',
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
    'a key is repeated',
    (log) =>
      withEvent(
        log,
        () => true,
        (event) => `{"kind":"${event.kind}",${JSON.stringify(event).slice(1)}`,
      ),
  ],
  ['T5', 'a status is unknown', (log) => blames([...log, status('wrong', 'sleeping')], 'wrong')],
]
