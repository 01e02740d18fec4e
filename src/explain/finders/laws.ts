/** Findings that are breaches of laws: what replay repaired, results that end no call, batches that were split. */

import { checkLog } from '../../laws/check-log.ts'
import type { LawViolation } from '../../laws/violation.ts'
import type { Checkpoint } from '../../state/state.ts'
import { judgeResult } from '../dropped.ts'
import type { FindingKind, Severity } from '../finding.ts'
import { type Found, found, type Scene } from './scene.ts'

/** What a breach of a law is called, where it is more than a breach. */
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

/** How bad a breach is, by the letter of its law or by its number. */
const SEVERITY: Readonly<Record<string, Severity>> = {
  P: 'error',
  M: 'error',
  E7: 'note',
  E8: 'note',
  E2: 'error',
}

/** Each breach that `checkLog` finds. As `checkLog`. */
export function* lawFindings({ state, items, grammars, ended, given }: Scene): IterableIterator<Found> {
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

/** A result that ends no call, as `explain` says it. */
function resultFinding(entry: Checkpoint, breach: LawViolation, { state }: Pick<Scene, 'state'>): Found {
  const judged = judgeResult(state, entry)
  if (judged === null) return found('law', 'error', breach, withoutAdvice(breach.message), { law: 'P4' })
  const { code, text, ids } = judged.verdict
  const more = { rule: 'U3', law: 'P4', ids }
  return code === 'duplicate_result'
    ? found(
        'doubled_result',
        'error',
        breach,
        `a second result came, and the model never sees it: ${text}`,
        more,
      )
    : found(
        'orphan_result',
        'error',
        breach,
        `a result ends no call, and the model never sees it: ${text}`,
        more,
      )
}

/** What is wrong, without what a correct server would have written: the log is written already. */
const withoutAdvice = (message: string): string =>
  message.replace(/; (?:of )?a correct server .*$/s, '').replace(/; give one of .*$/s, '')
