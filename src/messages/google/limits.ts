/** What Google's Gemini takes, before a word of it is written; readers of its replies use it too. */

import type { AssistantMessage } from '../message.ts'
import type { FieldRef } from '../reply-parts.ts'
import { isWellFormed, isWhitespace } from '../text.ts'
import { THINKING_KINDS, thinkingFirst } from '../thinking-parts.ts'
import type { Limits } from '../turns.ts'

export const LIMITS: Limits = {
  grammar: 'google',
  callId: { illegal: /[^!-~]/gu, maxLength: 128 },
  toolNameLength: 64,
  takesImage: (image) =>
    image.from === 'data'
      ? image.mediaType !== 'image/gif'
      : image.secure && typeOfUrl(image.url) !== 'image/gif',
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: false,
  isSigned: (message, ref) => signatureOf(message, ref) !== null,
  more: {},
  pairOf: () => null,
  says: ({ texts, bound, message }) =>
    texts.length > 0 ||
    bound > 0 ||
    thoughtsOf(message).some((block) => 'thinking' in block && !isWhitespace(block.thinking)),
  pauses: false,
  appends: false,
}

/** The thoughts of a reply: those of other models say nothing to this one, and it refuses their signatures. */
export const thoughtsOf = ({ reply, thinking_blocks }: AssistantMessage) =>
  reply?.grammar === 'google' ? thinking_blocks : []

/** The signature with which a part came, and goes back; null where it has none. */
export function signatureOf(message: AssistantMessage, { kind, at }: FieldRef): string | null {
  const block = kind === 'thinking' ? thoughtsOf(message)[at] : undefined
  if (block === undefined || !('thinking' in block)) return null
  const { thinking, signature } = block
  return signature && isWellFormed(signature) && isWellFormed(thinking) ? signature : null
}

/** The type of the image at an address, by the end of that, since the provider wants to be told; a JPEG else. */
export function typeOfUrl(url: string): string {
  const ending = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ''
  return TYPES.get(ending) ?? 'image/jpeg'
}

const TYPES: ReadonlyMap<string, string> = new Map(
  ['gif', 'heic', 'heif', 'png', 'webp'].map((ending) => [ending, `image/${ending}`]),
)
