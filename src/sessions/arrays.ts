/** Reads message arrays and whole replies in formats of Anthropic, OpenAI Chat, OpenAI Responses and the AI SDK. */

import { type Draft, produce } from 'immer'
import { replyOf } from '../event/reply.ts'
import type { JsonValue, OpenPart } from '../event/shapes.ts'
import { fromAiSdk } from '../messages/ai-sdk/read.ts'
import { fromAnthropic } from '../messages/anthropic/read.ts'
import { fromOpenAIChat } from '../messages/openai-chat/read.ts'
import { fromOpenAIResponses, isClientCall } from '../messages/openai-responses/read.ts'
import { moreOf, type Reply } from '../messages/reply.ts'
import { objectOf, objectsOf, type RawObject, runsOf, stringOf } from '../messages/text.ts'
import { listOfBlocks, contentOf, textIn } from './content.ts'
import type { Session, SessionFormat, SessionRecord } from './session.ts'
import type { HasResult, Origin } from './writer.ts'
import { callOrigins, resultsOnDemand, SessionWriter, TOOL_METADATA } from './writer.ts'

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
    // The elements of a request are numbered. A reply without its request keeps its line number.
    const next = (): number => (list === null ? line : (index += 1))
    const system = fields[promptField(fields)]
    if (textIn(system) !== '')
      add({ line: next(), fields: { role: 'system', content: system }, isPromptField: true })
    for (const element of list ?? []) {
      const inner = objectOf(element)
      const position = next()
      const stray =
        inner === element ? null : { line: position, raw: JSON.stringify(element), value: element }
      add({ line: position, fields: inner, stray })
    }
    if (isReply) add({ line: next(), fields: { ...fields, [field]: undefined } })
  }
  return elements
}

const isWhole = ({ type, role, output }: RawObject): boolean =>
  type === undefined && role === undefined && Array.isArray(output)

const promptField = (request: RawObject): string =>
  (request['system'] ?? null) === null ? 'instructions' : 'system'

function unreadFields(request: RawObject, field: string, isReply: boolean): RawObject | null {
  const prompt = promptField(request)
  const isRead = (key: string): boolean =>
    (key === field && Array.isArray(request[key])) ||
    (key === prompt && textIn(request[prompt]) !== '') ||
    (isReply && REPLY_FIELDS.has(key))
  const rest = Object.entries(request).filter(([key, value]) => !isRead(key) && value !== null)
  return rest.length === 0 ? null : Object.fromEntries(rest)
}

class ArrayWriter extends SessionWriter {
  readonly format: SessionFormat
  /** The system prompts at the start. They become one prompt in the log, with all their text. */
  readonly #front = new Set<Element>()
  readonly #prompt: string

  constructor(
    format: SessionFormat,
    elements: readonly Element[],
    contentIn: (fields: RawObject) => unknown,
    hasResult?: HasResult,
  ) {
    super(hasResult)
    this.format = format
    const texts: string[] = []
    for (const element of elements) {
      if (element.isRequest) continue
      if (!isSystem(element.fields)) break
      this.#front.add(element)
      texts.push(textIn(contentIn(element.fields)))
    }
    this.#prompt = texts.filter((text) => text !== '').join('\n\n')
  }

  /** Whether the element is a message. If not, adds it to the log as a state update or as a quarantined line. */
  isMessage({ line, number, fields, stray, isRequest }: Element): boolean {
    const origin = { line, id: `request-${number}`, time: null }
    if (isRequest) this.update(`${this.format}.request`, fields as JsonValue, origin)
    else if (stray !== null) this.keep(stray, 'not a message')
    return !isRequest && stray === null
  }

  /**
   * Adds a system prompt to the writer. A system message that is not at the start becomes a message of the
   * environment. The prompt field of a later request replaces the prompt.
   */
  addPrompt(element: Element, content: unknown, origin: Origin): void {
    const isFront = this.#front.has(element)
    const [first] = this.#front
    if (isFront && element !== first) return
    if (isFront || element.isPromptField) this.prompt(isFront ? this.#prompt : textIn(content), origin)
    else this.say('environment', contentOf(content), origin)
  }

  addReply(reply: Reply, origins: readonly Origin[]): void {
    if (isBlankReply(reply)) this.note('replies without content', origins[0]?.line ?? 1)
    else this.reply(reply, origins)
  }

  keepMore(fields: RawObject, read: readonly string[], origin: Origin): void {
    const more = moreOf(fields, ...read)
    const { id } = origin
    if (more === null) return
    this.update(`${this.format}.message`, { id, ...more }, { ...origin, id: `${id}-about` })
  }

  keepUnknown({ line, fields }: Element): void {
    this.keepValue(fields, line, 'not a message')
  }
}

const isSystem = ({ role }: RawObject): boolean => role === 'system' || role === 'developer'

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
  const elements = elementsOf(records, 'messages')
  const hasResult = resultsOnDemand(() =>
    elements.flatMap(({ fields }) =>
      objectsOf(fields['content']).map((block) => stringOf(block['tool_use_id'])),
    ),
  )
  const writer = new ArrayWriter('anthropic', elements, contentIn, hasResult)
  for (const element of elements) {
    if (!writer.isMessage(element)) continue
    const { line, number, fields } = element
    const { role, content } = fields
    const origin = { line, id: `message-${number}`, time: null }
    if (role === 'system') writer.addPrompt(element, content, origin)
    else if (role === 'assistant') {
      const id = stringOf(fields['id']) || `reply-${number}`
      const whole = { ...fields, id, content: listOfBlocks(content, 'text') }
      const reply = fromAnthropic(whole as Parameters<typeof fromAnthropic>[0])
      writer.addReply(reply, originsOf(reply, origin))
    } else if (role === 'user') addUser(content, origin, writer)
    else writer.keepUnknown(element)
  }
  return writer.session('anthropic')
}

const originsOf = ({ events }: Reply, origin: Origin): readonly Origin[] =>
  callOrigins(origin, events.filter(({ kind }) => kind === 'ActionEvent').length, '.')

/** Adds a user message. Its tool results precede its other content, as the provider requires. */
function addUser(content: unknown, origin: Origin, writer: SessionWriter): void {
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
  const elements = withToolCalls(elementsOf(records, 'messages'))
  const named = resultsOnDemand(() =>
    elements
      .filter(({ fields }) => isToolMessage(fields))
      .map(({ fields }) => stringOf(fields['tool_call_id'])),
  )
  // A result without a call id may belong to any call.
  const hasResult: HasResult = (callId) => named(callId) || named('')
  const writer = new ArrayWriter('openai-chat', elements, contentIn, hasResult)
  for (const element of elements) {
    if (!writer.isMessage(element)) continue
    const { line, number, fields } = element
    const origin = { line, id: `message-${number}`, time: null }
    const { role, content } = fields
    if (Array.isArray(fields['choices'])) addChatReply(fields, origin, writer)
    else if (isSystem(fields)) writer.addPrompt(element, content, origin)
    else if (role === 'assistant') {
      const calls = objectsOf(fields['tool_calls'])
      const message = Array.isArray(content)
        ? { ...fields, content: listOfBlocks(content, 'text').map(asTextPart) }
        : fields
      const choice = { message, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }
      addChatReply({ id: `reply-${number}`, choices: [choice] }, origin, writer)
    } else if (isToolMessage(fields)) {
      const callId = stringOf(fields['tool_call_id'])
      const tool = stringOf(fields['name']) || stringOf(fields['tool_name']) || undefined
      writer.result({ callId, tool, content: contentOf(content), isError: false }, origin)
    } else if (role === 'user') writer.say('user', contentOf(content), origin, stringOf(fields['name']))
    else {
      writer.keepUnknown(element)
      continue
    }
    // The other fields of a reply are in its record.
    if (role !== 'assistant' && typeof role === 'string') writer.keepMore(fields, READ, origin)
  }
  return writer.session('openai-chat')
}

const asTextPart = (part: RawObject): RawObject =>
  part['type'] === undefined && typeof part['text'] === 'string' ? { ...part, type: 'text' } : part

const isToolMessage = ({ role }: RawObject): boolean => role === 'tool' || role === 'function'

const READ = ['role', 'content', 'name', 'tool_name', 'tool_call_id'] as const

const OF_REPLY = ['id', 'object', 'created', 'model', 'choices', 'usage'] as const

function addChatReply(reply: RawObject, origin: Origin, writer: ArrayWriter): void {
  const whole = withCalls(reply, origin, writer)
  const read = fromOpenAIChat(whole as RawObject as never)
  const choices = objectsOf(reply['choices'])
  const isFailed = read.outcome.type === 'failed'
  const usable = isFailed && choices.length > 0 ? fromOpenAIChat(cutOff(whole) as never) : read
  if (isFailed) writer.note('failed replies, kept up to the failure', origin.line)
  writer.addReply(usable, originsOf(usable, origin))
  for (const _ of choices.slice(1)) writer.note('further choices of a reply', origin.line)
  if (moreOf(objectOf(choices[0]), 'index', 'message', 'finish_reason') !== null)
    writer.note('further fields of a choice', origin.line)
  writer.keepMore(reply, OF_REPLY, origin)
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

/** Converts deprecated function calls of OpenAI Chat to tool calls. */
function withToolCalls(elements: readonly Element[]): Element[] {
  return elements.map((element) => {
    const fields = produce(element.fields, (draft: Draft<RawObject>) => {
      const { role, choices } = draft
      const messages =
        role === 'assistant' ? [draft] : objectsOf(choices).map(({ message }) => objectOf(message))
      for (const message of messages) convertCall(message as Draft<RawObject>, `call-${element.number}`)
    })
    return fields === element.fields ? element : { ...element, fields }
  })
}

function convertCall(message: Draft<RawObject>, id: string): void {
  const { function_call: call, tool_calls: calls } = message
  if (stringOf(objectOf(call)['name']) === '' || (Array.isArray(calls) && calls.length > 0)) return
  delete message['function_call']
  message['tool_calls'] = [{ id, type: 'function', function: call }]
}

/** Reads OpenAI Responses items. Consecutive items that the model wrote become one reply. */
export function readOpenAIResponses(records: readonly SessionRecord[]): Session {
  const elements = elementsOf(records, 'input')
  const hasResult = resultsOnDemand(() =>
    elements.map(({ fields }) => (isCallOutput(fields) ? answeredCall(fields) : '')),
  )
  const writer = new ArrayWriter('openai-responses', elements, contentIn, hasResult)
  for (const run of runsOf(elements, (one, next) => isOfModel(one) && isOfModel(next))) {
    const [element] = run as [Element]
    if (isOfModel(element)) addOutput(run, writer)
    else if (writer.isMessage(element)) addInput(element, writer)
  }
  return writer.session('openai-responses')
}

const itemOrigin = ({ line, number }: Element): Origin => ({ line, id: `item-${number}`, time: null })

/** Adds the reply that consists of the elements' items. */
function addOutput(elements: readonly Element[], writer: ArrayWriter): void {
  const [first] = elements as [Element]
  const output = elements.map(({ fields }) => outputItem(fields))
  const reply = responseReply({ id: `reply-${first.number}`, status: 'completed', output })
  const places = new Map(elements.map((element) => [element.fields['call_id'], itemOrigin(element)]))
  // The reply's reader makes ids for these calls, in their order.
  const callsWithoutId = elements
    .filter(({ fields }) => isClientCall(fields) && stringOf(fields['call_id']) === '')
    .values()
  const placeOf = (callId: string): Origin =>
    places.get(callId) ?? itemOrigin(callsWithoutId.next().value ?? first)
  const calls = reply.events.flatMap((event) =>
    event.kind === 'ActionEvent' ? [placeOf(event.tool_call_id)] : [],
  )
  writer.addReply(reply, calls.length > 0 ? calls : [itemOrigin(first)])
}

function addInput(element: Element, writer: ArrayWriter): void {
  const { fields } = element
  const origin = itemOrigin(element)
  const { role, content, type, output, status } = fields
  if (isWhole(fields)) addWhole(fields, origin, writer)
  else if (isSystem(fields)) writer.addPrompt(element, content, origin)
  else if (role === 'user') writer.say('user', contentOf(content), origin)
  else if (type === APPROVAL) writer.say('user', [fields as OpenPart], origin)
  else if (isCallOutput(fields)) {
    const result = WHOLE_OUTPUTS.has(type) ? [fields as OpenPart] : contentOf(output ?? '')
    writer.result({ callId: answeredCall(fields), content: result, isError: status === 'failed' }, origin)
  } else writer.keepUnknown(element)
}

const isCallOutput = ({ type }: RawObject): boolean => stringOf(type).endsWith('_call_output')

const APPROVAL = 'mcp_approval_response'

/** Types of outputs that become one part of a result, because their fields have special meanings. */
const WHOLE_OUTPUTS: ReadonlySet<unknown> = new Set([
  'shell_call_output',
  'local_shell_call_output',
  'apply_patch_call_output',
  'computer_call_output',
])

/** Returns the id of an output's call. The output of a local shell has this id in its field `id`. */
const answeredCall = ({ type, call_id, id }: RawObject): string =>
  stringOf(call_id) || (type === 'local_shell_call_output' ? stringOf(id) : '')

const isOfModel = ({ isRequest, fields }: Element): boolean => {
  const { role, type } = fields
  if (isRequest) return false
  return (
    role === 'assistant' ||
    (typeof type === 'string' && !['message', APPROVAL].includes(type) && !isCallOutput(fields))
  )
}

const responseReply = (reply: RawObject) =>
  fromOpenAIResponses(reply as unknown as Parameters<typeof fromOpenAIResponses>[0])

/** Returns an item with the parts of a reply's message as outputs, whatever their types. */
export function outputItem(item: RawObject): RawObject {
  const { type, content } = item
  if (item['role'] !== 'assistant' || (type !== undefined && type !== 'message')) return item
  return { ...item, type: 'message', content: listOfBlocks(content, 'output_text').map(asOutputPart) }
}

const asOutputPart = (part: RawObject): RawObject =>
  part['type'] === 'text' || part['type'] === 'input_text' ? { ...part, type: 'output_text' } : part

const BROKEN: ReadonlySet<unknown> = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/** Adds a whole reply. A failed, cancelled or unfinished reply is added as truncated, to keep its text. */
function addWhole(fields: RawObject, origin: Origin, writer: ArrayWriter): void {
  const { status } = fields
  const isBroken = BROKEN.has(status)
  const reply = responseReply(
    isBroken
      ? { ...fields, error: null, status: 'incomplete', incomplete_details: { reason: status } }
      : fields,
  )
  const output = objectsOf(fields['output'])
  const origins = [origin, ...output.slice(1).map(() => origin)]
  if (!isBroken || output.length > 0) writer.addReply(reply, origins)
  if (status === 'cancelled') writer.note('cancelled replies', origin.line)
  if (status === 'queued' || status === 'in_progress') writer.note('unfinished replies', origin.line)
  if (status !== 'failed') return
  const { code, message } = objectOf(fields['error'])
  const position = { ...origin, id: `${origin.id}-error` }
  writer.failure(stringOf(code) || 'failed', stringOf(message) || 'The reply failed.', position)
}

/** Reads UI messages of the AI SDK. An assistant message may contain several replies, one for each step. */
export function readUIMessages(records: readonly SessionRecord[]): Session {
  const elements = elementsOf(records, 'messages')
  const writer = new ArrayWriter('ui-messages', elements, promptIn)
  for (const element of elements) {
    if (!writer.isMessage(element)) continue
    const { line, number, fields } = element
    const { role, createdAt } = fields
    const origin = { line, id: stringOf(fields['id']) || `message-${number}`, time: createdAt }
    if (role !== 'system' && role !== 'user' && role !== 'assistant') {
      writer.keepUnknown(element)
      continue
    }
    const parts = messageParts(fields, origin, writer)
    if (role === 'system') writer.addPrompt(element, parts, origin)
    else if (role === 'user') addUserParts(parts, origin, writer)
    else addReplies(parts, origin, writer)
    writer.keepMore(
      fields,
      typeof createdAt === 'string' ? [...READ_FIELDS, 'createdAt'] : READ_FIELDS,
      origin,
    )
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

/** Whether a call has ended. A denied call has ended, even if the page was stored before the server's reply. */
const isDone = ({ state, approval }: RawObject): boolean =>
  DONE.has(state) || (state === 'approval-responded' && objectOf(approval)['approved'] === false)

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
    clientCalls.some((call) => call['toolCallId'] === callId && isDone(call)),
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
    const toolName =
      stringOf(part['toolName']) || stringOf(type).replace(/^(?:dynamic-)?tool-?/, '') || 'unknown'
    const isProviderExecuted = part['providerExecuted'] === true
    const call = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: input ?? part['rawInput'] ?? {},
      ...(isProviderExecuted ? { providerExecuted: true } : {}),
      ...(part['callProviderMetadata'] !== undefined && { providerMetadata: part['callProviderMetadata'] }),
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
      const mcp = isMcpResult(output) ? objectOf(output) : null
      if (mcp !== null && moreOf(mcp, 'content', 'isError') !== null) writer.note(TOOL_METADATA, origin.line)
      const content = contentOf(
        mcp?.['content'] ?? (typeof output === 'string' ? output : JSON.stringify(output ?? null)),
      )
      return writer.result({ callId, content, isError: mcp?.['isError'] === true }, origin)
    }
    case 'output-error':
      return writer.result({ callId, content: contentOf(call['errorText']), isError: true }, origin)
    default:
      if (isDone(call)) writer.reject(callId, stringOf(objectOf(call['approval'])['reason']), origin)
  }
}

/** Whether an output is the result of an MCP tool. The AI SDK sends the content of such a result to the model. */
function isMcpResult(output: unknown): boolean {
  const { content, ...more } = objectOf(output)
  return (
    Array.isArray(content) &&
    content.every((part) => MCP_PARTS.has(objectOf(part)['type'])) &&
    Object.keys(more).every((key) => ['isError', 'structuredContent', '_meta'].includes(key))
  )
}

const MCP_PARTS: ReadonlySet<unknown> = new Set(['text', 'image', 'audio', 'resource', 'resource_link'])

const READ_FIELDS = [
  'id',
  'role',
  'content',
  'parts',
  'reasoning',
  'toolInvocations',
  'experimental_attachments',
] as const

/** Returns a message's parts, with `step-start` between replies. Adds a note for each other field that repeats them. */
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
 * Makes parts from older fields of a message. If all calls have results, the order is: reasoning, calls, text;
 * otherwise: reasoning, text, calls.
 */
function fromFields(calls: readonly RawObject[], reasoning: string, content: unknown): RawObject[] {
  const text = listOfBlocks(content, 'text')
  const parts = partSteps(calls.map((toolInvocation) => ({ type: 'tool-invocation', toolInvocation })))
  return calls.length > 0 && calls.every(({ state }) => state === 'result')
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
    // If text starts a step, the next call belongs to this step, whatever the call's number.
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
