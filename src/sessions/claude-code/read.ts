/**
 * Reads the sessions of Claude Code: lines of JSON, a block of a reply each, in a tree of their own.
 *
 * Nothing is published of their form: what is read here is what stands in files of versions 1.0 to 2.1.
 */

import type { Content, JsonValue } from '../../event/shapes.ts'
import { objectOf, stringOf } from '../../messages/found.ts'
import { contentOf, textIn } from '../content.ts'
import type { Session, SessionRecord } from '../session.ts'
import { DETAILS, type HasResult, type Origin, SessionWriter } from '../writer.ts'
import { addAttachment } from './attachment.ts'
import { addSummary } from './compaction.ts'
import { indexLines, type Line } from './lines.ts'
import { addReply } from './reply.ts'
import { Turns } from './turns.ts'

/** A session and the side chains that stand in its file. O(size). */
export function readClaudeCode(records: readonly SessionRecord[]): Session {
  const index = indexLines(records)
  const chains = index.chains.map((lines, at) => readLines(lines, index.hasResult, `side-${at + 1}`))
  const main = readLines(index.lines, index.hasResult, null, index.again)
  return { ...main, children: chains.map((chain) => ({ ...chain, parentId: main.id })) }
}

function readLines(
  lines: readonly Line[],
  hasResult: HasResult,
  name: string | null,
  again: readonly number[] = [],
): Session {
  const writer = new SessionWriter()
  const chain: Chain = {
    writer,
    hasResult,
    turns: new Turns(writer, lines),
    replies: repliesOf(lines),
    titles: [],
    named: namedLater(lines),
    boundary: null,
  }
  for (const line of lines) {
    chain.turns.goOn(line, { ...originOf(line), id: null })
    readLine(line, chain)
    chain.turns.pass(line)
  }
  for (const no of again) writer.note('written twice: a line', no)
  const about = lines.find(({ found }) => typeof found['sessionId'] === 'string')?.found ?? {}
  const session = stringOf(about['sessionId']) || null
  // A file of a helper's own says the session that has started it, and who it is.
  const agent = isHelpers(lines) ? (agentIn(lines) ?? name) : null
  return {
    format: 'claude-code',
    id: agent === null ? session : session === null ? agent : `${session}-${agent}`,
    title: chain.titles.at(-1) ?? null,
    parentId: agent === null ? null : session,
    createdAt: stringOf(lines.find(({ time }) => time !== null)?.time) || null,
    facts: writer.facts,
    notes: writer.notes(),
    children: [],
  }
}

/** Whether lines are those of a helper: what has no name, as a line that was cut, says nothing of that. */
const isHelpers = (lines: readonly Line[]): boolean =>
  lines.some(({ isSide }) => isSide) && lines.every(({ isSide, uuid }) => isSide || uuid === null)

const agentIn = (lines: readonly Line[]): string | null =>
  stringOf(lines.find(({ found }) => stringOf(found['agentId']) !== '')?.found['agentId']) || null

/** What is known while a chain of lines is read. */
interface Chain {
  readonly writer: SessionWriter
  /** Whether a call has a result in the file. */
  readonly hasResult: HasResult
  readonly turns: Turns
  /** The lines of each reply that is not written yet. */
  readonly replies: Map<string, Line[]>
  readonly titles: string[]
  /** The lines by their names. */
  readonly named: () => ReadonlyMap<string, Line>
  /** Where the client began to sum up, until its summary comes. */
  boundary: Line | null
}

/** In most files no line is sought by its name. */
function namedLater(lines: readonly Line[]): Chain['named'] {
  let named: Map<string, Line> | null = null
  return () => (named ??= new Map(lines.map((line) => [line.uuid ?? '', line])))
}

/** The lines of each reply by its id: the results of its first calls may stand between them. */
function repliesOf(lines: readonly Line[]): Map<string, Line[]> {
  const replies = new Map<string, Line[]>()
  for (const line of lines) {
    if (line.reply === null) continue
    const known = replies.get(line.reply)
    if (known === undefined) replies.set(line.reply, [line])
    else known.push(line)
  }
  return replies
}

/** What stands beside the conversation and says nothing to a model. */
const BESIDE: ReadonlySet<string> = new Set([
  'progress',
  'summary',
  'last-prompt',
  'mode',
  'permission-mode',
  'ai-title',
  'custom-title',
  'agent-name',
  'agent-color',
  'agent-setting',
  'pr-link',
  'tag',
  'queue-operation',
  'file-history-snapshot',
])

function readLine(line: Line, chain: Chain): void {
  const { writer, replies } = chain
  const { record, found, type } = line
  if (type === null)
    return writer.keep(record, record.value === undefined ? 'no JSON' : 'no record of a session')
  const origin = originOf(line)
  switch (type) {
    case 'user':
      return readUser(line, chain)
    case 'assistant': {
      const id = line.reply
      if (id === null) return readFailure(line, writer)
      const lines = replies.get(id)
      if (lines === undefined) return
      replies.delete(id)
      return addReply(id, lines, writer, chain.hasResult)
    }
    case 'system': {
      const place = chain.turns.place(line, origin)
      if (found['subtype'] === 'api_error') return readApiError(line, writer, place)
      if (found['subtype'] === 'compact_boundary') chain.boundary = line
      return writer.update(
        `claude-code.${stringOf(found['subtype']) || 'system'}`,
        record.value as JsonValue,
        origin,
      )
    }
    case 'attachment':
      return addAttachment(line, writer, chain.turns.place(line, origin))
    default:
      if (!BESIDE.has(type)) return writer.keep(record, `a record of the unknown type "${type}"`)
      if (type === 'progress') chain.turns.place(line, origin)
      if (type === 'summary') chain.titles.push(stringOf(found['summary']))
      if (type === 'ai-title') chain.titles.push(stringOf(found['aiTitle']) || stringOf(found['title']))
      if (type === 'custom-title') chain.titles.push(stringOf(found['customTitle']))
      writer.update(`claude-code.${type}`, record.value as JsonValue, origin)
      if (type === 'last-prompt') chain.turns.end(stringOf(found['leafUuid']), { ...origin, id: null })
  }
}

const originOf = ({ record, uuid, time }: Line): Origin => ({ line: record.line, id: uuid, time })

/** What the client writes when its user has stopped a reply, as a text of its own. */
const INTERRUPTED = /^\[Request interrupted by user[^\]]*\]$/

const NONE: Line['blocks'] = []

/** What it tells the model of a call that its user refused. */
const REFUSED = "The user doesn't want to proceed with this tool use"

/** A call that its tool could not read. */
const FAILED = /^<tool_use_error>([\s\S]*?)(?:<\/tool_use_error>)?$/

function readUser(line: Line, chain: Chain): void {
  const { writer, turns } = chain
  const { found, blocks } = line
  const origin = originOf(line)
  const { content } = line.message
  if (found['isCompactSummary'] === true) {
    const tail = addSummary(line, chain.boundary, chain.named, writer, origin)
    if (tail !== null) turns.keep(tail)
    chain.boundary = null
    return
  }
  const results = line.isTyped ? NONE : blocks.filter(({ type }) => type === 'tool_result')
  // A text there says the words of the result again.
  if (results.length > 0 && objectOf(found['toolUseResult']) === found['toolUseResult'])
    writer.note(DETAILS, origin.line)
  for (const [at, block] of results.entries()) {
    const place = at === 0 ? origin : { ...origin, id: `${origin.id ?? `line-${origin.line}`}.${at}` }
    const callId = stringOf(block['tool_use_id'])
    const isError = block['is_error'] === true
    const words = isError ? textIn(block['content']) : ''
    const failed = isError ? FAILED.exec(words) : null
    if (isError && words.startsWith(REFUSED)) writer.reject(callId, words, place)
    else if (failed !== null && writer.hasCall(callId)) writer.fail(callId, failed[1] ?? words, place)
    else writer.result({ callId, content: contentOf(block['content']), isError }, place)
  }
  if (results.length > 0 && results.length === blocks.length) return
  const rest = results.length === 0 ? content : blocks.filter(({ type }) => type !== 'tool_result')
  const place =
    results.length === 0 ? origin : { ...origin, id: `${origin.id ?? `line-${origin.line}`}.text` }
  const said = contentOf(rest)
  const words = said.filter((part) => !isInterruption(part))
  const source = line.isTyped || results.length > 0 ? 'user' : 'environment'
  if (words.length === said.length) {
    if (results.length === 0 || said.length > 0) writer.say(source, said, turns.place(line, place))
    return
  }
  // A text beside it is a prompt like any other, and stands where that would.
  const at = words.length === 0 ? place : turns.place(line, place)
  writer.add({ kind: 'InterruptEvent', source: 'user' }, at)
  const { line: no, id, time } = place
  if (words.length > 0) writer.say(source, words, { line: no, id: `${id ?? `line-${no}`}.said`, time })
}

const isInterruption = (part: Content): boolean =>
  part.type === 'text' && INTERRUPTED.test(stringOf(part['text']).trim())

/** What failed at the provider, written as if the model had said it. */
function readFailure({ record, uuid, time, message }: Line, writer: SessionWriter): void {
  const detail = textIn(message['content'])
  writer.add(
    { kind: 'ConversationErrorEvent', source: 'environment', code: 'api_error', detail },
    { line: record.line, id: uuid, time },
  )
}

function readApiError({ found }: Line, writer: SessionWriter, place: Origin): void {
  const error = objectOf(found['error'])
  const detail = stringOf(error['message']) || JSON.stringify(found['error'] ?? null)
  writer.add({ kind: 'ConversationErrorEvent', source: 'environment', code: 'api_error', detail }, place)
}
