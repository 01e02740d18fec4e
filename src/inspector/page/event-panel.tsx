import type { ComponentChild } from 'preact'
import { useMemo } from 'preact/hooks'
import { safe } from '../glimpse.ts'
import { counted } from '../../explain/explanation.ts'
import { callOf, childNames } from '../model/calls.ts'
import { explain, type Finding, ruleOf } from '../../explain/index.ts'
import { isColloquyError } from '../../event/errors.ts'
import { linkWith, type Reader, stateHere } from './session.ts'
import {
  ConversationLink,
  describe,
  digits,
  EventLink,
  EventLinks,
  Json,
  kindText,
  More,
  Pairs,
  Section,
} from './parts.tsx'
import { sentenceOf } from '../../laws/sentences.ts'
import { LONG_LOG } from '../log-document.ts'

export function EventPanel({ reader, isSettled }: { reader: Reader; isSettled: boolean }): ComponentChild {
  const { session, position, family } = reader
  const { replayed } = session
  const names = useMemo(() => childNames(replayed, family.titles), [replayed, family.titles])
  const entry = replayed.states.at(-1)?.log.entries.get(position - 1)
  if (entry === undefined) return <p class="quiet">Before the first event of the log.</p>
  const described = describe(entry)
  const { id, timestamp, parent, warnings, event, quarantined } = entry
  const line = replayed.document.lines?.[entry.seq] ?? entry.seq + 1
  const child = names.get(callOf(event) ?? '')
  return (
    <div>
      <Section title={`${described.role}${described.subject === '' ? '' : ` ${described.subject}`}`} />
      <Pairs
        rows={[
          ['kind', kindText(entry)],
          ['id', id === null ? 'none is readable' : <span class="mono">{safe(id)}</span>],
          ['position', `${position} of ${replayed.states.length - 1}, line ${line}`],
          ['time', timestamp === null ? 'none' : safe(timestamp)],
          [
            'parent',
            !entry.inTree ? (
              'none: it is not in the tree'
            ) : parent === null ? (
              'none: it is a root'
            ) : (
              <EventLink reader={reader} event={parent.id ?? parent.seq} />
            ),
          ],
          ...(child === undefined
            ? []
            : [['subagent', <ConversationLink family={family} name={child} />] as const]),
          ['link', id === null ? '' : <a href={linkWith({ event: id, at: null })}>to this event</a>],
        ]}
      />
      {warnings.length > 0 && (
        <ul>
          {warnings.map(({ code, message }) => (
            <li class="note warning" key={code}>
              {safe(message)}
            </li>
          ))}
        </ul>
      )}
      {isSettled && <Explained reader={reader} seq={entry.seq} id={id} />}
      <Section title="JSON">
        <Json key={position} value={event ?? quarantined} label="event" />
      </Section>
    </div>
  )
}

function Explained({ reader, seq, id }: { reader: Reader; seq: number; id: string | null }): ComponentChild {
  const why = explained(reader, id === null ? seq : id) ?? explained(reader, seq)
  if (why === null) return null
  return (
    <Section title={why.inView ? 'In the view here' : 'Not in the view here'}>
      <ul class="list">
        {[why.verdict, ...why.notes].map(({ code, rule, text, ids }, index) => (
          <li key={index}>
            <span class="sev sev-note">{code.replaceAll('_', ' ')}</span>
            <div>
              {safe(text)} <EventLinks reader={reader} ids={ids} />
              <p class="rule">
                {rule}: {ruleOf(rule) ?? ''}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function explained(reader: Reader, event: string | number): ReturnType<typeof explain> | null {
  try {
    return explain(stateHere(reader), event)
  } catch (error) {
    if (isColloquyError(error)) return null
    throw error
  }
}

const MAX_SHOWN = 300

interface FindingProps {
  readonly reader: Reader
  readonly finding: Finding
  readonly rule: boolean
}

export function FindingItem({ reader, finding, rule }: FindingProps): ComponentChild {
  const { severity, text, law, ids, seq, cost } = finding
  return (
    <li>
      <span class={`sev sev-${severity}`}>{severity}</span>
      <div>
        {safe(text)}{' '}
        {ids.length === 0 ? (
          <EventLink reader={reader} event={seq} />
        ) : (
          <EventLinks reader={reader} ids={ids} limit={rule ? 12 : 3} />
        )}
        {rule && finding.rule !== null && (
          <p class="rule">
            {finding.rule}: {ruleOf(finding.rule) ?? ''}
          </p>
        )}
        {rule && law !== null && <p class="rule">{`Law ${law}: ${sentenceOf(law) ?? ''}`}</p>}
        {rule && cost !== undefined && (
          <p class="rule">{`Cost: about ${digits(cost.cacheTokens)} tokens must be read again, and about ${digits(cost.reasoningTokens)} tokens of thinking are lost.`}</p>
        )}
      </div>
    </li>
  )
}

interface WhyProps {
  readonly reader: Reader
  readonly findings: readonly Finding[] | null
}

export function WhyPanel({ reader, findings }: WhyProps): ComponentChild {
  const { loaded, document } = reader.session.replayed
  return (
    <div>
      {loaded.length > LONG_LOG && (
        <p class="note">The log is too long to check requests and secrets here; use colloquy why.</p>
      )}
      {findings === null && (
        <p class="quiet" role="status">
          Looking…
        </p>
      )}
      {findings?.length === 0 && <p>Nothing was repaired or omitted, and no law is broken.</p>}
      {findings !== null && findings.length > 0 && <h2>{counted(findings.length, 'finding')}</h2>}
      <ul class="list">
        {findings?.slice(0, MAX_SHOWN).map((finding, index) => (
          <FindingItem key={index} reader={reader} finding={finding} rule />
        ))}
      </ul>
      <More count={(findings?.length ?? 0) - MAX_SHOWN} />
      {document.notes.length > 0 && [
        <h2>Records that were not read as events</h2>,
        <ul>
          {document.notes.map((note) => (
            <li key={note}>{safe(note)}</li>
          ))}
        </ul>,
      ]}
    </div>
  )
}
