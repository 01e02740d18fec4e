/** Removes signatures. A provider rejects them after a change of the reply or of earlier messages. */

import { isObject } from './json.ts'
import type { JsonObject, JsonValue } from './shapes.ts'

type Mask = (text: string) => string

const ENCRYPTED = 'encrypted_content'

/**
 * Returns the event without thinking signatures and encrypted reasoning. Parts in the reply record, which may
 * also be signed, keep only their types and indices. Events outside replies are unchanged. O(size).
 */
export function unsignReply(event: JsonObject, mask: Mask): JsonObject {
  const { kind, source, llm_message: message, tool_call: call } = event
  if (kind === 'ActionEvent')
    return { ...unsignFields(event, mask), ...(isObject(call) && { tool_call: withBareParts(call) }) }
  if (kind !== 'MessageEvent' || source !== 'agent' || !isObject(message)) return event
  return { ...event, llm_message: withBareParts(unsignFields(message, mask)) }
}

function unsignFields(object: JsonObject, mask: Mask): JsonObject {
  const { thinking_blocks: blocks, responses_reasoning_item: item } = object
  return {
    ...object,
    ...(Array.isArray(blocks) && { thinking_blocks: unsignedBlocks(blocks, mask) }),
    ...(isObject(item) &&
      Object.hasOwn(item, ENCRYPTED) && { responses_reasoning_item: { ...item, [ENCRYPTED]: null } }),
  }
}

function withBareParts(object: JsonObject): JsonObject {
  const { reply } = object
  if (!isObject(reply) || !Object.hasOwn(reply, 'parts')) return object
  const { parts, ...rest } = reply
  return { ...object, reply: Array.isArray(parts) ? { ...rest, parts: parts.map(barePart) } : rest }
}

function barePart(part: JsonValue): JsonValue {
  if (!isObject(part)) return null
  const { other } = part
  if (!isObject(other))
    return Object.fromEntries(Object.entries(part).filter(([, index]) => typeof index === 'number'))
  const { type } = other
  const names = Object.keys(other).map((key) => [key, null])
  return { other: typeof type === 'string' ? { type } : Object.fromEntries(names) }
}

/** Returns thinking blocks without signatures. Text of block i: `texts[i]`, else its own, else its masked `data`. */
export function unsignedBlocks(
  blocks: readonly JsonValue[],
  mask: Mask,
  texts: readonly (string | null)[] = [],
): readonly JsonValue[] {
  return blocks.map((block, i) => {
    if (!isObject(block)) return block
    const text = typeof block['thinking'] === 'string' ? block['thinking'] : mask(String(block['data']))
    const signed = Object.hasOwn(block, 'signature') ? { signature: null } : {}
    const typed = Object.hasOwn(block, 'type') ? { type: 'thinking' } : {}
    return { ...typed, thinking: texts[i] ?? text, ...signed }
  })
}
