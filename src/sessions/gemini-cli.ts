/** Reads the chats of Gemini CLI. A chat is one JSON object or, in newer versions, JSON lines. */

import { isObject } from '../event/json.ts'
import type { Content, JsonObject, JsonValue } from '../event/shapes.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { fromGoogle } from '../messages/google/read.ts'
import { contentOf, instantIn, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { type Origin, type Place, SessionWriter } from './writer.ts'

export function readGeminiCli(records: readonly SessionRecord[]): Session {
  const { about, steps } = new ChatSteps(records)
  const writer = new SessionWriter()
  const chat: Chat = { writer, returns: new Map(), messages: new Map() }
  for (const step of steps) readStep(step, false, chat)
  return {
    ...writer.session('gemini-cli'),
    id: stringOf(about['sessionId']) || null,
    title: stringOf(about['summary']) || null,
    createdAt: instantIn(about['startTime']),
  }
}

interface Message {
  readonly record: SessionRecord
  readonly fields: RawObject
  readonly id: string | null
  readonly name: string
}

type Step = Message | ((chat: Chat) => void)

interface Return {
  readonly to: Place | null
  /** After a return, only the first `count` of `ids` remain in the view. Null: all events up to `to` remain. */
  readonly remaining: { readonly ids: readonly string[]; readonly count: number } | null
}

interface Chat {
  readonly writer: SessionWriter
  readonly returns: Map<string, Return>
  readonly messages: Map<string, { readonly step: Message; readonly events: readonly string[] }>
}

function readStep(step: Step, isListed: boolean, chat: Chat): void {
  if (typeof step === 'function') step(chat)
  else say(step, isListed, chat)
}

function say(step: Message, isListed: boolean, { writer, returns: ways, messages: texts }: Chat): void {
  const { record, fields, id } = step
  const isRepeated = id !== null && texts.has(id)
  if (id !== null && (isListed || !ways.has(id))) ways.set(id, { to: writer.head, remaining: null })
  const name = isRepeated ? `${step.name}-${record.line}` : step.name
  // Without its tokens, a repeated reply is not counted twice.
  const { tokens: _, ...free } = fields
  const from = writer.facts.length
  const origin = { line: record.line, id: name, time: fields['timestamp'] }
  readMessage(isRepeated && isListed ? free : fields, record, origin, writer)
  if (id !== null) texts.set(id, { step, events: writer.idsSince(from) })
}

function goBack(id: string, record: SessionRecord, { writer, returns: ways }: Chat): void {
  const { line } = record
  const target = ways.get(id)
  if (target === undefined) return writer.keep(record, 'rewind to an unknown message')
  writer.goBack(target.to, { line, id: `line-${line}-rewind`, time: null })
  if (target.remaining === null) return
  const { ids, count } = target.remaining
  writer.condense(new Set(ids.slice(0, count)), '', { line, id: `line-${line}-left`, time: null })
}

/**
 * Compares the view with a new history. Removes the events that do not match the history's first messages.
 * Returns the number of messages that match.
 */
function matchHistory(
  listed: readonly Step[],
  line: number,
  { writer, returns: ways, messages: texts }: Chat,
): number {
  const places = new Map(writer.inSight().map(({ id }, index) => [id, index]))
  const retained: string[] = []
  const before = new Map<string, number>()
  let count = 0
  let last = -1
  for (const step of listed) {
    if (typeof step === 'function') break
    const known = step.id === null ? undefined : texts.get(step.id)
    if (known === undefined || identityOf(known.step.fields) !== identityOf(step.fields)) break
    const positions = known.events.map((id) => places.get(id) ?? -1)
    if (positions.some((position, index) => position <= (positions[index - 1] ?? last))) break
    before.set(step.name, retained.length)
    for (const id of known.events) retained.push(id)
    last = positions.at(-1) ?? last
    count += 1
  }
  if (count > 0) writer.note('messages at the start of a new history', line)
  if (retained.length === places.size) return count
  writer.condense(new Set(retained), '', { line, id: `line-${line}-history`, time: null })
  ways.clear()
  for (const [id, length] of before)
    ways.set(id, { to: writer.head, remaining: { ids: retained, count: length } })
  return count
}

/** The steps of a chat. If the file repeats a growing message, its step has the final content. */
class ChatSteps {
  about: RawObject = {}
  readonly steps: Step[] = []
  #list = this.steps
  #slots = new Map<string, { readonly list: Step[]; readonly index: number }>()
  #ids: string[] = []

  constructor(records: readonly SessionRecord[]) {
    for (const record of records) this.#read(record)
  }

  #read(record: SessionRecord): void {
    const fields = objectOf(record.value)
    const { $set: changes, $rewindTo: to, type } = fields
    if (Array.isArray(fields['messages'])) this.#readWhole(fields, fields['messages'], record)
    else if (typeof to === 'string') this.#goBack(to, record)
    else if (isObject(changes)) this.#change(objectOf(changes), record)
    else if ('sessionId' in fields && !('type' in fields))
      this.#addUpdate('gemini-cli.session', fields, record)
    else if (typeof type === 'string') this.#say(fields, record, `line-${record.line}`)
    else {
      const what = record.value === undefined ? 'invalid JSON' : 'not a message of a chat'
      this.#add(({ writer }) => writer.keep(record, what))
    }
  }

  /**
   * Reads a document that contains a whole chat. Each message is read like a line. The document's other
   * fields do not become events, because they change whenever the file grows.
   */
  #readWhole(fields: RawObject, messages: readonly unknown[], record: SessionRecord): void {
    this.about = { ...this.about, ...fields, messages: undefined }
    this.#note('chat headers', record)
    for (const [index, message] of messages.entries()) {
      const line = index + 1
      this.#sayAny(message, { ...record, line }, `line-${line}`)
    }
  }

  #goBack(to: string, record: SessionRecord): void {
    this.#add((chat) => goBack(to, record, chat))
    // A removed message may be added again with its id.
    while (this.#slots.has(to)) this.#slots.delete(this.#ids.pop() ?? '')
  }

  #change(changes: RawObject, record: SessionRecord): void {
    const { messages } = changes
    this.#addUpdate('gemini-cli.set', changes, record)
    // An empty list replaces nothing.
    if (!Array.isArray(messages) || messages.length === 0) return
    this.#slots = new Map()
    this.#ids = []
    const listed: Step[] = []
    this.#add((chat) => {
      const count = matchHistory(listed, record.line, chat)
      for (const step of listed.slice(count)) readStep(step, true, chat)
    })
    this.#list = listed
    for (const [index, message] of messages.entries())
      this.#sayAny(message, record, `line-${record.line}-${index}`)
    this.#list = this.steps
  }

  #addUpdate(key: string, object: RawObject, record: SessionRecord): void {
    this.about = { ...this.about, ...object, messages: undefined }
    const { messages: _, ...value } = object
    const fields = Object.keys(value)
    if (fields.length === 1 && fields[0] === 'lastUpdated') this.#note('modification times of a chat', record)
    else if (fields.length > 0) {
      const origin = { line: record.line, id: `line-${record.line}-about`, time: null }
      this.#add(({ writer }) => writer.update(key, value as JsonObject, origin))
    }
  }

  #sayAny(message: unknown, record: SessionRecord, name: string): void {
    if (isObject(message)) return this.#say(objectOf(message), record, name)
    this.#add(({ writer }) => writer.keepValue(message, record.line, 'not a message of a chat'))
  }

  #say(fields: RawObject, record: SessionRecord, name: string): void {
    const id = stringOf(fields['id']) || null
    const step = { record, fields, id, name: id ?? name }
    const slot = this.#slots.get(id ?? '')
    if (slot !== undefined) {
      slot.list[slot.index] = step
      this.#note('rewritten messages', record)
      return
    }
    if (id !== null) {
      this.#slots.set(id, { list: this.#list, index: this.#list.length })
      this.#ids.push(id)
    }
    this.#list.push(step)
  }

  #add(change: (chat: Chat) => void): void {
    this.#list.push(change)
  }

  #note(what: string, { line }: SessionRecord): void {
    this.#add(({ writer }) => writer.note(what, line))
  }
}

function readMessage(
  fields: RawObject,
  record: SessionRecord,
  origin: Origin & { readonly id: string },
  writer: SessionWriter,
): void {
  const { type, content } = fields
  switch (type) {
    case 'user':
      return readUserMessage(content, origin, writer)
    case 'gemini':
    case 'model':
      return readReply(fields, origin, writer)
    case 'error': {
      const errorContent = contentOf(content)
      writer.failure('error', textIn(errorContent), origin)
      // An error event has only text, so other parts are kept in a state update.
      const about = { ...origin, id: `${origin.id}-about` }
      if (errorContent.some((part) => part.type !== 'text'))
        writer.update('gemini-cli.error', fields as JsonValue, about)
      return
    }
    case 'info':
    case 'warning':
      return writer.update(`gemini-cli.${type}`, fields as JsonValue, origin)
    default:
      return writer.keep(
        { ...record, raw: JSON.stringify(fields) },
        `unknown message type ${JSON.stringify(type)}`,
      )
  }
}

function identityOf(fields: RawObject): string {
  const { type } = fields
  const { parts, calls } = partsWithoutCalls(fields)
  const visible = contentOf(parts.filter((part) => objectOf(part)['thought'] !== true))
  const ids = callIdsOf(calls)
  return JSON.stringify([
    type,
    visible,
    calls.map((call) => {
      const { id, name, args, status } = call
      return [id, name, args, isDone(call) ? [status, callResult(call, ids).content] : null]
    }),
  ])
}

const CLIENT_CONTEXT = /^\s*<session_context>[^]*<\/session_context>\s*$/

/** Adds a user message, and the tool results that it contains if the history was rewritten. */
function readUserMessage(
  content: unknown,
  origin: Origin & { readonly id: string },
  writer: SessionWriter,
): void {
  const parts = listOf(content)
  const first = parts.findIndex((part) => isObject(objectOf(part)['functionResponse']))
  if (first < 0) {
    const message = contentOf(parts)
    writer.say(CLIENT_CONTEXT.test(textIn(message)) ? 'environment' : 'user', message, origin)
    return
  }
  if (first > 0) writer.say('user', contentOf(parts.slice(0, first)), origin)
  for (const [index, { callId, tool, content: output }] of resultsIn(parts.slice(first)).entries()) {
    const position = { ...origin, id: `${origin.id}.${index}` }
    writer.result({ callId, tool, content: output, isError: false }, position)
  }
}

const callIdsOf = (calls: readonly RawObject[]): ReadonlySet<string> =>
  new Set(calls.map(({ id }) => stringOf(id)).filter(Boolean))

function partsWithoutCalls(
  fields: RawObject,
  calls = objectsOf(fields['toolCalls']),
): {
  parts: readonly (string | RawObject)[]
  calls: readonly RawObject[]
  twice: number
} {
  const all = listOf(fields['content'] ?? fields['parts'])
  if (calls.length === 0) return { parts: all, calls, twice: 0 }
  const ids = callIdsOf(calls)
  const parts = all.filter((part) => !ids.has(stringOf(objectOf(objectOf(part)['functionCall'])['id'])))
  return { parts, calls, twice: all.length - parts.length }
}

function googlePart(part: string | RawObject): object {
  const fields = objectOf(part)
  const { text, thought, thoughtSignature } = fields
  if (typeof text === 'string')
    return {
      text,
      ...(thought === true ? { thought } : {}),
      ...(typeof thoughtSignature === 'string' ? { thoughtSignature } : {}),
    }
  if (Object.keys(fields).length > 0) return fields
  return { text: typeof part === 'string' ? part : '{}' }
}

const thoughtsOf = (fields: RawObject): object[] =>
  listOf(fields['thoughts']).map((thought) => {
    const { subject, description } = objectOf(thought)
    const lines = [subject, description].map(stringOf).filter((text) => text !== '')
    const text = lines.length > 0 ? lines.join('\n') : thought
    return { text: typeof text === 'string' ? text : JSON.stringify(text), thought: true }
  })

const isShown = (label: unknown): boolean => stringOf(label) !== ''

function readReply(fields: RawObject, origin: Origin & { readonly id: string }, writer: SessionWriter): void {
  const { id, line } = origin
  const all = writer.objectsIn(fields['toolCalls'], 'not a call', line)
  const { parts: text, calls, twice } = partsWithoutCalls(fields, all)
  for (let index = 0; index < twice; index += 1) writer.note('written twice: a call', line)
  const converted = text.map(googlePart)
  const isThought = converted.some((part) => 'thought' in part)
  const thoughts = thoughtsOf(fields)
  if (isThought && thoughts.length > 0) writer.note('written twice: thoughts', line)
  const parts = [
    ...(isThought ? [] : thoughts),
    ...converted,
    ...calls.map((call) => ({ functionCall: { id: call['id'], name: call['name'], args: call['args'] } })),
  ]
  if (parts.length === 0) return writer.note('replies without content', line)
  const reply = fromGoogle({
    responseId: `reply-${id}`,
    modelVersion: fields['model'],
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: usageOf(objectOf(fields['tokens'])),
  } as Parameters<typeof fromGoogle>[0])
  // Calls that only the parts contain precede the others.
  const before = converted.filter((part) => 'functionCall' in part).length
  const count = before + calls.length
  const origins =
    count === 0
      ? [origin]
      : Array.from({ length: count }, (_, index) => ({ ...origin, id: `${id}.${index}` }))
  const done = calls.filter(isDone)
  const finished = callIdsOf(done)
  writer.reply(reply, origins, (callId) => finished.has(callId))
  const ids = callIdsOf(calls)
  for (const [index, call] of calls.entries()) {
    if (isShown(call['displayName']) || isShown(call['description'])) writer.note('call labels', line)
    if (isDone(call)) {
      const position = { line, id: `${id}.${before + index}-result`, time: call['timestamp'] }
      readResult(call, ids, position, writer)
    } else if (Array.isArray(call['result']) || typeof call['result'] === 'string')
      writer.note('results of unfinished calls', line)
  }
}

function readResult(call: RawObject, ids: ReadonlySet<string>, origin: Origin, writer: SessionWriter): void {
  const callId = stringOf(call['id'])
  const { status } = call
  const { content, twice } = callResult(call, ids)
  for (const what of twice) writer.note(`written twice: ${what}`, origin.line)
  if (status !== 'cancelled') return writer.result({ callId, content, isError: status === 'error' }, origin)
  const reason = textIn(content)
  if (content.some(({ type }) => type !== 'text')) writer.note('non-text parts of a rejection', origin.line)
  writer.reject(callId, reason === '' ? 'The user cancelled the call.' : reason, origin)
}

const usageOf = ({ input, output, cached, thoughts, tool, total }: RawObject): object => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  cachedContentTokenCount: cached,
  thoughtsTokenCount: thoughts,
  toolUsePromptTokenCount: tool,
  totalTokenCount: total,
})

const isDone = ({ status, result }: RawObject): boolean =>
  typeof status === 'string' ? DONE.has(status) : result !== null && result !== undefined

const DONE: ReadonlySet<string> = new Set(['success', 'error', 'cancelled'])

function listOf(value: unknown): readonly (string | RawObject)[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all
    .filter((part) => part !== null && part !== undefined && part !== '')
    .map((part) => {
      const fields = objectOf(part)
      return fields === part ? fields : typeof part === 'string' ? part : JSON.stringify(part)
    })
}

/**
 * Returns the results of calls. A result consists of a function response and the parts that follow it. The call id
 * is empty if the response has none, and for parts that precede every response.
 */
function resultsIn(value: unknown) {
  const all: { callId: string; tool?: string | undefined; content: Content[] }[] = []
  for (const part of listOf(value)) {
    const response = objectOf(part)['functionResponse']
    const isNext = response !== undefined && response !== null
    const last = all.at(-1)
    const content = isNext ? responseContent(objectOf(response)) : contentOf([part])
    const { id, name } = objectOf(response)
    if (isNext) all.push({ callId: stringOf(id), tool: stringOf(name) || undefined, content })
    else if (last !== undefined) last.content.push(...content)
    else all.push({ callId: '', content })
  }
  return all
}

function responseContent({ response, parts }: RawObject): Content[] {
  const fields = Object.keys(objectOf(response))
  const [field = ''] = fields
  const isPlain = fields.length === 1 && (field === 'output' || field === 'error')
  const messages = fields.length === 0 ? [] : contentOf(isPlain ? objectOf(response)[field] : response)
  return [...messages, ...contentOf(parts)]
}

/**
 * Returns the result of a call. If the result is empty, returns the result that was displayed. After a
 * rewrite of the history, a call can contain results of the other calls in `ids`; they are left out.
 */
function callResult({ id, result, resultDisplay }: RawObject, ids: ReadonlySet<string>) {
  const content: Content[] = []
  const twice: string[] = []
  if (result !== null && result !== undefined)
    for (const part of resultsIn(result)) {
      if (part.callId !== id && ids.has(part.callId)) twice.push("a result inside another call's result")
      else content.push(...part.content)
    }
  const isShown = resultDisplay !== null && resultDisplay !== undefined && resultDisplay !== ''
  if (isShown && content.length > 0) twice.push('resultDisplay')
  else if (isShown)
    content.push(
      ...contentOf(typeof resultDisplay === 'string' ? resultDisplay : JSON.stringify(resultDisplay)),
    )
  return { content, twice }
}
