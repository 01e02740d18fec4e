import type { State } from '../state/state.ts'
import { hasText } from '../event/text.ts'
import { ellipsize, textsOf } from './text.ts'
import { loadedEvent, pathToEntry } from '../log/entry.ts'

/**
 * Returns the text from which to make a title, or null: the first user message with text on HEAD's branch,
 * cut to `max` UTF-16 units (default 1,000). Text that skills and hooks added is ignored. O(path).
 * @throws ColloquyError `evicted` when a snapshot or `evict` left out this message or an earlier message.
 * @example
 * const llm_message = { role: 'user', content: [{ text: ' Mend the build ' }] }
 * titleInput(replay([{ kind: 'MessageEvent', source: 'user', llm_message }])) // 'Mend the build'
 */
export function titleInput({ log }: State, max = 1000): string | null {
  for (const entry of pathToEntry(log.head)) {
    const event = loadedEvent(entry, ['MessageEvent'])
    if (event?.kind !== 'MessageEvent' || event.source !== 'user') continue
    const { content = [] } = event.llm_message
    const text = textsOf(content).join(' ').trim()
    if (hasText(text)) return ellipsize(text, max)
  }
  return null
}

/**
 * Returns a title without a model: the text on one line, cut to `max` UTF-16 units (default 50). O(text).
 * @example
 * fallbackTitle('Mend the build, then write down what was wrong', 20) // 'Mend the build, t...'
 */
export const fallbackTitle = (text: string, max = 50): string =>
  ellipsize(text.trim().replaceAll(/\s+/g, ' '), max)
