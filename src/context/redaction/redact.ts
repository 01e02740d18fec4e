import { checkOptionNames } from '../../event/check-value.ts'
import { decodeEvent } from '../../event/decode.ts'
import { copyJson } from '../../event/freeze.ts'
import { deriveEventId } from '../../event/ids.ts'
import type { Issue } from '../../event/issues.ts'
import { isObject, parseJson, setOwn } from '../../event/json.ts'
import { BUILT_IN_TOOLS, type EventKind } from '../../event/kinds.ts'
import { lossesOf } from '../../event/load.ts'
import { type Fact, isQuarantined, type Quarantined } from '../../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { isInstant } from '../../event/time.ts'
import type { Event, EventOf } from '../../event/types.ts'
import { unsignedBlocks, unsignReply } from '../../event/unsign.ts'
import { GRANT_KEYS } from '../../state/call-status.ts'
import { keyNumbers } from './mask.ts'
import { redactField, redactNumber, redactSealed, redactText, ENCRYPTED_FIELD } from './redact-text.ts'
import type { RedactionRules } from './rules.ts'

/** The rules of a redaction, and the exceptions. In a path, `*` means every item of a list. */
interface RedactionWalk {
  readonly rules: RedactionRules
  /** Paths of values and property names that stay unchanged. The path of a property name begins with `key:`. */
  readonly unchanged: ReadonlySet<string>
}

interface Position {
  readonly treatment: Treatment | undefined
  /** Path of the value; not computed, and empty, if `unchanged` is empty. */
  readonly path: string
  readonly isSecret: boolean
}

const ROOT: Position = { treatment: undefined, path: '', isSecret: false }

function redactValue(value: JsonValue, walk: RedactionWalk, position: Position = ROOT): JsonValue {
  const { rules, unchanged } = walk
  const { treatment, path } = position
  if (treatment === 'keep' || (unchanged.size > 0 && unchanged.has(path))) return value
  if (typeof value === 'string') return redactString(value, rules, position)
  if (typeof value === 'number') {
    const digits = String(value)
    return treatment === 'secret' ? redactField(digits, rules) : (redactNumber(digits, rules) ?? value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) return redactObject(value as JsonObject, walk, position)
  const list = value as readonly JsonValue[]
  if (treatment === 'thinking') return redactThinking(list, rules)
  const inside = unchanged.size > 0 ? { ...position, path: `${path}.*` } : position
  return mapChanged(list, (item) => redactValue(item, walk, inside))
}

function redactString(text: string, rules: RedactionRules, { treatment, isSecret }: Position): string | null {
  if (treatment === 'sealed') return redactSealed(text, rules)
  if (treatment === 'arguments') return redactText(text, rules, { json: true })
  if (treatment === 'time' && isInstant(text)) return text
  if (treatment === 'name' && BUILT_IN_TOOLS.has(text)) return text
  if (treatment === 'secret' || isSecret) return redactField(text, rules)
  return redactText(text, rules, { bytes: treatment === 'bytes' })
}

function mapChanged<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | null = null
  for (const [i, item] of list.entries()) {
    const after = change(item)
    if (after !== item) changed ??= list.slice(0, i)
    changed?.push(after)
  }
  return changed ?? list
}

type Entry = [key: string, value: JsonValue]

function redactObject(object: JsonObject, walk: RedactionWalk, { treatment, path }: Position): JsonObject {
  const shape: Treatments = typeof treatment === 'object' ? treatment : {}
  const { rules, unchanged } = walk
  const before = Object.entries(object)
  const after = mapChanged(before, (entry): Entry => {
    const [key, value] = entry
    const isFixed =
      key === ENCRYPTED_FIELD ||
      Object.hasOwn(shape, key) ||
      (unchanged.size > 0 && unchanged.has(`key:${path}.${key}`))
    const redactedKey = isFixed ? key : redactText(key, rules)
    const redacted = redactValue(value, walk, {
      treatment: treatmentOf(key, treatment),
      path: unchanged.size > 0 ? `${path}.${key}` : '',
      isSecret: rules.isSecretField(key) || rules.isSecretField(redactedKey),
    })
    return redacted === value && redactedKey === key ? entry : [redactedKey, redacted]
  })
  if (after === before) return object
  const out: Record<string, JsonValue> = {}
  const uniqueKey = keyNumbers((key) => Object.hasOwn(object, key))
  for (const [i, [key, value]] of after.entries())
    setOwn(out, key === before[i]?.[0] ? key : uniqueKey(key), value)
  return out
}

function treatmentOf(key: string, parent: Treatment | undefined): Treatment | undefined {
  if (key === ENCRYPTED_FIELD) return 'sealed'
  if (typeof parent === 'object') return Object.hasOwn(parent, key) ? parent[key] : undefined
  return parent === 'bytes' || parent === 'secret' ? parent : undefined
}

/**
 * Masks thinking blocks. A provider accepts them only if all are unchanged. So if one block has a secret, all
 * blocks lose their signatures, and encrypted blocks become masks.
 */
function redactThinking(blocks: readonly JsonValue[], rules: RedactionRules): readonly JsonValue[] {
  const texts = blocks.map((block) => redactedThinking(block, rules))
  return texts.every((text) => text === null) ? blocks : unsignedBlocks(blocks, rules.mask, texts)
}

const NO_PATHS: ReadonlySet<string> = new Set()

/** Returns the replacement for a block's text; null if no field of the block contains a secret. */
function redactedThinking(block: JsonValue, rules: RedactionRules): string | null {
  if (!isObject(block)) return null
  const { type: _, thinking, signature, data, ...more } = block
  const isClean = redactValue(more, { rules, unchanged: NO_PATHS }) === more
  const isOpen = (text: JsonValue | undefined): boolean =>
    typeof text === 'string' && redactSealed(text, rules) === null
  if (typeof thinking !== 'string') return isClean && !isOpen(data) ? null : rules.mask(String(data))
  const redacted = redactText(thinking, rules)
  return isClean && redacted === thinking && !isOpen(signature) ? null : redacted
}

type Treatment =
  /** Any JSON. Texts and property names are searched for secrets. Default for fields that no table lists. */
  | 'open'
  | 'keep'
  /** Kept if it is a valid timestamp, else treated as `open`. */
  | 'time'
  /** Kept if it is the name of a built-in tool, else treated as `open`. */
  | 'name'
  /** JSON text, redacted so that it stays valid JSON. */
  | 'arguments'
  /** Encrypted text: kept, or null if it contains a literal secret. */
  | 'sealed'
  /** Each text and number is masked whole. */
  | 'secret'
  /** JSON whose long base64 texts are files. They are searched only for literal secrets, not for patterns. */
  | 'bytes'
  /** Thinking blocks, which are signed. */
  | 'thinking'
  /** One or several objects, with a treatment for each listed field. Names of listed fields are never masked. */
  | Treatments

interface Treatments {
  readonly [field: string]: Treatment
}

const CONTENT: Treatments = {
  type: 'keep',
  text: 'open',
  image_urls: 'open',
  cache_prompt: 'keep',
  data: 'bytes',
  source: 'bytes',
  file: 'bytes',
  file_data: 'bytes',
  input_audio: 'bytes',
}

const REASONING: Treatments = {
  id: 'keep',
  summary: 'open',
  content: 'open',
  encrypted_content: 'sealed',
  status: 'open',
}

const all = (treatment: Treatment, fields: readonly string[]): Treatments =>
  Object.fromEntries(fields.map((field) => [field, treatment]))

// oxfmt-ignore
const REPLY: Treatments = {
  ...all('keep', ['after', 'interrupted', 'outcome', 'output', 'waits', 'grammar', 'prefix', 'tools', 'digest', 'cuts', 'tokens']),
  ...all('open', ['model', 'stop_reason', 'usage', 'parts', 'metadata']),
}

const CALL_SHAPE: Treatments = {
  ...all('keep', ['id', 'origin', 'responses_item_id']),
  reply: REPLY,
  name: 'name',
  arguments: 'arguments',
}

const MESSAGE: Treatments = {
  role: 'keep',
  reply: REPLY,
  completes: { action_id: 'keep', tool_call_id: 'keep', tool_name: 'name', outcome: 'keep' },
  content: CONTENT,
  tool_calls: CALL_SHAPE,
  tool_call_id: 'keep',
  name: 'open',
  reasoning_content: 'open',
  thinking_blocks: 'thinking',
  responses_reasoning_item: REASONING,
}

const TOOL: Treatments = {
  ...all('keep', ['kind', 'action_type', 'observation_type']),
  ...all('open', ['title', 'description', 'annotations', 'meta']),
}

const ISSUE: Treatments = { loc: 'open', msg: 'open', type: 'keep', input: 'open' }

/** Fields with any JSON, in which every text and property name is searched for secrets. */
// oxfmt-ignore
const OPEN_FIELDS = [
  'code', 'detail', 'title', 'status', 'tool_kind', 'raw_input', 'raw_output', 'content', 'is_error', 'summary', 'key',
  'value', 'hook_command', 'success', 'blocked', 'stdout', 'stderr', 'reason', 'additional_context', 'error',
  'hook_input', 'filename', 'log_data', 'model_name', 'usage_id', 'reasoning_content', 'activated_skills', 'sender',
  'rejection_reason',
] as const satisfies readonly EventField[]

/** A field of an event. If the tables below lack a field, the code does not compile. */
type EventField = { [K in EventKind]: keyof EventOf<K> }[EventKind]

/** Fields that are never masked: ids, references, enums and numbers. */
// oxfmt-ignore
const KEPT_FIELDS = [
  'kind', 'id', 'parent_id', 'source', 'action_id', 'message_id', 'tool_call_id', 'llm_response_id',
  'forgotten_event_ids', 'summary_offset', 'security_risk', 'rejection_source', 'hook_event_type', 'exit_code',
  'prompt_token_ids', 'response_token_ids',
] as const satisfies readonly EventField[]

type ListedField = (typeof OPEN_FIELDS)[number] | (typeof KEPT_FIELDS)[number]

const OTHER_FIELDS: { readonly [F in Exclude<EventField, ListedField>]: Treatment } = {
  timestamp: 'time',
  tool_name: 'name',
  tool_call: CALL_SHAPE,
  thought: CONTENT,
  thinking_blocks: 'thinking',
  responses_reasoning_item: REASONING,
  critic_result: { score: 'keep', message: 'open', metadata: 'open' },
  llm_message: MESSAGE,
  extended_content: CONTENT,
  action: { kind: 'keep' },
  observation: { kind: 'keep', content: CONTENT, is_error: 'keep' },
  system_prompt: CONTENT,
  dynamic_context: CONTENT,
  tools: TOOL,
}

/** One table for all kinds of events, because a field has the same meaning in all kinds. */
const EVENT: Treatments = { ...all('open', OPEN_FIELDS), ...all('keep', KEPT_FIELDS), ...OTHER_FIELDS }

const UPDATES: ReadonlyMap<string, Treatments> = new Map(
  Object.entries<Treatments>({
    execution_status: { value: 'keep' },
    leaf_event_id: { value: 'keep' },
    full_state: { value: all('keep', ['execution_status', 'id', 'leaf_event_id', 'last_user_message_id']) },
    confirmation_policy: { value: { kind: 'keep', threshold: 'keep' } },
    ...Object.fromEntries(Object.values(GRANT_KEYS).map((key) => [key, { value: 'keep' }])),
    call_progress: { value: { action_id: 'keep' } },
    stats: {},
  }).map(([key, shape]) => [key, { ...EVENT, key: 'keep', ...shape }]),
)

const SECRET_UPDATE: Treatments = { ...EVENT, value: 'secret' }

function shapeOf(kind: unknown, key: unknown, isSecretField: (key: string) => boolean): Treatments {
  if (kind !== 'ConversationStateUpdateEvent' || typeof key !== 'string') return EVENT
  return UPDATES.get(key) ?? (isSecretField(key) ? SECRET_UPDATE : EVENT)
}

/**
 * Masks every secret in a fact's texts, property names and nested JSON. If a field accepts any value, also
 * masks a number whose digits contain a secret. Returns the same object if it has no secret, else a frozen
 * copy. Masking twice changes nothing. O(size).
 *
 * Ids, references, kinds, roles, times, enums, token ids, and the names of required fields do not change. So
 * the log keeps its view, its status, and its pairs of calls and results. Events and JSON arguments remain
 * valid. A signature covers the whole reply. So a masked reply loses all its signatures, its
 * `encrypted_content` becomes null, and only the kinds of its `parts` are kept. For several events of one
 * reply, use `redactLog`. A redacting store redacts all events of an append together.
 * @example
 * const rules = redactionRules({ fields: ['password'] })
 * const error = { kind: 'AgentErrorEvent', tool_name: 'login', tool_call_id: 'c', error: '{"password":"hunter2"}' }
 * redact(error, rules).error // '{"password":"[redacted]"}'
 * redact({ kind: 'PauseEvent', id: 'p' }, rules) // { kind: 'PauseEvent', id: 'p' }
 */
export function redact<F extends Fact>(fact: F, rules: RedactionRules): F {
  return (isQuarantined(fact) ? redactLine(fact, rules) : redactEvent(fact, rules)) as F
}

/** Options of `redactLog`. */
export interface RedactLogOptions {
  /** Conversation id, from which missing event ids are derived. Default: the empty string. */
  readonly conversationId?: string
  /** Position of the first fact. Default: 0. */
  readonly from?: number
}

/**
 * Redacts each fact of a log as `redact` does, and removes the signatures of all events of a masked reply.
 * Returns the same list if nothing is redacted. A redacted event without an id gets the id that is derived
 * from its original body (design D15), so that references stay valid. O(size).
 * @example
 * redactLog([{ kind: 'PauseEvent' }], redactionRules()) // [{ kind: 'PauseEvent' }]
 */
export function redactLog(
  facts: readonly Fact[],
  rules: RedactionRules,
  options: RedactLogOptions = {},
): readonly Fact[] {
  checkOptionNames(options, 'conversationId from')
  const { conversationId = '', from = 0 } = options
  const replies = redactReplies(facts, rules)
  const redacted = facts.map((fact, i) => {
    const after = replies[i] ?? fact
    if (after === fact || fact.id !== undefined || isQuarantined(fact) || isQuarantined(after)) return after
    return Object.freeze({ ...after, id: deriveEventId(conversationId, from + i, fact) })
  })
  return redacted.every((fact, i) => fact === facts[i]) ? facts : redacted
}

/**
 * Masks events. If an event of a reply is masked, all events of that reply lose their signatures. `masked`
 * contains the response ids of replies with masked events elsewhere in the log; ids from `facts` are added.
 */
export function redactReplies(
  facts: readonly Fact[],
  rules: RedactionRules,
  masked = new Set<string>(),
): readonly Fact[] {
  const redacted = facts.map((fact) => redact(fact, rules))
  for (const [i, fact] of facts.entries()) {
    const after = redacted[i] ?? fact
    if (responseIdOfFact(fact) !== '' && isMasked(jsonOf(fact), jsonOf(after)))
      masked.add(responseIdOfFact(fact))
  }
  if (masked.size === 0) return redacted
  return redacted.map((fact) => {
    if (!masked.has(responseIdOfFact(fact))) return fact
    const unsigned = unsignReply(jsonOf(fact), rules.mask)
    return isMasked(jsonOf(fact), unsigned) ? (copyJson(unsigned).value as object as Event) : fact
  })
}

const jsonOf = (fact: Fact): JsonObject => fact as object as JsonObject

const responseIdOfFact = (fact: Fact): string =>
  !isQuarantined(fact) && fact.kind === 'ActionEvent' ? fact.llm_response_id : ''

export const redactJson = (value: JsonValue, rules: RedactionRules): JsonValue =>
  redactValue(value, { rules, unchanged: NO_PATHS })

function redactEvent(event: Event, rules: RedactionRules): Event {
  const body = jsonOf(event)
  const unchanged = new Set<string>()
  let knownPaths: ReadonlySet<string> | null = null
  for (;;) {
    const redacted = redactBody(body, { rules, unchanged })
    if (redacted === body) return event
    const decoded = decodeEvent(redacted)
    if (decoded.ok && decoded.warnings.length === 0) return decoded.event
    // Actions and observations of known tools have fields that accept only certain values. Such a value is
    // not a secret, and stays, unless the event was already invalid.
    knownPaths ??= new Set(issuesOf(event).map(({ loc }) => loc.join('.')))
    const before = unchanged.size
    for (const { loc, type } of decoded.ok ? decoded.warnings : decoded.issues) {
      if (!knownPaths.has(loc.join('.'))) unchanged.add(`${type === 'missing' ? 'key:' : ''}${pathText(loc)}`)
    }
    if (unchanged.size === before)
      return decoded.ok ? decoded.event : (copyJson(redacted).value as object as Event)
  }
}

function issuesOf(event: Event): readonly Issue[] {
  const decoded = decodeEvent(event)
  return decoded.ok ? decoded.warnings : decoded.issues
}

const pathText = (loc: readonly (string | number)[]): string =>
  loc.map((part) => `.${typeof part === 'number' ? '*' : part}`).join('')

function redactBody(body: JsonObject, walk: RedactionWalk): JsonObject {
  const treatment = shapeOf(body['kind'], body['key'], walk.rules.isSecretField)
  const redacted = redactValue(body, walk, { ...ROOT, treatment }) as JsonObject
  return redacted !== body && isMasked(body, redacted) ? unsignReply(redacted, walk.rules.mask) : redacted
}

function redactLine(line: Quarantined, rules: RedactionRules): Quarantined {
  const raw = redactRaw(line.raw, rules)
  const before = line.issues as object as JsonValue
  const issues = redactValue(before, { rules, unchanged: NO_PATHS }, { ...ROOT, treatment: ISSUE })
  if (raw === line.raw && issues === before) return line
  return Object.freeze({ ...line, raw, issues: copyJson(issues).value as object as Quarantined['issues'] })
}

/** Masks a quarantined line. It may be an event in a later format, so JSON is redacted as an event. */
function redactRaw(raw: string, rules: RedactionRules): string {
  const { value: body, issues } = copyJson(parseJson(raw))
  // JSON that is nested too deeply cannot be walked, and parsing may change numbers.
  if (issues.length > 0 || !isObject(body) || lossesOf(raw, body).length > 0) return redactText(raw, rules)
  const redacted = redactBody(body, { rules, unchanged: NO_PATHS })
  return redacted === body ? raw : JSON.stringify(redacted)
}

/** The fields of a reply that are sent back to the model. */
// oxfmt-ignore
const REPLY_FIELDS = [
  'llm_message', 'thought', 'reasoning_content', 'thinking_blocks', 'responses_reasoning_item', 'tool_name', 'tool_call',
] as const

const isMasked = (before: JsonObject, after: JsonObject): boolean =>
  before !== after &&
  REPLY_FIELDS.some(
    (field) =>
      before[field] !== after[field] && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
