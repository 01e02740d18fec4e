/** The parts beside texts and images that Anthropic Messages takes from users and in tool results, as zod schemas. */

import * as z from 'zod'
import { checker } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isAddress, isPdf } from '../files.ts'
import { base64, pdf, secureUrl, text, words } from '../part-schema.ts'
import type { PartTable } from '../part-forms.ts'

/** A mark of the cache inside of a part is none of ours to count, so there is none. */
const textBlock = z.strictObject({ type: z.literal('text'), text: words })

const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: z.union([
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: base64,
    }),
    z.strictObject({ type: z.literal('url'), url: secureUrl }),
  ]),
})

const citations = z.strictObject({ enabled: z.boolean().exactOptional() })

const MAX_TITLE = 500

const documentBlock = z.strictObject({
  type: z.literal('document'),
  source: z.union([
    z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: pdf }),
    z.strictObject({ type: z.literal('url'), url: secureUrl }),
    z.strictObject({ type: z.literal('file'), file_id: words }),
    z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: words }),
    z.strictObject({
      type: z.literal('content'),
      content: z.union([words, z.array(z.union([textBlock, imageBlock])).min(1)]),
    }),
  ]),
  citations: citations.nullable().exactOptional(),
  context: words.nullable().exactOptional(),
  title: words.max(MAX_TITLE).nullable().exactOptional(),
})

const searchResultBlock = z.strictObject({
  type: z.literal('search_result'),
  content: z.array(textBlock).min(1),
  source: words,
  title: words,
  citations: citations.exactOptional(),
})

const containerUpload = z.strictObject({ type: z.literal('container_upload'), file_id: words })

const toolReference = z.strictObject({
  type: z.literal('tool_reference'),
  tool_name: z.string().regex(/^[a-zA-Z0-9_-]{1,256}$/),
})

const browserState = z.strictObject({
  type: z.literal('browser_state'),
  tabs: z
    .array(z.strictObject({ tab_id: words, title: text, url: text, active: z.boolean().exactOptional() }))
    .refine((tabs) => tabs.filter(({ active }) => active === true).length === Math.min(tabs.length, 1)),
  state_changes: z
    .array(
      z.union([
        z.strictObject({ type: z.literal('tab_opened'), tab_id: words }),
        z.strictObject({ type: z.literal('download_started'), download_id: words, url: text }),
        z.strictObject({
          type: z.literal('download_completed'),
          download_id: words,
          url: text,
          path: text.nullable().exactOptional(),
          size_bytes: z.int().nullable().exactOptional(),
        }),
        z.strictObject({
          type: z.literal('download_failed'),
          download_id: words,
          url: text,
          error: text.nullable().exactOptional(),
        }),
      ]),
    )
    .min(1)
    .nullable()
    .exactOptional(),
})

/** A part beside texts and images of a user, as it stands in a request. */
export type AnthropicPart =
  | z.infer<typeof documentBlock>
  | z.infer<typeof searchResultBlock>
  | z.infer<typeof containerUpload>

/** The same of a tool result. */
export type AnthropicResultPart =
  | z.infer<typeof documentBlock>
  | z.infer<typeof searchResultBlock>
  | z.infer<typeof toolReference>
  | z.infer<typeof browserState>

export const PARTS: PartTable = {
  user: true,
  result: true,
  kinds: {
    document: { user: true, result: true, check: checker(documentBlock) },
    search_result: { user: true, result: true, check: checker(searchResultBlock) },
    container_upload: { user: true, result: false, check: checker(containerUpload) },
    tool_reference: { user: false, result: true, check: checker(toolReference) },
    browser_state: { user: false, result: true, check: checker(browserState) },
  },
  write,
}

/** A PDF, or a file that was uploaded to this provider. */
function write(file: FileRef): JsonObject | null {
  const source = sourceOf(file)
  if (source === null) return null
  const { name } = file
  return { type: 'document', source, ...(name !== null && name.length <= MAX_TITLE ? { title: name } : {}) }
}

function sourceOf(file: FileRef): JsonObject | null {
  const { from } = file
  if ('id' in from) return from.provider === 'anthropic' ? { type: 'file', file_id: from.id } : null
  if (!isPdf(file)) return null
  if ('data' in from) return { type: 'base64', media_type: 'application/pdf', data: from.data }
  return isAddress(from.url, true) ? { type: 'url', url: from.url } : null
}
