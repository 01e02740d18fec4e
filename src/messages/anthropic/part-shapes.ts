/** The parts beside texts and images that Anthropic Messages takes from users and in tool results. */

import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isAddress, isPdf } from '../files.ts'
import { base64, pdf, secureUrl, text, words } from '../part-shapes.ts'
import type { PartTable } from '../part-forms.ts'
import {
  boolean,
  either,
  integer,
  listOf,
  nullable,
  oneOf,
  optional,
  record,
  type ShapeOf,
  string,
  where,
} from '../shape.ts'

/** A mark of the cache inside of a part is none of ours to count, so there is none. */
const textBlock = record({ type: oneOf('text'), text: words })

const imageBlock = record({
  type: oneOf('image'),
  source: either([
    record({
      type: oneOf('base64'),
      media_type: oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp'),
      data: base64,
    }),
    record({ type: oneOf('url'), url: secureUrl }),
  ]),
})

const citations = record({ enabled: optional(boolean) })

const MAX_TITLE = 500

const documentBlock = record({
  type: oneOf('document'),
  source: either([
    record({ type: oneOf('base64'), media_type: oneOf('application/pdf'), data: pdf }),
    record({ type: oneOf('url'), url: secureUrl }),
    record({ type: oneOf('file'), file_id: words }),
    record({ type: oneOf('text'), media_type: oneOf('text/plain'), data: words }),
    record({
      type: oneOf('content'),
      content: either([words, listOf(either([textBlock, imageBlock]), 1)]),
    }),
  ]),
  citations: optional(nullable(citations)),
  context: optional(nullable(words)),
  title: optional(nullable(where(words, (title) => title.length <= MAX_TITLE))),
})

const searchResultBlock = record({
  type: oneOf('search_result'),
  content: listOf(textBlock, 1),
  source: words,
  title: words,
  citations: optional(citations),
})

const containerUpload = record({ type: oneOf('container_upload'), file_id: words })

const toolReference = record({
  type: oneOf('tool_reference'),
  tool_name: where(string, (name) => /^[a-zA-Z0-9_-]{1,256}$/.test(name)),
})

const browserState = record({
  type: oneOf('browser_state'),
  tabs: where(
    listOf(record({ tab_id: words, title: text, url: text, active: optional(boolean) })),
    (tabs) => tabs.filter(({ active }) => active === true).length === Math.min(tabs.length, 1),
  ),
  state_changes: optional(
    nullable(
      listOf(
        either([
          record({ type: oneOf('tab_opened'), tab_id: words }),
          record({ type: oneOf('download_started'), download_id: words, url: text }),
          record({
            type: oneOf('download_completed'),
            download_id: words,
            url: text,
            path: optional(nullable(text)),
            size_bytes: optional(nullable(integer)),
          }),
          record({
            type: oneOf('download_failed'),
            download_id: words,
            url: text,
            error: optional(nullable(text)),
          }),
        ]),
        1,
      ),
    ),
  ),
})

/** A part beside texts and images of a user, as it stands in a request. */
export type AnthropicPart =
  | ShapeOf<typeof documentBlock>
  | ShapeOf<typeof searchResultBlock>
  | ShapeOf<typeof containerUpload>

/** The same of a tool result. */
export type AnthropicResultPart =
  | ShapeOf<typeof documentBlock>
  | ShapeOf<typeof searchResultBlock>
  | ShapeOf<typeof toolReference>
  | ShapeOf<typeof browserState>

export const PARTS: PartTable = {
  user: true,
  result: true,
  kinds: {
    document: { user: true, result: true, fits: documentBlock },
    search_result: { user: true, result: true, fits: searchResultBlock },
    container_upload: { user: true, result: false, fits: containerUpload },
    tool_reference: { user: false, result: true, fits: toolReference },
    browser_state: { user: false, result: true, fits: browserState },
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
