/** What `why` says: of one event what made it stand where it does, of a conversation what is wrong in it. */

import type { State } from '../../index.ts'
import {
  explain,
  type Explanation,
  type Finding,
  findings,
  type NoteCode,
  type Reason,
  type VerdictCode,
} from '../../explain/index.ts'
import type { FileRequest } from '../args/request.ts'
import { named } from '../input/named.ts'
import type { Recording } from '../input/recording.ts'
import { inLines } from '../print/lines.ts'

/** What is said of one event, and the findings of a conversation where none is named. */
export type Why =
  | { readonly type: 'event'; readonly explanation: Explanation }
  | { readonly type: 'findings'; readonly findings: readonly Finding[] }

/** Looks into it. @throws ColloquyError `unknown_event` for an id that is not there, or not told apart. */
export function lookInto(recording: Recording, state: State, request: FileRequest): Why {
  const { subject = null, budget } = request
  const { loaded, lines } = recording
  const told = <Told extends { readonly text: string }>(one: Told): Told => {
    return { ...one, text: inLines(one.text, lines) }
  }
  if (subject === null) return { type: 'findings', findings: findings(state, { loaded }).map(told) }
  const event = named(recording, subject)
  const found = explain(state, event, budget === undefined ? {} : { budget })
  const explanation = { ...found, verdict: told(found.verdict), notes: found.notes.map(told) }
  return { type: 'event', explanation }
}

/** Its JSON. */
export function whyAsJson(
  recording: Recording,
  state: State,
  request: FileRequest,
): Readonly<Record<string, unknown>> {
  const why = lookInto(recording, state, request)
  const { lines } = recording
  if (why.type === 'findings') {
    return {
      findings: why.findings.map(({ kind, severity, text, rule, law, seq, ids, cost }) => ({
        kind,
        severity,
        line: lines[seq] ?? 0,
        text,
        rule,
        law,
        event_ids: ids,
        ...(cost && { cost: { cache_tokens: cost.cacheTokens, reasoning_tokens: cost.reasoningTokens } }),
      })),
    }
  }
  const { id, seq, kind, inView, verdict, removedBy, pairedWith, notes } = why.explanation
  return {
    event: { id, line: lines[seq] ?? 0, kind },
    in_view: inView,
    why: plain(verdict),
    removed_by: removedBy,
    paired_with: pairedWith,
    notes: notes.map(plain),
  }
}

const plain = ({ code, rule, law, text, ids }: Reason<VerdictCode | NoteCode>) => ({
  code,
  rule,
  law,
  text,
  event_ids: ids,
})
