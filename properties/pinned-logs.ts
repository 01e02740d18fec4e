/** Pinned logs: bugs of similar engines (W), minimal cases of rules (U), and counterexamples. */

import { PART_CASES } from './pinned-parts.ts'
import {
  agent,
  call,
  callAskedAt,
  condensation,
  error,
  pause,
  type Pinned,
  result,
  thought,
  update,
  user,
} from './pinned.ts'

const pairs = (count: number) =>
  Array.from({ length: count }, (_, n) => [
    call(`a${n}`, `c${n}`, 'const'),
    result(`o${n}`, `c${n}`, `a${n}`),
  ]).flat()

const ids = (events: readonly { readonly id?: string }[]) => events.map((event) => event.id ?? '')

export const CASES: readonly Pinned[] = [
  {
    title: 'W1 two turns with one tool call id keep both calls and results',
    facts: [
      user('u'),
      call('a1', 'c', 'r1'),
      result('o1', 'c', 'a1'),
      call('a2', 'c', 'r2'),
      result('o2', 'c', 'a2'),
      agent('m'),
    ],
    view: ['u', 'a1', 'o1', 'a2', 'o2', 'm'],
    cuts: [0, 1, 3, 5, 6],
  },
  {
    title: 'W2 a result that names only a reused call id belongs to the open call',
    facts: [
      user('u'),
      call('a1', 'c', 'r1'),
      error('e1', 'c'),
      call('a2', 'c', 'r2'),
      error('e2', 'c'),
      agent('m'),
    ],
    view: ['u', 'a1', 'e1', 'a2', 'e2', 'm'],
    cuts: [0, 1, 3, 5, 6],
  },
  {
    title: 'W3 a result before its call is an orphan, and the call stays pending',
    facts: [user('u'), result('o', 'c', 'a'), call('a', 'c', 'r')],
    view: ['u'],
    cuts: [0, 1],
    open: ['a'],
    dropped: ['o orphan_result'],
  },
  {
    title: 'W4 a batch stays at its position if a user message precedes its result',
    facts: [user('u'), call('a', 'c', 'r'), user('u2'), result('o', 'c', 'a')],
    view: ['u', 'a', 'o', 'u2'],
    cuts: [0, 1, 3, 4],
  },
  {
    title: 'W5 an orphan result changes no cut point',
    facts: [user('u'), result('o', 'z', 'nothing')],
    view: ['u'],
    cuts: [0, 1],
    dropped: ['o orphan_result'],
  },
  {
    title: 'W6 the first of two results wins',
    facts: [call('a', 'c', 'r'), result('o1', 'c', 'a'), result('o2', 'c', 'a')],
    view: ['a', 'o1'],
    cuts: [0, 2],
    dropped: ['o2 duplicate_result'],
  },
  {
    title: 'W7 a call after the result of another call of its response is in a second batch',
    facts: [
      user('u'),
      call('a1', 'c1', 'r'),
      result('o1', 'c1', 'a1'),
      call('a2', 'c2', 'r'),
      result('o2', 'c2', 'a2'),
      user('m'),
      condensation('k', ['a1', 'o1'], 1),
    ],
    view: ['u', 'k-summary', 'a2', 'o2', 'm'],
    cuts: [0, 1, 2, 4, 5],
  },
  {
    title: 'W8 each call is in its own batch if a provider never changes its response id',
    facts: [user('u'), ...pairs(6), condensation('k', ['a0', 'o0'], 1)],
    view: ['u', 'k-summary', ...ids(pairs(6)).slice(2)],
    cuts: [0, 1, 2, 4, 6, 8, 10, 12],
  },
  {
    title: 'W9 two calls of one response that both have text are in one batch',
    facts: [
      call('a1', 'c1', 'r', { thought: [{ text: 'x' }] }),
      call('a2', 'c2', 'r', { thought: [{ text: 'x' }] }),
      result('o2', 'c2', 'a2'),
      result('o1', 'c1', 'a1'),
    ],
    view: ['a1', 'a2', 'o2', 'o1'],
    cuts: [0, 4],
  },
  {
    title: 'W16 after a kill inside a batch, HEAD is the last event and both calls are pending',
    facts: [user('u'), call('a1', 'c1', 'r'), call('a2', 'c2', 'r')],
    view: ['u'],
    open: ['a1', 'a2'],
    head: 'a2',
  },
  {
    title: 'W17 errors after a kill inside a batch are the results of both calls',
    facts: [user('u'), call('a1', 'c1', 'r'), call('a2', 'c2', 'r'), error('e1', 'c1'), error('e2', 'c2')],
    view: ['u', 'a1', 'a2', 'e1', 'e2'],
    open: [],
    head: 'e2',
  },
  {
    title: 'W18 a summary offset beyond the view means its end',
    facts: [user('u'), condensation('k', [], 99)],
    view: ['u', 'k-summary'],
  },
  {
    title: 'W19 a blank summary inserts nothing',
    facts: [user('u'), condensation('k', [], 0, ''), condensation('k2', [], 0, ' \n')],
    view: ['u'],
  },
  {
    title: 'W20 a condensation does not remove an event that is appended later',
    facts: [user('u'), condensation('k', ['later'], 0), user('later')],
    view: ['k-summary', 'u', 'later'],
  },
  {
    title: 'W22 a pause does not end a thinking loop, so the loop contains no cut point',
    facts: [
      user('u'),
      thought('a1', 'c1', 'r1'),
      result('o1', 'c1', 'a1'),
      pause('p'),
      call('a2', 'c2', 'r2'),
      result('o2', 'c2', 'a2'),
      user('u2'),
    ],
    view: ['u', 'a1', 'o1', 'a2', 'o2', 'u2'],
    cuts: [0, 1, 5, 6],
  },
  {
    title: 'W22 condensing the first call of a thinking loop with a pause removes the whole loop',
    facts: [
      user('u'),
      thought('a1', 'c1', 'r1'),
      result('o1', 'c1', 'a1'),
      pause('p'),
      call('a2', 'c2', 'r2'),
      result('o2', 'c2', 'a2'),
      user('u2'),
      condensation('k', ['a1', 'o1'], 1),
    ],
    view: ['u', 'k-summary', 'u2'],
  },
  {
    title: 'W48 HEAD moved to a state update is at the event before it',
    facts: [user('u'), update('s', 'title', 't'), user('x'), update('h', 'leaf_event_id', 's'), user('y')],
    view: ['u', 'y'],
    head: 'y',
  },
  {
    title: 'W49 calls inside an agent message are ignored, and the turn is not over',
    facts: [
      user('u'),
      agent('m', {
        llm_message: {
          role: 'assistant',
          content: [{ text: 'calling' }],
          tool_calls: [{ id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }],
        },
      }),
    ],
    view: ['u', 'm'],
    open: [],
    status: 'idle',
  },
  {
    title: 'U2 each call without a response id is in its own batch',
    facts: [call('a1', 'c1', ''), call('a2', 'c2', ''), result('o2', 'c2', 'a2'), result('o1', 'c1', 'a1')],
    view: ['a1', 'o1', 'a2', 'o2'],
    cuts: [0, 2, 4],
  },
  {
    title: 'U2 a batch has thinking if any of its calls has',
    facts: [
      call('a1', 'c1', 'r1'),
      thought('a2', 'c2', 'r1'),
      result('o1', 'c1', 'a1'),
      result('o2', 'c2', 'a2'),
      call('a3', 'c3', 'r2'),
      result('o3', 'c3', 'a3'),
    ],
    view: ['a1', 'a2', 'o1', 'o2', 'a3', 'o3'],
    cuts: [0, 6],
  },
  {
    title: 'U2 a reply that is placed before messages that arrived during its request gets its result',
    facts: [
      user('u'),
      user('m1'),
      user('m2'),
      user('m3'),
      callAskedAt('u', 'a', 'c', 'r'),
      result('o', 'c', 'a'),
    ],
    view: ['u', 'a', 'o', 'm1', 'm2', 'm3'],
  },
  {
    title: 'U3 a result that names a call of another branch is an orphan, despite an equal call id',
    facts: [
      user('u'),
      call('a1', 'c', 'r1'),
      update('h', 'leaf_event_id', 'u'),
      call('a2', 'c', 'r2'),
      result('o', 'c', 'a1'),
    ],
    view: ['u'],
    open: ['a2'],
    dropped: ['o orphan_result'],
  },
  {
    title: 'U6 a summary offset inside a loop or a batch moves to its end',
    facts: [
      user('u'),
      thought('a1', 'c1', 'r1'),
      result('o1', 'c1', 'a1'),
      call('a2', 'c2', 'r2'),
      result('o2', 'c2', 'a2'),
      user('u2'),
      condensation('k', [], 3),
      condensation('k2', [], 2),
    ],
    view: ['u', 'a1', 'o1', 'a2', 'o2', 'k2-summary', 'k-summary', 'u2'],
  },
  {
    title: 'U6 a summary at the border of a pending batch is inserted before it',
    facts: [user('u'), call('a', 'c', 'r'), user('u2'), condensation('k', [], 1), result('o', 'c', 'a')],
    view: ['u', 'k-summary', 'a', 'o', 'u2'],
  },
  {
    title: 'U6 a later result completes a condensed call, and the call stays out of the view',
    facts: [user('u'), call('a', 'c', 'r'), condensation('k', ['a'], 1), result('o', 'c', 'a')],
    view: ['u', 'k-summary'],
    open: [],
    dropped: ['o orphan_result'],
  },
  ...PART_CASES,
]
