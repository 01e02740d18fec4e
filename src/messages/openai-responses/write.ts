/** Writes neutral messages as OpenAI Responses, and proves of each reply that it stands behind what it saw. */

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
import { inWords, isItem, joinTexts, pieceDigest, textPiece, textsOf } from '../pieces.ts'
import { turnsOf } from '../turns.ts'
import { writeConversation } from '../write.ts'
import {
  contentOf,
  inOwnForm,
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

/** A text, and what it has beside its words. */
interface Said {
  readonly piece: TextPiece
  readonly more: JsonObject | null
}

/** A reply, and the results of those of its calls that have a form of their own. */
interface ReplyItems {
  readonly items: readonly Written<ResponsesItem>[]
  readonly outputs: ReadonlyMap<Call, JsonObject>
  /** The halves of pairs among the parts, by the id of the pair. */
  readonly halves: readonly { readonly id: string; readonly isSent: boolean }[]
}

/**
 * The items of a reply. What stands behind reasoning that is not sent must not name itself, or the provider misses the
 * reasoning; reasoning that nothing follows is refused.
 */
function replyItems(turn: AssistantTurn, keeps: boolean, isNew: (id: string) => boolean): ReplyItems {
  const { message, refs, bound, calls } = turn
  const last = refs.findLastIndex((ref) => isFollowing(ref, message.content))
  const reasoning = reasoningItems(message)
  const results = new Map(turn.results.map((result) => [result.call, result]))
  const items: Written<ResponsesItem>[] = []
  const outputs = new Map<Call, JsonObject>()
  const halves: { readonly id: string; readonly isSent: boolean }[] = []
  let said: Said[] = []
  let lost = false
  let reasoned = 0
  const mayName = (id: unknown, form: RegExp): id is string =>
    typeof id === 'string' && form.test(id) && !lost && isNew(id)
  const speak = (): void => {
    if (said.length > 0) items.push(messageItem(said, (id) => mayName(id, MESSAGE_ID)))
    said = []
  }
  const reason = (item: ReasoningItemModel, place: number): void => {
    // What the reasoning before this one led to has no words that can be sent.
    if (reasoned < place && items.at(-1)?.block.type === 'reasoning') items.pop()
    reasoned = place + 1
    const sent = keeps && place < last && isSendable(item) && isNew(item.id ?? '')
    lost = !sent
    if (sent) items.push({ block: reasoningItem(item), digest: () => reasoningDigest(item) })
  }
  for (const [place, ref] of refs.entries()) {
    const { kind, at } = ref
    if (kind === 'text') {
      const part = message.content[at]
      const more = sentMore(ref.more, LIMITS.more.text)
      if (beginsMessage(more)) speak()
      // No part of a message may be empty; a blank one stays where something signed is bound to it.
      const exact = keeps && place < bound
      if (part !== undefined)
        said.push(...textsOfPart(part, exact && !isEmpty(part)).map((piece) => ({ piece, more })))
      continue
    }
    if (kind === 'other') {
      const { placeholder, value } = ref
      if (value['type'] === 'reasoning') {
        speak()
        reason(reasoningOf(value), place)
        continue
      }
      let words: string | null | undefined = placeholder
      let sent: JsonObject | null = null
      if (placeholder === null) {
        if (isSealed(LIMITS, value) && !keeps) continue
        sent = named(value, (id) => mayName(id, ANY))
        const pair = LIMITS.pairOf(value)
        if (pair !== null) halves.push({ id: pair.id, isSent: sent !== null })
        words = unsent(ref)[0]?.placeholder
      }
      if (sent === null) {
        if (words) said.push({ piece: textPiece(words), more: null })
        continue
      }
      speak()
      items.push({ block: sent as unknown as ResponsesItem, digest: () => otherDigest(sent) })
      continue
    }
    speak()
    const item = reasoning[at]
    const call = calls[at]
    if (kind === 'reasoning') {
      // Without an item it led to a call that is not on the branch.
      if (item === undefined) lost = true
      else reason(item, place)
    } else if (kind === 'call' && call !== undefined) {
      const { output, ...written } = callItem(call, results.get(call), ref.more, mayName)
      items.push(written)
      if (output !== null) outputs.set(call, output)
    }
  }
  speak()
  return { items, outputs, halves }
}

/** Whether a part is what reasoning may stand before. */
function isFollowing(ref: PartRef, content: readonly Content[]): boolean {
  const { kind, at } = ref
  if (kind === 'other')
    return ref.placeholder !== null || (ref.value['type'] !== 'reasoning' && !isSealed(LIMITS, ref.value))
  return kind === 'call' || (kind === 'text' && textsOf(content.slice(at, at + 1)).length > 0)
}

const isEmpty = (part: Content): boolean => isTextPart(part) && part.text === ''

/** Texts in a row are one message, until one brings fields of a message of its own. */
const beginsMessage = (more: JsonObject | null): boolean =>
  more !== null && (Object.hasOwn(more, 'id') || Object.hasOwn(more, 'phase'))

/** A message as it came where its id may be named; else its words alone. */
function messageItem(said: readonly Said[], mayName: (id: unknown) => boolean): Written<ResponsesItem> {
  const { id, phase, status } = said[0]?.more ?? {}
  const phased = phase === 'commentary' || phase === 'final_answer' ? { phase: phase as ResponsesPhase } : {}
  const isLong = mayName(id)
  const digests = said.map(({ piece, more }) =>
    more === null ? pieceDigest(piece) : followedBy(pieceDigest(piece), otherDigest(more)),
  )
  const ends = { type: 'message', role: 'assistant' } as const
  const block: ResponsesItem = isLong
    ? {
        ...ends,
        id: String(id),
        status: status === 'incomplete' ? status : 'completed',
        content: said.map(outputPart),
        ...phased,
      }
    : { ...ends, content: joinTexts(said.map(({ piece }) => piece)), ...phased }
  return { block, digest: () => digestOfAll('message', digestOf(isLong ? String(id) : ''), ...digests) }
}

function outputPart({ piece: { text }, more }: Said): ResponsesOutputPart {
  const { annotations, type } = more ?? {}
  return type === 'refusal'
    ? { type, refusal: text }
    : { type: 'output_text', text, annotations: (annotations ?? []) as never[] }
}

/**
 * An item that was kept whole, under its id where that may be named. Null where it may not be and the provider takes
 * the kind under an id only.
 */
function named(value: JsonObject, mayName: (id: unknown) => boolean): JsonObject | null {
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
 * A call in the form of its kind, where that has a place for its result too and needs no id that may not be named; else
 * as a function call.
 */
function callItem(
  call: Call,
  result: Result | undefined,
  given: JsonObject | null,
  mayName: (id: unknown, form: RegExp) => id is string,
): Written<ResponsesItem> & { readonly output: JsonObject | null } {
  const { id: call_id, name, source } = call
  const { type = 'function_call', id, ...more } = sentMore(given, LIMITS.more.call) ?? {}
  const own = inOwnForm(type, call, result)
  const named = own !== null && mayName(id, ANY) ? { id } : {}
  if (own !== null && ('id' in named || !needsId(String(type)))) {
    const block = { type, ...named, call_id, ...own.fields, ...more }
    return {
      block: block as unknown as ResponsesItem,
      digest: () => otherDigest(block),
      output: own.output,
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

/** What an item asks for, so that what settles it is known; null where it asks for nothing. O(1). */
function asksFor({ type, id, call_id }: JsonObject): string | null {
  if (type === 'mcp_approval_request') return keyOf('approval', id)
  return type === 'tool_search_call' ? keyOf('search', call_id) : null
}

/** What an item settles, in the same words. O(1). */
function settledBy({ type, approval_request_id, call_id }: JsonObject): string | null {
  if (type === 'mcp_approval_response') return keyOf('approval', approval_request_id)
  return type === 'tool_search_output' ? keyOf('search', call_id) : null
}

const keyOf = (name: string, id: JsonValue | undefined): string | null =>
  typeof id === 'string' ? `${name} ${id}` : null

/**
 * The instructions and the input of a Responses request; valid whatever the log holds (law M). A reasoning item is sent
 * with its encrypted content, when it has an id that the provider takes, once, before what it led to, and as long as
 * its reply stands behind what it saw; its status and its plain content are refused by the provider and left out, as
 * are thinking blocks and reasoning text. What settles an item of a reply, such as an `mcp_approval_response`, is an
 * item too where that one is sent. O(content), and again where half of a pair turns out to have no form in which it
 * can be sent.
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
  // Whether an item may be named shows as it is written; by then the other half of its pair may stand before it.
  while (draft.parted.size > 0) {
    turns = { ...turns, turns: pairParts(turns.turns, LIMITS, draft.parted) }
    draft = draftOf(turns, proving)
  }
  const { request } = draft
  if (onPrefix !== undefined) for (const left of requestRecord(request)?.leftOut ?? []) onPrefix(left)
  return request
}

/** A request, and the ids of the pairs of which it holds one half only, though both are there. */
interface Draft {
  readonly request: ResponsesRequest
  readonly parted: ReadonlySet<string>
}

function draftOf(turns: Turns, options: WriteOptions): Draft {
  const isNew = once()
  const input: ResponsesItem[] = []
  let instructions: string | null = null
  const sent = new Set<string>()
  const told = new Set<string>()
  /** What the items so far ask for, and is not settled. */
  const asked = new Set<string>()
  /** Calls that were sent as `async`, without a result yet: their ids in the request, by that in the log. */
  const working = new Map<string, ResponsesItem[]>()
  /** The results in the form of their calls. */
  let outputs: ReplyItems['outputs'] = new Map()
  const { record } = writeConversation<Piece | ResponsesItem>(
    [],
    options,
    {
      limits: LIMITS,
      piece: (piece) => piece,
      // The provider knows that an async call works on: it has no output until it is completed.
      move: ({ results }) => ({
        results: results.filter(({ call, isWorking }) => !(isWorking && isAsync(working, call))),
        pieces: [],
      }),
      reply(turn, keeps) {
        const { items, halves, ...rest } = replyItems(turn, keeps, isNew)
        for (const { id, isSent } of halves) (isSent ? sent : told).add(id)
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
              ? userItems(blocks as Piece[], asked)
              : [outputOf(call, completes.pieces)]),
          )
        } else input.push(...(blocks as ResponsesItem[]))
        if (role !== 'assistant') return
        for (const item of blocks) {
          const key = asksFor(item as object as JsonObject)
          if (key !== null) asked.add(key)
        }
      },
    },
    turns,
  )
  const request = { instructions, input }
  record(request, input)
  return { request, parted: new Set([...told].filter((id) => sent.has(id))) }
}

/** Whether an item is this call, and the provider was told that it may work on. */
const isAsyncCall = (item: ResponsesItem, callId: string): boolean => {
  const { type, call_id, async } = item as object as JsonObject
  return (type === 'function_call' || type === 'custom_tool_call') && call_id === callId && async === true
}

const isAsync = (working: ReadonlyMap<string, readonly ResponsesItem[]>, { id, source }: Call): boolean =>
  (working.get(source.id) ?? []).some((item) => isAsyncCall(item, id))

/** The output of an async call, where it is completed. */
function outputOf(call: ResponsesItem, pieces: readonly Piece[]): ResponsesItem {
  const { type, call_id } = call as object as JsonObject
  const output = { type: `${String(type)}_output`, call_id, output: contentOf(pieces) }
  return output as object as ResponsesItem
}

/** What a user says: messages, and between them what settles an item that was sent. */
function userItems(pieces: readonly Piece[], asked: Set<string>): ResponsesItem[] {
  const items: ResponsesItem[] = []
  let said: Piece[] = []
  const speak = (): void => {
    if (said.length > 0) items.push({ type: 'message', role: 'user', content: said.map(partOf) })
    said = []
  }
  for (const piece of pieces) {
    const key = isItem(piece) ? settledBy(piece.block) : null
    if (isItem(piece) && key !== null && asked.delete(key)) {
      speak()
      items.push(without(piece.block, 'id') as unknown as ResponsesItem)
    } else said.push(inWords(piece, LIMITS))
  }
  speak()
  return items
}

/** Whether an id comes for the first time: no two items of a request may share one. */
function once(): (id: string) => boolean {
  const seen = new Set<string>()
  return (id) => seen.size < seen.add(id).size
}
