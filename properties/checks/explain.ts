/** O4, O5: explanations and findings agree with the view and the log. */

import { progressOf } from '../../src/event/completion.ts'
import { isToolResult } from '../../src/event/kinds.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import { explain } from '../../src/explain/explain.ts'
import { type Explanation, ruleOf, type VerdictCode } from '../../src/explain/explanation.ts'
import type { FindingKind } from '../../src/explain/finding.ts'
import { findings } from '../../src/explain/findings.ts'
import { loadItem } from '../../src/laws/load.ts'
import { sentenceOf } from '../../src/laws/sentences.ts'
import { listDroppedResults, listPendingBatches, viewEvents } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import { branchOf, type Checkpoint, type State } from '../../src/state/state.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { unitEvents } from '../../src/view/units.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { readTree } from '../../test/model/tree.ts'
import { reportsIn } from './timeline.ts'

const MISTAKES: ReadonlySet<FindingKind> = new Set([
  'quarantined',
  'doubled_call',
  'split_batch',
  'doubled_result',
  'orphan_result',
  'pending_call',
  'repaired',
  'law',
])

const all = (state: State): Explanation[] =>
  Array.from(state.log.entries, ({ seq }) => total('O4', `explain at ${seq}`, () => explain(state, seq)))

const REGROUPED: ReadonlySet<VerdictCode> = new Set(['condensed_with_stretch', 'duplicate_result', 'pending'])

const seqsOf = (items: Iterable<object>): Set<unknown> =>
  new Set([...items].flatMap((item) => ('seq' in item ? [item.seq] : [])))

function checkView(state: State, matches: readonly Explanation[]): void {
  const shown = seqsOf(viewEvents(state))
  const pending = seqsOf(listPendingBatches(state).flatMap((unit) => [...unitEvents(unit)]))
  const dropped = new Map(listDroppedResults(state).map(({ id, reason }) => [id, reason]))
  for (const { seq, id, inView, verdict, pairedWith, notes } of matches) {
    const index = `of ${seq}: ${verdict.text}`
    same('O4', `inView ${index}`, inView, shown.has(seq))
    same('O4', `whether pending, ${index}`, verdict.code === 'pending', pending.has(seq))
    const entry = state.log.entries.get(seq)
    const result = entry?.inTree === true && entry.event !== null && isToolResult(entry.event)
    if (result && verdict.code !== 'other_branch') {
      const reason = dropped.get(id ?? '')
      const report = verdict.code === 'late_result' ? 'orphan_result' : verdict.code
      same('O4', `the reason for dropping ${index}`, report.endsWith('_result') ? report : undefined, reason)
      const isPaired = inView || verdict.code === 'pending'
      if (isPaired) same('P1', `number of paired events ${index}`, pairedWith.length, 1)
    }
    if (verdict.code !== 'other_branch')
      for (const pair of pairedWith)
        hold(
          'P1',
          explain(state, pair).pairedWith.includes(id ?? ''),
          () => `${pair} is not paired back, ${index}`,
        )
    const removal = notes.find(({ code }) => code === 'took_out')
    if (removal !== undefined)
      same(
        'O4',
        `number of removed events ${index}`,
        Number.parseInt(removal.text.slice('it removed '.length), 10),
        removedCount(state, seq),
      )
    for (const { rule, ids } of [verdict, ...notes]) {
      hold('O4', ruleOf(rule) !== null, `rule ${rule} has no sentence`)
      for (const one of ids) total('O4', `explaining a named event ${index}`, () => explain(state, one))
    }
  }
  for (const { id } of viewEvents(state))
    hold(
      'O4',
      explain(state, id).inView || state.log.entries.get(explain(state, id).seq)?.id === id,
      `event ${id} of the view is not explained as in the view`,
    )
}

function removedCount(state: State, seq: number): number {
  const entry = state.log.entries.get(seq) as Checkpoint
  const [before, after] = [branchOf(entry.parent), entry.branch].map(({ view }) => [...viewEventsIn(view)])
  return (before ?? []).filter((item) => !(after ?? []).includes(item)).length
}

function without(facts: readonly Fact[], state: State, removedBy: string): Fact[] {
  const { seq } = explain(state, removedBy)
  return facts.map((fact, index) => {
    if (index !== seq || isQuarantined(fact)) return fact
    const position = { id: removedBy, ...(fact.parent_id !== undefined && { parent_id: fact.parent_id }) }
    return fact.kind === 'ConversationStateUpdateEvent'
      ? { ...position, kind: fact.kind, key: 'nothing', value: null }
      : { ...position, kind: 'PauseEvent' }
  })
}

/** An event with children, or with a duplicate id, cannot be removed. */
const isTestable = (state: State, { verdict, removedBy }: Explanation): boolean =>
  removedBy !== null &&
  verdict.code !== 'repeated_id' &&
  (verdict.code !== 'other_branch' || explain(state, removedBy).kind === 'ConversationStateUpdateEvent')

const verdictIn = ({ inView, verdict, removedBy }: Explanation): string =>
  JSON.stringify([inView, verdict.code, removedBy])

/** O4: explanations agree with the view and name the cause. Returns the verdicts. */
export function checkExplained(facts: readonly Fact[]): VerdictCode[] {
  const state = replay(facts)
  const result = all(state)
  checkView(state, result)
  const removed = result.filter((one) => isTestable(state, one))
  for (const one of new Map(removed.map((each) => [each.verdict.code, each])).values()) {
    const after = explain(replay(without(facts, state, one.removedBy ?? '')), one.seq)
    hold(
      'O4',
      verdictIn(after) !== verdictIn(one),
      () => `the verdict is the same without its cause: ${one.verdict.text}`,
    )
    // Without the cause, units and first results can differ.
    hold(
      'O4',
      after.inView || REGROUPED.has(after.verdict.code),
      () => `not in the view without ${one.removedBy}: ${after.verdict.text}, before ${one.verdict.code}`,
    )
  }
  return result.map(({ verdict }) => verdict.code)
}

/** O5: every finding is real, and the worst are first. Returns their kinds. */
export function checkFindings(facts: readonly Fact[]): FindingKind[] {
  const state = replay(facts)
  const result = total('O5', 'findings', () => findings(facts, { secrets: false }))
  for (const { ids, rule, law, text } of result) {
    for (const id of ids) total('O5', `explaining an event of ${text}`, () => explain(state, id))
    hold('O5', rule === null || ruleOf(rule) !== null, `rule ${rule} has no sentence`)
    hold('O5', law === null || sentenceOf(law) !== null, `law ${law} has no sentence`)
  }
  const ranks = result.map(({ severity }) => ['error', 'warning', 'note'].indexOf(severity))
  same('O5', 'the order of severities', ranks, ranks.toSorted())
  const idle = (kind: FindingKind): number[] => result.flatMap((one) => (one.kind === kind ? [one.seq] : []))
  const entries = [...state.log.entries]
  const unmatched = entries.filter(({ warnings }) =>
    warnings.some(({ code }) => code === 'nothing_completed'),
  )
  same(
    'O5',
    'completions without a working call',
    idle('idle_completion'),
    unmatched.map(({ seq }) => seq),
  )
  const reports = reportsIn(readTree(facts))
  const dropped = entries.filter(
    ({ inTree, event, seq }) => inTree && event && progressOf(event) && !reports.has(seq),
  )
  same(
    'O5',
    'progress without a working call',
    idle('idle_progress'),
    dropped.map(({ seq }) => seq),
  )
  same(
    'O5',
    'findings of the state',
    findings(state, { secrets: false, loaded: facts.map(loadItem) }),
    result,
  )
  return result.map(({ kind }) => kind)
}

/** O5: legal logs have no findings of mistakes. */
export function checkFoundOfLegal(log: readonly Fact[]): void {
  const wrong = findings(log, { secrets: false }).filter(
    ({ kind, severity }) => severity !== 'note' && MISTAKES.has(kind),
  )
  same('O5', 'findings in a legal log', wrong, [])
}
