/** The parts beside texts and images that the AI SDK takes from users and in tool results, as zod schemas. */

import * as z from 'zod'
import { checker, jsonObject } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isPdf } from '../files.ts'
import { base64, text, webUrl, words } from '../part-schema.ts'
import type { PartTable } from '../part-forms.ts'
import { isWellFormed } from '../text.ts'

/** What only one provider reads; any JSON that has bytes. */
const options = {
  providerOptions: z
    .record(z.string(), jsonObject)
    .refine((value) => !/\\ud[89a-f]/.test(JSON.stringify(value)) && isWellFormed(JSON.stringify(value)))
    .exactOptional(),
}

const mediaType = z.string().regex(/^[a-z]+(?:\/[\w.+*-]+)?$/)

const reference = z
  .record(z.string(), words)
  .refine((value) => Object.keys(value).length > 0 && !('type' in value))

const held = z.union([
  z.strictObject({ type: z.literal('data'), data: base64 }),
  z.strictObject({ type: z.literal('text'), text: words }),
  z.strictObject({ type: z.literal('reference'), reference }),
])

const file = { type: z.literal('file'), mediaType, filename: text.exactOptional() }

/** The SDK takes an address as a URL object, which is no JSON, or as a bare text from users only. */
const userFile = z.strictObject({ ...file, data: z.union([held, base64, webUrl]), ...options })

const custom = z.strictObject({ type: z.literal('custom'), ...options })

/** A part beside text, as it stands in a request. */
export type AiSdkPart = z.infer<typeof userFile>

/** What only one provider understands of a result. */
export type AiSdkCustom = z.infer<typeof custom>

export const PARTS: PartTable = {
  user: true,
  result: false,
  kinds: {
    file: { user: true, result: false, check: checker(userFile) },
    custom: { user: false, result: true, check: checker(custom) },
  },
  write,
}

/** Any file of which the type is known. */
function write(file: FileRef): JsonObject | null {
  const { from, name } = file
  const type = file.mediaType ?? ('id' in from || isPdf(file) ? 'application/pdf' : null)
  if (type === null || !mediaType.safeParse(type).success) return null
  const data =
    'id' in from
      ? { type: 'reference', reference: { [from.provider]: from.id } }
      : 'data' in from
        ? { type: 'data', data: from.data }
        : from.url
  return { type: 'file', mediaType: type, data, ...(name === null ? {} : { filename: name }) }
}
