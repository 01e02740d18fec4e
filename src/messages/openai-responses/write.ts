import { isObject, ownField, without } from '../../event/json.ts'
import { isTextPart } from '../../event/shapes.ts'
import type { Content, JsonObject, JsonValue, ReasoningItemModel } from '../../event/shapes.ts'
import { argumentObject, argumentText } from '../text.ts'
import { isSealed, type Kind, kindName, sentMore } from '../blocks.ts'
import { digestOf, digestOfAll, digestWith, otherDigest } from '../digest.ts'
import { urlOf } from '../files.ts'
import type { AssistantMessage, NeutralMessage } from '../message.ts'
import { isOfModel, requestRecord } from '../prefix.ts'
import type { NewMap, Role, WriteOptions, Written } from '../prefix.ts'
import { id as anyId } from '../shape.ts'
import { callDigest, reasoningDigest, fieldsOf, textPiecesOf, textsOfPart, unsent } from '../reply-parts.ts'
import type { PartRef, Piece, TextPiece, AssistantTurn, Call, Result, Turn } from '../limits.ts'
import { itemAsText, isItem, isText, joinTexts, blockWriter, pieceDigest, textPiece } from '../pieces.ts'
import { writeRequest } from '../write.ts'
import { isItemId, isSendable, KINDS, LIMITS, reasoningOf } from './blocks.ts'
import type {
  ResponsesItem,
  ResponsesOutputPart,
  ResponsesPart,
  ResponsesPhase,
  ResponsesRequest,
  ResponsesText,
} from './rules.ts'

interface MessageText {
  readonly piece: TextPiece
  readonly more: JsonObject | null
}

/**
 * Writes a reply. An item after omitted reasoning loses its id, because the provider rejects the id without
 * this reasoning. Reasoning without a following item is left out.
 */
function replyItems(
  turn: AssistantTurn,
  keepsSigned: boolean,
  keepsPlain: boolean,
  isNew: (id: string) => boolean,
  onHalf: (id: string, isSent: boolean) => void,
) {
  const { message, refs, bound, calls } = turn
  const last = refs.findLastIndex((ref) => isFollowing(ref, message))
  const reasoning = fieldsOf(message).reasoning
  const results = new Map(turn.results.map((result) => [result.call, result]))
  const items: Written<ResponsesItem>[] = []
  const sent = new Map<Call, ResponsesItem>()
  let texts: MessageText[] = []
  let isReasoningLost = false
  let reasonedUpTo = 0
  const mayName = (id: unknown, prefix = ''): id is string =>
    isItemId(id, prefix) && !isReasoningLost && isNew(id)
  const addMessage = (): void => {
    if (texts.length > 0) items.push(messageItem(texts, (id) => mayName(id, 'msg')))
    texts = []
  }
  const addReasoning = (item: ReasoningItemModel, position: number): void => {
    // The item after the previous reasoning could not be sent.
    if (reasonedUpTo < position && items.at(-1)?.block.type === 'reasoning') items.pop()
    reasonedUpTo = position + 1
    const { id, content } = item
    const plain = keepsPlain && content?.length ? content : null
    const fits = position < last && (plain ? isItemId(id, 'rs') : keepsSigned && isSendable(item))
    isReasoningLost = !fits || !isNew(id ?? '')
    if (isReasoningLost) return
    const block = reasoningItem(item, plain)
    items.push({ block, digest: () => (plain ? otherDigest(block) : reasoningDigest(item)) })
  }
  for (const [position, ref] of refs.entries()) {
    const { kind, index } = ref
    if (kind === 'text') {
      const part = message.content[index]
      const more = sentMore(ref.more, LIMITS.more.text)
      if (beginsMessage(more)) addMessage()
      // No part of a message may be empty. A blank part remains if a later signature covers it.
      const exact = keepsSigned && position < bound
      if (part !== undefined)
        texts.push(...textsOfPart(part, exact && !isEmpty(part)).map((piece) => ({ piece, more })))
      continue
    }
    if (kind === 'other') {
      const { placeholder, value } = ref
      if (value['type'] === 'reasoning') {
        addMessage()
        addReasoning(reasoningOf(value), position)
        continue
      }
      let sent: JsonObject | null = null
      if (placeholder === null) {
        if (isSealed(LIMITS, value) && !keepsSigned) continue
        sent = withLegalId(value, mayName)
        const pair = LIMITS.pairOf(value)
        if (pair !== null) onHalf(pair.id, sent !== null)
      }
      if (sent === null) {
        const replacement = placeholder ?? unsent(ref)[0]?.placeholder
        if (replacement) texts.push({ piece: textPiece(replacement), more: null })
        continue
      }
      addMessage()
      items.push({ block: sent as unknown as ResponsesItem, digest: () => otherDigest(sent) })
      continue
    }
    addMessage()
    const item = reasoning[index]
    const call = calls[index]
    if (kind === 'reasoning') {
      // A missing item belongs to a call that is not on the branch.
      if (item === undefined) isReasoningLost = true
      else addReasoning(item, position)
    } else if (kind === 'call' && call !== undefined) {
      const written = callItem(call, results.get(call), ref.more, mayName)
      items.push(written)
      sent.set(call, written.block)
    }
  }
  addMessage()
  return { items, calls: sent }
}

const isFollowing = (ref: PartRef, message: AssistantMessage): boolean =>
  ref.kind === 'call' ||
  textPiecesOf(message, [ref]).length > 0 ||
  (ref.kind === 'other' && ref.value['type'] !== 'reasoning' && !isSealed(LIMITS, ref.value))

const isEmpty = (part: Content): boolean => isTextPart(part) && part.text === ''

const beginsMessage = (more: JsonObject | null): boolean => (more?.['id'] ?? more?.['phase']) !== undefined

function messageItem(
  texts: readonly MessageText[],
  mayName: (id: unknown) => boolean,
): Written<ResponsesItem> {
  const { id, phase, status } = texts[0]?.more ?? {}
  const phaseFields =
    phase === 'commentary' || phase === 'final_answer' ? { phase: phase as ResponsesPhase } : {}
  const isLong = mayName(id)
  const digests = texts.map(({ piece, more }) => digestWith(pieceDigest(piece), more))
  const block: ResponsesItem = {
    type: 'message',
    role: 'assistant',
    ...(isLong
      ? {
          id: String(id),
          status: status === 'incomplete' ? status : 'completed',
          content: texts.map(outputPart),
        }
      : { content: joinTexts(texts.map(({ piece }) => piece)) }),
    ...phaseFields,
  }
  return { block, digest: () => digestOfAll('message', digestOf(isLong ? String(id) : ''), ...digests) }
}

function outputPart({ piece: { text }, more }: MessageText): ResponsesOutputPart {
  const { annotations, type } = more ?? {}
  return type === 'refusal'
    ? { type, refusal: text }
    : { type: 'output_text', text, annotations: (annotations ?? []) as never[] }
}

function withLegalId(value: JsonObject, mayName: (id: unknown) => boolean): JsonObject | null {
  const { id, ...rest } = value
  if (id === undefined || id === null || mayName(id)) return value
  return needsId(kindName(value)) ? null : rest
}

const needsId = (kind: string): boolean => ownField<Kind>(KINDS, kind)?.needs?.['id'] === anyId

const reasoningItem = (
  { id, summary, encrypted_content }: ReasoningItemModel,
  plain: readonly string[] | null,
) =>
  ({
    type: 'reasoning',
    id,
    summary: textsOf('summary_text', summary),
    ...(plain ? { content: textsOf('reasoning_text', plain) } : { encrypted_content }),
  }) as ResponsesItem

const textsOf = <T extends string>(type: T, texts: readonly string[] | null | undefined) =>
  (texts ?? []).map((text) => ({ type, text: text.toWellFormed() }))

/**
 * Writes a call. A typed call becomes a function call if its type cannot represent the result, or needs an id
 * that must not be sent.
 */
function callItem(
  call: Call,
  result: Result | undefined,
  additional: JsonObject | null,
  mayName: (id: unknown, prefix?: string) => id is string,
): Written<ResponsesItem> {
  const { id: call_id, name, source } = call
  const { type = 'function_call', id, ...more } = sentMore(additional, LIMITS.more.call) ?? {}
  const typed = typedForm(type, result)
  const named = typed !== null && mayName(id) ? { id } : {}
  if (typed !== null && ('id' in named || !needsId(String(type)))) {
    const block = { type, ...named, call_id, ...typed.fields, ...more }
    return { block: block as unknown as ResponsesItem, digest: () => otherDigest(block) }
  }
  const item = mayName(source.responses_item_id, 'fc') ? { id: source.responses_item_id } : {}
  const extra = type === 'function_call' && Object.keys(more).length > 0 ? more : null
  return {
    block: {
      type: 'function_call',
      ...item,
      call_id,
      name,
      arguments: argumentText(source.arguments),
      ...extra,
    },
    digest: () => digestWith(callDigest(call, item.id), extra),
  }
}

/** Field with the request's id, for each type of item that requests or answers an approval or a tool search. */
const REQUEST_IDS: Readonly<Record<string, string | undefined>> = {
  mcp_approval_request: 'id',
  mcp_approval_response: 'approval_request_id',
  tool_search_call: 'call_id',
  tool_search_output: 'call_id',
}

function requestKey(item: JsonObject): string | null {
  const field = REQUEST_IDS[String(item['type'])]
  const id = item[String(field)]
  return typeof id === 'string' ? `${field === 'call_id'} ${id}` : null
}

/**
 * Writes the instructions and the input of a Responses request. They are valid for any log (law M). If a
 * reply's prefix is unchanged, the reply's reasoning items with legal ids are sent with their encrypted
 * content, each before the item that followed the reasoning. Thinking blocks, reasoning text, and the status
 * and plain content of reasoning items are left out, because the provider rejects all of these. But if `signs`
 * is false, the model that wrote plain reasoning gets this reasoning back as plain content. The answer to an
 * item that is sent, for example an `mcp_approval_response` to an `mcp_approval_request`, is also sent as
 * an item. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIResponses([{ role: 'user', content: [{ text: 'hi' }], name: null }]).input.length // 1
 */
export function toOpenAIResponses(
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): ResponsesRequest {
  const { onPrefix, ...others } = options
  for (let refused: ReadonlySet<string> = new Set(); ;) {
    const begin = (list: ResponsesItem[], newMap: NewMap) => start(list, newMap, options)
    const request = writeRequest({ limits: LIMITS, start: begin, refused }, messages, others)
    // Whether an item's id may be sent is known only when the item is written. By then, the other half of the
    // item's pair may have been written.
    if (latestSplit.length > 0) refused = new Set([...refused, ...latestSplit])
    else {
      requestRecord(request)?.leftOut.forEach((omitted) => onPrefix?.(omitted))
      return request
    }
  }
}

/** Ids of the pairs of call and result of which the latest request contains only one half as an item. */
let latestSplit: readonly string[] = []

function start(input: ResponsesItem[], newMap: NewMap, { model, signs }: WriteOptions) {
  const ids = newMap<true>()
  let instructions: string | null = null
  /** For each id of a pair (call and output), whether the half that is written first is sent as an item. */
  const pairs = newMap<boolean>()
  const split = newMap<boolean>()
  const requests = newMap<true>()
  const working = newMap<readonly ResponsesItem[]>()
  let calls: ReadonlyMap<Call, ResponsesItem> = new Map()
  const isWaiting = ({ call, isWorking }: Result): boolean =>
    isWorking && (calls.get(call) as { readonly async?: boolean } | undefined)?.async === true
  return {
    piece: (piece: Piece): Piece | ResponsesItem => piece,
    // Leaves out results of working calls: for the provider, an async call without an output is still working.
    move: ({ results }: AssistantTurn) => ({
      results: results.filter((result) => !isWaiting(result)),
      pieces: [],
    }),
    reply(turn: AssistantTurn, keepsSigned: boolean) {
      const written = replyItems(
        turn,
        keepsSigned,
        signs === false && isOfModel(turn.message, LIMITS.grammar, model),
        (id) => !ids.has(id) && ids.set(id, true) === ids,
        (id, isSent) => (pairs.get(id) === !isSent ? split : pairs).set(id, isSent),
      )
      calls = written.calls
      for (const { call } of turn.results.filter(isWaiting)) {
        const { id } = call.source
        working.set(id, [...(working.get(id) ?? []), calls.get(call) as ResponsesItem])
      }
      return written.items
    },
    result: (result: Result) =>
      (typedForm(calls.get(result.call)?.type, result)?.output as object as ResponsesItem | undefined) ??
      outputOf({ type: 'function_call', call_id: result.call.id }, result.pieces),
    add(role: Role, blocks: (Piece | ResponsesItem)[], turn: Turn | null) {
      if (role === 'front') instructions = joinTexts(blocks as TextPiece[])
      else if (role === 'system')
        input.push({
          type: 'message',
          role: 'developer',
          content: (blocks as TextPiece[]).map(partOf) as ResponsesText[],
        })
      else if (role === 'user') {
        const completes = turn?.role === 'user' ? turn.completes : undefined
        const waiting = working.get(completes?.callId) ?? []
        const call = waiting.at(-1)
        if (completes === undefined || call === undefined)
          input.push(...userItems(blocks as Piece[], requests))
        else {
          working.set(completes.callId, waiting.slice(0, -1))
          input.push(outputOf(call, completes.pieces))
        }
      } else input.push(...(blocks as ResponsesItem[]))
      if (role !== 'assistant') return
      for (const item of blocks) {
        const key = requestKey(item as object as JsonObject)
        if (key !== null) requests.set(key, true)
      }
    },
    request(items: ResponsesItem[]): ResponsesRequest {
      latestSplit = [...split.keys()] as string[]
      return { instructions, input: items }
    },
  }
}

function outputOf(call: object, pieces: readonly Piece[]): ResponsesItem {
  const { type, call_id } = call as JsonObject
  return { type: `${String(type)}_output`, call_id, output: contentOf(pieces) } as object as ResponsesItem
}

function userItems(pieces: readonly Piece[], requests: Map<unknown, true>): ResponsesItem[] {
  const items: ResponsesItem[] = []
  let messagePieces: Piece[] = []
  const addMessage = (): void => {
    if (messagePieces.length > 0)
      items.push({ type: 'message', role: 'user', content: messagePieces.map(partOf) })
    messagePieces = []
  }
  for (const piece of pieces) {
    const key = isItem(piece) ? requestKey(piece.block) : null
    if (isItem(piece) && key !== null && requests.delete(key)) {
      addMessage()
      items.push(without(piece.block, 'id') as unknown as ResponsesItem)
    } else messagePieces.push(itemAsText(piece, LIMITS))
  }
  addMessage()
  return items
}

interface Form {
  readonly fields: (call: Call) => JsonObject
  /** Returns the output's fields; null if the form cannot represent all of the result. */
  readonly output: (content: JsonValue, result: Result) => JsonObject | null
}

const textForm = (field: string, output: (text: string, isError: boolean) => JsonObject): Form => ({
  fields: ({ source }) => ({ [field]: argumentObject(source.arguments), status: 'completed' }),
  output: (content, { isError }) => (typeof content === 'string' ? output(content, isError) : null),
})

const FORMS: Readonly<Record<string, Form>> = {
  custom_tool_call: {
    fields: ({ name, source }) => ({ name, input: source.arguments.toWellFormed() }),
    output: (output) => ({ output }),
  },
  shell_call: textForm('action', (text, isError) => {
    const outcome = { type: 'exit', exit_code: Number(isError) }
    return { output: [{ stdout: isError ? '' : text, stderr: isError ? text : '', outcome }] }
  }),
  local_shell_call: textForm('action', (output) => ({ output })),
  apply_patch_call: textForm('operation', (output, isError) => ({
    status: isError ? 'failed' : 'completed',
    output,
  })),
  computer_call: {
    // No other argument is a field of the call.
    fields({ source }) {
      const { action, actions } = argumentObject(source.arguments)
      return {
        pending_safety_checks: [],
        ...(Array.isArray(actions)
          ? { actions }
          : { action: isObject(action) ? action : { type: 'screenshot' } }),
        status: 'completed',
      }
    },
    // The provider accepts only a screenshot.
    output: (_, { pieces: [shot, ...more] }) =>
      shot?.type === 'image' && more.length === 0
        ? { output: { type: 'computer_screenshot', image_url: urlOf(shot.image) } }
        : null,
  },
}

/** Returns the form of a typed call's result. If the result is a single item of this form, the item is sent. */
function typedForm(kind: unknown, result: Result | undefined) {
  const form = ownField(FORMS, String(kind))
  if (form === undefined || result === undefined) return null
  const { call, pieces } = result
  const [first] = pieces
  const type = `${String(kind)}_output`
  // The local shell has the id of the call in another field.
  const name = { [kind === 'local_shell_call' ? 'id' : 'call_id']: call.id }
  const isSame = first !== undefined && isItem(first) && first.block['type'] === type && pieces.length === 1
  const output = isSame ? first.block : form.output(contentOf(pieces) as JsonValue, result)
  return output && { fields: form.fields(call), output: { type, ...name, ...without(output, 'id'), ...name } }
}

function contentOf(pieces: readonly Piece[]): string | ResponsesPart[] {
  const sent = pieces.map((piece) => itemAsText(piece, LIMITS))
  return sent.every(isText) ? joinTexts(sent) : sent.map(partOf)
}

const partOf = /* @__PURE__ */ blockWriter<ResponsesPart>(
  (text) => ({ type: 'input_text', text }),
  (image) => ({ type: 'input_image', image_url: urlOf(image), detail: 'auto' }),
)
