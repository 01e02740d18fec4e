import type { JsonObject } from '../../event/shapes.ts'
import { sentMore } from '../blocks.ts'
import type { AssistantTurn, Piece, Result } from '../limits.ts'
import type { NeutralMessage } from '../message.ts'
import { blockWriter, moveParts } from '../pieces.ts'
import type { Role, WriteOptions, Written } from '../prefix.ts'
import { decodeBase64 } from '../text-files.ts'
import { argumentObject } from '../text.ts'
import { extend, replyBlocks, withAnswer, writeRequest } from '../write.ts'
import { isSigned, LIMITS, withBytes } from './blocks.ts'
import type { BedrockBlock, BedrockMessage, BedrockRequest, BedrockResultBlock } from './rules.ts'

/** Text to add before a document that no text precedes. The provider rejects a document without a text. */
const FILE_TEXT = '[A file:]'

/**
 * Writes the system prompt and the messages of a `Converse` request. They are valid for any log (law M).
 * Signed reasoning is sent back only while its reply's prefix is unchanged. Unsigned reasoning and cache
 * marks are left out. Files in Bedrock's document formats are sent as bytes or, with an `s3://` URL, by their
 * location. For models other than Claude and Nova, images are moved from results to a user message. For an
 * image that has only a URL, a placeholder text is sent. A request with calls also needs a `toolConfig`. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * const { messages } = toBedrock([{ role: 'user', content: [{ text: 'hi' }], name: null }])
 * messages // [{ role: 'user', content: [{ text: 'hi' }] }]
 */
export function toBedrock(messages: readonly NeutralMessage[], options: WriteOptions = {}): BedrockRequest {
  const begin = (list: BedrockMessage[]) => start(list, takesRichResults(options.model))
  return writeRequest({ limits: LIMITS, start: begin }, messages, options)
}

/**
 * Whether a result can have images and a status. Only Claude and Nova accept these. Also true for the ARN of
 * a profile, because it can hide the model's name.
 */
const takesRichResults = (model = ''): boolean => /claude|nova/i.test(model) || !/\.[^/]*$/.test(model)

function start(list: BedrockMessage[], hasRichResults: boolean) {
  let system: BedrockBlock[] = []
  const state = { documents: 0 }
  return {
    state,
    piece(piece: Piece): BedrockBlock {
      const block = blockOf(piece)
      if (!('document' in block)) return block
      return { document: { ...block.document, name: `document ${(state.documents += 1)}` } }
    },
    reply,
    result: (result: Result) => resultBlock(result, hasRichResults),
    move: (turn: AssistantTurn) => moveParts(turn, () => !hasRichResults, 'any'),
    add(source: Role, blocks: BedrockBlock[]) {
      const role = source === 'assistant' ? source : 'user'
      const last = list.at(-1)
      if (source === 'front') system = blocks
      else if (last?.role === role) extend(list, 'content', withFileText(blocks, last.content))
      else list.push({ role, content: withFileText(blocks, []) })
    },
    request: (messages: BedrockMessage[]): BedrockRequest => ({
      ...(system.length > 0 && { system: system as { text: string }[] }),
      messages,
    }),
  }
}

/**
 * Adds a text if a document has no text before it. Ignores texts after the document, so that a longer history
 * changes no earlier block.
 */
function withFileText(blocks: readonly BedrockBlock[], before: readonly BedrockBlock[]): BedrockBlock[] {
  const document = blocks.findIndex((block) => 'document' in block)
  const isValid = document < 0 || [...before, ...blocks.slice(0, document)].some((block) => 'text' in block)
  return isValid ? [...blocks] : blocks.toSpliced(document, 0, { text: FILE_TEXT })
}

/** Writes a reply. The provider refuses reasoning as the last block, so a fixed text follows such reasoning. */
function reply(turn: AssistantTurn, keepsSigned: boolean): Written<BedrockBlock>[] {
  const { message } = turn
  const blocks = replyBlocks<BedrockBlock>(turn, keepsSigned, {
    text: ({ text }, more) =>
      more === null
        ? { text }
        : { citationsContent: { content: [{ text }], citations: more['citations'] as object[] } },
    thinking(block, _, ref) {
      if (!keepsSigned || !isSigned(message, ref)) return null
      if (!('thinking' in block)) return { reasoningContent: { redactedContent: decodeBase64(block.data) } }
      const { thinking: text, signature } = block
      return { reasoningContent: { reasoningText: { text, signature: signature ?? '' } } }
    },
    call: ({ id, name, source }) => ({
      toolUse: { toolUseId: id, name, input: argumentObject(source.arguments) },
    }),
    other: (value) => withBytes(value) as typeof value,
    more: (ref) => sentMore(ref.more, LIMITS.more[ref.kind]),
  })
  const last = blocks.at(-1)?.block ?? {}
  return 'reasoningContent' in last ? withAnswer(blocks, (text) => ({ text })) : blocks
}

function resultBlock({ call, pieces, isError }: Result, hasStatus: boolean): BedrockBlock {
  const content = pieces.map((piece) => blockOf(piece) as BedrockResultBlock)
  return {
    toolResult: {
      toolUseId: call.id,
      content: content.length === 0 ? [{ text: '[The result is empty.]' }] : content,
      ...(hasStatus && { status: isError ? 'error' : 'success' }),
    },
  }
}

const jsonOf = /* @__PURE__ */ blockWriter<JsonObject>(
  (text) => ({ text }),
  (image) => {
    if (image.from === 'web') return { text: image.url }
    const format = image.mediaType.slice('image/'.length)
    return { image: { format, source: { bytes: { $bytes: image.data } } } }
  },
)

const blockOf = (piece: Piece): BedrockBlock => withBytes(jsonOf(piece)) as BedrockBlock
