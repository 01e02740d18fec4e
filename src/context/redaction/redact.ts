/** Redacts an event; its ids, kind and times stay, so that the log folds the same. */

import { decodeEvent } from '../../event/decode.ts'
import { copyJson } from '../../event/freeze.ts'
import { isObject } from '../../event/json.ts'
import { deriveEventId } from '../../event/ids.ts'
import { type Fact, isQuarantined, type Quarantined } from '../../event/quarantine.ts'
import type { Issue } from '../../event/issues.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { RedactionRules } from './rules.ts'
import { ISSUE, shapeOf } from './event-fields.ts'
import { redactText } from './redact-text.ts'
import { isMasked, unsign } from './unsign.ts'
import { OPEN, redactValue, type Walk } from './walk.ts'

const NOTHING: ReadonlySet<string> = new Set()

/**
 * The fact with a mask in place of every secret that the rules find in its texts, keys and open numbers, also in JSON
 * within JSON; the very same object when there is none, a frozen copy otherwise.
 *
 * What it is stays: ids and references to ids, kinds, roles, times that can be read, enums and required fields; an
 * event stays an event, arguments that were JSON stay JSON, and view, pairing and status of its log are what they were.
 * What a provider signs is bound to all of its reply: when anything that an event of a reply says holds a secret, its
 * thinking loses its signatures, `encrypted_content` is null, and its record names its `parts` by kind alone; for
 * replies of several events `redactLog` sees to it, and a redacting store for those of one append. Token ids cannot be
 * read and stay.
 *
 * Redacting again changes nothing. Pure; never throws on what decodes. O(size).
 *
 * @example
 * const rules = redactionRules({ fields: ['password'] })
 * const error = { kind: 'AgentErrorEvent', tool_name: 'login', tool_call_id: 'c', error: '{"password":"hunter2"}' }
 * redact(error, rules).error // '{"password":"[redacted]"}'
 * redact({ kind: 'PauseEvent', id: 'p' }, rules) // { kind: 'PauseEvent', id: 'p' }
 */
export function redact<F extends Fact>(fact: F, rules: RedactionRules): F {
  return (isQuarantined(fact) ? redactLine(fact, rules) : redactEvent(fact, rules)) as F
}

/** A log, and the conversation that it is of. */
export interface RedactLogOptions {
  /** Default: the empty id, as `replay` has it. */
  readonly conversationId?: string
  /** Position of the first fact. Default: 0. */
  readonly from?: number
}

/**
 * The facts of a log redacted, each as `redact` does it. An event that came without an id is given the one that the log
 * derived from its body as it was (design D15), so that whatever refers to it still does. The very same list when
 * nothing is redacted. O(size).
 *
 * @example
 * redactLog([{ kind: 'PauseEvent' }], redactionRules()) // [{ kind: 'PauseEvent' }]
 */
export function redactLog(
  facts: readonly Fact[],
  rules: RedactionRules,
  options: RedactLogOptions = {},
): readonly Fact[] {
  const { conversationId = '', from = 0 } = options
  const all = redactReplies(facts, rules)
  const redacted = facts.map((fact, i) => {
    const said = all[i] ?? fact
    if (said === fact || fact.id !== undefined || isQuarantined(fact) || isQuarantined(said)) return said
    return Object.freeze({ ...said, id: deriveEventId(conversationId, from + i, fact) })
  })
  return redacted.every((fact, i) => fact === facts[i]) ? facts : redacted
}

/** The facts, each redacted, and nothing left signed in any event of a reply in which something was masked. O(size). */
export function redactReplies(facts: readonly Fact[], rules: RedactionRules): readonly Fact[] {
  const redacted = facts.map((fact) => redact(fact, rules))
  const masked = new Set<string>()
  for (const [i, fact] of facts.entries()) {
    const said = redacted[i] ?? fact
    const response = responseOf(fact)
    if (said !== fact && response !== '' && isMasked(bodyOf(fact), bodyOf(said))) masked.add(response)
  }
  if (masked.size === 0) return redacted
  return redacted.map((fact) => {
    if (!masked.has(responseOf(fact))) return fact
    const said = unsign(bodyOf(fact), rules)
    return isMasked(bodyOf(fact), said) ? (copyJson(said).value as object as Event) : fact
  })
}

const bodyOf = (fact: Fact): JsonObject => fact as object as JsonObject

/** The response that an action came in; none for any other fact. */
const responseOf = (fact: Fact): string =>
  !isQuarantined(fact) && fact.kind === 'ActionEvent' ? fact.llm_response_id : ''

/** Any JSON redacted, as what is open in an event. O(size). */
export const redactJson = (value: JsonValue, rules: RedactionRules): JsonValue =>
  redactValue(value, { rules, left: NOTHING })

function redactEvent(event: Event, rules: RedactionRules): Event {
  const key = event.kind === 'ConversationStateUpdateEvent' ? event.key : undefined
  const treatment = shapeOf(event.kind, key, rules.isSecretField)
  const left = new Set<string>()
  let known: ReadonlySet<string> | null = null
  for (;;) {
    const changed = redactBody(event as object as JsonObject, { rules, left }, { ...OPEN, treatment })
    if (changed === (event as object as JsonObject)) return event
    const decoded = decodeEvent(changed)
    if (decoded.ok && decoded.warnings.length === 0) return decoded.event
    // A published action or observation has fields that only some words or numbers fit: those are no secrets, but where
    // the event did not fit before it was redacted.
    known ??= new Set(warningsOf(event).map(({ loc }) => loc.join('.')))
    const before = left.size
    for (const { loc, type } of decoded.ok ? decoded.warnings : decoded.issues) {
      if (!known.has(loc.join('.'))) left.add(`${type === 'missing' ? 'key:' : ''}${pathOf(loc)}`)
    }
    if (left.size === before) return decoded.ok ? decoded.event : (copyJson(changed).value as object as Event)
  }
}

/** What is masked in a reply is bound to all of it, so then nothing of it stays signed. */
function redactBody(body: JsonObject, walk: Walk, place: typeof OPEN): JsonObject {
  const changed = redactValue(body, walk, place) as JsonObject
  return changed !== body && isMasked(body, changed) ? unsign(changed, walk.rules) : changed
}

function warningsOf(event: Event): readonly Issue[] {
  const decoded = decodeEvent(event)
  return decoded.ok ? decoded.warnings : decoded.issues
}

const pathOf = (loc: readonly (string | number)[]): string =>
  loc.map((part) => `.${typeof part === 'number' ? '*' : part}`).join('')

function redactLine(line: Quarantined, rules: RedactionRules): Quarantined {
  const raw = redactRaw(line.raw, rules)
  const walk: Walk = { rules, left: NOTHING }
  const given = line.issues as object as JsonValue
  const issues = redactValue(given, walk, { ...OPEN, treatment: ISSUE }) as object as Quarantined['issues']
  if (raw === line.raw && issues === line.issues) return line
  return Object.freeze({ ...line, raw, issues: copyJson(issues).value as object as Quarantined['issues'] })
}

/** A line may be an event for a later version: what would stay of an event stays of it. */
function redactRaw(raw: string, rules: RedactionRules): string {
  const walk: Walk = { rules, left: NOTHING }
  const value = valueOf(raw)
  if (value === null) return redactText(raw, rules)
  const { kind, key } = value
  const changed = redactBody(value, walk, { ...OPEN, treatment: shapeOf(kind, key, rules.isSecretField) })
  return changed === value ? raw : JSON.stringify(changed)
}

/** The object that a line says; null for any other line, also for one that is nested too deep to be walked. */
function valueOf(raw: string): JsonObject | null {
  try {
    const { value, issues } = copyJson(JSON.parse(raw))
    return issues.length === 0 && isObject(value) ? value : null
  } catch {
    return null
  }
}
