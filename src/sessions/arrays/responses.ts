/** Reads arrays of items of OpenAI Responses, and whole replies of it. */

import { type Found, objectOf, objectsOf, stringOf } from '../../messages/text.ts'
import { fromOpenAIResponses } from '../../messages/openai-responses/read.ts'
import { blocksOf, contentOf } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { askedLater, type HasResult, type Origin, SessionWriter } from '../writer.ts'
import {
  addPrompt,
  addReply,
  elementsOf,
  isAside,
  isWhole,
  keepUnknown,
  promptsOf,
  sessionOf,
} from './elements.ts'

/** Items or a reply. Items of the model that follow each other are one reply. O(size). */
export function readOpenAIResponses(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'input')
  const prompts = promptsOf(elements, ({ content }) => content)
  const hasResult = askedLater(() =>
    elements.map(({ found }) => (isResult(found) ? stringOf(found['call_id']) : '')),
  )
  let open: { readonly origin: Origin; readonly found: Found }[] = []
  const close = (): void => {
    const [first] = open
    const origins = open.map(({ origin }) => origin)
    const output = open.map(({ found }) => itemOf(found))
    const id = `reply-${first?.origin.id?.slice('item-'.length) ?? ''}`
    if (first !== undefined)
      addReply(replyOf({ id, status: 'completed', output }), origins, hasResult, writer)
    open = []
  }
  for (const element of elements) {
    const { line, no, found } = element
    const origin = { line, id: `item-${no}`, time: null }
    const { role, content } = found
    if (!element.isAbout && isOfModel(found)) {
      open.push({ origin, found })
      continue
    }
    close()
    if (isAside(element, 'openai-responses', writer)) continue
    if (isWhole(found)) addWhole(found, origin, hasResult, writer)
    else if (role === 'system' || role === 'developer') addPrompt(element, content, prompts, origin, writer)
    else if (role === 'user') writer.say('user', contentOf(content), origin)
    else if (isResult(found)) {
      const output = found['output'] ?? ''
      writer.result(
        { callId: stringOf(found['call_id']), content: contentOf(output), isError: false },
        origin,
      )
    } else keepUnknown(element, writer)
  }
  close()
  return sessionOf('openai-responses', writer)
}

const isResult = ({ type }: Found): boolean => stringOf(type).endsWith('_call_output')

/** Whether the model has said it: its messages, its reasoning, and what it or its provider has called. */
const isOfModel = (found: Found): boolean =>
  found['role'] === 'assistant' ||
  (typeof found['type'] === 'string' && found['type'] !== 'message' && !isResult(found))

const replyOf = (reply: Found) =>
  fromOpenAIResponses(reply as unknown as Parameters<typeof fromOpenAIResponses>[0])

/** The easy form of a message, which requests may have, as replies have it. */
function itemOf(item: Found): Found {
  const { type, content } = item
  if (item['role'] !== 'assistant' || (type !== undefined && type !== 'message')) return item
  const parts = blocksOf(content, 'output_text').map(partOf)
  const isWhole = Array.isArray(content) && parts.every((part, at) => part === content[at])
  if (isWhole && type === 'message') return item
  return { ...item, type: 'message', content: parts }
}

/** The words of a model are its output, whatever they were called when they were sent back. */
const partOf = (part: Found): Found =>
  part['type'] === 'text' || part['type'] === 'input_text' ? { ...part, type: 'output_text' } : part

const BROKEN: ReadonlySet<unknown> = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/**
 * A reply as it was stored. One that failed, was cancelled or was stored before its end has been cut off where its
 * output ends: that was said all the same.
 */
function addWhole(found: Found, origin: Origin, hasResult: HasResult, writer: SessionWriter): void {
  const { status } = found
  const isBroken = BROKEN.has(status)
  const reply = replyOf(
    isBroken
      ? { ...found, error: null, status: 'incomplete', incomplete_details: { reason: status } }
      : found,
  )
  const origins = [
    origin,
    ...objectsOf(found['output'])
      .slice(1)
      .map(() => origin),
  ]
  const isEmpty = isBroken && objectsOf(found['output']).length === 0
  if (!isEmpty) addReply(reply, origins, hasResult, writer)
  if (status === 'cancelled') writer.note('replies that were cancelled', origin.line)
  if (status === 'queued' || status === 'in_progress')
    writer.note('replies that had not ended when they were stored', origin.line)
  if (status !== 'failed') return
  const { code, message } = objectOf(found['error'])
  writer.add(
    {
      kind: 'ConversationErrorEvent',
      source: 'environment',
      code: stringOf(code) || 'failed',
      detail: stringOf(message) || 'The reply failed.',
    },
    { ...origin, id: `${origin.id}-error` },
  )
}
