/**
 * Writes out what the writer of an event left to its default: clients go by `source` and `type`, and many know no
 * defaults. What is stored stays as it was given.
 */

import { KINDS } from '../../event/kinds.ts'
import { edit, editObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'

/**
 * The event with its `source`, and with the `type` of each of its texts and images, and of each block of thinking. The
 * very same event where nothing was left out. O(parts).
 *
 * @example
 * withDefaults({ kind: 'PauseEvent' }).source // 'user'
 */
export function withDefaults(event: Event): Event {
  let told = event as object as JsonObject
  for (const name of PARTS) told = edit(told, name, typed)
  for (const [name, field] of HOLDERS) told = editObject(told, name, (holder) => edit(holder, field, typed))
  told = editObject(told, 'llm_message', (message) => edit(message, 'thinking_blocks', typed))
  const source = KINDS[event.kind].defaultSource
  if (told['source'] === undefined && source !== null) told = { ...told, source }
  return told as object as Event
}

/** Fields that are a part, or lists of them. */
const PARTS = ['thought', 'thinking_blocks', 'extended_content', 'system_prompt', 'dynamic_context'] as const

/** Objects, and the field of each that has its parts. */
const HOLDERS = [
  ['llm_message', 'content'],
  ['observation', 'content'],
] as const

/** By a field that nothing else has. */
const TYPES = [
  ['text', 'text'],
  ['image_urls', 'image'],
  ['thinking', 'thinking'],
  ['data', 'redacted_thinking'],
] as const

function typed(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const parts = (value as readonly JsonValue[]).map(typed)
    return parts.some((part, at) => part !== value[at]) ? parts : value
  }
  const part = value as JsonObject
  if (part['type'] !== undefined) return part
  const type = TYPES.find(([field]) => Object.hasOwn(part, field))?.[1]
  return type === undefined ? part : { type, ...part }
}
