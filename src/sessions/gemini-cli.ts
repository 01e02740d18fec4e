/** Reads the chats of Gemini CLI: one object, or lines of it in newer versions. */

import { isObject } from '../event/json.ts'
import type { Content, JsonObject, JsonValue } from '../event/shapes.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { fromGoogle } from '../messages/google/read.ts'
import { contentOf, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { type Origin, type Place, SessionWriter } from './writer.ts'

/** A chat as a session. O(size), and O(events in sight) for each history that was written anew. */
export function readGeminiCli(records: readonly SessionRecord[]): Session {
  const { about, steps } = stepsOf(records)
  const writer = new SessionWriter()
  const chat: Chat = { writer, ways: new Map(), said: new Map() }
  for (let at = 0; at < steps.length; at += 1) {
    const step = steps[at]
    if (step?.does === 'replace') {
      const listed = steps.slice(at + 1, at + 1 + step.count)
      const kept = replace(listed, step.record.line, chat)
      for (const one of listed.slice(kept)) readStep(one, true, chat)
      at += step.count
    } else if (step !== undefined) readStep(step, false, chat)
  }
  return {
    format: 'gemini-cli',
    id: stringOf(about['sessionId']) || null,
    title: stringOf(about['summary']) || null,
    parentId: null,
    createdAt: stringOf(about['startTime']) || null,
    facts: writer.facts,
    notes: writer.notes(),
    children: [],
  }
}

type Said = Extract<Step, { does: 'say' }>

/** How one goes back to before a message. */
interface Way {
  readonly to: Place | null
  /** What is left in sight there: the first so many of these; null for all that stands before `to`. */
  readonly left: { readonly ids: readonly string[]; readonly count: number } | null
}

/** What is known while a chat is read. */
interface Chat {
  readonly writer: SessionWriter
  readonly ways: Map<string, Way>
  /** The messages that were read, and their events. */
  readonly said: Map<string, { readonly step: Said; readonly events: readonly string[] }>
}

function readStep(step: Step, isListed: boolean, chat: Chat): void {
  const { writer } = chat
  const { record } = step
  switch (step.does) {
    case 'say':
      return say(step, isListed, chat)
    case 'back':
      return goBack(step.to, record, chat)
    case 'tell': {
      const origin = { line: record.line, id: `line-${record.line}-about`, time: null }
      return writer.update(step.key, step.value, origin)
    }
    case 'keep':
      return writer.keep(record, step.what)
    case 'note':
      return writer.note(step.what, record.line)
    case 'replace':
  }
}

function say(step: Said, isListed: boolean, { writer, ways, said }: Chat): void {
  const { record, found, id } = step
  const isAgain = id !== null && said.has(id)
  if (id !== null && (isListed || !ways.has(id))) ways.set(id, { to: writer.head, left: null })
  const name = isAgain ? `${step.name}-${record.line}` : step.name
  // A reply that is only repeated has cost nothing again.
  const { tokens: _, ...free } = found
  const from = writer.facts.length
  const origin = { line: record.line, id: name, time: found['timestamp'] }
  readMessage(isAgain && isListed ? free : found, record, origin, writer)
  if (id === null) return
  const events: string[] = []
  for (const { fact } of writer.facts.slice(from))
    if ('kind' in fact && fact.kind !== 'ConversationStateUpdateEvent' && fact.id !== undefined)
      events.push(fact.id)
  said.set(id, { step, events })
}

/** The message that is named goes too. */
function goBack(id: string, record: SessionRecord, { writer, ways }: Chat): void {
  const { line } = record
  const way = ways.get(id)
  if (way === undefined) return writer.keep(record, 'a way back to an unknown message')
  writer.goBack(way.to, { line, id: `line-${line}-rewind`, time: null })
  if (way.left === null) return
  const { ids, count } = way.left
  writer.condense(new Set(ids.slice(0, count)), '', { line, id: `line-${line}-left`, time: null })
}

/**
 * Takes out what a new history does not begin with. How many of its messages stand in sight in their order, and say the
 * same: the others are said behind them, so that the model sees all of them in the new order.
 */
function replace(listed: readonly Step[], line: number, { writer, ways, said }: Chat): number {
  const places = new Map(writer.inSight().map(({ id }, at) => [id, at]))
  const left: string[] = []
  const before = new Map<string, number>()
  let count = 0
  let last = -1
  for (const step of listed) {
    const known = step.does === 'say' && step.id !== null ? said.get(step.id) : undefined
    if (step.does !== 'say' || known === undefined || signOf(known.step.found) !== signOf(step.found)) break
    const own = known.events.map((id) => places.get(id) ?? -1)
    if (own.some((place, at) => place <= (own[at - 1] ?? last))) break
    before.set(step.name, left.length)
    for (const id of known.events) left.push(id)
    last = own.at(-1) ?? last
    count += 1
  }
  if (count > 0) writer.note('messages that a new history begins with', line)
  if (left.length === places.size) return count
  writer.condense(new Set(left), '', { line, id: `line-${line}-history`, time: null })
  ways.clear()
  for (const [id, length] of before) ways.set(id, { to: writer.head, left: { ids: left, count: length } })
  return count
}

/** What a record does to the chat. */
export type Step =
  | {
      readonly does: 'say'
      readonly record: SessionRecord
      readonly found: Found
      /** What the file calls it; null for what has no name there. */
      readonly id: string | null
      /** A name of its own, also for what the file calls nothing. */
      readonly name: string
    }
  /** Goes back to before a message. */
  | { readonly does: 'back'; readonly record: SessionRecord; readonly to: string }
  /** Begins a new history, which are the steps behind it. */
  | { readonly does: 'replace'; readonly record: SessionRecord; readonly count: number }
  /** Says something about the chat. */
  | {
      readonly does: 'tell'
      readonly record: SessionRecord
      readonly key: string
      readonly value: JsonObject
    }
  | { readonly does: 'keep'; readonly record: SessionRecord; readonly what: string }
  | { readonly does: 'note'; readonly record: SessionRecord; readonly what: string }

/** What is said of a chat, and what happens in it. */
export interface Steps {
  readonly about: Found
  readonly steps: readonly Step[]
}

/** A message that is written again as it grows counts as it is in the end. O(size). */
export function stepsOf(records: readonly SessionRecord[]): Steps {
  const chat = new ChatSteps()
  for (const record of records) chat.read(record)
  return { about: chat.about, steps: chat.steps }
}

class ChatSteps {
  about: Found = {}
  readonly steps: Step[] = []
  /** Where each message of the history stands among the steps, in their order. */
  #places = new Map<string, number>()
  /** The ids in it, in the order of these. */
  #ids: string[] = []

  read(record: SessionRecord): void {
    const found = objectOf(record.value)
    const { $set: changes, $rewindTo: to, type } = found
    if (Array.isArray(found['messages'])) this.#readWhole(found, found['messages'], record)
    else if (typeof to === 'string') this.#goBack(to, record)
    else if (isObject(changes)) this.#change(objectOf(changes), record)
    else if ('sessionId' in found && !('type' in found)) this.#tell('gemini-cli.session', found, record)
    else if (typeof type === 'string') this.#say(found, record, `line-${record.line}`)
    else {
      const what = record.value === undefined ? 'no JSON' : 'no message of a chat'
      this.steps.push({ does: 'keep', record, what })
    }
  }

  /**
   * A document of a whole chat: its messages are its lines. Its head is written anew with each of them: told in front,
   * it would make of a chat that has grown another one.
   */
  #readWhole(found: Found, messages: readonly unknown[], record: SessionRecord): void {
    this.about = { ...this.about, ...found, messages: undefined }
    this.steps.push({ does: 'note', record, what: 'heads of chats' })
    for (const [at, message] of messages.entries()) {
      const line = at + 1
      this.#sayAny(message, { ...record, line }, `line-${line}`)
    }
  }

  #goBack(to: string, record: SessionRecord): void {
    this.steps.push({ does: 'back', record, to })
    // What was cut off may be said again under its id.
    const from = this.#places.get(to) ?? Infinity
    const ids = this.#ids
    for (let id = ids.at(-1); id !== undefined && (this.#places.get(id) ?? 0) >= from; id = ids.at(-1))
      this.#places.delete(ids.pop() ?? '')
  }

  #change(changes: Found, record: SessionRecord): void {
    const { messages } = changes
    this.#tell('gemini-cli.set', changes, record)
    // An empty one replaces nothing.
    if (!Array.isArray(messages) || messages.length === 0) return
    this.#places = new Map()
    this.#ids = []
    const at = this.steps.length
    this.steps.push({ does: 'replace', record, count: 0 })
    for (const [no, message] of messages.entries()) this.#sayAny(message, record, `line-${record.line}-${no}`)
    this.steps[at] = { does: 'replace', record, count: this.steps.length - at - 1 }
  }

  /** Its messages are told by themselves. A time alone stands behind each message, and is that of it. */
  #tell(key: string, found: Found, record: SessionRecord): void {
    this.about = { ...this.about, ...found, messages: undefined }
    const { messages: _, ...value } = found
    const fields = Object.keys(value)
    if (fields.length === 1 && fields[0] === 'lastUpdated')
      this.steps.push({ does: 'note', record, what: 'times at which a chat was last changed' })
    else if (fields.length > 0) this.steps.push({ does: 'tell', record, key, value: value as JsonObject })
  }

  #sayAny(message: unknown, record: SessionRecord, name: string): void {
    if (isObject(message)) return this.#say(objectOf(message), record, name)
    const value = message as JsonValue
    const kept = { line: record.line, raw: JSON.stringify(value), value }
    this.steps.push({ does: 'keep', record: kept, what: 'no message of a chat' })
  }

  #say(found: Found, record: SessionRecord, name: string): void {
    const id = stringOf(found['id']) || null
    const step: Step = { does: 'say', record, found, id, name: id ?? name }
    const place = id === null ? undefined : this.#places.get(id)
    if (place !== undefined) {
      this.steps[place] = step
      this.steps.push({ does: 'note', record, what: 'messages that were written again' })
      return
    }
    if (id !== null) {
      this.#places.set(id, this.steps.length)
      this.#ids.push(id)
    }
    this.steps.push(step)
  }
}

/** Adds what a message says. O(size). */
export function readMessage(
  found: Found,
  record: SessionRecord,
  origin: Origin & { readonly id: string },
  writer: SessionWriter,
): void {
  const { type, content } = found
  switch (type) {
    case 'user':
      return readUserMessage(content, origin, writer)
    case 'gemini':
    case 'model':
      return readReply(found, origin, writer)
    case 'error': {
      const said = contentOf(content)
      const detail = textIn(said)
      writer.add({ kind: 'ConversationErrorEvent', source: 'environment', code: 'error', detail }, origin)
      // An error says words alone.
      const about = { ...origin, id: `${origin.id}-about` }
      if (said.some((part) => part.type !== 'text'))
        writer.update('gemini-cli.error', found as JsonValue, about)
      return
    }
    case 'info':
    case 'warning':
      return writer.update(`gemini-cli.${type}`, found as JsonValue, origin)
    default:
      return writer.keep(
        { ...record, raw: JSON.stringify(found) },
        `a message of the unknown type ${JSON.stringify(type)}`,
      )
  }
}

/** What makes two messages of one id the same: what they say, call and give, in whichever form. */
export function signOf(found: Found): string {
  const { type } = found
  const { parts, calls } = partsOf(found)
  const words = contentOf(parts.filter((part) => objectOf(part)['thought'] !== true))
  const ids = idsOf(calls)
  return JSON.stringify([
    type,
    words,
    calls.map((call) => {
      const { id, name, args, status } = call
      return [id, name, args, isDone(call) ? [status, resultOf(call, ids).content] : null]
    }),
  ])
}

/** In a history that was written anew, results stand as messages of the user too. */
function readUserMessage(
  content: unknown,
  origin: Origin & { readonly id: string },
  writer: SessionWriter,
): void {
  const parts = listOf(content)
  const first = parts.findIndex((part) => stringOf(objectOf(objectOf(part)['functionResponse'])['id']) !== '')
  if (first < 0) {
    writer.say('user', contentOf(parts), origin)
    return
  }
  if (first > 0) writer.say('user', contentOf(parts.slice(0, first)), origin)
  for (const [at, { callId, content: given }] of givenIn(parts.slice(first)).entries()) {
    const place = { ...origin, id: `${origin.id}.${at}` }
    if (callId === null) writer.say('user', given, place)
    else writer.result({ callId, content: given, isError: false }, place)
  }
}

const idsOf = (calls: readonly Found[]): ReadonlySet<string> => new Set(calls.map(({ id }) => stringOf(id)))

/** The parts of a message without the calls that stand beside them, and these. */
function partsOf(
  found: Found,
  calls = objectsOf(found['toolCalls']),
): {
  parts: readonly (string | Found)[]
  calls: readonly Found[]
  twice: number
} {
  const told = listOf(found['content'] ?? found['parts'])
  if (calls.length === 0) return { parts: told, calls, twice: 0 }
  const ids = idsOf(calls)
  const parts = told.filter((part) => {
    const id = stringOf(objectOf(objectOf(part)['functionCall'])['id'])
    return id === '' || !ids.has(id)
  })
  return { parts, calls, twice: told.length - parts.length }
}

/** A part as Gemini has it. */
function googlePart(part: string | Found): object {
  const found = objectOf(part)
  const { text, thought, thoughtSignature } = found
  if (typeof text === 'string')
    return {
      text,
      ...(thought === true ? { thought } : {}),
      ...(typeof thoughtSignature === 'string' ? { thoughtSignature } : {}),
    }
  if (Object.keys(found).length > 0) return found
  return { text: typeof part === 'string' ? part : '{}' }
}

/** Thoughts, of which each has a subject and a description, or is a text. One without either is told by its JSON. */
const thoughtsOf = (found: Found): object[] =>
  listOf(found['thoughts']).map((thought) => {
    const { subject, description } = objectOf(thought)
    const words = [subject, description].map(stringOf).filter((text) => text !== '')
    const text = words.length > 0 ? words.join('\n') : thought
    return { text: typeof text === 'string' ? text : JSON.stringify(text), thought: true }
  })

const LABELS = 'labels of calls that no model sees'

const isShown = (label: unknown): boolean => stringOf(label) !== ''

function readReply(found: Found, origin: Origin & { readonly id: string }, writer: SessionWriter): void {
  const { id, line } = origin
  const all = writer.objectsIn(found['toolCalls'], 'no call', line)
  const { parts: said, calls, twice } = partsOf(found, all)
  for (let no = 0; no < twice; no += 1) writer.note('written twice: a call', line)
  const own = said.map(googlePart)
  const isThought = own.some((part) => 'thought' in part)
  const thoughts = thoughtsOf(found)
  if (isThought && thoughts.length > 0) writer.note('written twice: thoughts', line)
  const parts = [
    ...(isThought ? [] : thoughts),
    ...own,
    ...calls.map((call) => ({ functionCall: { id: call['id'], name: call['name'], args: call['args'] } })),
  ]
  if (parts.length === 0) return writer.note('replies without content', line)
  const reply = fromGoogle({
    responseId: `reply-${id}`,
    modelVersion: found['model'],
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: usageOf(objectOf(found['tokens'])),
  } as Parameters<typeof fromGoogle>[0])
  // Calls that stand among the parts alone come first.
  const before = own.filter((part) => 'functionCall' in part).length
  const count = before + calls.length
  const origins =
    count === 0 ? [origin] : Array.from({ length: count }, (_, at) => ({ ...origin, id: `${id}.${at}` }))
  const done = calls.filter(isDone)
  const finished = idsOf(done)
  writer.reply(reply, origins, (callId) => finished.has(callId))
  const ids = idsOf(calls)
  for (const [at, call] of calls.entries()) {
    if (isShown(call['displayName']) || isShown(call['description'])) writer.note(LABELS, line)
    if (isDone(call)) {
      const place = { line, id: `${id}.${before + at}-result`, time: call['timestamp'] }
      readResult(call, ids, place, writer)
    } else if (Array.isArray(call['result']) || typeof call['result'] === 'string')
      writer.note('results of calls that were not done', line)
  }
}

function readResult(call: Found, ids: ReadonlySet<string>, origin: Origin, writer: SessionWriter): void {
  const callId = stringOf(call['id'])
  const { status } = call
  const { content, twice } = resultOf(call, ids)
  for (const what of twice) writer.note(`written twice: ${what}`, origin.line)
  if (status !== 'cancelled') return writer.result({ callId, content, isError: status === 'error' }, origin)
  const words = textIn(content)
  if (content.some(({ type }) => type !== 'text'))
    writer.note('parts of a refusal that are no words', origin.line)
  writer.reject(callId, words === '' ? 'The user cancelled the call.' : words, origin)
}

const usageOf = ({ input, output, cached, thoughts, tool, total }: Found): object => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  cachedContentTokenCount: cached,
  thoughtsTokenCount: thoughts,
  toolUsePromptTokenCount: tool,
  totalTokenCount: total,
})

/** Whether a call is done. Any other status says that it waits, or runs. */
export const isDone = ({ status, result }: Found): boolean =>
  typeof status === 'string' ? DONE.has(status) : result !== null && result !== undefined

const DONE: ReadonlySet<string> = new Set(['success', 'error', 'cancelled'])

/** The parts of a content, which may be one part, or a text. What is none says its JSON. */
export function listOf(value: unknown): readonly (string | Found)[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all
    .filter((part) => part !== null && part !== undefined && part !== '')
    .map((part) => {
      const found = objectOf(part)
      return found === part ? found : typeof part === 'string' ? part : JSON.stringify(part)
    })
}

/** The result of a call, by its id; null for what no call has given. */
export interface Given {
  readonly callId: string | null
  readonly content: readonly Content[]
}

/** What a list of parts gives to each call that it names: the parts behind a response belong to it. O(size). */
export function givenIn(value: unknown): Given[] {
  const all: { callId: string | null; content: Content[] }[] = []
  for (const part of listOf(value)) {
    const response = objectOf(part)['functionResponse']
    const isNext = response !== undefined && response !== null
    const last = all.at(-1)
    const content = isNext ? responseOf(objectOf(response)) : contentOf([part])
    if (isNext) all.push({ callId: stringOf(objectOf(response)['id']) || null, content })
    else if (last !== undefined) last.content.push(...content)
    else all.push({ callId: null, content })
  }
  return all
}

/** The words of a response, and what files stand beside them. */
function responseOf({ response, parts }: Found): Content[] {
  const fields = Object.keys(objectOf(response))
  const [field = ''] = fields
  const isPlain = fields.length === 1 && (field === 'output' || field === 'error')
  const said = fields.length === 0 ? [] : contentOf(isPlain ? objectOf(response)[field] : response)
  return [...said, ...contentOf(parts)]
}

/** What a call gave, and what of its record says it again. */
export interface CallResult {
  readonly content: readonly Content[]
  readonly twice: readonly string[]
}

/**
 * The result of a call that is done. Where a history was written anew, it holds the results of all calls of the reply;
 * `ids` are these. What was shown to the user is the result where there is no other. O(size).
 */
export function resultOf({ id, result, resultDisplay }: Found, ids: ReadonlySet<string>): CallResult {
  const content: Content[] = []
  const twice: string[] = []
  if (result !== null && result !== undefined)
    for (const given of givenIn(result)) {
      const isOthers = given.callId !== null && given.callId !== id && ids.has(given.callId)
      if (isOthers) twice.push('a result beside that of another call')
      else content.push(...given.content)
    }
  const isShown = resultDisplay !== null && resultDisplay !== undefined && resultDisplay !== ''
  if (isShown && content.length > 0) twice.push('resultDisplay')
  else if (isShown)
    content.push(
      ...contentOf(typeof resultDisplay === 'string' ? resultDisplay : JSON.stringify(resultDisplay)),
    )
  return { content, twice }
}
