/** What is wrong or remarkable in a conversation, the worst first. */

import type { Loaded } from '../event/load.ts'
import { type Grammar, replyOf } from '../event/reply.ts'
import { loadItem, type LogItem } from '../laws/load.ts'
import type { RequestWriter } from '../laws/requests.ts'
import { loadedEvent } from '../log/entry.ts'
import { EVENT_KINDS } from '../event/kinds.ts'
import { replay } from '../state/reduce.ts'
import type { State } from '../state/state.ts'
import { branchFindings } from './finders/branches.ts'
import { callFindings, pendingFindings } from './finders/calls.ts'
import { condensationFindings } from './finders/condensations.ts'
import { lawFindings } from './finders/laws.ts'
import { prefixFindings } from './finders/prefix.ts'
import { repairFindings } from './finders/repairs.ts'
import { cutOffFindings, loopFindings } from './finders/replies.ts'
import { type Finder, type Found, type Scene } from './finders/scene.ts'
import { secretFindings } from './finders/secrets.ts'
import { isGrammar, sentOf } from './finders/wires.ts'
import { type Finding, FINDING_KINDS, type Severity } from './finding.ts'

/** What is looked for. */
export interface FindingOptions {
  /** The grammars in which requests are looked at. Default: those that records of replies name, else Anthropic's. */
  readonly grammars?: readonly Grammar[]
  /** What the server sends of a state, where it masks or cuts that. Default: `toMessages`. */
  readonly messages?: RequestWriter
  /** Whether the conversation is over: then no call may be pending. Default: no. */
  readonly ended?: boolean
  /** Whether secrets are looked for, which reads every text. Default: yes. */
  readonly secrets?: boolean
  /** Of a state: its facts as they were loaded, for what loading has warned of. Default: nothing was. */
  readonly loaded?: readonly Loaded[]
  /** Of a log that is given as such: part of the ids of events that have none. Default: the empty string. */
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

/** The grammars that the replies of a log were made in. */
function grammarsIn({ log }: State): readonly Grammar[] {
  const named = new Set<Grammar>()
  for (const { event } of log.entries) {
    const grammar = event === null ? undefined : replyOf(event)?.grammar
    if (isGrammar(grammar)) named.add(grammar)
  }
  return named.size === 0 ? ['anthropic'] : [...named]
}

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'note']

const inOrder = (a: Found, b: Found): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  FINDING_KINDS.indexOf(a.kind) - FINDING_KINDS.indexOf(b.kind) ||
  a.seq - b.seq

/** Each with a key of its own: the same one for the same log. */
function withKeys(found: readonly Found[]): Finding[] {
  const used = new Map<string, number>()
  return found.map((one) => {
    const base = `${one.kind}:${one.seq}`
    const times = used.get(base) ?? 0
    used.set(base, times + 1)
    return Object.freeze({ key: times === 0 ? base : `${base}:${times}`, ...one })
  })
}
