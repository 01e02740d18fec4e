/** Anthropic Messages: kinds of blocks, limits and types, for writer and readers. */

import type { JsonObject } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import type { CacheControl } from '../cache-marks.ts'
import { type FileRef, type ImageType, isAddress, isPdf } from '../files.ts'
import { pairParts } from '../pairs.ts'
import type { PartTable, Limits, PairHalf } from '../limits.ts'
import {
  absent,
  anything,
  base64,
  boolean,
  either,
  integer,
  id,
  listOf,
  nullable,
  object,
  objects,
  oneOf,
  optional,
  pdf,
  record,
  secureUrl,
  type ShapeOf,
  string,
  text,
  where,
  visibleText,
} from '../shape.ts'
import { hasOwnParts, isSignedThinking, THINKING_KINDS, thinkingFirst } from '../reply-parts.ts'

/** Without a cache mark: marks inside of parts are not counted, so they are not sent. */
const textBlock = record({ type: oneOf('text'), text: visibleText })

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
    record({ type: oneOf('file'), file_id: visibleText }),
    record({ type: oneOf('text'), media_type: oneOf('text/plain'), data: visibleText }),
    record({
      type: oneOf('content'),
      content: either([visibleText, listOf(either([textBlock, imageBlock]), 1)]),
    }),
  ]),
  citations: absent(citations),
  context: absent(visibleText),
  title: absent(where(visibleText, (title) => title.length <= MAX_TITLE)),
})

const searchResultBlock = record({
  type: oneOf('search_result'),
  content: listOf(textBlock, 1),
  source: visibleText,
  title: visibleText,
  citations: optional(citations),
})

const containerUpload = record({ type: oneOf('container_upload'), file_id: visibleText })

const toolReference = record({
  type: oneOf('tool_reference'),
  tool_name: where(string, (name) => /^[\w-]{1,256}$/.test(name)),
})

const browserState = record({
  type: oneOf('browser_state'),
  tabs: where(
    listOf(record({ tab_id: visibleText, title: text, url: text, active: optional(boolean) })),
    (tabs) => tabs.filter(({ active }) => active === true).length === Math.min(tabs.length, 1),
  ),
  state_changes: optional(
    nullable(
      listOf(
        either([
          record({ type: oneOf('tab_opened'), tab_id: visibleText }),
          record({ type: oneOf('download_started'), download_id: visibleText, url: text }),
          record({
            type: oneOf('download_completed'),
            download_id: visibleText,
            url: text,
            path: absent(text),
            size_bytes: absent(integer),
          }),
          record({
            type: oneOf('download_failed'),
            download_id: visibleText,
            url: text,
            error: absent(text),
          }),
        ]),
        1,
      ),
    ),
  ),
})

/** A part of a user's message, in addition to texts and images. */
export type AnthropicPart =
  | ShapeOf<typeof documentBlock>
  | ShapeOf<typeof searchResultBlock>
  | ShapeOf<typeof containerUpload>

/** A part of a tool result, in addition to texts and images. */
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

const PART = { in: 'part', side: 'assistant' } as const
const CALLER = { caller: absent(object) } as const
const CALL = { id: id, name: string, input: object } as const
const RESULT = {
  ...PART,
  needs: { tool_use_id: id, content: anything, ...CALLER },
} as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: { citations: objects } },
  thinking: { in: 'standard', side: 'assistant' },
  redacted_thinking: { in: 'standard', side: 'assistant' },
  tool_use: { in: 'standard', side: 'assistant', more: { caller: object, toolset_name: string } },
  server_tool_use: { ...PART, needs: { ...CALL, ...CALLER } },
  web_search_tool_result: RESULT,
  web_fetch_tool_result: RESULT,
  advisor_tool_result: RESULT,
  code_execution_tool_result: RESULT,
  bash_code_execution_tool_result: RESULT,
  text_editor_code_execution_tool_result: RESULT,
  tool_search_tool_result: RESULT,
  mcp_tool_use: {
    ...PART,
    needs: { ...CALL, server_name: string },
  },
  mcp_tool_result: {
    ...PART,
    needs: { tool_use_id: id, is_error: absent(boolean) },
  },
  mcp_tool_listing: {
    ...PART,
    needs: { mcp_server_name: string, tools: objects },
  },
  container_upload: { in: 'part', side: 'both', needs: { file_id: string } },
  compaction: {
    ...PART,
    needs: {
      content: absent(string),
      encrypted_content: absent(string),
      // A requested compaction must precede everything, which a continued history cannot ensure.
      signature: absent(oneOf()),
      tool_changes: absent(objects),
    },
    signed: 'encrypted_content',
  },
  fallback: { ...PART, needs: { from: object, to: object } },
} as const satisfies Kinds

export const LIMITS: Limits = {
  grammar: 'anthropic',
  namedBy: 'type',
  origin: 'completion',
  table: KINDS,
  callId: { illegal: /[^\w-]/gu, maxLength: 64 },
  toolNameLength: 128,
  acceptsImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: true,
  isSigned: isSignedThinking,
  more: { text: KINDS.text.more, call: KINDS.tool_use.more },
  pairOf,
  pairs: pairParts,
  hasOutput: (turn) => turn.texts.length > 0 || turn.bound > 0 || hasOwnParts(turn),
  pauses: true,
  appends: true,
}

/** A server tool's call and its result share an id; those of MCP servers are separate. */
function pairOf({ type, id, tool_use_id }: JsonObject): PairHalf | null {
  if ((type === 'server_tool_use' || type === 'mcp_tool_use') && typeof id === 'string')
    return { half: 'call', id: `${type} ${id}`, waits: true }
  if (typeof type !== 'string' || typeof tool_use_id !== 'string') return null
  const call = type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'
  return { half: 'result', id: `${call} ${tool_use_id}`, waits: true }
}

export interface AnthropicText extends CacheControl {
  readonly type: 'text'
  readonly text: string
}

export interface AnthropicImage extends CacheControl {
  readonly type: 'image'
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
}

export interface AnthropicThinking {
  readonly type: 'thinking'
  readonly thinking: string
  readonly signature: string
}

export interface AnthropicRedactedThinking {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface AnthropicToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export interface AnthropicToolResult extends CacheControl {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: (AnthropicText | AnthropicImage | AnthropicResultPart)[]
  readonly is_error?: true
}

export type AnthropicBlock =
  | AnthropicText
  | AnthropicImage
  | (AnthropicPart & CacheControl)
  | AnthropicThinking
  | AnthropicRedactedThinking
  | AnthropicToolUse
  | AnthropicToolResult

interface AnthropicTurnMessage {
  readonly role: 'user' | 'assistant'
  readonly content: AnthropicBlock[]
}

/** A later system prompt, for models that accept one after a user message. */
interface AnthropicSystemMessage {
  readonly role: 'system'
  readonly content: AnthropicText[]
}

/** A MessageParam of the `@anthropic-ai/sdk` package. */
export type AnthropicMessage = AnthropicTurnMessage | AnthropicSystemMessage

/** The part of a Messages request that is written from the log. */
export interface AnthropicRequest {
  /** Absent without a system prompt: the provider refuses an empty one. */
  readonly system?: AnthropicText[]
  readonly messages: AnthropicMessage[]
  /** The container of the provider's own tools, if calls at the end wait for its results. */
  readonly container?: string
}
