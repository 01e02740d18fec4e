import type { Loaded } from '../../event/load.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import { initialState, type State } from '../../state/state.ts'
import { reduce } from '../../state/reduce.ts'
import { type LogDocument, findingOptions } from '../log-document.ts'
import { type Usage, usageOfEvents } from '../../context/usage.ts'
import type { Event } from '../../event/types.ts'
import { replyOf } from '../../event/reply.ts'
import { DEFAULT_GRAMMAR, findGrammar } from '../../messages/grammars.ts'
import { type Finding, findings, type Severity } from '../../explain/index.ts'

export interface Replayed {
  readonly document: LogDocument
  /** The state before all facts, then the state after each: one state more than there are facts. */
  readonly states: readonly State[]
  readonly loaded: readonly Loaded[]
}

const SLICE = 4096

/** Folds a log, yielding the number of folded events. Keeps all states, which share most memory (D6). */
export function* replaying(document: LogDocument): Generator<number, Replayed> {
  const { conversation, issues } = document
  const warnings = Map.groupBy(issues, ({ seq }) => seq)
  let state = initialState({ conversationId: conversation })
  const states = [state]
  const loaded: Loaded[] = []
  for (const fact of document.facts) {
    state = reduce(state, fact)
    states.push(state)
    const odd = warnings.get(loaded.length)?.map(({ issue }) => issue) ?? []
    // Decoded facts are frozen, but facts that were sent to the page are not.
    loaded.push({ fact: Object.freeze(fact), upcasts: [], warnings: odd })
    if (states.length % SLICE === 0) yield loaded.length
  }
  return { document, states, loaded }
}

export function extended({ document, states, loaded }: Replayed, facts: readonly Fact[]): Replayed {
  let state = states.at(-1) as State
  const more = facts.map((fact) => (state = reduce(state, fact)))
  return {
    document: { ...document, facts: [...document.facts, ...facts] },
    states: [...states, ...more],
    loaded: [...loaded, ...facts.map((fact): Loaded => ({ fact, upcasts: [], warnings: [] }))],
  }
}

export const stateOf = ({ states }: Replayed, position: number): State =>
  states[Math.min(Math.max(position, 0), states.length - 1)] as State

export function usageAt({ states }: Replayed, position: number): Usage {
  const entries = states.at(-1)?.log.entries.slice(0, position) ?? []
  return usageOfEvents(entries.flatMap(({ event, inTree }) => (event === null || !inTree ? [] : [event])))
}

/** Returns the usage of a log. An event with a repeated id does not count, because it is not in the tree. */
export function usageIn({ facts }: LogDocument): Usage {
  const seen = new Set<string>()
  return usageOfEvents(facts.filter((fact): fact is Event => isFirst(fact, seen) && !isQuarantined(fact)))
}

function isFirst({ id }: Fact, seen: Set<string>): boolean {
  if (id === undefined || id === null) return true
  const { size } = seen
  return seen.add(id).size > size
}

/**
 * Returns the indices of all logs that a log started, directly or not. O(logs · depth).
 * @example
 * startedBy(0, [{ name: 'a', parent: null }, { name: 'b', parent: 'a' }, { name: 'c', parent: 'b' }]) // [1, 2]
 */
export function startedBy(
  index: number,
  titles: readonly Pick<LogDocument, 'name' | 'parent'>[],
): readonly number[] {
  const started = new Set<number>()
  const names = new Set([titles[index]?.name])
  for (let before = -1; before !== started.size;) {
    before = started.size
    for (const [position, { name, parent }] of titles.entries()) {
      if (position === index || parent === null || !names.has(parent)) continue
      started.add(position)
      names.add(name)
    }
  }
  return [...started]
}

/**
 * Returns the findings of a log. If a reply's grammar has encrypted content, does not check requests, because
 * browsers do not receive this content.
 */
export function findingsOf({ states, loaded, document }: Replayed): readonly Finding[] {
  if (document.findings !== null) return document.findings
  const state = states.at(-1) as State
  const made = new Set(
    loaded.flatMap(({ fact }) => (isQuarantined(fact) ? [] : [replyOf(fact)?.grammar ?? DEFAULT_GRAMMAR])),
  )
  const grammars = [...made].some(hasEncrypted) ? [] : null
  return findings(state, { loaded, ...(grammars !== null && { grammars }), ...findingOptions(loaded.length) })
}

export const hasEncrypted = (grammar: string): boolean =>
  findGrammar(grammar)?.limits.kinds.reasoning !== undefined

export function flagsOf(
  findings: readonly Finding[],
  find: (id: string) => number | null,
): Map<number, Exclude<Severity, 'note'>> {
  const flags = new Map<number, Exclude<Severity, 'note'>>()
  for (const { severity, seq, ids } of findings.toReversed()) {
    if (severity === 'note') continue
    for (const index of ids.length === 0 ? [seq] : ids.slice(0, 50).map(find))
      if (index !== null) flags.set(index, severity)
  }
  return flags
}
