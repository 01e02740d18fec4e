/** Reads arrays of items of OpenAI Responses, and whole replies. */

import { type RawObject, objectOf, objectsOf, stringOf } from '../../messages/text.ts'
import { fromOpenAIResponses } from '../../messages/openai-responses/read.ts'
import { blocksOf, contentOf } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { resultsOnDemand, type HasResult, type Origin, SessionWriter } from '../writer.ts'
import {
  addPrompt,
  addReply,
  elementsOf,
  keepNonMessage,
  isWhole,
  keepUnknown,
  promptsOf,
} from './elements.ts'

/** Items or one reply. Consecutive items of the model are one reply. O(size). */
export function readOpenAIResponses(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'input')
  const prompts = promptsOf(elements, ({ content }) => content)
  const hasResult = resultsOnDemand(() =>
    elements.map(({ fields }) => (isResult(fields) ? stringOf(fields['call_id']) : '')),
  )
  let open: { readonly origin: Origin; readonly fields: RawObject }[] = []
  const close = (): void => {
    const [first] = open
    const origins = open.map(({ origin }) => origin)
    const output = open.map(({ fields }) => itemOf(fields))
    const id = `reply-${first?.origin.id?.slice('item-'.length) ?? ''}`
    if (first !== undefined)
      addReply(replyOf({ id, status: 'completed', output }), origins, hasResult, writer)
    open = []
  }
  for (const element of elements) {
    const { line, number, fields } = element
    const origin = { line, id: `item-${number}`, time: null }
    const { role, content } = fields
    if (!element.isRequest && isOfModel(fields)) {
      open.push({ origin, fields })
      continue
    }
    close()
    if (keepNonMessage(element, 'openai-responses', writer)) continue
    if (isWhole(fields)) addWhole(fields, origin, hasResult, writer)
    else if (role === 'system' || role === 'developer') addPrompt(element, content, prompts, origin, writer)
    else if (role === 'user') writer.say('user', contentOf(content), origin)
    else if (isResult(fields)) {
      const output = fields['output'] ?? ''
      writer.result(
        { callId: stringOf(fields['call_id']), content: contentOf(output), isError: false },
        origin,
      )
    } else keepUnknown(element, writer)
  }
  close()
  return writer.session('openai-responses')
}

const isResult = ({ type }: RawObject): boolean => stringOf(type).endsWith('_call_output')

const isOfModel = (fields: RawObject): boolean =>
  fields['role'] === 'assistant' ||
  (typeof fields['type'] === 'string' && fields['type'] !== 'message' && !isResult(fields))

const replyOf = (reply: RawObject) =>
  fromOpenAIResponses(reply as unknown as Parameters<typeof fromOpenAIResponses>[0])

function itemOf(item: RawObject): RawObject {
  const { type, content } = item
  if (item['role'] !== 'assistant' || (type !== undefined && type !== 'message')) return item
  const parts = blocksOf(content, 'output_text').map(partOf)
  const isWhole = Array.isArray(content) && parts.every((part, index) => part === content[index])
  if (isWhole && type === 'message') return item
  return { ...item, type: 'message', content: parts }
}

/** A model's text is output, even if it was sent back as input. */
const partOf = (part: RawObject): RawObject =>
  part['type'] === 'text' || part['type'] === 'input_text' ? { ...part, type: 'output_text' } : part

const BROKEN: ReadonlySet<unknown> = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/** A failed, cancelled or early reply is truncated at the end of its output, to keep its text. */
function addWhole(fields: RawObject, origin: Origin, hasResult: HasResult, writer: SessionWriter): void {
  const { status } = fields
  const isBroken = BROKEN.has(status)
  const reply = replyOf(
    isBroken
      ? { ...fields, error: null, status: 'incomplete', incomplete_details: { reason: status } }
      : fields,
  )
  const origins = [
    origin,
    ...objectsOf(fields['output'])
      .slice(1)
      .map(() => origin),
  ]
  const isEmpty = isBroken && objectsOf(fields['output']).length === 0
  if (!isEmpty) addReply(reply, origins, hasResult, writer)
  if (status === 'cancelled') writer.note('cancelled replies', origin.line)
  if (status === 'queued' || status === 'in_progress') writer.note('unfinished replies', origin.line)
  if (status !== 'failed') return
  const { code, message } = objectOf(fields['error'])
  const position = { ...origin, id: `${origin.id}-error` }
  writer.failure(stringOf(code) || 'failed', stringOf(message) || 'The reply failed.', position)
}
