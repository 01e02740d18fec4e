/** Findings about condensations that took out what the user had asked for, and do not say it. */

import { hasText, quote } from '../../event/text.ts'
import type { MessageEvent } from '../../event/types.ts'
import type { EventEntry } from '../../log/entry.ts'
import { textsOf } from '../../context/said-text.ts'
import { branchOf } from '../../state/state.ts'
import type { View } from '../../view/view.ts'
import { pathBetween } from '../path.ts'
import { type Found, found, type Scene } from './scene.ts'

/** Words shorter than this say too little of a task. */
const LEAST_WORD = 4

/** The share of the task's words that a summary must have to count as saying it. */
const SHARE = 0.25

/**
 * Condensations of HEAD's branch that took out the first message of a user, or the latest, with a summary that has
 * hardly a word of it. That is a guess about words: a summary in another language is found too. O(path + view for each
 * condensation).
 */
export function* condensationFindings({ state }: Scene): IterableIterator<Found> {
  let task: EventEntry<MessageEvent> | null = null
  for (const entry of pathBetween(null, state.log.head)) {
    const { event, id } = entry
    if (event?.kind === 'MessageEvent' && event.source === 'user') task ??= entry as EventEntry<MessageEvent>
    if (event?.kind !== 'Condensation' || task === null) continue
    const above = branchOf(entry.parent)
    const asked = new Map([
      [task, 'the task'],
      ...(above.lastUserMessage === null || above.lastUserMessage.seq === task.seq
        ? []
        : [[above.lastUserMessage, 'the last message of the user'] as const]),
    ])
    const summary = event.summary ?? ''
    for (const [message, what] of asked) {
      if (!holds(above.view, message) || holds(entry.branch.view, message) || says(summary, message)) continue
      const how = hasText(summary) ? 'its summary has hardly a word of it' : 'it has no summary'
      const text = `the condensation ${quote(id)} took ${what} out of the model's sight, ${quote(message.id)}, and ${how}`
      // That words are missing is a guess; that there are none is not.
      const severity = hasText(summary) ? 'warning' : 'error'
      yield found('forgotten_task', severity, entry, text, { ids: [message.id], rule: 'U6' })
    }
  }
}

function holds({ units }: View, { seq }: EventEntry): boolean {
  for (const unit of units)
    if (unit.type === 'message' && 'seq' in unit.item && unit.item.seq === seq) return true
  return false
}

/** Whether a summary has a fair share of the words of a message; true where that has none to be told by. */
function says(summary: string, { event }: EventEntry<MessageEvent>): boolean {
  const asked = wordsOf(textsOf(event.llm_message.content ?? []).join(' '))
  if (asked.size === 0) return true
  const said = wordsOf(summary)
  return [...asked].filter((word) => said.has(word)).length >= asked.size * SHARE
}

/** How many words of a long message are looked for. */
const MOST_WORDS = 400

function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  return new Set(words.filter((word) => word.length >= LEAST_WORD).slice(0, MOST_WORDS))
}
