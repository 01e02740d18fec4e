/** Reads where Codex CLI has replaced its history by a shorter one. */

import { type Found, objectsOf, stringOf } from '../../messages/found.ts'
import { contentOf, textIn } from '../content.ts'
import type { Origin, SessionWriter } from '../writer.ts'

/**
 * Takes out what the new history does not repeat. What it says that no event has said follows as messages of the
 * environment; what is sealed in it can be neither read nor sent. O(events in sight + size).
 */
export function replaceHistory(payload: Found, origin: Origin, writer: SessionWriter): void {
  const history = objectsOf(payload['replacement_history'])
  const messages = history.filter(({ type }) => type === undefined || type === 'message')
  const left = new Map<string, number>()
  for (const { content } of messages) left.set(textIn(content), (left.get(textIn(content)) ?? 0) + 1)
  const kept = new Set<string>()
  // From the end, since it is the latest that a shorter history keeps.
  for (const { id, event } of writer.inSight().toReversed()) {
    const text = event?.kind === 'MessageEvent' ? textIn(event.llm_message.content ?? []) : ''
    const count = left.get(text) ?? 0
    if (text === '' || count === 0) continue
    kept.add(id)
    left.set(text, count - 1)
  }
  writer.condense(kept, stringOf(payload['message']), origin)
  for (const [at, { content }] of messages.entries()) {
    const text = textIn(content)
    const count = left.get(text) ?? 0
    if (count === 0 || text === stringOf(payload['message'])) continue
    left.set(text, count - 1)
    writer.say('environment', contentOf(content), { ...origin, id: `line-${origin.line}-kept-${at}` })
  }
  const sealed = history.length - messages.length
  if (sealed > 0) writer.note('sealed parts of a replaced history', origin.line)
}
