import { checkOneOf, checkOptionNames, invalid, invalidArgument } from '../event/check-value.ts'
import { copyJson, freezePart, MAX_DEPTH } from '../event/freeze.ts'
import { isObject, parseJson } from '../event/json.ts'
import { isEventKind } from '../event/kinds.ts'
import type { JsonValue } from '../event/shapes.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { readAnthropic, readOpenAIChat, readOpenAIResponses, readUIMessages } from './arrays.ts'
import { readAtif } from './atif.ts'
import { readClaudeCode } from './claude-code.ts'
import { readCodex } from './codex.ts'
import { readGeminiCli } from './gemini-cli.ts'
import { readPi } from './pi.ts'
import type { Session, SessionFormat, SessionRecord, UnfitRecord } from './session.ts'

const READERS: Readonly<Record<SessionFormat, (records: readonly SessionRecord[]) => Session>> = {
  'claude-code': readClaudeCode,
  codex: readCodex,
  pi: readPi,
  'gemini-cli': readGeminiCli,
  atif: readAtif,
  'ui-messages': readUIMessages,
  anthropic: readAnthropic,
  'openai-chat': readOpenAIChat,
  'openai-responses': readOpenAIResponses,
}

const readable = (record: SessionRecord): SessionRecord | UnfitRecord =>
  record.value === undefined || freezePart(record.value)
    ? record
    : { ...record, value: undefined, unfit: whyUnfit(record.value) }

const RECORD_START = /\{"(?:parentUuid|type|timestamp|ordinal|id|\$set)":/g
const MAX_STARTS = 32

/** Fields that agents write in records, but not in the objects inside them. */
const OF_RECORDS = ['sessionId', 'payload', 'parentId', '$set']

/**
 * Splits a line that a killed writer left incomplete, and to which the next writer appended a whole record: the
 * incomplete record, then the whole one. If no whole record follows, returns the line unchanged. An object directly
 * after `:`, `,` or `[` is part of the incomplete record, unless it has a field of {@link OF_RECORDS}.
 */
function splitTorn(record: SessionRecord): readonly SessionRecord[] {
  const starts = record.value === undefined ? [...record.raw.matchAll(RECORD_START)] : []
  for (const { index } of starts.slice(0, MAX_STARTS)) {
    const [torn, raw] = [record.raw.slice(0, index), record.raw.slice(index)]
    const value = parseJson(raw)
    if (isObject(value) && (!/[[:,]\s*$/.test(torn) || OF_RECORDS.some((field) => field in value)))
      return [
        { ...record, raw: torn },
        { ...record, raw, value },
      ]
  }
  return [record]
}

/** Explains why no event can contain `value`. An event adds levels of nesting around the value. */
function whyUnfit(value: JsonValue): string {
  return copyJson(value).issues.some(({ type }) => type !== 'recursion_depth')
    ? 'JSON with a number that is too large'
    : `JSON nested too deeply for an event, whose maximum is ${MAX_DEPTH} levels`
}

/**
 * Reads a recorded session as a log. The log has whole replies, calls with results, branches, and a
 * condensation for each compaction. No parsed value is lost silently: unknown records are quarantined,
 * repeated ones are counted in `notes`, and metadata records become `ConversationStateUpdateEvent`s whose
 * keys begin with the format. Equal files result in equal logs. O(size).
 * @param records in the order of the file; their JSON values become part of the facts, and are frozen
 * @param options `from`: the format; by default it is detected
 * @throws ColloquyError `invalid_argument` if the format cannot be detected, or `from` is unknown.
 * @example
 * const raw = '{"role":"user","content":"hi"}'
 * const session = readSession([{ line: 1, raw, value: JSON.parse(raw) }])
 * session.format // 'openai-chat'
 * session.facts[0].fact.kind // 'MessageEvent'
 */
export function readSession(
  records: readonly SessionRecord[],
  options: { readonly from?: SessionFormat } = {},
): Session {
  checkOptionNames(options, 'from')
  const from = checkOneOf('from', options.from, Object.keys(READERS) as SessionFormat[], invalidArgument)
  const format = from ?? detectSession(records.slice(0, MAX_DETECTED).map(({ value }) => value))
  if (format !== null) return READERS[format](records.flatMap(splitTorn).map(readable))
  throw invalid('The session format cannot be detected. Pass the format as `from`.', { field: 'from' })
}

const MAX_DETECTED = 32

/**
 * Returns the format of a session; null if it is unknown, or if the values are this library's events. Reads
 * at most 32 records. O(size of these records).
 * @param values the JSON of a file's first lines, of an array's first elements, or of one document
 * @example
 * detectSession([{ type: 'session', version: 3, id: 's1' }]) // 'pi'
 * detectSession([{ kind: 'PauseEvent' }]) // null
 */
export function detectSession(values: readonly (JsonValue | undefined)[]): SessionFormat | null {
  const fields = values.slice(0, MAX_DETECTED).map(objectOf)
  const [first] = fields.filter((one) => Object.keys(one).length > 0)
  if (first === undefined || isEvent(first)) return null
  // The first messages of an array may be less specific than later ones.
  return SIGNS.find(([, matches]) => fields.some(matches))?.[0] ?? null
}

/** Whether an object is an event. Chats of Gemini CLI have a field `kind` too. */
const isEvent = ({ kind, ...fields }: RawObject): boolean =>
  typeof kind === 'string' &&
  !('type' in fields) &&
  !('messages' in fields) &&
  (isEventKind(kind) || !('sessionId' in fields))

const CODEX: ReadonlySet<unknown> = new Set([
  'session_meta',
  'response_item',
  'event_msg',
  'turn_context',
  'compacted',
])

const CLAUDE: ReadonlySet<unknown> = new Set([
  'summary',
  'file-history-snapshot',
  'permission-mode',
  'queue-operation',
  'last-prompt',
  'mode',
])

const messagesIn = (fields: RawObject): readonly RawObject[] => objectsOf(fields['messages'])

const hasType = (content: unknown, ...types: readonly string[]): boolean =>
  objectsOf(content).some(({ type }) => types.includes(stringOf(type)))

/**
 * Checks for the formats, in order. The first match counts, so specific checks precede general checks. Null marks
 * formats that cannot be read.
 */
const SIGNS: readonly (readonly [SessionFormat | null, (fields: RawObject) => boolean])[] = [
  ['atif', (fields) => stringOf(fields['schema_version']).startsWith('ATIF')],
  // Qwen Code writes the lines of Claude Code, but the messages of Gemini.
  [null, (fields) => 'sessionId' in fields && Array.isArray(objectOf(fields['message'])['parts'])],
  [
    'claude-code',
    (fields) => 'sessionId' in fields && ('parentUuid' in fields || CLAUDE.has(fields['type'])),
  ],
  [
    'claude-code',
    ({ type, ...fields }) => CLAUDE.has(type) && ('leafUuid' in fields || 'snapshot' in fields),
  ],
  ['claude-code', (fields) => Array.isArray(fields['loglines'])],
  ['codex', (fields) => CODEX.has(fields['type']) && typeof fields['payload'] === 'object'],
  [
    'pi',
    (fields) => fields['type'] === 'session' && typeof fields['id'] === 'string' && !('messages' in fields),
  ],
  [
    'gemini-cli',
    (fields) => 'sessionId' in fields && ('projectHash' in fields || Array.isArray(fields['messages'])),
  ],
  [null, isUnread],
  ['openai-responses', isResponses],
  ['openai-chat', (fields) => Array.isArray(fields['choices'])],
  ['ui-messages', isUI],
  ['anthropic', isAnthropic],
  ['openai-chat', isChat],
]

/**
 * Whether a message has calls or results of Bedrock, the AI SDK's model messages, LangChain, Goose or the OpenAI
 * Agents SDK, or has a type but no role, as in Grok Build. These formats are not supported. If a reader of a
 * similar format read them, it would lose the calls.
 */
function isUnread(fields: RawObject): boolean {
  const { type } = fields
  const parts = objectsOf(fields['content'])
  return (
    type === 'function_call_result' ||
    (ROLES.has(type) && 'content' in fields && !('role' in fields)) ||
    hasType(parts, 'tool-call', 'tool-result', 'tool_call', 'toolCall', 'toolRequest', 'toolResponse') ||
    parts.some((part) => 'toolUse' in part || 'toolResult' in part) ||
    messagesIn(fields).some(isUnread)
  )
}

function isResponses(fields: RawObject): boolean {
  const { type, role } = fields
  if (fields['object'] === 'response' || (type === undefined && Array.isArray(fields['input']))) return true
  if (typeof role === 'string') return hasType(fields['content'], 'input_text', 'output_text', 'input_image')
  // Events of OpenCode have some of these types, but contain the item in a field.
  return ITEMS.has(type) && ['id', 'call_id', 'summary'].some((field) => field in fields)
}

const ITEMS: ReadonlySet<unknown> = new Set([
  'function_call',
  'function_call_output',
  'reasoning',
  'web_search_call',
])

function isUI(fields: RawObject): boolean {
  if (typeof fields['role'] === 'string') return hasParts(fields) || 'toolInvocations' in fields
  return messagesIn(fields).some(isUI)
}

const hasParts = ({ parts }: RawObject): boolean =>
  objectsOf(parts).some(({ type }) => typeof type === 'string')

function isAnthropic(fields: RawObject): boolean {
  if (fields['type'] === 'message' && 'content' in fields) return true
  if (typeof fields['role'] === 'string')
    return hasType(fields['content'], 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'document')
  const messages = messagesIn(fields)
  return messages.length > 0 && (('max_tokens' in fields && 'system' in fields) || messages.some(isAnthropic))
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

function isChat(fields: RawObject): boolean {
  return (
    (ROLES.has(fields['role']) && ('content' in fields || 'tool_calls' in fields)) ||
    messagesIn(fields).some(isChat)
  )
}
