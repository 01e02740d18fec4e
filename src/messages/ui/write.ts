/** Writes a branch for the AI SDK's `useChat`: user messages, each followed by the whole reply. */

import { checkOptionNames } from '../../event/check-value.ts'
import { isImagePart, isTextPart, type Content, type JsonObject, type JsonValue } from '../../event/shapes.ts'
import type { CallProgress } from '../../event/completion.ts'
import { digestOf } from '../../event/sha-256.ts'
import { LARGE_STRING } from '../../event/text.ts'
import type { MessageEvent } from '../../event/types.ts'
import { findEventIn } from '../../log/log.ts'
import type { State } from '../../state/state.ts'
import { readPart } from '../files.ts'
import { placeholderOf } from '../pieces.ts'
import { mapStrings } from '../resolve-blobs.ts'
import { toTimeline } from '../timeline.ts'
import type { CallItem, MessageItem, ProgressItem, TimelineItem } from '../timeline.ts'
import { isContent } from './chunks.ts'
import type { AiSdkUIMessage, UIDataPart, UIFilePart, UIPart, UITextPart, UIToolState } from './types.ts'

/** Options of `toUIMessages`. */
export interface UIMessagesOptions {
  /** Names of tools that the web page executes. Default: none. */
  readonly pageTools?: readonly string[]
  /**
   * `refs`: files of more than 65,536 characters become addresses of the service
   * (`/api/conversations/{id}/blobs/{hash}?decode=true`). Default: `whole`.
   */
  readonly blobs?: 'whole' | 'refs'
  /** URL of the service, which precedes the paths of files. Default: empty, for the page's origin. */
  readonly service?: string
}

/** Returns the address of a part's long string; null for a string that is sent whole. */
type Link = (part: Content, text: string) => string | null

/** Hashes of long strings by part, cached because a stream writes its messages again at each event. */
const hashes = new WeakMap<Content, Map<string, string>>()

const REFERENCE = /^colloquy:blob\/([0-9a-f]{64})$/

function linkOf(conversationId: string, { blobs, service = '' }: UIMessagesOptions): Link {
  const start = `${service}/api/conversations/${encodeURIComponent(conversationId)}/blobs/`
  return (part, text) => {
    if (blobs !== 'refs') return null
    let hash = REFERENCE.exec(text)?.[1]
    if (text.length > LARGE_STRING && text.isWellFormed()) {
      const known = hashes.get(part) ?? new Map<string, string>()
      hash = known.get(text) ?? digestOf(text).hash
      hashes.set(part, known.set(text, hash))
    }
    return hash === undefined ? null : `${start}${hash}?decode=true`
  }
}

/**
 * Returns the long strings of a message's parts, except text parts, by address. The map is empty unless
 * `blobs` is `refs`. A client may post an address instead of its string.
 */
export function stringsByAddress(
  { llm_message }: MessageEvent,
  conversationId: string,
  options: UIMessagesOptions,
): ReadonlyMap<string, string> {
  const link = linkOf(conversationId, options)
  return new Map((llm_message.content ?? []).flatMap((part) => addressesIn(part, link)))
}

function addressesIn(part: Content, link: Link): (readonly [address: string, text: string])[] {
  const addresses: (readonly [string, string])[] = []
  if (!isTextPart(part))
    mapStrings(part, (text) => {
      const address = link(part, text)
      if (address !== null) addresses.push([address, text])
      return text
    })
  return addresses
}

/**
 * Returns HEAD's branch for the AI SDK's `useChat`. A user message has the id of its event. The next
 * assistant message contains the whole turn. Its id is the user message's id with the suffix `-reply`. A
 * reply is in the turn of the last user message that the model had received (`reply.after`). Calls become
 * `tool-NAME` parts, and items outside replies become `data-…` parts. A pause or interrupt follows the reply
 * that it ended. System prompts are left out. O(path + view + content), O(view) per condensation, and O(log)
 * if there were working calls.
 * @param options.pageTools tools that the web page executes; their waiting calls are `input-available`
 * @throws ColloquyError `evicted` if the state is from a snapshot or from `evict`, and lacks the body of an
 *   event; see `Conversation.read`.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * toUIMessages(state) // [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]
 */
export function toUIMessages(state: State, options: UIMessagesOptions = {}): AiSdkUIMessage[] {
  checkOptionNames(options, 'pageTools blobs service')
  const link = linkOf(state.conversationId, options)
  return turnsOf(state, toTimeline(state, { progress: true })).flatMap(({ message, items }) => {
    const parts = uiParts(items, options, link)
    const id = replyId(message?.id ?? state.conversationId)
    return [
      ...(message === null ? [] : [userMessage(message, link)]),
      ...(parts.length === 0 ? [] : [{ id, role: 'assistant' as const, parts }]),
    ]
  })
}

export const replyId = (messageId: string): string => `${messageId}-reply`

/** Returns the parts of the reply to a user message, as `toUIMessages` does. @throws `unknown_event`. */
export function replyParts(state: State, messageId: string, options: UIMessagesOptions = {}): UIPart[] {
  const after = findEventIn(state.log, messageId)
  const turns = turnsOf(state, toTimeline(state, { after: messageId, progress: true }), {
    seq: after?.seq ?? -1,
  })
  return uiParts(turns[0]?.items ?? [], options, linkOf(state.conversationId, options))
}

/** A user's message and the items after it. `message` is null for the items before the first user message. */
interface UITurn {
  readonly seq: number
  readonly message: MessageItem | null
  readonly items: TimelineItem[]
}

function turnsOf(state: State, items: readonly TimelineItem[], { seq } = { seq: -1 }): UITurn[] {
  const first: UITurn = { seq, message: null, items: [] }
  const turns = [first]
  for (const item of items) {
    if (item.type === 'system') continue
    if (item.type === 'message' && item.source === 'user')
      turns.push({ seq: item.seq, message: item, items: [] })
    else addItem(state, turns, item)
  }
  return turns
}

/**
 * Adds an item to the turn of the latest user message that the model had received, or to the latest turn if
 * this message is unknown.
 */
function addItem({ log }: State, turns: readonly UITurn[], item: TimelineItem): void {
  const { after, interrupted = false } = ('reply' in item && item.reply) || {}
  const requestedAt = typeof after === 'string' ? (findEventIn(log, after)?.seq ?? Infinity) : null
  const seq = after === null ? -1 : (requestedAt ?? Infinity)
  const holder = seq > item.seq ? turns.at(-1) : turns.findLast((turn) => turn.seq <= seq)
  const items = holder?.items ?? []
  const isDuring = (mark: TimelineItem): boolean =>
    interrupted || (requestedAt !== null && requestedAt < mark.seq)
  const before = items.findLastIndex((mark) => !isMark(mark) || !isDuring(mark))
  items.splice(before + 1, 0, item)
}

const isMark = ({ type }: TimelineItem): boolean => type === 'pause' || type === 'interrupt'

const userMessage = ({ id, content }: MessageItem, link: Link): AiSdkUIMessage => ({
  id,
  role: 'user',
  parts: content.flatMap((part) => contentParts(part, link)),
})

function uiParts(
  items: readonly TimelineItem[],
  { pageTools = [] }: UIMessagesOptions,
  link: Link,
): UIPart[] {
  const parts: UIPart[] = []
  const calls = items.filter((item) => item.type === 'call')
  const callIds = new Set(calls.map(({ id }) => id))
  const isOfPage = ({ tool, status }: CallItem): boolean => status === 'waiting' && pageTools.includes(tool)
  // The page posts its outputs only when no part of the step is preliminary.
  const isAsked = calls.some(isOfPage)
  const reports = new Map<string, number>()
  let open: string | null = null
  for (const item of items) {
    if (item.type === 'progress') {
      // The call's part has its latest progress.
      if (callIds.has(item.report.action_id)) continue
      const index = reports.get(item.report.action_id) ?? parts.push({ type: 'step-start' })
      reports.set(item.report.action_id, index)
      parts[index] = progressPart(item, parts[index])
      open = null
      continue
    }
    if (item.type === 'call') {
      if (open === null || item.reply.id !== open) parts.push({ type: 'step-start' })
      open = item.reply.id
      addContent(parts, item, link)
      parts.push(toolPart(item, isOfPage(item), isAsked, link))
      continue
    }
    open = null
    if (isMark(item) && parts.length > 0) {
      // A pause or interrupt belongs to the step that it ends, so that a client can still receive the last
      // text before it.
      parts.push(dataPart(item))
      continue
    }
    parts.push({ type: 'step-start' })
    if (item.type !== 'message' || item.source !== 'agent') parts.push(dataPart(item))
    else if (!addContent(parts, item, link)) parts.pop()
  }
  let contents = 0
  return parts.map((part) => {
    if (isContent(part)) contents += 1
    return part.type === 'reasoning' ? { ...part, id: String(contents - 1) } : part
  })
}

function addContent(parts: UIPart[], { reasoning, content }: MessageItem | CallItem, link: Link): boolean {
  const before = parts.length
  // `uiParts` sets the id at the end: the part's index, not counting step parts.
  if (reasoning !== '') parts.push({ type: 'reasoning', id: '', text: reasoning, state: 'done' })
  for (const part of content.flatMap((each) => contentParts(each, link))) {
    // The stream of the AI SDK cannot name a file, so files of replies have no names.
    if (part.type === 'file') parts.push({ type: 'file', mediaType: part.mediaType, url: part.url })
    else if (part.text !== '') parts.push({ ...part, state: 'done' })
  }
  return parts.length > before
}

const toolPart = (item: CallItem, isOfPage: boolean, isAsked: boolean, link: Link): UIPart => ({
  type: `tool-${item.tool}`,
  toolCallId: item.id,
  input: item.arguments,
  ...(isOfPage ? { state: 'input-available' } : toolState(item, isAsked, link)),
})

function toolState(
  { id, status, result, completion, progress }: CallItem,
  isAsked: boolean,
  link: Link,
): UIToolState {
  const content = completion?.content ?? result?.content ?? []
  switch (status) {
    case 'waiting':
      return { state: 'approval-requested', approval: { id } }
    case 'approved':
      return { state: 'approval-responded', approval: { id, approved: true } }
    case 'working': {
      const output = { content: toolOutput(content, link), ...shownReport(progress) }
      return { state: 'output-available', output, ...(!isAsked && { preliminary: true }) }
    }
    case 'completed':
    case 'failed': {
      const { output } = completion === undefined ? (result ?? {}) : {}
      if (output !== undefined) return { state: 'output-available', output }
      if (status === 'failed') return { state: 'output-error', errorText: joinTexts(content) }
      return { state: 'output-available', output: toolOutput(content, link) }
    }
    case 'rejected':
      return { state: 'output-denied', approval: { id, approved: false, reason: joinTexts(content) } }
    default:
      return { state: 'input-available' }
  }
}

const shownReport = ({ content, progress }: Partial<CallProgress> = {}): JsonObject => ({
  ...(content !== undefined && { content }),
  ...(progress !== undefined && { progress }),
})

/** Returns the data part of a progress report. A field that the report lacks keeps its value from `before`. */
const progressPart = ({ report }: ProgressItem, before: UIPart | undefined): UIDataPart => ({
  type: 'data-progress',
  id: report.action_id,
  data: { ...(before !== undefined && 'data' in before && before.data), ...shownReport(report) },
})

const toolOutput = (content: readonly Content[], link: Link): JsonValue =>
  content.every(isTextPart)
    ? joinTexts(content)
    : content.map((part) =>
        isTextPart(part)
          ? (part as object as JsonObject)
          : (mapStrings(part, (text) => link(part, text) ?? text) as JsonObject),
      )

const joinTexts = (content: readonly Content[]): string =>
  content.flatMap((part) => (isTextPart(part) ? [part.text] : [])).join('\n')

function dataPart(item: TimelineItem): UIDataPart {
  const part = { type: `data-${item.type}`, id: item.id } as const
  switch (item.type) {
    case 'message':
      return {
        ...part,
        data: {
          source: item.source,
          text: joinTexts(item.content),
          ...(item.completes !== undefined && { completes: item.completes }),
        },
      }
    case 'condensation':
      return { ...part, data: { summary: item.summary, forgot: item.forgot } }
    case 'error':
      return { ...part, data: { code: item.code, detail: item.detail } }
    default:
      return { ...part, data: {} }
  }
}

function contentParts(part: Content, link: Link): (UITextPart | UIFilePart)[] {
  if (isTextPart(part)) return [{ type: 'text', text: part.text }]
  if (isImagePart(part)) return part.image_urls.map((url) => imagePart(url, link(part, url)))
  const reading = readPart(part)
  if (reading?.as === 'text') return [{ type: 'text', text: reading.text }]
  const address = addressesIn(part, link)[0]?.[0] ?? null
  if (reading?.as === 'image') return [imagePart(reading.url, address)]
  if (reading === null && address !== null) {
    // For a file that is stored by reference, only the type is known.
    const type = part['mediaType'] ?? part['media_type']
    return [{ type: 'file', mediaType: typeof type === 'string' ? type : UNKNOWN_TYPE, url: address }]
  }
  if (reading === null || 'id' in reading.file.from) return [{ type: 'text', text: placeholderOf(part) }]
  const { name, from } = reading.file
  const mediaType = reading.file.mediaType ?? UNKNOWN_TYPE
  const url = 'data' in from ? (address ?? `data:${mediaType};base64,${from.data}`) : from.url
  return [{ type: 'file', mediaType, ...(name === null ? {} : { filename: name }), url }]
}

const UNKNOWN_TYPE = 'application/octet-stream'

const imagePart = (url: string, address: string | null): UIFilePart => ({
  type: 'file',
  mediaType: /^data:(image\/[\w.+-]+)[;,]/i.exec(url)?.[1] ?? 'image',
  url: address ?? url,
})
