/** Reads message arrays and whole replies of Anthropic, OpenAI Chat, OpenAI Responses and the AI SDK. */

import { type Draft, produce } from 'immer'
import { replyOf } from '../event/reply.ts'
import type { JsonObject, JsonValue, OpenPart } from '../event/shapes.ts'
import { fromAiSdk } from '../messages/ai-sdk/read.ts'
import { fromAnthropic } from '../messages/anthropic/read.ts'
import { fromOpenAIChat } from '../messages/openai-chat/read.ts'
import { fromOpenAIResponses, isClientCall } from '../messages/openai-responses/read.ts'
import { moreOf, type Reply } from '../messages/reply.ts'
import { objectOf, objectsOf, type RawObject, stringOf } from '../messages/text.ts'
import { listOfBlocks, contentOf, textIn } from './content.ts'
import type { Session, SessionFormat, SessionRecord } from './session.ts'
import { callOrigins, type HasResult, type Origin, resultsOnDemand, SessionWriter } from './writer.ts'

interface Element {
  readonly line: number
  readonly number: number
  readonly fields: RawObject
  readonly stray: SessionRecord | null
  readonly isRequest: boolean
  readonly isPromptField: boolean
}

const REPLY_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'error',
  'incomplete_details',
  'model',
  'output',
  'usage',
])

/**
 * Splits records into elements. A message is one element. A whole request becomes several elements: one with
 * the fields that are not read, one with the system prompt, and one for each message or input item.
 */
function elementsOf(records: readonly SessionRecord[], field: 'messages' | 'input'): Element[] {
  const elements: Element[] = []
  const add = (element: Pick<Element, 'line' | 'fields'> & Partial<Element>): void => {
    elements.push({
      number: elements.length + 1 - requests,
      stray: null,
      isRequest: false,
      isPromptField: false,
      ...element,
    })
  }
  let requests = 0
  for (const record of records) {
    const { line, value } = record
    const fields = objectOf(value)
    const list = Array.isArray(fields[field]) ? (fields[field] as readonly JsonValue[]) : null
    const isReply = field === 'input' && isWhole(fields)
    if (list === null && !isReply) {
      add({ line, fields, stray: fields === value ? null : record })
      continue
    }
    const other = unreadFields(fields, field, isReply)
    if (other !== null) {
      requests += 1
      add({ line, fields: other, number: requests, isRequest: true })
    }
    let index = 0
    // A reply without its request may be one of many lines, and keeps its own line.
    const next = (): number => (list === null ? line : (index += 1))
    const system = fields[promptField(fields)]
    if (textIn(system) !== '')
      add({ line: next(), fields: { role: 'system', content: system }, isPromptField: true })
    for (const element of list ?? []) {
      const inner = objectOf(element)
      const position = next()
      add({ line: position, fields: inner, stray: inner === element ? null : strayOf(element, position) })
    }
    if (isReply) add({ line: next(), fields: { ...fields, [field]: undefined } })
  }
  return elements
}

const isWhole = ({ type, role, output }: RawObject): boolean =>
  type === undefined && role === undefined && Array.isArray(output)

const promptField = (request: RawObject): string =>
  (request['system'] ?? null) === null ? 'instructions' : 'system'

const strayOf = (value: JsonValue, line: number): SessionRecord => ({
  line,
  raw: JSON.stringify(value),
  value,
})

function unreadFields(request: RawObject, field: string, isReply: boolean): RawObject | null {
  const prompt = promptField(request)
  const isRead = (key: string): boolean =>
    (key === field && Array.isArray(request[key])) ||
    (key === prompt && textIn(request[prompt]) !== '') ||
    (isReply && REPLY_FIELDS.has(key))
  const rest = Object.entries(request).filter(([key, value]) => !isRead(key) && value !== null)
  return rest.length === 0 ? null : Object.fromEntries(rest)
}

function addReply(
  reply: Reply,
  origins: readonly Origin[],
  hasResult: HasResult,
  writer: SessionWriter,
): void {
  if (isBlankReply(reply)) writer.note('replies without content', origins[0]?.line ?? 1)
  else writer.reply(reply, origins, hasResult)
}

function keepNonMessage(
  { line, number, fields, stray, isRequest }: Element,
  format: SessionFormat,
  writer: SessionWriter,
): boolean {
  if (isRequest)
    writer.update(`${format}.request`, fields as JsonValue, { line, id: `request-${number}`, time: null })
  else if (stray !== null) writer.keep(stray, 'not a message')
  return isRequest || stray !== null
}

function keepMore(
  fields: RawObject,
  read: readonly string[],
  format: SessionFormat,
  origin: Origin,
  writer: SessionWriter,
): void {
  const more = moreOf(fields, ...read)
  if (more === null) return
  const { id } = origin
  writer.update(`${format}.message`, { id, ...more }, { ...origin, id: `${id}-about` })
}

const keepUnknown = ({ line, fields }: Element, writer: SessionWriter): void =>
  writer.keepValue(fields, line, 'not a message')

/** The system prompts at the start of an array. They become one prompt in the log, with all their text. */
interface Prompts {
  readonly front: ReadonlySet<Element>
  readonly text: string
}

function promptsOf(elements: readonly Element[], contentIn: (fields: RawObject) => unknown): Prompts {
  const front = new Set<Element>()
  const texts: string[] = []
  for (const element of elements) {
    if (element.isRequest) continue
    const { role } = element.fields
    if (role !== 'system' && role !== 'developer') break
    front.add(element)
    const text = textIn(contentIn(element.fields))
    if (text !== '') texts.push(text)
  }
  return { front, text: texts.join('\n\n') }
}

/**
 * Adds a system prompt to the log. A system message after the first other message becomes a message of the
 * environment. The prompt field of a later request replaces the prompt.
 */
function addPrompt(
  element: Element,
  content: unknown,
  { front, text }: Prompts,
  origin: Origin,
  writer: SessionWriter,
): void {
  const isFront = front.has(element)
  const [first] = front
  if (isFront && element !== first) return
  if (isFront || element.isPromptField) writer.prompt(isFront ? text : textIn(content), origin)
  else writer.say('environment', contentOf(content), origin)
}

function isBlankReply({ events }: Reply): boolean {
  const [first] = events
  if (first === undefined) return true
  if (events.length > 1 || first.kind !== 'MessageEvent') return false
  const { content, thinking_blocks, reasoning_content, responses_reasoning_item } = first.llm_message
  const { parts, outcome, tokens } = { ...replyOf(first) }
  return (
    textIn(content) === '' &&
    (content ?? []).every((part) => 'text' in part) &&
    (thinking_blocks ?? []).length === 0 &&
    (reasoning_content ?? '') === '' &&
    (responses_reasoning_item ?? null) === null &&
    [parts, outcome, tokens].every((field) => field === undefined)
  )
}

const contentIn = ({ content }: RawObject): unknown => content

export function readAnthropic(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const prompts = promptsOf(elements, contentIn)
  const hasResult = resultsOnDemand(() =>
    elements.flatMap(({ fields }) =>
      objectsOf(fields['content']).map((block) => stringOf(block['tool_use_id'])),
    ),
  )
  for (const element of elements) {
    const { line, number, fields } = element
    const origin = { line, id: `message-${number}`, time: null }
    if (keepNonMessage(element, 'anthropic', writer)) continue
    if (fields['role'] === 'system') addPrompt(element, fields['content'], prompts, origin, writer)
    else if (fields['role'] === 'assistant') {
      const reply = fromAnthropic({
        ...fields,
        id: stringOf(fields['id']) || `reply-${number}`,
        content: listOfBlocks(fields['content'], 'text'),
      } as Parameters<typeof fromAnthropic>[0])
      addReply(reply, originsOf(reply, origin), hasResult, writer)
    } else if (fields['role'] === 'user') addUser(fields, origin, writer)
    else keepUnknown(element, writer)
  }
  return writer.session('anthropic')
}

const originsOf = ({ events }: Reply, origin: Origin): readonly Origin[] =>
  callOrigins(origin, events.filter(({ kind }) => kind === 'ActionEvent').length, '.')

/** Adds a user message. Its tool results precede its other content, as the provider requires. */
function addUser(fields: RawObject, origin: Origin, writer: SessionWriter): void {
  const { content } = fields
  const rest: RawObject[] = []
  let results = 0
  for (const block of listOfBlocks(content, 'text')) {
    if (block['type'] !== 'tool_result') {
      rest.push(block)
      continue
    }
    results += 1
    const { tool_use_id, content, is_error } = block
    const result = { callId: stringOf(tool_use_id), content: contentOf(content), isError: is_error === true }
    writer.result(result, { ...origin, id: `${origin.id}-result-${results}` })
  }
  const others = contentOf(results === 0 ? content : rest)
  if (results === 0 || others.length > 0) writer.say('user', others, origin)
}

export function readOpenAIChat(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = withCallIds(elementsOf(records, 'messages'))
  const prompts = promptsOf(elements, contentIn)
  const hasResult = resultsOnDemand(() => elements.map(({ fields }) => stringOf(fields['tool_call_id'])))
  for (const element of elements) {
    const { line, number, fields } = element
    const origin = { line, id: `message-${number}`, time: null }
    const { role, content } = fields
    if (keepNonMessage(element, 'openai-chat', writer)) continue
    if (Array.isArray(fields['choices'])) addChatReply(fields, origin, hasResult, writer)
    else if (role === 'system' || role === 'developer') addPrompt(element, content, prompts, origin, writer)
    else if (role === 'assistant') {
      const calls = objectsOf(fields['tool_calls'])
      const choice = { message: fields, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }
      addChatReply({ id: `reply-${number}`, choices: [choice] }, origin, hasResult, writer)
    } else if (role === 'tool' || role === 'function') {
      const callId = stringOf(fields['tool_call_id'])
      const tool = stringOf(fields['name']) || 'unknown'
      writer.result({ callId, tool, content: contentOf(content), isError: false }, origin)
    } else if (role === 'user') writer.say('user', contentOf(content), origin, stringOf(fields['name']))
    else {
      keepUnknown(element, writer)
      continue
    }
    // The other fields of a reply are in its record.
    if (role !== 'assistant' && typeof role === 'string')
      keepMore(fields, READ, 'openai-chat', origin, writer)
  }
  return writer.session('openai-chat')
}

const READ = ['role', 'content', 'name', 'tool_call_id'] as const

const OF_REPLY = ['id', 'object', 'created', 'model', 'choices', 'usage'] as const

function addChatReply(reply: RawObject, origin: Origin, hasResult: HasResult, writer: SessionWriter): void {
  const whole = withCalls(reply, origin, writer)
  const read = fromOpenAIChat(whole as RawObject as never)
  const isFailed = read.outcome.type === 'failed' && objectsOf(reply['choices']).length > 0
  const usable = isFailed ? fromOpenAIChat(cutOff(whole) as never) : read
  if (read.outcome.type === 'failed') writer.note('failed replies, kept up to the failure', origin.line)
  addReply(usable, originsOf(usable, origin), hasResult, writer)
  const { length } = objectsOf(reply['choices'])
  for (let index = 1; index < length; index += 1) writer.note('further choices of a reply', origin.line)
  if (moreOf(objectOf(objectsOf(reply['choices'])[0]), 'index', 'message', 'finish_reason') !== null)
    writer.note('further fields of a choice', origin.line)
  keepMore(reply, OF_REPLY, 'openai-chat', origin, writer)
}

const cutOff = (reply: RawObject): RawObject =>
  produce(reply, (draft: Draft<RawObject>) => {
    const [choice = {}] = objectsOf(draft['choices'])
    draft['error'] = null
    draft['choices'] = [{ ...choice, finish_reason: 'length' }]
  })

function withCalls(reply: RawObject, { line }: Origin, writer: SessionWriter): RawObject {
  const [choice = {}] = objectsOf(reply['choices'])
  const message = objectOf(choice['message'])
  const tool_calls = writer.objectsIn(message['tool_calls'], 'not a call', line)
  if ((message['tool_calls'] ?? null) === null || message['tool_calls'] === tool_calls) return reply
  return produce(reply, (draft: Draft<RawObject>) => {
    const [first = {}] = objectsOf(draft['choices'])
    Object.assign(objectOf(first['message']), { tool_calls })
  })
}

/** Converts deprecated function calls of OpenAI Chat to tool calls, and adds call ids to their results. */
function withCallIds(elements: readonly Element[]): Element[] {
  const last = new Map<string, string>()
  return elements.map((element) => {
    const fields = produce(element.fields, (draft: Draft<RawObject>) => {
      const { role, choices } = draft
      if (role === 'assistant') nameCall(draft, `call-${element.number}`, last)
      else if (Array.isArray(choices))
        for (const choice of objectsOf(choices))
          nameCall(objectOf(choice['message']) as Draft<RawObject>, `call-${element.number}`, last)
      else if ((role === 'function' || role === 'tool') && stringOf(draft['tool_call_id']) === '') {
        const name = stringOf(draft['name'])
        draft['tool_call_id'] = last.get(name) ?? name
      }
    })
    return fields === element.fields ? element : { ...element, fields }
  })
}

function nameCall(message: Draft<RawObject>, id: string, last: Map<string, string>): void {
  const call = message['function_call']
  const name = stringOf(objectOf(call)['name'])
  if (name === '' || (Array.isArray(message['tool_calls']) && message['tool_calls'].length > 0)) return
  last.set(name, id)
  delete message['function_call']
  message['tool_calls'] = [{ id, type: 'function', function: call }]
}

/** Reads OpenAI Responses items. Consecutive items that the model wrote become one reply. */
export function readOpenAIResponses(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'input')
  const prompts = promptsOf(elements, ({ content }) => content)
  const hasResult = resultsOnDemand(() =>
    elements.map(({ fields }) => (isCallOutput(fields) ? answeredCall(fields) : '')),
  )
  let open: { readonly origin: Origin; readonly fields: RawObject }[] = []
  const close = (): void => {
    const [first] = open
    if (first === undefined) return
    const output = open.map(({ fields }) => outputItem(fields))
    const id = `reply-${first.origin.id?.slice('item-'.length) ?? ''}`
    const reply = responseReply({ id, status: 'completed', output })
    const places = new Map(open.map(({ origin, fields }) => [fields['call_id'], origin]))
    // The reply's reader makes ids for these calls, in their order.
    const callsWithoutId = open
      .filter(({ fields }) => isClientCall(fields) && stringOf(fields['call_id']) === '')
      .values()
    const placeOf = (callId: string): Origin =>
      places.get(callId) ?? callsWithoutId.next().value?.origin ?? first.origin
    const calls = reply.events.flatMap((event) =>
      event.kind === 'ActionEvent' ? [placeOf(event.tool_call_id)] : [],
    )
    addReply(reply, calls.length > 0 ? calls : [first.origin], hasResult, writer)
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
    else if (fields['type'] === APPROVAL) writer.say('user', [fields as OpenPart], origin)
    else if (isCallOutput(fields)) {
      const { type, output, status } = fields
      const content = WHOLE_OUTPUTS.has(type) ? [fields as OpenPart] : contentOf(output ?? '')
      writer.result({ callId: answeredCall(fields), content, isError: status === 'failed' }, origin)
    } else keepUnknown(element, writer)
  }
  close()
  return writer.session('openai-responses')
}

const isCallOutput = ({ type }: RawObject): boolean => stringOf(type).endsWith('_call_output')

const APPROVAL = 'mcp_approval_response'

/** Outputs that are one part of a result, because their fields have a meaning of their own. */
const WHOLE_OUTPUTS: ReadonlySet<unknown> = new Set([
  'shell_call_output',
  'local_shell_call_output',
  'apply_patch_call_output',
  'computer_call_output',
])

/** The output of a local shell names its call in `id`. */
const answeredCall = ({ type, call_id, id }: RawObject): string =>
  stringOf(call_id) || (type === 'local_shell_call_output' ? stringOf(id) : '')

const isOfModel = (fields: RawObject): boolean =>
  fields['role'] === 'assistant' ||
  (typeof fields['type'] === 'string' &&
    !['message', APPROVAL].includes(fields['type']) &&
    !isCallOutput(fields))

const responseReply = (reply: RawObject) =>
  fromOpenAIResponses(reply as unknown as Parameters<typeof fromOpenAIResponses>[0])

function outputItem(item: RawObject): RawObject {
  const { type, content } = item
  if (item['role'] !== 'assistant' || (type !== undefined && type !== 'message')) return item
  return { ...item, type: 'message', content: listOfBlocks(content, 'output_text').map(asOutputPart) }
}

const asOutputPart = (part: RawObject): RawObject =>
  part['type'] === 'text' || part['type'] === 'input_text' ? { ...part, type: 'output_text' } : part

const BROKEN: ReadonlySet<unknown> = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/** Adds a whole reply. A failed, cancelled or unfinished one is added as truncated, to keep its text. */
function addWhole(fields: RawObject, origin: Origin, hasResult: HasResult, writer: SessionWriter): void {
  const { status } = fields
  const isBroken = BROKEN.has(status)
  const reply = responseReply(
    isBroken
      ? { ...fields, error: null, status: 'incomplete', incomplete_details: { reason: status } }
      : fields,
  )
  const output = objectsOf(fields['output'])
  const origins = [origin, ...output.slice(1).map(() => origin)]
  if (!isBroken || output.length > 0) addReply(reply, origins, hasResult, writer)
  if (status === 'cancelled') writer.note('cancelled replies', origin.line)
  if (status === 'queued' || status === 'in_progress') writer.note('unfinished replies', origin.line)
  if (status !== 'failed') return
  const { code, message } = objectOf(fields['error'])
  const position = { ...origin, id: `${origin.id}-error` }
  writer.failure(stringOf(code) || 'failed', stringOf(message) || 'The reply failed.', position)
}

/** An assistant message may contain several replies, one for each step. */
export function readUIMessages(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const elements = elementsOf(records, 'messages')
  const prompts = promptsOf(elements, promptIn)
  for (const element of elements) {
    const { line, number, fields } = element
    if (keepNonMessage(element, 'ui-messages', writer)) continue
    const id = stringOf(fields['id']) || `message-${number}`
    const origin = { line, id, time: fields['createdAt'] }
    const { role } = fields
    if (role !== 'system' && role !== 'user' && role !== 'assistant') {
      keepUnknown(element, writer)
      continue
    }
    const parts = messageParts(fields, origin, writer)
    if (role === 'system') addPrompt(element, parts, prompts, origin, writer)
    else if (role === 'user') addUserParts(parts, origin, writer)
    else addReplies(parts, origin, writer)
    const other = otherFields(fields)
    if (other !== null)
      writer.update('ui-messages.message', { id, ...other }, { ...origin, id: `${id}-about` })
  }
  return writer.session('ui-messages')
}

const promptIn = ({ parts, content }: RawObject): unknown => textIn(parts) || content

function addUserParts(parts: readonly RawObject[], origin: Origin, writer: SessionWriter): void {
  const content = parts.flatMap((part) => {
    const { type, url, mediaType, filename } = part
    if (type === 'text') return contentOf([part])
    if (type !== 'file' || typeof url !== 'string') {
      writer.note(`parts of a user message that models do not read: ${stringOf(type)}`, origin.line)
      return []
    }
    if (stringOf(mediaType).startsWith('image')) return [{ type: 'image' as const, image_urls: [url] }]
    return [{ type: 'file', mediaType, data: url, ...(typeof filename === 'string' ? { filename } : {}) }]
  })
  writer.say('user', content, origin)
}

function addReplies(parts: readonly RawObject[], origin: Origin, writer: SessionWriter): void {
  const steps: RawObject[][] = [[]]
  for (const part of parts) {
    if (part['type'] === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  }
  for (const [index, step] of steps.filter((some) => some.length > 0).entries())
    addStep(step, { ...origin, id: index === 0 ? origin.id : `${origin.id}.${index + 1}` }, writer)
}

const isTool = ({ type }: RawObject): boolean => type === 'dynamic-tool' || stringOf(type).startsWith('tool-')

const DONE: ReadonlySet<unknown> = new Set(['output-available', 'output-error', 'output-denied'])

function addStep(step: readonly RawObject[], origin: Origin, writer: SessionWriter): void {
  const id = origin.id ?? `line-${origin.line}`
  const calls = step.filter((part) => isTool(part) && part['state'] !== 'input-streaming')
  const content = step.flatMap((part) => contentPart(part, origin, writer))
  if (content.length === 0) return writer.note('replies without content', origin.line)
  const clientCalls = calls.filter(({ providerExecuted }) => providerExecuted !== true)
  const reply = fromAiSdk({
    content,
    finishReason: clientCalls.length > 0 ? 'tool-calls' : 'stop',
    response: { id: `reply-${id}` },
  } as Parameters<typeof fromAiSdk>[0])
  writer.reply(reply, callOrigins(origin, clientCalls.length, '-call-'), (callId) =>
    clientCalls.some((call) => call['toolCallId'] === callId && DONE.has(call['state'])),
  )
  for (const [index, call] of clientCalls.entries())
    addResult(call, { ...origin, id: `${id}-result-${index + 1}` }, writer)
}

function contentPart(part: RawObject, { line }: Origin, writer: SessionWriter): object[] {
  const { type, text, state, toolCallId, input, output, errorText } = part
  const options = part['providerMetadata'] === undefined ? {} : { providerMetadata: part['providerMetadata'] }
  if (type === 'text' || type === 'reasoning') return text === '' ? [] : [{ type, text, ...options }]
  if (isTool(part) && state === 'input-streaming') {
    writer.note('unfinished calls', line)
    return []
  }
  if (isTool(part)) {
    const toolName = stringOf(part['toolName']) || stringOf(type).slice('tool-'.length)
    const isProviderExecuted = part['providerExecuted'] === true
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: input ?? part['rawInput'] ?? {},
      ...(isProviderExecuted ? { providerExecuted: true } : {}),
      ...(part['callProviderMetadata'] === undefined
        ? {}
        : { providerMetadata: part['callProviderMetadata'] }),
    }
    if (!isProviderExecuted || !DONE.has(state)) return [call]
    const result =
      state === 'output-available'
        ? { type: 'tool-result', toolCallId, toolName, input, output, providerExecuted: true }
        : { type: 'tool-error', toolCallId, toolName, input, error: errorText, providerExecuted: true }
    return [call, result]
  }
  if (type === 'file') return [{ type, file: { mediaType: part['mediaType'], base64: dataOf(part['url']) } }]
  if (stringOf(type).startsWith('source-'))
    return [{ ...part, type: 'source', sourceType: stringOf(type).slice('source-'.length) }]
  writer.note(`parts that models do not read: ${stringOf(type)}`, line)
  return []
}

const dataOf = (url: unknown): string => stringOf(url).replace(/^data:[^,]*;base64,/, '')

function addResult(call: RawObject, origin: Origin, writer: SessionWriter): void {
  const callId = stringOf(call['toolCallId'])
  switch (call['state']) {
    case 'output-available': {
      const output = call['output'] as JsonValue | undefined
      const content = contentOf(typeof output === 'string' ? output : JSON.stringify(output ?? null))
      return writer.result({ callId, content, isError: false }, origin)
    }
    case 'output-error':
      return writer.result({ callId, content: contentOf(call['errorText']), isError: true }, origin)
    case 'output-denied':
      return writer.reject(callId, stringOf(objectOf(call['approval'])['reason']), origin)
    default:
      return undefined
  }
}

const READ_FIELDS = [
  'id',
  'role',
  'content',
  'parts',
  'reasoning',
  'toolInvocations',
  'experimental_attachments',
] as const

const otherFields = (message: RawObject): JsonObject | null =>
  moreOf(message, ...READ_FIELDS, ...(typeof message['createdAt'] === 'string' ? ['createdAt'] : []))

/** Returns a message's parts, with `step-start` between replies. Notes fields that repeat parts. */
function messageParts(message: RawObject, { line }: Origin, writer: SessionWriter): RawObject[] {
  const { parts, content, reasoning } = message
  const files = objectsOf(message['experimental_attachments']).map(fileOf)
  const calls = objectsOf(message['toolInvocations'])
  if (!Array.isArray(parts)) return [...fromFields(calls, stringOf(reasoning), content), ...files]
  const list = objectsOf(parts)
  const countRepeat = (what: string): void => writer.note(`written twice: ${what} of a message`, line)
  const known = new Set(list.map(callIdOf))
  const others = calls.filter(({ toolCallId }) => !known.has(toolCallId))
  if (others.length < calls.length) countRepeat('toolInvocations')
  const thoughts = list.filter(({ type }) => type === 'reasoning')
  if (reasoning !== undefined && thoughts.length > 0) countRepeat('reasoning')
  const texts = list.filter(({ type }) => type === 'text')
  const hasText = textIn(texts) !== ''
  if (typeof content === 'string' && content !== '' && hasText) {
    if (textIn(texts).includes(content)) countRepeat('content')
    else writer.note('message content that differs from its parts', line)
  }
  return [
    ...(thoughts.length > 0 ? [] : thought(stringOf(reasoning))),
    ...partSteps(list),
    ...fromFields(others, '', hasText ? '' : content),
    ...files,
  ]
}

/**
 * Makes parts from older fields of a message, in this order: reasoning, calls, text. If there is no call, or
 * a call has no result, the text precedes the calls.
 */
function fromFields(calls: readonly RawObject[], reasoning: string, content: unknown): RawObject[] {
  const text = listOfBlocks(content, 'text')
  const parts = partSteps(calls.map((toolInvocation) => ({ type: 'tool-invocation', toolInvocation })))
  const isDone = calls.length > 0 && calls.every(({ state }) => state === 'result')
  return isDone
    ? [...thought(reasoning), ...parts, { type: 'step-start' }, ...text]
    : [...thought(reasoning), ...text, ...parts]
}

const thought = (text: string): RawObject[] => (text === '' ? [] : [{ type: 'reasoning', text }])

const fileOf = ({ url, contentType, name }: RawObject): RawObject => ({
  type: 'file',
  url,
  mediaType: contentType,
  ...(name === undefined ? {} : { filename: name }),
})

const callIdOf = (part: RawObject): unknown =>
  objectOf(part['toolInvocation'])['toolCallId'] ?? part['toolCallId']

/**
 * Converts parts of older AI SDK versions to parts of version 5. If the parts contain no `step-start`, a step
 * starts at a call with another step number, or at text or reasoning that follows a call with a result.
 */
function partSteps(list: readonly RawObject[]): RawObject[] {
  const hasSteps = list.some(({ type }) => type === 'step-start')
  const parts: RawObject[] = []
  let step: unknown
  let isDone = false
  for (const part of list) {
    const { type } = part
    const isCall = type === 'tool-invocation'
    const { step: number, state } = isCall ? objectOf(part['toolInvocation']) : NO_FIELDS
    const isNext = isCall
      ? number !== undefined && step !== undefined && number !== step
      : isDone && (type === 'text' || type === 'reasoning')
    if (isNext && !hasSteps) parts.push({ type: 'step-start' })
    // A call after the text at the start of a step belongs to that step, whatever its number.
    step = number ?? (isNext ? undefined : step)
    isDone = isCall && state === 'result'
    parts.push(oldPart(part))
  }
  return parts
}

const NO_FIELDS: RawObject = {}

function oldPart(part: RawObject): RawObject {
  if (part['type'] === 'reasoning' && typeof part['reasoning'] === 'string')
    return { type: 'reasoning', text: part['reasoning'] }
  if (part['type'] !== 'tool-invocation') return part
  const { toolCallId, toolName, args, result, state } = objectOf(part['toolInvocation'])
  const isDone = state === 'result'
  return {
    type: 'dynamic-tool',
    toolName,
    toolCallId,
    input: args,
    state: isDone ? 'output-available' : state === 'call' ? 'input-available' : 'input-streaming',
    ...(isDone ? { output: result } : {}),
  }
}
