/** Reads the chats of Gemini CLI: one object, or lines of it in newer versions. */

import type { JsonValue } from '../event/shapes.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/found.ts'
import { fromGoogle } from '../messages/google/read.ts'
import { contentOf } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { type Origin, type Place, SessionWriter } from './writer.ts'

/** A message, or the place where its user went back. */
interface Said {
  readonly record: SessionRecord
  readonly found: Found
}

/** A chat as a session. O(size). */
export function readGeminiCli(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const { about, said } = divide(records, writer)
  const heads = new Map<string, Place | null>()
  for (const one of said) {
    const back = one.found['$rewindTo']
    if (typeof back !== 'string') {
      const { id } = one.found
      if (typeof id === 'string' && !heads.has(id)) heads.set(id, writer.head)
      readMessage(one, writer)
      continue
    }
    // The message that is named goes too.
    const to = heads.get(back)
    if (to === undefined) writer.keep(one.record, 'a way back to an unknown message')
    else writer.goBack(to, { line: one.record.line, id: `line-${one.record.line}-rewind`, time: null })
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

/** What is said of the chat, and its messages. One that is written again as it grows counts as it is in the end. */
function divide(records: readonly SessionRecord[], writer: SessionWriter): { about: Found; said: Said[] } {
  let about: Found = {}
  const said: Said[] = []
  const places = new Map<string, number>()
  /** The ids in `places`, in the order of these. */
  const ids: string[] = []
  const add = (record: SessionRecord, found: Found): void => {
    const { id } = found
    const place = typeof id === 'string' ? places.get(id) : undefined
    if (place !== undefined) {
      said[place] = { record, found }
      return writer.note('messages that were written again', record.line)
    }
    if (typeof id === 'string') {
      places.set(id, said.length)
      ids.push(id)
    }
    said.push({ record, found })
  }
  for (const record of records) {
    const found = objectOf(record.value)
    if (Array.isArray(found['messages'])) {
      about = { ...about, ...found }
      for (const [at, message] of objectsOf(found['messages']).entries())
        add({ ...record, line: at + 1 }, message)
    } else if ('$set' in found) about = { ...about, ...objectOf(found['$set']) }
    else if ('$rewindTo' in found) {
      said.push({ record, found })
      // What was cut off may be said again under its id.
      const from = places.get(stringOf(found['$rewindTo'])) ?? Infinity
      for (let id = ids.at(-1); id !== undefined && (places.get(id) ?? 0) >= from; id = ids.at(-1))
        places.delete(ids.pop() ?? '')
    } else if ('sessionId' in found && !('type' in found)) about = { ...about, ...found }
    else if (typeof found['type'] === 'string') add(record, found)
    else writer.keep(record, record.value === undefined ? 'no JSON' : 'no message of a chat')
  }
  return { about, said }
}

function readMessage({ record, found }: Said, writer: SessionWriter): void {
  const { id, type, timestamp: time, content } = found
  const origin = { line: record.line, id: stringOf(id) || null, time }
  switch (type) {
    case 'user':
      writer.say('user', contentOf(content), origin)
      return
    case 'gemini':
    case 'model':
      return readReply(found, origin, writer)
    case 'error': {
      const detail = contentOf(content)
        .map((part) => stringOf((part as { text?: unknown }).text))
        .join('')
      writer.add({ kind: 'ConversationErrorEvent', source: 'environment', code: 'error', detail }, origin)
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

function readReply(found: Found, origin: Origin, writer: SessionWriter): void {
  const calls = objectsOf(found['toolCalls'])
  const thoughts = objectsOf(found['thoughts']).map(({ subject, description }) => ({
    text: [subject, description]
      .map(stringOf)
      .filter((text) => text !== '')
      .join('\n'),
    thought: true,
  }))
  const words = found['content'] ?? found['parts']
  const parts = [
    ...thoughts.filter(({ text }) => text !== ''),
    ...contentOf(words).map((part) => ('text' in part ? { text: part.text } : part)),
    ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } })),
  ]
  if (parts.length === 0) return writer.note('replies without content', origin.line)
  const id = origin.id ?? `line-${origin.line}`
  const reply = fromGoogle({
    responseId: `reply-${id}`,
    modelVersion: found['model'],
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: usageOf(objectOf(found['tokens'])),
  } as Parameters<typeof fromGoogle>[0])
  const origins = calls.length === 0 ? [origin] : calls.map((_, at) => ({ ...origin, id: `${id}.${at}` }))
  // Calls and their results stand in one record.
  const done = new Set(
    calls.filter((call) => 'status' in call || 'result' in call).map((call) => stringOf(call['id'])),
  )
  writer.reply(reply, origins, (callId) => done.has(callId))
  for (const [at, call] of calls.entries())
    if (done.has(stringOf(call['id']))) readResult(call, at, id, writer, origin)
}

function readResult(call: Found, at: number, id: string, writer: SessionWriter, { line }: Origin): void {
  const origin = { line, id: `${id}.${at}-result`, time: call['timestamp'] }
  const callId = stringOf(call['id'])
  const { status } = call
  const responses = objectsOf(call['result']).map((part) => objectOf(part['functionResponse'])['response'])
  const content = responses.flatMap((response) => {
    const { output, error } = objectOf(response)
    return contentOf(output ?? error ?? response)
  })
  if (status === 'cancelled') writer.reject(callId, 'The user cancelled the call.', origin)
  else writer.result({ callId, content, isError: status === 'error' }, origin)
}

const usageOf = ({ input, output, cached, thoughts, tool, total }: Found): object => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  cachedContentTokenCount: cached,
  thoughtsTokenCount: thoughts,
  toolUsePromptTokenCount: tool,
  totalTokenCount: total,
})
