import * as fc from 'fast-check'
import { deriveEventId, ROOT } from '../event/ids.ts'
import { EVENT_KINDS } from '../event/kinds.ts'
import type { Fact, Quarantined } from '../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { Event, EventOf } from '../event/types.ts'
import { STATUSES } from '../state/status.ts'
import { BODIES, frozen } from './event.ts'
import { always, weighed } from './shape.ts'
import { anyText } from './text.ts'

/**
 * Generates logs of events and undecodable lines, in any order and with any parents. A log usually has 0 to 40
 * facts, and at most 120.
 * @example
 * fc.assert(fc.property(hostileLog(), facts => replay(facts).log.entries.length === facts.length))
 */
export function hostileLog(): fc.Arbitrary<readonly Fact[]> {
  return weighed([11, phrases(18)], [1, phrases(60)]).map((list) =>
    writeHostileLog(list.flat().slice(0, 120)),
  )
}

/** The log so far. Each step receives this log, so that the step can refer to earlier facts. */
interface Written {
  readonly facts: Fact[]
  /** The id of each fact, written or derived; null for a quarantined line without an id. */
  readonly ids: (string | null)[]
  readonly calls: { readonly index: number; readonly callId: string; readonly response: string }[]
  /** Indices of calls with a result. */
  readonly ended: Set<number>
}

type From<T> = (written: Written) => T

type Step = From<Fact>

/** Writes the log of these steps. A step that refers to no fact, or to a fact without an id, uses an unknown id. */
function writeHostileLog(steps: readonly Step[]): readonly Fact[] {
  const written: Written = { facts: [], ids: [], calls: [], ended: new Set() }
  for (const write of steps) {
    const fact = frozen(write(written))
    const index = written.facts.length
    written.facts.push(fact)
    written.ids.push(fact.id ?? ('quarantined' in fact ? null : deriveEventId('', index, fact)))
    if ('kind' in fact && fact.kind === 'ActionEvent')
      written.calls.push({ index, callId: fact.tool_call_id, response: fact.llm_response_id })
  }
  return written.facts
}

type Index = From<number | null>

const factBack =
  (n: number): Index =>
  ({ facts: { length } }) =>
    length === 0 ? null : (length - 1 - n + 512) % length

const callBack =
  (n: number): Index =>
  ({ calls }) =>
    calls.at(-1 - (n % Math.max(1, calls.length)))?.index ?? null

const openCallBack =
  (n: number): Index =>
  ({ calls, ended }) => {
    const open = calls.filter(({ index }) => !ended.has(index))
    return open.at(-1 - (n % Math.max(1, open.length)))?.index ?? null
  }

type Ref = From<string>

const idAt =
  (index: Index): Ref =>
  (written) =>
    written.ids[index(written) ?? -1] ?? 'nowhere'

const summaryOf =
  (index: Index): Ref =>
  (written) =>
    `${idAt(index)(written)}-summary`

// Arbitraries are created once, because creating one costs more than a draw.

const near: fc.Arbitrary<Index> = weighed([4, fc.nat(2)], [2, fc.nat(6)], [1, fc.nat(40)]).map(factBack)
const back = near.map(idAt)
const summaryBack = near.map(summaryOf)
const backTo = (max: number): fc.Arbitrary<Ref> => fc.nat(max).map((n) => idAt(factBack(n)))
const latestSummary = always(summaryOf(factBack(0)))
const textual = (...texts: readonly string[]): fc.Arbitrary<Ref> =>
  fc.constantFrom(...texts).map((text) => () => text)

const nextId: Ref = ({ facts }) => `e${facts.length}`

const anyId = weighed<From<string | undefined>>(
  [60, always(nextId)],
  [2, always(() => undefined)],
  [1, back],
  [1, summaryBack],
  [1, textual('__proto__', 'e1', 'e2-summary', 'é 😀')],
)

type ParentOf = (written: Written, ownId: string) => string | null | undefined

const anyParent = weighed<ParentOf>(
  [50, always(() => undefined)],
  [4, back],
  [
    2,
    fc.constantFrom<ParentOf>(
      () => null,
      () => ROOT,
      (_, ownId) => ownId,
      ({ facts }) => `e${facts.length + 2}`,
    ),
  ],
  [1, weighed([1, textual('', 'unknown', 'toString')], [1, summaryBack])],
)

export const secondsAfter = (second: number): string =>
  `2026-01-01T00:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}Z`

const anyTime = weighed<From<string | undefined>>(
  [30, always(({ facts }) => secondsAfter(facts.length))],
  [
    3,
    fc.constantFrom<From<string | undefined>>(
      () => undefined,
      () => secondsAfter(0),
      ({ facts }) => secondsAfter(120 - facts.length),
      () => '2026-13-01T00:00:00Z',
    ),
  ],
)

/** Generates id, time and parent: mostly the defaults, so that anomalies rarely hide each other's effect. */
const placing = (id = anyId): fc.Arbitrary<From<Pick<Event, 'id' | 'timestamp' | 'parent_id'>>> =>
  fc.tuple(id, anyParent, anyTime).map(([idOf, parentOf, timeOf]) => (written) => {
    const ownId = idOf(written)?.slice(0, 200)
    const timestamp = timeOf(written)
    const parent = parentOf(written, ownId ?? 'self')
    return {
      ...(ownId !== undefined && { id: ownId }),
      ...(timestamp !== undefined && { timestamp }),
      ...(parent !== undefined && { parent_id: parent }),
    }
  })

const placed = (body: fc.Arbitrary<From<Event>>, id = anyId): fc.Arbitrary<Step> =>
  fc.tuple(placing(id), body).map(([identify, write]): Step => (written) => ({
    ...write(written),
    ...identify(written),
  }))

const plain = (body: fc.Arbitrary<Event>, id = anyId): fc.Arbitrary<Step> =>
  placed(
    body.map((event) => () => event),
    id,
  )

const kind = (...kinds: readonly (typeof EVENT_KINDS)[number][]): fc.Arbitrary<Step> =>
  plain(fc.oneof(...kinds.map((each): fc.Arbitrary<Event> => BODIES[each])))

const anyMessage: fc.Arbitrary<Event> = BODIES.MessageEvent.chain((body) =>
  fc.constantFrom('user', 'user', 'environment').map((source) => ({ ...body, source })),
)
const message: fc.Arbitrary<Step> = plain(anyMessage)

type Action = EventOf<'ActionEvent'>

const thinking = BODIES.ActionEvent.map((body): Action => ({
  ...body,
  thinking_blocks: [{ type: 'thinking', thinking: 'step by step', signature: 'sig/0' }],
}))
const wordless = BODIES.ActionEvent.map(
  ({ kind, tool_name, tool_call_id, tool_call, llm_response_id }): Action => ({
    kind,
    tool_name,
    tool_call_id,
    tool_call,
    llm_response_id,
    thought: [],
  }),
)
const wordy = BODIES.ActionEvent.map((body): Action => ({ ...body, thought: [{ text: 'then this' }] }))

type RecordOf = From<JsonObject | null>

/**
 * Generates the field `after` of a reply: usually the id of a recent fact, sometimes a later, unknown or
 * invalid id.
 */
const requested = (ref = back): fc.Arbitrary<From<JsonValue>> =>
  weighed<From<JsonValue>>(
    [12, ref],
    [1, summaryBack],
    [2, always(({ facts }: Written) => `e${facts.length + 1}`)],
    [2, always(() => true)],
    [1, textual('unknown', 'e1')],
    [1, always(() => null)],
    [1, always(() => 7)],
  )

const saw = (ref?: fc.Arbitrary<Ref>): fc.Arbitrary<RecordOf> =>
  requested(ref).map((after) => (written) => ({ after: after(written) }))

const waits = (min: number, max: number): fc.Arbitrary<JsonObject> =>
  weighed<JsonObject>(
    [19, fc.integer({ min, max }).map((count) => ({ waits: count }))],
    [1, fc.constantFrom(1.5, '1', true, null, 2 ** 60).map((count) => ({ waits: count }))],
  )

const pausedEnd: fc.Arbitrary<JsonObject> = always({ outcome: 'paused' })

const anyEnd = weighed<JsonObject>(
  [4, always({})],
  [2, always({ interrupted: true })],
  [2, always({ output: true })],
  [2, fc.constantFrom('truncated', 'paused', 'refused', 'filtered').map((outcome) => ({ outcome }))],
  [1, fc.constantFrom('done', 'TRUNCATED', true, null, ['paused']).map((outcome) => ({ outcome }))],
)

/** Generates the id of a call; null means a new id. */
const anyCallId: fc.Arbitrary<string | null> = weighed(
  [2, always(null)],
  [3, fc.constantFrom('c0', 'c1', 'c2', '')],
)
const mostlyNewCallId: fc.Arbitrary<string | null> = weighed([3, always(null)], [2, always('c0')])

const freshReply: Ref = ({ facts }) => `r${facts.length}`
const sameReply: Ref = (written) => written.calls.at(-1)?.response ?? freshReply(written)
const anyReply: fc.Arbitrary<Ref> = weighed(
  [4, always(sameReply)],
  [3, always(freshReply)],
  [2, textual('r0', '', '')],
)

const call = (
  response: fc.Arbitrary<Ref>,
  body = BODIES.ActionEvent,
  callId = anyCallId,
  record: fc.Arbitrary<RecordOf> = always(() => null),
): fc.Arbitrary<Step> =>
  placed(
    fc.tuple(body, response, callId, record).map(([action, responseOf, knownId, recordOf]) => (written) => {
      const id = knownId ?? `c${written.facts.length}`
      const reply = recordOf(written)
      // A provider's id of a call may differ from the id in the log.
      const providerId = knownId === null && { id }
      return {
        ...action,
        tool_call_id: id,
        tool_call: { ...action.tool_call, ...providerId, ...(reply !== null && { reply }) },
        llm_response_id: responseOf(written),
      }
    }),
  )

const callIn = (response: Ref) => (body?: fc.Arbitrary<Action>, record?: fc.Arbitrary<RecordOf>) =>
  call(always(response), body, mostlyNewCallId, record)
const fresh = callIn(freshReply)
const same = callIn(sameReply)
/** Generates a call in a new reply. `end`: fields of the reply's record, such as the number of results it awaits. */
const ending = (end: fc.Arbitrary<JsonObject>): fc.Arbitrary<Step> =>
  fresh(
    wordless,
    end.map((fields) => () => fields),
  )
const opens: fc.Arbitrary<Step> = ending(weighed([4, waits(1, 2)], [1, pausedEnd]))
const brings: fc.Arbitrary<Step> = ending(waits(-2, -1))

const reply = (after = requested(), end = anyEnd): fc.Arbitrary<Step> =>
  placed(
    fc.tuple(BODIES.MessageEvent, after, end).map(([body, afterOf, fields]) => (written) => ({
      ...body,
      source: 'agent',
      llm_message: { ...body.llm_message, reply: { after: afterOf(written), ...fields } },
    })),
  )
const paused: fc.Arbitrary<Step> = reply(requested(backTo(0)), pausedEnd)

const anyCall: fc.Arbitrary<Index> = weighed(
  [8, fc.nat(2).map(openCallBack)],
  [4, fc.nat(6).map(callBack)],
  [1, near],
)

type Result = EventOf<'ObservationEvent' | 'UserRejectObservation' | 'AgentErrorEvent'>

const anyResult = weighed<Result>(
  [2, BODIES.ObservationEvent],
  [1, BODIES.UserRejectObservation],
  [1, BODIES.AgentErrorEvent],
)

/**
 * Returns the `action_id` of a result for a call: the id of this call, of another open call, of any event, or
 * an unknown id.
 */
type NamedBy = (call: Index) => Ref

const anyName = weighed<NamedBy>(
  [5, always(idAt)],
  [9, always(() => idAt(openCallBack(1)))],
  [5, always(() => () => 'nothing')],
  [1, back.map((other) => () => other)],
)

const result = (
  body = anyResult,
  call = anyCall,
  name = anyName,
  callId: fc.Arbitrary<string | null> = weighed<string | null>(
    [8, always(null)],
    [1, fc.constantFrom('c0', 'c1', 'c-unknown')],
  ),
): fc.Arbitrary<Step> =>
  placed(
    fc.tuple(body, call, name, callId).map(([event, indexOf, nameOf, knownId]) => (written) => {
      // Computed before the call is marked as ended, because `nameOf` may choose an open call.
      const action_id = nameOf(indexOf)(written)
      const index = indexOf(written)
      if (index !== null) written.ended.add(index)
      const ended = written.calls.find((each) => each.index === index)
      const link = { ...event, tool_call_id: knownId ?? ended?.callId ?? 'c-none' }
      return link.kind === 'AgentErrorEvent' ? link : { ...link, action_id }
    }),
  )
const latest: fc.Arbitrary<Step> = result(anyResult, always(openCallBack(0)))
const error: fc.Arbitrary<Step> = result(BODIES.AgentErrorEvent)

const workingResult = BODIES.ObservationEvent.map((event) => ({
  ...event,
  observation: { kind: 'WorkingObservation', content: [], task: 1 },
}))
const working = result(workingResult, anyCall, always(idAt), always(null))

/** Generates completions or progress reports with a call's id, which `fields` may override. */
const ofCall = (fields: fc.Arbitrary<JsonObject>, write: (value: JsonObject) => Event): fc.Arbitrary<Step> =>
  placed(
    fc.tuple(weighed([6, fc.nat(2).map(callBack)], [1, near]), fields).map(
      ([index, more]) =>
        (written) =>
          write({ action_id: idAt(index)(written), ...more }),
    ),
  )

const completion = ofCall(
  weighed<JsonObject>(
    [6, fc.constantFrom('done', 'failed', 'cancelled', 'lost').map((outcome) => ({ outcome }))],
    [1, fc.constantFrom<JsonObject>({ outcome: 7 }, { action_id: null }, { tool_call_id: 1 })],
  ),
  (completes) => ({
    kind: 'MessageEvent',
    source: 'environment',
    llm_message: { role: 'user', content: [{ type: 'text', text: 'it is done' }], completes },
  }),
)

const progress = ofCall(
  fc.constantFrom<JsonObject>({ progress: 0.5 }, { task: 2, content: 'half' }, { action_id: 4 }, {}),
  (value) => ({ kind: 'ConversationStateUpdateEvent', source: 'environment', key: 'call_progress', value }),
)

const anyListed: fc.Arbitrary<Ref> = weighed([6, back], [1, summaryBack], [1, textual('unknown', 'e0', 'e1')])

const condensation = (listed = anyListed, minLength = 0): fc.Arbitrary<Step> => {
  const offset = weighed<number | null>([8, fc.nat(9)], [1, fc.constantFrom(null, 99)])
  const list = fc.array(listed, { minLength, maxLength: Math.max(minLength, 4) })
  return placed(
    fc
      .tuple(BODIES.Condensation, offset, anyText, list)
      .map(([body, summary_offset, summary, refs]) => (written) => ({
        ...body,
        summary_offset,
        summary,
        forgotten_event_ids: [...new Set(refs.map((ref) => ref(written)))],
      })),
  )
}
const condenses = (listed: fc.Arbitrary<Ref>): fc.Arbitrary<Step> => condensation(listed, 1)

const oddTarget = weighed<From<JsonValue | undefined>>(
  [2, summaryBack],
  [1, always(() => 7)],
  [1, always(() => undefined)],
  [2, textual('later', 'e99')],
)

const head = (ref = back): fc.Arbitrary<Step> =>
  placed(
    weighed<From<JsonValue | undefined>>([9, ref], [2, always(() => null)], [2, oddTarget]).map(
      (target) => (written) => {
        const value = target(written)
        const move = { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id' } as const
        return value === undefined ? move : { ...move, value }
      },
    ),
  )

const update = (key: string, value: fc.Arbitrary<JsonValue>): fc.Arbitrary<Step> =>
  plain(value.map((each) => ({ kind: 'ConversationStateUpdateEvent', key, value: each })))

const anyStatus = weighed<string | null>(
  [6, fc.constantFrom(...STATUSES)],
  [1, fc.constantFrom('IDLE', '', null)],
)
const wholeState = fc.oneof(
  anyStatus.map((execution_status) => ({ execution_status })),
  fc.constantFrom<JsonValue>(null, [], {}),
)
const status = weighed([5, update('execution_status', anyStatus)], [1, update('full_state', wholeState)])

/** A quarantined line, with its id and parent if readable (design D16). */
const broken: fc.Arbitrary<Step> = fc
  .tuple(
    placing(),
    fc.boolean(),
    fc.constantFrom(null, 'FutureEvent', 'ActionEvent', 'ConversationStateUpdateEvent'),
    fc.constantFrom('{"kind":"FutureEvent"}', '{', '', '{"kind":"ActionEvent"}'),
  )
  .map(([identify, isReadable, eventKind, raw]) => (written): Quarantined => {
    const { timestamp: _, ...identity } = identify(written)
    return {
      quarantined: true,
      raw,
      issues: [{ loc: ['kind'], msg: 'Unknown kind of event', type: 'union_tag_invalid' }],
      ...(isReadable && identity.id !== undefined && identity),
      ...(eventKind !== null && { event_kind: eventKind }),
    }
  })

const freshAt = (n: number): fc.Arbitrary<Step> => fresh(BODIES.ActionEvent, saw(backTo(n)))
const sameAt = (n: number): fc.Arbitrary<Step> => same(wordless, saw(backTo(n)))
const replyAt = (n: number): fc.Arbitrary<Step> => reply(requested(backTo(n)))
const forgets = (n: number): fc.Arbitrary<Step> => condenses(backTo(n))

const single = weighed(
  [7, kind('MessageEvent')],
  [5, call(anyReply)],
  [2, reply()],
  [1, call(anyReply, BODIES.ActionEvent, anyCallId, saw())],
  [6, result()],
  [2, condensation()],
  [2, head()],
  [1, working],
  [1, completion],
  [1, progress],
  [2, status],
  [2, kind('CondensationRequest', 'CondensationSummaryEvent')],
  [1, kind('SystemPromptEvent')],
  [1, kind('PauseEvent', 'InterruptEvent', 'ConversationErrorEvent')],
  [1, kind(...EVENT_KINDS)],
  [3, broken],
).map((step) => [step])

const related: readonly (readonly [weight: number, ...steps: fc.Arbitrary<Step>[]])[] = [
  [2, fresh(), same(), result(), result()],
  [3, message, message, replyAt(3), replyAt(4)],
  [2, freshAt(0), message, sameAt(2), latest, latest, replyAt(5)],
  [1, message, freshAt(1), latest, message, sameAt(4), latest],
  [2, message, message, forgets(4), replyAt(4)],
  [1, freshAt(0), error, message, sameAt(3), forgets(2), latest],
  [2, fresh(), same(), result(), same(), result(), forgets(4)],
  [1, fresh(), error, same(wordless)],
  [1, fresh(), error, same(wordy)],
  [4, fresh(thinking), latest, fresh(wordless), latest, forgets(3)],
  [1, opens, latest, weighed([2, paused], [1, opens]), latest, brings, latest, forgets(5)],
  [2, opens, latest, brings, latest, fresh(wordless), latest, forgets(5)],
  [1, paused, weighed([1, paused], [2, replyAt(0)]), forgets(1)],
  [1, fresh(), forgets(0), result()],
  [2, forgets(3), condenses(latestSummary)],
  [2, fresh(), update('execution_status', always('waiting_for_confirmation')), latest],
  [1, kind('PauseEvent'), fresh(), fresh()],
  [1, kind('ConversationErrorEvent'), kind('MessageEvent')],
  [1, forgets(3), plain(anyMessage, latestSummary)],
  [4, kind('SystemPromptEvent'), message, kind('SystemPromptEvent'), forgets(0)],
  [5, fresh(), working, progress, message, completion],
  [2, fresh(), same(), working, completion, working, completion, completion],
  [2, fresh(), working, forgets(0), progress, head(backTo(2)), completion],
  [2, update('execution_status', always('running')), head(backTo(1)), kind('MessageEvent')],
]

/** A few related steps, so that rare situations occur. Random parents can put them on different branches. */
const phrase = weighed<readonly Step[]>(
  [22, single],
  ...related.map(([weight, ...steps]) => [weight, fc.tuple(...steps)] as const),
)

const phrases = (maxLength: number) => fc.array(phrase, { maxLength, size: 'max' })
