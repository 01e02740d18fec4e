/** X5 to X9: redaction removes every secret and nothing else. */

import { cutPointsIn } from '../../src/view/view.ts'
import { redact, redactLog } from '../../src/context/redaction/redact.ts'
import { type RedactionRules, redactionRules } from '../../src/context/redaction/rules.ts'
import { type Decoded, decodeStored } from '../../src/event/decode.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import { isObject } from '../../src/event/json.ts'
import type { JsonObject, JsonValue } from '../../src/event/shapes.ts'
import { replyOf } from '../../src/event/reply.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { listWarningsIn } from '../../src/log/log.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { listLeavesIn } from '../../src/state/at.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { isPending, unitEvents } from '../../src/view/units.ts'
import type { Hidden } from '../hidden-secrets.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { branchesOf } from './messages.ts'
import { isBlank } from '../../src/messages/rules.ts'

/** X5, X6, X8: redaction returns a fact, is idempotent, and does not modify its input. */
export function checkRedacted(fact: Fact, rules: RedactionRules): void {
  const text = JSON.stringify(fact)
  const redacted = total('X6', 'redact', () => redact(fact, rules))
  same('X6', 'the input after redaction', JSON.stringify(fact), text)
  hold('X5', redact(redacted, rules) === redacted, () => {
    return `redacted twice\n  once   ${JSON.stringify(redacted)}\n  twice ${JSON.stringify(redact(redacted, rules))}`
  })
  same('X5', 'a second redaction of the same fact', redact(JSON.parse(text) as Fact, rules), redacted)
  hold('X8', redacted === fact || JSON.stringify(redacted) !== text, 'a fact without secrets was copied')
  if (isQuarantined(redacted)) return
  const decoded = decodeStored(redacted as object as JsonValue)
  hold('X6', decoded.ok, () => `the redacted event is invalid: ${JSON.stringify([decoded, redacted])}`)
  const known = new Set(isQuarantined(fact) ? [] : warningsOf(decodeStored(fact as object as JsonValue)))
  const drifted = warningsOf(decoded).find((position) => !known.has(position))
  hold(
    'X6',
    drifted === undefined,
    () => `a published payload is invalid: ${drifted} ${JSON.stringify(redacted)}`,
  )
  checkKept(fact as object as JsonValue, redacted as object as JsonValue)
  if (!isQuarantined(fact)) checkUnsigned(fact, redacted)
}

const warningsOf = (decoded: Decoded): readonly string[] =>
  decoded.ok ? decoded.warnings.map(({ loc }) => loc.join('.')) : []

const saidIn = (event: Event): readonly unknown[] => {
  if (event.kind === 'MessageEvent') return event.source === 'agent' ? [event.llm_message] : []
  if (event.kind !== 'ActionEvent') return []
  const { thought, reasoning_content, thinking_blocks, responses_reasoning_item, tool_name, tool_call } =
    event
  return [thought, reasoning_content, thinking_blocks, responses_reasoning_item, tool_name, tool_call]
}

/** X6: a reply with a masked secret has no signed or sealed part. */
function checkUnsigned(before: Event, after: Event): void {
  if (JSON.stringify(saidIn(before)) === JSON.stringify(saidIn(after))) return
  hold('X6', !isSignedReply(after), () => `a masked reply is signed: ${JSON.stringify(after)}`)
}

function isSignedReply(event: Event): boolean {
  if (event.kind !== 'ActionEvent' && event.kind !== 'MessageEvent') return false
  const { thinking_blocks, responses_reasoning_item } =
    event.kind === 'ActionEvent' ? event : event.llm_message
  const isThinkingSigned = (thinking_blocks ?? []).some((block) => isSigned(block as object as JsonObject))
  return (
    isThinkingSigned ||
    (responses_reasoning_item?.encrypted_content ?? null) !== null ||
    !isBare(replyOf(event)?.parts ?? [])
  )
}

const isBare = (parts: unknown): boolean =>
  Array.isArray(parts) &&
  parts.every((part: JsonValue) => {
    if (!isObject(part)) return part === null
    const { other } = part
    if (!isObject(other)) return Object.values(part).every((index) => typeof index === 'number')
    const isNamed = Object.keys(other).join() === 'type'
    return (
      Object.keys(part).length === 1 && (isNamed || Object.values(other).every((value) => value === null))
    )
  })

const isCall = (fact: Fact | undefined): fact is ActionEvent =>
  fact !== undefined && !isQuarantined(fact) && fact.kind === 'ActionEvent'

function checkRepliesUnsigned(before: readonly Fact[], after: readonly Fact[]): void {
  const masked = new Set<string>()
  for (const [i, fact] of before.entries()) {
    const now = after[i]
    if (!isCall(fact) || !isCall(now) || fact.llm_response_id === '') continue
    if (JSON.stringify(saidIn(fact)) !== JSON.stringify(saidIn(now))) masked.add(fact.llm_response_id)
  }
  for (const fact of after) {
    if (!isCall(fact) || !masked.has(fact.llm_response_id)) continue
    hold('X6', !isSignedReply(fact), () => `a reply with a masked event is signed: ${JSON.stringify(fact)}`)
  }
}

const PLANTED = 'KQ7planted0Z9'
const PLANTED_RULES = redactionRules({ secrets: [PLANTED], builtIn: false, fields: [] })

/** X6 for fully signed replies with a secret in their last event. */
function checkPlanted(facts: readonly Fact[]): void {
  const replies = Map.groupBy(facts.filter(isCall), ({ llm_response_id, tool_call_id }) =>
    llm_response_id === '' ? `alone ${tool_call_id}` : llm_response_id,
  )
  for (const calls of replies.values()) {
    const reply = calls.map((call, index) => signed(call, index === calls.length - 1 ? PLANTED : 'nothing'))
    checkRepliesUnsigned(reply, redacted(reply, PLANTED_RULES))
  }
}

const signed = (call: ActionEvent, text: string): ActionEvent => ({
  ...call,
  thought: [...call.thought, { text }],
  thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }],
  responses_reasoning_item: { encrypted_content: 'sealed' },
  tool_call: {
    ...call.tool_call,
    reply: { parts: [{ text: 0 }, { other: { type: 'search', data: 'sealed' } }] },
  } as ActionEvent['tool_call'],
})

/** Fields that may keep a secret: ids can contain anything. */
// oxfmt-ignore
const IDS: readonly string[] = [
  'kind', 'id', 'parent_id', 'source', 'action_id', 'message_id', 'tool_call_id', 'llm_response_id',
  'forgotten_event_ids', 'summary_offset', 'hook_event_type', 'rejection_source', 'security_risk',
]

/** X6: ids stay, JSON arguments remain JSON, signed or sealed values stay whole or are removed. */
function checkKept(before: JsonValue, after: JsonValue): void {
  if (!isObject(before) || !isObject(after)) return
  for (const key of IDS) same('X6', key, after[key] ?? null, before[key] ?? null)
  walkBoth(before, after)
}

function walkBoth(before: JsonValue, after: JsonValue): void {
  if (typeof before !== 'object' || before === null || typeof after !== 'object' || after === null) return
  if ('parts' in before && JSON.stringify(before.parts) !== JSON.stringify((after as JsonObject)['parts'])) {
    const { parts: _, ...stored } = before as JsonObject
    const { parts: now, ...remaining } = after as JsonObject
    if (now === undefined || isBare(now)) return walkBoth(stored, remaining)
  }
  same('X6', 'the number of parts', Object.keys(after).length, Object.keys(before).length)
  // Redacted keys keep their order, unless they looked like numbers.
  const inOrder = Object.values(after) as readonly JsonValue[]
  const isOrdered = Object.keys(before).every((key) => !/^\d+$/.test(key))
  for (const [i, [key, value]] of Object.entries(before).entries()) {
    const now = (isOrdered || Array.isArray(before) ? inOrder[i] : null) ?? null
    const isText = typeof value === 'string' && typeof now === 'string'
    if (isText) same('X6', 'whether a text is blank', isBlank(now), isBlank(value))
    if (isText && isBlank(value)) same('X6', 'white space', now, value)
    if (key === 'tool_name' && (value === 'finish' || value === 'think')) same('X6', key, now, value)
    if (key === 'arguments' && isText && parses(value))
      hold('X6', parses(now), `the redacted arguments are not JSON: ${now}`)
    if (key === 'encrypted_content' && typeof value === 'string' && now !== null)
      same('X6', 'encrypted content', now, value)
    if (key === 'thinking_blocks') checkThoughts(value, now)
    else walkBoth(value, now)
  }
}

const isSigned = (block: JsonObject): boolean => 'data' in block || (block['signature'] ?? null) !== null

function checkThoughts(before: JsonValue, after: JsonValue): void {
  const [were, are] = [before, after] as readonly (readonly JsonObject[])[]
  same('X6', 'the number of thinking blocks', are?.length, were?.length)
  for (const [i, block] of (are ?? []).entries())
    if (isSigned(block)) same('X6', 'signed thinking', block, were?.[i])
  const lost = (were ?? []).filter(isSigned).length - (are ?? []).filter(isSigned).length
  hold('X6', lost === 0 || !are?.some(isSigned), 'only some thinking blocks of a reply are signed')
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** X9: redaction and erasure preserve tree, pairing, views and status. */
export function checkSameShape(facts: readonly Fact[], redacted: readonly Fact[]): void {
  const [before, after] = [shapesOf(facts), shapesOf(redacted)]
  same('X9', 'the state', after.state, before.state)
  same('X9', 'the branches', after.branches, before.branches)
}

interface Shapes {
  readonly state: string
  readonly branches: string
}

const shapes = new WeakMap<readonly Fact[], Shapes>()

/** Cached, because each erasure is compared with the same log. */
function shapesOf(facts: readonly Fact[]): Shapes {
  const known = shapes.get(facts)
  if (known !== undefined) return known
  const made = {
    state: JSON.stringify(shapeOf(replay(facts))),
    branches: JSON.stringify(branchesOf(facts).map(branchShape)),
  }
  shapes.set(facts, made)
  return made
}

export const redacted = (facts: readonly Fact[], rules: RedactionRules): readonly Fact[] =>
  total('X6', 'redactLog', () => redactLog(facts, rules))

/** Returns the redacted log. */
export function checkRedactedLog(facts: readonly Fact[], rules: RedactionRules): readonly Fact[] {
  const after = redacted(facts, rules)
  for (const fact of facts) checkRedacted(fact, rules)
  checkRepliesUnsigned(facts, after)
  checkPlanted(facts)
  checkSameShape(facts, after)
  return after
}

export function checkHidden(hidden: Hidden, event: Event, keyed: boolean): void {
  checkLeft(hidden)
  const { secret } = hidden
  checkSecretGone(event, secret, redactionRules({ secrets: [secret], ...(keyed && { key: 'k' }) }))
}

export function checkSecretGone(fact: Fact, secret: string, rules: RedactionRules): void {
  checkRedacted(fact, rules)
  checkGone(redact(fact, rules), secret)
}

function shapeOf(state: State): unknown {
  const { status, error, inFlight, confirmationPolicy, callStatuses } = state.header
  return {
    status: [status, error?.event_id, inFlight, confirmationPolicy?.['kind'], callStatuses],
    head: state.log.head?.id,
    listLeavesIn: listLeavesIn(state.log).map(({ id }) => id),
    warnings: listWarningsIn(state.log).map(({ seq, id, code }) => [seq, id, code]),
    entries: [...state.log.entries].map((entry) => [
      entry.id,
      entry.parent?.seq,
      entry.inTree,
      entry.canBeHead,
      entry.header.status,
    ]),
    branch: branchShape(state),
  }
}

function branchShape({ branch }: State): unknown {
  const { view } = branch
  return {
    length: view.length,
    request: view.unhandledCondensationRequest,
    cuts: cutPointsIn(view),
    units: [...view.units].map((unit) => [
      unit.type,
      unit.rank,
      isPending(unit),
      unit.type === 'batch' ? [unit.responseId, unit.thinking, unit.onlyErrors] : null,
      [...unitEvents(unit)].map(({ id, event }) => [id, event.kind]),
    ]),
    open: listPendingCallsIn(branch.pendingCalls).map(({ entry }) => entry.id),
    system: branch.systemPrompt?.id,
    user: branch.lastUserMessage?.id,
    dropped: [...branch.dropped].map(({ entry, reason }) => [entry.id, reason]),
  }
}

/** X8: text outside the secret remains. */
function checkLeft({ secret, text, remaining }: Hidden): void {
  const event = { kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: text } as const
  const rules = redactionRules({ secrets: [secret], builtIn: false, fields: [] })
  same('X8', `the unmasked rest of ${text}`, redact(event, rules).error, remaining)
}

/** X5: masks are never redacted again. */
export function checkMaskStays(): void {
  const rules = redactionRules({ builtIn: false, fields: [], patterns: [/redacted|[0-9a-f]\]/], key: 'k' })
  const error = `one ${rules.mask('x')} two [redacted#2] three [redacted]`
  const event = { kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error } as const
  same('X5', 'the masked text', redact(event, rules).error, error)
}

/** X7: no recursive decoding of a value reveals a secret, or five distinctive characters of it. */
function checkGone(value: unknown, secret: string): void {
  const todo: { readonly text: string; readonly depth: number }[] = textsOf(value).map((text) => ({
    text,
    depth: 0,
  }))
  const parts = partsOf(secret)
  const seen = new Set<string>()
  for (const { text, depth } of todo) {
    const shown = parts.find((part) => text.includes(part))
    hold('X7', shown === undefined, () => {
      return `${JSON.stringify(shown)} of ${JSON.stringify(secret)} is visible in ${JSON.stringify(value)}`
    })
    if (depth === 5 || seen.has(text)) continue
    seen.add(text)
    for (const read of readings(text)) todo.push({ text: read, depth: depth + 1 })
  }
}

const partsOf = (secret: string): string[] => [
  secret,
  ...Array.from({ length: secret.length - 4 }, (_, i) => secret.slice(i, i + 5)).filter(
    (part) => (part.match(/[A-Z0-9ßé€]/g) ?? []).length > 2,
  ),
]

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return [String(value)]
  return Object.entries(value).flatMap(([key, item]) => (IDS.includes(key) ? [] : [key, ...textsOf(item)]))
}

function readings(text: string): string[] {
  const matches: string[] = []
  for (const [literal] of text.matchAll(/"(?:[^"\\]|\\.)*"/gs)) {
    try {
      matches.push(JSON.parse(literal) as string)
    } catch {
      // Not JSON: it contains no nested text.
    }
  }
  try {
    matches.push(JSON.parse(`"${text}"`) as string)
  } catch {
    // Not the contents of a JSON string.
  }
  if (text.includes('%')) matches.push(text.replace(/(?:%[0-9a-f]{2})+/gi, percent))
  if (text.includes('+')) matches.push(text.replaceAll('+', ' '))
  for (const [run] of text.matchAll(/[A-Za-z0-9+/_-]{10,}/g)) {
    for (let skip = 0; skip < 4; skip += 1)
      matches.push(Buffer.from(run.slice(skip), 'base64').toString('utf8'))
  }
  return matches.filter((read) => read !== text)
}

function percent(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}
