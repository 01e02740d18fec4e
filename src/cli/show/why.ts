/** Explains why an event is in the view or not, or lists the findings of a conversation. */

import {
  explain,
  type Explanation,
  type Finding,
  findings,
  type NoteCode,
  type Reason,
  ruleOf,
  type VerdictCode,
} from '../../explain/index.ts'
import { maskSecrets } from '../../index.ts'
import { describeEntry } from '../../inspector/index.ts'
import { sentenceOf } from '../../laws/index.ts'
import { resolveEvent } from '../input/recording.ts'
import { counted, inLines, pad, padStart, type Tone } from '../print/text.ts'
import { eventRow, heading, type Page, shownId, type Subject, type View, wrapped } from './page.ts'

const MAX_SHOWN = 5

const IDS = 4

const TONES: Readonly<Record<Finding['severity'], Tone>> = { error: 'bad', warning: 'warn', note: 'dim' }

type Why =
  | { readonly type: 'event'; readonly explanation: Explanation }
  | { readonly type: 'findings'; readonly findings: readonly Finding[] }

/** @throws ColloquyError `unknown_event` for an unknown or ambiguous id. */
function whyOf({ recording, state, operand, options: { budget } }: Subject<'why'>): Why {
  const { loaded, lines } = recording
  const withLines = <T extends { readonly text: string }>(one: T): T => ({
    ...one,
    text: inLines(one.text, lines),
  })
  if (operand === null) return { type: 'findings', findings: findings(state, { loaded }).map(withLines) }
  const event = resolveEvent(recording, operand)
  const explanationValue = explain(state, event, budget === undefined ? {} : { budget })
  const explanation = {
    ...explanationValue,
    verdict: withLines(explanationValue.verdict),
    notes: explanationValue.notes.map(withLines),
  }
  return { type: 'event', explanation }
}

const json: View<'why'>['json'] = (subject) => {
  const why = whyOf(subject)
  const { lines } = subject.recording
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
    why: reasonJson(verdict),
    removed_by: removedBy,
    paired_with: pairedWith,
    notes: notes.map(reasonJson),
  }
}

const reasonJson = ({ code, rule, law, text, ids }: Reason<VerdictCode | NoteCode>) => ({
  code,
  rule,
  law,
  text,
  event_ids: ids,
})

const show: View<'why'>['show'] = function* (page, subject) {
  const why = maskSecrets(whyOf(subject))
  const { recording, title } = subject
  if (why.type === 'findings') {
    yield* findingRows(page, title, why.findings, recording.lines)
    return
  }
  const { id, seq, kind, inView, verdict, notes } = why.explanation
  yield heading(page, title, `line ${recording.lines[seq] ?? 0}${id === null ? '' : `, ${shownId(id)}`}`)
  const entry = recording.state.log.entries.get(seq)
  if (entry !== undefined && kind === (entry.event?.kind ?? kind))
    yield eventRow(page, { gutter: '  ', described: describeEntry(entry), id: null, idColumns: 0 })
  yield `  ${inView ? page.paint('good', '✓ in the view') : page.paint('bad', '✗ not in the view')}`
  const quoted = new Set<string>()
  for (const reason of [verdict, ...notes]) {
    yield* wrapped(page, `    ${page.paint('strong', pad(reason.rule, 4))} `, 9, withIds(reason))
    yield* sentenceRows(page, reason, quoted)
  }
}

export const whyView: View<'why'> = { json, show }

function* sentenceRows(
  page: Page,
  { rule, law }: { readonly rule: string | null; readonly law: string | null },
  quoted: Set<string>,
): IterableIterator<string> {
  for (const name of [rule, law]) {
    const sentence = name === null ? null : (ruleOf(name) ?? sentenceOf(name))
    if (name === null || sentence === null || quoted.has(name)) continue
    quoted.add(name)
    for (const line of wrapped(page, '         ', 9, `${name}: ${sentence}`)) yield page.paint('dim', line)
  }
}

function* findingRows(
  page: Page,
  title: string,
  findings: readonly Finding[],
  lines: readonly number[],
): IterableIterator<string> {
  const quoted = new Set<string>()
  const groups = Map.groupBy(findings, ({ severity, kind }) => `${severity} ${kind}`)
  const verdict =
    findings.length === 0
      ? page.paint('good', '✓ nothing found')
      : page.paint(TONES[findings[0]?.severity ?? 'note'], counted(findings.length, 'finding'))
  yield `${heading(page, title, counted(lines.length, 'event'))}  ${verdict}`
  for (const group of groups.values()) {
    for (const finding of group.slice(0, MAX_SHOWN)) {
      const line = padStart(String(lines[finding.seq] ?? 0), String(lines.at(-1) ?? 0).length)
      const lead = `  ${page.paint(TONES[finding.severity], pad(finding.severity, 7))}  line ${line}  `
      yield* wrapped(page, lead, 18 + line.length, withIds(finding))
    }
    if (group.length > MAX_SHOWN) yield page.paint('dim', `           and ${group.length - MAX_SHOWN} more`)
    const [first] = group
    if (first !== undefined) yield* sentenceRows(page, first, quoted)
  }
}

function withIds({ text, ids }: { readonly text: string; readonly ids: readonly string[] }): string {
  const unnamed = ids.filter((id) => !text.includes(JSON.stringify(id)))
  if (unnamed.length === 0) return text
  const more = unnamed.length > IDS ? `, and ${unnamed.length - IDS} more` : ''
  return `${text} (${unnamed.slice(0, IDS).join(', ')}${more})`
}
