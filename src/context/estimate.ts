import type { Content, JsonValue } from '../event/shapes.ts'
import { isImagePart, isTextPart, wordsIn } from '../event/shapes.ts'
import { checkNumber } from '../event/check-value.ts'
import { isObject } from '../event/json.ts'
import type { NeutralMessage } from '../messages/message.ts'

/** Counts the tokens of messages. Must not return more for fewer messages. */
export type CountTokens = (messages: readonly NeutralMessage[]) => number

/** Cost of a character, in 88ths of a token: 5.5 `word` or 1.6 `other` characters are one token. */
const SHARES = { word: 16, other: 55, wide: 88, token: 88 } as const

/** Lowest UTF-16 unit of East Asian scripts and surrogates. This and each higher unit counts as one token. */
const WIDE = 0x2e80

const FRAME = 4

/** Tokens counted for each image: the maximum for an image that the provider has scaled down. */
const IMAGE_TOKENS = 1600

/** A text in `reply.parts` with more UTF-16 units than this counts as a file. */
const FILE = 65_536

/** Number of a file's base64 characters that count as one token: a compromise between text and scans. */
const PER_TOKEN = 64

/**
 * Estimates the tokens of messages, without a tokenizer: a token is 5.5 lowercase letters or spaces, 1.6
 * capitals, digits or signs, or one East Asian character. Each message and call adds 4, each image 1,600. Any
 * other part counts as its text or as an image, whichever is more, plus 1 for each 64 of its other characters.
 * Thinking, reasoning (even encrypted) and `parts` of replies count as text. But in `parts`, a text of more than
 * 65,536 UTF-16 units counts 1 for each 64 units. The request's tools are not counted.
 *
 * A tokenizer may count more tokens. Leave room, or pass your own counter. O(content).
 * @example
 * estimateTokens([{ role: 'user', content: [{ text: 'How many files?' }], name: null }]) // 8
 */
export function estimateTokens(messages: readonly NeutralMessage[]): number {
  return messages.reduce((tokens, message) => tokens + FRAME + ofMessage(message), 0)
}

/** Calls a counter. @throws ColloquyError `invalid_argument` unless it returns a number of tokens. */
export const counted = (count: CountTokens, messages: readonly NeutralMessage[]): number =>
  checkNumber('countTokens()', count(messages), { least: 0, whole: false })

function ofMessage(message: NeutralMessage): number {
  const content = message.content.reduce((tokens, part) => tokens + ofPart(part), 0)
  switch (message.role) {
    case 'system':
      return content
    case 'user':
      return content + ofText(message.name ?? '')
    case 'tool':
      return content + ofText(message.tool_call_id) + ofText(message.name)
    case 'assistant': {
      const { tool_calls, thinking_blocks, reasoning_content, responses_reasoning_item } = message
      let tokens = content + ofText(reasoning_content ?? '') + ofItem(responses_reasoning_item)
      for (const block of thinking_blocks) {
        tokens +=
          'thinking' in block ? ofText(block.thinking) + ofText(block.signature ?? '') : ofText(block.data)
      }
      for (const call of tool_calls) {
        tokens += FRAME + ofText(call.id) + ofText(call.name) + ofText(call.arguments)
        tokens += ofItem(call.responses_reasoning_item)
      }
      return tokens + ofOthers(message.reply?.parts ?? [])
    }
  }
}

function ofOthers(parts: readonly JsonValue[]): number {
  let tokens = 0
  const read = (value: JsonValue): void => {
    if (typeof value === 'string') tokens += value.length > FILE ? value.length / PER_TOKEN : ofText(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(read)
  }
  for (const part of parts) if (isObject(part) && part['other'] !== undefined) read(part['other'])
  return Math.ceil(tokens)
}

function ofItem(item: Extract<NeutralMessage, { role: 'assistant' }>['responses_reasoning_item']): number {
  if (item === null) return 0
  const texts = [
    item.id ?? '',
    item.encrypted_content ?? '',
    ...(item.summary ?? []),
    ...(item.content ?? []),
  ]
  return texts.reduce((sum, text) => sum + ofText(text), 0)
}

/** Estimates the tokens of a part. An open part may contain texts; its other characters are mostly base64. */
function ofPart(part: Content): number {
  if (isTextPart(part)) return ofText(part.text)
  if (isImagePart(part)) return part.image_urls.length * IMAGE_TOKENS
  const texts = wordsIn(part)
  const rest = texts.reduce((length, text) => length - text.length, JSON.stringify(part).length)
  return Math.max(IMAGE_TOKENS, ofText(texts.join(' '))) + Math.ceil(Math.max(0, rest) / PER_TOKEN)
}

function ofText(text: string): number {
  let [word, wide] = [0, 0]
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if ((code >= 0x61 && code <= 0x7a) || code === 0x20) word += 1
    else if (code >= WIDE) wide += 1
  }
  const other = text.length - word - wide
  return Math.ceil((word * SHARES.word + other * SHARES.other + wide * SHARES.wide) / SHARES.token)
}
