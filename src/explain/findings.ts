/** What is wrong or remarkable in a conversation, the worst first. */

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
import { prefixFindings } from './prefix-findings.ts'
import { DEFAULT_GRAMMAR, isGrammarName } from '../messages/grammars.ts'
import { type Finder, type Found, found, requestOn, type Scene, sentOf } from './scene.ts'
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
function* repairFindings({ state, grammars, messages: sent }: Scene): IterableIterator<Found> {
  const { head } = state.log
  if (head === null) return
  for (const grammar of grammars) {
    const { messages, leftOut } = requestOn(state, state.branch, grammar, sent)
    for (const what of repairsOf(messages))
      yield found('repaired', 'note', head, `in the request for ${grammar}, ${what}`)
    if (leftOut.length > 0) {
      const text = `in the request for ${grammar}, the signed parts of ${counted(leftOut.length, 'reply', 'replies')} are left out (${[...new Set(leftOut.map(({ reason }) => reason))].join(', ')})`
      yield found('repaired', 'note', head, text, { rule: 'D23' })
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
    yield `the arguments of ${counted(garbled, 'call')} are no JSON object, and are sent as text in one`
  const first = messages.find(({ role }) => role !== 'system')
  if (first?.role === 'assistant')
    yield 'a message of the user is put in front, since it would begin with a reply'
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

/** By the letter of a law or by its number. */
const SEVERITY: Readonly<Record<string, Severity>> = {
  P: 'error',
  M: 'error',
  E7: 'note',
  E8: 'note',
  E2: 'error',
}

/** Each violation that `checkLog` reports. */
function* lawFindings({ state, items, grammars, ended, given }: Scene): IterableIterator<Found> {
  const { conversationId } = state
  const asked = { ended, grammars, conversationId, ...(given !== undefined && { messages: given }) }
  for (const breach of checkLog(items, asked)) {
    const { law, seq } = breach
    if (law === 'P4') yield resultFinding(state.log.entries.get(seq) as Checkpoint, breach, { state })
    else {
      const severity = SEVERITY[law] ?? SEVERITY[law.slice(0, 1)] ?? 'warning'
      yield found(KINDS[law] ?? 'law', severity, breach, withoutAdvice(breach.message), { law })
    }
  }
}

function resultFinding(entry: Checkpoint, breach: LawViolation, { state }: Pick<Scene, 'state'>): Found {
  const judged = judgeResult(state, entry)
  if (judged === null) return found('law', 'error', breach, withoutAdvice(breach.message), { law: 'P4' })
  const { code, text, ids } = judged.verdict
  const isSecond = code === 'duplicate_result'
  const what = `${isSecond ? 'a second result arrived' : 'a result ends no call'}, and the model never sees it: ${text}`
  return found(isSecond ? 'doubled_result' : 'orphan_result', 'error', breach, what, {
    rule: 'U3',
    law: 'P4',
    ids,
  })
}

/** Without the advice to a server: the log is already written. */
const withoutAdvice = (message: string): string =>
  message.replace(/; (?:of )?a correct server .*$/s, '').replace(/; give one of .*$/s, '')

export interface FindingOptions {
  /** The grammars in which requests are checked. Default: those that replies record, else Anthropic's. */
  readonly grammars?: readonly GrammarName[]
  /** How the server writes requests, if it masks or cuts them. Default: `toMessages`. */
  readonly messages?: RequestWriter
  /** Whether the conversation is over: then no call may be pending. Default: no. */
  readonly ended?: boolean
  /** Whether to search all texts for secrets. Default: yes. */
  readonly secrets?: boolean
  /** For a state: its facts as they were loaded, with the warnings of loading. Default: no warnings. */
  readonly loaded?: readonly Loaded[]
  /** For a log: part of the ids of events that have none. Default: the empty string. */
  readonly conversationId?: string
}

const FINDERS: readonly Finder[] = [
  lawFindings,
  callFindings,
  pendingFindings,
  prefixFindings,
  condensationFindings,
  loopFindings,
  cutOffFindings,
  branchFindings,
  repairFindings,
]

/**
 * What is wrong or remarkable in a conversation, the worst first, and of what is equally bad what causes other things
 * before what follows from it: warnings of replay and breaches of laws, requests that do not begin as the one before,
 * circles, replies that were cut off, branches that were left, condensations that forgot the task, and what looks like
 * a secret. The log is not changed. Each has the events that show it; `explain` says more of one.
 *
 * O(n log n + size), and O(content of the view) for each of at most 64 changes of the past and 12 + 2 · log2(n)
 * requests in each grammar.
 *
 * @param log a state, or a log as `checkLog` takes it; of lines alone it is known what JSON lost
 * @throws ColloquyError `evicted` for a state of which bodies were evicted.
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
  const { ended = false, conversationId, messages: given } = options
  const seen = (state: State, items: readonly Loaded[]): Scene => {
    const grammars = options.grammars ?? grammarsIn(state)
    return { state, items, grammars, ended, given, messages: sentOf(state, grammars[0], given) }
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

const inOrder = (a: Found, b: Found): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  FINDING_KINDS.indexOf(a.kind) - FINDING_KINDS.indexOf(b.kind) ||
  a.seq - b.seq

/** Adds a unique key to each, which is the same for the same log. */
function withKeys(found: readonly Found[]): Finding[] {
  const used = new Map<string, number>()
  return found.map((one) => {
    const base = `${one.kind}:${one.seq}`
    const times = used.get(base) ?? 0
    used.set(base, times + 1)
    return Object.freeze({ key: times === 0 ? base : `${base}:${times}`, ...one })
  })
}

/** Events that contain a well-known form of secret. O(size). */
function* secretFindings({ state }: Scene): IterableIterator<Found> {
  const rules = redactionRules()
  for (const entry of state.log.entries) {
    const fact = entry.event ?? entry.quarantined
    if (fact === null) continue
    const masked = redact(fact, rules)
    if (masked === fact) continue
    const path = difference(fact, masked, '') ?? ''
    const what = isQuarantined(fact)
      ? 'a line that is no event'
      : 'tool_name' in fact && fact.kind !== 'ActionEvent'
        ? `the result of ${quote(fact.tool_name)}`
        : `this ${fact.kind}`
    const text = `${what} holds what looks like a secret${path === '' ? '' : `, at ${path.slice(0, 120)}`}`
    yield found('secret', 'error', entry, text, { law: 'X7' })
  }
}

/** The first difference of two JSON values, down to a masked name at most; null for equals. O(size). */
function difference(was: unknown, is: unknown, path: string): string | null {
  if (was === is) return null
  if (!isObject(was) || !isObject(is)) return path
  for (const [key, value] of Object.entries(was)) {
    if (!Object.hasOwn(is, key)) return path
    const at = Array.isArray(was) ? `[${key}]` : path === '' ? key : `.${key}`
    const place = difference(value, is[key], `${path}${at}`)
    if (place !== null) return place
  }
  return null
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
