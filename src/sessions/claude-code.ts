/** Reads sessions of Claude Code 1.0 to 2.1: trees of JSON lines, in a format that is not published. */

import { isToolResult } from '../event/kinds.ts'
import { type Content, HOOK_EVENT_TYPES, type JsonValue } from '../event/shapes.ts'
import type { HookEventType } from '../event/types.ts'
import { fromAnthropic } from '../messages/anthropic/read.ts'
import { laterUsage } from '../messages/reply-usage.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { listOfBlocks, contentOf, instantIn, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import type { HasResult, Origin, Place } from './writer.ts'
import { resultsOnDemand, TOOL_METADATA, SessionWriter } from './writer.ts'

/** Reads a session. The side chains in its file are conversations of subagents, and become its children. */
export function readClaudeCode(records: readonly SessionRecord[]): Session {
  const { lines, chains, hasResult, repeated } = indexLines(records)
  const names = chains.map((chain, index) => agentIn(chain) ?? `side-${index + 1}`)
  const known = new SubagentCalls()
  for (const line of lines) known.add(line)
  for (const [index, chain] of chains.entries())
    for (const line of chain) known.addSide(names[index] ?? '', line)
  const calls = known.find()
  const main = readLines(lines, hasResult, null, calls, repeated)
  const callOf = new Map([...calls].map(([callId, agent]) => [agent, callId]))
  const children = chains.map((chain, index): Session => {
    const name = names[index] ?? ''
    const actionId = main.writer.actionOf(callOf.get(name) ?? '')
    const { session } = readLines(chain, hasResult, name, new Map())
    return { ...session, parentId: main.session.id, subagent: { actionId, depth: 1 } }
  })
  return { ...main.session, children }
}

/** Finds the subagent that a call started: by the call's result or, in older versions, by the call's prompt. */
export class SubagentCalls {
  readonly #calls = new Map<string, string>()
  readonly #prompts = new Map<string, string[]>()
  readonly #firstMessages = new Map<string, string>()

  add({ fields, blocks }: Line): void {
    const agent = stringOf(objectOf(fields['toolUseResult'])['agentId'])
    for (const block of blocks) {
      if (isResultBlock(block) && agent !== '') this.#calls.set(stringOf(block['tool_use_id']), agent)
      const prompt = stringOf(objectOf(block['input'])['prompt'])
      if (block['type'] !== 'tool_use' || prompt === '') continue
      const ids = this.#prompts.get(prompt)
      if (ids === undefined) this.#prompts.set(prompt, [stringOf(block['id'])])
      else ids.push(stringOf(block['id']))
    }
  }

  addSide(name: string, { type, message }: Line): void {
    if (type === 'user' && !this.#firstMessages.has(name))
      this.#firstMessages.set(name, textIn(message['content']))
  }

  /** Returns a map from each call that started a subagent to the name of this subagent. */
  find(): ReadonlyMap<string, string> {
    const calls = new Map(this.#calls)
    const known = new Set(calls.values())
    for (const [name, message] of this.#firstMessages) {
      if (known.has(name)) continue
      const callId = this.#prompts.get(message)?.find((id) => !calls.has(id))
      if (callId !== undefined) calls.set(callId, name)
    }
    return calls
  }
}

const subagentId = (session: string | null, agent: string): string =>
  session === null ? agent : `${session}-${agent}`

function readLines(
  lines: readonly Line[],
  hasResult: HasResult,
  name: string | null,
  calls: ReadonlyMap<string, string>,
  repeated: readonly number[] = [],
): { readonly session: Session; readonly writer: SessionWriter } {
  const writer = new SessionWriter(hasResult)
  const source = lines.find(({ fields }) => typeof fields['sessionId'] === 'string')?.fields ?? {}
  const session = stringOf(source['sessionId']) || null
  const chain: Chain = {
    writer,
    childOf: (callId) => {
      const agent = calls.get(callId)
      return agent === undefined ? undefined : subagentId(session, agent)
    },
    turns: new Turns(writer, lines),
    replies: repliesOf(lines),
    titles: [],
    named: namedLater(lines),
    boundary: null,
  }
  for (const line of lines) {
    chain.turns.resume(line, { ...originOf(line), id: null })
    readLine(line, chain)
    chain.turns.finish(line)
  }
  for (const number of repeated) writer.note('written twice: a line', number)
  const copied = lines.find(({ fields }) => 'forkedFrom' in fields)?.fields['forkedFrom']
  // A file of a subagent contains its parent's session id, and its own agent id.
  const agent = isSubagent(lines) ? (agentIn(lines) ?? name) : null
  return {
    writer,
    session: {
      ...writer.session('claude-code'),
      id: agent === null ? session : subagentId(session, agent),
      title: chain.titles.at(-1) ?? null,
      parentId: agent === null ? stringOf(objectOf(copied)['sessionId']) || null : session,
      createdAt: instantIn(lines.find(({ time }) => instantIn(time) !== null)?.time),
      subagent: agent === null ? null : { actionId: null, depth: 1 },
    },
  }
}

const isSubagent = (lines: readonly Line[]): boolean =>
  lines.some(({ isSide }) => isSide) && lines.every(({ isSide, uuid }) => isSide || uuid === null)

const agentIn = (lines: readonly Line[]): string | null =>
  stringOf(lines.find(({ fields }) => stringOf(fields['agentId']) !== '')?.fields['agentId']) || null

export interface Chain {
  readonly writer: SessionWriter
  readonly childOf: (callId: string) => string | undefined
  readonly turns: Turns
  readonly replies: ReadonlyMap<Line, SplitReply>
  readonly titles: string[]
  readonly named: () => ReadonlyMap<string, Line>
  boundary: Line | null
}

/** Returns a function that returns a map from ids to lines. The first call builds it; most files do not need it. */
function namedLater(lines: readonly Line[]): Chain['named'] {
  let named: Map<string, Line> | null = null
  return () => (named ??= new Map(lines.map((line) => [line.uuid ?? '', line])))
}

export interface SplitReply {
  readonly id: string
  readonly request: string
  readonly lines: Line[]
  isWritten: boolean
}

interface RepliesOfId {
  count: number
  last: SplitReply | undefined
  readonly byRequest: Map<string, SplitReply>
}

/**
 * Returns the reply of each line. Some servers use one id for all replies. So a line with the same reply id
 * starts another reply if its request id differs. A line without a request id starts another reply if the
 * line's parent is a result. Results may be between the lines of one request.
 */
function repliesOf(lines: readonly Line[]): Map<Line, SplitReply> {
  const replies = new Map<Line, SplitReply>()
  const named = new Map<string, RepliesOfId>()
  const results = new Set<string>()
  for (const line of lines) {
    if (line.reply === null) {
      if (line.uuid !== null && line.blocks.some(isResultBlock)) results.add(line.uuid)
      continue
    }
    const request = stringOf(line.fields['requestId'])
    const known = named.get(line.reply) ?? { count: 0, last: undefined, byRequest: new Map() }
    const isOther = results.has(line.parent ?? '')
    const unnamed = request === '' ? known.last : known.byRequest.get('')
    const ofRequest = request === '' ? undefined : known.byRequest.get(request)
    let reply = ofRequest ?? (isOther ? undefined : unnamed)
    if (reply === undefined) {
      known.count += 1
      const id = known.count === 1 ? line.reply : `${line.reply}~${known.count}`
      reply = { id, request, lines: [], isWritten: false }
      known.last = reply
      known.byRequest.set(request, reply)
      named.set(line.reply, known)
    }
    reply.lines.push(line)
    replies.set(line, reply)
  }
  return replies
}

// oxfmt-ignore
const OUTSIDE: ReadonlySet<string> = new Set([
  'progress', 'summary', 'last-prompt', 'mode', 'permission-mode', 'ai-title', 'custom-title', 'agent-name', 'agent-color',
  'agent-setting', 'pr-link', 'tag', 'queue-operation', 'file-history-snapshot', 'file-history-delta', 'frame-link',
  'atis-latch', 'bridge-session', 'cost-state', 'worktree-state', 'relocated', 'fork-context-ref', 'content-replacement',
  'task-summary', 'artifact-comment-monitor', 'artifact-autoreact-ledger', 'attribution-snapshot', 'continued-in',
  'ended-by-model', 'history-suppression', 'isolation-latch', 'observer-ref', 'speculation-accept', 'marble-origami-commit',
  'marble-origami-reset', 'marble-origami-snapshot',
])

export function readLine(line: Line, chain: Chain): void {
  const { writer, replies } = chain
  const { record, fields, type } = line
  if (type === null)
    return writer.keep(record, record.value === undefined ? 'invalid JSON' : 'not a record of a session')
  const origin = originOf(line)
  switch (type) {
    case 'user':
      return readUser(line, chain)
    case 'assistant': {
      if (line.reply === null) return writer.failure('api_error', textIn(line.message['content']), origin)
      const reply = replies.get(line)
      if (reply === undefined || reply.isWritten) return
      reply.isWritten = true
      return addReply(reply.id, reply.lines, writer)
    }
    case 'system': {
      const position = chain.turns.originOf(line, origin)
      if (fields['subtype'] === 'api_error') return readApiError(line, writer, position)
      if (fields['subtype'] === 'compact_boundary') chain.boundary = line
      return writer.update(
        `claude-code.${stringOf(fields['subtype']) || 'system'}`,
        record.value as JsonValue,
        origin,
      )
    }
    case 'attachment':
      return addAttachment(line, writer, chain.turns.originOf(line, origin))
    default:
      if (!OUTSIDE.has(type)) return writer.keep(record, `unknown record type "${type}"`)
      if (type === 'progress') chain.turns.originOf(line, origin)
      if (type === 'summary') chain.titles.push(stringOf(fields['summary']))
      if (type === 'ai-title') chain.titles.push(stringOf(fields['aiTitle']) || stringOf(fields['title']))
      if (type === 'custom-title') chain.titles.push(stringOf(fields['customTitle']))
      writer.update(`claude-code.${type}`, record.value as JsonValue, origin)
      if (type === 'last-prompt') chain.turns.end(stringOf(fields['leafUuid']), { ...origin, id: null })
  }
}

export const originOf = ({ record, uuid, time }: Line): Origin => ({ line: record.line, id: uuid, time })

const INTERRUPTED = /^\[Request interrupted by user[^\]]*\]$/

const REJECTED = "The user doesn't want to proceed with this tool use"

const FAILED = /^<tool_use_error>([\s\S]*?)(?:<\/tool_use_error>)?$/

function readUser(line: Line, chain: Chain): void {
  const { writer, turns } = chain
  const { fields, blocks } = line
  const origin = originOf(line)
  const { content } = line.message
  if (fields['isCompactSummary'] === true) {
    const tail = addSummary(line, chain.boundary, chain.named, writer, origin)
    if (tail !== null) turns.keep(tail)
    chain.boundary = null
    return
  }
  const results = line.isTyped ? [] : blocks.filter(({ type }) => type === 'tool_result')
  // If `toolUseResult` is a text, it repeats the text of the result.
  if (results.length > 0 && objectOf(fields['toolUseResult']) === fields['toolUseResult'])
    writer.note(TOOL_METADATA, origin.line)
  for (const [index, block] of results.entries()) {
    const position =
      index === 0 ? origin : { ...origin, id: `${origin.id ?? `line-${origin.line}`}.${index}` }
    const callId = stringOf(block['tool_use_id'])
    const isError = block['is_error'] === true
    const errorText = isError ? textIn(block['content']) : ''
    const failed = isError ? FAILED.exec(errorText) : null
    if (isError && errorText.startsWith(REJECTED)) writer.reject(callId, errorText, position)
    else if (failed !== null && writer.hasCall(callId)) writer.fail(callId, failed[1] ?? errorText, position)
    else {
      const child = chain.childOf(callId)
      writer.result({ callId, content: contentOf(block['content']), isError, child }, position)
    }
  }
  if (results.length > 0 && results.length === blocks.length) return
  const rest = results.length === 0 ? content : blocks.filter(({ type }) => type !== 'tool_result')
  const position =
    results.length === 0 ? origin : { ...origin, id: `${origin.id ?? `line-${origin.line}`}.text` }
  const others = contentOf(rest)
  const typed = others.filter((part) => !isInterruption(part))
  const isUsers = results.length > 0 || (line.isTyped && !isNotice(fields, content))
  const source = isUsers ? 'user' : 'environment'
  if (typed.length === others.length) {
    if (results.length === 0 || others.length > 0) writer.say(source, others, turns.originOf(line, position))
    return
  }
  // Text next to an interruption is a prompt, so the interruption is placed like a prompt.
  const interruption = typed.length === 0 ? position : turns.originOf(line, position)
  writer.add({ kind: 'InterruptEvent', source: 'user' }, interruption)
  const { line: number, id, time } = position
  if (typed.length > 0)
    writer.say(source, typed, { line: number, id: `${id ?? `line-${number}`}.said`, time })
}

const NOTICE = /^\s*<(?:task-notification|teammate-message|cross-session-message)\b/
const NOTICE_KINDS: ReadonlySet<unknown> = new Set(['task-notification', 'coordinator', 'peer'])

const isNotice = ({ origin, commandMode }: RawObject, content: unknown): boolean =>
  NOTICE_KINDS.has(objectOf(origin)['kind'] ?? commandMode) || NOTICE.test(textIn(content))

const isInterruption = (part: Content): boolean =>
  part.type === 'text' && INTERRUPTED.test(stringOf(part['text']).trim())

function readApiError({ fields }: Line, writer: SessionWriter, position: Origin): void {
  const error = objectOf(fields['error'])
  const detail = stringOf(error['message']) || JSON.stringify(fields['error'] ?? null)
  writer.failure('api_error', detail, position)
}

export interface Line {
  readonly record: SessionRecord
  readonly fields: RawObject
  /** Type of the record; null if it is not part of a session. */
  readonly type: string | null
  readonly uuid: string | null
  readonly parent: string | null
  readonly time: string | null
  readonly message: RawObject
  readonly reply: string | null
  readonly blocks: readonly RawObject[]
  readonly isSide: boolean
  /** Whether the line is a command that the client executed without the model, such as `/exit` or `!ls`. */
  readonly isLocal: boolean
  /** Whether the user typed the line for the model. False for results, and for text that the client inserted. */
  readonly isTyped: boolean
}

/** Separates side chains from the main lines. A file that contains only side chains is one session. */
function indexLines(records: readonly SessionRecord[]) {
  const lines: Line[] = []
  /** Line numbers of repeated lines. Some versions write the whole session again before a compaction. */
  const repeated: number[] = []
  const named = new Map<string, Line>()
  for (const record of records)
    for (const each of unwrap(record)) {
      const line = asLine(each)
      const first = line.uuid === null ? undefined : named.get(line.uuid)
      if (first !== undefined && isRepeatedLine(first, line)) {
        repeated.push(each.line)
        continue
      }
      if (line.uuid !== null && first === undefined) named.set(line.uuid, line)
      lines.push(line)
    }
  const hasResult = resultsIn(lines)
  if (lines.every(({ isSide, uuid }) => isSide || uuid === null))
    return { lines, chains: [], hasResult, repeated }
  const chains = Map.groupBy(
    lines.filter(({ isSide }) => isSide),
    sideRoots(),
  )
  return { lines: lines.filter(({ isSide }) => !isSide), chains: [...chains.values()], hasResult, repeated }
}

export function sideRoots(): (line: Line) => string {
  const roots = new Map<string, string>()
  return ({ uuid, parent, fields }) => {
    const agent = stringOf(fields['agentId'])
    const root = agent || (parent === null ? undefined : roots.get(parent)) || uuid || 'side'
    if (uuid !== null) roots.set(uuid, root)
    return root
  }
}

const isRepeatedLine = (one: Line, other: Line): boolean =>
  one.time !== null && one.time === other.time && contentIn(one) === contentIn(other)

const contentIn = ({ type, parent, fields }: Line): string =>
  JSON.stringify([type, parent, fields['subtype'], fields['message'], fields['attachment']])

/** Returns the lines of a record. A session from the web is a single record, which contains all lines. */
function unwrap(record: SessionRecord): readonly SessionRecord[] {
  const { loglines } = objectOf(record.value)
  if (!Array.isArray(loglines)) return [record]
  return loglines.map((value: JsonValue, index) => ({ line: index + 1, raw: JSON.stringify(value), value }))
}

const resultsIn = (lines: readonly Line[]): HasResult =>
  resultsOnDemand(() =>
    lines.flatMap(({ blocks }) =>
      blocks.filter(isResultBlock).map((block) => stringOf(block['tool_use_id'])),
    ),
  )

const isResultBlock = ({ type }: RawObject): boolean => type === 'tool_result'

/** Matches a command that the client executes. A command for the model begins with `<command-message>`. */
const LOCAL = /^\s*<(?:command-name|local-command-\w+|bash-(?:input|stdout|stderr))>/

export function asLine(record: SessionRecord): Line {
  const fields = objectOf(record.value)
  const type = stringOf(fields['type']) || null
  const message = objectOf(fields['message'])
  const blocks = listOfBlocks(message['content'], 'text')
  const isLocal = type === 'user' && LOCAL.test(textIn(message['content']))
  const isFailure = fields['isApiErrorMessage'] === true
  return {
    record,
    fields,
    type,
    uuid: stringOf(fields['uuid']) || null,
    parent: stringOf(fields['parentUuid']) || null,
    time: stringOf(fields['timestamp']) || null,
    reply: type === 'assistant' && !isFailure ? stringOf(message['id']) || `reply-${record.line}` : null,
    message,
    blocks,
    isSide: fields['isSidechain'] === true,
    isLocal,
    isTyped:
      type === 'user' &&
      !isLocal &&
      fields['isMeta'] !== true &&
      fields['isCompactSummary'] !== true &&
      fields['isVisibleInTranscriptOnly'] !== true &&
      !blocks.some(isResultBlock),
  }
}

interface Passed {
  readonly prompt: string | null
  readonly head: Place | null
}

/** Finds the branches of a session from its lines, which must be passed in order. Each method is O(1), amortised. */
export class Turns {
  readonly #writer: SessionWriter
  readonly #passed = new Map<string, Passed>()
  readonly #headBefore = new Map<string | null, Place | null>()
  #prompt: string | null = null
  /** The prompt and HEAD as they were before `end` moved HEAD. The next line resets them to null. */
  #abandoned: { readonly prompt: string | null; readonly head: Place | null } | null = null
  readonly #lines: readonly Line[]
  #leads: ReadonlySet<Line> | null = null
  #led: { readonly uuid: string; readonly head: Place | null; readonly to: Place | null } | null = null

  constructor(writer: SessionWriter, lines: readonly Line[]) {
    this.#writer = writer
    this.#lines = lines
  }

  addLines(): void {
    this.#leads = null
  }

  /** Returns the origin of a line's event. If the line starts a branch, the event follows the parent line's event. */
  originOf(line: Line, origin: Origin): Origin {
    const { uuid, parent, isTyped } = line
    if (uuid === null) return origin
    const above = this.#above(parent)
    const isBranch =
      parent === null ? this.#headBefore.has(null) : above !== undefined && above.prompt !== this.#prompt
    if (!isTyped && !(isBranch && this.#isLead(line))) return origin
    if (isTyped) this.#prompt = uuid
    if (!isBranch) {
      if (!this.#headBefore.has(parent)) this.#headBefore.set(parent, this.#writer.head)
      return origin
    }
    const parentEvent = this.#headAfterLine(parent, above)
    this.#led = { uuid, head: this.#writer.head, to: parentEvent }
    return { ...origin, after: parentEvent }
  }

  /**
   * Ends the session at the line `leaf`, as the client did. If this line is not under the current prompt, moves HEAD
   * to the line's event. If the next line continues the abandoned branch, `resume` moves HEAD back.
   */
  end(leaf: string, origin: Origin): void {
    const above = this.#above(leaf)
    if (above === undefined || above.prompt === this.#prompt) return
    this.#abandoned = { prompt: this.#prompt, head: this.#writer.head }
    this.#prompt = above.prompt
    this.#writer.goBack(this.#headAfterLine(leaf, above), origin)
  }

  resume({ uuid, parent, isTyped }: Line, origin: Origin): void {
    if (this.#abandoned === null || uuid === null) return
    const abandoned = this.#abandoned
    this.#abandoned = null
    if (isTyped || this.#above(parent)?.prompt !== abandoned.prompt) return
    this.#prompt = abandoned.prompt
    this.#writer.goBack(abandoned.head, origin)
  }

  finish({ uuid, parent }: Line): void {
    if (uuid === null) return
    // The next line without a parent starts at the root again.
    if (parent === null && !this.#headBefore.has(null)) this.#headBefore.set(null, null)
    const above = this.#above(parent)
    const { head } = this.#writer
    const isLed = this.#led?.uuid === uuid
    // If a line without a parent starts a branch, the line is not under a prompt.
    const before = parent === null && isLed ? null : this.#prompt
    const prompt = uuid === this.#prompt ? uuid : above === undefined ? before : above.prompt
    const headAfter = isLed && this.#led?.head === head ? this.#led.to : head
    this.#passed.set(uuid, { prompt, head: headAfter })
  }

  /** Makes the children of `tail` follow the summary. `tail` is the last line that a compaction kept. */
  keep(tail: string): void {
    this.#headBefore.set(tail, this.#writer.head)
  }

  #headAfterLine(uuid: string | null, line: Passed | undefined): Place | null {
    const before = this.#headBefore.get(uuid)
    return before === undefined ? (line?.head ?? null) : before
  }

  #isLead(line: Line): boolean {
    this.#leads ??= leadsIn(this.#lines)
    return this.#leads.has(line)
  }

  #above(parent: string | null): Passed | undefined {
    return parent === null ? undefined : this.#passed.get(parent)
  }
}

/** Returns queued prompts, commands that the client executed, and lines that the client inserted before prompts. */
function leadsIn(lines: readonly Line[]): ReadonlySet<Line> {
  const byName = new Map(lines.map((line) => [line.uuid, line]))
  const leads = new Set<Line>()
  for (const line of lines) {
    const { parent, isTyped, isLocal, type } = line
    let above = parent === null ? undefined : byName.get(parent)
    if (type === 'assistant' && above !== undefined && isQueued(above)) leads.add(above)
    if (isLocal) leads.add(line)
    if (!isTyped && !isLocal) continue
    for (
      ;
      above !== undefined && isInserted(above) && !leads.has(above);
      above = byName.get(above.parent ?? '')
    )
      leads.add(above)
  }
  return leads
}

/** Whether the client inserted a line. False for a compaction's boundary, which starts a new history. */
const isInserted = ({ type, fields, isLocal }: Line): boolean =>
  isLocal ||
  type === 'attachment' ||
  type === 'progress' ||
  (type === 'system' && fields['subtype'] !== 'compact_boundary') ||
  (type === 'user' && fields['isMeta'] === true)

const isQueued = ({ type, fields }: Line): boolean =>
  type === 'attachment' && objectOf(fields['attachment'])['type'] === 'queued_command'

interface ReplyBlock {
  readonly block: RawObject
  readonly origin: Origin
}

function addReply(id: string, lines: readonly Line[], writer: SessionWriter): void {
  const blocks = replyBlocks(lines, writer)
  const usage = lines.reduce((sum, { message }) => laterUsage(sum, message['usage']), {})
  // The file of the session that was forked has the tokens of copied replies.
  const isCopied = Object.keys(usage).length > 0 && lines.some(({ fields }) => 'forkedFrom' in fields)
  const first = lines[0]?.record.line ?? 0
  if (blocks.length === 0) return writer.note('replies without content', first)
  const calls = blocks.flatMap(({ block, origin }) => (block['type'] === 'tool_use' ? [origin] : []))
  const stop = lines.findLast(({ message }) => stringOf(message['stop_reason']) !== '')
  const reply = fromAnthropic({
    ...lines.at(-1)?.message,
    usage: isCopied ? undefined : usage,
    id,
    content: blocks.map(({ block }) => block),
    // Older versions write the stop reason only on the last line, and not at all for a stopped reply.
    stop_reason: stop?.message['stop_reason'] ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
  } as Parameters<typeof fromAnthropic>[0])
  if (isCopied) writer.note('tokens of a copied reply', first)
  writer.reply(reply, calls.length > 0 ? calls : blocks.map(({ origin }) => origin))
}

/** Returns the blocks of a reply in order, each once, because a rewritten reply repeats its blocks. */
function replyBlocks(lines: readonly Line[], writer: SessionWriter): ReplyBlock[] {
  const blocks = lines.flatMap(({ record, uuid, time, blocks: all }) =>
    all.map((block, index) => {
      const id = uuid === null || index === 0 ? uuid : `${uuid}.${index}`
      return { block, origin: { line: record.line, id, time } }
    }),
  )
  if (blocks.length < 2) return blocks
  const sizes = new Set(blocks.map(({ block }) => blockSize(block)))
  if (sizes.size === blocks.length) return blocks
  // Compare the texts of blocks only if the blocks have equal sizes.
  const seen = new Set<string>()
  return blocks.filter(({ block, origin }) => {
    const key = blockKey(block)
    if (seen.has(key)) writer.note('written twice: a block of a reply', origin.line)
    else return seen.add(key)
    return false
  })
}

/** Returns a cheap key. Equal blocks have equal keys; different blocks rarely have equal keys. */
function blockSize({ type, id, text, thinking }: RawObject): string | number {
  if (type === 'tool_use') return stringOf(id)
  const content = type === 'text' ? text : type === 'thinking' ? thinking : undefined
  return typeof content === 'string' ? content.length : ''
}

/** Returns an exact key: only equal blocks have equal keys. The key of thinking includes its signature. */
function blockKey(block: RawObject): string {
  const { type, id, text, thinking, signature } = block
  if (type === 'tool_use') return `call ${stringOf(id)}`
  if (type === 'thinking' && typeof thinking === 'string')
    return `thinking ${JSON.stringify(signature ?? '')} ${thinking}`
  return type === 'text' && typeof text === 'string' ? `text ${text}` : JSON.stringify(block)
}

const isHook = (name: string): name is HookEventType => HOOK_EVENT_TYPES.some((type) => type === name)

function addAttachment({ record, fields }: Line, writer: SessionWriter, origin: Origin): void {
  const attachment = objectOf(fields['attachment'])
  const type = stringOf(attachment['type'])
  const hook = stringOf(attachment['hookEvent'])
  const { prompt, exitCode } = attachment
  const before = writer.head
  if (type === 'queued_command' && contentOf(prompt).length > 0) {
    writer.say(isNotice(attachment, prompt) ? 'environment' : 'user', contentOf(prompt), origin)
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
  const text = contentOf(attachmentText(fields, attachment))
  if (text.length === 0) return
  // If the hook became an event, the text follows this event.
  const id = `${origin.id ?? `line-${origin.line}`}.said`
  const { after: _, ...next } = origin
  writer.say('environment', text, writer.head === before ? { ...origin, id } : { ...next, id })
}

const READ: ReadonlySet<string> = new Set(['SessionStart', 'UserPromptSubmit', 'UserPromptExpansion'])

/** Returns the attachment's text for the model. Older clients record only parts, from which the text is built. */
function attachmentText(fields: RawObject, { type, hookEvent, hookName, content }: RawObject): string[] {
  const rendered = objectsOf(fields['rendered'])
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
 * Adds a summary. `boundary` is the earlier line that started the compaction, or null. If the compaction's
 * `anchorUuid` names the boundary, the kept messages precede the summary. Otherwise, they follow the summary.
 * Returns the id of the last kept line, or null if none was kept.
 */
function addSummary(
  line: Line,
  boundary: Line | null,
  lines: () => ReadonlyMap<string, Line>,
  writer: SessionWriter,
  origin: Origin,
): string | null {
  const { preservedMessages, preservedSegment } = objectOf(boundary?.fields['compactMetadata'])
  const named = objectOf(preservedMessages ?? preservedSegment)
  const isKeptLine = keptBy(named, lines)
  const sight = isKeptLine === null ? [] : writer.inSight()
  const stored = isKeptLine === null ? new Set<string>() : wholeReplies(sight, isKeptLine)
  const isBefore = (boundary?.uuid ?? null) !== null && named['anchorUuid'] === boundary?.uuid
  writer.condense(stored, textIn(line.message['content']), origin, isBefore ? 'end' : 'front')
  const { uuids, tailUuid } = named
  const tail: unknown = Array.isArray(uuids) ? uuids.at(-1) : tailUuid
  return isKeptLine === null ? null : stringOf(tail) || null
}

function keptBy(
  named: RawObject,
  lines: () => ReadonlyMap<string, Line>,
): ((line: number) => boolean) | null {
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

/** Returns the ids of the kept events. If a call is kept, all calls of its reply are kept, with their results. */
function wholeReplies(sight: readonly Place[], isKept: (line: number) => boolean): ReadonlySet<string> {
  const stored = new Set<string>()
  const replies = new Set<string>()
  const calls = new Set<string>()
  for (const { id, line, event } of sight) {
    if (!isKept(line)) continue
    stored.add(id)
    if (event?.kind === 'ActionEvent') replies.add(event.llm_response_id)
  }
  for (const { id, event } of sight) {
    if (event?.kind === 'ActionEvent' && replies.has(event.llm_response_id)) {
      calls.add(event.tool_call_id)
      stored.add(id)
    } else if (event !== null && isToolResult(event) && calls.has(event.tool_call_id)) stored.add(id)
  }
  return stored
}
