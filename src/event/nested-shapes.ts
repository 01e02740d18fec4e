/** The table of where events carry the contract's shapes and what defaults those have, and the walk over it. */

import { copyJson } from './freeze.ts'
import { type JsonObject, isOpenPart, type OpenPart } from './shapes.ts'
import type { Event } from './types.ts'
import { editEach, editObject } from './json.ts'
import { type EventKind, KINDS } from './kinds.ts'

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

/**
 * A deep-frozen copy of a decoded event in which every default of the contract (interface 2.2 and 2.3) is written
 * out: the source, the empty lists, `cache_prompt: false` and the like. What is given stays as it is and comes
 * first; id, timestamp and parent have no default, and neither have fields that are null when they say nothing.
 * O(size).
 *
 * @example
 * withDefaults({ kind: 'PauseEvent', id: 'p1' }) // { kind: 'PauseEvent', id: 'p1', source: 'user' }
 */
export function withDefaults<E extends Event>(event: E): E {
  const filled = walkShapes(event as object as JsonObject, shapeOfKind(event.kind), fill)
  // The copy changes no type: it holds the fields given, and defaults that the type allows.
  return copyJson(filled).value as object as E
}

function fill(given: JsonObject, { defaults }: Shape): JsonObject {
  const missing = Object.entries(defaults).filter(([key]) => !Object.hasOwn(given, key))
  return missing.length === 0 ? given : { ...given, ...Object.fromEntries(missing) }
}
