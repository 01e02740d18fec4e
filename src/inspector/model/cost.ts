/** What a conversation took: tokens and cost by model and by use, with those that it started. */

import { type Usage, usageOfEvents } from '../../context/usage.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { LogDocument } from '../log-document.ts'
import type { Replayed } from './replayed.ts'

/** What the first so many facts say was spent. O(facts). */
export function usageAt({ states }: Replayed, place: number): Usage {
  const entries = states.at(-1)?.log.entries.slice(0, place) ?? []
  return usageOfEvents(entries.flatMap(({ event, inTree }) => (event === null || !inTree ? [] : [event])))
}

/** What a whole log says was spent. O(facts). */
export const usageIn = ({ facts }: LogDocument): Usage =>
  usageOfEvents(facts.filter((fact): fact is Event => !isQuarantined(fact)))

/** The documents that a conversation started, and those that these did. */
export function childrenOf(parent: LogDocument, all: readonly LogDocument[]): LogDocument[] {
  const found: LogDocument[] = []
  const names = new Set([parent.conversation || parent.title])
  for (let before = -1; before !== found.length;) {
    before = found.length
    for (const log of all) {
      if (log === parent || found.includes(log) || log.parent === null || !names.has(log.parent)) continue
      found.push(log)
      names.add(log.conversation || log.title)
    }
  }
  return found
}
