import type { State } from '../state/state.ts'
import { ellipsize, shownOf, tail, textsOf } from './text.ts'
import { checkBound, checkOptionNames } from '../event/check-value.ts'
import { maskSecrets } from '../event/mask.ts'
import { hasText } from '../event/text.ts'
import type { ACPToolCallEvent, ActionEvent, MessageEvent, ToolResultEvent } from '../event/types.ts'
import { EVENT_KINDS, type EventKind, isToolResult, KINDS } from '../event/kinds.ts'
import { type Entry, type EventEntry, eventKindOf, loadedEvent } from '../log/entry.ts'
import { openCallOf } from '../log/open-calls.ts'
import { callsEnded } from '../state/read.ts'
import { resultMessage, resultStatus } from '../messages/results.ts'
import { isObject, ownField } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'

/** Options of a transcript. Lengths are in UTF-16 units. */
export interface TranscriptOptions {
  /** First line of the transcript. Default: `<<RESUMED CONVERSATION>>`. */
  readonly marker?: string
  /**
   * Texts before and after the messages (`header` and `footer`); empty for none. Default: two notes for the
   * model.
   */
  readonly header?: string
  readonly footer?: string
  /** Maximum length. Default: 60,000. */
  readonly maxLength?: number
  /** Maximum length of a message. Default: 8,000. */
  readonly maxMessage?: number
  /** Maximum length of a tool call with its result; 0 omits calls. Default: 2,000. */
  readonly maxTool?: number
}

const MARKER = '<<RESUMED CONVERSATION>>'
const HEADER =
  'This is the record of the conversation so far, oldest first. If it was too long, its beginning is omitted. Do not repeat anything in it.'
const FOOTER = 'This is the end of the record. The conversation continues here.'

const CUT = '...\n'

/**
 * Returns the newest messages, calls and results of HEAD's branch as text, even those that a condensation
 * removed, in at most `maxLength` UTF-16 units. Null if there is no text, or the marker does not fit. O(view +
 * events that fit).
 * @throws ColloquyError `evicted` when a snapshot or `evict` left out a body that would fit;
 *   `invalid_argument` unless each length is a non-negative integer or Infinity.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'Mend the build' }] }
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message }])
 * resumeTranscript(state, { header: '', footer: '' }) // '<<RESUMED CONVERSATION>>\n\n[USER]: Mend the build'
 */
export function resumeTranscript(state: State, options: TranscriptOptions = {}): string | null {
  checkOptionNames(options, 'marker header footer maxLength maxMessage maxTool')
  const { marker = MARKER, header = HEADER, footer = FOOTER } = options
  const maxLength = checkBound('maxLength', options.maxLength ?? 60_000, 0)
  const limits = {
    maxMessage: checkBound('maxMessage', options.maxMessage ?? 8_000, 0),
    maxTool: checkBound('maxTool', options.maxTool ?? 2_000, 0),
  }
  if (maxLength < marker.length) return null
  const body = newest(transcriptBlocks(state, limits), maxLength)
  if (body === '') return null
  const frame = (text: string) =>
    [marker, header, text, footer].filter((part) => part.trim() !== '').join('\n\n')
  const room = maxLength - (frame('x').length - 1)
  if (room > CUT.length) return frame(body.length <= room ? body : CUT + tail(body, room - CUT.length))
  const rest = maxLength - marker.length - 1
  return rest > 0 ? `${marker}\n${tail(body, rest)}` : marker
}

function newest(blocks: Iterable<string>, max: number): string {
  const newestFirst: string[] = []
  let length = 0
  for (const block of blocks) {
    if (!hasText(block)) continue
    newestFirst.push(block)
    length += block.length + 2
    if (length - 2 > max) break
  }
  return newestFirst.toReversed().join('\n\n')
}

type BlockLimits = Required<Pick<TranscriptOptions, 'maxMessage' | 'maxTool'>>

const SHOWN_KINDS: readonly EventKind[] = ['MessageEvent', 'ActionEvent', 'ACPToolCallEvent']
const RESULT_KINDS = EVENT_KINDS.filter((kind) => KINDS[kind].unit === 'result')

/** Yields the newest block first; some are blank. @throws `evicted`. */
function* transcriptBlocks(state: State, limits: BlockLimits): IterableIterator<string> {
  const callOf = callsEnded(state)
  const { pendingCalls } = state.branch
  const results = new Map<number, ToolResultEvent>()
  const shownCalls = new Set<string>()
  let evictedResult: Entry | null = null
  for (let entry: Entry | null = state.log.head; entry !== null; entry = entry.parent) {
    const event = loadedEvent(entry, SHOWN_KINDS)
    if (event === null) {
      if (RESULT_KINDS.some((kind) => kind === eventKindOf(entry))) evictedResult = entry
      continue
    }
    if (isToolResult(event)) {
      const call = callOf(entry as EventEntry<ToolResultEvent>)
      if (call !== null) results.set(call, event)
    } else if (event.kind === 'ActionEvent') {
      const { seq } = entry
      const result = results.get(seq) ?? null
      // If a message completed the call, a condensation can have left only the call in memory.
      if (result === null && openCallOf(pendingCalls, event.tool_call_id, seq) === undefined && evictedResult)
        loadedEvent(evictedResult, RESULT_KINDS)
      yield* callTexts(maskSecrets(event), maskSecrets(result), limits)
    } else if (event.kind === 'MessageEvent') {
      // If a call continues after a message, it is shown before and after the message.
      shownCalls.clear()
      yield messageText(maskSecrets(event), limits)
    } else if (event.kind === 'ACPToolCallEvent' && !shownCalls.has(event.tool_call_id)) {
      const block = acpBlock(maskSecrets(event))
      if (block === null) continue
      shownCalls.add(event.tool_call_id)
      yield toolText(block, limits.maxTool)
    }
  }
}

function messageText({ source, llm_message, extended_content }: MessageEvent, limits: BlockLimits): string {
  const text = textsOf([...(llm_message.content ?? []), ...(extended_content ?? [])]).join('\n')
  const isSpoken = source === 'user' || source === 'agent'
  const who = !isSpoken ? 'ENVIRONMENT' : llm_message.role === 'user' ? 'USER' : 'ASSISTANT'
  return turn(who, text, limits)
}

/** Yields the newest text first: the call with its result, then the thought that preceded the call. */
function* callTexts(call: ActionEvent, result: ToolResultEvent | null, limits: BlockLimits) {
  const finish = finishText(call)
  yield finish === null ? toolText(callBlock(call, result), limits.maxTool) : turn('AGENT', finish, limits)
  yield turn('ASSISTANT', textsOf(call.thought).join('\n'), limits)
}

function turn(who: string, text: string, { maxMessage }: BlockLimits): string {
  const shown = ellipsize(text.trim(), maxMessage)
  return hasText(shown) ? `[${who}]: ${shown}` : ''
}

function callBlock(call: ActionEvent, result: ToolResultEvent | null): ToolBlock {
  const output = result === null ? '' : shownOf(resultMessage(result, call).content).join('\n')
  return {
    name: call.tool_name,
    status: result === null ? 'no result' : resultStatus(result),
    sections: [
      ['input', inputOf(call)],
      ['output', hasText(output) ? output : null],
    ],
  }
}

function finishText({ tool_name, action }: ActionEvent): string | null {
  const message = tool_name === 'finish' ? action?.['message'] : null
  return hasText(message) ? message : null
}

function inputOf({ action, tool_call }: ActionEvent): string | null {
  if ((action ?? null) === null) return hasText(tool_call.arguments) ? tool_call.arguments : null
  const fields = Object.entries(action ?? {}).filter(([name, value]) => name !== 'kind' && value !== null)
  return fields.length === 0 ? null : JSON.stringify(Object.fromEntries(fields))
}

/** Returns the block of an ACP call; null if only its start is known. Outputs 0, false and '' are results too. */
function acpBlock(event: ACPToolCallEvent): ToolBlock | null {
  const { title, tool_kind, status, is_error = false, raw_input = null, raw_output = null } = event
  const content = (event.content ?? []).map(contentText).filter(hasText)
  if (raw_input === null && raw_output === null && !is_error && content.length === 0) return null
  return {
    name: [title, tool_kind].find(hasText) ?? 'tool',
    status: is_error ? 'failed' : hasText(status) ? status : 'completed',
    sections: [
      ['input', raw_input === null ? null : valueText(raw_input)],
      ['content', content.length === 0 ? null : content.join('\n')],
      ['output', raw_output === null ? null : valueText(raw_output)],
    ],
  }
}

const valueText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))

function contentText(block: JsonValue): string {
  if (typeof block === 'string') return block
  if (!isObject(block)) return ''
  const type = field(block, 'type')
  switch (type) {
    case 'content': {
      const inner = block['content']
      // Only one level of wrapping is valid.
      return isObject(inner) && inner['type'] !== 'content' ? contentText(inner) : ''
    }
    case 'text':
      return field(block, 'text') ?? ''
    case 'diff': {
      const what = field(block, 'old_text', 'oldText') === null ? 'write' : 'patch'
      return `[diff ${what}] ${field(block, 'path') ?? ''}\n${field(block, 'new_text', 'newText') ?? ''}`
    }
    case 'terminal':
      return `[terminal ${field(block, 'terminal_id', 'terminalId') ?? ''}]`
    default:
      return `[${type ?? 'content'}]`
  }
}

function field(block: JsonObject, ...names: readonly string[]): string | null {
  const values = names.map((name) => ownField(block, name))
  return values.find((value): value is string => typeof value === 'string') ?? null
}

interface ToolBlock {
  readonly name: string
  readonly status: string
  readonly sections: readonly (readonly [label: string, text: string | null])[]
}

function toolText({ name, status, sections }: ToolBlock, max: number): string {
  const shown = sections.flatMap(([label, text]) =>
    text === null ? [] : [section(label, ellipsize(text, max))],
  )
  return ellipsize(
    [`[TOOL USE: ${ellipsize(name, max)}] (${ellipsize(status, max)})`, ...shown].join('\n'),
    max,
  )
}

const section = (label: string, text: string): string =>
  text.includes('\n') ? `  ${label}:\n${indented(text)}` : `  ${label}: ${text}`

const indented = (text: string): string => `    ${text.trimEnd().replaceAll('\n', '\n    ')}`
