/** Appends what a step yields, together with what must follow it at once, so that no crash can come between. */

import { isTextPart } from '../../event/content.ts'
import { isToolResult } from '../../event/kinds.ts'
import { isOfReply, stampAfter } from '../../event/reply.ts'
import { canKindBeHead } from '../../event/tree-rule.ts'
import type { Event, MessageEvent } from '../../event/types.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { AFTER_FINISH, openCallsOf } from '../decide.ts'
import { errorResult } from '../lost-calls.ts'
import { checkEvents } from '../stamp.ts'
import { attachLateResults } from '../late-results.ts'
import { isTurnOver, isFinishCall } from '../turn.ts'
import { statusUpdate } from '../state-updates.ts'
import { add, type RunContext } from './context.ts'

/** What became of events that a step yielded. */
export interface Taken {
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
export async function take(run: RunContext, yielded: readonly Event[], after: string | null): Promise<Taken> {
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
    const stamped = stampAfter(events, after, state.log.head?.id ?? null)
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
