/** Reads the content parts of users and of tools, as each provider writes them. */

import { isObject } from '../event/json.ts'
import type { Content, OpenPart } from '../event/shapes.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/text.ts'

/**
 * Text and parts of Anthropic, OpenAI and Gemini as content of ours: texts and images are read, a part of any other
 * type stays as it came. What names no type is kept as its JSON text. O(size).
 */
export function contentOf(value: unknown): Content[] {
  if (typeof value === 'string') return value === '' ? [] : [text(value)]
  if (Array.isArray(value)) {
    const content: Content[] = []
    for (const part of value as readonly unknown[]) {
      const one = typeof part === 'string' ? text(part) : partOf(objectOf(part))
      if (one !== null) content.push(one)
    }
    return content
  }
  if (value === null || value === undefined) return []
  return [text(JSON.stringify(value))]
}

/** A list of blocks in which texts, and what is no block at all, may stand as they are. O(blocks). */
export function blocksOf(content: unknown, type: string): readonly Found[] {
  const list: readonly unknown[] = Array.isArray(content) ? content : [content ?? '']
  // In most lists there is nothing else, and nothing is made.
  if (list.every(isObject)) return list
  return list.flatMap((block) => {
    if (isObject(block)) return [block]
    const text = typeof block === 'string' ? block : JSON.stringify(block)
    return text === '' ? [] : [{ type, text }]
  })
}

/** The words of a content, and nothing of its other parts. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value
  let words = ''
  for (const part of objectsOf(value)) words += stringOf(part['text'])
  return words
}

const text = (words: string): Content => ({ type: 'text', text: words })

const TEXTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text'])

/** Null where it says nothing. */
function partOf(part: Found): Content | null {
  const { type } = part
  if (typeof part['text'] === 'string' && (type === undefined || TEXTS.has(type)))
    return part['text'] === '' ? null : text(part['text'])
  const image = imageOf(part)
  if (image !== null) return { type: 'image', image_urls: [image] }
  // A text or an image that is none would not decode: it is told by its JSON.
  const isOpen = typeof type === 'string' && type !== '' && type !== 'text' && type !== 'image'
  return isOpen ? (part as OpenPart) : text(JSON.stringify(part))
}

/** The address of an image, or null for what is none that a message can show. */
function imageOf(part: Found): string | null {
  const { type } = part
  if (type === 'image') {
    const source = objectOf(part['source'])
    if (source['type'] === 'url') return stringOf(source['url']) || null
    const media = stringOf(source['media_type']) || stringOf(part['mimeType'])
    return dataUrl(media, source['data'] ?? part['data'] ?? part['image'])
  }
  if (type === 'image_url') return stringOf(objectOf(part['image_url'])['url']) || null
  if (type === 'input_image') return stringOf(part['image_url']) || null
  const inline = objectOf(part['inlineData'])
  return stringOf(inline['mimeType']).startsWith('image/')
    ? dataUrl(inline['mimeType'], inline['data'])
    : null
}

function dataUrl(media: unknown, data: unknown): string | null {
  if (typeof data !== 'string' || data === '') return null
  if (/^(?:https?|data):/.test(data)) return data
  return typeof media === 'string' && media !== '' ? `data:${media};base64,${data}` : null
}
