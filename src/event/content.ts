/** Tells the kinds of content parts apart; their types alone cannot, as an open part may have any field. */

import type { Content, ImageContent, OpenPart, TextContent } from './shapes.ts'

/**
 * Whether a part is of a kind of its own, neither text nor images. O(1).
 * @example
 * isOpenPart({ type: 'document', source: {} }) // true
 */
export const isOpenPart = (part: Content): part is OpenPart =>
  part.type !== undefined && part.type !== 'text' && part.type !== 'image'

/**
 * Whether a part holds images; it may have fields of its own, `text` among them. O(1).
 * @example
 * isImagePart({ image_urls: ['https://example.com/a.png'] }) // true
 */
export const isImagePart = (part: Content): part is ImageContent =>
  !isOpenPart(part) && Object.hasOwn(part, 'image_urls')

/**
 * Whether a part is a text. O(1).
 * @example
 * isTextPart({ text: 'hi' }) // true
 */
export const isTextPart = (part: Content): part is TextContent => !isOpenPart(part) && !isImagePart(part)

/** The fields of open parts that hold words, whichever provider has them. */
const WORDS: ReadonlySet<string> = new Set(['text', 'title', 'filename', 'context'])

/**
 * The words in a part of another kind, in their order: titles, names of files, texts, and the data of a document that
 * is plain text. What is encoded is none. O(size).
 *
 * @example
 * wordsIn({ type: 'document', source: { type: 'base64', data: 'JVBERi0=' }, title: 'Plan' }) // ['Plan']
 */
export function wordsIn(part: OpenPart): string[] {
  const words: string[] = []
  const read = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const isPlain =
      !Array.isArray(value) && Object.entries(value).some(([key, of]) => key === 'type' && of === 'text')
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner !== 'string') read(inner)
      else if (!Array.isArray(value) && (WORDS.has(key) || (isPlain && key === 'data'))) words.push(inner)
    }
  }
  read(part)
  return words
}
