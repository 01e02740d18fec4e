/** Small parts that the whole page shares: links to events, JSON, marks. */

import type { ComponentChild, ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { maskSecrets } from '../../event/mask.ts'
import { describeEntry, describeEvent, type Described } from '../describe.ts'
import type { Event } from '../../event/types.ts'
import { type Entry, kindOf } from '../../log/entry.ts'
import { hideSecrets, safe } from '../glimpse.ts'
import type { Reader } from './session.ts'

// Made once: to find a language's way of writing numbers takes longer than to write one.
const NUMBERS = new Intl.NumberFormat('en')

/** A number as people write it. */
export const shown = (count: number): string => NUMBERS.format(Math.round(count))

/** How many are kept: those in sight, and some more. Weak keys would make each collection of garbage longer. */
const KEPT = 400

const DESCRIBED = new Map<Entry | Event, Described>()

/** An event or an entry in a few words, worked out once while it is in sight. */
export function inWords(of: Entry | Event): Described {
  if ('seq' in of && of.event !== null) return inWords(of.event)
  const known = DESCRIBED.get(of)
  if (known !== undefined) return known
  const words = 'seq' in of ? describeEntry(of) : describeEvent(of)
  if (DESCRIBED.size === KEPT) DESCRIBED.clear()
  DESCRIBED.set(of, words)
  return words
}

/** A link to an event. */
export function EventLink({
  reader,
  event,
  text,
}: {
  reader: Reader
  event: string | number
  text?: string
}): ComponentChild {
  return (
    <button type="button" class="link mono" onClick={() => reader.goTo(event)}>
      {text ?? safe(typeof event === 'number' ? `#${event + 1}` : event)}
    </button>
  )
}

/** Links to events, the first few of them. */
export function EventLinks({
  reader,
  ids,
  most = 6,
}: {
  reader: Reader
  ids: readonly string[]
  most?: number
}): ComponentChild {
  const some = ids.slice(0, most)
  return (
    <span>
      {some.map((id, at) => [at === 0 ? '' : ', ', <EventLink key={id} reader={reader} event={id} />])}
      {ids.length > most ? ` and ${ids.length - most} more` : ''}
    </span>
  )
}

/** How much of a JSON text is shown at first. */
const BEGINNING = 8000

/** A value as JSON, which can be copied whole. */
export function Json({ value, label }: { value: unknown; label: string }): ComponentChild {
  const [all, showAll] = useState(false)
  const text = hideSecrets(JSON.stringify(maskSecrets(value), null, 2) ?? 'null')
  const cut = !all && text.length > BEGINNING
  return (
    <div>
      <p class="form">
        <Copy text={() => text} label={`Copy ${label} as JSON`} />
        {cut && (
          <button
            type="button"
            onClick={() => showAll(true)}
          >{`Show all ${shown(text.length)} characters`}</button>
        )}
      </p>
      <pre tabIndex={0} aria-label={`${label}, JSON`}>
        {safeLines(cut ? `${text.slice(0, BEGINNING)}…` : text)}
      </pre>
    </div>
  )
}

/** Lines of text in which nothing reorders or hides what follows. */
const safeLines = (text: string): string => text.split('\n').map(safe).join('\n')

/** A button that copies a text, which is written when it is asked for. */
export function Copy({ text: write, label }: { text: () => string; label: string }): ComponentChild {
  const [done, say] = useState<'' | 'copied' | 'could not be copied'>('')
  const copy = (): void => {
    const text = write()
    // Without a secure origin there is no clipboard to write to but the old one.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    written.then(
      () => say('copied'),
      () => say(copiedByHand(text) ? 'copied' : 'could not be copied'),
    )
  }
  return (
    <span>
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span class="quiet" role="status">
        {done === '' ? '' : ` ${done}`}
      </span>
    </span>
  )
}

function copiedByHand(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  return done
}

// Functions, not components: there are hundreds of them on the page, and a component costs more than what these draw.

/** The role of an event, in its colour. */
export const roleOf = ({ tone, role }: Described): ComponentChild => (
  <span class={`role tone-${tone}`}>{role}</span>
)

/** What an event says, its subject first. */
export const saidOf = ({ subject, text }: Described): ComponentChild => (
  <span class="said">
    {subject !== '' && <span class="subject">{subject}</span>}
    {text}
  </span>
)

/** A heading with what stands below it; nothing for nothing. */
export const Section = ({
  title,
  children,
}: {
  title: string
  children?: ComponentChildren
}): ComponentChild => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
)

/** Rows of names and values. */
export const Pairs = ({ rows }: { rows: readonly (readonly [string, ComponentChild])[] }): ComponentChild => (
  <dl class="pairs">{rows.map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>
)

/** The kind of an entry, for people. */
export const kindText = (entry: Entry): string => kindOf(entry) ?? 'a line that is no event'
