import { without } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { sentMore } from '../blocks.ts'
import { digestOf } from '../digest.ts'
import { typeOfUrl } from '../files.ts'
import type { AssistantTurn, Result, TextPiece } from '../limits.ts'
import type { NeutralMessage } from '../message.ts'
import { isText, joinTexts, blockWriter } from '../pieces.ts'
import type { Role, WriteOptions, Written } from '../prefix.ts'
import { NO_SIGNATURE, signatureOf, thoughtAt } from '../reply-parts.ts'
import { argumentObject, functionName, runsOf } from '../text.ts'
import { replyBlocks, writeRequest } from '../write.ts'
import { isContent, LIMITS } from './blocks.ts'
import type { InteractionsContent, InteractionsRequest, InteractionsStep } from './rules.ts'

type InteractionsBlock = InteractionsContent | InteractionsStep

/**
 * Writes the system instruction and the steps of an `interactions.create` request. They are valid for any log
 * (law M). The steps are the whole history, so that `store: false` can be set. A reply is sent back with its
 * signatures only while its prefix is unchanged. Unsigned thoughts, which the provider rejects, are left out.
 * If the first call of a reply and all thoughts before this call are unsigned, a thought with the provider's
 * placeholder signature is added before this call. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * const { input } = toInteractions([{ role: 'user', content: [{ text: 'hi' }], name: null }])
 * input // [{ type: 'user_input', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toInteractions(
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): InteractionsRequest {
  return writeRequest({ limits: LIMITS, start }, messages, options)
}

function start(list: InteractionsStep[]) {
  let front: Pick<InteractionsRequest, 'system_instruction'> = {}
  return {
    piece: contentOf,
    reply: replySteps,
    result: resultStep,
    add(role: Role, blocks: InteractionsBlock[]) {
      if (role === 'front') front = { system_instruction: joinTexts(blocks as object[] as TextPiece[]) }
      else if (role === 'user') list.push({ type: 'user_input', content: blocks as InteractionsContent[] })
      else list.push(...(role === 'assistant' ? joinContents(blocks) : (blocks as InteractionsStep[])))
    },
    request: (input: InteractionsStep[]): InteractionsRequest => ({ ...front, input }),
  }
}

function joinContents(blocks: readonly (InteractionsBlock & { begins?: boolean })[]): InteractionsStep[] {
  const outputs = runsOf(blocks, (one, next) => isContent(one) && isContent(next) && next.begins !== true)
  return outputs.map(([first, ...others]) => {
    if (first === undefined || !isContent(first)) return first as InteractionsStep
    const content = [first, ...others].map((each) => without(each as object as JsonObject, 'begins'))
    return { type: 'model_output', content: content as object as InteractionsContent[] }
  })
}

function replySteps(turn: AssistantTurn, keepsSigned: boolean): readonly Written<InteractionsBlock>[] {
  const { message } = turn
  let begins = false
  /** Moves `begins` from an omitted blank text, which began an output, to the next content. */
  const begin = <T extends InteractionsBlock | JsonObject>(block: T): T => {
    if (!begins || !isContent(block)) return block
    begins = false
    return { ...block, begins: true }
  }
  const steps = replyBlocks<InteractionsBlock>(turn, keepsSigned, {
    text: ({ text }, more) => begin({ type: 'text', text, ...more }),
    thinking(_, more, ref) {
      const thinking = thoughtAt(message, LIMITS.grammar, ref.index)?.thinking ?? ''
      const signature = keepsSigned ? signatureOf(message, ref, LIMITS, 'signature') : null
      const summary = thinking !== '' && { summary: [{ type: 'text', text: thinking } as const] }
      return signature === null ? null : { type: 'thought', signature, ...summary, ...more }
    },
    call: ({ id, source }, more) => ({
      type: 'function_call',
      id,
      name: functionName(source.name),
      arguments: argumentObject(source.arguments),
      ...more,
    }),
    other: (value) => begin(keepsSigned ? value : without(value, 'signature')),
    more: (ref) => {
      const more = sentMore(ref.more, LIMITS.more[ref.kind])
      begins ||= more?.['begins'] === true
      return more === null || keepsSigned ? more : without(more, 'signature')
    },
  })
  const first = steps.findIndex(({ block }) => block.type === 'function_call')
  const isSigned = ({ block }: Written<InteractionsBlock>): boolean =>
    (block.type === 'thought' || block.type === 'function_call') && 'signature' in block
  if (first < 0 || steps.slice(0, first + 1).some(isSigned)) return steps
  const thought = { type: 'thought', signature: NO_SIGNATURE } as const
  return steps.toSpliced(first, 0, { block: thought, digest: () => digestOf(NO_SIGNATURE) })
}

function resultStep({ call, pieces, isError }: Result): InteractionsStep {
  return {
    type: 'function_result',
    call_id: call.id,
    name: functionName(call.source.name),
    result: pieces.every(isText) ? joinTexts(pieces) : pieces.map(contentOf),
    ...(isError ? { is_error: true } : {}),
  }
}

const contentOf = /* @__PURE__ */ blockWriter<InteractionsContent>(
  (text) => ({ type: 'text', text }),
  (image) =>
    image.from === 'web'
      ? { type: 'image', mime_type: typeOfUrl(image.url), uri: image.url }
      : { type: 'image', mime_type: image.mediaType, data: image.data },
)
