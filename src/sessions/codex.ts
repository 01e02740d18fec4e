/**
 * Reads the rollouts of Codex CLI: lines of items and of events, of which many say what others have said.
 *
 * What is read is what versions 0.52 to 0.148 wrote; their maintainers promise no form.
 */

import type { JsonValue } from '../event/shapes.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { moreOf } from '../messages/reply.ts'
import { fromOpenAIResponses } from '../messages/openai-responses/read.ts'
import { blocksOf, contentOf, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { type Origin, type Place, SessionWriter } from './writer.ts'

/** A rollout as a session. O(size). */
export function readCodex(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const lines: CodexLine[] = []
  const strange: SessionRecord[] = []
  for (const record of records) {
    const line = codexLineOf(record)
    if (line === null) strange.push(record)
    else lines.push(line)
  }
  const rollout: Rollout = { writer, ...saidOf(lines), inEvents: new Map(), model: '', turns: [], meta: null }
  let at = 0
  for (const step of stepsOf(lines)) {
    const line = 'line' in step ? step.line : step.items[0]
    for (; at < strange.length && (strange[at]?.line ?? 0) < (line?.record.line ?? 0); at += 1)
      keep(strange[at], writer)
    if ('line' in step) {
      if (step.isTold) writer.note(`written twice: ${step.line.what}`, step.line.record.line)
      else readLine(step.line, rollout)
    } else readReply(step, rollout)
  }
  for (; at < strange.length; at += 1) keep(strange[at], writer)
  const meta = rollout.meta ?? {}
  const spawn = objectOf(objectOf(objectOf(meta['source'])['subagent'])['thread_spawn'])
  return {
    format: 'codex',
    id: stringOf(meta['id']) || null,
    title: null,
    parentId: stringOf(meta['forked_from_id']) || stringOf(spawn['parent_thread_id']) || null,
    createdAt: stringOf(meta['timestamp']) || null,
    facts: writer.facts,
    notes: writer.notes(),
    children: [],
  }
}

const keep = (record: SessionRecord | undefined, writer: SessionWriter): void => {
  if (record !== undefined)
    writer.keep(record, record.value === undefined ? 'no JSON' : 'no record of a rollout')
}

/** What is known while a rollout is read. */
interface Rollout {
  readonly writer: SessionWriter
  /** What users typed: other messages under their name were put in by the client. */
  readonly typed: ReadonlySet<string>
  /** All texts that stand in items, which the events beside them repeat. */
  readonly inItems: ReadonlySet<string>
  /** The calls that have a result. */
  readonly results: ReadonlySet<string>
  /** What calls are known by: their ids, and what a search has sought or opened. */
  readonly called: ReadonlySet<string>
  /** The readable texts of reasoning. */
  readonly thoughts: ReadonlySet<string>
  /** The items that an event has completed, by their ids. */
  readonly completed: ReadonlySet<string>
  /** Whether a history was replaced. */
  readonly isCompacted: boolean
  /** How often events of each type said a text that no item contains: the other type may say it again. */
  readonly inEvents: Map<string, number>
  model: string
  /** The event under HEAD before each turn of the user. */
  turns: (Place | null)[]
  meta: Found | null
}

function saidOf(
  lines: readonly CodexLine[],
): Omit<Rollout, 'writer' | 'inEvents' | 'model' | 'turns' | 'meta'> {
  const typed = new Set<string>()
  const inItems = new Set<string>()
  const results = new Set<string>()
  const called = new Set<string>()
  const thoughts = new Set<string>()
  const completed = new Set<string>()
  for (const { type, what, payload } of lines) {
    if (type === 'event_msg' && what === 'user_message') typed.add(stringOf(payload['message']))
    // Since 0.148 this event alone names what the user typed.
    if (type === 'event_msg' && isUserItem(payload)) typed.add(itemWords(payload))
    if (what === 'item_completed') completed.add(stringOf(objectOf(payload['item'])['id']))
    if (type !== 'response_item') continue
    if (what === 'message') inItems.add(wordsIn(payload['content']))
    else if (what.endsWith('_output')) results.add(stringOf(payload['call_id']))
    else if (what === 'reasoning')
      for (const list of [payload['summary'], payload['content']])
        for (const { text } of objectsOf(list)) thoughts.add(stringOf(text))
    else if (what.endsWith('_call')) for (const sign of signsOf(payload)) called.add(sign)
  }
  const isCompacted = lines.some(({ type }) => type === NEW_HISTORY)
  return { typed, inItems, results, called, thoughts, completed, isCompacted }
}

/** What stands around an image in what a user typed. */
const AROUND_IMAGE = /^<\/?image\b[^>]*>$/

/** The words of a message, without what the client has written around its images. */
function wordsIn(content: unknown): string {
  const parts = objectsOf(content)
  const hasImage = parts.some(({ type }) => type === 'input_image')
  return textIn(hasImage ? parts.filter(({ text }) => !AROUND_IMAGE.test(stringOf(text).trim())) : content)
}

/** What a call is known by, where its id does not stand in the file too. */
function signsOf({ id, call_id, query, action }: Found): string[] {
  const { query: sought, url } = objectOf(action)
  return [id, call_id, query, sought, url].map(stringOf).filter((sign) => sign !== '')
}

const originOf = ({ record, time }: CodexLine): Origin => ({ line: record.line, id: null, time })

function readLine(line: CodexLine, rollout: Rollout): void {
  const { type, payload } = line
  const { writer } = rollout
  switch (type) {
    case 'session_meta':
      return readMeta(line, rollout)
    case 'response_item':
      return readItem(line, rollout)
    case 'event_msg':
      return readEvent(line, rollout)
    case NEW_HISTORY:
      return replaceHistory(payload, originOf(line), writer)
    case 'turn_context':
      rollout.model = stringOf(payload['model']) || rollout.model
      return beside(line, writer)
    case 'world_state':
    case 'inter_agent_communication':
    case 'inter_agent_communication_metadata':
    case 'token_usage_record':
      return beside(line, writer)
    default:
      return writer.keep(line.record, `a record of the unknown type "${type}"`)
  }
}

/** The first one is of the file itself; a fork goes on with a copy of the one that it was made from. */
function readMeta(line: CodexLine, rollout: Rollout): void {
  beside(line, rollout.writer)
  if (rollout.meta !== null) return
  rollout.meta = line.payload
  const prompt = stringOf(objectOf(line.payload['base_instructions'])['text'])
  if (prompt === '') return
  rollout.writer.add(
    { kind: 'SystemPromptEvent', source: 'agent', system_prompt: { type: 'text', text: prompt }, tools: [] },
    { ...originOf(line), id: `line-${line.record.line}-prompt` },
  )
}

function readItem(line: CodexLine, rollout: Rollout): void {
  const { what, payload } = line
  const { writer, typed, turns } = rollout
  const origin = originOf(line)
  if (what === 'message') {
    const isTyped = payload['role'] === 'user' && typed.has(wordsIn(payload['content']))
    if (isTyped) turns.push(writer.head)
    writer.say(isTyped ? 'user' : 'environment', contentOf(payload['content']), origin)
  } else if (what === 'agent_message') {
    // What another agent said: its words, where they are not sealed.
    const words = contentOf(payload['content']).filter(({ type }) => type === 'text')
    if (words.length === 0) return beside(line, writer)
    writer.say('environment', words, origin)
    if (stringOf(payload['author']) !== '' || stringOf(payload['recipient']) !== '')
      writer.note('authors and recipients of messages of agents', origin.line)
  } else if (what.endsWith('_output')) {
    const callId = stringOf(payload['call_id'])
    // What a search for tools has found is told in its JSON: a list of tools is no content.
    const { output = payload['tools'] === undefined ? '' : JSON.stringify(payload['tools']) } = payload
    writer.result({ callId, content: contentOf(output), isError: payload['status'] === 'failed' }, origin)
  } else if (what === 'ghost_snapshot' || what === 'additional_tools') beside(line, writer)
  else writer.keep(line.record, `an item of the unknown type "${what}"`)
}

function readReply({ items, usage }: ReplyStep, { writer, model, results }: Rollout): void {
  const [first] = items
  if (first === undefined) return
  const output = items.map((item) =>
    isSearch(item, results) ? searchCall(item) : unsealed(item.payload, item.record, writer),
  )
  const counted = usage === null ? {} : { usage: usageOf(usage) }
  const reply = { id: `reply-${first.record.line}`, model, status: 'completed', output, ...counted }
  const calls = items.filter((item) => CALLS.has(item.what) || isSearch(item, results))
  // The agent executes its custom tools itself: one without a result waits for it.
  const custom = new Set(
    items.flatMap(({ what, payload }) => (what === 'custom_tool_call' ? [stringOf(payload['call_id'])] : [])),
  )
  writer.reply(
    fromOpenAIResponses(reply),
    (calls.length > 0 ? calls : items).map(originOf),
    (callId) => results.has(callId) || custom.has(callId),
  )
}

/** The items that an agent executes itself; others are executed by the provider, and are parts of the reply. */
const CALLS: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call', 'local_shell_call'])

/** Whether an item is a search for tools that the agent has made itself: its result stands behind the reply. */
const isSearch = ({ what, payload }: CodexLine, results: ReadonlySet<string>): boolean =>
  what === 'tool_search_call' && results.has(stringOf(payload['call_id']))

/** A search for tools as a call of a function, whose result says what was found, in every grammar. */
const searchCall = ({ payload }: CodexLine): Found => ({
  type: 'function_call',
  call_id: payload['call_id'],
  name: 'tool_search',
  arguments: JSON.stringify(payload['arguments'] ?? {}),
})

/** What was sealed, and masked when the file was published, would be refused: it is left out. */
function unsealed(item: Found, { line }: SessionRecord, writer: SessionWriter): Found {
  const sealed = item['encrypted_content']
  if (typeof sealed !== 'string' || /^[\w+/=-]{40}[\w+/=-]*$/.test(sealed)) return item
  writer.note('sealed reasoning that was masked', line)
  const { encrypted_content: _, ...rest } = item
  return rest
}

function usageOf(last: Found): object {
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

/** Whether what an event says stands in an item too. */
type IsTwice = (payload: Found, rollout: Rollout) => boolean

const isThought: IsTwice = ({ text }, { thoughts }) => thoughts.has(stringOf(text))
const isCalled: IsTwice = (payload, { called }) => signsOf(payload).some((sign) => called.has(sign))
const hasGiven: IsTwice = ({ call_id }, { results }) => results.has(stringOf(call_id))

/** Whether an item that was started or completed is in the file as one of the model's items, or as a later event. */
const isRepeated: IsTwice = (payload, rollout) => {
  const { type, id } = objectOf(payload['item'])
  if (payload['type'] === 'item_started' && rollout.completed.has(stringOf(id))) return true
  const texts = ['summary_text', 'raw_content'].flatMap((field) => {
    const list = objectOf(payload['item'])[field]
    return Array.isArray(list) ? list.map((text) => (typeof text === 'string' ? text : textIn([text]))) : []
  })
  if (type === 'Reasoning' || type === 'reasoning')
    return texts.length > 0 && texts.every((text) => rollout.thoughts.has(text))
  const words = itemWords(payload)
  return (words !== '' && rollout.inItems.has(words)) || isCalled(objectOf(payload['item']), rollout)
}

/** Events that say again what items have said, where these are in the file. */
const TWICE: ReadonlyMap<string, IsTwice> = new Map([
  ['agent_reasoning', isThought],
  ['agent_reasoning_raw_content', isThought],
  ['exec_command_begin', isCalled],
  ['exec_command_end', hasGiven],
  ['patch_apply_begin', isCalled],
  ['patch_apply_end', hasGiven],
  ['mcp_tool_call_begin', isCalled],
  ['mcp_tool_call_end', hasGiven],
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
      return readWords(what, stringOf(payload['message']), line, rollout)
    case 'item_completed': {
      const type = stringOf(objectOf(payload['item'])['type'])
      const words = itemWords(payload)
      if (words === '' || (type !== 'UserMessage' && type !== 'AgentMessage')) return beside(line, writer)
      return readWords(type === 'UserMessage' ? 'user_message' : 'agent_message', words, line, rollout)
    }
    case 'turn_aborted':
      writer.add({ kind: 'InterruptEvent', source: 'user' }, origin)
      return
    case 'thread_rolled_back': {
      const count = payload['num_turns']
      const at = Math.max(0, turns.length - (typeof count === 'number' ? count : 1))
      const to = turns[at]
      rollout.turns = turns.slice(0, at)
      if (to === undefined) return beside(line, writer)
      return writer.goBack(to, origin)
    }
    case 'error':
    case 'stream_error': {
      const detail = stringOf(payload['message'])
      writer.add({ kind: 'ConversationErrorEvent', source: 'environment', code: what, detail }, origin)
      return
    }
    default:
      return beside(line, writer)
  }
}

/** Adds what a user or the model said in an event, unless an item or an event of the other type says it, too. */
function readWords(
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
  writer.reply(fromOpenAIResponses(reply as Parameters<typeof fromOpenAIResponses>[0]), [origin], () => false)
}

/** What would be taken for the name of a secret, which a token is. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['token_count', 'usage'],
  ['token_usage_record', 'usage_record'],
])

/** Says nothing to a model: kept beside the conversation. */
function beside(line: CodexLine, writer: SessionWriter): void {
  const name = line.type === 'event_msg' ? line.what : line.type
  writer.update(`codex.${KEYS.get(name) ?? name}`, line.payload as JsonValue, originOf(line))
}

/** A line: its type, and that of what it holds. */
export interface CodexLine {
  readonly record: SessionRecord
  readonly type: string
  /** `message`, `token_count` …; empty where the payload names none. */
  readonly what: string
  readonly payload: Found
  readonly time: unknown
}

/** The items of one reply, and the tokens that it took, as far as a later line says so. */
export interface ReplyStep {
  readonly items: CodexLine[]
  usage: Found | null
}

/** A line that is no item of a reply; `isTold` where it counts the tokens of one, or counts them again. */
export type Step = ReplyStep | { readonly line: CodexLine; readonly isTold: boolean }

/** What of a list of items is said by the model; each other kind of item ends its reply. */
const SAID: ReadonlySet<string> = new Set([
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

/** The type of a line that replaces all before it by a shorter history. */
export const NEW_HISTORY = 'compacted'

/** What stands among the items of a reply, and does not end it. */
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
 * The steps of a rollout. A reply ends with the first result, user's message or turn behind it: the count of its tokens
 * stands behind its results in some versions, and so cannot end it. O(lines).
 */
export function stepsOf(lines: readonly CodexLine[]): Step[] {
  const steps: Step[] = []
  let open: ReplyStep | null = null
  let latest: ReplyStep | null = null
  let counted = ''
  for (const line of lines) {
    const { type, what, payload } = line
    const isSaid =
      type === 'response_item' && (SAID.has(what) || (what === 'message' && payload['role'] === 'assistant'))
    if (isSaid) {
      if (open === null) {
        open = { items: [], usage: null }
        steps.push(open)
      }
      open.items.push(line)
      latest = open
      continue
    }
    let isTold = false
    if (what === 'token_count') {
      const info = objectOf(payload['info'])
      // The same count is written again and again; only a new one is of a new reply.
      const total = JSON.stringify(info['total_token_usage'] ?? null)
      isTold = total !== 'null' && total === counted
      if (!isTold && total !== 'null' && latest !== null && latest.usage === null) {
        latest.usage = objectOf(info['last_token_usage'])
        isTold = true
      }
      counted = total
    }
    // What a compaction took is counted behind it.
    if (type === NEW_HISTORY) latest = null
    if (!PASSING.has(what) || isUserItem(payload)) open = null
    steps.push({ line, isTold })
  }
  return steps
}

/** A record as a line of a rollout; null for one that is none. */
export function codexLineOf(record: SessionRecord): CodexLine | null {
  const { type, payload, timestamp } = objectOf(record.value)
  if (typeof type !== 'string' || typeof payload !== 'object' || payload === null) return null
  const found = objectOf(payload)
  return { record, type, what: stringOf(found['type']), payload: found, time: timestamp }
}

/**
 * Takes out what the new history does not repeat. What it says that no event has said follows as messages of the
 * environment; what is sealed in it can be neither read nor sent. O(events in sight + size).
 */
export function replaceHistory(payload: Found, origin: Origin, writer: SessionWriter): void {
  const history = blocksOf(payload['replacement_history'], 'text')
  const messages = history.filter(({ type }) => type === undefined || type === 'message')
  const left = new Map<string, number>()
  for (const { content } of messages) left.set(textIn(content), (left.get(textIn(content)) ?? 0) + 1)
  const kept = new Set<string>()
  // From the end, since it is the latest that a shorter history keeps.
  for (const { id, event } of writer.inSight().toReversed()) {
    const text = event?.kind === 'MessageEvent' ? textIn(event.llm_message.content ?? []) : ''
    const count = left.get(text) ?? 0
    if (text === '' || count === 0) continue
    kept.add(id)
    left.set(text, count - 1)
  }
  writer.condense(kept, stringOf(payload['message']), origin)
  for (const [at, { content }] of messages.entries()) {
    const text = textIn(content)
    const count = left.get(text) ?? 0
    if (count === 0 || text === stringOf(payload['message'])) continue
    left.set(text, count - 1)
    writer.say('environment', contentOf(content), { ...origin, id: `line-${origin.line}-kept-${at}` })
  }
  const readable: Found[] = []
  for (const item of history) {
    if (item['type'] === undefined || item['type'] === 'message') continue
    if (isSealed(item)) writer.note('sealed parts of a replaced history', origin.line)
    else readable.push(item)
  }
  const place = { ...origin, id: `line-${origin.line}-others` }
  if (readable.length > 0) writer.update('codex.replacement_history', readable as JsonValue, place)
}

/** Whether an item holds nothing that can be read. */
const isSealed = (item: Found): boolean =>
  typeof item['encrypted_content'] === 'string' &&
  moreOf(item, 'type', 'id', 'status', 'encrypted_content') === null

/** Whether an event completes a message that the user typed. */
const isUserItem = ({ type, item }: Found): boolean =>
  type === 'item_completed' && objectOf(item)['type'] === 'UserMessage'

/** The text of an item in an event. */
function itemWords({ item }: Found): string {
  const { content, text } = objectOf(item)
  return wordsIn(content) || stringOf(text)
}
