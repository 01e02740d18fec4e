/** Problems and notable facts of a conversation, the worst first. */

import type { Loaded } from '../event/load.ts'
import { type GrammarName, replyOf } from '../event/reply.ts'
import { type LawViolation, loadItem, type LogItem } from '../laws/load.ts'
import type { RequestWriter } from '../laws/requests.ts'
import { loadedEvent } from '../log/entry.ts'
import { EVENT_KINDS } from '../event/kinds.ts'
import { replay } from '../state/reduce.ts'
import type { Checkpoint, State } from '../state/state.ts'
import {
  branchFindings,
  callFindings,
  condensationFindings,
  cutOffFindings,
  loopFindings,
  pendingFindings,
} from './conversation-findings.ts'
import { prefixFindings, reportedFindings } from './prefix-findings.ts'
import { DEFAULT_GRAMMAR, isGrammarName } from '../messages/grammars.ts'
import { type Finder, type FindingDraft, finding, requestOn, type Scene, sentOf } from './scene.ts'
import { counted } from './explanation.ts'
import { type Finding, FINDING_KINDS, type FindingKind, type Severity } from './finding.ts'
import { checkLog } from '../laws/check-log.ts'
import { judgeResult } from './verdict.ts'
import { readArguments } from '../messages/text.ts'
import type { NeutralMessage } from '../messages/message.ts'
import { redact } from '../context/redaction/redact.ts'
import { redactionRules } from '../context/redaction/rules.ts'
import { quote } from '../event/text.ts'
import { isQuarantined } from '../event/quarantine.ts'

/** Repairs that the next request needs, one finding for each repair and grammar. O(content). */
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
  const first = messages.find(({ role }) => role !== 'system')
  if (first?.role === 'assistant')
    yield 'a user message is added in front, because the request would start with a reply'
}

const KINDS: Readonly<Record<string, FindingKind>> = {
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
    if (law === 'P4') yield resultFinding(state.log.entries.get(seq) as Checkpoint, breach, { state })
    else {
      const severity = SEVERITY[law] ?? SEVERITY[law.slice(0, 1)] ?? 'warning'
      yield finding(KINDS[law] ?? 'law', severity, breach, withoutAdvice(breach.message), { law })
    }
  }
}

function resultFinding(
  entry: Checkpoint,
  breach: LawViolation,
  { state }: Pick<Scene, 'state'>,
): FindingDraft {
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

/** Removes the advice to a server, because the log is already written. */
const withoutAdvice = (message: string): string =>
  message.replace(/; (?:of )?a correct server .*$/s, '').replace(/; give one of .*$/s, '')

export interface FindingOptions {
  /** The grammars in which requests are checked. Default: the recorded ones, else Anthropic's. */
  readonly grammars?: readonly GrammarName[]
  /**
   * Converts a state to the messages of a request, if the server masks or cuts them. Default: `toMessages`.
   */
  readonly messages?: RequestWriter
  /** Whether the conversation has ended, so that no call may be pending. Default: no. */
  readonly ended?: boolean
  /** Whether to search all texts for secrets. Default: yes. */
  readonly secrets?: boolean
  /** For a state: its facts as they were loaded, with the warnings of loading. Default: no warnings. */
  readonly loaded?: readonly Loaded[]
  /** For a log: part of the derived ids of its events. Default: the empty string. */
  readonly conversationId?: string
}

const FINDERS: readonly Finder[] = [
  lawFindings,
  callFindings,
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
 * Returns a conversation's problems and notable facts, worst first, causes before consequences: replay
 * warnings, broken laws, requests that do not extend the previous one, loops, interrupted replies, abandoned
 * branches, condensations that forgot the task, likely secrets. Each lists its evidence; `explain` explains
 * one event. Read-only.
 *
 * O(n log n + size), and O(content of the view) for each of at most 64 past changes and 12 + 2 · log2(n)
 * requests per grammar.
 * @param log a state, or a log as `checkLog` accepts it; only for lines it is known what JSON parsing lost
 * @throws ColloquyError `evicted` for a state with evicted bodies.
 * @example
 * const say = (id, text) => ({ kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user',
 *   content: [{ text }] } })
 * const forgets = { kind: 'Condensation', id: 'c', forgotten_event_ids: ['m'], llm_response_id: 'r' }
 * const [first] = findings([say('m', 'Count the files'), forgets])
 * [first.kind, first.severity, first.ids] // ['forgotten_task', 'error', ['c', 'm']]
 */
export function findings(log: State | Iterable<LogItem>, options: FindingOptions = {}): readonly Finding[] {
  const scene = sceneOf(log, options)
  const finders = options.secrets === false ? FINDERS : [...FINDERS, secretFindings]
  return withKeys(finders.flatMap((find) => [...find(scene)]).toSorted(inOrder))
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
  const state = replay(facts, conversationId === undefined ? {} : { conversationId })
  return seen(state, items)
}

function grammarsIn({ log }: State): readonly GrammarName[] {
  const named = new Set<GrammarName>()
  for (const { event } of log.entries) {
    const grammar = event === null ? undefined : replyOf(event)?.grammar
    if (isGrammarName(grammar)) named.add(grammar)
  }
  return named.size === 0 ? [DEFAULT_GRAMMAR] : [...named]
}

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'note']

const inOrder = (a: FindingDraft, b: FindingDraft): number =>
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

/** Events that contain a well-known form of secret. O(size). */
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

/** Path of two JSON values' first difference, at most down to a masked name; null if equal. O(size). */
function difference(was: unknown, is: unknown, path: string): string | null {
  if (was === is) return null
  if (!isObject(was) || !isObject(is)) return path
  for (const [key, value] of Object.entries(was)) {
    if (!Object.hasOwn(is, key)) return path
    const step = Array.isArray(was) ? `[${key}]` : path === '' ? key : `.${key}`
    const inner = difference(value, is[key], `${path}${step}`)
    if (inner !== null) return inner
  }
  return null
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
