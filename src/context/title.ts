/** What a conversation may be called: the text to make a title from, and a title made without a model. */

import { pathToEntry } from '../log/ancestry.ts'
import type { State } from '../state/state.ts'
import { ellipsize, textsOf } from './text.ts'
import { loadedEvent } from '../log/entry.ts'

/**
 * The text to make a title from: the first message of a user on HEAD's branch that says something, at most `max` UTF-16
 * units of it (default 1,000); null when there is none. What was added to the message (skills, hooks) is no part of it.
 * O(path).
 *
 * @throws ColloquyError `evicted` when the state comes from a snapshot or `evict`, which dropped a message before the
 * one that is in memory.
 * @example
 * const llm_message = { role: 'user', content: [{ text: ' Mend the build ' }] }
 * titleInput(replay([{ kind: 'MessageEvent', source: 'user', llm_message }])) // 'Mend the build'
 */
export function titleInput({ log }: State, max = 1000): string | null {
  for (const entry of pathToEntry(log.head)) {
    const event = loadedEvent(entry, ['MessageEvent'])
    if (event?.kind !== 'MessageEvent' || event.source !== 'user') continue
    const text = textsOf(event.llm_message.content ?? [])
      .join(' ')
      .trim()
    if (text !== '') return ellipsize(text, max)
  }
  return null
}

/**
 * A title made without a model: the text on one line, at most `max` UTF-16 units of it (default 50). O(text).
 * @example
 * fallbackTitle('Mend the build, then write down what was wrong', 20) // 'Mend the build, t...'
 */
export const fallbackTitle = (text: string, max = 50): string =>
  ellipsize(text.trim().replaceAll(/\s+/g, ' '), max)
