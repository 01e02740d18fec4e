/** The parts beside texts and images that OpenAI Chat Completions takes from users, as zod schemas. */

import * as z from 'zod'
import { checker } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { AUDIO, type FileRef, isPdf } from '../files.ts'
import { base64, dataUrl, imageUrl, words } from '../part-schema.ts'
import type { PartTable } from '../part-forms.ts'

const cached = {
  prompt_cache_breakpoint: z
    .strictObject({ mode: z.literal('explicit'), ttl: z.enum(['30m', '12h']).exactOptional() })
    .exactOptional(),
}

const imagePart = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({ url: imageUrl, detail: z.enum(['auto', 'low', 'high']).exactOptional() }),
  ...cached,
})

const audioPart = z.strictObject({
  type: z.literal('input_audio'),
  input_audio: z.strictObject({ data: base64, format: z.enum(['wav', 'mp3']) }),
  ...cached,
})

const filePart = z.strictObject({
  type: z.literal('file'),
  file: z.union([
    z.strictObject({ file_data: dataUrl, filename: words }),
    z.strictObject({ file_id: words, filename: words.exactOptional() }),
  ]),
  ...cached,
})

/** A part beside our texts and images, as it stands in a request. */
export type ChatPart = z.infer<typeof imagePart> | z.infer<typeof audioPart> | z.infer<typeof filePart>

/** Results hold text only, so that files follow them in a user message. */
export const PARTS: PartTable = {
  user: true,
  result: false,
  kinds: {
    image_url: { user: true, result: false, check: checker(imagePart) },
    input_audio: { user: true, result: false, check: checker(audioPart) },
    file: { user: true, result: false, check: checker(filePart) },
  },
  write,
}

/** A PDF by its bytes, a file that was uploaded to this provider, or a sound. */
function write(file: FileRef): JsonObject | null {
  const { from, name, mediaType } = file
  if ('id' in from) return from.provider === 'openai' ? { type: 'file', file: { file_id: from.id } } : null
  if (!('data' in from)) return null
  const format = AUDIO.get(mediaType ?? '')
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: from.data, format } }
  if (!isPdf(file)) return null
  const file_data = `data:application/pdf;base64,${from.data}`
  return { type: 'file', file: { filename: name ?? 'document.pdf', file_data } }
}
