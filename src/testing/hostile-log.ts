/**
 * Arbitraries of hostile logs: decodable events in any order, with the repeated ids and contradictions of
 * real and forged logs.
 */

import * as fc from 'fast-check'
import { deriveEventId, ROOT } from '../event/ids.ts'
import { EVENT_KINDS } from '../event/kinds.ts'
import type { Fact, Quarantined } from '../event/quarantine.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { Event, EventOf } from '../event/types.ts'
import { STATUSES } from '../state/status.ts'
import { BODIES, frozen } from './event.ts'
import { always, shape, weighed } from './shape.ts'
import { anyText } from './text.ts'

type Action = EventOf<'ActionEvent'>

const thinking = (): fc.Arbitrary<Action> =>
  BODIES.ActionEvent().map((body) => ({
    ...body,
    thinking_blocks: [{ type: 'thinking', thinking: 'step by step', signature: 'sig/0' }],
  }))
const wordless = (): fc.Arbitrary<Action> =>
  BODIES.ActionEvent().map(({ kind, tool_name, tool_call_id, tool_call, llm_response_id }) => ({
    kind,
    tool_name,
    tool_call_id,
    tool_call,
    llm_response_id,
    thought: [],
  }))
const wordy = (): fc.Arbitrary<Action> =>
  BODIES.ActionEvent().map((body) => ({ ...body, thought: [{ text: 'then this' }] }))

const ownValue = () =>
  weighed<Call['callId']>([3, always({ as: 'fresh' })], [2, always({ as: 'text', text: 'c0' })])
const same = (body = BODIES.ActionEvent()) => call(always({ as: 'same' }), body, ownValue())
const fresh = (body = BODIES.ActionEvent()) => call(always({ as: 'fresh' }), body, ownValue())
/** Calls of a new or the latest reply, with the event that they saw. */
const freshAt = (back: fc.Arbitrary<Ref>) =>
  call(always({ as: 'fresh' }), BODIES.ActionEvent(), ownValue(), { after: requested(back) })
const sameAt = (back: fc.Arbitrary<Ref>) =>
  call(always({ as: 'same' }), wordless(), ownValue(), { after: requested(back) })
const backTo = (max: number, summary = false): fc.Arbitrary<Ref> =>
  fc.nat(max).map((n) => ({ to: 'back', n, summary }))

const opens = () =>
  call(always({ as: 'fresh' }), wordless(), ownValue(), {
    end: weighed([4, waits(1, 2)], [1, always({ outcome: 'paused' })]),
  })
const brings = () => call(always({ as: 'fresh' }), wordless(), ownValue(), { end: waits(-2, -1) })
const paused = (back: fc.Arbitrary<Ref>) => replyStep(requested(back), always({ outcome: 'paused' }))

const underIdOf = (of: fc.Arbitrary<Ref>) =>
  fc.tuple(messageStep(), of).map(([{ placing, saying }, ref]): Step => ({
    placing: { ...placing, id: { as: 'ref', ref } },
    saying,
  }))

const error = () => result(['AgentErrorEvent'])

/** A few related steps, so that rare situations occur often enough; their placings still separate them. */
const phrase = (): fc.Arbitrary<readonly Step[]> => {
  const one = weighed(
    [7, kind('MessageEvent')],
    [5, call(anyResponse())],
    [2, replyStep()],
    [1, call(anyResponse(), BODIES.ActionEvent(), undefined, { after: requested() })],
    [6, anyAnswer()],
    [2, condensation()],
    [2, head()],
    [1, working()],
    [1, completion()],
    [1, progress()],
    [2, statusStep()],
    [2, kind('CondensationRequest', 'CondensationSummaryEvent')],
    [1, kind('SystemPromptEvent')],
    [1, kind('PauseEvent', 'InterruptEvent', 'ConversationErrorEvent')],
    [1, kind(...EVENT_KINDS)],
    [2, broken()],
  ).map((step) => [step])
  const related: readonly (readonly [weight: number, ...steps: fc.Arbitrary<Step>[]])[] = [
    [2, fresh(), same(), anyAnswer(), anyAnswer()],
    [2, messageStep(), messageStep(), replyStep(requested(backTo(3))), replyStep(requested(backTo(4)))],
    [
      2,
      freshAt(backTo(0)),
      messageStep(),
      sameAt(backTo(2)),
      latest(),
      latest(),
      replyStep(requested(backTo(5))),
    ],
    [1, messageStep(), freshAt(backTo(1)), latest(), messageStep(), sameAt(backTo(4)), latest()],
    [2, messageStep(), messageStep(), condensation(backTo(4), 1), replyStep(requested(backTo(4)))],
    [1, freshAt(backTo(0)), error(), messageStep(), sameAt(backTo(3)), condensation(backTo(2), 1), latest()],
    [2, fresh(), same(), anyAnswer(), same(), anyAnswer(), condensation(backTo(4), 1)],
    [1, fresh(), error(), same(wordless())],
    [1, fresh(), error(), same(wordy())],
    [3, fresh(thinking()), latest(), fresh(wordless()), latest(), condensation(backTo(3), 1)],
    [
      1,
      opens(),
      latest(),
      weighed([2, paused(backTo(0))], [1, opens()]),
      latest(),
      brings(),
      latest(),
      condensation(backTo(5), 1),
    ],
    [2, opens(), latest(), brings(), latest(), fresh(wordless()), latest(), condensation(backTo(5), 1)],
    [
      1,
      paused(backTo(0)),
      weighed([1, paused(backTo(0))], [2, replyStep(requested(backTo(0)))]),
      condensation(backTo(1), 1),
    ],
    [1, fresh(), condensation(backTo(0), 1), anyAnswer()],
    [2, condensation(backTo(3), 1), condensation(backTo(0, true), 1)],
    [2, fresh(), update('execution_status', always('waiting_for_confirmation')), latest()],
    [1, kind('PauseEvent'), fresh(), fresh()],
    [1, kind('ConversationErrorEvent'), kind('MessageEvent')],
    [1, condensation(backTo(3), 1), underIdOf(backTo(0, true))],
    [2, kind('SystemPromptEvent'), messageStep(), kind('SystemPromptEvent'), condensation(backTo(0), 1)],
    [3, fresh(), working(), progress(), messageStep(), completion()],
    [2, fresh(), same(), working(), completion(), working(), completion(), completion()],
    [1, fresh(), working(), condensation(backTo(0), 1), progress(), head(backTo(2)), completion()],
    [2, update('execution_status', always('running')), head(backTo(1)), kind('MessageEvent')],
  ]
  return weighed<readonly Step[]>(
    [20, one],
    ...related.map(([weight, ...steps]) => [weight, fc.tuple(...steps)] as const),
  )
}

const phrases = (maxLength: number) => fc.array(phrase(), { maxLength, size: 'max' })

/**
 * Generates any log: events and undecodable lines in any order, with any parents. Usually 0 to 40 facts, at
 * most 120.
 * @example
 * fc.assert(fc.property(hostileLog(), facts => replay(facts).log.entries.length === facts.length))
 */
export function hostileLog(): fc.Arbitrary<readonly Fact[]> {
  return weighed([11, phrases(18)], [1, phrases(60)]).map((list) =>
    writeHostileLog(list.flat().slice(0, 120)),
  )
}

const say = (saying: fc.Arbitrary<Saying>): fc.Arbitrary<Step> =>
  fc.tuple(placing(), saying).map(([where, what]) => ({ placing: where, saying: what }))

type Call = Extract<Saying, { readonly say: 'call' }>

const pooledCallId = (): fc.Arbitrary<Call['callId']> =>
  weighed<Call['callId']>(
    [2, always({ as: 'fresh' })],
    [3, fc.constantFrom('c0', 'c1', 'c2', '').map((each) => ({ as: 'text', text: each }))],
  )

const call = (
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

/** The event that a reply saw: usually a recent fact, sometimes a later, unknown or invalid one. */
const requested = (position = back()): fc.Arbitrary<Asked> =>
  weighed<Asked>(
    [12, position],
    [1, summaryBack()],
    [2, always('later')],
    [2, always(true)],
    [1, textual('unknown', 'e1')],
    [1, always(null)],
    [1, always(7)],
  )

const ends = (): fc.Arbitrary<JsonObject> =>
  weighed<JsonObject>(
    [4, always({})],
    [2, always({ interrupted: true })],
    [2, fc.constantFrom('truncated', 'paused', 'refused', 'filtered').map((outcome) => ({ outcome }))],
    [1, fc.constantFrom('done', 'TRUNCATED', true, null, ['paused']).map((outcome) => ({ outcome }))],
  )

const waits = (min: number, max: number): fc.Arbitrary<JsonObject> =>
  weighed<JsonObject>(
    [19, fc.integer({ min, max }).map((count) => ({ waits: count }))],
    [1, fc.constantFrom(1.5, '1', true, null, 2 ** 60).map((count) => ({ waits: count }))],
  )

const replyStep = (after = requested(), end = ends()): fc.Arbitrary<Step> =>
  say(
    shape({
      say: always('reply'),
      body: BODIES.MessageEvent().map((body) => ({ ...body, source: 'agent' as const })),
      after,
      end,
    }),
  )

const messageStep = (): fc.Arbitrary<Step> =>
  say(
    BODIES.MessageEvent().chain((body) =>
      fc
        .constantFrom('user' as const, 'user' as const, 'environment' as const)
        .map((source): Saying => ({ say: 'event', body: { ...body, source } })),
    ),
  )

const anyResponse = (): fc.Arbitrary<Call['response']> =>
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

const result = (kinds: readonly AnswerKind[], which = anyCall()): fc.Arbitrary<Step> => {
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

const anyAnswer = () => result(ANSWERS)
const latest = () => result(ANSWERS, always({ to: 'open', n: 0 }))

const working = () =>
  say(
    fc.tuple(BODIES.ObservationEvent(), anyCall()).map(([body, which]): Saying => ({
      say: 'result',
      body: { ...body, observation: { kind: 'WorkingObservation', content: [], task: 1 } },
      call: which,
      names: 'call',
      other: { to: 'back', n: 0 },
      callId: null,
    })),
  )

const completion = () =>
  say(
    shape({
      say: always('completion'),
      call: weighed<Ref>([6, fc.nat(2).map((n) => ({ to: 'call', n }))], [1, back()]),
      field: weighed<JsonObject>(
        [6, fc.constantFrom('done', 'failed', 'cancelled', 'lost').map((outcome) => ({ outcome }))],
        [1, fc.constantFrom<JsonObject>({ outcome: 7 }, { action_id: null }, { tool_call_id: 1 })],
      ),
    }),
  )

const progress = () =>
  say(
    shape({
      say: always('progress'),
      call: weighed<Ref>([6, fc.nat(2).map((n) => ({ to: 'call', n }))], [1, back()]),
      field: fc.constantFrom<JsonObject>(
        { progress: 0.5 },
        { task: 2, content: 'half' },
        { action_id: 4 },
        {},
      ),
    }),
  )

const anyListed = () => weighed<Ref>([6, back()], [1, summaryBack()], [1, textual('unknown', 'e0', 'e1')])

const condensation = (listed = anyListed(), minLength = 0): fc.Arbitrary<Step> => {
  const offset = weighed<number | null>([8, fc.nat(9)], [1, fc.constantFrom(null, 99)])
  const body = fc
    .tuple(BODIES.Condensation(), offset, anyText())
    .map(([each, index, summary]) => ({ ...each, summary_offset: index, summary }))
  const list = fc.array(listed, { minLength, maxLength: Math.max(minLength, 4) })
  return say(shape({ say: always('condensation'), body, list }))
}

const head = (position = back()): fc.Arbitrary<Step> =>
  say(
    weighed<Ref | null | 7 | 'absent'>(
      [9, position],
      [2, always(null)],
      [
        2,
        weighed<Ref | 7 | 'absent'>(
          [2, summaryBack()],
          [1, always(7)],
          [1, always('absent')],
          [2, textual('later', 'e99')],
        ),
      ],
    ).map((value) => ({ say: 'head', value })),
  )

const update = (key: string, value: fc.Arbitrary<string | null | object>): fc.Arbitrary<Step> =>
  say(
    value.map((each) => ({
      say: 'event',
      body: { kind: 'ConversationStateUpdateEvent', key, value: each as string | null },
    })),
  )

const statusStep = (): fc.Arbitrary<Step> => {
  const named = weighed<string | null>(
    [6, fc.constantFrom(...STATUSES)],
    [1, fc.constantFrom('IDLE', '', null)],
  )
  return weighed(
    [5, update('execution_status', named)],
    [
      1,
      update(
        'full_state',
        fc.oneof(
          named.map((execution_status) => ({ execution_status })),
          always(null),
          always([]),
          always({}),
        ),
      ),
    ],
  )
}

const kind = (...kinds: readonly (typeof EVENT_KINDS)[number][]): fc.Arbitrary<Step> =>
  say(
    fc.oneof(
      ...kinds.map((each): fc.Arbitrary<Saying> => BODIES[each]().map((body) => ({ say: 'event', body }))),
    ),
  )

const broken = (): fc.Arbitrary<Step> =>
  say(
    shape({
      say: always('broken'),
      readable: fc.boolean(),
      kind: fc.constantFrom(null, 'FutureEvent', 'ActionEvent', 'ConversationStateUpdateEvent'),
      raw: fc.constantFrom('{"kind":"FutureEvent"}', '{', '', '{"kind":"ActionEvent"}'),
    }),
  )

const near = (): fc.Arbitrary<number> => weighed([4, fc.nat(2)], [2, fc.nat(6)], [1, fc.nat(40)])
const back = (): fc.Arbitrary<Ref> => near().map((n) => ({ to: 'back', n }))
const summaryBack = (): fc.Arbitrary<Ref> => near().map((n) => ({ to: 'back', n, summary: true }))
const textual = (...texts: readonly string[]): fc.Arbitrary<Ref> =>
  fc.constantFrom(...texts).map((each) => ({ to: 'text', text: each }))

const id = (): fc.Arbitrary<Placing['id']> =>
  weighed<Placing['id']>(
    [60, always({ as: 'fresh' })],
    [2, always({ as: 'absent' })],
    [1, back().map((ref) => ({ as: 'ref', ref }))],
    [1, summaryBack().map((ref) => ({ as: 'ref', ref }))],
    [1, textual('__proto__', 'e1', 'e2-summary', 'é 😀').map((ref) => ({ as: 'ref', ref }))],
  )

const parent = (): fc.Arbitrary<Placing['parent']> =>
  weighed<Placing['parent']>(
    [50, always({ as: 'absent' })],
    [4, back().map((ref) => ({ as: 'ref', ref }))],
    [2, fc.constantFrom('null', 'root', 'self', 'later').map((as) => ({ as }))],
    [
      1,
      weighed([1, textual('', 'unknown', 'toString')], [1, summaryBack()]).map((ref) => ({ as: 'ref', ref })),
    ],
  )

const placing = (): fc.Arbitrary<Placing> =>
  shape({
    id: id(),
    parent: parent(),
    time: weighed<Placing['time']>(
      [30, always('next')],
      [3, fc.constantFrom('absent', 'same', 'earlier', 'unreadable')],
    ),
  })

interface Written {
  readonly facts: Fact[]
  /** The id of each fact, derived ones included; null for a line without one. */
  readonly ids: (string | null)[]
  readonly calls: { readonly index: number; readonly callId: string; readonly response: string }[]
  readonly ended: Set<number>
}

/** Writes the facts of the steps. Total: a step without a target uses an unknown id. */
function writeHostileLog(steps: readonly Step[]): readonly Fact[] {
  const written: Written = { facts: [], ids: [], calls: [], ended: new Set() }
  for (const { placing, saying } of steps) {
    const fact = frozen(
      saying.say === 'broken'
        ? brokenLine(written, placing, saying)
        : { ...eventOf(written, saying), ...placed(written, placing) },
    )
    const index = written.facts.length
    written.facts.push(fact)
    written.ids.push(fact.id ?? ('quarantined' in fact ? null : deriveEventId('', index, fact)))
    if ('kind' in fact && fact.kind === 'ActionEvent') {
      written.calls.push({ index: index, callId: fact.tool_call_id, response: fact.llm_response_id })
    }
  }
  return written.facts
}

function position(written: Written, ref: Ref): number | null {
  if (ref.to === 'text') return null
  if (ref.to === 'back')
    return written.facts.length === 0 ? null : (written.facts.length - 1 - ref.n + 512) % written.facts.length
  const calls =
    ref.to === 'call' ? written.calls : written.calls.filter((call) => !written.ended.has(call.index))
  return calls.at(-1 - (ref.n % Math.max(1, calls.length)))?.index ?? null
}

function idOf(written: Written, ref: Ref): string {
  if (ref.to === 'text') return ref.text
  const index = position(written, ref)
  const id = (index === null ? null : written.ids[index]) ?? 'nowhere'
  return ref.summary === true ? `${id}-summary` : id
}

function askedAt(written: Written, requested: Asked): string | true | null | 7 {
  if (requested === 'later') return `e${written.facts.length + 1}`
  return requested === null || requested === true || requested === 7 ? requested : idOf(written, requested)
}

const recordOf = (
  written: Written,
  { after, end }: { readonly after?: Asked; readonly end?: JsonObject },
): JsonObject => ({ ...(after === undefined ? {} : { after: askedAt(written, after) }), ...end })

function placed(written: Written, placing: Placing): Pick<Event, 'id' | 'timestamp' | 'parent_id'> {
  const index = written.facts.length
  const { id, parent, time } = placing
  const ownId =
    id.as === 'fresh' ? `e${index}` : id.as === 'ref' ? idOf(written, id.ref).slice(0, 200) : undefined
  return {
    ...(ownId === undefined ? {} : { id: ownId }),
    ...timestampField(index, time),
    ...(parent.as === 'absent' ? {} : { parent_id: parentIdOf(written, parent, ownId ?? 'self') }),
  }
}

function timestampField(timestamp: number, time: Placing['time']): { readonly timestamp?: string } {
  if (time === 'absent') return {}
  if (time === 'unreadable') return { timestamp: '2026-13-01T00:00:00Z' }
  const second = time === 'next' ? timestamp : time === 'same' ? 0 : 120 - timestamp
  const clock = `${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}`
  return { timestamp: `2026-01-01T00:${clock}Z` }
}

function parentIdOf(written: Written, parent: Placing['parent'], ownValue: string): string | null {
  if (parent.as === 'null') return null
  if (parent.as === 'root') return ROOT
  if (parent.as === 'self') return ownValue
  if (parent.as === 'ref') return idOf(written, parent.ref)
  return `e${written.facts.length + 2}`
}

function eventOf(written: Written, saying: Exclude<Saying, { readonly say: 'broken' }>): Event {
  switch (saying.say) {
    case 'event':
      return saying.body
    case 'call': {
      const { body, response, callId } = saying
      const id = callId.as === 'fresh' ? `c${written.facts.length}` : callId.text
      return {
        ...body,
        tool_call_id: id,
        tool_call: {
          ...body.tool_call,
          // A provider's id of a call may differ from the id in the log.
          ...(callId.as === 'fresh' && { id }),
          ...(saying.after === undefined && saying.end === undefined
            ? {}
            : { reply: recordOf(written, saying) }),
        },
        llm_response_id:
          response.as === 'text'
            ? response.text
            : ((response.as === 'same' ? written.calls.at(-1)?.response : undefined) ??
              `r${written.facts.length}`),
      }
    }
    case 'reply': {
      const { body } = saying
      const reply = recordOf(written, saying)
      return { ...body, llm_message: { ...body.llm_message, reply } as typeof body.llm_message }
    }
    case 'result': {
      const index = position(written, saying.call)
      if (index !== null) written.ended.add(index)
      const call = written.calls.find((each) => each.index === index)
      const link = { ...saying.body, tool_call_id: saying.callId ?? call?.callId ?? 'c-none' }
      if (link.kind === 'AgentErrorEvent') return link
      const actionId =
        saying.names === 'call'
          ? idOf(written, saying.call)
          : saying.names === 'other'
            ? idOf(written, saying.other)
            : 'nothing'
      return { ...link, action_id: actionId }
    }
    case 'completion': {
      const completes = { action_id: idOf(written, saying.call), ...saying.field }
      const llm_message = {
        role: 'user',
        content: [{ type: 'text', text: 'it is done' }],
        completes,
      } as const
      return { kind: 'MessageEvent', source: 'environment', llm_message }
    }
    case 'progress': {
      const value = { action_id: idOf(written, saying.call), ...saying.field }
      return { kind: 'ConversationStateUpdateEvent', source: 'environment', key: 'call_progress', value }
    }
    case 'condensation':
      return {
        ...saying.body,
        forgotten_event_ids: [...new Set(saying.list.map((ref) => idOf(written, ref)))],
      }
    case 'head': {
      const { value } = saying
      const head = { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id' } as const
      if (value === 'absent') return head
      return { ...head, value: typeof value === 'object' && value !== null ? idOf(written, value) : value }
    }
  }
}

/** A line in quarantine, with its id and parent if readable (design D16). */
function brokenLine(
  written: Written,
  placing: Placing,
  line: Extract<Saying, { readonly say: 'broken' }>,
): Quarantined {
  const { id, parent_id } = placed(written, placing)
  return {
    quarantined: true,
    raw: line.raw,
    issues: [{ loc: ['kind'], msg: 'Unknown kind of event', type: 'union_tag_invalid' }],
    ...(line.readable && id !== undefined ? { id, ...(parent_id === undefined ? {} : { parent_id }) } : {}),
    ...(line.kind === null ? {} : { event_kind: line.kind }),
  }
}

type Ref =
  | { readonly to: 'back' | 'call' | 'open'; readonly n: number; readonly summary?: boolean }
  | { readonly to: 'text'; readonly text: string }

/** The event that a reply recorded: a reference, its parent, a later one, nothing, or an unreadable value. */
type Asked = Ref | 'later' | true | null | 7

/** Nearly always the defaults: one anomaly at a time shows its effect. */
interface Placing {
  readonly id: { readonly as: 'fresh' | 'absent' } | { readonly as: 'ref'; readonly ref: Ref }
  readonly parent:
    | { readonly as: 'absent' | 'null' | 'root' | 'self' | 'later' }
    | { readonly as: 'ref'; readonly ref: Ref }
  readonly time: 'next' | 'absent' | 'same' | 'earlier' | 'unreadable'
}

type Saying =
  | { readonly say: 'event'; readonly body: Event }
  | {
      readonly say: 'call'
      readonly body: EventOf<'ActionEvent'>
      readonly response: { readonly as: 'same' | 'fresh' } | { readonly as: 'text'; readonly text: string }
      readonly callId: { readonly as: 'fresh' } | { readonly as: 'text'; readonly text: string }
      readonly after?: Asked
      readonly end?: JsonObject
    }
  | {
      readonly say: 'reply'
      readonly body: EventOf<'MessageEvent'>
      readonly after: Asked
      readonly end: JsonObject
    }
  | {
      readonly say: 'result'
      readonly body:
        | EventOf<'ObservationEvent'>
        | EventOf<'UserRejectObservation'>
        | EventOf<'AgentErrorEvent'>
      readonly call: Ref
      readonly names: 'call' | 'nothing' | 'other'
      readonly other: Ref
      readonly callId: string | null
    }
  | {
      /** Completes a call, or reports progress; `field`: the completion's other fields, valid or not. */
      readonly say: 'completion' | 'progress'
      readonly call: Ref
      readonly field: JsonObject
    }
  | { readonly say: 'condensation'; readonly body: EventOf<'Condensation'>; readonly list: readonly Ref[] }
  | { readonly say: 'head'; readonly value: Ref | null | 7 | 'absent' }
  | {
      readonly say: 'broken'
      readonly readable: boolean
      readonly kind: string | null
      readonly raw: string
    }

interface Step {
  readonly placing: Placing
  readonly saying: Saying
}
