/** The names of the built-in tools, with their classes, actions and observations. */

import { actionChecks, observationChecks } from '../published/payload-schema.ts'

/** How a built-in tool is called on the wire. */
export interface ToolNames {
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
