/** One event: what it is, where it stands, what became of it, and all of it as JSON. */

import { type ComponentChild, h } from 'preact'
import { safe } from '../glimpse.ts'
import { lineOf } from '../model/replayed.ts'
import { EventLink, inWords, Json, kindText, Pairs, Section } from './parts.ts'
import type { Reader } from './session.ts'

/** The event at the place of the reader. */
export function EventPanel({ reader }: { reader: Reader }): ComponentChild {
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
        ['link', id === null ? '' : h('a', { href: `#event=${encodeURIComponent(id)}` }, 'to this event')],
      ],
    }),
    warnings.length > 0 &&
      h('ul', null, warnings.map(({ code, message }) => h('li', { class: 'note warning', key: code }, safe(message)))),
    h(Section, { title: 'All of it' }, h(Json, { key: place, value: event ?? quarantined, label: 'event' })),
  )
}
