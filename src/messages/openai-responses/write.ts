/** Writes neutral messages as OpenAI Responses. */

import {
  isTextPart,
  type Content,
  type JsonObject,
  type JsonValue,
  type ReasoningItemModel,
} from '../../event/shapes.ts'
import { without } from '../../event/json.ts'
import { argumentText, wellFormed } from '../text.ts'
import { isSealed, kindName, kindOf, sentMore } from '../blocks.ts'
import { digestOf, digestOfAll, followedBy, otherDigest } from '../digest.ts'
import type { NeutralMessage } from '../message.ts'
import { callDigest, reasoningDigest, requestRecord, type WriteOptions, type Written } from '../prefix.ts'
import { pairParts } from '../pairs.ts'
import { id as anyId } from '../shape.ts'
import { reasoningItems, textsOfPart, unsent } from '../reply-parts.ts'
import type { PartRef, Piece, TextPiece, AssistantTurn, Call, Result, Turns } from '../limits.ts'
import { itemAsText, isItem, joinTexts, pieceDigest, textPiece, textsOf } from '../pieces.ts'
import { turnsOf } from '../turns.ts'
import { writeConversation } from '../write.ts'
import {
  contentOf,
  typedForm,
  isSendable,
  LIMITS,
  partOf,
  reasoningOf,
  textPart,
  type ResponsesItem,
  type ResponsesOutputPart,
  type ResponsesPhase,
  type ResponsesReasoning,
  type ResponsesRequest,
} from './blocks.ts'

const MESSAGE_ID = /^msg[a-zA-Z0-9_-]{0,61}$/
const CALL_ID = /^fc[a-zA-Z0-9_-]{0,62}$/
const ANY = /^[a-zA-Z0-9_-]{1,64}$/

/** A text with its additional fields. */
interface MessageText {
  readonly piece: TextPiece
  readonly more: JsonObject | null
}

/** The items of a reply, and the results of its typed calls. */
interface ReplyItems {
  readonly items: readonly Written<ResponsesItem>[]
  readonly outputs: ReadonlyMap<Call, JsonObject>
  /** Halves of pairs among the parts, by the id of the pair. */
  readonly halves: readonly { readonly id: string; readonly isSent: boolean }[]
}

/**
 * Returns the items of a reply. An item after reasoning that is not sent must not have its id, or the
 * provider misses the reasoning; reasoning without a following item is refused.
 */
function replyItems(turn: AssistantTurn, keepsSigned: boolean, isNew: (id: string) => boolean): ReplyItems {
  const { message, refs, bound, calls } = turn
  const last = refs.findLastIndex((ref) => isFollowing(ref, message.content))
  const reasoning = reasoningItems(message)
  const results = new Map(turn.results.map((result) => [result.call, result]))
  const items: Written<ResponsesItem>[] = []
  const outputs = new Map<Call, JsonObject>()
  const halves: { readonly id: string; readonly isSent: boolean }[] = []
  let texts: MessageText[] = []
  let isReasoningLost = false
  let reasonedUpTo = 0
  const mayName = (id: unknown, form: RegExp): id is string =>
    typeof id === 'string' && form.test(id) && !isReasoningLost && isNew(id)
  const addMessage = (): void => {
    if (texts.length > 0) items.push(messageItem(texts, (id) => mayName(id, MESSAGE_ID)))
    texts = []
  }
  const addReasoning = (item: ReasoningItemModel, position: number): void => {
    // The item that followed the reasoning before this one cannot be sent.
    if (reasonedUpTo < position && items.at(-1)?.block.type === 'reasoning') items.pop()
    reasonedUpTo = position + 1
    const isSent = keepsSigned && position < last && isSendable(item) && isNew(item.id ?? '')
    isReasoningLost = !isSent
    if (isSent) items.push({ block: reasoningItem(item), digest: () => reasoningDigest(item) })
  }
  for (const [position, ref] of refs.entries()) {
    const { kind, index } = ref
    if (kind === 'text') {
      const part = message.content[index]
      const more = sentMore(ref.more, LIMITS.more.text)
      if (beginsMessage(more)) addMessage()
      // No part of a message may be empty; a blank one remains if a signed part is bound to it.
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
      let words: string | null | undefined = placeholder
      let sent: JsonObject | null = null
      if (placeholder === null) {
        if (isSealed(LIMITS, value) && !keepsSigned) continue
        sent = withLegalId(value, (id) => mayName(id, ANY))
        const pair = LIMITS.pairOf(value)
        if (pair !== null) halves.push({ id: pair.id, isSent: sent !== null })
        words = unsent(ref)[0]?.placeholder
      }
      if (sent === null) {
        if (words) texts.push({ piece: textPiece(words), more: null })
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
      // A missing item led to a call that is not on the branch.
      if (item === undefined) isReasoningLost = true
      else addReasoning(item, position)
    } else if (kind === 'call' && call !== undefined) {
      const { output, ...written } = callItem(call, results.get(call), ref.more, mayName)
      items.push(written)
      if (output !== null) outputs.set(call, output)
    }
  }
  addMessage()
  return { items, outputs, halves }
}

/** Whether reasoning may precede a part. */
function isFollowing(ref: PartRef, content: readonly Content[]): boolean {
  const { kind, index } = ref
  if (kind === 'other')
    return ref.placeholder !== null || (ref.value['type'] !== 'reasoning' && !isSealed(LIMITS, ref.value))
  return kind === 'call' || (kind === 'text' && textsOf(content.slice(index, index + 1)).length > 0)
}

const isEmpty = (part: Content): boolean => isTextPart(part) && part.text === ''

/** Adjacent texts are one message, until one has fields of a message. */
const beginsMessage = (more: JsonObject | null): boolean =>
  more !== null && (Object.hasOwn(more, 'id') || Object.hasOwn(more, 'phase'))

/** A message in its original form if its id may be sent; else only its text. */
function messageItem(
  texts: readonly MessageText[],
  mayName: (id: unknown) => boolean,
): Written<ResponsesItem> {
  const { id, phase, status } = texts[0]?.more ?? {}
  const phaseFields =
    phase === 'commentary' || phase === 'final_answer' ? { phase: phase as ResponsesPhase } : {}
  const isLong = mayName(id)
  const digests = texts.map(({ piece, more }) =>
    more === null ? pieceDigest(piece) : followedBy(pieceDigest(piece), otherDigest(more)),
  )
  const ends = { type: 'message', role: 'assistant' } as const
  const block: ResponsesItem = isLong
    ? {
        ...ends,
        id: String(id),
        status: status === 'incomplete' ? status : 'completed',
        content: texts.map(outputPart),
        ...phaseFields,
      }
    : { ...ends, content: joinTexts(texts.map(({ piece }) => piece)), ...phaseFields }
  return { block, digest: () => digestOfAll('message', digestOf(isLong ? String(id) : ''), ...digests) }
}

function outputPart({ piece: { text }, more }: MessageText): ResponsesOutputPart {
  const { annotations, type } = more ?? {}
  return type === 'refusal'
    ? { type, refusal: text }
    : { type: 'output_text', text, annotations: (annotations ?? []) as never[] }
}

/**
 * An item that was stored whole, with its id if that may be sent. Null if it may not, and the provider
 * requires an id for the kind.
 */
function withLegalId(value: JsonObject, mayName: (id: unknown) => boolean): JsonObject | null {
  const { id, ...rest } = value
  if (id === undefined || id === null || mayName(id)) return value
  return needsId(kindName(value)) ? null : rest
}

const needsId = (kind: string): boolean => kindOf(LIMITS, kind)?.needs?.['id'] === anyId

const reasoningItem = ({ id, summary, encrypted_content }: ReasoningItemModel): ResponsesReasoning => ({
  type: 'reasoning',
  id: id ?? '',
  summary: (summary ?? []).map((text) => ({ type: 'summary_text', text: wellFormed(text) })),
  encrypted_content: encrypted_content ?? '',
})

/**
 * A call in the form of its type if that form can represent its result and needs no id that may not be sent;
 * else a function call.
 */
function callItem(
  call: Call,
  result: Result | undefined,
  additional: JsonObject | null,
  mayName: (id: unknown, form: RegExp) => id is string,
): Written<ResponsesItem> & { readonly output: JsonObject | null } {
  const { id: call_id, name, source } = call
  const { type = 'function_call', id, ...more } = sentMore(additional, LIMITS.more.call) ?? {}
  const typed = typedForm(type, call, result)
  const named = typed !== null && mayName(id, ANY) ? { id } : {}
  if (typed !== null && ('id' in named || !needsId(String(type)))) {
    const block = { type, ...named, call_id, ...typed.fields, ...more }
    return {
      block: block as unknown as ResponsesItem,
      digest: () => otherDigest(block),
      output: typed.output,
    }
  }
  const item = mayName(source.responses_item_id, CALL_ID) ? { id: source.responses_item_id } : {}
  const extra = type === 'function_call' ? more : {}
  return {
    block: {
      type: 'function_call',
      ...item,
      call_id,
      name,
      arguments: argumentText(source.arguments),
      ...extra,
    },
    digest: () => {
      const digest = callDigest(call, item.id)
      return Object.keys(extra).length === 0 ? digest : followedBy(digest, otherDigest(extra))
    },
    output: null,
  }
}

/** Returns a key for an item that waits for a settlement; null for other items. O(1). */
function requestKey({ type, id, call_id }: JsonObject): string | null {
  if (type === 'mcp_approval_request') return keyOf('approval', id)
  return type === 'tool_search_call' ? keyOf('search', call_id) : null
}

/** Returns the same key for an item that settles one. O(1). */
function settlementKey({ type, approval_request_id, call_id }: JsonObject): string | null {
  if (type === 'mcp_approval_response') return keyOf('approval', approval_request_id)
  return type === 'tool_search_output' ? keyOf('search', call_id) : null
}

const keyOf = (name: string, id: JsonValue | undefined): string | null =>
  typeof id === 'string' ? `${name} ${id}` : null

/**
 * Returns the instructions and the input of a Responses request; valid for any log (law M). A reasoning item
 * is sent with its encrypted content if it has a legal id, once, before the item that it led to, while the
 * prefix of its reply is unchanged. Its status and its plain content, which the provider refuses, are left
 * out, as are thinking blocks and reasoning text. A settlement of an item, such as an
 * `mcp_approval_response`, is an item too if that item is sent. O(content), and again if half of a pair turns
 * out not to be sendable.
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIResponses([{ role: 'user', content: [{ text: 'hi' }], name: null }]).input.length // 1
 */
export function toOpenAIResponses(
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): ResponsesRequest {
  const { onPrefix, ...proving } = options
  let turns = turnsOf(messages, LIMITS)
  let draft = draftOf(turns, proving)
  // Whether an item's id may be sent is known only when it is written; then the other half of its pair may
  // have been written already.
  while (draft.split.size > 0) {
    turns = { ...turns, turns: pairParts(turns.turns, LIMITS, draft.split) }
    draft = draftOf(turns, proving)
  }
  const { request } = draft
  if (onPrefix !== undefined) for (const omitted of requestRecord(request)?.leftOut ?? []) onPrefix(omitted)
  return request
}

/** A request, and the ids of pairs of which only one half could be sent. */
interface Draft {
  readonly request: ResponsesRequest
  readonly split: ReadonlySet<string>
}

function draftOf(turns: Turns, options: WriteOptions): Draft {
  const isNew = firstUse()
  const input: ResponsesItem[] = []
  let instructions: string | null = null
  const sent = new Set<string>()
  const asText = new Set<string>()
  /** Requests of the items so far that are not settled. */
  const openRequests = new Set<string>()
  /** Calls sent as `async`, without a result yet, by their ids in the log. */
  const working = new Map<string, ResponsesItem[]>()
  /** Results in the form of their calls. */
  let outputs: ReplyItems['outputs'] = new Map()
  const { record } = writeConversation<Piece | ResponsesItem>(
    [],
    options,
    {
      limits: LIMITS,
      piece: (piece) => piece,
      // The provider knows that an async call is still working: it has no output until it is completed.
      move: ({ results }) => ({
        results: results.filter(({ call, isWorking }) => !(isWorking && isAsync(working, call))),
        pieces: [],
      }),
      reply(turn, keepsSigned) {
        const { items, halves, ...rest } = replyItems(turn, keepsSigned, isNew)
        for (const { id, isSent } of halves) (isSent ? sent : asText).add(id)
        outputs = rest.outputs
        for (const { call, isWorking } of turn.results) {
          const sent = items.find(({ block }) => isAsyncCall(block, call.id))?.block
          if (isWorking && sent !== undefined)
            working.set(call.source.id, [...(working.get(call.source.id) ?? []), sent])
        }
        return items
      },
      result: ({ call, pieces }) =>
        (outputs.get(call) as object as ResponsesItem | undefined) ?? {
          type: 'function_call_output',
          call_id: call.id,
          output: contentOf(pieces),
        },
      add(role, blocks, turn) {
        if (role === 'front') instructions = joinTexts(blocks as TextPiece[])
        else if (role === 'system')
          input.push({ type: 'message', role: 'developer', content: (blocks as TextPiece[]).map(textPart) })
        else if (role === 'user') {
          const completes = turn?.role === 'user' ? turn.completes : undefined
          const call = completes === undefined ? undefined : working.get(completes.callId)?.pop()
          input.push(
            ...(completes === undefined || call === undefined
              ? userItems(blocks as Piece[], openRequests)
              : [outputOf(call, completes.pieces)]),
          )
        } else input.push(...(blocks as ResponsesItem[]))
        if (role !== 'assistant') return
        for (const item of blocks) {
          const key = requestKey(item as object as JsonObject)
          if (key !== null) openRequests.add(key)
        }
      },
    },
    turns,
  )
  const request = { instructions, input }
  record(request, input)
  return { request, split: new Set([...asText].filter((id) => sent.has(id))) }
}

/** Whether an item is this call, sent as async. */
const isAsyncCall = (item: ResponsesItem, callId: string): boolean => {
  const { type, call_id, async } = item as object as JsonObject
  return (type === 'function_call' || type === 'custom_tool_call') && call_id === callId && async === true
}

const isAsync = (working: ReadonlyMap<string, readonly ResponsesItem[]>, { id, source }: Call): boolean =>
  (working.get(source.id) ?? []).some((item) => isAsyncCall(item, id))

/** The output of a completed async call. */
function outputOf(call: ResponsesItem, pieces: readonly Piece[]): ResponsesItem {
  const { type, call_id } = call as object as JsonObject
  const output = { type: `${String(type)}_output`, call_id, output: contentOf(pieces) }
  return output as object as ResponsesItem
}

/** Writes a user's pieces: messages, and between them settlements of sent items. */
function userItems(pieces: readonly Piece[], openRequests: Set<string>): ResponsesItem[] {
  const items: ResponsesItem[] = []
  let messagePieces: Piece[] = []
  const addMessage = (): void => {
    if (messagePieces.length > 0)
      items.push({ type: 'message', role: 'user', content: messagePieces.map(partOf) })
    messagePieces = []
  }
  for (const piece of pieces) {
    const key = isItem(piece) ? settlementKey(piece.block) : null
    if (isItem(piece) && key !== null && openRequests.delete(key)) {
      addMessage()
      items.push(without(piece.block, 'id') as unknown as ResponsesItem)
    } else messagePieces.push(itemAsText(piece, LIMITS))
  }
  addMessage()
  return items
}

/** Whether an id is new: no two items of a request may share one. */
function firstUse(): (id: string) => boolean {
  const seen = new Set<string>()
  return (id) => seen.size < seen.add(id).size
}
