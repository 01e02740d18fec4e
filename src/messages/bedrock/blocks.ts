import { mapDeep, ownField } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import { type FileRef, isBase64, isPdf } from '../files.ts'
import { base64Of, decodeBase64 } from '../text-files.ts'
import type { FieldRef, Limits } from '../limits.ts'
import type { AssistantMessage } from '../message.ts'
import { pairHalf, pairParts } from '../pairs.ts'
import { callsBehind, THINKING_LIMITS, isSignedThinking } from '../reply-parts.ts'
import { base64, object, objects, oneOf, open, string } from '../shape.ts'
import { objectOf } from '../text.ts'

const MEDIA = /* @__PURE__ */ open({ format: string, source: object })
const IMAGE = /* @__PURE__ */ open({
  format: oneOf('png', 'jpeg', 'gif', 'webp'),
  source: open({ bytes: open({ $bytes: base64 }) }),
})
const USERS = { in: 'standard', side: 'user' } as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: { citations: objects } },
  reasoningContent: { in: 'standard', side: 'assistant' },
  citationsContent: { in: 'standard', side: 'assistant' },
  /** A call of the model. A block with a `type` is a call that the provider executed, and is stored whole. */
  toolUse: {
    in: 'standard',
    side: 'assistant',
    needs: { toolUse: open({ toolUseId: string, name: string, input: object, type: string }) },
  },
  toolResult: {
    in: 'standard',
    side: 'both',
    needs: { toolResult: open({ toolUseId: string, content: objects, type: string }) },
  },
  image: { in: 'part', side: 'both', needs: { image: IMAGE } },
  audio: { in: 'part', side: 'both', needs: { audio: MEDIA } },
  video: { in: 'part', side: 'both', needs: { video: MEDIA } },
  document: USERS,
  searchResult: USERS,
  guardContent: USERS,
  cachePoint: USERS,
  toolAddition: USERS,
  toolRemoval: USERS,
} as const satisfies Kinds

/** Formats of documents, by the last word of their media types. Other types end in their format, such as `csv`. */
const TYPES = { plain: 'txt', markdown: 'md', msword: 'doc', excel: 'xls', document: 'docx', sheet: 'xlsx' }

/** Writes a document. `toBedrock` assigns the name, which must be unique in the request. */
function writeFile(file: FileRef): JsonObject | null {
  const { mediaType, from, name } = file
  const [type = ''] = /[^/.;-]*(?=;|$)/.exec(mediaType ?? '') ?? []
  const [, ending = ''] = /\.(\w+)$/.exec(name ?? ('id' in from ? from.id : '')) ?? []
  const formats = [ownField<string>(TYPES, type) ?? type, ending.toLowerCase()]
  const format = formats.find((each) => /^(?:pdf|csv|docx?|xlsx?|html|txt|md)$/.test(each))
  const s3 = 'id' in from && from.provider === 's3' ? { s3Location: { uri: from.id } } : null
  const source = 'data' in from && isPdf(file) === (format === 'pdf') ? { bytes: { $bytes: from.data } } : s3
  return format === undefined || source === null ? null : { document: { format, name: '', source } }
}

export const LIMITS: Limits = {
  ...THINKING_LIMITS,
  grammar: 'bedrock',
  namedBy: 'field',
  table: KINDS,
  callId: { illegal: /[^\w-]/gu, maxLength: 64 },
  acceptsImage: (image) => image.from === 'data',
  parts: { user: true, result: false, kinds: {}, write: writeFile },
  arrange: callsBehind,
  isSigned,
  more: { text: KINDS.text.more },
  pairOf: ({ toolUse, toolResult }) =>
    toolUse === undefined
      ? pairHalf('result', 'tool', objectOf(toolResult)['toolUseId'])
      : pairHalf('call', 'tool', objectOf(toolUse)['toolUseId']),
  pairs: pairParts,
}

export function isSigned(message: AssistantMessage, ref: FieldRef): boolean {
  if (message.reply?.grammar !== LIMITS.grammar || !isSignedThinking(message, ref)) return false
  const block = message.thinking_blocks[ref.index]
  return block !== undefined && ('thinking' in block || isBase64(block.data))
}

/** Replaces base64 with the bytes that the AWS client requires. */
export const withBytes = (value: unknown): unknown =>
  mapDeep(value, (each) => {
    const { $bytes, ...rest } = objectOf(each)
    const isBytes = typeof $bytes === 'string' && isBase64($bytes) && Object.keys(rest).length === 0
    return isBytes ? decodeBase64($bytes) : each
  })

/** Replaces bytes with base64, and the AWS client's `bigint` and `NumericValue` with numbers. */
export const withoutBytes = (value: unknown): unknown =>
  mapDeep(value, (each) => {
    if (each instanceof Uint8Array) return { $bytes: base64Of(each) }
    const isNumeric = typeof each === 'bigint' || objectOf(each)['type'] === 'bigDecimal'
    return isNumeric && Number.isFinite(Number(each)) ? Number(each) : each
  })
