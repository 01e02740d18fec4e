import { withoutNulls } from '../../event/json.ts'
import { isTextPart } from '../../event/shapes.ts'
import { isToolResult } from '../../event/kinds.ts'
import { isOfReply, recordRequestHead, replyOf } from '../../event/reply.ts'
import { canKindBeHead } from '../../event/tree-rule.ts'
import type { ActionEvent, Event, MessageEvent } from '../../event/types.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { AFTER_FINISH } from '../../messages/phrases.ts'
import { isWorkingIn, type StartedWork } from '../background.ts'
import { errorResults, openCallsOf, statusUpdate, unknownCall } from '../decide.ts'
import { checkEvents } from '../stamp.ts'
import { attachLateResults } from '../late-results.ts'
import { isTurnOver } from '../turn.ts'
import { add, type RunContext } from './context.ts'
import { planCalls } from './plan-calls.ts'
import { eventKindOf } from '../../log/entry.ts'
import { hasText } from '../../event/text.ts'
import { isOnlyRecord, toMessages } from '../../messages/neutral.ts'
import { stretchBefore } from '../../view/units.ts'
import type { Reply, ReplyOutcome } from '../../messages/reply.ts'
import { errorAfter, errorAfterEmptyReplies, isEmptyOutput, isOutOfRoom, requestIf } from './condense.ts'
import { readStep, type StepInput } from './step.ts'

/** Calls the step, before any `await`, and appends what it yields. */
export async function callStep(
  run: RunContext,
  state: State,
  approved: StepInput['approved'],
): Promise<void> {
  const { step, signal } = run
  const head = state.log.head?.id ?? null
  let after = head
  const streamed: TextSoFar = { text: '' }
  const events: Event[] = []
  let outcome: ReplyOutcome | null = null
  let isOver = false
  const publish: StepInput['publish'] = (delta, soFar) => {
    // An abandoned step may still be running while the next step runs.
    if (isOver || signal.aborted) return
    run.publish(delta)
    recordText(streamed, delta)
    streamed.soFar = soFar
  }
  const started: StartedWork[] = []
  const startWork: StepInput['background'] = async (call) => {
    const work = isOver ? null : await run.startWork(call)
    // Unconfirmed work would keep its job, and `close` would wait for it.
    if (isOver) work?.confirm(false)
    if (isOver || work === null)
      throw unknownCall(call.id, 'belongs to a step that has ended. Call background() during the step')
    started.push(work)
    return work
  }
  const input = {
    state,
    get messages() {
      return toMessages(state)
    },
    after: head,
    approved,
    signal,
    publish,
    onPrefix: run.onPrefix,
    background: startWork,
    runChild: run.runChild,
    withBodies: (next: State) => run.replica.withBodies(next),
  }
  try {
    for await (const output of readStep(step, input)) {
      for (const part of appendsOf(output.events)) {
        const appended = await appendPart({ ...run, publish }, part, after)
        after = appended.after
        for (const event of appended.events) recordText(streamed, event)
        events.push(...appended.events)
      }
      outcome = output.outcome ?? outcome
    }
  } finally {
    isOver = true
    try {
      // A stopped step often throws, but live readers have already read its text.
      if (signal.aborted) await keepTextSoFar(run, streamed, { after, since: state.log.entries.length })
    } finally {
      // If an interrupt prevented the append of a WorkingObservation, its call is not completed later.
      for (const work of started) work.confirm(isWorkingIn(run.replica.state, work.call))
    }
  }
  if (approved.length === 0) {
    // A step may append events itself, and yield no events.
    const added = run.replica.state.log.entries.length - state.log.entries.length
    run.emptyReplies = added <= events.length && isEmptyOutput(events) ? run.emptyReplies + 1 : 0
  }
  const output = { events, outcome }
  const error = errorAfter(output) ?? errorAfterEmptyReplies(run.emptyReplies)
  if (error === null) return
  await add(run, (state) => {
    const request = requestIf(isOutOfRoom(output), run, state)
    return request.length > 0 ? request : [error]
  })
}

interface TextSoFar {
  text: string
  soFar?: (() => Reply) | undefined
}

function recordText(streamed: TextSoFar, event: Event): void {
  if (event.kind === 'StreamingDeltaEvent') streamed.text += event.content ?? ''
  else if (isOfReply(event)) streamed.text = ''
}

/**
 * Appends the text that an interrupted step has streamed but not yielded. Only this event may follow the
 * interrupt (law I4). The message is marked as interrupted, so it changes no status and is not a final reply.
 * If no interrupt was appended since the step began, appends nothing.
 */
async function keepTextSoFar(
  run: RunContext,
  { text, soFar }: TextSoFar,
  { after, since }: { readonly after: string | null; readonly since: number },
): Promise<void> {
  if (!hasText(text)) return
  const [first] = soFar?.().events ?? []
  const { model, tokens } = (first && replyOf(first)) ?? {}
  const message: Event = {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: {
      role: 'assistant',
      content: [{ type: 'text', text }],
      reply: { ...withoutNulls({ model, tokens }), after, interrupted: true },
    },
  } as Event
  await add(
    run,
    ({ header, log }) => {
      const stopped = log.entries.slice(since).some((entry) => eventKindOf(entry) === 'InterruptEvent')
      return stopped && header.status !== 'deleting' ? [message] : []
    },
    { whenAborted: true },
  )
}

/** Divides events into appends: first the events before the reply, then the reply with its calls. */
function appendsOf(yielded: readonly Event[]): readonly (readonly Event[])[] {
  const start = yielded.findIndex(isOfReply)
  return start <= 0 ? [yielded] : [yielded.slice(0, start), yielded.slice(start)]
}

/**
 * Appends what a step yielded, and publishes deltas. `after` is the id of HEAD when the step was called. A
 * reply is based on the events up to `after`, and on the step's events that directly follow, such as a nudge.
 */
async function appendPart(run: RunContext, yielded: readonly Event[], after: string | null) {
  const stored = yielded.filter((event) => {
    if (event.kind !== 'StreamingDeltaEvent') return true
    run.publish(event)
    return false
  })
  const checked = checkEvents(stored)
  if (checked.length === 0) return { events: [], after }
  // The failure of a continuation is not stored, because the next reply continues the paused one (U5).
  const lost = checked.filter((event) => isOnlyRecord(event) && isContinued(run.replica.state))
  const kept = checked.filter((event) => !lost.includes(event))
  const added = await add(run, (state) => {
    const events = joinTextToCalls(state, kept)
    const stamped = recordRequestHead(events, after, state.log.head?.id ?? null)
    return withConsequences(run, state, attachLateResults(state, stamped))
  })
  const appended = added.flatMap(({ id, fact }) => {
    if (!('kind' in fact)) return []
    if (fact.kind === 'ActionEvent' && id !== null) run.newCallIds.add(id)
    return [fact]
  })
  const isContiguous = !checked.some(isOfReply) && added[0]?.parentId === after
  const last = added.findLast(({ fact }) => 'kind' in fact && canKindBeHead(fact.kind))
  return { events: [...appended, ...lost], after: isContiguous ? (last?.id ?? after) : after }
}

/** Whether the last reply is paused, or waits for results of the provider's tools, so the next continues it (U5). */
function isContinued({ branch }: State): boolean {
  const { paused, waits } = stretchBefore(branch.view.units, Infinity)
  return paused || waits > 0
}

/**
 * Joins a message to the pending calls that have its `llm_response_id` (law M7): the message's text becomes a
 * thought of the first of these calls. If this call is already in the log, or if the message has other content,
 * the message lists the calls instead, so that it is not a final reply. O((events + pending calls) · messages).
 */
function joinTextToCalls(state: State, events: readonly Event[]): readonly Event[] {
  const joined: (Event | null)[] = [...events]
  for (const [index, event] of events.entries()) {
    if (event.kind !== 'MessageEvent' || !isOfReply(event) || !event.llm_response_id) continue
    const { kind: _kind, source: _source, llm_response_id, llm_message, ...fields } = event
    const { role, content = [], ...others } = llm_message
    const ended = new Set(events.slice(0, index).map((one) => isToolResult(one) && one.tool_call_id))
    const logged = openCallsOf(state).map((entry) => entry.event)
    const calls = [...logged, ...joined].filter(
      (one): one is ActionEvent =>
        one?.kind === 'ActionEvent' &&
        one.llm_response_id === llm_response_id &&
        !ended.has(one.tool_call_id),
    )
    const [call] = calls
    if (call === undefined || role !== 'assistant') continue
    const position = joined.indexOf(call)
    const own = events[position]
    const isText = content.every(isTextPart) && Object.keys({ ...fields, ...others }).length === 0
    if (own?.kind === 'ActionEvent' && isText) {
      const before = position < index ? 0 : own.thought.length
      const thought = call.thought.toSpliced(call.thought.length - before, 0, ...content)
      joined[position] = { ...call, thought: Object.freeze(thought) }
      joined[index] = null
    } else {
      // The arguments are left out, so that no copy of them remains when the call is erased.
      const list = calls.map(({ tool_call: { id, name, origin } }) => ({ id, name, origin, arguments: '{}' }))
      joined[index] = { ...event, llm_message: { ...llm_message, tool_calls: list } }
    }
  }
  return joined.filter((event) => event !== null)
}

function withConsequences(run: RunContext, state: State, yielded: readonly Event[]): Event[] {
  const before = state.header.status
  let after = state
  for (const event of yielded) after = reduce(after, event)
  // The calls after a `finish` call end at once, because the step itself may end the `finish` call.
  const isCalled = yielded.some(({ kind }) => kind === 'ActionEvent')
  const calls = isCalled ? planCalls(after, () => false, run.newCallIds).skip : []
  const skipped = errorResults(calls, AFTER_FINISH)
  for (const event of skipped) after = reduce(after, event)
  const events = [...yielded, ...skipped]
  const { status } = after.header
  // The status stays `paused`, even if the reply in flight would set it to `running`.
  if (before === 'paused' && status === 'running') return [...events, statusUpdate('paused')]
  // The turn is not finished while a call is pending, a message is unread, or a Stop hook may object.
  const mayContinue = !isTurnOver(after.branch) || run.hooks.some(({ on }) => on === 'Stop')
  return before !== 'finished' && status === 'finished' && mayContinue
    ? [...events, statusUpdate('running')]
    : events
}

export const messageText = ({ llm_message, extended_content }: MessageEvent): string =>
  [...(llm_message.content ?? []), ...(extended_content ?? [])]
    .flatMap((part) => (isTextPart(part) ? [part.text] : []))
    .join('\n')
