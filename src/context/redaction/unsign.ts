/**
 * Takes off a reply what its provider has signed or sealed once anything in it is masked, since that is bound to all
 * that the reply says.
 */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { SEALED } from './redact-text.ts'
import type { RedactionRules } from './rules.ts'
import { unsignedBlocks } from './thinking.ts'

/** The fields of events that a model's reply is sent back from. */
// oxfmt-ignore
const SAID = [
  'llm_message', 'thought', 'reasoning_content', 'thinking_blocks', 'responses_reasoning_item', 'tool_name', 'tool_call',
] as const

/** Whether redaction has changed anything that an event's reply says. O(size). */
export const isMasked = (before: JsonObject, after: JsonObject): boolean =>
  SAID.some((field) => before[field] !== after[field] && textOf(before[field]) !== textOf(after[field]))

const textOf = (value: JsonValue | undefined): string => JSON.stringify(value) ?? ''

/**
 * What an event of a reply says, with nothing in it signed: thinking without signatures, reasoning without what only
 * its provider can read, and no parts in the reply's record, as these may hold what is signed too. Any other event as
 * it is. O(size).
 */
export function unsign(event: JsonObject, rules: RedactionRules): JsonObject {
  const { kind, source, llm_message: message, tool_call: call } = event
  if (kind === 'ActionEvent')
    return { ...unsignFields(event, rules), ...(isObject(call) && { tool_call: withBareParts(call) }) }
  if (kind !== 'MessageEvent' || source !== 'agent' || !isObject(message)) return event
  return { ...event, llm_message: withBareParts(unsignFields(message, rules)) }
}

/** What holds thinking and reasoning, in the same order of fields. */
function unsignFields(holder: JsonObject, rules: RedactionRules): JsonObject {
  const { thinking_blocks: blocks, responses_reasoning_item: item } = holder
  const thinking: JsonObject = Array.isArray(blocks) ? { thinking_blocks: unsignedBlocks(blocks, rules) } : {}
  const isSealed = isObject(item) && Object.hasOwn(item, SEALED)
  return {
    ...holder,
    ...thinking,
    ...(isSealed && { responses_reasoning_item: { ...item, [SEALED]: null } }),
  }
}

function withBareParts(holder: JsonObject): JsonObject {
  const { reply } = holder
  if (!isObject(reply) || !Object.hasOwn(reply, 'parts')) return holder
  const { parts, ...kept } = reply
  return { ...holder, reply: Array.isArray(parts) ? { ...kept, parts: parts.map(bare) } : kept }
}

/** A part of which nothing is left but what it is: a reference to its field, or the name of its kind. */
function bare(part: JsonValue): JsonValue {
  if (!isObject(part)) return null
  const { other } = part
  if (!isObject(other))
    return Object.fromEntries(Object.entries(part).filter(([, at]) => typeof at === 'number'))
  const { type } = other
  const names = Object.keys(other).map((key) => [key, null])
  return { other: typeof type === 'string' ? { type } : Object.fromEntries(names) }
}
