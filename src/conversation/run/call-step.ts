/** Calls the caller's step once. */

import { isTextPart } from '../../event/shapes.ts'
import { isToolResult } from '../../event/kinds.ts'
import { isOfReply, recordRequestHead } from '../../event/reply.ts'
import { canKindBeHead } from '../../event/tree-rule.ts'
import type { Event, MessageEvent } from '../../event/types.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { AFTER_FINISH } from '../../messages/phrases.ts'
import { openCallsOf, errorResult, statusUpdate } from '../decide.ts'
import { checkEvents } from '../stamp.ts'
import { attachLateResults } from '../late-results.ts'
import { isTurnOver, isFinishCall } from '../turn.ts'
import { add, type RunContext } from './context.ts'
import { eventKindOf } from '../../log/entry.ts'
import { hasText } from '../../event/text.ts'
import { toMessages } from '../../messages/neutral.ts'
import type { ReplyOutcome } from '../../messages/reply.ts'
import { requestAfter, errorAfter, errorAfterSilence, isSilence } from './condense.ts'
import { readStep, type StepInput } from './step.ts'

/**
 * The step is called before anything else is waited for.
 * @param startWork starts the work of a call that outlives its reply
 * @throws what the step throws.
 */
export async function callStep(
  run: RunContext,
  state: State,
  approved: StepInput['approved'],
  startWork: StepInput['background'] = run.startWork,
): Promise<void> {
  const { step, signal } = run
  const asked = state.log.head?.id ?? null
  let after = asked
  const streamed: TextSoFar = { text: '' }
  const events: Event[] = []
  let outcome: ReplyOutcome | null = null
  let isOver = false
  const publish = (delta: Event): void => {
    // A step that was left behind may be at work still, beside the next one.
    if (isOver || signal.aborted) return
    run.publish(delta)
    hear(streamed, delta)
  }
  const input = {
    state,
    get messages() {
      return toMessages(state)
    },
    after: asked,
    approved,
    signal,
    publish,
    onPrefix: run.onPrefix,
    background: startWork,
    askChild: run.askChild,
  }
  try {
    for await (const said of readStep(step, input)) {
      const taken = await take({ ...run, publish }, said.events, after)
      after = taken.after
      for (const event of taken.events) hear(streamed, event)
      events.push(...taken.events)
      outcome = said.outcome ?? outcome
    }
  } finally {
    isOver = true
    // A step that is stopped often throws; what it had streamed was read all the same.
    if (signal.aborted) await keepTextSoFar(run, streamed, { after, since: state.log.entries.length })
  }
  if (approved.length === 0) {
    // A step may append what it has to say by itself, and yield nothing.
    const came = run.replica.state.log.entries.length - state.log.entries.length
    run.silences = came <= events.length && isSilence(events) ? run.silences + 1 : 0
  }
  const said = { events, outcome }
  const error = errorAfter(said) ?? errorAfterSilence(run.silences)
  if (error === null) return
  await add(run, (state) => {
    const request = requestAfter(run, said, state)
    return request.length > 0 ? request : [error]
  })
}

/** What of a step's streamed text is in no event yet. */
interface TextSoFar {
  text: string
}

/**
 * Takes in what a step yields or publishes: a delta adds its text, an event of a reply holds all that was streamed
 * before it.
 */
function hear(so: TextSoFar, event: Event): void {
  if (event.kind === 'StreamingDeltaEvent') so.text += event.content ?? ''
  else if (isOfReply(event)) so.text = ''
}

/**
 * Appends the text that a step had streamed and not yielded when an interrupt stopped it: the one thing that may follow
 * the interrupt (law I4). It says that it was cut off, so it changes no status and is no final reply. Nothing where no
 * interrupt stands in the log since the step began. @throws `lease_lost`, what the store throws.
 */
async function keepTextSoFar(
  run: RunContext,
  { text }: TextSoFar,
  { after, since }: { readonly after: string | null; readonly since: number },
): Promise<void> {
  if (!hasText(text)) return
  const message: Event = {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: {
      role: 'assistant',
      content: [{ type: 'text', text }],
      reply: { after, interrupted: true },
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

/** What became of events that a step yielded. */
interface Taken {
  /** What was appended. */
  readonly events: readonly Event[]
  /** What the step's next reply was asked at. */
  readonly after: string | null
}

/**
 * Appends what a step has yielded; deltas are published instead. `after` is the id under HEAD when the step was called:
 * its replies know of nothing that came later, but what the step itself put in right behind it, as a nudge.
 * @throws `invalid_event`, what the store throws.
 */
async function take(run: RunContext, yielded: readonly Event[], after: string | null): Promise<Taken> {
  let now: Taken = { events: [], after }
  for (const part of apart(yielded)) {
    const { events, after: next } = await takePart(run, part, now.after)
    now = { events: [...now.events, ...events], after: next }
  }
  return now
}

/** What a step put in before its reply, and the reply with all that comes with it, which is one batch. */
function apart(events: readonly Event[]): readonly (readonly Event[])[] {
  const start = events.findIndex(isOfReply)
  return start <= 0 ? [events] : [events.slice(0, start), events.slice(start)]
}

async function takePart(run: RunContext, yielded: readonly Event[], after: string | null): Promise<Taken> {
  const kept = yielded.filter((event) => {
    if (event.kind !== 'StreamingDeltaEvent') return true
    run.publish(event)
    return false
  })
  const events = checkEvents(kept)
  if (events.length === 0) return { events: [], after }
  const added = await add(run, (state) => {
    const stamped = recordRequestHead(events, after, state.log.head?.id ?? null)
    return withConsequences(run, state, attachLateResults(state, stamped))
  })
  const appended = added.flatMap(({ id, fact }) => {
    if (!('kind' in fact)) return []
    if (fact.kind === 'ActionEvent' && id !== null) run.newCallIds.add(id)
    return [fact]
  })
  const follows = !events.some(isOfReply) && added[0]?.parentId === after
  const last = added.findLast(({ fact }) => 'kind' in fact && canKindBeHead(fact.kind))
  return { events: appended, after: follows ? (last?.id ?? after) : after }
}

/** Events with what follows from them in the same batch. O(events). */
function withConsequences(run: RunContext, state: State, events: readonly Event[]): Event[] {
  const all = [...events, ...answersAfterFinish(state, events)]
  const before = state.header.status
  let after = state
  for (const event of all) after = reduce(after, event)
  const { status } = after.header
  // A pause holds, whatever else comes of a reply that was in flight.
  if (before === 'paused' && status === 'running') return [...all, statusUpdate('paused')]
  // It is not over while something may be against it: a pending call, an unread message, or a hook.
  const guarded = !isTurnOver(after.branch) || run.hooks.some(({ on }) => on === 'Stop')
  return before !== 'finished' && status === 'finished' && guarded ? [...all, statusUpdate('running')] : all
}

/**
 * Results of calls that came after a finish in the same reply, be it in these events or before, and without one.
 * O(events + pending calls).
 */
function answersAfterFinish(state: State, events: readonly Event[]): Event[] {
  const finished = new Set(
    openCallsOf(state).flatMap(({ event }) => (isFinishCall(event) ? [event.llm_response_id] : [])),
  )
  const ended = new Set(events.flatMap((event) => (isToolResult(event) ? [event.tool_call_id] : [])))
  const results: Event[] = []
  for (const event of events) {
    if (event.kind !== 'ActionEvent' || ended.has(event.tool_call_id)) continue
    const { llm_response_id } = event
    if (finished.has(llm_response_id)) results.push(errorResult(event, AFTER_FINISH))
    else if (isFinishCall(event)) finished.add(llm_response_id)
  }
  return results
}

/** What a message says, as text. */
export const textOf = ({ llm_message, extended_content }: MessageEvent): string =>
  [...(llm_message.content ?? []), ...(extended_content ?? [])]
    .flatMap((part) => (isTextPart(part) ? [part.text] : []))
    .join('\n')
