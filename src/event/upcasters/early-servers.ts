/** The first servers (2025) wrote older names; these become today's. */

import { edit, editObject, without } from '../json.ts'
import type { JsonObject, JsonValue } from '../shapes.ts'
import { upcaster, type Upcaster } from './upcaster.ts'

const RENAMED: ReadonlyMap<JsonValue, string> = new Map([
  ['ExecuteBashAction', 'TerminalAction'],
  ['ExecuteBashObservation', 'TerminalObservation'],
  ['StrReplaceEditorAction', 'FileEditorAction'],
  ['StrReplaceEditorObservation', 'FileEditorObservation'],
])

const renameKind = (tool: JsonObject): JsonObject => edit(tool, 'kind', (kind) => RENAMED.get(kind) ?? kind)

/** Steps for the first servers. */
export const EARLY: readonly Upcaster[] = [
  upcaster(
    'early.activated_microagents',
    ['MessageEvent'],
    'activated_microagents is called activated_skills now. A message that has both stays as it is.',
    (raw) => {
      const { activated_microagents: names, activated_skills: skills = null } = raw
      if (names === undefined || skills !== null) return raw
      return { ...without(raw, 'activated_microagents'), activated_skills: names }
    },
  ),
  upcaster(
    'early.condensation_llm_response_id',
    ['Condensation'],
    'A Condensation did not name its LLM response; it gets the empty id.',
    (raw) => ((raw['llm_response_id'] ?? null) === null ? { ...raw, llm_response_id: '' } : raw),
  ),
  upcaster(
    'early.tool_kinds',
    ['ActionEvent', 'ObservationEvent'],
    'ExecuteBash… and StrReplaceEditor… are kinds of Terminal… and FileEditor… now. The name of the tool stays.',
    (raw) => editObject(editObject(raw, 'action', renameKind), 'observation', renameKind),
  ),
]
