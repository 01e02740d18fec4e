/** Reads arrays of items of OpenAI Responses, and whole replies of it. */

import { type Found, objectsOf, stringOf } from '../../messages/found.ts'
import { fromOpenAIResponses } from '../../messages/openai-responses/read.ts'
import { contentOf } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { askedLater, type HasResult, SessionWriter } from '../writer.ts'
import { addPrompt, elementsOf, sessionOf } from './read.ts'

interface Item {
  readonly line: number
  readonly no: number
  readonly found: Found
}

/** Items or a reply. Items of the model that follow each other are one reply. O(size). */
export function readOpenAIResponses(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'input')
  const hasResult = askedLater(() =>
    elements.map(({ found }) => (isResult(found) ? stringOf(found['call_id']) : '')),
  )
  let open: Item[] = []
  const close = (): void => {
    const [first] = open
    const output = open.map(({ found }) => found)
    if (first !== undefined)
      addReply({ id: `reply-${first.no}`, status: 'completed', output }, open, hasResult, writer)
    open = []
  }
  for (const [at, { line, found, record }] of elements.entries()) {
    const origin = { line, id: `item-${at + 1}`, time: null }
    const { role, content } = found
    if (isOfModel(found)) {
      open.push({ line, no: at + 1, found })
      continue
    }
    close()
    if (record !== null) writer.keep(record, 'no item')
    else if (Array.isArray(found['output']) && !isResult(found))
      addReply(
        found,
        objectsOf(found['output']).map((item) => ({ line, no: at + 1, found: item })),
        hasResult,
        writer,
      )
    else if (role === 'system' || role === 'developer') addPrompt(content, origin, writer)
    else if (role === 'user') writer.say('user', contentOf(content), origin)
    else if (isResult(found)) {
      const output = found['output'] ?? ''
      writer.result(
        { callId: stringOf(found['call_id']), content: contentOf(output), isError: false },
        origin,
      )
    } else writer.keep({ line, raw: JSON.stringify(found), value: undefined }, 'no item')
  }
  close()
  return sessionOf('openai-responses', writer)
}

const isResult = ({ type }: Found): boolean => stringOf(type).endsWith('_call_output')

/** Whether the model has said it: its messages, its reasoning, and what it or its provider has called. */
const isOfModel = (found: Found): boolean =>
  found['role'] === 'assistant' ||
  (typeof found['type'] === 'string' && found['type'] !== 'message' && !isResult(found))

function addReply(reply: Found, items: readonly Item[], hasResult: HasResult, writer: SessionWriter): void {
  const given = fromOpenAIResponses(reply as unknown as Parameters<typeof fromOpenAIResponses>[0])
  const origins = items.map(({ line, no }) => ({ line, id: `item-${no}`, time: null }))
  writer.reply(given, origins, hasResult)
}
