/** Reads the sessions of pi, versions 1 to 3. A session is a tree of entries (in version 1, a list). */

import { parseJson } from '../event/json.ts'
import type { JsonValue } from '../event/shapes.ts'
import { parseInstant } from '../event/time.ts'
import type { AgentErrorEvent } from '../event/types.ts'
import { fromAnthropic } from '../messages/anthropic/read.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { frozenInput, moreOf, type Reply } from '../messages/reply.ts'
import { fromOpenAIChat } from '../messages/openai-chat/read.ts'
import { fromOpenAIResponses } from '../messages/openai-responses/read.ts'
import { listOfBlocks, contentOf, instantIn, textIn, isTextBlock } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import type { HasResult, Origin, Place } from './writer.ts'
import { resultsOnDemand, TOOL_METADATA, SessionWriter } from './writer.ts'

export function readPi(records: readonly SessionRecord[]): Session {
  const header = objectOf(records.find(({ value }) => objectOf(value)['type'] === 'session')?.value)
  const writer = new SessionWriter(resultsIn(records))
  const parentId = nameIn(header['parentSession'] ?? header['branchedFrom'])
  const tree: Tree = {
    writer,
    forkedAt: parentId === null ? 0n : (parseInstant(stringOf(header['timestamp'])) ?? 0n),
    heads: new Map(),
    lines: new Map(),
    firsts: new Map(),
    messages: new Map(),
    title: null,
  }
  const known = new Set<string>()
  for (const record of records) {
    // Lines of one file differ at least in their time.
    const isRepeated = 'timestamp' in objectOf(record.value) && known.has(record.raw)
    if (isRepeated) writer.note('written twice: a line', record.line)
    else readEntry(record, tree)
    known.add(record.raw)
  }
  return {
    ...writer.session('pi'),
    id: stringOf(header['id']) || null,
    title: tree.title,
    parentId,
    createdAt: instantIn(header['timestamp']),
  }
}

interface Tree {
  readonly writer: SessionWriter
  /** Time of a fork, in microseconds: earlier entries are copies. 0 if the session is not a fork. */
  readonly forkedAt: bigint
  readonly heads: Map<string, Place | null>
  readonly lines: Map<string, number>
  readonly firsts: Map<string, number>
  readonly messages: Map<number, RawObject>
  title: string | null
}

const resultsIn = (records: readonly SessionRecord[]): HasResult =>
  resultsOnDemand(() =>
    records.flatMap(({ value }) => {
      const id = stringOf(objectOf(objectOf(value)['message'])['toolCallId'])
      return [id, callIn(id)]
    }),
  )

const nameIn = (value: unknown): string | null =>
  stringOf(value)
    .split(/[\\/]/)
    .at(-1)
    ?.replace(/\.jsonl$/, '')
    .split('_')
    .at(-1) || null

const OUTSIDE: ReadonlySet<string> = new Set([
  'session',
  'model_change',
  'thinking_level_change',
  'usage',
  'custom',
  'label',
])

function readEntry(record: SessionRecord, tree: Tree): void {
  const { writer, heads, lines, firsts } = tree
  const entry = objectOf(record.value)
  const type = stringOf(entry['type'])
  if (type === '')
    return writer.keep(record, record.value === undefined ? 'invalid JSON' : 'not an entry of a session')
  const id = stringOf(entry['id']) || null
  const { parentId } = entry
  const hasPlace = id !== null && type !== 'session'
  const above = typeof parentId === 'string' ? heads.get(parentId) : parentId === null ? null : undefined
  // Only an entry that does not follow the end of the log needs an explicit parent.
  const parentField = hasPlace && above !== undefined && above !== writer.head ? { after: above } : {}
  const origin: Origin = {
    line: record.line,
    id: type === 'session' ? null : id,
    time: entry['timestamp'],
    ...parentField,
  }
  const before = writer.facts.length
  readTyped(type, entry, record, origin, tree)
  const [first] = writer.idsSince(before)
  if (first !== undefined) firsts.set(first, record.line)
  if (id !== null) lines.set(id, record.line)
  if (hasPlace) heads.set(id, first === undefined && above !== undefined ? above : writer.head)
}

function readTyped(type: string, entry: RawObject, record: SessionRecord, origin: Origin, tree: Tree): void {
  const { writer } = tree
  switch (type) {
    case 'message':
      tree.messages.set(record.line, objectOf(entry['message']))
      return readMessage(objectOf(entry['message']), record, origin, tree)
    case 'custom_message':
      writer.say('environment', contentOf(entry['content']), origin)
      return
    case 'branch_summary':
      writer.say('environment', contentOf(entry['summary']), origin)
      return
    case 'compaction':
      return readCompaction(entry, record, origin, tree)
    case 'context_edit':
      return readEdit(entry, record, origin, tree)
    case 'session_info':
      tree.title = stringOf(entry['name']) || tree.title
      return keepAside(type, entry, origin, writer)
    default:
      if (OUTSIDE.has(type)) return keepAside(type, entry, origin, writer)
      return writer.keep(record, `unknown entry type "${type}"`)
  }
}

function keepAside(type: string, entry: RawObject, { line, id, time }: Origin, writer: SessionWriter): void {
  writer.update(`pi.${type}`, entry as JsonValue, { line, id, time })
}

function readMessage(message: RawObject, record: SessionRecord, origin: Origin, tree: Tree): void {
  const { writer } = tree
  const contentIn = (): ReturnType<typeof contentOf> => contentOf(message['content'])
  switch (message['role']) {
    case 'user':
      writer.say('user', contentIn(), origin)
      return
    case 'assistant': {
      // The parent's own file has the tokens of copied replies.
      const { usage, ...free } = message
      const isCopied =
        usage !== undefined && (parseInstant(stringOf(origin.time)) ?? Infinity) < tree.forkedAt
      if (isCopied) writer.note('tokens of a copied reply', record.line)
      const reply = replyOf(isCopied ? free : message, origin.id ?? `line-${record.line}`, writer.hasResult)
      if (reply === null) writer.note('replies without content', record.line)
      else writer.reply(reply, [origin])
      const id = `${origin.id ?? `line-${record.line}`}-end`
      // If there is a reply, the interruption or failure follows it.
      const next = reply === null ? { ...origin, id } : { line: origin.line, id, time: origin.time }
      for (const block of objectsOf(message['content'])) {
        const { partialJson, partialArgs, textSignature, thoughtSignature } = block
        if (stringOf(partialJson) !== '' || stringOf(partialArgs) !== '')
          writer.note('streamed arguments of calls', record.line)
        if (stringOf(textSignature) !== '' || stringOf(thoughtSignature) !== '')
          writer.note('signatures of texts and calls', record.line)
      }
      if (message['stopReason'] === 'aborted') {
        writer.add({ kind: 'InterruptEvent', source: 'user' }, next)
        if (stringOf(message['errorMessage']) !== '') writer.note('interruption messages', record.line)
      }
      if (message['stopReason'] === 'error')
        writer.failure('model_error', stringOf(message['errorMessage']), next)
      return
    }
    case 'toolResult': {
      if ((message['details'] ?? null) !== null) writer.note(TOOL_METADATA, record.line)
      const id = stringOf(message['toolCallId'])
      const callId = writer.hasCall(id) ? id : callIn(id)
      const tool = stringOf(message['toolName']) || 'unknown'
      return writer.result(
        { callId, tool, content: contentIn(), isError: message['isError'] === true },
        origin,
      )
    }
    case 'bashExecution': {
      if (message['excludeFromContext'] === true) return keepAside('bashExecution', message, origin, writer)
      // The user ran this command. The model sees it, but did not call it.
      const text = `$ ${stringOf(message['command'])}\n${stringOf(message['output'])}`
      writer.say('user', contentOf(text), origin)
      if (moreOf(message, 'role', 'command', 'output', 'timestamp') !== null)
        writer.note('results of user commands', record.line)
      return
    }
    case 'system':
      return readSystem(message, origin, writer)
    case 'custom':
    case 'hookMessage':
    case 'branchSummary':
    case 'compactionSummary': {
      const content = contentIn()
      writer.say('environment', content.length > 0 ? content : contentOf(message['summary']), origin)
      return
    }
    default:
      return writer.keep(record, `unknown message role ${JSON.stringify(message['role'])}`)
  }
}

function readSystem(message: RawObject, origin: Origin, writer: SessionWriter): void {
  const text = textIn(message['content'])
  if (text === '') return keepAside('system', message, origin, writer)
  writer.prompt(text, origin)
}

const idsOf = (places: readonly Place[]): ReadonlySet<string> => new Set(places.map(({ id }) => id))

/** Reads a compaction. It contains copies of the kept messages or, in older files, names the first kept entry. */
function readCompaction(entry: RawObject, record: SessionRecord, origin: Origin, tree: Tree): void {
  const { writer, messages } = tree
  const sight = writer.inSight(origin.after)
  const summary = stringOf(entry['summary'])
  if (!Array.isArray(entry['retainedTail']))
    return writer.condense(idsOf(keptFrom(entry, sight, tree)), summary, origin)
  const copies = objectsOf(entry['retainedTail'])
  const retained = new Set(copies.map((message) => JSON.stringify(message)))
  const textOf = ({ line }: Place): string => JSON.stringify(messages.get(line) ?? null)
  const known = new Set(sight.map(textOf))
  const isKnown = [...retained].every((text) => known.has(text))
  writer.condense(idsOf(isKnown ? sight.filter((item) => retained.has(textOf(item))) : []), summary, origin)
  // If one copy is changed, all copies are added as new messages, so that calls keep their results.
  for (const [index, { usage: _, ...message }] of isKnown ? [] : copies.entries()) {
    const id = `${origin.id ?? `line-${origin.line}`}.${index}`
    readMessage(message, record, { line: origin.line, id, time: origin.time }, tree)
  }
}

/** Returns the places that a compaction kept. `entry` has the id of the first kept entry (in version 1, its index). */
function keptFrom(entry: RawObject, sight: readonly Place[], { lines, firsts }: Tree): readonly Place[] {
  const index = entry['firstKeptEntryIndex']
  const line = typeof index === 'number' ? index + 1 : lines.get(stringOf(entry['firstKeptEntryId']))
  const from = line === undefined ? -1 : sight.findIndex(({ id }) => (firsts.get(id) ?? 0) >= line)
  return from < 0 ? [] : sight.slice(from)
}

/** Reads an edit. If `replacement` is null, removes the edited entry from the view; else quarantines the edit. */
function readEdit(entry: RawObject, record: SessionRecord, origin: Origin, { writer, lines }: Tree): void {
  const target = lines.get(stringOf(entry['targetId']))
  if (target === undefined || entry['replacement'] !== null)
    return writer.keep(record, 'an unreadable edit of the context')
  const remaining = writer.inSight(origin.after).filter(({ line }) => line !== target)
  writer.condense(idsOf(remaining), '', origin)
}

function replyOf(message: RawObject, entry: string, hasResult: HasResult): Reply | null {
  const blocks = listOfBlocks(message['content'], 'text')
  if (blocks.length === 0) return null
  const reply = readReply(message, blocks, stringOf(message['responseId']) || `reply-${entry}`)
  const why = ENDED_EARLY.get(message['stopReason'])
  return why === undefined ? reply : withoutCalls(reply, why, hasResult)
}

/** Maps a stop reason to the text that explains why the reply's calls were not executed. */
const ENDED_EARLY: ReadonlyMap<unknown, string> = new Map([
  ['aborted', 'its reply was interrupted'],
  ['error', 'its reply failed'],
])

/** Returns the reply with an error result for each call without a result, so that no call is executed. */
function withoutCalls(reply: Reply, why: string, hasResult: HasResult): Reply {
  const withError = new Set(
    reply.events.map((event) => (event.kind === 'AgentErrorEvent' ? event.tool_call_id : '')),
  )
  const errors: AgentErrorEvent[] = []
  const events = reply.events.map((event) => {
    if (event.kind !== 'ActionEvent' || hasResult(event.tool_call_id)) return event
    const { tool_name, tool_call_id } = event
    const error = `The call was not executed: ${why}.`
    if (!withError.has(tool_call_id))
      errors.push({ kind: 'AgentErrorEvent', source: 'environment', tool_name, tool_call_id, error })
    return { ...event, action: null }
  })
  return { ...reply, events: [...events, ...errors] }
}

function readReply(message: RawObject, blocks: readonly RawObject[], id: string): Reply {
  const model = stringOf(message['model'])
  const api = stringOf(message['api'])
  const usage = objectOf(message['usage'])
  const count = (field: string): number => (typeof usage[field] === 'number' ? usage[field] : 0)
  const [cached, written] = [count('cacheRead'), count('cacheWrite')]
  // Usage beyond the counts, such as costs, is kept in the provider's fields.
  const more = moreOf(usage, ...PI_COUNTS)
  if (api.startsWith('anthropic') || (api === '' && message['provider'] === 'anthropic'))
    return fromAnthropic({
      id,
      model,
      content: blocks.map(anthropicBlock),
      stop_reason: stopOf(message, 'tool_use', 'end_turn', 'max_tokens'),
      usage: {
        ...more,
        input_tokens: count('input'),
        output_tokens: count('output'),
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
      },
    } as Parameters<typeof fromAnthropic>[0])
  const input = count('input') + cached + written
  const details = { cached_tokens: cached, cache_write_tokens: written }
  if (api.startsWith('openai-responses') || api.startsWith('openai-codex'))
    return fromOpenAIResponses({
      id,
      model,
      status: message['stopReason'] === 'length' ? 'incomplete' : 'completed',
      output: blocks.map(responsesItem),
      usage: { ...more, input_tokens: input, output_tokens: count('output'), input_tokens_details: details },
    } as Parameters<typeof fromOpenAIResponses>[0])
  return fromOpenAIChat({
    id,
    model,
    choices: [
      { message: chatMessage(blocks), finish_reason: stopOf(message, 'tool_calls', 'stop', 'length') },
    ],
    usage: {
      ...more,
      prompt_tokens: input,
      completion_tokens: count('output'),
      prompt_tokens_details: details,
    },
  } as Parameters<typeof fromOpenAIChat>[0])
}

const PI_COUNTS = ['input', 'output', 'cacheRead', 'cacheWrite', 'totalTokens'] as const

function stopOf({ stopReason }: RawObject, calls: string, end: string, limit: string): string {
  return stopReason === 'toolUse' ? calls : stopReason === 'length' ? limit : end
}

function anthropicBlock(block: RawObject): object {
  const { type, thinking, thinkingSignature: signature, redacted, id, name } = block
  if (type === 'thinking' && redacted === true) return { type: 'redacted_thinking', data: signature ?? '' }
  if (type === 'thinking')
    return { type, thinking, ...(typeof signature === 'string' && signature !== '' ? { signature } : {}) }
  return type === 'toolCall'
    ? { type: 'tool_use', id, name, input: block['arguments'] }
    : textOnly(block, 'text')
}

/** Removes the item id of a text, because no grammar accepts it. */
const textOnly = (block: RawObject, type: string): object =>
  isTextBlock(block) ? { type, text: block['text'] } : block

const isThought = ({ type, thinking }: RawObject): boolean =>
  type === 'thinking' && typeof thinking === 'string'

const callIn = (id: string): string => id.split('|')[0] ?? ''

function responsesItem(block: RawObject): object {
  const { type, thinking, thinkingSignature: signature, id, name } = block
  if (isThought(block))
    return itemIn(signature) ?? { type: 'reasoning', summary: [{ type: 'summary_text', text: thinking }] }
  if (isTextBlock(block))
    return { type: 'message', role: 'assistant', content: [textOnly(block, 'output_text')] }
  if (type !== 'toolCall') return block
  const call_id = callIn(stringOf(id))
  const item = stringOf(id).split('|')[1]
  const args = JSON.stringify(block['arguments'] ?? {})
  return {
    type: 'function_call',
    call_id,
    name,
    arguments: args,
    ...(item === undefined ? {} : { id: item }),
  }
}

function itemIn(signature: unknown): object | null {
  const item = objectOf(parseJson(stringOf(signature)))
  return item['type'] === 'reasoning' ? item : null
}

function chatMessage(blocks: readonly RawObject[]): object {
  const content: object[] = []
  const calls: object[] = []
  let reasoning = ''
  for (const block of blocks) {
    const { type, id, name, arguments: input } = block
    if (isThought(block)) reasoning += stringOf(block['thinking'])
    else if (type !== 'toolCall') content.push(textOnly(block, 'text'))
    // An object is passed as it is, so that its text need not be parsed again.
    else
      calls.push({
        id,
        type: 'function',
        function: { name, arguments: frozenInput(input) ?? JSON.stringify(input ?? {}) },
      })
  }
  return {
    role: 'assistant',
    content,
    // Named `reasoning`, because the log does not record whether the server expects the text back.
    ...(reasoning === '' ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
