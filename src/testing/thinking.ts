/**
 * Arbitrary reasoning: signed, unsigned and redacted thinking blocks, and the reasoning items of OpenAI's Responses
 * grammar.
 */

import * as fc from 'fast-check'
import type { ReasoningItemModel, RedactedThinkingBlock, ThinkingBlock } from '../event/shapes.ts'
import { orNull, shape } from './shape.ts'
import { anyText, words } from './text.ts'

/** A signature as a provider makes it: opaque, and different nearly every time. */
const signature = (): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 0xffff }).map((n) => `sig/${n.toString(16)}+==`)

/** A secret that no other text holds by accident, so that a search for its beginning proves a leak. */
export const secretText = (): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 0xffffff }).map((n) => `gAAAA-secret-${n.toString(16).padStart(6, '0')}`)

/**
 * Thinking of any sort: the signature there, null or missing, the text blank or not, or redacted.
 * @example
 * fc.sample(anyThinking(), 1).length // 1
 */
export function anyThinking(): fc.Arbitrary<ThinkingBlock | RedactedThinkingBlock> {
  return fc.oneof(
    {
      weight: 4,
      arbitrary: shape(
        { thinking: anyText() },
        { type: fc.constant('thinking' as const), signature: orNull(signature()) },
      ),
    },
    {
      weight: 1,
      arbitrary: shape({ data: anyText() }, { type: fc.constant('redacted_thinking' as const) }),
    },
  )
}

/**
 * Thinking that its provider signed.
 * @example
 * fc.assert(fc.property(signedThinking(), block => block.signature !== ''))
 */
export function signedThinking(): fc.Arbitrary<ThinkingBlock> {
  return fc
    .tuple(words(), signature())
    .map(([thinking, mark]) => ({ type: 'thinking', thinking, signature: mark }))
}

/**
 * A reasoning item, mostly with content that only the provider can read.
 * @example
 * fc.sample(reasoningItem(), 1).length // 1
 */
export function reasoningItem(): fc.Arbitrary<ReasoningItemModel> {
  return shape(
    {},
    {
      id: orNull(fc.constantFrom('rs_1', 'rs_2', '')),
      summary: fc.array(anyText(), { maxLength: 2 }),
      content: orNull(fc.array(anyText(), { maxLength: 2 })),
      encrypted_content: orNull(secretText()),
      status: orNull(fc.constantFrom('completed', 'in_progress')),
    },
  )
}
