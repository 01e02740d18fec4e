import type { Loaded } from '../event/load.ts'
import type { GrammarName } from '../event/reply.ts'
import type { RequestWriter } from '../laws/requests.ts'
import type { NeutralMessage } from '../messages/message.ts'
import type { State } from '../state/state.ts'
import type { Finding, FindingKind, Severity } from './finding.ts'
import { DEFAULT_GRAMMAR, grammarNamed } from '../messages/grammars.ts'
import { toMessages } from '../messages/neutral.ts'
import type { LeftOut } from '../messages/prefix.ts'
import type { Branch } from '../state/branch.ts'

export interface Scene {
  readonly state: State
  readonly items: readonly Loaded[]
  readonly grammars: readonly GrammarName[]
  readonly ended: boolean
  readonly messages: (state: State) => readonly NeutralMessage[]
  readonly writer: RequestWriter | undefined
}

export type FindingDraft = Omit<Finding, 'key'>

export type Finder = (scene: Scene) => Iterable<FindingDraft>

interface More extends Partial<Pick<FindingDraft, 'rule' | 'law' | 'cost'>> {
  readonly ids?: readonly (string | null | undefined)[]
}

/** Creates a finding. Each event is listed once. */
export function finding(
  kind: FindingKind,
  severity: Severity,
  event: { readonly seq: number; readonly id: string | null },
  text: string,
  { ids = [], rule = null, law = null, cost }: More = {},
): FindingDraft {
  const named = [event.id, ...ids].filter((id): id is string => typeof id === 'string')
  return { kind, severity, text, rule, law, seq: event.seq, ids: [...new Set(named)], ...(cost && { cost }) }
}

interface Request {
  readonly messages: readonly NeutralMessage[]
  /** In the grammar, with the tools of the system prompt; null where there is nothing to send. */
  readonly written: { readonly tools: readonly unknown[] } | null
  readonly leftOut: readonly LeftOut[]
}

/** Both treatments of replaced system prompts; the first is the default. */
const SYSTEMS = ['replace', 'append'] as const

/**
 * Messages a server sends for a state: the treatment of later system prompts that fits more signed replies.
 * O(content of the view).
 */
export function sentOf(
  state: State,
  grammar: GrammarName = DEFAULT_GRAMMAR,
  messages: RequestWriter = toMessages,
): Scene['messages'] {
  const writers = SYSTEMS.map((system) => (one: State) => messages(one, { system }))
  const leftOutCounts = writers.map((way) => requestOn(state, state.branch, grammar, way).leftOut.length)
  return writers[leftOutCounts.indexOf(Math.min(...leftOutCounts))] ?? ((one) => messages(one, {}))
}

/** The request for a branch. O(content of the view). */
export function requestOn(
  state: State,
  branch: Branch,
  grammar: GrammarName,
  sent: Scene['messages'],
): Request {
  const messages = sent({ ...state, branch })
  const leftOut: LeftOut[] = []
  if (messages.length === 0) return { messages, written: null, leftOut }
  const request = grammarNamed(grammar).write(messages, { onPrefix: (remaining) => leftOut.push(remaining) })
  const list = Array.isArray(request) ? { messages: request } : request
  return { messages, written: { ...list, tools: branch.systemPrompt?.event.tools ?? [] }, leftOut }
}
