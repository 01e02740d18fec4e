/** The files that Google's Gemini takes from users; its own parts have no type, so that no log holds one. */

import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isAddress, isPdf } from '../files.ts'
import type { PartTable } from '../part-forms.ts'

/** The sounds that it reads. */
const AUDIO: ReadonlySet<string> = new Set(
  ['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac'].map((name) => `audio/${name}`),
)

export const PARTS: PartTable = { user: true, result: false, kinds: {}, write }

/** A PDF or a sound, by its bytes or by its address. */
function write(file: FileRef): JsonObject | null {
  const { from, mediaType } = file
  if ('id' in from) return null
  const mimeType = isPdf(file) ? 'application/pdf' : AUDIO.has(mediaType ?? '') ? mediaType : null
  if (mimeType === null) return null
  if ('data' in from) return { inlineData: { mimeType, data: from.data } }
  return isAddress(from.url, true) ? { fileData: { mimeType, fileUri: from.url } } : null
}
