import type { JsonObject } from '../../event/shapes.ts'
import { type Kinds, wholePart } from '../blocks.ts'
import { type FileRef, isPdf } from '../files.ts'
import {
  base64,
  dataUrl,
  either,
  type Fields,
  imageUrl,
  object,
  objects,
  oneOf,
  optional,
  record,
  string,
  typed,
  visibleText,
} from '../shape.ts'
import type { AcceptedKind, Limits, PartTable } from '../limits.ts'
import { allOf, COMMON_KINDS } from '../reply-parts.ts'

const cached = {
  prompt_cache_breakpoint: optional(record({ mode: oneOf('explicit'), ttl: optional(oneOf('30m', '12h')) })),
}

/** Fields that can contain plain reasoning. The field's name depends on the server. */
export const REASONING: readonly string[] = ['reasoning_content', 'reasoning', 'reasoning_text']

const ofUser = (fields: Fields): AcceptedKind => ({
  user: true,
  result: false,
  fits: typed({ ...fields, ...cached }),
})

/** Content parts that a request accepts. Tool results contain only text; their files follow in a user message. */
export const PARTS: PartTable = {
  user: true,
  result: false,
  kinds: {
    image_url: ofUser({
      image_url: record({ url: imageUrl, detail: optional(oneOf('auto', 'low', 'high')) }),
    }),
    input_audio: ofUser({ input_audio: record({ data: base64, format: oneOf('wav', 'mp3') }) }),
    file: ofUser({
      file: either([
        record({ file_data: dataUrl, filename: visibleText }),
        record({ file_id: visibleText, filename: optional(visibleText) }),
      ]),
    }),
  },
  write,
}

const AUDIO: ReadonlyMap<string | null, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
])

function write(file: FileRef): JsonObject | null {
  const { from, name, mediaType } = file
  if ('id' in from) return from.provider === 'openai' ? { type: 'file', file: { file_id: from.id } } : null
  if (!('data' in from)) return null
  const format = AUDIO.get(mediaType)
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: from.data, format } }
  if (!isPdf(file)) return null
  const file_data = `data:application/pdf;base64,${from.data}`
  return { type: 'file', file: { filename: name ?? 'document.pdf', file_data } }
}

export const KINDS = {
  content: { in: 'standard', side: 'both' },
  refusal: { in: 'standard', side: 'assistant' },
  tool_calls: {
    in: 'standard',
    side: 'assistant',
    more: {
      extra_content: object,
      provider_specific_fields: object,
      thought_signature: string,
      thoughtSignature: string,
    },
  },
  /** The old form of a call, which no server writes any more. */
  function_call: { in: 'words', side: 'assistant' },
  annotations: wholePart({ annotations: objects }),
  /** Only the transcript is sent back: the server deletes audio after a while, and then refuses its id. */
  audio: { in: 'words', side: 'assistant' },
  /** Field in which the server sent the reasoning. Its value in the record is `true`: the events have the text. */
  reasoning_content: { in: 'part', side: 'assistant' },
  reasoning: { in: 'part', side: 'assistant' },
  /** GitHub Copilot's reasoning. The next field is its signature. */
  reasoning_text: { in: 'part', side: 'assistant' },
  reasoning_opaque: { ...wholePart({ reasoning_opaque: string }), signed: 'reasoning_opaque' },
  /** Claude's thinking blocks, in the form in which LiteLLM returns them. */
  thinking_blocks: { ...wholePart({ thinking_blocks: objects }), signed: 'thinking_blocks' },
  /** Signed reasoning, in the form in which routers return it. */
  reasoning_details: { ...wholePart({ reasoning_details: objects }), signed: 'reasoning_details' },
  /** Data of the server, such as Gemini's thought signatures. */
  extra_content: wholePart({ extra_content: object }),
} as const satisfies Kinds

export const LIMITS: Limits = {
  grammar: 'openai-chat',
  namedBy: 'field',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 40 },
  acceptsImage: () => true,
  parts: PARTS,
  kinds: COMMON_KINDS,
  order: (message) => allOf(message, 'text', 'call'),
  isSigned: () => false,
  more: { text: { type: string }, call: { ...KINDS.tool_calls.more, type: string } },
  pairOf: () => null,
  pairs: (turns) => turns,
  hasOutput: ({ texts }) => texts.length > 0,
  appends: true,
}
