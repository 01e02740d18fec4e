/** Findings about replies: those that were cut off, and an agent that goes round in circles. */

import { stuckDetector } from '../../context/stuck/detector.ts'
import { type EarlyEnd, earlyEndOf, replyOf } from '../../event/reply.ts'
import { isCutOff, responseOf } from '../../laws/replies.ts'
import type { Entry } from '../../log/entry.ts'
import { findEventIn } from '../../log/log.ts'
import { listLeavesIn } from '../../state/at.ts'
import { branchOf } from '../../state/state.ts'
import { type Found, found, type Scene } from './scene.ts'

/** What ended a reply early, in words; nothing of one that is sent back to go on. */
const ENDS: Readonly<Record<EarlyEnd, string | null>> = {
  truncated: 'was cut off by its limit of tokens',
  filtered: 'was held back by the provider',
  refused: 'is a refusal',
  paused: null,
}

/** Replies that did not come to their own end. O(n). */
export function* cutOffFindings({ state }: Scene): IterableIterator<Found> {
  const said = new Set<string>()
  for (const entry of state.log.entries) {
    const { event, inTree } = entry
    if (event === null || !inTree) continue
    const reply = responseOf(event)
    if (reply !== null && said.has(reply)) continue
    const end = earlyEndOf(event)
    const words = isCutOff(event) ? 'was cut off by its user' : end === null ? null : ENDS[end]
    if (words === null) continue
    if (reply !== null) said.add(reply)
    const reason: unknown = replyOf(event)?.stop_reason
    const why = typeof reason === 'string' && end !== null ? ` (${reason.slice(0, 40)})` : ''
    const text = `the reply ${words}${why}, so that what it says is not all that its model had to say`
    yield found('cut_off', isCutOff(event) ? 'note' : 'warning', entry, text, { rule: 'D20' })
  }
}

/** Circles at the end of each branch, and where a user came between. O(content of the latest steps) for each. */
export function* loopFindings({ state }: Scene): IterableIterator<Found> {
  const { verdict } = stuckDetector()
  const shown = new Set<string>()
  const ends = new Set<Entry | null>([
    ...Array.from(state.log.entries, ({ event, parent }) =>
      event?.kind === 'MessageEvent' && event.source === 'user' ? parent : null,
    ),
    ...listLeavesIn(state.log),
    state.log.head,
  ])
  for (const end of ends) {
    const stuck = end === null ? null : verdict({ ...state, branch: branchOf(end) })
    const first = stuck === null ? undefined : findEventIn(state.log, stuck.eventIds[0] ?? '')
    if (stuck === null || first === undefined || shown.has(`${stuck.pattern} ${first.seq}`)) continue
    shown.add(`${stuck.pattern} ${first.seq}`)
    const text = `the agent goes round in circles: ${stuck.reason.replace(/\.$/, '')}`
    yield found('loop', 'warning', first, text, { ids: stuck.eventIds })
  }
}
