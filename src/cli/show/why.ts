/** Shows why an event is in the view or not, or the findings of a conversation. */

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
import { maskSecrets, type State } from '../../index.ts'
import { describeEntry } from '../../inspector/index.ts'
import { sentenceOf } from '../../laws/index.ts'
import type { FileRequest } from '../args/request.ts'
import { named, type Recording, titleOf } from '../input/recording.ts'
import { counted, inLines, pad, padStart, safe, type Tone } from '../print/text.ts'
import { eventRow, heading, type Page, shownId, wrapped } from './page.ts'

/** How many findings of a kind are shown; `--json` gives all. */
const SHOWN = 5

/** How many ids are shown behind a sentence. */
const IDS = 4

const TONES: Readonly<Record<Finding['severity'], Tone>> = { error: 'bad', warning: 'warn', note: 'dim' }

/** Shows what `why` says. */
export function* showWhy(
  page: Page,
  recording: Recording,
  state: State,
  request: FileRequest,
): IterableIterator<string> {
  const why = maskSecrets(lookInto(recording, state, request))
  const title = safe(titleOf(recording))
  if (why.type === 'findings') {
    yield* findingRows(page, title, why.findings, recording.lines)
    return
  }
  const { id, seq, kind, inView, verdict, notes } = why.explanation
  yield heading(page, title, `line ${recording.lines[seq] ?? 0}${id === null ? '' : `, ${shownId(id)}`}`)
  const entry = recording.state.log.entries.get(seq)
  if (entry !== undefined && kind === (entry.event?.kind ?? kind))
    yield eventRow(page, { gutter: '  ', described: describeEntry(entry), id: null, idColumns: 0 })
  const word = inView ? page.paint('good', '✓ in the view') : page.paint('bad', '✗ not in the view')
  yield `  ${word}`
  const said = new Set<string>()
  for (const reason of [verdict, ...notes]) {
    yield* wrapped(page, `    ${page.paint('strong', pad(reason.rule, 4))} `, 9, withIds(reason))
    yield* sentenceRows(page, reason, said)
  }
}

/** The sentences of a rule and of the law that is broken, each once on a page. */
function* sentenceRows(
  page: Page,
  { rule, law }: { readonly rule: string | null; readonly law: string | null },
  said: Set<string>,
): IterableIterator<string> {
  for (const name of [rule, law]) {
    const sentence = name === null ? null : (ruleOf(name) ?? sentenceOf(name))
    if (name === null || sentence === null || said.has(name)) continue
    said.add(name)
    for (const line of wrapped(page, '         ', 9, `${name}: ${sentence}`)) yield page.paint('dim', line)
  }
}

function* findingRows(
  page: Page,
  title: string,
  findings: readonly Finding[],
  lines: readonly number[],
): IterableIterator<string> {
  const said = new Set<string>()
  const groups = Map.groupBy(findings, ({ severity, kind }) => `${severity} ${kind}`)
  const verdict =
    findings.length === 0
      ? page.paint('good', '✓ nothing found')
      : page.paint(TONES[findings[0]?.severity ?? 'note'], counted(findings.length, 'finding'))
  yield `${heading(page, title, counted(lines.length, 'event'))}  ${verdict}`
  for (const group of groups.values()) {
    for (const finding of group.slice(0, SHOWN)) {
      const line = padStart(String(lines[finding.seq] ?? 0), String(lines.at(-1) ?? 0).length)
      const lead = `  ${page.paint(TONES[finding.severity], pad(finding.severity, 7))}  line ${line}  `
      yield* wrapped(page, lead, 18 + line.length, withIds(finding))
    }
    if (group.length > SHOWN) yield page.paint('dim', `           and ${group.length - SHOWN} more`)
    const [first] = group
    if (first !== undefined) yield* sentenceRows(page, first, said)
  }
}

/** A sentence with the ids that it is about and does not name. */
function withIds({ text, ids }: { readonly text: string; readonly ids: readonly string[] }): string {
  const unnamed = ids.filter((id) => !text.includes(JSON.stringify(id)))
  if (unnamed.length === 0) return text
  const more = unnamed.length > IDS ? `, and ${unnamed.length - IDS} more` : ''
  return `${text} (${unnamed.slice(0, IDS).join(', ')}${more})`
}

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
    why: reasonAsJson(verdict),
    removed_by: removedBy,
    paired_with: pairedWith,
    notes: notes.map(reasonAsJson),
  }
}

const reasonAsJson = ({ code, rule, law, text, ids }: Reason<VerdictCode | NoteCode>) => ({
  code,
  rule,
  law,
  text,
  event_ids: ids,
})
