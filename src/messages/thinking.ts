/** Which thinking may go back to the provider that made it, byte for byte. */

import type { RedactedThinkingBlock, ThinkingBlock } from '../event/shapes.ts'
import { isWellFormed } from './text.ts'

/** Thinking under its signature. */
export interface SignedThinking {
  readonly thinking: string
  readonly signature: string
}

/** Thinking that only its provider can read. */
export interface RedactedThinking {
  readonly data: string
}

/**
 * What a provider takes back of a block: null when it is unsigned or empty, or holds a lone surrogate, since a text
 * without bytes cannot go back byte for byte. O(length).
 */
export function returnable(
  block: ThinkingBlock | RedactedThinkingBlock,
): SignedThinking | RedactedThinking | null {
  if (!('thinking' in block))
    return block.data !== '' && isWellFormed(block.data) ? { data: block.data } : null
  const { thinking, signature } = block
  return signature && isWellFormed(signature) && isWellFormed(thinking) ? { thinking, signature } : null
}
