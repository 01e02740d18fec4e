/** The parts beside texts and images that OpenAI Responses takes from users and in tool results, as zod schemas. */

import * as z from 'zod'
import { checker } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isPdf } from '../files.ts'
import { dataUrl, imageUrl, webUrl, words } from '../part-schema.ts'
import type { PartTable } from '../part-forms.ts'

const cached = {
  prompt_cache_breakpoint: z
    .strictObject({ mode: z.literal('explicit'), ttl: z.enum(['30m', '12h']).exactOptional() })
    .exactOptional(),
}

const inputText = z.strictObject({ type: z.literal('input_text'), text: words, ...cached })

const image = { type: z.literal('input_image'), detail: z.enum(['low', 'high', 'auto', 'original']) }
const inputImage = z.union([
  z.strictObject({ ...image, image_url: imageUrl, ...cached }),
  z.strictObject({ ...image, file_id: words, ...cached }),
])

const file = { type: z.literal('input_file'), detail: z.enum(['auto', 'low', 'high']).exactOptional() }
const inputFile = z.union([
  z.strictObject({ ...file, file_data: dataUrl, filename: words, ...cached }),
  z.strictObject({ ...file, file_url: webUrl, filename: words.exactOptional(), ...cached }),
  z.strictObject({ ...file, file_id: words, ...cached }),
])

/** A part beside our texts and images, as it stands in a request. */
export type ResponsesPart = z.infer<typeof inputText> | z.infer<typeof inputImage> | z.infer<typeof inputFile>

export const PARTS: PartTable = {
  user: true,
  result: true,
  kinds: {
    input_text: { user: true, result: true, check: checker(inputText) },
    input_image: { user: true, result: true, check: checker(inputImage) },
    input_file: { user: true, result: true, check: checker(inputFile) },
  },
  write,
}

/** Documents; sounds and films have no place in this grammar. */
function write({ from, name, mediaType }: FileRef): JsonObject | null {
  if ('id' in from) return from.provider === 'openai' ? { type: 'input_file', file_id: from.id } : null
  const isDocument =
    mediaType === null ? isPdf({ from, name, mediaType }) : /^(?:application|text)\/[\w.+-]+$/.test(mediaType)
  if (!isDocument) return null
  if ('url' in from) return { type: 'input_file', file_url: from.url }
  const filename = name ?? (mediaType === 'application/pdf' ? 'document.pdf' : 'document')
  return {
    type: 'input_file',
    filename,
    file_data: `data:${mediaType ?? 'application/pdf'};base64,${from.data}`,
  }
}
