/** Shows the problems of a recording: undecodable lines, and events that a correct server would not write. */

import { UPCASTERS } from '../../event/index.ts'
import { findEvent, isToolResult, listWarnings, type State, switchTo } from '../../index.ts'
import { glimpseIssue, reasonOf } from '../../inspector/index.ts'
import { checkLog, sentenceOf } from '../../laws/index.ts'
import { listDroppedResults, listLeaves } from '../../state/index.ts'
import type { Options } from '../commands.ts'
import type { Problems, Recording } from '../input/recording.ts'
import { counted, glimpse, hideSecrets, inLines, safe } from '../print/text.ts'
import { byLine, type Page, type Problem, type View } from './page.ts'

export const checkView: View<'check'> = {
  json: ({ recording: { lines, quarantined, issues, warnings } }) => ({
    events: lines.length,
    valid: lines.length - quarantined,
    issues,
    warnings,
  }),
  *show(page, { recording, title }) {
    const { issues, state, lines } = recording
    const bad = new Set(issues.map((issue) => issue.line)).size
    const problems = bad === 0 ? '' : `${bad.toLocaleString('en')} cannot be loaded`
    yield page.verdict(title, lines.length, problems, 'every event loads')
    const faults = issues.map(({ line, kind, ...issue }) => {
      return { line, what: glimpse(kind ?? '?'), detail: glimpseIssue(issue) }
    })
    yield* page.problemRows(faults)
    const branches = listLeaves(state).map(({ id }) => (id === null ? state : switchTo(state, id)))
    const dropped = droppedResults(recording, branches)
    const odd = [...oddities(recording), ...logRepairs(recording, state), ...dropped.values()]
    const notes = odd.filter(({ what }) => what !== 'quarantined')
    const all = byLine([...sessionNotes(recording), ...upcastRepairs(recording), ...notes])
    yield* page.problemRows(all, { label: 'note: line' })
  },
}

export const inWords = (code: string): string => code.replaceAll('_', ' ')

export const oddities = ({ warnings }: Pick<Problems, 'warnings'>): Problem[] =>
  warnings.map(({ line, ...issue }) => ({ line, what: inWords(issue.type), detail: glimpseIssue(issue) }))

/** Returns the repairs of a recording. Leaves out repairs on branches other than the state's branch. */
export function repairsOf(recording: Recording, state: State = recording.state): readonly Problem[] {
  const end = recording.lines[state.log.entries.length - 1] ?? 0
  return byLine([
    ...upcastRepairs(recording).filter(({ line }) => line <= end),
    ...logRepairs(recording, state),
    ...droppedResults(recording, [state]).values(),
    ...sessionNotes(recording),
  ])
}

export const upcastRepairs = ({ upcasts }: Pick<Problems, 'upcasts'>): Problem[] =>
  Array.from(upcasts, ([name, { count, line }]) => {
    const { description = '' } = UPCASTERS.find((upcaster) => upcaster.name === name) ?? {}
    const where = count === 1 ? name : `${name} on ${counted(count, 'line')}`
    return { line, what: 'older shape', detail: `${where}: ${description}` }
  })

const sessionNotes = ({ session }: Recording): Problem[] =>
  (session?.notes ?? []).map(({ what, count, line }) => {
    return { line, what: 'not fully read', detail: glimpse(what) + (count === 1 ? '' : `, ${count} times`) }
  })

const logRepairs = ({ lines }: Recording, state: State): Problem[] =>
  listWarnings(state).map(({ seq, id, code, message }) => {
    const existing = code === 'duplicate_id' && id !== null ? findEvent(state, id) : undefined
    const detail =
      code === 'quarantined'
        ? reasonOf(state.log.entries.get(seq)?.quarantined ?? null)
        : // The message names positions; users need lines.
          existing === undefined
          ? message
          : `left out of the tree: line ${lines[existing.seq]} already has the id ${id}`
    return { line: lines[seq] ?? 0, what: inWords(code), detail: glimpse(detail) }
  })

/** Returns the dropped results of all branches. A result before a fork is on several branches, but returned once. */
function droppedResults({ lines, state }: Recording, branches: readonly State[]): Map<string, Problem> {
  const results = new Map<string, Problem>()
  for (const branch of branches) {
    for (const { id, reason } of listDroppedResults(branch)) {
      const entry = results.has(id) ? undefined : findEvent(state, id)
      if (entry?.event === undefined || entry.event === null || !isToolResult(entry.event)) continue
      const { tool_name, tool_call_id } = entry.event
      const why =
        reason === 'duplicate_result'
          ? 'its call already has a result'
          : 'no pending call of the view matches it'
      const detail = glimpse(`left out of the view: ${why} (${tool_name}, ${tool_call_id})`)
      results.set(id, { line: lines[entry.seq] ?? 0, what: inWords(reason), detail })
    }
  }
  return results
}

export type Judged = ReturnType<typeof judgeLog>

export function judgeLog(recording: Recording, title: string, options: Options<'check'>) {
  const { conversation, lines, loaded } = recording
  const { ended = false, grammar: grammars = [] } = options
  const all = checkLog(loaded, { ended, grammars, conversationId: conversation ?? '' })
  const violations = all.map(({ law, id, seq, message }) => {
    return { law, line: lines[seq] ?? 0, id, message: hideSecrets(inLines(message, lines)) }
  })
  return { title, events: lines.length, violations }
}

const byLaw = ({ violations }: Judged) => Map.groupBy(violations, ({ law }) => law)

export function* showLaws(page: Page, judged: Judged): IterableIterator<string> {
  const { title, events, violations } = judged
  const count = violations.length
  const laws = counted(byLaw(judged).size, 'law')
  const problems = count === 0 ? '' : `${counted(count, 'violation')} of ${laws}`
  yield page.verdict(safe(title), events, problems, 'breaks no law')
  const rows = violations.map(({ law, line, message }) => {
    return { label: law, tone: 'bad' as const, group: law, line, text: message, rules: [law] }
  })
  yield* page.findingRows(rows)
}

/** Yields one JUnit document for all recordings. A log without violations is a suite with one passed case. */
export function* junitOf(judged: readonly Judged[]): IterableIterator<string> {
  const suites = judged.map((one) => ({ name: escaped(one.title), laws: [...byLaw(one)] }))
  const failures = suites.reduce((sum, { laws }) => sum + laws.length, 0)
  const tests = suites.reduce((sum, { laws }) => sum + Math.max(1, laws.length), 0)
  yield '<?xml version="1.0" encoding="UTF-8"?>'
  yield `<testsuites name="colloquy check --laws" tests="${tests}" failures="${failures}">`
  for (const { name, laws } of suites) {
    const count = Math.max(1, laws.length)
    yield `  <testsuite name="${name}" tests="${count}" failures="${laws.length}" errors="0" skipped="0" time="0">`
    if (laws.length === 0) yield `    <testcase classname="${name}" name="laws" time="0"/>`
    for (const [law, violations] of laws) {
      yield `    <testcase classname="${name}" name="${law}: ${escaped(sentenceOf(law) ?? '')}" time="0">`
      yield `      <failure type="${law}" message="${escaped(violations[0]?.message ?? '')}">`
      for (const { line, id, message } of violations)
        yield escaped(`line ${line}${id === null ? '' : ` (${id})`}: ${message}`)
      yield '      </failure>'
      yield '    </testcase>'
    }
    yield '  </testsuite>'
  }
  yield '</testsuites>'
}

// Characters that XML does not allow, or that a terminal acts upon.
const UNFIT = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/gu

const escaped = (text: string): string =>
  text.replace(UNFIT, '\ufffd').replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
