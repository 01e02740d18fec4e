/** What the agent said in the end. */

import type { Event } from '../event/types.ts'
import { type Entry, loadedEvent } from '../log/entry.ts'
import { hasContent } from '../messages/neutral.ts'
import type { State } from '../state/state.ts'
import { shownOf } from './text.ts'

/**
 * The message of the latest finish call of the agent on HEAD's branch, or the latest message in which it said
 * something, whichever came later; the empty text when there is neither, and for a finish call that could not be read.
 * O(events since then).
 *
 * @throws ColloquyError `evicted` when the state comes from a snapshot or `evict`, which dropped the place where it may
 * be.
 * @example
 * const llm_message = { role: 'assistant', content: [{ text: 'Done.' }] }
 * finalResponse(replay([{ kind: 'MessageEvent', source: 'agent', llm_message }])) // 'Done.'
 */
export function finalResponse({ log }: State): string {
  for (let entry: Entry | null = log.head; entry !== null; entry = entry.parent) {
    const event = loadedEvent(entry, ['MessageEvent', 'ActionEvent'])
    const words = event === null ? null : lastWords(event)
    if (words !== null) return words
  }
  return ''
}

function lastWords(event: Event): string | null {
  if (event.kind === 'ActionEvent') {
    if ((event.source ?? 'agent') !== 'agent' || event.tool_name !== 'finish') return null
    const message = event.action?.['message']
    return typeof message === 'string' ? message : ''
  }
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return null
  const content = event.llm_message.content ?? []
  return hasContent(content) ? shownOf(content).join('') : null
}
