import { copyJson, freezeJson } from './freeze.ts'
import { type Issue, issue, typeName, toIssues } from './issues.ts'
import { isObject } from './json.ts'
import { EVENT_KINDS } from './kinds.ts'
import { actionChecks, observationChecks } from './published/payload-schema.ts'
import { eventChecks } from './event-schema.ts'
import type { JsonObject, JsonValue } from './shapes.ts'
import type { Check } from './shape-schema.ts'
import type { Event } from './types.ts'

/**
 * An event, or the issues of an invalid value. Warnings report that an action or observation of a published
 * kind does not match its schema (design D14). An unknown field is an issue; only `loadLine` and `loadValue`
 * accept it.
 */
export type Decoded =
  | { readonly ok: true; readonly event: Event; readonly warnings: readonly Issue[] }
  | { readonly ok: false; readonly issues: readonly Issue[] }

/**
 * Decodes a value as an event. Returns a deep-frozen copy with the same fields, or the issues of an invalid
 * value. Never throws, and never changes its input (law E). O(size). See also {@link withDefaults} and
 * {@link loadValue}.
 * @example
 * decodeEvent({ kind: 'PauseEvent', id: 'p1' }) // { ok: true, event: { kind: 'PauseEvent', id: 'p1' }, warnings: [] }
 */
export function decodeEvent(value: unknown): Decoded {
  const copied = copyJson(value)
  return copied.issues.length > 0 ? failedDecode(copied.issues) : decodeFrozen(copied.value)
}

/**
 * Decodes a line of JSON text. Returns a deep-frozen event, or the issues of an invalid line. Never throws.
 * O(length).
 * @example
 * decodeLine('{"kind":"PauseEvent"}').ok // true
 */
export function decodeLine(text: string): Decoded {
  const parsed = parseLine(text)
  return parsed.ok ? decodeJson(parsed.value) : failedDecode([parsed.issue])
}

type Parsed = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly issue: Issue }

/** Parses JSON. The issue of invalid JSON omits the message of `JSON.parse`, which may quote a secret. */
export function parseLine(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as JsonValue }
  } catch (error) {
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined
    const where = position === undefined ? '' : ` from character ${position}`
    return {
      ok: false,
      issue: issue([], 'json_invalid', `Invalid JSON${where}. Write one JSON object per line.`),
    }
  }
}

function decodeJson(value: JsonValue): Decoded {
  const unfit = freezeJson(value)
  return unfit.length > 0 ? failedDecode(unfit) : decodeFrozen(value)
}

function decodeFrozen(value: JsonValue): Decoded {
  if (!isObject(value))
    return failedDecode([issue([], 'dict_type', `Must be an object, not ${typeName(value)}.`, value)])
  const { kind } = value
  const problems = eventChecks.get(kind)?.(value)
  if (problems === undefined) return failedDecode([kindIssue(kind)])
  if (problems.length > 0) return failedDecode(toIssues(problems, value))
  // The schema has checked that the value is an event.
  return { ok: true, event: value as object as Event, warnings: payloadWarnings(kind, value) }
}

/** Decodes a stored event. Keeps unknown fields and ids that occur twice in a list, and warns of them. */
export function decodeStored(value: JsonValue): Decoded {
  const decoded = decodeJson(value)
  if (decoded.ok || !decoded.issues.every(isSurplus)) return decoded
  const event = value as object as Event
  const surplus = decoded.issues.map((issue) =>
    issue.type === 'not_unique' ? issue : { ...issue, type: 'unknown_field', msg: SURPLUS },
  )
  return { ok: true, event, warnings: [...surplus, ...payloadWarnings(event.kind, value as JsonObject)] }
}

const isSurplus = ({ type, loc }: Issue): boolean =>
  type === 'not_unique' || (type === 'extra_forbidden' && !(loc.length === 1 && loc[0] === 'quarantined'))

const SURPLUS = 'Unknown field. It stays in the log and in exports, and no request contains it.'

const NO_ISSUES: readonly Issue[] = Object.freeze([])

/** Checks an action or observation. Wrong fields cause only warnings (law E3): a newer program may have written them. */
function payloadWarnings(kind: JsonValue | undefined, event: JsonObject): readonly Issue[] {
  if (kind === 'ActionEvent') return misfitsOf(event['action'], actionChecks, 'action')
  if (kind === 'ObservationEvent') return misfitsOf(event['observation'], observationChecks, 'observation')
  return NO_ISSUES
}

function misfitsOf(
  value: JsonValue | undefined,
  checks: ReadonlyMap<JsonValue | undefined, Check>,
  field: string,
): readonly Issue[] {
  const problems = isObject(value) ? checks.get(value['kind'])?.(value) : undefined
  return problems === undefined || problems.length === 0
    ? NO_ISSUES
    : toIssues(problems, value as JsonObject, [field])
}

function kindIssue(kind: JsonValue | undefined): Issue {
  const kinds = `one of ${EVENT_KINDS.join(', ')}`
  if (kind === undefined) return issue(['kind'], 'missing', `Required and missing. Add ${kinds}.`)
  if (typeof kind === 'string')
    return issue(['kind'], 'union_tag_invalid', `Unknown kind of event. Use ${kinds}.`, kind)
  return issue(['kind'], 'string_type', `Must be a string, not ${typeName(kind)}. Use ${kinds}.`, kind)
}

function failedDecode(issues: readonly Issue[]): Decoded {
  return { ok: false, issues: Object.freeze(issues) }
}
