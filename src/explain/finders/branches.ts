/** Findings about branches with work that HEAD has left. */

import { isToolResult } from '../../event/kinds.ts'
import { quote } from '../../event/text.ts'
import { isOnPathIn } from '../../log/ancestry.ts'
import type { Entry } from '../../log/entry.ts'
import { listLeavesIn } from '../../state/at.ts'
import { hangsOn, whereHeadLeft } from '../path.ts'
import { counted, type Found, found, type Scene } from './scene.ts'

/**
 * Branches that HEAD is not on and that hold results of tools or replies. One that HEAD was moved away from is worth
 * knowing; one that was left by an event that names an older parent may be lost. O(n · branches).
 */
export function* branchFindings({ state }: Scene): IterableIterator<Found> {
  const { head } = state.log
  const seen = new Set<Entry>()
  for (const leaf of listLeavesIn(state.log)) {
    if (head !== null && isOnPathIn(leaf, head)) continue
    const own: Entry[] = []
    for (let at: Entry | null = leaf; at !== null && !seen.has(at); at = at.parent) {
      if (head !== null && isOnPathIn(at, head)) break
      seen.add(at)
      own.push(at)
    }
    const results = own.filter(({ event }) => event !== null && isToolResult(event)).length
    const replies = own.filter(
      ({ event }) => event?.kind === 'MessageEvent' && event.source === 'agent',
    ).length
    const first = own.at(-1)
    if (first === undefined || results + replies === 0) continue
    const by = whereHeadLeft(state, first)?.by ?? null
    const moved = by?.event?.kind === 'ConversationStateUpdateEvent'
    const work = [
      ...(results === 0 ? [] : [counted(results, 'result')]),
      ...(replies === 0 ? [] : [counted(replies, 'message')]),
    ].join(' and ')
    const isBefore = head === null || isOnPathIn(head, first)
    const how =
      by === null || (isBefore && !moved)
        ? `HEAD ${isBefore ? 'stands before it' : 'is on another one'}`
        : moved
          ? `HEAD was moved off it by ${quote(by.id)}`
          : `${quote(by.id)} ${hangsOn(by)}${by.parent === null ? '' : ', before it'}`
    const text = `a branch with ${work} of the agent is out of the model's sight: ${how}`
    yield found('lost_branch', moved ? 'note' : 'warning', leaf, text, {
      ids: [by?.id, first.id],
      rule: 'D7',
    })
  }
}
