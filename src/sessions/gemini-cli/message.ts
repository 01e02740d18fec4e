/** Reads a message of Gemini CLI: a reply stands in one record with its calls and their results. */

import type { JsonValue } from '../../event/shapes.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../../messages/found.ts'
import { fromGoogle } from '../../messages/google/read.ts'
import { contentOf, textIn } from '../content.ts'
import type { SessionRecord } from '../session.ts'
import type { Origin, SessionWriter } from '../writer.ts'
import { givenIn, isDone, listOf, resultOf } from './result.ts'

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
      return readUser(content, origin, writer)
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
function readUser(content: unknown, origin: Origin & { readonly id: string }, writer: SessionWriter): void {
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
