import type { JsonObject } from '../../event/shapes.ts'
import { type Kinds, wholePart } from '../blocks.ts'
import type { CacheControl } from '../cache-marks.ts'
import { type FileRef, isAddress, isPdf } from '../files.ts'
import { pairHalf, pairParts } from '../pairs.ts'
import type { PartTable, Limits, PairHalf } from '../limits.ts'
import {
  absent,
  anything,
  base64,
  boolean,
  byType,
  either,
  integer,
  id,
  listOf,
  object,
  objects,
  oneOf,
  optional,
  pdf,
  record,
  secureUrl,
  string,
  text,
  type Typed,
  typed,
  where,
  visibleText,
} from '../shape.ts'
import { callsBehind, THINKING_LIMITS, isSignedThinking } from '../reply-parts.ts'
import { resumesPaused } from '../turns.ts'

const TEXT = { text: visibleText } as const

const IMAGE = {
  source: byType({
    base64: { media_type: oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp'), data: base64 },
    url: { url: secureUrl },
  }),
} as const

const citations = record({ enabled: optional(boolean) })

const MAX_TITLE = 500

const DOCUMENT = {
  source: byType({
    base64: { media_type: oneOf('application/pdf'), data: pdf },
    url: { url: secureUrl },
    file: { file_id: visibleText },
    text: { media_type: oneOf('text/plain'), data: visibleText },
    content: { content: either([visibleText, listOf(byType({ text: TEXT, image: IMAGE }), 1)]) },
  }),
  citations: absent(citations),
  context: absent(visibleText),
  title: absent(where(visibleText, (title) => title.length <= MAX_TITLE)),
} as const

const SEARCH_RESULT = {
  content: listOf(byType({ text: TEXT }), 1),
  source: visibleText,
  title: visibleText,
  citations: optional(citations),
} as const

const CONTAINER_UPLOAD = { file_id: visibleText } as const

const TOOL_REFERENCE = { tool_name: where(string, (name) => /^[\w-]{1,256}$/.test(name)) } as const

const download = { download_id: visibleText, url: text } as const

const BROWSER_STATE = {
  tabs: where(
    listOf(record({ tab_id: visibleText, title: text, url: text, active: optional(boolean) })),
    (tabs) => tabs.filter(({ active }) => active === true).length === Math.min(tabs.length, 1),
  ),
  state_changes: absent(
    listOf(
      byType({
        tab_opened: { tab_id: visibleText },
        download_started: download,
        download_completed: { ...download, path: absent(text), size_bytes: absent(integer) },
        download_failed: { ...download, error: absent(text) },
      }),
      1,
    ),
  ),
} as const

/** Fields of user messages. Cache marks are missing, because only the writer assigns and counts them. */
export const USER_FIELDS = {
  text: TEXT,
  image: IMAGE,
  document: DOCUMENT,
  search_result: SEARCH_RESULT,
  container_upload: CONTAINER_UPLOAD,
} as const

export const RESULT_FIELDS = {
  text: TEXT,
  image: IMAGE,
  document: DOCUMENT,
  search_result: SEARCH_RESULT,
  tool_reference: TOOL_REFERENCE,
  browser_state: BROWSER_STATE,
} as const

export const REPLY_FIELDS = {
  thinking: { thinking: string, signature: string },
  redacted_thinking: { data: string },
  tool_use: { id: string, name: string, input: object },
} as const

export const PARTS: PartTable = {
  user: true,
  result: true,
  kinds: {
    document: { user: true, result: true, fits: typed(DOCUMENT) },
    search_result: { user: true, result: true, fits: typed(SEARCH_RESULT) },
    container_upload: { user: true, result: false, fits: typed(CONTAINER_UPLOAD) },
    tool_reference: { user: false, result: true, fits: typed(TOOL_REFERENCE) },
    browser_state: { user: false, result: true, fits: typed(BROWSER_STATE) },
  },
  write,
}

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

const CALLER = { caller: absent(object) } as const
const CALL = { id: id, name: string, input: object } as const
const RESULT = wholePart({ tool_use_id: id, content: anything, ...CALLER })

export const KINDS = {
  text: { in: 'standard', side: 'both', more: { citations: objects } },
  thinking: { in: 'standard', side: 'assistant' },
  redacted_thinking: { in: 'standard', side: 'assistant' },
  tool_use: { in: 'standard', side: 'assistant', more: { caller: object, toolset_name: string } },
  server_tool_use: wholePart({ ...CALL, ...CALLER }),
  web_search_tool_result: RESULT,
  web_fetch_tool_result: RESULT,
  advisor_tool_result: RESULT,
  code_execution_tool_result: RESULT,
  bash_code_execution_tool_result: RESULT,
  text_editor_code_execution_tool_result: RESULT,
  tool_search_tool_result: RESULT,
  mcp_tool_use: wholePart({ ...CALL, server_name: string }),
  mcp_tool_result: wholePart({ tool_use_id: id, content: optional(anything), is_error: absent(boolean) }),
  mcp_tool_listing: wholePart({ mcp_server_name: string, tools: objects }),
  container_upload: { in: 'part', side: 'both', needs: { file_id: string } },
  compaction: {
    ...wholePart({
      content: absent(string),
      encrypted_content: absent(string),
      // Excludes a requested compaction: it must precede everything, which a continued history cannot ensure.
      signature: absent(oneOf()),
      tool_changes: absent(objects),
    }),
    signed: 'encrypted_content',
  },
  fallback: wholePart({ from: object, to: object, trigger: optional(anything) }),
} as const satisfies Kinds

export const LIMITS: Limits = {
  ...THINKING_LIMITS,
  grammar: 'anthropic',
  table: KINDS,
  callId: { illegal: /[^\w-]/gu, maxLength: 64 },
  toolNameLength: 128,
  acceptsImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  arrange: callsBehind,
  isSigned: isSignedThinking,
  more: { text: KINDS.text.more, call: KINDS.tool_use.more },
  pairOf,
  pairs: pairParts,
  resumes: resumesPaused,
  appends: true,
}

/** Returns which half of a pair a block is. A call and its result share an id. MCP ids are compared separately. */
function pairOf({ type, id, tool_use_id }: JsonObject): PairHalf | null {
  if (type === 'server_tool_use' || type === 'mcp_tool_use') return pairHalf('call', type, id)
  if (typeof type !== 'string') return null
  return pairHalf('result', type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use', tool_use_id)
}

export type AnthropicText = CacheControl & Typed<Pick<typeof USER_FIELDS, 'text'>>

export type AnthropicToolResult = CacheControl & {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: (CacheControl & Typed<typeof RESULT_FIELDS>)[]
  readonly is_error?: true
}

/** A content block of a Messages request. */
export type AnthropicBlock =
  | (CacheControl & Typed<typeof USER_FIELDS>)
  | Typed<typeof REPLY_FIELDS>
  | AnthropicToolResult

/** A MessageParam of `@anthropic-ai/sdk`. A system message is a system prompt that was added later. */
export type AnthropicMessage =
  | { readonly role: 'user' | 'assistant'; readonly content: AnthropicBlock[] }
  | { readonly role: 'system'; readonly content: AnthropicText[] }

/** The fields of a Messages request that are written from the log. */
export interface AnthropicRequest {
  /** Absent without a system prompt, because the provider rejects an empty field. */
  readonly system?: AnthropicText[]
  readonly messages: AnthropicMessage[]
  /** Id of the container that runs the provider's own tools, if calls of the last reply still wait in it. */
  readonly container?: string
}
