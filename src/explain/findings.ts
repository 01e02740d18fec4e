import { estimateTokens } from '../context/estimate.ts'
import { explainPrefix, type PrefixChange } from '../context/explain-prefix.ts'
import { redact } from '../context/redaction/redact.ts'
import { redactionRules } from '../context/redaction/rules.ts'
import { stuckDetector } from '../context/stuck.ts'
import { textsOf } from '../context/text.ts'
import { checkOptionNames } from '../event/check-value.ts'
import { completionOf, progressOf } from '../event/completion.ts'
import { EVENT_KINDS, isToolResult } from '../event/kinds.ts'
import type { Loaded } from '../event/load.ts'
import { isQuarantined } from '../event/quarantine.ts'
import type { EarlyEnd, GrammarName } from '../event/reply.ts'
import { earlyEndOf, isOfReply, replyOf, requestHeadOf } from '../event/reply.ts'
import { hasText, quote } from '../event/text.ts'
import type { ActionEvent, MessageEvent, SystemPromptEvent } from '../event/types.ts'
import { counted, reportsOf } from './explanation.ts'
import { type Finding, FINDING_KINDS, type FindingKind, type Severity } from './finding.ts'
import { completes, describeParent, headMoves, pathBetween, whyNotWorking } from './path.ts'
import { countIn, removedUnits } from './removal.ts'
import { judgeResult } from './verdict.ts'
import { checkLog } from '../laws/check-log.ts'
import { checkIsLog, isRecord, type LawViolation, loadItem, type LogItem } from '../laws/load.ts'
import { isCutOff, responseIdOf } from '../laws/replies.ts'
import type { RequestWriter } from '../laws/requests.ts'
import { type Entry, type EventEntry, isOnPathIn, loadedEvent } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { listPendingCallsIn, openCallOf, pendingCallCount } from '../log/open-calls.ts'
import { DEFAULT_GRAMMAR, findGrammar, grammarNamed } from '../messages/grammars.ts'
import type { AssistantMessage, NeutralMessage } from '../messages/message.ts'
import { toMessages } from '../messages/neutral.ts'
import type { LeftOut } from '../messages/prefix.ts'
import { readArguments } from '../messages/text.ts'
import { listLeavesIn } from '../state/at.ts'
import { type Branch, workingCallOf } from '../state/branch.ts'
import { replay } from '../state/reduce.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import { indexOfEvent } from '../view/condense.ts'
import { isDerived, type Unit } from '../view/units.ts'
import type { View } from '../view/view.ts'

interface Scene {
  readonly state: State
  readonly items: readonly Loaded[]
  readonly grammars: readonly GrammarName[]
  readonly ended: boolean
  readonly messages: (state: State) => readonly NeutralMessage[]
  readonly writer: RequestWriter | undefined
}

type FindingDraft = Omit<Finding, 'key'>

type Finder = (scene: Scene) => Iterable<FindingDraft>

interface More extends Partial<Pick<FindingDraft, 'rule' | 'law' | 'cost'>> {
  readonly ids?: readonly (string | null | undefined)[]
}

function finding(
  kind: FindingKind,
  severity: Severity,
  event: { readonly seq: number; readonly id: string | null },
  text: string,
  { ids = [], rule = null, law = null, cost }: More = {},
): FindingDraft {
  const named = [event.id, ...ids].filter((id): id is string => typeof id === 'string')
  return { kind, severity, text, rule, law, seq: event.seq, ids: [...new Set(named)], ...(cost && { cost }) }
}

interface WrittenRequest {
  readonly messages: readonly NeutralMessage[]
  /** The request in the grammar, with the tools of the system prompt; null if there is nothing to send. */
  readonly written: { readonly tools: readonly unknown[] } | null
  readonly leftOut: readonly LeftOut[]
}

/** Values of the option `system` of `toMessages`, for replaced system prompts; the first is the default. */
const SYSTEMS = ['replace', 'append'] as const

/** Returns a writer with `system` set to `replace` or `append`, whichever leaves out signed parts of fewer replies. */
function sentOf(
  state: State,
  grammar: GrammarName = DEFAULT_GRAMMAR,
  messages: RequestWriter = toMessages,
): Scene['messages'] {
  const writers = SYSTEMS.map((system) => (one: State) => messages(one, { system }))
  const leftOutCounts = writers.map((way) => requestOn(state, state.branch, grammar, way).leftOut.length)
  return writers[leftOutCounts.indexOf(Math.min(...leftOutCounts))] ?? ((one) => messages(one, {}))
}

function requestOn(
  state: State,
  branch: Branch,
  grammar: GrammarName,
  sent: Scene['messages'],
): WrittenRequest {
  const messages = sent({ ...state, branch })
  const leftOut: LeftOut[] = []
  if (messages.length === 0) return { messages, written: null, leftOut }
  const request = grammarNamed(grammar).write(messages, { onPrefix: (remaining) => leftOut.push(remaining) })
  const list = Array.isArray(request) ? { messages: request } : request
  return { messages, written: { ...list, tools: branch.systemPrompt?.event.tools ?? [] }, leftOut }
}

function* repairFindings({ state, grammars, messages: sent }: Scene): IterableIterator<FindingDraft> {
  const { head } = state.log
  if (head === null) return
  for (const grammar of grammars) {
    const { messages, leftOut } = requestOn(state, state.branch, grammar, sent)
    for (const what of repairsOf(messages))
      yield finding('repaired', 'note', head, `in the request for ${grammar}, ${what}`)
    if (leftOut.length > 0) {
      const text = `in the request for ${grammar}, the signed parts of ${counted(leftOut.length, 'reply', 'replies')} are left out (${[...new Set(leftOut.map(({ reason }) => reason))].join(', ')})`
      yield finding('repaired', 'note', head, text, { rule: 'D23' })
    }
  }
}

function* repairsOf(messages: readonly NeutralMessage[]): IterableIterator<string> {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.tool_calls : []))
  const repeated = calls.length - new Set(calls.map(({ id }) => id)).size
  if (repeated > 0)
    yield repeated === 1
      ? 'a call id is repeated, and gets a number'
      : `${repeated} call ids are repeated, and get numbers`
  const garbled = calls.filter((call) => readArguments(call.arguments) === null).length
  if (garbled > 0)
    yield `the arguments of ${counted(garbled, 'call')} are not a JSON object, and are sent as text inside one`
  if (messages.find(({ role }) => role !== 'system')?.role === 'assistant')
    yield 'a user message is added in front, because the request would start with a reply'
}

const FINDING_BY_LAW: Readonly<Record<string, FindingKind>> = {
  E2: 'quarantined',
  M5: 'signed_behind_change',
  M7: 'split_batch',
  M13: 'signed_behind_change',
  M15: 'signed_behind_change',
  P1: 'pending_call',
  P6: 'doubled_call',
  P8: 'pending_call',
  P9: 'pending_call',
  T6: 'repaired',
}

const SEVERITY: Readonly<Record<string, Severity>> = {
  P: 'error',
  M: 'error',
  E7: 'note',
  E8: 'note',
  E2: 'error',
}

function* lawFindings({ state, items, grammars, ended, writer }: Scene): IterableIterator<FindingDraft> {
  const { conversationId } = state
  const checkOptions = { ended, grammars, conversationId, ...(writer !== undefined && { messages: writer }) }
  for (const breach of checkLog(items, checkOptions)) {
    const { law, seq } = breach
    if (law === 'P4') yield resultFinding(state, state.log.entries.get(seq) as Checkpoint, breach)
    else if (law !== 'P12') {
      const severity = SEVERITY[law] ?? SEVERITY[law.slice(0, 1)] ?? 'warning'
      yield finding(FINDING_BY_LAW[law] ?? 'law', severity, breach, withoutAdvice(breach.message), { law })
    }
  }
}

function resultFinding(state: State, entry: Checkpoint, breach: LawViolation): FindingDraft {
  const judged = judgeResult(state, entry)
  if (judged === null) return finding('law', 'error', breach, withoutAdvice(breach.message), { law: 'P4' })
  const { code, text, ids } = judged.verdict
  const isSecond = code === 'duplicate_result'
  const what = `${isSecond ? 'a second result arrived' : 'a result ends no call'}, and the model never sees it: ${text}`
  return finding(isSecond ? 'doubled_result' : 'orphan_result', 'error', breach, what, {
    rule: 'U3',
    law: 'P4',
    ids,
  })
}

/** Removes advice for authors of servers from a law's message: the log is already written, so it is too late. */
const withoutAdvice = (message: string): string =>
  message.replace(/; a correct server .*$/s, '').replace(/; give one of .*$/s, '')

/** Options of `findings`. */
export interface FindingOptions {
  /** Grammars in which requests are checked. Default: the grammars of the log's replies, else Anthropic's. */
  readonly grammars?: readonly GrammarName[]
  /** Returns the messages that your program sends. Default: `toMessages`. */
  readonly messages?: RequestWriter
  /** Whether the server that wrote the log has stopped, so that unfinished work is a problem. Default: false. */
  readonly ended?: boolean
  /** Whether to search all texts for secrets. Default: true. */
  readonly secrets?: boolean
  /**
   * The facts of a state as they were loaded, with their warnings. Default: the state's facts, decoded again,
   * without warnings about JSON parsing.
   */
  readonly loaded?: readonly Loaded[]
  /** Conversation id, from which missing event ids are derived. Ignored if `findings` receives a state. */
  readonly conversationId?: string
}

const FINDERS: readonly Finder[] = [
  lawFindings,
  callFindings,
  idleFindings,
  pendingFindings,
  prefixFindings,
  reportedFindings,
  condensationFindings,
  loopFindings,
  cutOffFindings,
  branchFindings,
  repairFindings,
]

/**
 * Returns the problems and notable facts of a conversation: warnings of replay, broken laws, requests that do
 * not extend the previous one, loops, interrupted replies, abandoned branches, condensations that forgot the
 * task, likely secrets. The worst findings are first, and causes precede consequences. Each finding lists its
 * evidence. `explain` explains one event.
 *
 * O(n log n + size). It also writes requests, each O(content of the view): at most 16 + 3 · log2(n) per
 * grammar, and at most 128 to compare requests with the previous ones.
 * @param log a state, or a log as for `checkLog`; pass lines of text to find what JSON parsing lost
 * @throws ColloquyError `evicted` for a state with evicted bodies; `invalid_argument` for one text instead of
 *   a list of lines.
 * @example
 * const say = (id, text) => ({ kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user',
 *   content: [{ text }] } })
 * const forgets = { kind: 'Condensation', id: 'c', forgotten_event_ids: ['m'], llm_response_id: 'r' }
 * const [first] = findings([say('m', 'Count the files'), forgets])
 * [first.kind, first.severity, first.ids] // ['forgotten_task', 'error', ['c', 'm']]
 */
export function findings(log: State | Iterable<LogItem>, options: FindingOptions = {}): readonly Finding[] {
  checkOptionNames(options, 'grammars messages ended secrets loaded conversationId')
  checkIsLog(log)
  const scene = sceneOf(log, options)
  const finders = options.secrets === false ? FINDERS : [...FINDERS, secretFindings]
  return withKeys(finders.flatMap((find) => [...find(scene)]).toSorted(compareFindings))
}

function sceneOf(log: State | Iterable<LogItem>, options: FindingOptions): Scene {
  const { ended = false, conversationId, messages: writer } = options
  const seen = (state: State, items: readonly Loaded[]): Scene => {
    const grammars = options.grammars ?? grammarsIn(state)
    return { state, items, grammars, ended, writer, messages: sentOf(state, grammars[0], writer) }
  }
  if ('branch' in log) {
    const items =
      options.loaded ??
      Array.from(log.log.entries, (entry) => loadItem(loadedEvent(entry, EVENT_KINDS) ?? entry.quarantined))
    return seen(log, items)
  }
  const items = Array.from(log, loadItem)
  const facts = items.map(({ fact }) => fact)
  return seen(replay(facts, conversationId === undefined ? {} : { conversationId }), items)
}

function grammarsIn({ log }: State): readonly GrammarName[] {
  const named = new Set<GrammarName>()
  for (const { event } of log.entries) {
    const grammar = findGrammar(event === null ? null : replyOf(event)?.grammar)
    if (grammar !== undefined) named.add(grammar.name)
  }
  return named.size === 0 ? [DEFAULT_GRAMMAR] : [...named]
}

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'note']

const compareFindings = (a: FindingDraft, b: FindingDraft): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  FINDING_KINDS.indexOf(a.kind) - FINDING_KINDS.indexOf(b.kind) ||
  a.seq - b.seq

function withKeys(findings: readonly FindingDraft[]): Finding[] {
  const used = new Map<string, number>()
  return findings.map((one) => {
    const base = `${one.kind}:${one.seq}`
    const times = used.get(base) ?? 0
    used.set(base, times + 1)
    return Object.freeze({ key: times === 0 ? base : `${base}:${times}`, ...one })
  })
}

function* secretFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const rules = redactionRules()
  for (const entry of state.log.entries) {
    const fact = entry.event ?? entry.quarantined
    if (fact === null) continue
    const masked = redact(fact, rules)
    if (masked === fact) continue
    const path = difference(fact, masked, '') ?? ''
    const what = isQuarantined(fact)
      ? 'a line that is not an event'
      : 'tool_name' in fact && fact.kind !== 'ActionEvent'
        ? `the result of ${quote(fact.tool_name)}`
        : `this ${fact.kind}`
    const text = `${what} contains a likely secret${path === '' ? '' : `, at ${path.slice(0, 120)}`}`
    yield finding('secret', 'error', entry, text, { law: 'X7' })
  }
}

/** Returns the path of the first difference; if the field's name is masked, the path of the field's object. */
function difference(was: unknown, is: unknown, path: string): string | null {
  if (was === is) return null
  if (!isRecord(was) || !isRecord(is)) return path
  for (const [key, value] of Object.entries(was)) {
    if (!Object.hasOwn(is, key)) return path
    const step = Array.isArray(was) ? `[${key}]` : path === '' ? key : `.${key}`
    const inner = difference(value, is[key], `${path}${step}`)
    if (inner !== null) return inner
  }
  return null
}

/** Maximum number of checked requests, the latest ones. A check compares a request with the previous one. */
const MAX_CHANGES = 64

interface RequestPoint {
  readonly head: Checkpoint | null
  readonly before: Checkpoint | null
  readonly suspects: readonly Checkpoint[]
}

/** Finds requests on HEAD's branch that do not extend the previous request. */
function* prefixFindings({ state, grammars: [grammar], messages }: Scene): IterableIterator<FindingDraft> {
  if (grammar === undefined) return
  for (const point of changedRequests(state).slice(-MAX_CHANGES)) {
    const one = judgeRequest(point, (branch) => requestOn(state, branch, grammar, messages), state.log)
    if (one !== null) yield one
  }
}

function* reportedFindings({ state }: Scene): IterableIterator<FindingDraft> {
  for (const entry of state.log.entries)
    for (const { text, isBreak } of entry.event === null ? [] : reportsOf(entry.event))
      if (isBreak)
        yield finding('signed_behind_change', 'error', entry, `the provider of this reply reports: ${text}`, {
          rule: 'D23',
        })
}

function changedRequests(state: State): RequestPoint[] {
  const points: RequestPoint[] = []
  const known = new Set<string>()
  let before: Checkpoint | null = null
  let isFirst = true
  let suspects: Checkpoint[] = []
  const addRequest = (head: Checkpoint | null): void => {
    const reached = (one: Checkpoint): boolean => head !== null && one.depth <= head.depth
    const reachedSuspects = suspects.filter(reached)
    if (!isFirst && reachedSuspects.length > 0) points.push({ head, before, suspects: reachedSuspects })
    suspects = suspects.filter((one) => !reached(one))
    before = head
    isFirst = false
  }
  for (const entry of pathBetween(null, state.log.head)) {
    const { event } = entry
    const response = event !== null && isOfReply(event) ? (responseIdOf(event) ?? '') : null
    if (event !== null && response !== null && !known.has(response)) {
      if (response !== '') known.add(response)
      const after = requestHeadOf(event)
      const named = typeof after === 'string' ? findEventIn(state.log, after) : undefined
      addRequest(named ?? (entry.parent as Checkpoint | null))
    }
    if (mayChangeThePast(entry)) suspects.push(entry)
  }
  // Adds the request that would be sent next.
  addRequest(state.log.head)
  return points
}

/** Whether an event changed the view other than by extending it. */
function mayChangeThePast(entry: Checkpoint): boolean {
  const { event, branch } = entry
  const above = branchOf(entry.parent)
  if (event === null || branch.view.units === above.view.units) return false
  if (event.kind === 'Condensation') return true
  if (event.kind === 'SystemPromptEvent' && above.systemPrompt !== null) return true
  const last = branch.view.units.last()
  return last === undefined || !endsWith(last, entry.seq)
}

function endsWith(unit: Unit, seq: number): boolean {
  if (unit.type === 'message') return !isDerived(unit) && unit.first === seq
  return unit.calls.last()?.seq === seq || unit.results.last()?.entry.seq === seq
}

function judgeRequest(
  { head, before, suspects }: RequestPoint,
  request: (branch: Branch) => ReturnType<typeof requestOn>,
  log: Log,
): FindingDraft | null {
  const [was, is] = [request(branchOf(before)), request(branchOf(head))]
  if (was.written === null || is.written === null) return null
  // A system prompt without tools proves nothing: the program may pass its tools elsewhere.
  const tools = was.written.tools.length === 0 || is.written.tools.length === 0 ? { tools: [] } : {}
  const change = explainPrefix({ ...was.written, ...tools }, { ...is.written, ...tools })
  if (change === null) return null
  const by = causeOf(change, suspects)
  if (by === undefined) return null
  const firstChange = was.messages.findIndex(
    (one, index) => JSON.stringify(one) !== JSON.stringify(is.messages[index]),
  )
  const from = change.in === 'message' && firstChange >= 0 ? firstChange : 0
  const lost = new Set(was.leftOut.map(({ message }) => was.messages[message]))
  const newlyLost = is.leftOut.flatMap(({ message }) =>
    lost.has(is.messages[message]) ? [] : [is.messages[message]],
  )
  const signed = new Set([...newlyLost, ...is.messages.slice(from)].filter(isSigned))
  const cost = {
    cacheTokens: estimateTokens(was.messages.slice(from)),
    reasoningTokens: [...signed].reduce((sum, one) => sum + thinkingOf(one), 0),
  }
  const planned = by.event?.kind === 'Condensation'
  const kind: FindingKind = signed.size > 0 ? 'signed_behind_change' : 'cache_broken'
  const severity: Severity = planned ? 'note' : signed.size > 0 ? 'error' : 'warning'
  const price = `about ${counted(cost.cacheTokens, 'token')} must be read again`
  const reasoning =
    signed.size === 0
      ? ''
      : `, and the signed thinking of ${counted(signed.size, 'reply', 'replies')} is after the change, so the provider refuses or drops it`
  const others = suspects.map(({ id }) => id)
  return finding(kind, severity, by, `${whatChanged(by, log)}: ${price}${reasoning}`, {
    ids: others,
    rule: signed.size > 0 ? 'D23' : 'D24',
    law: planned ? null : 'M15',
    cost,
  })
}

function causeOf(change: PrefixChange, suspects: readonly Checkpoint[]): Checkpoint | undefined {
  const prompts = suspects.filter(({ event }) => event?.kind === 'SystemPromptEvent')
  const others = suspects.filter((one) => !prompts.includes(one))
  return change.in === 'message' ? (others[0] ?? prompts.at(-1)) : (prompts.at(-1) ?? others[0])
}

function whatChanged(entry: Checkpoint, log: Log): string {
  const { id, event, parent } = entry
  const above = branchOf(parent)
  switch (event?.kind) {
    case 'SystemPromptEvent': {
      const old = above.systemPrompt?.event
      const isDate = old !== undefined && differsByDate(old, event)
      const how = isDate ? 'differs from the previous one only by a date or a number' : 'replaces another one'
      return `the system prompt ${quote(id)} ${how}`
    }
    case 'Condensation': {
      const removed = countIn(removedUnits(entry, log))
      const what = removed > 0 ? `removed ${counted(removed, 'event')} from` : 'put its summary into'
      return `the condensation ${quote(id)} ${what} content that was already sent`
    }
    case 'ActionEvent':
    case 'MessageEvent':
      return `the reply ${quote(id)} arrived late, and is placed before messages that were already sent`
    default:
      return `the result ${quote(id)} arrived after the next request, so the reply with its call moved back in the view`
  }
}

function differsByDate(one: SystemPromptEvent, other: SystemPromptEvent): boolean {
  const [was, is] = [one, other].map(({ system_prompt, dynamic_context, tools }) =>
    JSON.stringify([system_prompt.text, dynamic_context?.text ?? null, tools]),
  ) as [string, string]
  return was !== is && withoutDates(was) === withoutDates(is)
}

const withoutDates = (text: string): string => text.replace(DATES, '#').replace(/#[#\s,]*#/g, '#')

const DATES =
  /\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|\b[ap]m\b|\d[\d:.,/TZ+-]*/gi

const isSigned = (message: NeutralMessage | undefined): message is AssistantMessage =>
  message?.role === 'assistant' &&
  (message.thinking_blocks.some((block) => !('thinking' in block) || (block.signature ?? '') !== '') ||
    [
      message.responses_reasoning_item,
      ...message.tool_calls.map((call) => call.responses_reasoning_item),
    ].some((item) => (item?.encrypted_content ?? '') !== ''))

function thinkingOf(message: AssistantMessage): number {
  const calls = message.tool_calls.map((call) => ({ ...call, responses_reasoning_item: null }))
  const without = { ...message, thinking_blocks: [], responses_reasoning_item: null, tool_calls: calls }
  return estimateTokens([message]) - estimateTokens([without])
}

/** Finds repeated calls, and results that arrived too late for the view. */
function* callFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const last = new Map<string, CallCheckpoint>()
  for (const entry of state.log.entries) {
    if (!entry.inTree || entry.event === null) continue
    if (isCallCheckpoint(entry)) {
      const before = last.get(entry.event.tool_call_id)
      last.set(entry.event.tool_call_id, entry)
      if (before !== undefined && isRepeated(before, entry)) {
        const { tool_name } = entry.event
        const text = `the call of ${quote(tool_name)} is repeated: ${quote(entry.id)} equals ${quote(before.id)}, so its tool may have run twice`
        yield finding('doubled_call', 'error', entry, text, { ids: [before.id], rule: 'U2', law: 'P6' })
      }
    } else if (isToolResult(entry.event) && isLate(entry)) {
      const judged = judgeResult(state, entry)
      if (judged === null) continue
      const text = `a result arrived too late, and the model never sees it: ${judged.verdict.text}`
      yield finding('late_result', 'warning', entry, text, { ids: judged.verdict.ids, rule: 'U6' })
    }
  }
}

function isLate({ branch, parent }: Checkpoint): boolean {
  const above = branchOf(parent)
  return (
    branch.dropped !== above.dropped &&
    pendingCallCount(branch.pendingCalls) < pendingCallCount(above.pendingCalls)
  )
}

type CallCheckpoint = Checkpoint & EventEntry<ActionEvent>

const isCallCheckpoint = (entry: Checkpoint): entry is CallCheckpoint => entry.event?.kind === 'ActionEvent'

/** Whether a call repeats another. Equal ids prove nothing, because many servers reuse ids. */
function isRepeated(before: CallCheckpoint, { event, parent }: CallCheckpoint): boolean {
  const one = before.event
  const isSame = one.tool_name === event.tool_name && one.tool_call.arguments === event.tool_call.arguments
  if (!isSame || !isOnPathIn(before, parent)) return false
  const isReply = one.llm_response_id === event.llm_response_id && event.llm_response_id !== ''
  return isReply || openCallOf(branchOf(parent).pendingCalls, one.tool_call_id, before.seq) !== undefined
}

/** Finds completions and progress reports whose call was not a working call (U11). */
function* idleFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const completed = new Map<string, Entry[]>()
  for (const entry of state.log.entries) {
    const { event, inTree, parent } = entry
    if (event === null || !inTree) continue
    const ended = completes(entry)
    if (ended !== null) completed.set(ended, [...(completed.get(ended) ?? []), entry])
    const report = progressOf(event)?.action_id
    const named = ended === null ? (completionOf(event)?.action_id ?? report) : undefined
    if (named === undefined) continue
    if (report !== undefined && workingCallOf(branchOf(parent), named, state.log) !== undefined) continue
    const { text, ids } = whyNotWorking(state, entry, named, completed.get(named) ?? [])
    if (report === undefined) {
      const what = `the message completes no call and is sent like any other message: ${text}`
      yield finding('idle_completion', 'warning', entry, what, { ids, rule: 'U11', law: 'P12' })
    } else {
      const what = `the progress report is ignored, because its call is not working: ${text}`
      yield finding('idle_progress', 'note', entry, what, { ids, rule: 'U11' })
    }
  }
}

function* pendingFindings({ state, ended }: Scene): IterableIterator<FindingDraft> {
  const working = listPendingCallsIn(state.branch.workingCalls)
  if (working[0] !== undefined) {
    const verb = working.length === 1 ? 'works' : 'work'
    const tool = quote(working[0].entry.event.tool_name)
    const text = `${counted(working.length, 'call')} ${verb} after the reply: ${tool} waits for its completion`
    const ids = working.map(({ entry }) => entry.id)
    yield finding('working_call', 'note', working[0].entry, text, { ids, rule: 'U11' })
  }
  const calls = listPendingCallsIn(state.branch.pendingCalls)
  const [first] = calls
  if (first === undefined || ended) return
  const text = `${counted(calls.length, 'call has', 'calls have')} no result, so ${calls.length === 1 ? 'its' : 'their'} reply is not sent: ${quote(first.entry.event.tool_name)} waits`
  yield finding('pending_call', 'note', first.entry, text, {
    ids: calls.map(({ entry }) => entry.id),
    rule: 'U4',
  })
}

/** Minimum characters of a word. Shorter words do not show what a message is about. */
const LEAST_WORD = 4

const SHARE = 0.25

/**
 * Finds condensations of HEAD's branch that removed the first or latest user message, and whose summary
 * contains few terms of that message. This is a guess: a summary in another language is reported, too.
 */
function* condensationFindings({ state }: Scene): IterableIterator<FindingDraft> {
  let task: EventEntry<MessageEvent> | null = null
  for (const entry of pathBetween(null, state.log.head)) {
    const { event, id } = entry
    if (event?.kind === 'MessageEvent' && event.source === 'user') task ??= entry as EventEntry<MessageEvent>
    if (event?.kind !== 'Condensation' || task === null) continue
    const above = branchOf(entry.parent)
    const required = new Map([
      [task, 'the task'],
      ...(above.lastUserMessage === null || above.lastUserMessage.seq === task.seq
        ? []
        : [[above.lastUserMessage, 'the last message of the user'] as const]),
    ])
    const summary = event.summary ?? ''
    for (const [message, what] of required) {
      if (!holds(above.view, message) || holds(entry.branch.view, message) || mentions(summary, message))
        continue
      const how = hasText(summary)
        ? 'its summary contains hardly any words of this message'
        : 'it has no summary'
      const text = `the condensation ${quote(id)} removed ${what} (${quote(message.id)}) from the view, and ${how}`
      // With missing words, the finding is a guess; with a missing summary, it is certain.
      const severity = hasText(summary) ? 'warning' : 'error'
      yield finding('forgotten_task', severity, entry, text, { ids: [message.id], rule: 'U6' })
    }
  }
}

const holds = ({ units }: View, entry: EventEntry): boolean => indexOfEvent(units, entry) >= 0

/** Whether a summary mentions a message; true for a message without words that identify it. */
function mentions(summary: string, { event }: EventEntry<MessageEvent>): boolean {
  const taskWords = wordSet(textsOf(event.llm_message.content ?? []).join(' '))
  if (taskWords.size === 0) return true
  const summaryWords = wordSet(summary)
  return [...taskWords].filter((word) => summaryWords.has(word)).length >= taskWords.size * SHARE
}

const MAX_WORDS = 400

function wordSet(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  return new Set(words.filter((word) => word.length >= LEAST_WORD).slice(0, MAX_WORDS))
}

/**
 * Finds branches that contain tool results or replies, but not HEAD. If a state update moved HEAD away, the
 * finding is a note. Otherwise it is a warning, because the branch may have been lost by mistake.
 */
function* branchFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const { head } = state.log
  const left = headMoves(state)
  const seen = new Set<Entry>()
  for (const leaf of listLeavesIn(state.log)) {
    if (head !== null && isOnPathIn(leaf, head)) continue
    const path: Entry[] = []
    for (let entry: Entry | null = leaf; entry !== null && !seen.has(entry); entry = entry.parent) {
      if (head !== null && isOnPathIn(entry, head)) break
      seen.add(entry)
      path.push(entry)
    }
    const results = path.filter(({ event }) => event !== null && isToolResult(event)).length
    const replies = path.filter(
      ({ event }) => event?.kind === 'MessageEvent' && event.source === 'agent',
    ).length
    const first = path.at(-1)
    if (first === undefined || results + replies === 0) continue
    const by = left(first)?.by ?? null
    const moved = by?.event?.kind === 'ConversationStateUpdateEvent'
    const work = [
      ...(results === 0 ? [] : [counted(results, 'result')]),
      ...(replies === 0 ? [] : [counted(replies, 'message')]),
    ].join(' and ')
    const isBefore = head === null || isOnPathIn(head, first)
    const how =
      by === null || (isBefore && !moved)
        ? `HEAD ${isBefore ? 'is before it' : 'is on another branch'}`
        : moved
          ? `HEAD was moved off this branch by ${quote(by.id)}`
          : `${quote(by.id)} ${describeParent(by)}${by.parent === null ? '' : ', before it'}`
    const text = `a branch with ${work} of the agent is not visible to the model: ${how}`
    yield finding('lost_branch', moved ? 'note' : 'warning', leaf, text, {
      ids: [by?.id, first.id],
      rule: 'D7',
    })
  }
}

const END_TEXTS: Readonly<Record<EarlyEnd, string | null>> = {
  truncated: 'was cut off by its token limit',
  filtered: 'was blocked by the provider',
  refused: 'is a refusal',
  paused: null,
  broken_off: 'broke off',
  failed: 'failed at the provider',
}

function* cutOffFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const reported = new Set<string>()
  for (const entry of state.log.entries) {
    const { event, inTree } = entry
    if (event === null || !inTree) continue
    const reply = responseIdOf(event)
    if (reply !== null && reported.has(reply)) continue
    const end = earlyEndOf(event)
    const endText = isCutOff(event) ? 'was interrupted by the user' : end === null ? null : END_TEXTS[end]
    if (endText === null) continue
    if (reply !== null) reported.add(reply)
    const reason: unknown = replyOf(event)?.stop_reason
    const why = typeof reason === 'string' && end !== null ? ` (${reason.slice(0, 40)})` : ''
    const text = `the reply ${endText}${why}, so it is incomplete`
    yield finding('cut_off', isCutOff(event) ? 'note' : 'warning', entry, text, { rule: 'D20' })
  }
}

/** Finds loops that end a branch or precede a user message. */
function* loopFindings({ state }: Scene): IterableIterator<FindingDraft> {
  const { verdict } = stuckDetector()
  const shown = new Set<string>()
  const ends = new Set<Entry | null>([
    ...Array.from(state.log.entries, ({ event, parent }) =>
      event?.kind === 'MessageEvent' && event.source === 'user' ? parent : null,
    ),
    ...listLeavesIn(state.log),
    state.log.head,
  ])
  for (const end of ends) {
    const stuck = end === null ? null : verdict({ ...state, branch: branchOf(end) })
    const first = stuck === null ? undefined : findEventIn(state.log, stuck.eventIds[0] ?? '')
    if (stuck === null || first === undefined || shown.has(`${stuck.pattern} ${first.seq}`)) continue
    shown.add(`${stuck.pattern} ${first.seq}`)
    const text = `the agent is in a loop: ${stuck.reason.replace(/\.$/, '')}`
    yield finding('loop', 'warning', first, text, { ids: stuck.eventIds })
  }
}
