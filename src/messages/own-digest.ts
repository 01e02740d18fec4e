/**
 * The digest of what is bound within a reply: its parts up to the last signed one, so that a change of any of them is
 * noticed.
 */

import {
  isImagePart,
  isTextPart,
  type ReasoningItemModel,
  type RedactedThinkingBlock,
  type ThinkingBlock,
} from '../event/shapes.ts'
import { type Digest, digestBeside, digestOf, digestOfAll, followedBy, nameOf } from './digest.ts'
import type { AssistantMessage } from './message.ts'
import type { FieldRef, PartRef } from './reply-parts.ts'
import { otherDigest } from './other-parts.ts'
import { type PartsInOrder, reasoningItems } from './parts-in-order.ts'

const [OWN, THINKING, REDACTED, TEXT, IMAGE, PART, CALL, REASONING, ABSENT] = [
  'own',
  'thinking',
  'redacted',
  'text',
  'image',
  'part',
  'call',
  'reasoning',
  'absent',
].map(digestOf) as [Digest, Digest, Digest, Digest, Digest, Digest, Digest, Digest, Digest]

/** The digest of parts of a reply as the log has them. O(parts) where they were seen before, else O(length). */
export const ownDigestOf = (message: AssistantMessage, refs: readonly PartRef[]): Digest =>
  digestOfAll(OWN, ...refs.map((ref) => partDigest(message, ref)))

/**
 * The digest that a reply's record keeps as `own`: of what its last signed part is bound to within it, in the order
 * that its `reply.parts` give. A reader makes the message of the reply first, then this. O(length).
 */
export const ownDigest = (message: AssistantMessage, { refs, bound }: PartsInOrder): string =>
  nameOf(ownDigestOf(message, refs.slice(0, bound)))

/** The digest of one part as the log has it, with what its standard field lacks. */
function partDigest(message: AssistantMessage, ref: PartRef): Digest {
  if (ref.kind === 'other')
    return ref.placeholder === null ? otherDigest(ref.value) : digestOf(ref.placeholder)
  const digest = fieldDigest(message, ref)
  return ref.more === null ? digest : followedBy(digest, otherDigest(ref.more))
}

function fieldDigest(message: AssistantMessage, { kind, at }: FieldRef): Digest {
  switch (kind) {
    case 'thinking': {
      const block = message.thinking_blocks[at]
      return block === undefined ? ABSENT : thinkingDigest(block)
    }
    case 'text': {
      const part = message.content[at]
      if (part === undefined) return ABSENT
      if (isTextPart(part)) return digestOfAll(TEXT, digestBeside(kept(part), 0, part.text))
      if (isImagePart(part)) return digestOfAll(IMAGE, ...part.image_urls.map(digestOf))
      return digestOfAll(PART, digestOf(JSON.stringify(part)))
    }
    case 'call': {
      const call = message.tool_calls[at]
      if (call === undefined) return ABSENT
      const { id, name, arguments: given, responses_item_id } = call
      return digestOfAll(
        CALL,
        digestOf(id),
        digestOf(name),
        digestBeside(call, 0, given),
        digestOf(responses_item_id ?? ''),
      )
    }
    case 'reasoning': {
      const item = reasoningItems(message)[at]
      return item === undefined ? ABSENT : reasoningDigest(item)
    }
  }
}

/** What stands in a log is asked for again; a reply that is being read is not. */
const kept = <T extends object>(part: T): T | null => (Object.isFrozen(part) ? part : null)

/** The digest of a thinking block, signature and all. */
export function thinkingDigest(block: ThinkingBlock | RedactedThinkingBlock): Digest {
  if (!('thinking' in block)) return digestOfAll(REDACTED, digestBeside(kept(block), 0, block.data))
  const { thinking, signature } = block
  const beside = kept(block)
  return digestOfAll(THINKING, digestBeside(beside, 0, thinking), digestBeside(beside, 1, signature ?? ''))
}

/** The digest of what is sent of a reasoning item. */
export function reasoningDigest(item: ReasoningItemModel): Digest {
  const { id, encrypted_content, summary } = item
  const beside = kept(item)
  return digestOfAll(
    REASONING,
    digestOf(id ?? ''),
    digestBeside(beside, 0, encrypted_content ?? ''),
    ...(summary ?? []).map((text, slot) => digestBeside(beside, slot + 1, text)),
  )
}
