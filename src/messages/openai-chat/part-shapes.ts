/** The parts beside texts and images that OpenAI Chat Completions takes from users. */

import type { JsonObject } from '../../event/shapes.ts'
import { AUDIO, type FileRef, isPdf } from '../files.ts'
import { base64, dataUrl, imageUrl, words } from '../part-shapes.ts'
import type { PartTable } from '../part-forms.ts'
import { either, oneOf, optional, record, type ShapeOf } from '../shape.ts'

const cached = {
  prompt_cache_breakpoint: optional(record({ mode: oneOf('explicit'), ttl: optional(oneOf('30m', '12h')) })),
}

const imagePart = record({
  type: oneOf('image_url'),
  image_url: record({ url: imageUrl, detail: optional(oneOf('auto', 'low', 'high')) }),
  ...cached,
})

const audioPart = record({
  type: oneOf('input_audio'),
  input_audio: record({ data: base64, format: oneOf('wav', 'mp3') }),
  ...cached,
})

const filePart = record({
  type: oneOf('file'),
  file: either([
    record({ file_data: dataUrl, filename: words }),
    record({ file_id: words, filename: optional(words) }),
  ]),
  ...cached,
})

/** A part beside our texts and images, as it stands in a request. */
export type ChatPart = ShapeOf<typeof imagePart> | ShapeOf<typeof audioPart> | ShapeOf<typeof filePart>

/** Results hold text only, so that files follow them in a user message. */
export const PARTS: PartTable = {
  user: true,
  result: false,
  kinds: {
    image_url: { user: true, result: false, fits: imagePart },
    input_audio: { user: true, result: false, fits: audioPart },
    file: { user: true, result: false, fits: filePart },
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
