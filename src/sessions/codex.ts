/** Reads Codex CLI rollouts, versions 0.52 to 0.153. The format is unstable, and lines repeat other lines. */

import type { JsonValue } from '../event/shapes.ts'
import { parseInstant } from '../event/time.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { moreOf } from '../messages/reply.ts'
import { fromOpenAIResponses } from '../messages/openai-responses/read.ts'
import { outputItem } from './arrays.ts'
import { listOfBlocks, contentOf, instantIn, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { type Origin, type Place, SessionWriter } from './writer.ts'

export function readCodex(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const lines = records.map(codexLineOf)
  const metas = lines.filter(({ type }) => type === 'session_meta')
  const { id } = (metas.findLast(isContinuation) ?? metas[0])?.payload ?? {}
  // Each file of a resumed thread has a meta record. The first one describes the thread.
  const own = metas.find(({ payload }) => payload['id'] === id)
  const rollout: Rollout = {
    writer,
    ...indexRollout(lines),
    copiedUntil: copiedUntil(lines, metas, own),
    inEvents: new Map(),
    model: '',
    turns: [],
    firstMeta: metas[0],
  }
  for (const step of stepsOf(lines)) {
    if ('items' in step) readReply(step, rollout)
    else if (step.isCounted) writer.note(`written twice: ${step.line.what}`, step.line.record.line)
    else readLine(step.line, rollout)
  }
  const meta = own?.payload ?? {}
  const { thread_id: base } = objectOf(metas[0]?.payload['history_base'])
  if (base !== undefined) writer.note(`earlier history, in the rollout ${stringOf(base)}`, 1)
  return {
    ...writer.session('codex'),
    id: stringOf(id) || null,
    parentId: parentsOf(meta)[0] ?? null,
    createdAt: instantIn(meta['timestamp']),
    subagent: subagentOf(meta),
  }
}

/**
 * Joins a Codex rollout with the earlier rollout that it continues. Returns the earlier records, up to the
 * position where the thread was resumed or forked, and then `records`. The earlier rollout can continue another
 * one. Line numbers continue across rollouts. Returns `records` if they continue no rollout. O(records).
 * @param find returns the records of a thread's rollout, or null; after null, the history stays incomplete
 * @example
 * const raw = '{"type":"session_meta","payload":{"id":"t1"}}'
 * const records = [{ line: 1, raw, value: JSON.parse(raw) }]
 * (await withCodexHistory(records, async () => null)) === records // true
 */
export async function withCodexHistory(
  records: readonly SessionRecord[],
  find: (threadId: string) => Promise<readonly SessionRecord[] | null>,
): Promise<readonly SessionRecord[]> {
  const seen = new Set<string>()
  const join = async (later: readonly SessionRecord[]): Promise<readonly SessionRecord[]> => {
    const { payload } = objectOf(later[0]?.value)
    const { thread_id: id, end_ordinal_exclusive: end } = objectOf(objectOf(payload)['history_base'])
    if (typeof id !== 'string' || typeof end !== 'number' || seen.has(id)) return later
    seen.add(id)
    const found = await find(id)
    if (found === null) return later
    const base = await join(found)
    const cut = base.findIndex(({ value }) => Number(objectOf(value)['ordinal']) >= end)
    const before = cut === -1 ? base : base.slice(0, cut)
    const offset = before.at(-1)?.line ?? 0
    return [...before, ...later.map((record) => ({ ...record, line: record.line + offset }))]
  }
  return join(records)
}

/** Whether a meta record begins a file that continues another file, whose lines precede it. */
const isContinuation = ({ payload, ordinal }: CodexLine): boolean =>
  objectOf(payload['history_base'])['end_ordinal_exclusive'] === ordinal

function parentsOf(meta: RawObject): readonly string[] {
  const spawn = objectOf(objectOf(objectOf(meta['source'])['subagent'])['thread_spawn'])
  return [spawn['parent_thread_id'], meta['parent_thread_id'], meta['forked_from_id']]
    .map(stringOf)
    .filter(Boolean)
}

function subagentOf(meta: RawObject): Session['subagent'] {
  const subagent = objectOf(meta['source'])['subagent']
  if (subagent === undefined || subagent === null) return null
  const { depth } = objectOf(objectOf(subagent)['thread_spawn'])
  return { actionId: null, depth: typeof depth === 'number' ? Math.max(1, depth) : 1 }
}

interface Rollout extends Readonly<ReturnType<typeof indexRollout>> {
  readonly writer: SessionWriter
  /** Number of texts added from events, by event type and text. A repetition by another event type subtracts 1. */
  readonly inEvents: Map<string, number>
  /** Number of the first line that a fork or subagent did not copy from its parent; 0 if it copied none. */
  readonly copiedUntil: number
  readonly firstMeta: CodexLine | undefined
  model: string
  turns: (Place | null)[]
}

function indexRollout(lines: readonly CodexLine[]) {
  /** Texts that users typed. The client inserted all other messages with the role `user`. */
  const typed = new Set<string>()
  const inItems = new Set<string>()
  const results = new Set<string>()
  const called = new Set<string>()
  const spawned = new Map<string, string>()
  const thoughts = new Set<string>()
  const completed = new Set<string>()
  for (const { type, what, payload } of lines) {
    if (type === 'event_msg' && what === 'user_message') typed.add(stringOf(payload['message']))
    // Since version 0.148, only this event has the user's text.
    if (type === 'event_msg' && isUserItem(payload)) typed.add(itemText(payload))
    if (what === 'item_completed') completed.add(stringOf(objectOf(payload['item'])['id']))
    if (what === 'collab_agent_spawn_end')
      spawned.set(stringOf(payload['call_id']), stringOf(payload['new_thread_id']))
    if (type !== 'response_item') continue
    if (what === 'message') {
      inItems.add(textWithoutImageTags(payload['content']))
      for (const { text } of objectsOf(payload['content'])) inItems.add(stringOf(text))
    } else if (what.endsWith('_output')) results.add(stringOf(payload['call_id']))
    else if (what === 'reasoning')
      for (const list of [payload['summary'], payload['content']])
        for (const { text } of objectsOf(list)) thoughts.add(stringOf(text))
    else if (what.endsWith('_call')) for (const sign of signsOf(payload)) called.add(sign)
  }
  const users = lines.filter(({ what, payload }) => what === 'message' && payload['role'] === 'user')
  // Other programs write rollouts without these events and kinds. Then only the text shows what the client inserted.
  if (typed.size === 0 && users.every(({ payload }) => kindsOf(payload).length === 0))
    for (const text of users.map(({ payload }) => textWithoutImageTags(payload['content'])))
      if (!INSERTED.test(text)) typed.add(text)
  const isCompacted = lines.some(({ type }) => type === NEW_HISTORY)
  return { typed, inItems, results, called, spawned, thoughts, completed, isCompacted }
}

const isImageTag = ({ text }: RawObject): boolean => /^<\/?image\b[^>]*>$/.test(stringOf(text).trim())

function textWithoutImageTags(content: unknown): string {
  const parts = objectsOf(content)
  const hasImage = parts.some(({ type }) => type === 'input_image')
  return textIn(hasImage ? parts.filter((part) => !isImageTag(part)) : content)
}

/** Matches a message that the client inserted: one in a tag, or the instructions of a project. */
const INSERTED = /^\s*(?:<[a-z_]+>|# AGENTS\.md|$)/

function kindsOf({ internal_chat_message_metadata_passthrough: passed }: RawObject): readonly unknown[] {
  const { content_item_kinds: kinds } = objectOf(passed)
  return Array.isArray(kinds) ? kinds : []
}

/** Separates the user's text and images from the parts of the message that the client inserted. */
function messageParts({ role, content, ...more }: RawObject, typed: ReadonlySet<string>) {
  const isWhole = role === 'user' && typed.has(textWithoutImageTags(content))
  const kinds = kindsOf(more)
  const isTypedPart = ({ text }: RawObject, index: number): boolean =>
    (stringOf(text) !== '' && typed.has(stringOf(text))) || stringOf(kinds[index]).startsWith('user.')
  const parts = listOfBlocks(content, 'input_text')
  if (role !== 'user' || isWhole || !parts.some(isTypedPart)) return [{ isTyped: isWhole, content }]
  const isUsers = (part: RawObject, index: number): boolean =>
    isTypedPart(part, index) || part['type'] === 'input_image' || isImageTag(part)
  return Array.from(Map.groupBy(parts, isUsers), ([isTyped, content]) => ({ isTyped, content }))
}

function signsOf({ id, call_id, query, action }: RawObject): string[] {
  const { query: searchedQuery, url } = objectOf(action)
  return [id, call_id, query, searchedQuery, url].map(stringOf).filter((sign) => sign !== '')
}

const originOf = ({ record, time }: CodexLine): Origin => ({ line: record.line, id: null, time })

function readLine(line: CodexLine, rollout: Rollout): void {
  const { type, payload, record } = line
  const { writer } = rollout
  switch (type) {
    case null:
      return writer.keep(record, record.value === undefined ? 'invalid JSON' : 'not a record of a rollout')
    case 'session_meta':
      return readMeta(line, rollout)
    case 'response_item':
      return readItem(line, rollout)
    case 'event_msg':
      return readEvent(line, rollout)
    case NEW_HISTORY:
      return replaceHistory(payload, originOf(line), rollout)
    case 'turn_context':
      rollout.model = stringOf(payload['model']) || rollout.model
      return keepAside(line, writer)
    case 'world_state':
    case 'inter_agent_communication':
    case 'inter_agent_communication_metadata':
    case 'token_usage_record':
    case 'realtime_item':
    case 'retained_context':
      return keepAside(line, writer)
    default:
      return writer.keep(record, `unknown record type "${type}"`)
  }
}

/** Reads a meta record. The first has the system prompt; a fork also has meta records of its original sessions. */
function readMeta(line: CodexLine, rollout: Rollout): void {
  keepAside(line, rollout.writer)
  if (line !== rollout.firstMeta) return
  const prompt = stringOf(objectOf(line.payload['base_instructions'])['text'])
  if (prompt === '') return
  rollout.writer.prompt(prompt, { ...originOf(line), id: `line-${line.record.line}-prompt` })
}

function readItem(line: CodexLine, rollout: Rollout): void {
  const { what, payload } = line
  const { writer, typed, turns } = rollout
  const origin = originOf(line)
  if (what === 'message') {
    const parts = messageParts(payload, typed)
    if (parts.some(({ isTyped }) => isTyped)) turns.push(writer.head)
    for (const { isTyped, content } of parts) {
      const id = isTyped || parts.length === 1 ? null : `line-${origin.line}-inserted`
      writer.say(isTyped ? 'user' : 'environment', contentOf(content), { ...origin, id })
    }
  } else if (what === 'agent_message') {
    // Add the text of another agent's message. If all of it is sealed, there is no text to add.
    const texts = contentOf(payload['content']).filter(({ type }) => type === 'text')
    if (texts.length === 0) return keepAside(line, writer)
    writer.say('environment', texts, origin)
    if (stringOf(payload['author']) !== '' || stringOf(payload['recipient']) !== '')
      writer.note('authors and recipients of agent messages', origin.line)
  } else if (what.endsWith('_output')) {
    const callId = stringOf(payload['call_id'])
    // The result of a tool search is kept as JSON, because a list of tools is not content.
    const { output = payload['tools'] === undefined ? '' : JSON.stringify(payload['tools']) } = payload
    const child = rollout.spawned.get(callId) || undefined
    const isError = payload['status'] === 'failed'
    // The output of a provider's tool search has no call id. It belongs to the open call.
    if (callId === '' && what !== 'tool_search_output') writer.say('environment', contentOf(output), origin)
    else writer.result({ callId, content: contentOf(output), isError, child }, origin)
  } else if (ASIDE.has(what)) keepAside(line, writer)
  else writer.keep(line.record, `unknown item type "${what}"`)
}

const ASIDE: ReadonlySet<string> = new Set(['ghost_snapshot', 'additional_tools', 'configuration_update'])

/** Maximum microseconds between two copied lines. A fork stamps the lines that it copies with the current time. */
const COPY_GAP = 1_000_000n

/**
 * Returns the number of the first line that a fork or subagent did not copy from its parent; 0 if it copied none.
 * New versions of Codex record this line's ordinal, or write ids that contain times: turns older than the fork or
 * subagent are copies. In files of older versions, the copy begins with the parent's meta record.
 */
function copiedUntil(
  lines: readonly CodexLine[],
  metas: readonly CodexLine[],
  own: CodexLine | undefined,
): number {
  const meta = own?.payload ?? {}
  const start = Number(meta['subagent_history_start_ordinal'] ?? Number.NaN)
  if (start > 0) return lines.find(({ ordinal }) => ordinal >= start)?.record.line ?? Infinity
  // If the thread's own record is not the first, the lines before it are from files of the forked thread.
  if (own !== metas[0]) return own?.record.line ?? 0
  const parents = parentsOf(meta)
  const created = timeInId(meta['id'])
  const turns = lines.filter(({ payload }) => !Number.isNaN(timeInId(payload['turn_id'])))
  if (parents.length > 0 && turns.length > 0 && !Number.isNaN(created))
    return turns.find(({ payload }) => timeInId(payload['turn_id']) >= created)?.record.line ?? Infinity
  const from = lines.findIndex(
    ({ type, payload }) => type === 'session_meta' && parents.includes(stringOf(payload['id'])),
  )
  if (from === -1) return 0
  const next = lines.find((line, index) => index > from && !isSoonAfter(line, lines[index - 1]))
  return next?.record.line ?? Infinity
}

/** Returns the time in a UUID of version 7, in milliseconds; NaN for other ids. */
const timeInId = (id: unknown): number =>
  Number.parseInt(/^([\da-f]{8})-([\da-f]{4})-7/.exec(stringOf(id))?.slice(1).join('') ?? '', 16)

function isSoonAfter({ time }: CodexLine, before: CodexLine | undefined): boolean {
  if (typeof time === 'string' && time === before?.time) return true
  const [from, to] = [before?.time, time].map((one) => parseInstant(stringOf(one)))
  return from !== undefined && to !== undefined && to - from <= COPY_GAP
}

function readReply({ items, usage }: ReplyStep, { writer, model, results, copiedUntil }: Rollout): void {
  const [first] = items
  if (first === undefined) return
  const output = items.map((item) =>
    isSearch(item, results)
      ? searchCall(item)
      : sendable(withCallId(outputItem(item.payload)), item.record, writer),
  )
  // The parent's own file has the tokens of copied replies.
  const isCopied = first.record.line < copiedUntil
  const counted = usage === null || isCopied ? {} : { usage: usageOf(usage) }
  if (usage !== null && isCopied) writer.note('tokens of a copied reply', first.record.line)
  const reply = { id: `reply-${first.record.line}`, model, status: 'completed', output, ...counted }
  const calls = items.filter((item) => CALLS.has(item.what) || isSearch(item, results))
  // The agent executes its custom tools itself, so a call without a result is pending.
  const custom = new Set(
    items.flatMap(({ what, payload }) => (what === 'custom_tool_call' ? [stringOf(payload['call_id'])] : [])),
  )
  writer.reply(
    fromOpenAIResponses(reply),
    (calls.length > 0 ? calls : items).map(originOf),
    (callId) => results.has(callId) || custom.has(callId),
  )
}

/** Types of calls that the agent executes. The provider executes other calls, as parts of the reply. */
const CALLS: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call', 'local_shell_call'])

const isSearch = ({ what, payload }: CodexLine, results: ReadonlySet<string>): boolean =>
  what === 'tool_search_call' && results.has(stringOf(payload['call_id']))

/** Converts a tool search to a function call, because every grammar can represent a function's result. */
const searchCall = ({ payload }: CodexLine): RawObject => ({
  type: 'function_call',
  call_id: payload['call_id'],
  name: 'tool_search',
  arguments: JSON.stringify(payload['arguments'] ?? {}),
})

/** Adds a call id to a shell call that has only an item id, because the call's output refers to the item id. */
const withCallId = (item: RawObject): RawObject =>
  item['type'] === 'local_shell_call' && stringOf(item['call_id']) === ''
    ? { ...item, call_id: item['id'] }
    : item

/**
 * Omits fields that a provider would refuse: an item's turn, which newer versions record, and sealed content
 * that was masked when the file was published.
 */
function sendable(item: RawObject, { line }: SessionRecord, writer: SessionWriter): RawObject {
  const { metadata, internal_chat_message_metadata_passthrough: passed = metadata, ...rest } = item
  if (passed !== undefined) writer.note('turn ids of items', line)
  const sealed = item['encrypted_content']
  if (typeof sealed !== 'string' || /^[\w+/=-]{40}[\w+/=-]*$/.test(sealed)) return rest
  writer.note('masked encrypted reasoning', line)
  const { encrypted_content: _, ...readable } = rest
  return readable
}

function usageOf(last: RawObject): object {
  const { input_tokens, output_tokens, total_tokens } = last
  const [cached_tokens, cache_write_tokens, reasoning_tokens] = [
    last['cached_input_tokens'],
    last['cache_write_input_tokens'],
    last['reasoning_output_tokens'],
  ].map((count) => count ?? 0)
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens },
    output_tokens_details: { reasoning_tokens },
  }
}

type IsTwice = (payload: RawObject, rollout: Rollout) => boolean

const isThought: IsTwice = ({ text }, { thoughts }) => thoughts.has(stringOf(text))
const isCalled: IsTwice = (payload, { called }) => signsOf(payload).some((sign) => called.has(sign))
const hasOutput: IsTwice = ({ call_id }, { results }) => results.has(stringOf(call_id))

/** Whether an event about a started or completed item repeats a `response_item`, or a later `item_completed` event. */
const isRepeated: IsTwice = (payload, rollout) => {
  const { type, id } = objectOf(payload['item'])
  if (payload['type'] === 'item_started' && rollout.completed.has(stringOf(id))) return true
  const texts = ['summary_text', 'raw_content'].flatMap((field) => {
    const list = objectOf(payload['item'])[field]
    return Array.isArray(list) ? list.map((text) => (typeof text === 'string' ? text : textIn([text]))) : []
  })
  if (type === 'Reasoning' || type === 'reasoning')
    return texts.length > 0 && texts.every((text) => rollout.thoughts.has(text))
  const text = itemText(payload)
  return (text !== '' && rollout.inItems.has(text)) || isCalled(objectOf(payload['item']), rollout)
}

const TWICE: ReadonlyMap<string, IsTwice> = new Map([
  ['agent_reasoning', isThought],
  ['agent_reasoning_raw_content', isThought],
  ['exec_command_begin', isCalled],
  ['exec_command_end', hasOutput],
  ['patch_apply_begin', isCalled],
  ['patch_apply_end', hasOutput],
  ['mcp_tool_call_begin', isCalled],
  ['mcp_tool_call_end', hasOutput],
  ['web_search_begin', isCalled],
  ['web_search_end', isCalled],
  ['image_generation_end', isCalled],
  ['item_started', isRepeated],
  ['item_completed', isRepeated],
  ['context_compacted', (_, { isCompacted }) => isCompacted],
  ['codex/event/raw_item', isRepeated],
])

function readEvent(line: CodexLine, rollout: Rollout): void {
  const { what, payload, record } = line
  const { writer, turns } = rollout
  const origin = originOf(line)
  const isTwice = TWICE.get(what)
  if (isTwice?.(payload, rollout) === true) return writer.note(`written twice: ${what}`, record.line)
  switch (what) {
    case 'user_message':
    case 'agent_message':
      return readText(what, stringOf(payload['message']), line, rollout)
    case 'item_completed': {
      const type = stringOf(objectOf(payload['item'])['type'])
      const text = itemText(payload)
      if (text === '' || (type !== 'UserMessage' && type !== 'AgentMessage')) return keepAside(line, writer)
      return readText(type === 'UserMessage' ? 'user_message' : 'agent_message', text, line, rollout)
    }
    case 'turn_aborted':
      writer.add({ kind: 'InterruptEvent', source: 'user' }, origin)
      return
    case 'thread_rolled_back': {
      const count = payload['num_turns']
      const index = Math.max(0, turns.length - (typeof count === 'number' ? count : 1))
      const to = turns[index]
      rollout.turns = turns.slice(0, index)
      if (to === undefined) return keepAside(line, writer)
      return writer.goBack(to, origin)
    }
    case 'error':
    case 'stream_error':
      return writer.failure(what, stringOf(payload['message']), origin)
    default:
      return keepAside(line, writer)
  }
}

/** Adds the text of an event. Codex often writes a text twice: in two types of events, or in an item. Adds it once. */
function readText(
  what: 'user_message' | 'agent_message',
  text: string,
  line: CodexLine,
  { writer, inItems, inEvents, turns, model }: Rollout,
): void {
  const origin = originOf(line)
  const keyOf = (type: string): string => `${type} ${what} ${text}`
  const other = keyOf(line.what === 'item_completed' ? what : 'item_completed')
  const repeats = inEvents.get(other) ?? 0
  if (repeats > 0) inEvents.set(other, repeats - 1)
  if (inItems.has(text) || repeats > 0) return writer.note(`written twice: ${line.what}`, origin.line)
  inEvents.set(keyOf(line.what), (inEvents.get(keyOf(line.what)) ?? 0) + 1)
  if (what === 'user_message') {
    turns.push(writer.head)
    writer.say('user', contentOf(text), origin)
    return
  }
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }]
  const reply = { id: `reply-${origin.line}`, model, output }
  writer.reply(fromOpenAIResponses(reply as Parameters<typeof fromOpenAIResponses>[0]), [origin])
}

/** Keys for record types that contain the word `token`. In a key, this word would mark the value as a secret. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['token_count', 'usage'],
  ['token_usage_record', 'usage_record'],
])

function keepAside(line: CodexLine, writer: SessionWriter): void {
  const name = line.type === 'event_msg' ? line.what : (line.type ?? '')
  writer.update(`codex.${KEYS.get(name) ?? name}`, line.payload as JsonValue, originOf(line))
}

interface CodexLine {
  readonly record: SessionRecord
  /** Type of the record; null if the record is not part of a rollout. */
  readonly type: string | null
  readonly what: string
  readonly payload: RawObject
  readonly time: unknown
  /** Position of the record in its thread; NaN if it has none. */
  readonly ordinal: number
}

interface ReplyStep {
  readonly items: CodexLine[]
  usage: RawObject | null
}

/** A reply, or one other line. `isCounted`: the line is a token count that a reply or an earlier line already has. */
export type SessionStep = ReplyStep | { readonly line: CodexLine; readonly isCounted: boolean }

const OF_MODEL: ReadonlySet<string> = new Set([
  'reasoning',
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'web_search_call',
  'tool_search_call',
  'image_generation_call',
  'compaction',
  'context_compaction',
])

const NEW_HISTORY = 'compacted'

const PASSING: ReadonlySet<string> = new Set([
  'token_count',
  'agent_message',
  'agent_reasoning',
  'agent_reasoning_raw_content',
  'exec_command_begin',
  'item_started',
  'item_completed',
  'web_search_begin',
  'web_search_end',
])

/**
 * Groups the model's lines into replies; other lines are steps of their own. A result, a message of the user or
 * the start of a turn ends a reply. The reply's token count may follow.
 */
function stepsOf(lines: readonly CodexLine[]): SessionStep[] {
  const steps: SessionStep[] = []
  let open: ReplyStep | null = null
  let latest: ReplyStep | null = null
  let counted = ''
  for (const line of lines) {
    const { type, what, payload } = line
    const isOfModel =
      type === 'response_item' &&
      (OF_MODEL.has(what) || (what === 'message' && payload['role'] === 'assistant'))
    if (isOfModel) {
      if (open === null) {
        open = { items: [], usage: null }
        steps.push(open)
      }
      open.items.push(line)
      latest = open
      continue
    }
    let isCounted = false
    if (what === 'token_count') {
      const info = objectOf(payload['info'])
      // Several lines repeat the same count; only a new count belongs to a new reply.
      const total = JSON.stringify(info['total_token_usage'] ?? null)
      const last = objectOf(info['last_token_usage'])
      if (total !== 'null' && total !== counted && latest !== null) latest.usage ??= last
      const isOfLatest = JSON.stringify(latest?.usage) === JSON.stringify(last)
      isCounted = total !== 'null' && (total === counted || isOfLatest)
      counted = total
    }
    if (type === 'token_usage_record' && latest !== null) latest.usage ??= objectOf(payload['usage'])
    // The next token count belongs to the compaction, not to the latest reply.
    if (type === NEW_HISTORY) latest = null
    if (type !== null && (!PASSING.has(what) || isUserItem(payload))) open = null
    steps.push({ line, isCounted })
  }
  return steps
}

function codexLineOf(record: SessionRecord): CodexLine {
  const { type, payload, timestamp: time, ordinal: position } = objectOf(record.value)
  const ordinal = typeof position === 'number' ? position : Number.NaN
  if (typeof type !== 'string' || typeof payload !== 'object' || payload === null)
    return { record, type: null, what: '', payload: {}, time, ordinal }
  const untyped = objectOf(payload)
  // Other programs write messages without a type.
  const fields = typeof untyped['role'] === 'string' ? { type: 'message', ...untyped } : untyped
  return { record, type, what: stringOf(fields['type']), payload: fields, time, ordinal }
}

/** Removes events that a compacted history omits. The history's new texts become environment messages. */
function replaceHistory(payload: RawObject, origin: Origin, { writer, typed }: Rollout): void {
  const history = listOfBlocks(payload['replacement_history'], 'text')
  const messages = history.flatMap((item) =>
    item['type'] === undefined || item['type'] === 'message' ? messageParts(item, typed) : [],
  )
  const remaining = new Map<string, number>()
  for (const { content } of messages)
    remaining.set(textIn(content), (remaining.get(textIn(content)) ?? 0) + 1)
  const stored = Array.isArray(payload['replacement_history']) ? new Set<string>() : latestPrompts(writer)
  // Match from the end, because a shorter history keeps the latest messages.
  for (const { id, event } of writer.inSight().toReversed()) {
    const text = event?.kind === 'MessageEvent' ? textIn(event.llm_message.content ?? []) : ''
    const count = remaining.get(text) ?? 0
    if (text === '' || count === 0) continue
    stored.add(id)
    remaining.set(text, count - 1)
  }
  writer.condense(stored, stringOf(payload['message']), origin, 'end')
  for (const [index, { content }] of messages.entries()) {
    const text = textIn(content)
    const count = remaining.get(text) ?? 0
    if (count === 0 || text === stringOf(payload['message'])) continue
    remaining.set(text, count - 1)
    writer.say('environment', contentOf(content), { ...origin, id: `line-${origin.line}-kept-${index}` })
  }
  const readable: RawObject[] = []
  for (const item of history) {
    if (item['type'] === undefined || item['type'] === 'message') continue
    if (isSealed(item)) writer.note('encrypted parts of a replaced history', origin.line)
    else readable.push(item)
  }
  const position = { ...origin, id: `line-${origin.line}-others` }
  if (readable.length > 0) writer.update('codex.replacement_history', readable as JsonValue, position)
}

/** Returns the ids of the latest prompts that Codex keeps: 20,000 tokens, each counted as 4 UTF-16 units. */
function latestPrompts(writer: SessionWriter): Set<string> {
  const stored = new Set<string>()
  let room = 80_000
  for (const { id, event } of writer.inSight().toReversed()) {
    if (event?.kind !== 'MessageEvent' || event.source !== 'user') continue
    room -= textIn(event.llm_message.content ?? []).length
    if (room < 0) break
    stored.add(id)
  }
  return stored
}

const isSealed = (item: RawObject): boolean =>
  typeof item['encrypted_content'] === 'string' &&
  moreOf(item, 'type', 'id', 'status', 'encrypted_content') === null

const isUserItem = ({ type, item }: RawObject): boolean =>
  type === 'item_completed' && objectOf(item)['type'] === 'UserMessage'

function itemText({ item }: RawObject): string {
  const { content, text } = objectOf(item)
  return textWithoutImageTags(content) || stringOf(text)
}
