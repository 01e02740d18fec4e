import type { JsonObject } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import { type FileRef, isAddress, isPdf } from '../files.ts'
import type { Limits, PairHalf } from '../limits.ts'
import { pairHalf, pairParts } from '../pairs.ts'
import { THINKING_LIMITS, signatureOf } from '../reply-parts.ts'
import { base64, boolean, object, objects, optional, string } from '../shape.ts'

const STEP = { in: 'part', side: 'assistant', signed: 'signature' } as const
const CALL = {
  ...STEP,
  needs: { id: string, arguments: optional(object), signature: optional(string) },
} as const
const RESULT = { ...STEP, needs: { call_id: string, signature: optional(string) } } as const
const MEDIA = {
  in: 'part',
  side: 'both',
  needs: { data: optional(base64), uri: optional(string), mime_type: optional(string) },
} as const

const CONTENTS: ReadonlySet<unknown> = new Set(['text', 'image', 'audio', 'document', 'video'])

export const isContent = ({ type }: { readonly type?: unknown }): boolean => CONTENTS.has(type)

function toolSteps<const T extends string>(...tools: readonly T[]) {
  const steps = tools.flatMap((tool) => [
    [`${tool}_call`, CALL] as const,
    [`${tool}_result`, RESULT] as const,
  ])
  return Object.fromEntries(steps) as Record<`${T}_call`, typeof CALL> & Record<`${T}_result`, typeof RESULT>
}

export const KINDS = {
  user_input: { in: 'standard', side: 'user' },
  model_output: { in: 'standard', side: 'assistant' },
  thought: { in: 'standard', side: 'assistant', more: { summary: objects } },
  function_call: { in: 'standard', side: 'assistant', more: { signature: string } },
  function_result: { in: 'standard', side: 'user' },
  ...toolSteps('code_execution', 'file_search', 'google_maps', 'google_search', 'mcp_server_tool'),
  ...toolSteps('processing', 'retrieval', 'url_context'),
  mcp_server_tool_call: { ...CALL, needs: { ...CALL.needs, name: string, server_name: string } },
  /** `begins` is Colloquy's own field. It marks an output that directly follows another output. */
  text: { in: 'standard', side: 'both', more: { annotations: objects, begins: boolean } },
  image: MEDIA,
  audio: MEDIA,
  document: MEDIA,
  video: MEDIA,
} as const satisfies Kinds

function writeFile(file: FileRef): JsonObject | null {
  const { from, mediaType } = file
  if ('id' in from) return null
  const mime_type = isPdf(file) ? 'application/pdf' : mediaType
  const type =
    mime_type === 'application/pdf' ? 'document' : /^(?:audio|video)(?=\/)/.exec(mime_type ?? '')?.[0]
  if (type === undefined) return null
  if ('data' in from) return { type, mime_type, data: from.data }
  return isAddress(from.url, true) ? { type, mime_type, uri: from.url } : null
}

export const LIMITS: Limits = {
  ...THINKING_LIMITS,
  grammar: 'interactions',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 128 },
  acceptsImage: (image) => image.from === 'data' || image.secure,
  parts: { user: true, result: true, kinds: {}, write: writeFile },
  isSigned: (message, ref) => signatureOf(message, ref, LIMITS, 'signature') !== null,
  more: { text: KINDS.text.more, thinking: KINDS.thought.more, call: KINDS.function_call.more },
  pairOf,
  pairs: pairParts,
}

function pairOf({ type, id, call_id }: JsonObject): PairHalf | null {
  const match = typeof type === 'string' ? /^(.+)_(call|result)$/.exec(type) : null
  if (match === null || match[1] === 'function') return null
  const half = match[2] as PairHalf['half']
  return pairHalf(half, String(match[1]), half === 'call' ? id : call_id)
}
