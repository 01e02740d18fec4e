/**
 * Every kind of content that the providers' packages allow in user messages and tool results, and how requests
 * represent it. If a new version of a package adds a kind, this file does not compile until it lists the kind.
 */

import type {
  BetaContentBlockParam,
  BetaToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/beta/messages'
import type { ContentBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { ToolResultPart, UserContent } from 'ai'
import type { ChatCompletionContentPart } from 'openai/resources/chat/completions'
import type { OpenPart } from '../../src/event/shapes.ts'
import { pdf, type Representation, png, type Samples, type Table, url } from './part-table.ts'
import { outputs, responses, responsesItems, settling } from './responses-parts.ts'

type InList<Content> = Extract<Content, readonly unknown[]>[number]

type ResultValue = Extract<ToolResultPart['output'], { type: 'content' }>['value'][number]

const document: Samples<Extract<ContentBlockParam, { type: 'document' }>> = [
  (mark) => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: pdf(mark) },
  }),
  (mark) => ({ type: 'document', source: { type: 'url', url: url(mark) }, title: 'Plan' }),
  (mark) => ({ type: 'document', source: { type: 'file', file_id: mark }, citations: { enabled: true } }),
  (mark) => ({
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: mark },
    context: 'old',
  }),
  (mark) => ({ type: 'document', source: { type: 'content', content: mark } }),
  (mark) => ({ type: 'document', source: { type: 'content', content: [{ type: 'text', text: mark }] } }),
  (mark) => ({
    type: 'document',
    source: {
      type: 'content',
      content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png(mark) } }],
    },
    title: null,
  }),
]

const search_result: Samples<Extract<ContentBlockParam, { type: 'search_result' }>> = [
  (mark) => ({
    type: 'search_result',
    source: 'kb',
    title: 'Found',
    content: [{ type: 'text', text: mark }],
  }),
]

const anthropicUser = {
  text: 'standard',
  image: 'standard',
  tool_result: 'standard',
  document: { sent: document },
  search_result: { sent: search_result },
  container_upload: { sent: [(mark) => ({ type: 'container_upload', file_id: mark })] },
  tool_addition: {
    named: [(mark) => ({ type: 'tool_addition', tool: { type: 'tool_reference', name: mark } })],
  },
  tool_removal: {
    named: [(mark) => ({ type: 'tool_removal', tool: { type: 'tool_reference', name: mark } })],
  },
  thinking: 'reply',
  redacted_thinking: 'reply',
  tool_use: 'reply',
  server_tool_use: 'reply',
  web_search_tool_result: 'reply',
  web_fetch_tool_result: 'reply',
  advisor_tool_result: 'reply',
  code_execution_tool_result: 'reply',
  bash_code_execution_tool_result: 'reply',
  text_editor_code_execution_tool_result: 'reply',
  tool_search_tool_result: 'reply',
  mcp_tool_use: 'reply',
  mcp_tool_result: 'reply',
  mcp_tool_listing: 'reply',
  compaction: 'reply',
  fallback: 'reply',
} as const satisfies Table<ContentBlockParam | BetaContentBlockParam>

const anthropicResult = {
  text: 'standard',
  image: 'standard',
  document: { sent: document },
  search_result: { sent: search_result },
  tool_reference: { sent: [(mark) => ({ type: 'tool_reference', tool_name: mark })] },
  browser_state: {
    sent: [
      (mark) => ({ type: 'browser_state', tabs: [{ tab_id: mark, title: '', url: '', active: true }] }),
      (mark) => ({ type: 'browser_state', tabs: [], state_changes: [{ type: 'tab_opened', tab_id: mark }] }),
    ],
  },
} as const satisfies Table<InList<ToolResultBlockParam['content'] | BetaToolResultBlockParam['content']>>

const chat = {
  text: 'standard',
  image_url: {
    sent: [
      (mark) => ({ type: 'image_url', image_url: { url: url(mark), detail: 'low' } }),
      (mark) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${png(mark)}` } }),
    ],
  },
  input_audio: { sent: [(mark) => ({ type: 'input_audio', input_audio: { data: mark, format: 'mp3' } })] },
  file: {
    sent: [
      (mark) => ({
        type: 'file',
        file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf(mark)}` },
      }),
      (mark) => ({ type: 'file', file: { file_id: mark } }),
    ],
  },
} as const satisfies Table<ChatCompletionContentPart>

const aiSdkUser = {
  text: 'standard',
  image: 'standard',
  file: {
    sent: [
      (mark) => ({ type: 'file', mediaType: 'application/pdf', data: pdf(mark), filename: 'a.pdf' }),
      (mark) => ({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: png(mark) } }),
      (mark) => ({ type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: mark } }),
      (mark) => ({ type: 'file', mediaType: 'video', data: url(mark) }),
      (mark) => ({ type: 'file', mediaType: 'text/plain', data: { type: 'text', text: mark } }),
      (mark) => ({
        type: 'file',
        mediaType: 'application/pdf',
        data: { type: 'reference', reference: { openai: mark } },
        providerOptions: { openai: { detail: 'low' } },
      }),
    ],
  },
} as const satisfies Table<InList<UserContent>>

/** Kinds of older versions are sent in the current form, or a text names them. */
const aiSdkResult = {
  text: 'standard',
  file: {
    sent: [
      (mark) => ({ type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: pdf(mark) } }),
    ],
  },
  custom: { sent: [(mark) => ({ type: 'custom', providerOptions: { any: { id: mark } } })] },
  'file-data': { named: [(mark) => ({ type: 'file-data', data: pdf(mark), mediaType: 'application/pdf' })] },
  'file-url': { named: [(mark) => ({ type: 'file-url', url: url(mark), mediaType: 'application/pdf' })] },
  'file-id': {
    named: [
      (mark) => ({ type: 'file-id', fileId: { openai: mark } }),
      (mark) => ({ type: 'file-id', fileId: mark }),
    ],
  },
  'file-reference': {
    named: [(mark) => ({ type: 'file-reference', providerReference: { anthropic: mark } })],
  },
  'image-data': { named: [(mark) => ({ type: 'image-data', data: png(mark), mediaType: 'image/png' })] },
  'image-url': { named: [(mark) => ({ type: 'image-url', url: url(mark) })] },
  'image-file-id': { named: [(mark) => ({ type: 'image-file-id', fileId: mark })] },
  'image-file-reference': {
    named: [(mark) => ({ type: 'image-file-reference', providerReference: { openai: mark } })],
  },
} as const satisfies Table<ResultValue>

export const TABLES = {
  anthropic: { user: anthropicUser, result: anthropicResult },
  'openai-responses': {
    user: { ...responses, ...settling },
    result: { ...responses, ...outputs },
    item: responsesItems,
  },
  'openai-chat': { user: chat, result: {} },
  'ai-sdk': { user: aiSdkUser, result: aiSdkResult },
} as const

export interface Sample {
  readonly grammar: keyof typeof TABLES
  readonly role: 'user' | 'result'
  readonly kind: string
  /** Whether its own grammar always sends it unchanged. */
  readonly isSent: boolean
  readonly make: (mark: string) => OpenPart
}

export const SAMPLES: readonly Sample[] = Object.entries(TABLES).flatMap(([grammar, tables]) =>
  Object.entries(tables).flatMap(([position, table]) =>
    Object.entries(table as Readonly<Record<string, Representation<OpenPart>>>).flatMap(
      ([kind, representation]) => {
        if (typeof representation === 'string' || position === 'item') return []
        const isSent = 'sent' in representation
        const makers = isSent
          ? representation.sent
          : 'named' in representation
            ? representation.named
            : representation.settles
        return makers.map((make) => ({ grammar, role: position, kind, isSent, make }) as Sample)
      },
    ),
  ),
)

/** Samples for OpenAI Responses that respond to an item or a call of a reply. */
export const SETTLING: readonly Sample[] = SAMPLES.filter(({ kind }) => kind in settling || kind in outputs)
