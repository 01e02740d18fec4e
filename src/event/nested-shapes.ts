import { copyJson } from './freeze.ts'
import { type JsonObject, isOpenPart, type OpenPart } from './shapes.ts'
import type { Event } from './types.ts'
import { editEach, editObject } from './json.ts'
import { type EventKind, KINDS } from './kinds.ts'

export interface Shape {
  /** The fields' defaults, except those that are null. */
  readonly defaults: JsonObject
  /** Fields with a nested object, or with a list of objects (`each`). `shapeOf` returns an object's shape. */
  readonly inner: readonly (readonly [
    key: string,
    how: 'one' | 'each',
    shapeOf: (value: JsonObject) => Shape,
  ])[]
}

const leaf = (defaults: JsonObject): Shape => ({ defaults, inner: [] })

export const TEXT = leaf({ type: 'text', cache_prompt: false })
const IMAGE = leaf({ type: 'image', cache_prompt: false })
const THINKING = leaf({ type: 'thinking' })
const REDACTED = leaf({ type: 'redacted_thinking' })
const REASONING = leaf({ summary: [] })

const textLeaf = (): Shape => TEXT
const reasoning = (): Shape => REASONING
const ANY_FIELDS = leaf({})
const contentShapeOf = (value: JsonObject): Shape => {
  if (typeof value['type'] === 'string' && isOpenPart(value as OpenPart)) return ANY_FIELDS
  return Object.hasOwn(value, 'image_urls') ? IMAGE : TEXT
}
const thinking = (value: JsonObject): Shape => (Object.hasOwn(value, 'data') ? REDACTED : THINKING)

const MESSAGE: Shape = {
  defaults: { content: [], thinking_blocks: [] },
  inner: [
    ['content', 'each', contentShapeOf],
    ['thinking_blocks', 'each', thinking],
    ['responses_reasoning_item', 'one', reasoning],
  ],
}

const OBSERVATION: Shape = {
  defaults: { content: [], is_error: false },
  inner: [['content', 'each', contentShapeOf]],
}

/** The defaults of each kind, from interface section 2.2. The default source is in the kind table. */
const SHAPES: { readonly [K in EventKind]?: Partial<Shape> } = {
  ACPToolCallEvent: { defaults: { is_error: false } },
  Condensation: { defaults: { forgotten_event_ids: [] } },
  HookExecutionEvent: { defaults: { blocked: false, stdout: '', stderr: '' } },
  LLMCompletionLogEvent: { defaults: { model_name: 'unknown', usage_id: 'default' } },
  ActionEvent: {
    defaults: { thinking_blocks: [], security_risk: 'UNKNOWN' },
    inner: [
      ['thought', 'each', textLeaf],
      ['thinking_blocks', 'each', thinking],
      ['responses_reasoning_item', 'one', reasoning],
    ],
  },
  MessageEvent: {
    defaults: { activated_skills: [], extended_content: [] },
    inner: [
      ['llm_message', 'one', () => MESSAGE],
      ['extended_content', 'each', textLeaf],
    ],
  },
  ObservationEvent: {
    defaults: { extended_content: [] },
    inner: [
      ['observation', 'one', () => OBSERVATION],
      ['extended_content', 'each', textLeaf],
    ],
  },
  UserRejectObservation: {
    defaults: { rejection_reason: 'User rejected the action', rejection_source: 'user' },
  },
  SystemPromptEvent: {
    inner: [
      ['system_prompt', 'one', textLeaf],
      ['dynamic_context', 'one', textLeaf],
    ],
  },
}

export function shapeOfKind(kind: EventKind): Shape {
  return EVENT_SHAPES[kind]
}

const EVENT_SHAPES = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { defaultSource }]): [string, Shape] => {
    const { defaults = {}, inner = [] } = SHAPES[kind as EventKind] ?? {}
    return [kind, { defaults: { ...(defaultSource && { source: defaultSource }), ...defaults }, inner }]
  }),
) as { readonly [K in EventKind]: Shape }

/** Applies `change` to nested objects, innermost first, then to the value. Shares unchanged objects. */
export function walkShapes(
  value: JsonObject,
  shape: Shape,
  change: (value: JsonObject, shape: Shape) => JsonObject,
): JsonObject {
  let result = value
  for (const [key, how, shapeOf] of shape.inner) {
    const deeper = (inner: JsonObject): JsonObject => walkShapes(inner, shapeOf(inner), change)
    result = how === 'one' ? editObject(result, key, deeper) : editEach(result, key, deeper)
  }
  return change(result, shape)
}

/**
 * Returns a deep-frozen copy of an event with all defaults from interface sections 2.2 and 2.3. Existing
 * fields stay unchanged and precede the added fields. Ids, timestamps, parents and defaults of null are not
 * added. O(size).
 * @example
 * withDefaults({ kind: 'PauseEvent', id: 'p1' }) // { kind: 'PauseEvent', id: 'p1', source: 'user' }
 */
export function withDefaults<E extends Event>(event: E): E {
  const filled = walkShapes(event as object as JsonObject, shapeOfKind(event.kind), fillDefaults)
  // The copy keeps the type: it has the same fields, and defaults that the type allows.
  return copyJson(filled).value as object as E
}

function fillDefaults(object: JsonObject, { defaults }: Shape): JsonObject {
  const missing = Object.entries(defaults).filter(([key]) => !Object.hasOwn(object, key))
  return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) }
}
