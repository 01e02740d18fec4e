/** Writes a branch as the messages that `useChat` of the AI SDK shows: users' own, and behind each the whole reply. */

import { isImagePart, isTextPart, type Content, type JsonObject, type JsonValue } from '../../event/shapes.ts'
import { findEventIn } from '../../log/log.ts'
import type { State } from '../../state/state.ts'
import { readPart } from '../files.ts'
import { placeholderOf } from '../pieces.ts'
import { type CallItem, type MessageItem, type TimelineItem, toTimeline } from '../timeline.ts'
import { isSaid } from './chunks.ts'
import type { AiSdkUIMessage, UIDataPart, UIFilePart, UIPart, UITextPart, UIToolState } from './types.ts'

/** Which calls the page itself executes. */
export interface UIMessagesOptions {
  /** Names of tools. Default: none. */
  readonly pageTools?: readonly string[]
}

/**
 * The messages of HEAD's branch for the AI SDK's `useChat`: each of a user under the id of its event, and behind it, as
 * one message of the assistant, all that was said and done for it; its id is that of the user's message with `-reply`
 * behind it. A reply stands with the messages that its model had read (`reply.after`). Calls are parts `tool-NAME`;
 * what is neither said nor called is a part `data-…`. Prompts are left out. A pause or an interruption is behind the
 * reply that it met. Total; O(path + content).
 *
 * @param options.pageTools tools that the page executes: their calls are `input-available` while they wait
 * @throws ColloquyError `evicted` when the state comes from a snapshot or `evict`, which dropped something of it; see
 * `Conversation.read`.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * toUIMessages(state) // [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]
 */
export function toUIMessages(state: State, options: UIMessagesOptions = {}): AiSdkUIMessage[] {
  return turnsOf(state, toTimeline(state)).flatMap(({ message, items }) => {
    const parts = partsOf(items, options)
    const id = replyId(message?.id ?? state.conversationId)
    return [
      ...(message === null ? [] : [userMessage(message)]),
      ...(parts.length === 0 ? [] : [{ id, role: 'assistant' as const, parts }]),
    ]
  })
}

/** The id of the assistant's message behind a user's. */
export const replyId = (messageId: string): string => `${messageId}-reply`

/**
 * The parts of the reply to a user's message, as `toUIMessages` gives them. O(path behind the message + view).
 * @throws ColloquyError `unknown_event`, `evicted`.
 */
export function replyParts(state: State, messageId: string, options: UIMessagesOptions = {}): UIPart[] {
  const after = findEventIn(state.log, messageId)
  const turns = turnsOf(state, toTimeline(state, { after: messageId }), { seq: after?.seq ?? -1 })
  return partsOf(turns[0]?.items ?? [], options)
}

/** A message of a user, null for what stands before the first, and what was said and done for it. */
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
    else addItem(state, turnOf(state, turns, item)?.items ?? [], item)
  }
  return turns
}

/** Adds an item, before the pauses and interruptions that met its reply while it was being made. */
function addItem(state: State, items: TimelineItem[], item: TimelineItem): void {
  const reply = item.type === 'message' || item.type === 'call' ? item.reply : null
  const after = reply?.after ?? null
  const askedAt = after === null ? null : (findEventIn(state.log, after)?.seq ?? null)
  let index = items.length
  for (; index > 0; index -= 1) {
    const mark = items[index - 1]
    const isMet =
      reply?.interrupted === true || (askedAt !== null && mark !== undefined && askedAt < mark.seq)
    if (mark === undefined || !isMark(mark) || !isMet) break
  }
  items.splice(index, 0, item)
}

const isMark = ({ type }: TimelineItem): boolean => type === 'pause' || type === 'interrupt'

/** The turn of the latest user's message that the model had read; where nothing says it, the latest. */
function turnOf(state: State, turns: readonly UITurn[], item: TimelineItem): UITurn | undefined {
  const reply = item.type === 'message' || item.type === 'call' ? item.reply : null
  const asked = reply?.after
  if (asked === undefined) return turns.at(-1)
  const seq = asked === null ? -1 : (findEventIn(state.log, asked)?.seq ?? Infinity)
  return seq > item.seq ? turns.at(-1) : turns.findLast((turn) => turn.seq <= seq)
}

const userMessage = ({ id, content }: MessageItem): AiSdkUIMessage => ({
  id,
  role: 'user',
  parts: content.flatMap((part) => contentParts(part)),
})

function partsOf(items: readonly TimelineItem[], { pageTools = [] }: UIMessagesOptions): UIPart[] {
  const parts: UIPart[] = []
  /** The reply that the last step is of. */
  let open: string | null = null
  for (const item of items) {
    if (item.type === 'call') {
      if (open === null || item.reply.id !== open) parts.push({ type: 'step-start' })
      open = item.reply.id
      addSaid(parts, item)
      parts.push(toolPart(item, pageTools.includes(item.tool)))
      continue
    }
    open = null
    if (isMark(item) && parts.length > 0) {
      // In the step that it ends, so that a client can still be sent the last words before it.
      parts.push(dataPart(item))
      continue
    }
    parts.push({ type: 'step-start' })
    if (item.type !== 'message' || item.source !== 'agent') parts.push(dataPart(item))
    else if (!addSaid(parts, item)) parts.pop()
  }
  return parts
}

/** Reasoning and words of a reply; whether there are any. */
function addSaid(parts: UIPart[], { reasoning, content }: MessageItem | CallItem): boolean {
  const before = parts.length
  if (reasoning !== '')
    parts.push({ type: 'reasoning', id: String(parts.filter(isSaid).length), text: reasoning, state: 'done' })
  for (const part of content.flatMap((each) => contentParts(each))) {
    // The stream of the AI SDK has no place for the name of a file, so that no reply has one.
    if (part.type === 'file') parts.push({ type: 'file', mediaType: part.mediaType, url: part.url })
    else if (part.text !== '') parts.push({ ...part, state: 'done' })
  }
  return parts.length > before
}

const toolPart = (item: CallItem, isOfPage: boolean): UIPart => ({
  type: `tool-${item.tool}`,
  toolCallId: item.id,
  input: item.arguments,
  ...(isOfPage && item.status === 'waiting' ? { state: 'input-available' } : toolState(item)),
})

function toolState({ id, status, result, completedBy }: CallItem): UIToolState {
  const content = result?.content ?? []
  // The result of a call that has worked on is a message of its own.
  if (status === 'working' || completedBy !== undefined)
    return { state: 'output-available', output: outputOf(content) }
  switch (status) {
    case 'waiting':
      return { state: 'approval-requested', approval: { id } }
    case 'approved':
      return { state: 'approval-responded', approval: { id, approved: true } }
    case 'completed':
      return {
        state: 'output-available',
        output: result?.output === undefined ? outputOf(content) : result.output,
      }
    case 'failed':
      return { state: 'output-error', errorText: textOf(content) }
    case 'rejected':
      return { state: 'output-denied', approval: { id, approved: false, reason: textOf(content) } }
    default:
      return { state: 'input-available' }
  }
}

/** A text where there is nothing else, else the parts as the log has them. */
const outputOf = (content: readonly Content[]): JsonValue =>
  content.every(isTextPart) ? textOf(content) : (content as readonly object[] as readonly JsonObject[])

const textOf = (content: readonly Content[]): string =>
  content.flatMap((part) => (isTextPart(part) ? [part.text] : [])).join('\n')

function dataPart(item: TimelineItem): UIDataPart {
  const part = { type: `data-${item.type}`, id: item.id } as const
  switch (item.type) {
    case 'message':
      return { ...part, data: { source: item.source, text: textOf(item.content) } }
    case 'condensation':
      return { ...part, data: { summary: item.summary, forgot: item.forgot } }
    case 'error':
      return { ...part, data: { code: item.code, detail: item.detail } }
    default:
      return { ...part, data: {} }
  }
}

function contentParts(part: Content): (UITextPart | UIFilePart)[] {
  if (isTextPart(part)) return [{ type: 'text', text: part.text }]
  if (isImagePart(part)) return part.image_urls.map(imagePart)
  const said = readPart(part)
  if (said?.as === 'text') return [{ type: 'text', text: said.text }]
  if (said?.as === 'image') return [imagePart(said.url)]
  if (said === null || 'id' in said.file.from) return [{ type: 'text', text: placeholderOf(part) }]
  const { name, from } = said.file
  const mediaType = said.file.mediaType ?? 'application/octet-stream'
  const url = 'url' in from ? from.url : `data:${mediaType};base64,${from.data}`
  return [{ type: 'file', mediaType, ...(name === null ? {} : { filename: name }), url }]
}

const imagePart = (url: string): UIFilePart => ({
  type: 'file',
  mediaType: /^data:(image\/[\w.+-]+)[;,]/i.exec(url)?.[1] ?? 'image',
  url,
})
