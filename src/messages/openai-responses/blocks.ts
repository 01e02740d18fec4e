import type { JsonObject, ReasoningItemModel } from '../../event/shapes.ts'
import { type RawObject, objectsOf, stringOf } from '../text.ts'
import { type Kinds, wholePart } from '../blocks.ts'
import { type FileRef, isPdf } from '../files.ts'
import { memoize } from '../digest.ts'
import type { AssistantMessage } from '../message.ts'
import { pairParts } from '../pairs.ts'
import type { AcceptedKind, FieldRef, Limits, PairHalf, PartTable, Positions } from '../limits.ts'
import {
  absent,
  anything,
  boolean,
  byType,
  dataUrl,
  either,
  type Fields,
  id,
  imageUrl,
  integer,
  listOf,
  nullable,
  object,
  objects,
  oneOf,
  open,
  optional,
  record,
  string,
  text,
  typed,
  webUrl,
  where,
  visibleText,
} from '../shape.ts'
import { allOf, COMMON_KINDS, hasOwnParts, reasoningDigest, fieldsOf } from '../reply-parts.ts'

export function readReasoning(item: RawObject): ReasoningItemModel {
  const { id, encrypted_content } = item
  const content = objectsOf(item['content']).map(({ text }) => stringOf(text))
  return {
    ...(typeof id === 'string' ? { id } : {}),
    summary: objectsOf(item['summary']).map(({ text }) => stringOf(text)),
    ...(content.length === 0 ? {} : { content }),
    ...(typeof encrypted_content === 'string' ? { encrypted_content } : {}),
  }
}

export const reasoningOf = /* @__PURE__ */ memoize(readReasoning)

const cached = {
  prompt_cache_breakpoint: optional(record({ mode: oneOf('explicit'), ttl: optional(oneOf('30m', '12h')) })),
}

const accepted = (positions: Positions, ...forms: readonly Fields[]): AcceptedKind => ({
  ...positions,
  fits: typed(...forms),
})
const input = { user: true, result: true } as const
const settlement = { user: true, result: false, item: true } as const
const output = { user: false, result: true, item: true } as const

const image = { detail: oneOf('low', 'high', 'auto', 'original'), ...cached }
const file = { detail: optional(oneOf('auto', 'low', 'high')), ...cached }
const INPUTS: PartTable['kinds'] = {
  input_text: accepted(input, { text: visibleText, ...cached }),
  input_image: accepted(input, { ...image, image_url: imageUrl }, { ...image, file_id: visibleText }),
  input_file: accepted(
    input,
    { ...file, file_data: dataUrl, filename: visibleText },
    { ...file, file_url: webUrl, filename: optional(visibleText) },
    { ...file, file_id: visibleText },
  ),
}
const inputPart = where(object, (part) =>
  Object.entries(INPUTS).some(([type, { fits }]) => part['type'] === type && fits(part)),
)

const status = absent(oneOf('in_progress', 'completed', 'incomplete'))
const called = { id: absent(text), call_id: visibleText }
const screenshot = { type: oneOf('computer_screenshot') }

export const PARTS: PartTable = {
  user: true,
  result: true,
  textFiles: true,
  kinds: {
    ...INPUTS,
    mcp_approval_response: accepted(settlement, {
      id: absent(text),
      approval_request_id: visibleText,
      approve: boolean,
      reason: absent(text),
    }),
    tool_search_output: accepted(settlement, {
      ...called,
      execution: optional(oneOf('server', 'client')),
      status,
      tools: listOf(open({ type: visibleText })),
    }),
    custom_tool_call_output: accepted(output, { ...called, output: either([text, listOf(inputPart, 1)]) }),
    shell_call_output: accepted(output, {
      ...called,
      max_output_length: absent(where(integer, (length) => length >= 0)),
      output: listOf(
        record({
          stdout: text,
          stderr: text,
          outcome: byType({ exit: { exit_code: integer }, timeout: {} }),
        }),
        1,
      ),
      status,
    }),
    local_shell_call_output: accepted(output, { id: visibleText, output: text, status }),
    apply_patch_call_output: accepted(output, {
      ...called,
      output: absent(text),
      status: oneOf('completed', 'failed'),
    }),
    computer_call_output: accepted(output, {
      ...called,
      output: either([
        record({ ...screenshot, image_url: imageUrl }),
        record({ ...screenshot, file_id: visibleText }),
      ]),
      acknowledged_safety_checks: absent(
        listOf(record({ id: visibleText, code: absent(text), message: absent(text) })),
      ),
      status,
    }),
  },
  write,
}

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

/** Status of a finished item: the provider rejects unfinished items. */
const ended = /* @__PURE__ */ where(string, (status) => !/(?:ing|in_progress)$/.test(status))
const MCP = { id: id, server_label: string, name: string, arguments: string } as const
const SEARCH = {
  id: absent(string),
  call_id: absent(string),
  execution: string,
  status: absent(string),
} as const
const CLIENT_ITEM = { in: 'standard', side: 'user' } as const
const CALL = { in: 'call', side: 'assistant' } as const

export const KINDS = {
  message: {
    in: 'standard',
    side: 'both',
    more: { id: id, phase: string, status: string, annotations: objects, type: string },
  },
  reasoning: {
    in: 'standard',
    side: 'assistant',
    needs: { id: id, summary: objects },
    signed: 'encrypted_content',
  },
  function_call: {
    in: 'standard',
    side: 'assistant',
    more: { caller: object, namespace: string, async: boolean },
  },
  file_search_call: wholePart({ id: id, queries: listOf(string), status: ended, results: absent(objects) }),
  web_search_call: wholePart({ id: id, action: object, status: ended }),
  code_interpreter_call: wholePart({
    id: id,
    container_id: string,
    status: ended,
    code: absent(string),
    outputs: nullable(objects),
  }),
  image_generation_call: wholePart({ id: id, status: ended, result: absent(string) }),
  mcp_list_tools: wholePart({ id: id, server_label: string, tools: objects, error: optional(anything) }),
  mcp_call: wholePart({
    ...MCP,
    output: absent(string),
    approval_request_id: absent(string),
    error: optional(anything),
    status: absent(ended),
  }),
  mcp_approval_request: wholePart(MCP),
  program: wholePart({ id: id, call_id: id, code: string, fingerprint: string }),
  program_output: wholePart({ id: id, call_id: id, result: string, status: ended }),
  tool_search_call: wholePart({ ...SEARCH, arguments: anything }),
  tool_search_output: wholePart({ ...SEARCH, tools: objects }),
  compaction: {
    ...wholePart({ id: absent(string), encrypted_content: string }),
    signed: 'encrypted_content',
  },
  custom_tool_call: CALL,
  computer_call: { ...CALL, needs: { id: id } },
  local_shell_call: { ...CALL, needs: { id: id } },
  /** Shell and patch calls that the provider executed are stored whole, and so are their outputs. */
  shell_call: { ...CALL, needs: { call_id: id, action: object } },
  apply_patch_call: { ...CALL, needs: { call_id: id, operation: object, status: string } },
  shell_call_output: wholePart({ call_id: id, output: objects }),
  apply_patch_call_output: wholePart({ call_id: id, status: string, output: absent(string) }),
  function_call_output: CLIENT_ITEM,
  custom_tool_call_output: CLIENT_ITEM,
  computer_call_output: CLIENT_ITEM,
  local_shell_call_output: CLIENT_ITEM,
  mcp_approval_response: CLIENT_ITEM,
  additional_tools: CLIENT_ITEM,
} as const satisfies Kinds

export const isItemId = (id: unknown, prefix: string): id is string =>
  typeof id === 'string' && /^[\w-]{1,64}$/.test(id) && id.startsWith(prefix)

const CALL_MORE = {
  ...KINDS.function_call.more,
  type: string,
  id,
  environment: object,
  pending_safety_checks: objects,
}

export const LIMITS: Limits = {
  grammar: 'openai-responses',
  origin: 'responses',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 64 },
  acceptsImage: () => true,
  parts: PARTS,
  kinds: { ...COMMON_KINDS, reasoning: reasoningDigest },
  order: reasoningThenCall,
  isSigned: (message, { kind, index }) =>
    kind === 'reasoning' && isSendable(fieldsOf(message).reasoning[index]),
  more: { text: KINDS.message.more, call: CALL_MORE },
  pairOf,
  pairs: pairParts,
  hasOutput: (turn) => turn.texts.length > 0 || hasOwnParts(turn),
  appends: true,
}

/** Whether reasoning has a legal id and encrypted content. Both are needed: the provider has not stored it. */
export function isSendable(item: ReasoningItemModel | undefined): boolean {
  const { id, encrypted_content } = item ?? {}
  return isItemId(id, 'rs') && !!encrypted_content && encrypted_content.isWellFormed()
}

/** Orders each call after its reasoning, and all texts directly before the first call. */
function reasoningThenCall(message: AssistantMessage): FieldRef[] {
  const [reasoning, texts] = [allOf(message, 'reasoning'), allOf(message, 'text')]
  const next = ({ responses_reasoning_item: item }: Pick<AssistantMessage, 'responses_reasoning_item'>) =>
    item === null ? [] : reasoning.splice(0, 1)
  const first = next(message)
  const calls = allOf(message, 'call').flatMap((ref) => [
    ...next(message.tool_calls[ref.index] ?? message),
    ...texts.splice(0),
    ref,
  ])
  return [...first, ...calls, ...texts]
}

const PAIR = /^(program|tool_search|(?:shell|apply_patch|computer|local_shell)_call)(_call|_output)?$/

/** Returns which half of a pair an item is; null without a `call_id`, because the provider then requires no pair. */
function pairOf({ type, call_id }: JsonObject): PairHalf | null {
  const [, call, end] = PAIR.exec(stringOf(type)) ?? []
  if (call === undefined || typeof call_id !== 'string') return null
  const half = end === '_output' ? 'result' : 'call'
  return { half, id: `${call} ${call_id}`, waits: call === 'program' || call === 'tool_search' }
}
