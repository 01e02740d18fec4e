/**
 * The parts beside texts and images that OpenAI Responses takes from users and in tool results; and the
 * items that settle what a model has asked for, which stand beside messages.
 */

import type { JsonObject } from '../../event/shapes.ts'
import { type FileRef, isPdf } from '../files.ts'
import { dataUrl, imageUrl, text, webUrl, words } from '../part-shapes.ts'
import type { PartTable } from '../part-forms.ts'
import {
  boolean,
  either,
  integer,
  listOf,
  nullable,
  oneOf,
  open,
  optional,
  record,
  type ShapeOf,
  where,
} from '../shape.ts'

const cached = {
  prompt_cache_breakpoint: optional(record({ mode: oneOf('explicit'), ttl: optional(oneOf('30m', '12h')) })),
}

const inputText = record({ type: oneOf('input_text'), text: words, ...cached })

const image = { type: oneOf('input_image'), detail: oneOf('low', 'high', 'auto', 'original') }
const inputImage = either([
  record({ ...image, image_url: imageUrl, ...cached }),
  record({ ...image, file_id: words, ...cached }),
])

const file = { type: oneOf('input_file'), detail: optional(oneOf('auto', 'low', 'high')) }
const inputFile = either([
  record({ ...file, file_data: dataUrl, filename: words, ...cached }),
  record({ ...file, file_url: webUrl, filename: optional(words), ...cached }),
  record({ ...file, file_id: words, ...cached }),
])

/** Where an item came from a response, it has its id; it says nothing, and goes back without. */
const itemOf = { id: optional(nullable(text)) }
const status = optional(nullable(oneOf('in_progress', 'completed', 'incomplete')))
const called = { ...itemOf, call_id: words }

const approvalResponse = record({
  ...itemOf,
  type: oneOf('mcp_approval_response'),
  approval_request_id: words,
  approve: boolean,
  reason: optional(nullable(text)),
})

const toolSearchOutput = record({
  ...called,
  type: oneOf('tool_search_output'),
  execution: optional(oneOf('server', 'client')),
  status,
  tools: listOf(open({ type: words })),
})

const customOutput = record({
  ...called,
  type: oneOf('custom_tool_call_output'),
  output: either([text, listOf(either([inputText, inputImage, inputFile]), 1)]),
})

const outcome = either([
  record({ type: oneOf('exit'), exit_code: integer }),
  record({ type: oneOf('timeout') }),
])

const shellOutput = record({
  ...called,
  type: oneOf('shell_call_output'),
  max_output_length: optional(nullable(where(integer, (length) => length >= 0))),
  output: listOf(record({ stdout: text, stderr: text, outcome }), 1),
  status,
})

const localShellOutput = record({
  id: words,
  type: oneOf('local_shell_call_output'),
  output: text,
  status,
})

const patchOutput = record({
  ...called,
  type: oneOf('apply_patch_call_output'),
  output: optional(nullable(text)),
  status: oneOf('completed', 'failed'),
})

const screenshot = { type: oneOf('computer_screenshot') }
const check = record({
  id: words,
  code: optional(nullable(text)),
  message: optional(nullable(text)),
})

const computerOutput = record({
  ...called,
  type: oneOf('computer_call_output'),
  output: either([record({ ...screenshot, image_url: imageUrl }), record({ ...screenshot, file_id: words })]),
  acknowledged_safety_checks: optional(nullable(listOf(check))),
  status,
})

const settles = { user: true, result: false, item: true } as const
const output = { user: false, result: true, item: true } as const

/** A part beside our texts and images, as it stands in a request. */
export type ResponsesPart = ShapeOf<typeof inputText> | ShapeOf<typeof inputImage> | ShapeOf<typeof inputFile>

export const PARTS: PartTable = {
  user: true,
  result: true,
  kinds: {
    input_text: { user: true, result: true, fits: inputText },
    input_image: { user: true, result: true, fits: inputImage },
    input_file: { user: true, result: true, fits: inputFile },
    mcp_approval_response: { ...settles, fits: approvalResponse },
    tool_search_output: { ...settles, fits: toolSearchOutput },
    custom_tool_call_output: { ...output, fits: customOutput },
    shell_call_output: { ...output, fits: shellOutput },
    local_shell_call_output: { ...output, fits: localShellOutput },
    apply_patch_call_output: { ...output, fits: patchOutput },
    computer_call_output: { ...output, fits: computerOutput },
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
