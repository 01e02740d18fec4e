import type { Finding, NoteCode, Reason, VerdictCode } from '../../explain/index.ts'
import { explain, findings } from '../../explain/index.ts'
import { maskSecrets } from '../../index.ts'
import { describeEntry } from '../../inspector/index.ts'
import { resolveEvent } from '../input/recording.ts'
import { counted, inLines, pad, type Tone } from '../print/text.ts'
import { shownId, type Subject, type View } from './page.ts'

const TONES: Readonly<Record<Finding['severity'], Tone>> = { error: 'bad', warning: 'warn', note: 'dim' }

type AnyReason = Reason<VerdictCode | NoteCode>

/** Explains an event, with its line. @throws ColloquyError `unknown_event` for an unknown or ambiguous id. */
function explanationOf({ recording, state, operand, options: { budget } }: Subject<'why'>) {
  const event = resolveEvent(recording, operand ?? '')
  const explanation = explain(state, event, budget === undefined ? {} : { budget })
  const withLines = (reason: AnyReason) => ({ ...reason, text: inLines(reason.text, recording.lines) })
  const { seq, verdict, notes } = explanation
  const line = recording.lines[seq] ?? 0
  return { ...explanation, line, verdict: withLines(verdict), notes: notes.map(withLines) }
}

const findingsOf = ({ recording: { loaded, lines }, state }: Subject<'why'>) =>
  findings(state, { loaded }).map((finding) => ({
    ...finding,
    line: lines[finding.seq] ?? 0,
    text: inLines(finding.text, lines),
  }))

const reasonJson = ({ code, rule, law, text, ids }: AnyReason) => ({ code, rule, law, text, event_ids: ids })

export const whyView: View<'why'> = {
  json(subject) {
    if (subject.operand === null)
      return {
        findings: findingsOf(subject).map(({ key: _key, seq: _seq, ids, cost, ...finding }) => ({
          ...finding,
          event_ids: ids,
          ...(cost && { cost: { cache_tokens: cost.cacheTokens, reasoning_tokens: cost.reasoningTokens } }),
        })),
      }
    const { id, line, kind, inView, verdict, removedBy, pairedWith, notes } = explanationOf(subject)
    return {
      event: { id, line, kind },
      in_view: inView,
      why: reasonJson(verdict),
      removed_by: removedBy,
      paired_with: pairedWith,
      notes: notes.map(reasonJson),
    }
  },
  *show(page, subject) {
    const { recording, title, operand } = subject
    if (operand === null) {
      const all = maskSecrets(findingsOf(subject))
      const verdict =
        all.length === 0
          ? page.paint('good', '✓ nothing found')
          : page.paint(TONES[all[0]?.severity ?? 'note'], counted(all.length, 'finding'))
      yield `${page.heading(title, counted(recording.lines.length, 'event'))}  ${verdict}`
      const rows = all.map(({ severity, kind, line, rule, law, ...finding }) => ({
        label: severity,
        tone: TONES[severity],
        group: `${severity} ${kind}`,
        line,
        text: withIds(finding),
        rules: [rule, law],
      }))
      return yield* page.findingRows(rows)
    }
    const { id, seq, line, kind, inView, verdict, notes } = maskSecrets(explanationOf(subject))
    yield page.heading(title, `line ${line}${id === null ? '' : `, ${shownId(id)}`}`)
    const entry = recording.state.log.entries.get(seq)
    if (entry !== undefined && kind === (entry.event?.kind ?? kind))
      yield page.eventRow({ gutter: '  ', described: describeEntry(entry) })
    yield `  ${inView ? page.paint('good', '✓ in the view') : page.paint('bad', '✗ not in the view')}`
    const quoted = new Set<string>()
    for (const reason of [verdict, ...notes]) {
      yield* page.wrapped(`    ${page.paint('strong', pad(reason.rule, 4))} `, 9, withIds(reason))
      yield* page.sentenceRows([reason.rule, reason.law], quoted)
    }
  },
}

const MAX_IDS = 4

function withIds({ text, ids }: { readonly text: string; readonly ids: readonly string[] }): string {
  const unnamed = ids.filter((id) => !text.includes(JSON.stringify(id)))
  if (unnamed.length === 0) return text
  const more = unnamed.length > MAX_IDS ? `, and ${unnamed.length - MAX_IDS} more` : ''
  return `${text} (${unnamed.slice(0, MAX_IDS).join(', ')}${more})`
}
