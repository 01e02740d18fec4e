/** The parts beside texts and images that the AI SDK takes from users and in tool results. */

import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isPdf } from '../files.ts'
import { base64, mediaType, text, webUrl, words } from '../part-shapes.ts'
import type { PartTable } from '../part-forms.ts'
import { either, mapOf, object, oneOf, optional, record, type ShapeOf, where } from '../shape.ts'
import { isWellFormed } from '../text.ts'

/** What only one provider reads; any JSON that has bytes. */
const options = {
  providerOptions: optional(
    where(mapOf(object), (value) => {
      const text = JSON.stringify(value)
      return !/\\ud[89a-f]/.test(text) && isWellFormed(text)
    }),
  ),
}

const reference = where(mapOf(words), (value) => Object.keys(value).length > 0 && !('type' in value))

const held = either([
  record({ type: oneOf('data'), data: base64 }),
  record({ type: oneOf('text'), text: words }),
  record({ type: oneOf('reference'), reference }),
])

const file = { type: oneOf('file'), mediaType, filename: optional(text) }

/** The SDK takes an address as a URL object, which is no JSON, or as a bare text from users only. */
const userFile = record({ ...file, data: either([held, base64, webUrl]), ...options })

const custom = record({ type: oneOf('custom'), ...options })

/** A part beside text, as it stands in a request. */
export type AiSdkPart = ShapeOf<typeof userFile>

/** What only one provider understands of a result. */
export type AiSdkCustom = ShapeOf<typeof custom>

export const PARTS: PartTable = {
  user: true,
  result: false,
  kinds: {
    file: { user: true, result: false, fits: userFile },
    custom: { user: false, result: true, fits: custom },
  },
  write,
}

/** Any file of which the type is known. */
function write(file: FileRef): JsonObject | null {
  const { from, name } = file
  const type = file.mediaType ?? ('id' in from || isPdf(file) ? 'application/pdf' : null)
  if (type === null || !mediaType(type)) return null
  const data =
    'id' in from
      ? { type: 'reference', reference: { [from.provider]: from.id } }
      : 'data' in from
        ? { type: 'data', data: from.data }
        : from.url
  return { type: 'file', mediaType: type, data, ...(name === null ? {} : { filename: name }) }
}
