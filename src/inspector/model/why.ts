/** What is wrong or remarkable in a log, where the page has to find that itself, and which rows of it are marked. */

import { replyOf } from '../../event/reply.ts'
import { type Finding, findings, type Severity } from '../../explain/index.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { State } from '../../state/state.ts'
import { lookOf } from '../log-document.ts'
import type { Replayed } from './replayed.ts'

/**
 * All that is found in a log, the worst first: as the document has it, else looked for here. What is encrypted is not
 * on the page, so that requests in the grammar that has it are not looked at here. O(n log n + size).
 */
export function findingsOf({ states, loaded, document }: Replayed): readonly Finding[] {
  if (document.findings !== null) return document.findings
  const state = states.at(-1) as State
  const made = new Set(
    loaded.flatMap(({ fact }) => (isQuarantined(fact) ? [] : [replyOf(fact)?.grammar ?? 'anthropic'])),
  )
  const grammars = made.has('openai-responses') ? [] : null
  return findings(state, { loaded, ...(grammars !== null && { grammars }), ...lookOf(loaded.length) })
}

/** The worst that is said of each position, but for what is only worth knowing. */
export function flagsOf(
  found: readonly Finding[],
  find: (id: string) => number | null,
): Map<number, Exclude<Severity, 'note'>> {
  const flags = new Map<number, Exclude<Severity, 'note'>>()
  for (const { severity, seq, ids } of found.toReversed()) {
    if (severity === 'note') continue
    for (const at of ids.length === 0 ? [seq] : ids.slice(0, 50).map(find))
      if (at !== null) flags.set(at, severity)
  }
  return flags
}
