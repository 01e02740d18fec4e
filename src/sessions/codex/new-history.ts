/** Reads where Codex CLI has replaced its history by a shorter one. */

import type { JsonValue } from '../../event/shapes.ts'
import { type Found, moreOf, stringOf } from '../../messages/found.ts'
import { blocksOf, contentOf, textIn } from '../content.ts'
import type { Origin, SessionWriter } from '../writer.ts'

/**
 * Takes out what the new history does not repeat. What it says that no event has said follows as messages of the
 * environment; what is sealed in it can be neither read nor sent. O(events in sight + size).
 */
export function replaceHistory(payload: Found, origin: Origin, writer: SessionWriter): void {
  const history = blocksOf(payload['replacement_history'], 'text')
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
  const readable: Found[] = []
  for (const item of history) {
    if (item['type'] === undefined || item['type'] === 'message') continue
    if (isSealed(item)) writer.note('sealed parts of a replaced history', origin.line)
    else readable.push(item)
  }
  const place = { ...origin, id: `line-${origin.line}-others` }
  if (readable.length > 0) writer.update('codex.replacement_history', readable as JsonValue, place)
}

/** Whether an item holds nothing that can be read. */
const isSealed = (item: Found): boolean =>
  typeof item['encrypted_content'] === 'string' &&
  moreOf(item, 'type', 'id', 'status', 'encrypted_content') === null
