import * as fc from 'fast-check'
import type { Content, ImageContent, JsonObject, JsonValue, OpenPart, TextContent } from '../event/shapes.ts'
import { jsonValue, openFields, withOpenFields } from './json.ts'
import { shape, weighed } from './shape.ts'
import { anyText, words } from './text.ts'
import { setOwn } from '../event/json.ts'

const PIXEL = 'data:image/png;base64,iVBORw0KGgo='

export const textContent: fc.Arbitrary<TextContent> = shape(
  { text: anyText },
  { type: fc.constant('text' as const), cache_prompt: fc.boolean() },
)

const urls = fc.constantFrom('https://example.com/a.png', PIXEL, 'data:text/plain,x', 'not a url', '')

const imageContent: fc.Arbitrary<ImageContent> = withOpenFields(
  shape(
    { image_urls: fc.array(urls, { maxLength: 2 }) },
    {
      type: fc.constant('image' as const),
      cache_prompt: fc.boolean(),
      text: fc.constantFrom(7, null, 'not text'),
    },
  ),
)

export const plainContent = fc
  .tuple(words, fc.boolean(), fc.nat(9))
  .map(([text, cached, roll]): readonly Content[] => {
    const part: TextContent = cached ? { type: 'text', text, cache_prompt: true } : { type: 'text', text }
    return roll === 0 ? [part, { type: 'image', image_urls: [PIXEL] }] : [part]
  })

const PDF = 'JVBERi0xLjcK'
const PNG = 'iVBORw0KGgo='

/** One part of each kind that a provider accepts. */
export const KNOWN_PARTS: readonly OpenPart[] = [
  { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF }, title: 'Plan' },
  { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Plain.' }, context: 'a note' },
  { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Piece.' }] } },
  { type: 'document', source: { type: 'file', file_id: 'file_1' }, citations: { enabled: true } },
  {
    type: 'search_result',
    source: 'kb',
    title: 'The question',
    content: [{ type: 'text', text: 'Forty-two.' }],
  },
  { type: 'container_upload', file_id: 'file_2', cache_control: { type: 'ephemeral' } },
  { type: 'tool_reference', tool_name: 'ls' },
  { type: 'input_text', text: 'Words.' },
  { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
  { type: 'input_image', file_id: 'file-3', detail: 'low' },
  { type: 'input_file', file_data: `data:application/pdf;base64,${PDF}`, filename: 'a.pdf' },
  { type: 'input_file', file_url: 'https://example.com/b.pdf' },
  { type: 'input_file', file_id: 'file-4', prompt_cache_breakpoint: { mode: 'explicit' } },
  { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  { type: 'image_url', image_url: { url: 'https://example.com/c.png' } },
  { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}`, filename: 'c.pdf' } },
  { type: 'file', file: { file_id: 'file-5' } },
  { type: 'file', mediaType: 'application/pdf', data: PDF, filename: 'd.pdf' },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
  { type: 'file', mediaType: 'audio/mpeg', data: { type: 'url', url: 'https://example.com/d.mp3' } },
  {
    type: 'file',
    mediaType: 'application/pdf',
    data: { type: 'reference', reference: { openai: 'file-6' } },
  },
  { type: 'custom', providerOptions: { any: { id: 1 } } },
]

const OPEN_KINDS = [
  'video',
  'tool_use',
  'tool_result',
  'thinking',
  'function_call',
  '__proto__',
  'Text',
  ' ',
  '\ud800',
]

export function damaged([part, position, value]: readonly [OpenPart, number, JsonValue]): OpenPart {
  const places: (readonly [holder: object, key: string])[] = []
  const copy = JSON.parse(JSON.stringify(part)) as JsonObject
  const look = (holder: object): void => {
    for (const [key, inner] of Object.entries(holder)) {
      if (holder !== copy || key !== 'type') places.push([holder, key])
      if (typeof inner === 'object' && inner !== null) look(inner)
    }
    if (!Array.isArray(holder)) places.push([holder, 'more'])
  }
  look(copy)
  const [holder, key] = places[position % places.length] ?? [copy, 'more']
  setOwn(holder, key, value)
  return copy as OpenPart
}

const known = fc.constantFrom(...KNOWN_PARTS)
const strange = fc
  .tuple(fc.constantFrom(...OPEN_KINDS), openFields, anyText)
  .map(([type, fields, text]): OpenPart => ({ ...fields, type, text, image_urls: text }))
const part = weighed([4, known], [2, fc.tuple(known, fc.nat(), jsonValue).map(damaged)], [1, strange])

/** Generates a content part that is neither text nor image. */
export const openPart = weighed(
  [4, part],
  [1, part.map((fields): OpenPart => ({ ...fields, cache_prompt: true }))],
)

export const anyContent: fc.Arbitrary<readonly Content[]> = fc.array(
  weighed<Content>([8, textContent], [2, imageContent], [1, openPart]),
  { maxLength: 2 },
)
