/**
 * Reads the sessions of Claude Code: lines of JSON, a block of a reply each, in a tree of their own.
 *
 * Nothing is published of their form: what is read here is what stands in files of versions 1.0 to 2.1.
 */

import { isToolResult } from '../event/kinds.ts'
import { type Content, HOOK_EVENT_TYPES, type JsonValue } from '../event/shapes.ts'
import type { HookEventType } from '../event/types.ts'
import { fromAnthropic } from '../messages/anthropic/read.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { blocksOf, contentOf, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { askedLater, DETAILS, type HasResult, type Origin, type Place, SessionWriter } from './writer.ts'

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
  /** The reply that each line is a part of. */
  readonly replies: ReadonlyMap<Line, SplitReply>
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

/** A reply, and the lines that contain its blocks. */
interface SplitReply {
  readonly id: string
  /** The request that it answered; empty where its lines name none. */
  readonly request: string
  readonly lines: Line[]
  isWritten: boolean
}

/**
 * The reply of each line. Some servers give all replies the same id. A line begins another reply where it names another
 * request or, where one of the two names none, where its parent is a result. Between lines with the same request there
 * may be results of the first calls.
 */
function repliesOf(lines: readonly Line[]): Map<Line, SplitReply> {
  const replies = new Map<Line, SplitReply>()
  const named = new Map<string, SplitReply[]>()
  const results = new Set<string>()
  for (const line of lines) {
    if (line.reply === null) {
      if (line.uuid !== null && line.blocks.some(isResult)) results.add(line.uuid)
      continue
    }
    const request = stringOf(line.found['requestId'])
    const known = named.get(line.reply) ?? []
    const isBehindResult = results.has(line.parent ?? '')
    let reply = known.findLast((one) =>
      [request, one.request].includes('') ? !isBehindResult : one.request === request,
    )
    if (reply === undefined) {
      const id = known.length === 0 ? line.reply : `${line.reply}~${known.length + 1}`
      reply = { id, request, lines: [], isWritten: false }
      named.set(line.reply, [...known, reply])
    }
    reply.lines.push(line)
    replies.set(line, reply)
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
      if (line.reply === null) return readFailure(line, writer)
      const reply = replies.get(line)
      if (reply === undefined || reply.isWritten) return
      reply.isWritten = true
      return addReply(reply.id, reply.lines, writer, chain.hasResult)
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

/** A line, and what the others need to know of it. */
export interface Line {
  readonly record: SessionRecord
  readonly found: Found
  /** Null for what is no record of a session. */
  readonly type: string | null
  readonly uuid: string | null
  readonly parent: string | null
  readonly time: string | null
  /** The message that it holds, or a part of it. */
  readonly message: Found
  /** The id of the reply that it is a part of. */
  readonly reply: string | null
  /** The blocks of its message. */
  readonly blocks: readonly Found[]
  /** Whether it is of a side chain: a conversation of a helper. */
  readonly isSide: boolean
  /** Whether it tells of a command that its client has executed itself, as `/exit` or `!ls`: no request to a model. */
  readonly isLocal: boolean
  /** Whether its user has typed it for a model: it is neither a result nor put in by the client. */
  readonly isTyped: boolean
}

/** The lines of the session itself, and those of each side chain in its file. */
export interface Lines {
  readonly lines: readonly Line[]
  readonly chains: readonly (readonly Line[])[]
  /** Whether a call has a result. */
  readonly hasResult: HasResult
  /** The numbers of lines that stand there again: some versions repeat all that they hold before they sum it up. */
  readonly again: readonly number[]
}

/** Looks at every line once. A file of one side chain alone is that one's session. O(size). */
export function indexLines(records: readonly SessionRecord[]): Lines {
  const all: Line[] = []
  const hasResult = resultsIn(all)
  const again: number[] = []
  const named = new Map<string, Line>()
  let isOne = true
  let hasSides = false
  for (const record of records)
    for (const each of unwrap(record)) {
      const line = lineOf(each)
      const first = line.uuid === null ? undefined : named.get(line.uuid)
      if (first !== undefined && isSame(first, line)) {
        again.push(each.line)
        continue
      }
      if (line.uuid !== null && first === undefined) named.set(line.uuid, line)
      all.push(line)
      if (line.isSide) hasSides = true
      else if (line.uuid !== null) isOne = false
    }
  if (isOne || !hasSides) return { lines: all, chains: [], hasResult, again }
  const lines: Line[] = []
  const chains = new Map<string, Line[]>()
  /** The first line of the chain that each line is in. */
  const roots = new Map<string, string>()
  for (const line of all) {
    if (!line.isSide) {
      lines.push(line)
      continue
    }
    const { uuid, parent, found } = line
    const agent = stringOf(found['agentId'])
    const root = agent || (parent === null ? undefined : roots.get(parent)) || uuid || 'side'
    if (uuid !== null) roots.set(uuid, root)
    const chain = chains.get(root)
    if (chain === undefined) chains.set(root, [line])
    else chain.push(line)
  }
  return { lines, chains: [...chains.values()], hasResult, again }
}

/** Whether two lines of one name are one: of the same time, and with the same in them. */
const isSame = (one: Line, other: Line): boolean =>
  one.time !== null && one.time === other.time && contentIn(one) === contentIn(other)

const contentIn = ({ type, parent, found }: Line): string =>
  JSON.stringify([type, parent, found['subtype'], found['message'], found['attachment']])

/** Sessions that were made on the web come as one document. */
function unwrap(record: SessionRecord): readonly SessionRecord[] {
  const { loglines } = objectOf(record.value)
  if (!Array.isArray(loglines)) return [record]
  return loglines.map((value: JsonValue, at) => ({ line: at + 1, raw: JSON.stringify(value), value }))
}

const resultsIn = (lines: readonly Line[]): HasResult =>
  askedLater(() =>
    lines.flatMap(({ blocks }) => blocks.filter(isResult).map((block) => stringOf(block['tool_use_id']))),
  )

const isResult = ({ type }: Found): boolean => type === 'tool_result'

/** Commands that become a prompt, as those of a project's own, begin with their message. */
const LOCAL = /^\s*<(?:command-name|local-command-\w+|bash-(?:input|stdout|stderr))>/

function lineOf(record: SessionRecord): Line {
  const found = objectOf(record.value)
  const type = stringOf(found['type']) || null
  const message = objectOf(found['message'])
  const blocks = blocksOf(message['content'], 'text')
  const isLocal = type === 'user' && LOCAL.test(textIn(message['content']))
  const isFailure = found['isApiErrorMessage'] === true
  return {
    record,
    found,
    type,
    uuid: stringOf(found['uuid']) || null,
    parent: stringOf(found['parentUuid']) || null,
    time: stringOf(found['timestamp']) || null,
    reply: type === 'assistant' && !isFailure ? stringOf(message['id']) || `reply-${record.line}` : null,
    message,
    blocks,
    isSide: found['isSidechain'] === true,
    isLocal,
    isTyped:
      type === 'user' &&
      !isLocal &&
      found['isMeta'] !== true &&
      found['isCompactSummary'] !== true &&
      found['isVisibleInTranscriptOnly'] !== true &&
      !blocks.some(isResult),
  }
}

/** A line, and what stood there when it had been read. */
interface Passed {
  readonly uuid: string
  /** The prompt that the line stands behind. */
  readonly prompt: string | null
  /** The event under HEAD. */
  readonly head: Place | null
}

/** How many lines above one are looked at before all of them are sought by name: most follow one of these. */
const NEAR = 8

/** Follows the lines of a chain in their order. Each call is O(1), amortised. */
export class Turns {
  readonly #writer: SessionWriter
  readonly #passed: Passed[] = []
  /** The lines by their names, as far as they were sought. */
  readonly #byName = new Map<string, Passed>()
  #named = 0
  /** The event under HEAD before the first prompt behind a line. */
  readonly #before = new Map<string | null, Place | null>()
  #prompt: string | null = null
  /** Where the end of the session was before its user went back, until another line comes. */
  #left: { readonly prompt: string | null; readonly head: Place | null } | null = null
  readonly #lines: readonly Line[]
  /** The lines that lead to a prompt; null before they are asked for. */
  #leads: ReadonlySet<Line> | null = null
  /** Where the branch goes on that a line begins whose event moves no HEAD. */
  #led: { readonly uuid: string; readonly head: Place | null; readonly to: Place | null } | null = null

  constructor(writer: SessionWriter, lines: readonly Line[]) {
    this.#writer = writer
    this.#lines = lines
  }

  /** The place of a line's event: behind what it follows in the file, where that is a branch of its own. */
  place(line: Line, origin: Origin): Origin {
    const { uuid, parent, isTyped } = line
    if (uuid === null) return origin
    const above = this.#above(parent)
    const isBranch =
      parent === null ? this.#before.has(null) : above !== undefined && above.prompt !== this.#prompt
    if (!isTyped && !(isBranch && this.#isLead(line))) return origin
    if (isTyped) this.#prompt = uuid
    if (!isBranch) {
      if (!this.#before.has(parent)) this.#before.set(parent, this.#writer.head)
      return origin
    }
    const after = this.#behind(parent, above)
    this.#led = { uuid, head: this.#writer.head, to: after }
    return { ...origin, after }
  }

  /**
   * Goes back to a line that the client names as the end of its session, where that stands behind another prompt than
   * the last. What goes on with what was left all the same is where the next line of it puts it: see `goOn`.
   */
  end(leaf: string, origin: Origin): void {
    const above = this.#above(leaf)
    if (above === undefined || above.prompt === this.#prompt) return
    this.#left = { prompt: this.#prompt, head: this.#writer.head }
    this.#prompt = above.prompt
    this.#writer.goBack(this.#behind(leaf, above), origin)
  }

  /** Called before each line: what was taken for left, and was not, is gone on with. */
  goOn({ uuid, parent, isTyped }: Line, origin: Origin): void {
    if (this.#left === null || uuid === null) return
    const left = this.#left
    this.#left = null
    if (isTyped || this.#above(parent)?.prompt !== left.prompt) return
    this.#prompt = left.prompt
    this.#writer.goBack(left.head, origin)
  }

  /** Called behind each line. */
  pass({ uuid, parent }: Line): void {
    if (uuid === null) return
    // Whatever else begins anew goes back to the start.
    if (parent === null && !this.#before.has(null)) this.#before.set(null, null)
    const above = this.#above(parent)
    const { head } = this.#writer
    const isLed = this.#led?.uuid === uuid
    // What begins anew stands behind no prompt.
    const before = parent === null && isLed ? null : this.#prompt
    const prompt = uuid === this.#prompt ? uuid : above === undefined ? before : above.prompt
    const led = isLed && this.#led?.head === head ? this.#led.to : head
    this.#passed.push({ uuid, prompt, head: led })
  }

  /** Called behind a compaction that kept messages up to a line: what follows that line follows the summary. */
  keep(tail: string): void {
    this.#before.set(tail, this.#writer.head)
  }

  /** The event that what follows a line hangs on. */
  #behind(uuid: string | null, line: Passed | undefined): Place | null {
    const before = this.#before.get(uuid)
    return before === undefined ? (line?.head ?? null) : before
  }

  #isLead(line: Line): boolean {
    this.#leads ??= leadsIn(this.#lines)
    return this.#leads.has(line)
  }

  /** The latest line of a name. */
  #above(parent: string | null): Passed | undefined {
    if (parent === null) return undefined
    const passed = this.#passed
    for (let at = passed.length - 1; at >= 0 && at >= passed.length - NEAR; at -= 1)
      if (passed[at]?.uuid === parent) return passed[at]
    for (const line of passed.slice(this.#named)) this.#byName.set(line.uuid, line)
    this.#named = passed.length
    return this.#byName.get(parent)
  }
}

/** What the client has put in front of prompts, what it has executed itself, and what had to wait. O(lines). */
function leadsIn(lines: readonly Line[]): ReadonlySet<Line> {
  const byName = new Map(lines.map((line) => [line.uuid, line]))
  const leads = new Set<Line>()
  for (const line of lines) {
    const { parent, isTyped, isLocal, type } = line
    let above = parent === null ? undefined : byName.get(parent)
    if (type === 'assistant' && above !== undefined && isQueued(above)) leads.add(above)
    if (isLocal) leads.add(line)
    if (!isTyped && !isLocal) continue
    for (; above !== undefined && isPutIn(above) && !leads.has(above); above = byName.get(above.parent ?? ''))
      leads.add(above)
  }
  return leads
}

/** What is no boundary of a compaction, which begins anew what goes on. */
const isPutIn = ({ type, found, isLocal }: Line): boolean =>
  isLocal ||
  type === 'attachment' ||
  type === 'progress' ||
  (type === 'system' && found['subtype'] !== 'compact_boundary') ||
  (type === 'user' && found['isMeta'] === true)

const isQueued = ({ type, found }: Line): boolean =>
  type === 'attachment' && objectOf(found['attachment'])['type'] === 'queued_command'

interface Block {
  readonly block: Found
  readonly origin: Origin
}

/** Adds a reply from all its lines. O(size). */
export function addReply(
  id: string,
  lines: readonly Line[],
  writer: SessionWriter,
  hasResult: HasResult,
): void {
  const blocks = replyBlocks(lines, writer)
  const last = lines.at(-1)?.message
  const first = lines[0]?.record.line ?? 0
  if (blocks.length === 0) return writer.note('replies without content', first)
  const calls: Origin[] = []
  for (const { block, origin } of blocks) if (block['type'] === 'tool_use') calls.push(origin)
  const stop = lines.findLast(({ message }) => stringOf(message['stop_reason']) !== '')
  const reply = fromAnthropic({
    ...last,
    id,
    content: blocks.map(({ block }) => block),
    // Older versions write it on the last line alone, and none where the reply was stopped.
    stop_reason: stop?.message['stop_reason'] ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
  } as Parameters<typeof fromAnthropic>[0])
  writer.reply(reply, calls.length > 0 ? calls : blocks.map(({ origin }) => origin), hasResult)
}

/** The blocks in their order, each once: a reply that is written anew has other lines, and the same blocks. */
function replyBlocks(lines: readonly Line[], writer: SessionWriter): Block[] {
  const blocks: Block[] = []
  for (const { record, uuid, time, blocks: all } of lines) {
    for (let at = 0; at < all.length; at += 1) {
      const block = all[at] ?? {}
      const id = uuid === null || at === 0 ? uuid : `${uuid}.${at}`
      blocks.push({ block, origin: { line: record.line, id, time } })
    }
  }
  if (blocks.length < 2) return blocks
  const sizes = new Set<string | number>()
  for (const { block } of blocks) sizes.add(sizeOf(block))
  if (sizes.size === blocks.length) return blocks
  // Only where two are as long as each other, their words are looked at.
  const seen = new Set<string>()
  return blocks.filter(({ block, origin }) => {
    const key = keyOf(block)
    if (seen.has(key)) writer.note('written twice: a block of a reply', origin.line)
    else return seen.add(key)
    return false
  })
}

/** Two blocks that are one have it in common, and few others do. */
function sizeOf({ type, id, text, thinking }: Found): string | number {
  if (type === 'tool_use') return stringOf(id)
  const words = type === 'text' ? text : type === 'thinking' ? thinking : undefined
  return typeof words === 'string' ? words.length : ''
}

/** Two blocks of one reply that have it in common are one. Thinking without words differs by its signature. */
function keyOf(block: Found): string {
  const { type, id, text, thinking, signature } = block
  if (type === 'tool_use') return `call ${stringOf(id)}`
  if (type === 'thinking' && typeof thinking === 'string')
    return `thinking ${JSON.stringify(signature ?? '')} ${thinking}`
  return type === 'text' && typeof text === 'string' ? `text ${text}` : JSON.stringify(block)
}

const isHook = (name: string): name is HookEventType => HOOK_EVENT_TYPES.some((type) => type === name)

/** Adds what an attachment says. What says nothing that an event has a place for is kept beside the conversation. */
export function addAttachment({ record, found }: Line, writer: SessionWriter, origin: Origin): void {
  const attachment = objectOf(found['attachment'])
  const type = stringOf(attachment['type'])
  const hook = stringOf(attachment['hookEvent'])
  const { prompt, exitCode } = attachment
  const before = writer.head
  if (type === 'queued_command' && contentOf(prompt).length > 0) {
    writer.say('user', contentOf(prompt), origin)
  } else if (type === 'hook_success' && isHook(hook) && Number.isSafeInteger(exitCode)) {
    writer.add(
      {
        kind: 'HookExecutionEvent',
        source: 'hook',
        hook_event_type: hook,
        hook_command: stringOf(attachment['command']) || stringOf(attachment['hookName']),
        success: exitCode === 0,
        exit_code: exitCode as number,
        stdout: stringOf(attachment['stdout']),
        stderr: stringOf(attachment['stderr']),
      },
      origin,
    )
  } else {
    const { line, id, time } = origin
    writer.update(`claude-code.${type || 'attachment'}`, record.value as JsonValue, { line, id, time })
  }
  if (type === 'queued_command') return
  const words = contentOf(wordsOf(found, attachment))
  if (words.length === 0) return
  // Behind the execution of a hook, which stands in its place, it follows that.
  const id = `${origin.id ?? `line-${origin.line}`}.said`
  const { after: _, ...next } = origin
  writer.say('environment', words, writer.head === before ? { ...origin, id } : { ...next, id })
}

/** The events of hooks whose output models read. */
const READ: ReadonlySet<string> = new Set(['SessionStart', 'UserPromptSubmit', 'UserPromptExpansion'])

/** What was sent to the model for an attachment: newer versions say it, older ones what it was made of. */
function wordsOf(found: Found, { type, hookEvent, hookName, content }: Found): string[] {
  const rendered = objectsOf(found['rendered'])
  if (rendered.length > 0) return rendered.map((one) => textIn(one['content'])).filter((text) => text !== '')
  const hook = stringOf(hookName) || stringOf(hookEvent)
  if (type === 'hook_additional_context') {
    const text = (Array.isArray(content) ? content : [content]).map(stringOf).join('\n')
    return text.trim() === '' ? [] : [`${hook} hook additional context: ${text}`]
  }
  const isRead = type === 'hook_success' && READ.has(stringOf(hookEvent)) && stringOf(content) !== ''
  return isRead ? [`${hook} hook success: ${stringOf(content)}`] : []
}

/**
 * Adds the summary behind a boundary, null where none stands in front of it. What was kept follows the summary, or
 * stands before it where it hangs on the boundary itself. Returns the last line that was kept, null where none was.
 * O(events in sight + messages kept).
 */
export function addSummary(
  line: Line,
  boundary: Line | null,
  lines: () => ReadonlyMap<string, Line>,
  writer: SessionWriter,
  origin: Origin,
): string | null {
  const { preservedMessages, preservedSegment } = objectOf(boundary?.found['compactMetadata'])
  const named = objectOf(preservedMessages ?? preservedSegment)
  const isKept = keptBy(named, lines)
  const sight = isKept === null ? [] : writer.inSight()
  const kept = isKept === null ? new Set<string>() : wholeReplies(sight, isKept)
  const isBefore = (boundary?.uuid ?? null) !== null && named['anchorUuid'] === boundary?.uuid
  writer.condense(kept, textIn(line.message['content']), origin, isBefore ? 'end' : 'front')
  const { uuids, tailUuid } = named
  const tail: unknown = Array.isArray(uuids) ? uuids.at(-1) : tailUuid
  return isKept === null ? null : stringOf(tail) || null
}

/** Which lines were kept, by their numbers; null where none was. */
function keptBy(named: Found, lines: () => ReadonlyMap<string, Line>): ((line: number) => boolean) | null {
  const { uuids, headUuid, tailUuid } = named
  const numberOf = (uuid: unknown): number | undefined => lines().get(stringOf(uuid))?.record.line
  if (Array.isArray(uuids)) {
    const numbers = new Set(uuids.map(numberOf))
    return (line) => numbers.has(line)
  }
  if (stringOf(headUuid) === '') return null
  const [head, tail] = [numberOf(headUuid), numberOf(tailUuid)]
  return head === undefined || tail === undefined ? null : (line) => head <= line && line <= tail
}

/** The events that were kept: of a reply of which a call was, all calls and their results. */
function wholeReplies(sight: readonly Place[], isKept: (line: number) => boolean): ReadonlySet<string> {
  const kept = new Set<string>()
  const replies = new Set<string>()
  const calls = new Set<string>()
  for (const { id, line, event } of sight) {
    if (!isKept(line)) continue
    kept.add(id)
    if (event?.kind === 'ActionEvent') replies.add(event.llm_response_id)
  }
  for (const { id, event } of sight) {
    if (event?.kind === 'ActionEvent' && replies.has(event.llm_response_id)) {
      calls.add(event.tool_call_id)
      kept.add(id)
    } else if (event !== null && isToolResult(event) && calls.has(event.tool_call_id)) kept.add(id)
  }
  return kept
}
