/** The table of where events carry the contract's shapes and what defaults those have, and the walk over it. */

import { isOpenPart } from './content.ts'
import { editEach, editObject } from './json.ts'
import { type EventKind, KINDS } from './kinds.ts'
import type { JsonObject, OpenPart } from './shapes.ts'

/** What an object is by the contract, as far as defaults go. */
export interface Shape {
  /** The fields that have a default which is not null, and that default. */
  readonly defaults: JsonObject
  /** The fields that hold further shapes, one or a list of them, told apart by what stands in them. */
  readonly inner: readonly (readonly [
    key: string,
    how: 'one' | 'each',
    shapeOf: (value: JsonObject) => Shape,
  ])[]
}

const leaf = (defaults: JsonObject): Shape => ({ defaults, inner: [] })

/** The shape of a piece of text. */
export const TEXT = leaf({ type: 'text', cache_prompt: false })
const IMAGE = leaf({ type: 'image', cache_prompt: false })
const THINKING = leaf({ type: 'thinking' })
const REDACTED = leaf({ type: 'redacted_thinking' })
const REASONING = leaf({ summary: [] })

const text = (): Shape => TEXT
const reasoning = (): Shape => REASONING
const OPEN = leaf({})
const content = (value: JsonObject): Shape => {
  if (typeof value['type'] === 'string' && isOpenPart(value as OpenPart)) return OPEN
  return Object.hasOwn(value, 'image_urls') ? IMAGE : TEXT
}
const thinking = (value: JsonObject): Shape => (Object.hasOwn(value, 'data') ? REDACTED : THINKING)

const MESSAGE: Shape = {
  defaults: { content: [], thinking_blocks: [] },
  inner: [
    ['content', 'each', content],
    ['thinking_blocks', 'each', thinking],
    ['responses_reasoning_item', 'one', reasoning],
  ],
}

const OBSERVATION: Shape = {
  defaults: { content: [], is_error: false },
  inner: [['content', 'each', content]],
}

/** What interface 2.2 gives a kind beyond its default source, which stands in the table of kinds. */
const SHAPES: { readonly [K in EventKind]?: Partial<Shape> } = {
  ACPToolCallEvent: { defaults: { is_error: false } },
  Condensation: { defaults: { forgotten_event_ids: [] } },
  HookExecutionEvent: { defaults: { blocked: false, stdout: '', stderr: '' } },
  LLMCompletionLogEvent: { defaults: { model_name: 'unknown', usage_id: 'default' } },
  ActionEvent: {
    defaults: { thinking_blocks: [], security_risk: 'UNKNOWN' },
    inner: [
      ['thought', 'each', text],
      ['thinking_blocks', 'each', thinking],
      ['responses_reasoning_item', 'one', reasoning],
    ],
  },
  MessageEvent: {
    defaults: { activated_skills: [], extended_content: [] },
    inner: [
      ['llm_message', 'one', () => MESSAGE],
      ['extended_content', 'each', text],
    ],
  },
  ObservationEvent: {
    defaults: { extended_content: [] },
    inner: [
      ['observation', 'one', () => OBSERVATION],
      ['extended_content', 'each', text],
    ],
  },
  UserRejectObservation: {
    defaults: { rejection_reason: 'User rejected the action', rejection_source: 'user' },
  },
  SystemPromptEvent: {
    inner: [
      ['system_prompt', 'one', text],
      ['dynamic_context', 'one', text],
    ],
  },
}

/** The shape of an event of a kind, in which every default of the contract stands. O(1). */
export function shapeOfKind(kind: EventKind): Shape {
  return EVENT_SHAPES[kind]
}

const EVENT_SHAPES = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { defaultSource }]): [string, Shape] => {
    const { defaults = {}, inner = [] } = SHAPES[kind as EventKind] ?? {}
    return [kind, { defaults: { ...(defaultSource && { source: defaultSource }), ...defaults }, inner }]
  }),
) as { readonly [K in EventKind]: Shape }

/**
 * Applies a change to an object and to every shape inside it, the innermost first. The very same object comes back
 * when nothing changes; what has not the form that its shape asks for stays as it is. O(shapes).
 */
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
