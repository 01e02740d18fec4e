/** One event: what it is, where it stands, what became of it, and all of it as JSON. */

import { type ComponentChild, h } from 'preact'
import { safe } from '../glimpse.ts'
import { lineOf } from '../model/replayed.ts'
import { explain, ruleOf } from '../../explain/index.ts'
import { isColloquyError } from '../../event/errors.ts'
import { linkWith } from './address.ts'
import { EventLink, EventLinks, inWords, Json, kindText, Pairs, Section } from './parts.ts'
import { type Reader, stateHere } from './session.ts'

/** The event at the place of the reader. */
export function EventPanel({ reader, isSettled }: { reader: Reader; isSettled: boolean }): ComponentChild {
  const { session, place } = reader
  const { replayed } = session
  const entry = replayed.states.at(-1)?.log.entries.get(place - 1)
  if (entry === undefined) return h('p', { class: 'quiet' }, 'Before the first event of the log.')
  const words = inWords(entry)
  const { id, timestamp, parent, warnings, event, quarantined } = entry
  return h(
    'div',
    null,
    h(Section, { title: `${words.role}${words.subject === '' ? '' : ` ${words.subject}`}` }),
    h(Pairs, {
      rows: [
        ['kind', kindText(entry)],
        ['id', id === null ? 'none that can be read' : h('span', { class: 'mono' }, safe(id))],
        ['position', `${place} of ${replayed.states.length - 1}, line ${lineOf(replayed, entry.seq)}`],
        ['time', timestamp === null ? 'none' : safe(timestamp)],
        [
          'hangs on',
          !entry.inTree
            ? 'nothing: it is not in the tree'
            : parent === null
              ? 'nothing: it is a root'
              : h(EventLink, { reader, event: parent.id ?? parent.seq }),
        ],
        ['link', id === null ? '' : h('a', { href: linkWith({ event: id, at: null }) }, 'to this event')],
      ],
    }),
    warnings.length > 0 &&
      h(
        'ul',
        null,
        warnings.map(({ code, message }) => h('li', { class: 'note warning', key: code }, safe(message))),
      ),
    isSettled && h(Explained, { reader, seq: entry.seq, id }),
    h(Section, { title: 'All of it' }, h(Json, { key: place, value: event ?? quarantined, label: 'event' })),
  )
}

/** Why it is in the view at the place, or is not, and what else is to be said of it there. */
function Explained({ reader, seq, id }: { reader: Reader; seq: number; id: string | null }): ComponentChild {
  const why = explained(reader, id === null ? seq : id) ?? explained(reader, seq)
  if (why === null) return null
  return h(
    Section,
    { title: why.inView ? 'In the view here' : 'Not in the view here' },
    h(
      'ul',
      { class: 'list' },
      [why.verdict, ...why.notes].map(({ code, rule, text, ids }, at) =>
        h(
          'li',
          { key: at },
          h('span', { class: 'sev sev-note' }, code.replaceAll('_', ' ')),
          h(
            'div',
            null,
            safe(text),
            ' ',
            h(EventLinks, { reader, ids }),
            h('p', { class: 'rule' }, `${rule}: ${ruleOf(rule) ?? ''}`),
          ),
        ),
      ),
    ),
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
