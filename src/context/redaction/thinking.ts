/** Thinking blocks after redaction: what was masked is no longer signed, since the provider would refuse it. */

import { isObject } from '../../event/json.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { RedactionRules } from './rules.ts'
import { redactSealed, redactText } from './redact-text.ts'

/**
 * A provider signs what it thought and takes it back byte for byte or not at all, and all blocks of a reply or none. So
 * when one block holds a secret, all of them become thinking without a signature, which no grammar sends as if it were
 * signed: their number stays, and what they said but for the secret. What only the provider could read is then a mask.
 * O(size).
 */
export function redactThinking(blocks: readonly JsonValue[], rules: RedactionRules): readonly JsonValue[] {
  const texts = blocks.map((block) => textOf(block, rules))
  return texts.every((text) => text === null) ? blocks : unsignedBlocks(blocks, rules, texts)
}

/** The blocks as thinking without signatures, with these words where they are given. O(blocks). */
export function unsignedBlocks(
  blocks: readonly JsonValue[],
  rules: RedactionRules,
  texts: readonly (string | null)[] = [],
): readonly JsonValue[] {
  return blocks.map((block, i) => {
    if (!isObject(block)) return block
    const { thinking, data } = block
    const said = texts[i] ?? (typeof thinking === 'string' ? thinking : rules.mask(String(data)))
    const signed = Object.hasOwn(block, 'signature') ? { signature: null } : {}
    const typed = Object.hasOwn(block, 'type') ? { type: 'thinking' } : {}
    return { ...typed, thinking: said, ...signed }
  })
}

/** What stands in place of a block's words when it holds a secret; null when it holds none. */
function textOf(block: JsonValue, rules: RedactionRules): string | null {
  if (!isObject(block)) return null
  const { thinking, signature, data } = block
  if (typeof thinking !== 'string') {
    return typeof data === 'string' && redactSealed(data, rules) === null ? rules.mask(data) : null
  }
  const said = redactText(thinking, rules)
  const open = typeof signature === 'string' && redactSealed(signature, rules) === null
  return said === thinking && !open ? null : said
}
