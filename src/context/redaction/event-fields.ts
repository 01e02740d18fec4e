/**
 * The table of what stands where in events: what must stay as it is, what is sealed, and what may be read and masked.
 */

import type { EventKind } from '../../event/kinds.ts'
import type { EventOf } from '../../event/types.ts'

/**
 * How a field is treated. `keep`: as it is. `time`: as it is when it can be read. `name`: as text, but for the tools
 * that the engine knows by name. `arguments`: JSON text that stays JSON. `sealed`: whole or gone. `secret`: every text
 * and number in it is masked as a whole. `bytes`: JSON of whatever shape, in which what encodes a file is noise.
 * `thinking`: blocks that are signed. A shape: an object, or each in a list. `open`: JSON of whatever shape, and so is
 * what no shape lists; the keys that a shape lists are never secrets.
 */
export type Treatment =
  | 'open'
  | 'keep'
  | 'time'
  | 'name'
  | 'arguments'
  | 'sealed'
  | 'secret'
  | 'bytes'
  | 'thinking'
  | Shape

/** Treatments by field. */
export interface Shape {
  readonly [field: string]: Treatment
}

/** What encodes a file stands in these of the fields of a part of another kind than text and images. */
const CONTENT: Shape = {
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

const REASONING: Shape = {
  id: 'keep',
  summary: 'open',
  content: 'open',
  encrypted_content: 'sealed',
  status: 'open',
}

const REPLY: Shape = {
  after: 'keep',
  interrupted: 'keep',
  outcome: 'keep',
  waits: 'keep',
  grammar: 'keep',
  prefix: 'keep',
  tools: 'keep',
  own: 'keep',
  model: 'open',
  stop_reason: 'open',
  tokens: 'keep',
  usage: 'open',
  parts: 'open',
  metadata: 'open',
}

const CALL: Shape = {
  id: 'keep',
  reply: REPLY,
  name: 'name',
  arguments: 'arguments',
  origin: 'keep',
  responses_item_id: 'keep',
}

const CRITIC: Shape = { score: 'keep', message: 'open', metadata: 'open' }

const MESSAGE: Shape = {
  role: 'keep',
  reply: REPLY,
  content: CONTENT,
  tool_calls: CALL,
  tool_call_id: 'keep',
  name: 'open',
  reasoning_content: 'open',
  thinking_blocks: 'thinking',
  responses_reasoning_item: REASONING,
}

const TOOL: Shape = {
  kind: 'keep',
  title: 'open',
  description: 'open',
  action_type: 'keep',
  observation_type: 'keep',
  annotations: 'open',
  meta: 'open',
}

/** What is wrong with a line that is no event. */
export const ISSUE: Shape = { loc: 'open', msg: 'open', type: 'keep', input: 'open' }

/** Fields that say nothing to the engine. */
// oxfmt-ignore
const OPEN_FIELDS = [
  'code', 'detail', 'title', 'status', 'tool_kind', 'raw_input', 'raw_output', 'content', 'is_error', 'summary', 'key',
  'value', 'hook_command', 'success', 'blocked', 'stdout', 'stderr', 'reason', 'additional_context', 'error',
  'hook_input', 'filename', 'log_data', 'model_name', 'usage_id', 'reasoning_content', 'activated_skills', 'sender',
  'rejection_reason',
] as const satisfies readonly EventField[]

/** Every field of every kind; one without a place in the table below does not compile. */
type EventField = { [K in EventKind]: keyof EventOf<K> }[EventKind]

const OTHER_FIELDS: { readonly [F in Exclude<EventField, (typeof OPEN_FIELDS)[number]>]: Treatment } = {
  kind: 'keep',
  id: 'keep',
  parent_id: 'keep',
  timestamp: 'time',
  source: 'keep',
  action_id: 'keep',
  message_id: 'keep',
  tool_call_id: 'keep',
  llm_response_id: 'keep',
  forgotten_event_ids: 'keep',
  summary_offset: 'keep',
  tool_name: 'name',
  tool_call: CALL,
  thought: CONTENT,
  thinking_blocks: 'thinking',
  responses_reasoning_item: REASONING,
  security_risk: 'keep',
  critic_result: CRITIC,
  llm_message: MESSAGE,
  extended_content: CONTENT,
  action: { kind: 'keep' },
  observation: { kind: 'keep', content: CONTENT, is_error: 'keep' },
  rejection_source: 'keep',
  system_prompt: CONTENT,
  dynamic_context: CONTENT,
  tools: TOOL,
  hook_event_type: 'keep',
  exit_code: 'keep',
  prompt_token_ids: 'keep',
  response_token_ids: 'keep',
}

/** The fields of events; none has two meanings in two kinds. */
const EVENT: Shape = {
  ...Object.fromEntries(OPEN_FIELDS.map((field) => [field, 'open'])),
  ...OTHER_FIELDS,
}

/** The keys of state updates that the engine reads, and what of their values it reads. */
const UPDATES: ReadonlyMap<string, Shape> = new Map(
  Object.entries<Shape>({
    execution_status: { value: 'keep' },
    leaf_event_id: { value: 'keep' },
    full_state: {
      value: { execution_status: 'keep', id: 'keep', leaf_event_id: 'keep', last_user_message_id: 'keep' },
    },
    confirmation_policy: { value: { kind: 'keep', threshold: 'keep' } },
    approved_actions: { value: 'keep' },
    held_actions: { value: 'keep' },
    started_actions: { value: 'keep' },
    stats: {},
  }).map(([key, shape]) => [key, { ...EVENT, key: 'keep', ...shape }]),
)

/** A state update whose key names a secret. */
const SECRET_UPDATE: Shape = { ...EVENT, value: 'secret' }

/** The tools that the engine knows by name. */
export const KNOWN_TOOLS: ReadonlySet<string> = new Set(['finish', 'think'])

/**
 * The shape of an event, or of what claims to be one; of a state update by its key, which may itself be the name of a
 * secret. O(1).
 */
export function shapeOf(kind: unknown, key: unknown, isSecretField: (key: string) => boolean): Shape {
  if (kind !== 'ConversationStateUpdateEvent' || typeof key !== 'string') return EVENT
  return UPDATES.get(key) ?? (isSecretField(key) ? SECRET_UPDATE : EVENT)
}
