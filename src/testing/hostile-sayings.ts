/** Arbitrary steps of hostile logs, one for each thing a fact can say. */

import * as fc from 'fast-check'
import type { EVENT_KINDS } from '../event/kinds.ts'
import type { JsonObject } from '../event/shapes.ts'
import { STATUSES } from '../state/status.ts'
import { BODIES } from './bodies.ts'
import { back, placing, summaryBack, text } from './hostile-placing.ts'
import type { Asked, Ref, Saying, Step } from './hostile-steps.ts'
import { shape } from './shape.ts'
import { anyText } from './text.ts'
import { always, weighed } from './weighed.ts'

/** A saying at an arbitrary place. */
export const say = (saying: fc.Arbitrary<Saying>): fc.Arbitrary<Step> =>
  fc.tuple(placing(), saying).map(([where, what]) => ({ placing: where, saying: what }))

/** A call as a step says it. */
export type Call = Extract<Saying, { readonly say: 'call' }>

const pooledCallId = (): fc.Arbitrary<Call['callId']> =>
  weighed<Call['callId']>(
    [2, always({ as: 'fresh' })],
    [3, fc.constantFrom('c0', 'c1', 'c2', '').map((each) => ({ as: 'text', text: each }))],
  )

/** A call. */
export const call = (
  response: fc.Arbitrary<Call['response']>,
  body = BODIES.ActionEvent(),
  callId = pooledCallId(),
  { after, end }: { readonly after?: fc.Arbitrary<Asked>; readonly end?: fc.Arbitrary<JsonObject> } = {},
): fc.Arbitrary<Step> =>
  say(
    shape({
      say: always('call'),
      body,
      response,
      callId,
      ...(after === undefined ? {} : { after }),
      ...(end === undefined ? {} : { end }),
    }),
  )

/** What a reply was asked at: mostly a fact not far back, now and then one that is later, unknown, or no id at all. */
export const asked = (place = back()): fc.Arbitrary<Asked> =>
  weighed<Asked>(
    [12, place],
    [1, summaryBack()],
    [2, always('later')],
    [2, always(true)],
    [1, text('unknown', 'e1')],
    [1, always(null)],
    [1, always(7)],
  )

/** What a record says of the end of a reply: mostly nothing. */
const ends = (): fc.Arbitrary<JsonObject> =>
  weighed<JsonObject>(
    [4, always({})],
    [2, always({ interrupted: true })],
    [2, fc.constantFrom('truncated', 'paused', 'refused', 'filtered').map((outcome) => ({ outcome }))],
    [1, fc.constantFrom('done', 'TRUNCATED', true, null, ['paused']).map((outcome) => ({ outcome }))],
  )

/** What a record says of the provider's own calls: that some wait behind the reply, or no more do. */
export const waits = (min: number, max: number): fc.Arbitrary<JsonObject> =>
  weighed<JsonObject>(
    [19, fc.integer({ min, max }).map((count) => ({ waits: count }))],
    [1, fc.constantFrom(1.5, '1', true, null, 2 ** 60).map((count) => ({ waits: count }))],
  )

/** A message of the agent that says what it was asked at. */
export const reply = (after = asked(), end = ends()): fc.Arbitrary<Step> =>
  say(
    shape({
      say: always('reply'),
      body: BODIES.MessageEvent().map((body) => ({ ...body, source: 'agent' as const })),
      after,
      end,
    }),
  )

/** A message that knows of no reply. */
export const message = (): fc.Arbitrary<Step> =>
  say(
    BODIES.MessageEvent().chain((body) =>
      fc
        .constantFrom('user' as const, 'user' as const, 'environment' as const)
        .map((source): Saying => ({ say: 'event', body: { ...body, source } })),
    ),
  )

/** The response of the latest call, a new one, or one that others are of, too. */
export const anyResponse = (): fc.Arbitrary<Call['response']> =>
  weighed<Call['response']>(
    [4, always({ as: 'same' })],
    [3, always({ as: 'fresh' })],
    [2, fc.constantFrom('r0', '').map((each) => ({ as: 'text', text: each }))],
  )

type AnswerKind = 'ObservationEvent' | 'UserRejectObservation' | 'AgentErrorEvent'

const anyCall = () =>
  weighed<Ref>(
    [9, fc.nat(2).map((n) => ({ to: 'open', n }))],
    [2, fc.nat(6).map((n) => ({ to: 'call', n }))],
    [1, back()],
  )

/** A result of one of these kinds. */
export const result = (kinds: readonly AnswerKind[], which = anyCall()): fc.Arbitrary<Step> => {
  const bodies = kinds.map((kind): fc.Arbitrary<Extract<Saying, { say: 'result' }>['body']> => BODIES[kind]())
  const body = fc.constantFrom(...bodies).chain((each) => each)
  return say(
    shape({
      say: always('result'),
      body,
      call: which,
      names: weighed<'call' | 'nothing' | 'other'>(
        [8, always('call')],
        [2, always('nothing')],
        [1, always('other')],
      ),
      other: back(),
      callId: weighed<string | null>([8, always(null)], [1, fc.constantFrom('c0', 'c1', 'c-unknown')]),
    }),
  )
}

const ANSWERS: readonly AnswerKind[] = [
  'ObservationEvent',
  'ObservationEvent',
  'UserRejectObservation',
  'AgentErrorEvent',
]

/** A result of any kind, mostly of a pending call. */
export const anyAnswer = () => result(ANSWERS)
/** A result of any kind of the latest pending call. */
export const latest = () => result(ANSWERS, always({ to: 'open', n: 0 }))

const anyListed = () => weighed<Ref>([6, back()], [1, summaryBack()], [1, text('unknown', 'e0', 'e1')])

/** A condensation of some facts, the summary anywhere. */
export const condensation = (listed = anyListed(), minLength = 0): fc.Arbitrary<Step> => {
  const offset = weighed<number | null>([8, fc.nat(9)], [1, fc.constantFrom(null, 99)])
  const body = fc
    .tuple(BODIES.Condensation(), offset, anyText())
    .map(([each, at, summary]) => ({ ...each, summary_offset: at, summary }))
  const list = fc.array(listed, { minLength, maxLength: Math.max(minLength, 4) })
  return say(shape({ say: always('condensation'), body, list }))
}

/** A move of HEAD, mostly to a fact. */
export const head = (place = back()): fc.Arbitrary<Step> =>
  say(
    weighed<Ref | null | 7 | 'absent'>(
      [9, place],
      [2, always(null)],
      [
        2,
        weighed<Ref | 7 | 'absent'>(
          [2, summaryBack()],
          [1, always(7)],
          [1, always('absent')],
          [2, text('later', 'e99')],
        ),
      ],
    ).map((value) => ({ say: 'head', value })),
  )

/** A state update. */
export const update = (key: string, value: fc.Arbitrary<string | null | object>): fc.Arbitrary<Step> =>
  say(
    value.map((each) => ({
      say: 'event',
      body: { kind: 'ConversationStateUpdateEvent', key, value: each as string | null },
    })),
  )

/** A state update that may change the status. */
export const status = (): fc.Arbitrary<Step> => {
  const named = weighed<string | null>(
    [6, fc.constantFrom(...STATUSES)],
    [1, fc.constantFrom('IDLE', '', null)],
  )
  return fc.oneof(
    { weight: 5, arbitrary: update('execution_status', named) },
    {
      weight: 1,
      arbitrary: update(
        'full_state',
        fc.oneof(
          named.map((execution_status) => ({ execution_status })),
          always(null),
          always([]),
          always({}),
        ),
      ),
    },
  )
}

/** An event of one of these kinds, as it comes. */
export const kind = (...kinds: readonly (typeof EVENT_KINDS)[number][]): fc.Arbitrary<Step> =>
  say(
    fc.oneof(
      ...kinds.map((each): fc.Arbitrary<Saying> => BODIES[each]().map((body) => ({ say: 'event', body }))),
    ),
  )

/** A line that could not be read. */
export const broken = (): fc.Arbitrary<Step> =>
  say(
    shape({
      say: always('broken'),
      readable: fc.boolean(),
      kind: fc.constantFrom(null, 'FutureEvent', 'ActionEvent', 'ConversationStateUpdateEvent'),
      raw: fc.constantFrom('{"kind":"FutureEvent"}', '{', '', '{"kind":"ActionEvent"}'),
    }),
  )
