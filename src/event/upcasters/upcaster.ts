/**
 * Upcaster interface: raw JSON of an older or foreign dialect becomes the same fact in the interface's shape.
 */

import { actionChecks, observationChecks } from '../published/payload-schema.ts'
import type { EventKind } from '../kinds.ts'
import type { JsonObject } from '../shapes.ts'

/**
 * One step from a dialect towards the interface. Pure, total, idempotent: accepts every JSON object, and
 * returns the same object if nothing changes.
 */
export interface Upcaster {
  readonly name: string
  /** What is unusual in the dialect and what happens to it, including every removed field. */
  readonly description: string
  readonly kinds: readonly EventKind[]
  readonly applies: (raw: JsonObject) => boolean
  readonly upcast: (raw: JsonObject) => JsonObject
}

/** Makes an upcaster of one change, for these kinds only; unaffected events stay the same object. */
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

interface ToolNames {
  readonly tool: string
  readonly action: string
  readonly observation: string
}

/** Tools whose class is not their name in capitals, and former names of tools. */
const STEMS: Readonly<Record<string, string>> = {
  execute_bash: 'Terminal',
  str_replace_editor: 'FileEditor',
  switch_llm: 'SwitchLLM',
  classify_and_switch_llm: 'ClassifyAndSwitchLLM',
  inspect_image_with_vision: 'VisionInspect',
}

/**
 * Returns the names of a built-in tool; undefined for any other tool. O(length).
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
  const observation = `${stem}Observation`
  // The browser's tools share one kind of observation.
  return {
    tool: `${stem}Tool`,
    action,
    observation: observationChecks.has(observation) ? observation : 'BrowserObservation',
  }
}
