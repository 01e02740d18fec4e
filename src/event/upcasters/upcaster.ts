/** The form of an upcaster: raw JSON of an older or foreign dialect in, the same fact in today's shape out. */

import { actionChecks, observationChecks } from '../published/payload-schema.ts'
import type { EventKind } from '../kinds.ts'
import type { JsonObject } from '../shapes.ts'

/**
 * One step from a dialect towards today's shape. Pure and total: every JSON object may come in, none is ever changed,
 * and an event that needs no such step comes out as the very same object. A second run changes nothing.
 */
export interface Upcaster {
  /** The dialect and the step, as warnings name it. */
  readonly name: string
  /** What is odd in the dialect and what becomes of it. Whatever is taken out is said here. */
  readonly description: string
  /** The kinds of event it can concern; it leaves others alone. */
  readonly kinds: readonly EventKind[]
  readonly applies: (raw: JsonObject) => boolean
  readonly upcast: (raw: JsonObject) => JsonObject
}

/**
 * An upcaster made of one change, which gives back the very same object where it has nothing to do. It is run on
 * the given kinds only.
 */
export function upcaster(
  name: string,
  kinds: readonly EventKind[],
  description: string,
  change: (raw: JsonObject) => JsonObject,
): Upcaster {
  const concerned: ReadonlySet<unknown> = new Set(kinds)
  const upcast = (raw: JsonObject): JsonObject => (concerned.has(raw['kind']) ? change(raw) : raw)
  return Object.freeze({
    name,
    description,
    kinds: Object.freeze(kinds),
    applies: (raw: JsonObject) => upcast(raw) !== raw,
    upcast,
  })
}

/** How a built-in tool is called on the wire. */
interface ToolNames {
  readonly tool: string
  readonly action: string
  readonly observation: string
}

/** Tools whose class is not their name in capitals, and names that tools had before. */
const STEMS: Readonly<Record<string, string>> = {
  execute_bash: 'Terminal',
  str_replace_editor: 'FileEditor',
  switch_llm: 'SwitchLLM',
  inspect_image_with_vision: 'VisionInspect',
}

/**
 * The names that go with a built-in tool; undefined for a tool that is none. O(length).
 *
 * @example
 * namesOfTool('file_editor')?.action // 'FileEditorAction'
 * namesOfTool('fetch_fetch') // undefined
 */
export function namesOfTool(name: string): ToolNames | undefined {
  const stem = Object.hasOwn(STEMS, name)
    ? STEMS[name]
    : name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const action = `${stem}Action`
  if (!actionChecks.has(action)) return undefined
  const own = `${stem}Observation`
  // The browser's tools share one kind of observation.
  return { tool: `${stem}Tool`, action, observation: observationChecks.has(own) ? own : 'BrowserObservation' }
}
