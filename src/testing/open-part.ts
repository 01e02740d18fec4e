/** Arbitrary content parts of other kinds than text and image: as providers have them, damaged, and unheard of. */

import * as fc from 'fast-check'
import { setOwn } from '../event/json.ts'
import type { JsonObject, JsonValue, OpenPart } from '../event/shapes.ts'
import { jsonValue, openFields } from './json.ts'
import { anyText } from './text.ts'

const PDF = 'JVBERi0xLjcK'
const PNG = 'iVBORw0KGgo='

/** One of each kind that providers take from users and in tool results. */
const KNOWN: readonly OpenPart[] = [
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

/** Kinds that mean something elsewhere, or to no provider. */
const KINDS = [
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

/**
 * A content part of another kind than text and image.
 * @example
 * fc.assert(fc.property(openPart(), part => part.type !== 'text' && part.type !== 'image'))
 */
export function openPart(): fc.Arbitrary<OpenPart> {
  const known = fc.constantFrom(...KNOWN)
  const strange = fc
    .tuple(fc.constantFrom(...KINDS), openFields(), anyText())
    .map(([type, fields, text]): OpenPart => ({ ...fields, type, text, image_urls: text }))
  const part = fc.oneof(
    { weight: 4, arbitrary: known },
    { weight: 2, arbitrary: fc.tuple(known, fc.nat(), jsonValue()).map(damaged) },
    { weight: 1, arbitrary: strange },
  )
  const marked = part.map((fields): OpenPart => ({ ...fields, cache_prompt: true }))
  return fc.oneof({ weight: 4, arbitrary: part }, { weight: 1, arbitrary: marked })
}

/** The part with another value somewhere in it, or a field more; its kind stays. */
function damaged([part, place, value]: readonly [OpenPart, number, JsonValue]): OpenPart {
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
  const [holder, key] = places[place % places.length] ?? [copy, 'more']
  setOwn(holder, key, value)
  return copy as OpenPart
}
