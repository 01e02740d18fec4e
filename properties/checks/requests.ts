/** M12, M13, M15: requests of a story, its forks and its snapshot. */

import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import type { State } from '../../src/state/state.ts'
import type { Plan } from '../execution/plan.ts'
import type { Story } from '../execution/story.ts'
import { WIRES } from '../wire/reply.ts'
import { checkSent, type ReplyContext, sendState, type Sent, type SentOccurrence } from '../wire/sent.ts'
import { hold, same } from '../../src/testing/failure.ts'

/** Requires the final state. */
export function checkRequests(story: Story, plan: Plan, now: State): SentOccurrence[] {
  const { grammar } = plan
  const changes = changesOf(now, plan)
  const matches: SentOccurrence[] = []
  const check = (sent: Sent, length: number, number: number): void => {
    const input = new Map<string, ReplyContext>()
    for (const { number: requests, sent: request, context: reply, state } of story.begins) {
      if (request === null || reply === null || requests >= number) continue
      const from = state.log.entries.length
      const isIntact = !plan.redacts && !changes.some((seq) => seq >= from && seq < length)
      const { signed, signedAt } = reply
      input.set(reply.model, { seen: request.seen, signed, signedAt, isIntact })
    }
    matches.push(...checkSent(grammar, sent, input))
  }
  for (const { sent, state, number } of story.begins) {
    if (sent !== null) check(sent, state.log.entries.length, number)
  }
  for (const fork of story.forks) {
    if (fork.branch.view.length > 0) check(sendState(grammar, fork), Infinity, Infinity)
  }
  const opened = decodeSnapshot(encodeSnapshot(now), 'c')
  hold('R7', opened !== null, 'the snapshot of the last state cannot be decoded')
  if (now.branch.view.length === 0) return matches
  const last = sendState(grammar, now)
  check(last, Infinity, Infinity)
  same(
    'R7',
    'the request of a state decoded from a snapshot',
    sendState(grammar, opened).request,
    last.request,
  )
  return matches
}

/** Positions of condensations by users, and of system prompts that change the start of the request. */
function changesOf({ log }: State, { grammar }: Plan): number[] {
  const condensed = [...log.entries].flatMap(({ seq, event }) =>
    event?.kind === 'Condensation' && event.llm_response_id === 'condenser' ? [seq] : [],
  )
  const [first = Infinity] = condensed
  const prompts = [...log.entries].flatMap(({ seq, event }) =>
    event?.kind === 'SystemPromptEvent' && (seq > first || !WIRES[grammar].limits.appends) ? [seq] : [],
  )
  return [...condensed, ...prompts]
}
