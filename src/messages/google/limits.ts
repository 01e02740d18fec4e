/** What Google's Gemini takes, before a word of it is written; readers of its replies use it too. */

import type { JsonObject, RedactedThinkingBlock, ThinkingBlock } from '../../event/shapes.ts'
import { isObject } from '../../event/json.ts'
import type { AssistantMessage } from '../message.ts'
import { pairParts } from '../pairs.ts'
import { hasOwnParts } from '../parts-in-order.ts'
import type { FieldRef } from '../reply-parts.ts'
import { isWellFormed } from '../text.ts'
import { THINKING_KINDS, thinkingFirst } from '../thinking-parts.ts'
import type { AssistantTurn, Limits, PairHalf } from '../turns.ts'
import { KINDS } from './kinds.ts'
import { PARTS } from './part-shapes.ts'

export const LIMITS: Limits = {
  grammar: 'google',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 128 },
  toolNameLength: 64,
  takesImage: (image) =>
    image.from === 'data'
      ? image.mediaType !== 'image/gif'
      : image.secure && typeOfUrl(image.url) !== 'image/gif',
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: false,
  isSigned: (message, ref) => signatureOf(message, ref) !== null,
  more: { text: KINDS.text.more, thinking: KINDS.text.more, call: KINDS.functionCall.more },
  pairOf,
  pairs: pairParts,
  says: (turn) => turn.bound > 0 || saysMore(turn) || thoughtsIn(turn.message).some(isTold),
  pauses: false,
  appends: false,
}

/** Whether a reply says anything but what the model thought, whatever of it is signed. */
export const saysMore = (turn: AssistantTurn): boolean =>
  turn.calls.length > 0 || turn.texts.length > 0 || hasOwnParts(turn)

/** The thoughts of a reply: those of other models say nothing to this one, and it refuses their signatures. */
const thoughtsIn = ({ reply, thinking_blocks }: AssistantMessage) =>
  reply?.grammar === 'google' ? thinking_blocks : []

/** A thought of this model; null where there is none. */
export function thoughtAt(message: AssistantMessage, at: number): ThinkingBlock | null {
  const block = thoughtsIn(message)[at]
  return block !== undefined && 'thinking' in block ? block : null
}

/** Whether a thought that has no signature goes back. */
export const isTold = (block: ThinkingBlock | RedactedThinkingBlock): boolean =>
  'thinking' in block && !block.signature && block.thinking !== ''

/** The signature with which a part came, and goes back; null where it has none. */
export function signatureOf(message: AssistantMessage, { kind, at, more }: FieldRef): string | null {
  const block = kind === 'thinking' ? thoughtAt(message, at) : null
  const signature = kind === 'thinking' ? block?.signature : more?.['thoughtSignature']
  const isSound = typeof signature === 'string' && signature !== '' && isWellFormed(signature)
  return isSound && isWellFormed(block?.thinking ?? '') ? signature : null
}

/** What the provider has called or executed itself has an id in common with its result, where it has one. */
function pairOf({
  toolCall,
  toolResponse,
  executableCode,
  codeExecutionResult,
}: JsonObject): PairHalf | null {
  return (
    half('call', 'tool', toolCall) ??
    half('result', 'tool', toolResponse) ??
    half('call', 'code', executableCode) ??
    half('result', 'code', codeExecutionResult)
  )
}

function half(is: 'call' | 'result', of: string, value: unknown): PairHalf | null {
  const id = isObject(value as JsonObject) ? (value as JsonObject)['id'] : undefined
  return typeof id === 'string' ? { half: is, id: `${of} ${id}`, waits: true } : null
}

/** The type of the image at an address, by the end of that, since the provider wants to be told; a JPEG else. */
export function typeOfUrl(url: string): string {
  const ending = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ''
  return TYPES.get(ending) ?? 'image/jpeg'
}

const TYPES: ReadonlyMap<string, string> = new Map(
  ['gif', 'heic', 'heif', 'png', 'webp'].map((ending) => [ending, `image/${ending}`]),
)
