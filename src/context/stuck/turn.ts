/** One step of the agent in a form that can be compared: its calls and what came of them. */

import { canonicalJson } from '../../event/encode.ts'
import { KINDS } from '../../event/kinds.ts'
import type { ActionEvent, ToolResultEvent } from '../../event/types.ts'
import { unreachable } from '../../event/errors.ts'
import type { BatchUnit } from '../../view/unit.ts'
import { textsOf } from '../said-text.ts'

/** A step. Calls that one reply makes at once are one step, in whatever order and however often it makes them. */
export interface Turn {
  readonly unit: BatchUnit
  /** Whether nothing but errors came of it: of the scaffold, or as a tool told them. */
  readonly failed: boolean
  /** What it did, as a text that equal steps share. */
  readonly calls: () => string
  /** What it did and what came of each call. */
  readonly whole: () => string
}

/** A step; the texts are worked out when they are asked for, once. */
export const turnOf = (unit: BatchUnit): Turn => ({
  unit,
  failed: Array.from(unit.results, ({ entry }) => errorOf(entry.event)).every((error) => error !== null),
  calls: once(() => setOf(Array.from(unit.calls, ({ event }) => callKey(event)))),
  whole: once(() =>
    setOf(Array.from(unit.results, ({ entry, call }) => `${callKey(call.event)} ${resultKey(entry.event)}`)),
  ),
})

/** Whether two steps made the same calls. */
export const didSame = (one: Turn, other: Turn): boolean => one.calls() === other.calls()

/**
 * Whether two steps made the same calls and the same came of them; what came is read only where the calls are equal.
 */
export const isSame = (one: Turn, other: Turn): boolean =>
  didSame(one, other) && one.whole() === other.whole()

/** What a result tells of an error; null where there is none. */
export function errorOf(result: ToolResultEvent): string | null {
  if (result.kind === 'AgentErrorEvent') return result.error
  if (result.kind !== 'ObservationEvent' || result.observation.is_error !== true) return null
  return textsOf(result.observation.content ?? []).join('\n')
}

const setOf = (keys: readonly string[]): string => JSON.stringify([...new Set(keys)].toSorted())

/**
 * Who called which tool with what. Thought, ids and summary do not count: words around the same deed are no progress.
 */
function callKey({ source, tool_name, action, tool_call }: ActionEvent): string {
  const by = source ?? KINDS.ActionEvent.defaultSource
  // A call that could never run has no action: its arguments are what tells it from another.
  const what = action ?? null
  return canonicalJson([by, tool_name, what === null ? argumentsOf(tool_call.arguments) : { action: what }])
}

/** Arguments as a value where they are JSON, so that space and order of keys make no difference, else as they stand. */
function argumentsOf(text: string): object {
  try {
    return { arguments: JSON.parse(text) as unknown }
  } catch {
    return { raw: text }
  }
}

/**
 * What came of a call. Of a refusal the words do not count: a model that asks again for what was refused has not
 * listened to any of them.
 */
function resultKey(result: ToolResultEvent): string {
  switch (result.kind) {
    case 'ObservationEvent':
      return canonicalJson([result.tool_name, result.observation])
    case 'AgentErrorEvent':
      return canonicalJson({ error: result.error })
    case 'UserRejectObservation':
      return 'rejected'
    default:
      return unreachable(result, 'kind')
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}
