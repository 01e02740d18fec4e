/** Reads the chats of Gemini CLI: one object, or lines of it in newer versions. */

import { stringOf } from '../../messages/found.ts'
import type { Session, SessionRecord } from '../session.ts'
import { type Place, SessionWriter } from '../writer.ts'
import { readMessage, signOf } from './message.ts'
import { type Step, stepsOf } from './steps.ts'

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
