/** What was repaired, left out or broken in the log, and by which rule. */

import { type ComponentChild, h } from 'preact'
import { sentenceOf } from '../../laws/sentences.ts'
import { type Finding, ruleOf } from '../../explain/index.ts'
import { LONG_LOG } from '../log-document.ts'
import { counted, safe } from '../glimpse.ts'
import { EventLink, EventLinks, shown } from './parts.ts'
import type { Reader } from './session.ts'

/** How many findings are shown. */
const SHOWN = 300

const SEVERITIES = { error: 'error', warning: 'warning', note: 'note' } as const

/** One finding with its events. */
export function FindingItem({
  reader,
  finding,
  rule,
}: {
  reader: Reader
  finding: Finding
  rule: boolean
}): ComponentChild {
  const { severity, text, law, ids, seq, cost } = finding
  const sentence = law === null ? null : sentenceOf(law)
  return h(
    'li',
    null,
    h('span', { class: `sev sev-${severity}` }, SEVERITIES[severity]),
    h(
      'div',
      null,
      safe(text),
      ' ',
      ids.length === 0
        ? h(EventLink, { reader, event: seq })
        : h(EventLinks, { reader, ids, most: rule ? 12 : 3 }),
      rule &&
        finding.rule !== null &&
        h('p', { class: 'rule' }, `${finding.rule}: ${ruleOf(finding.rule) ?? ''}`),
      rule && law !== null && h('p', { class: 'rule' }, `Law ${law}: ${sentence ?? ''}`),
      rule &&
        cost !== undefined &&
        h(
          'p',
          { class: 'rule' },
          `Cost: about ${shown(cost.cacheTokens)} tokens read anew, ${shown(cost.reasoningTokens)} of thinking lost.`,
        ),
    ),
  )
}

/** All findings. */
export function WhyPanel({
  reader,
  found,
}: {
  reader: Reader
  found: readonly Finding[] | null
}): ComponentChild {
  const notes = reader.session.replayed.document.notes
  return h(
    'div',
    null,
    reader.session.replayed.loaded.length > LONG_LOG &&
      h(
        'p',
        { class: 'note' },
        'In so long a log requests and secrets are not looked at here: colloquy why does that.',
      ),
    found === null && h('p', { class: 'quiet', role: 'status' }, 'Looking…'),
    found?.length === 0 &&
      h('p', null, 'Nothing had to be repaired, nothing is left out, and no law is broken.'),
    found !== null && found.length > 0 && h('h2', null, counted(found.length, 'finding')),
    h(
      'ul',
      { class: 'list' },
      (found ?? [])
        .slice(0, SHOWN)
        .map((finding, at) => h(FindingItem, { key: at, reader, finding, rule: true })),
    ),
    (found?.length ?? 0) > SHOWN && h('p', { class: 'quiet' }, `and ${(found?.length ?? 0) - SHOWN} more`),
    notes.length > 0 && [
      h('h2', null, 'What has no place among events'),
      h(
        'ul',
        null,
        notes.map((note) => h('li', { key: note }, safe(note))),
      ),
    ],
  )
}
