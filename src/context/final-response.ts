import type { Event } from '../event/types.ts'
import { type Entry, loadedEvent } from '../log/entry.ts'
import { hasContent } from '../messages/neutral.ts'
import type { State } from '../state/state.ts'
import { isFinalReply } from '../state/status.ts'
import { shownOf } from './text.ts'

/**
 * Returns the agent's final response on HEAD's branch: the text of the last message with content, or the
 * message of the last finish call, whichever is later. Returns an empty string if the branch has neither, or
 * if the finish call or the final reply has no text. O(events since the response).
 * @throws ColloquyError `evicted` if a snapshot or `evict` left out a body that may be the response.
 * @example
 * const llm_message = { role: 'assistant', content: [{ text: 'Done.' }] }
 * finalResponse(replay([{ kind: 'MessageEvent', source: 'agent', llm_message }])) // 'Done.'
 */
export function finalResponse({ log }: State): string {
  for (let entry: Entry | null = log.head; entry !== null; entry = entry.parent) {
    const event = loadedEvent(entry, ['MessageEvent', 'ActionEvent'])
    const text = event === null ? null : finalText(event)
    if (text !== null) return text
  }
  return ''
}

function finalText(event: Event): string | null {
  if (event.kind === 'ActionEvent') {
    if ((event.source ?? 'agent') !== 'agent' || event.tool_name !== 'finish') return null
    const message = event.action?.['message']
    return typeof message === 'string' ? message : ''
  }
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return null
  const content = event.llm_message.content ?? []
  return hasContent(content) || isFinalReply(event) ? shownOf(content).join('') : null
}
