/** Arbitrary content: texts and images, with and without the fields that have a default. */

import * as fc from 'fast-check'
import type { Content, ImageContent, TextContent } from '../event/shapes.ts'
import { openFields } from './json.ts'
import { openPart } from './open-part.ts'
import { shape } from './shape.ts'
import { anyText, words } from './text.ts'

const PIXEL = 'data:image/png;base64,iVBORw0KGgo='

/**
 * A piece of text.
 * @example
 * fc.assert(fc.property(textContent(), part => typeof part.text === 'string'))
 */
export function textContent(text: fc.Arbitrary<string> = anyText()): fc.Arbitrary<TextContent> {
  return shape({ text }, { type: fc.constant('text' as const), cache_prompt: fc.boolean() })
}

/**
 * One or more images, by URL or inline; sometimes with a field of its own, as the shape is open.
 * @example
 * fc.assert(fc.property(imageContent(), part => Array.isArray(part.image_urls)))
 */
export function imageContent(): fc.Arbitrary<ImageContent> {
  const urls = fc.constantFrom('https://example.com/a.png', PIXEL, 'data:text/plain,x', 'not a url', '')
  const image = shape(
    { image_urls: fc.array(urls, { maxLength: 2 }) },
    {
      type: fc.constant('image' as const),
      cache_prompt: fc.boolean(),
      text: fc.constantFrom(7, null, 'not text'),
    },
  )
  return fc.tuple(openFields(), image).map(([open, known]) => ({ ...open, ...known }))
}

/**
 * A list of content, any of it blank, broken or missing.
 * @example
 * fc.sample(anyContent(), 1).length // 1
 */
export function anyContent(): fc.Arbitrary<readonly Content[]> {
  const part = fc.oneof<fc.WeightedArbitrary<Content>[]>(
    { weight: 8, arbitrary: textContent() },
    { weight: 2, arbitrary: imageContent() },
    { weight: 1, arbitrary: openPart() },
  )
  return fc.array(part, { maxLength: 2 })
}

/**
 * Content that a person or a tool would send: text that says something, sometimes with an image.
 * @example
 * fc.assert(fc.property(plainContent(), content => content.length > 0))
 */
export function plainContent(): fc.Arbitrary<readonly Content[]> {
  const image: ImageContent = { type: 'image', image_urls: [PIXEL] }
  return fc.tuple(words(), fc.boolean(), fc.nat(9)).map(([text, cached, roll]) => {
    const part: TextContent = cached ? { type: 'text', text, cache_prompt: true } : { type: 'text', text }
    return roll === 0 ? [part, image] : [part]
  })
}
