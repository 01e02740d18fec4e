/** Redacts events; their ids, kinds and times stay, so that the log folds the same. */

import { decodeEvent } from '../../event/decode.ts'
import { copyJson } from '../../event/freeze.ts'
import { isObject } from '../../event/json.ts'
import { deriveEventId } from '../../event/ids.ts'
import { type Fact, isQuarantined, type Quarantined } from '../../event/quarantine.ts'
import type { Issue } from '../../event/issues.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import { redactText } from './redact-text.ts'
import { unsignReply } from '../../event/unsign.ts'
import { ISSUE, OPEN, redactValue, shapeOf, type Walk } from './redact-value.ts'
import type { RedactionRules } from './rules.ts'

const NOTHING: ReadonlySet<string> = new Set()

/**
 * Masks every secret in a fact's texts, keys and open numbers, including nested JSON; returns the same object
 * when it contains none, else a frozen copy.
 *
 * Ids, references, kinds, roles, times, enums, token ids and required fields stay, and so do the log's view,
 * pairing and status; events and JSON arguments stay valid. A provider's signature covers the whole reply, so a
 * masked reply loses all signatures, has null `encrypted_content`, and keeps only the kinds of its `parts`. For
 * replies of several events use `redactLog`; a redacting store does so within one append.
 *
 * Idempotent and pure; never throws on a decoded fact. O(size).
 * @example
 * const rules = redactionRules({ fields: ['password'] })
 * const error = { kind: 'AgentErrorEvent', tool_name: 'login', tool_call_id: 'c', error: '{"password":"hunter2"}' }
 * redact(error, rules).error // '{"password":"[redacted]"}'
 * redact({ kind: 'PauseEvent', id: 'p' }, rules) // { kind: 'PauseEvent', id: 'p' }
 */
export function redact<F extends Fact>(fact: F, rules: RedactionRules): F {
  return (isQuarantined(fact) ? redactLine(fact, rules) : redactEvent(fact, rules)) as F
}

/** A log's conversation and position. */
export interface RedactLogOptions {
  /** Default: the empty id, as in `replay`. */
  readonly conversationId?: string
  /** Position of the first fact. Default: 0. */
  readonly from?: number
}

/**
 * Redacts a log as by `redact`. An event without an id gets the id of its original body (design D15), so
 * references stay valid. Returns the same list when nothing is redacted. O(size).
 * @example
 * redactLog([{ kind: 'PauseEvent' }], redactionRules()) // [{ kind: 'PauseEvent' }]
 */
export function redactLog(
  facts: readonly Fact[],
  rules: RedactionRules,
  options: RedactLogOptions = {},
): readonly Fact[] {
  const { conversationId = '', from = 0 } = options
  const replies = redactReplies(facts, rules)
  const redacted = facts.map((fact, i) => {
    const after = replies[i] ?? fact
    if (after === fact || fact.id !== undefined || isQuarantined(fact) || isQuarantined(after)) return after
    return Object.freeze({ ...after, id: deriveEventId(conversationId, from + i, fact) })
  })
  return redacted.every((fact, i) => fact === facts[i]) ? facts : redacted
}

/** The facts, each redacted; every event of a reply with a mask loses its signatures. O(size). */
export function redactReplies(facts: readonly Fact[], rules: RedactionRules): readonly Fact[] {
  const redacted = facts.map((fact) => redact(fact, rules))
  const masked = new Set<string>()
  for (const [i, fact] of facts.entries()) {
    const after = redacted[i] ?? fact
    if (responseOf(fact) !== '' && isMasked(bodyOf(fact), bodyOf(after))) masked.add(responseOf(fact))
  }
  if (masked.size === 0) return redacted
  return redacted.map((fact) => {
    if (!masked.has(responseOf(fact))) return fact
    const unsigned = unsignReply(bodyOf(fact), rules.mask)
    return isMasked(bodyOf(fact), unsigned) ? (copyJson(unsigned).value as object as Event) : fact
  })
}

const bodyOf = (fact: Fact): JsonObject => fact as object as JsonObject

const responseOf = (fact: Fact): string =>
  !isQuarantined(fact) && fact.kind === 'ActionEvent' ? fact.llm_response_id : ''

/** Any JSON redacted. O(size). */
export const redactJson = (value: JsonValue, rules: RedactionRules): JsonValue =>
  redactValue(value, { rules, unchanged: NOTHING })

function redactEvent(event: Event, rules: RedactionRules): Event {
  const body = bodyOf(event)
  const unchanged = new Set<string>()
  let knownPaths: ReadonlySet<string> | null = null
  for (;;) {
    const redacted = redactBody(body, { rules, unchanged })
    if (redacted === body) return event
    const decoded = decodeEvent(redacted)
    if (decoded.ok && decoded.warnings.length === 0) return decoded.event
    // Some fields of a published action or observation accept only certain texts or numbers: those are not
    // secrets, unless the event was invalid before.
    knownPaths ??= new Set(issuesOf(event).map(({ loc }) => loc.join('.')))
    const before = unchanged.size
    for (const { loc, type } of decoded.ok ? decoded.warnings : decoded.issues) {
      if (!knownPaths.has(loc.join('.'))) unchanged.add(`${type === 'missing' ? 'key:' : ''}${pathOf(loc)}`)
    }
    if (unchanged.size === before)
      return decoded.ok ? decoded.event : (copyJson(redacted).value as object as Event)
  }
}

function issuesOf(event: Event): readonly Issue[] {
  const decoded = decodeEvent(event)
  return decoded.ok ? decoded.warnings : decoded.issues
}

const pathOf = (loc: readonly (string | number)[]): string =>
  loc.map((part) => `.${typeof part === 'number' ? '*' : part}`).join('')

/** The redacted body of an event, unsigned when its reply was masked. */
function redactBody(body: JsonObject, walk: Walk): JsonObject {
  const treatment = shapeOf(body['kind'], body['key'], walk.rules.isSecretField)
  const redacted = redactValue(body, walk, { ...OPEN, treatment }) as JsonObject
  return redacted !== body && isMasked(body, redacted) ? unsignReply(redacted, walk.rules.mask) : redacted
}

function redactLine(line: Quarantined, rules: RedactionRules): Quarantined {
  const raw = redactRaw(line.raw, rules)
  const before = line.issues as object as JsonValue
  const issues = redactValue(before, { rules, unchanged: NOTHING }, { ...OPEN, treatment: ISSUE })
  if (raw === line.raw && issues === before) return line
  return Object.freeze({ ...line, raw, issues: copyJson(issues).value as object as Quarantined['issues'] })
}

/** A line may be an event of a later version, so it is redacted as an event. */
function redactRaw(raw: string, rules: RedactionRules): string {
  let body: JsonValue
  try {
    const { value, issues } = copyJson(JSON.parse(raw))
    // JSON that is nested too deeply cannot be walked.
    if (issues.length > 0 || !isObject(value)) return redactText(raw, rules)
    body = value
  } catch {
    return redactText(raw, rules)
  }
  const redacted = redactBody(body, { rules, unchanged: NOTHING })
  return redacted === body ? raw : JSON.stringify(redacted)
}

/** The fields from which a model's reply is sent back. */
// oxfmt-ignore
const REPLY_FIELDS = [
  'llm_message', 'thought', 'reasoning_content', 'thinking_blocks', 'responses_reasoning_item', 'tool_name', 'tool_call',
] as const

/** Whether two versions of an event differ in its reply. O(size). */
const isMasked = (before: JsonObject, after: JsonObject): boolean =>
  before !== after &&
  REPLY_FIELDS.some(
    (field) =>
      before[field] !== after[field] && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
