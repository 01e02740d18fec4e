import type { ComponentChild, ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { maskSecrets } from '../../event/mask.ts'
import { describeEntry, describeEvent, type Described } from '../describe.ts'
import type { Event } from '../../event/types.ts'
import { type Entry, kindOf } from '../../log/entry.ts'
import { glimpse, hideSecrets, safe } from '../glimpse.ts'
import type { Family, Reader } from './session.ts'

// The formatter is created once, because creating it is slower than formatting.
const NUMBERS = new Intl.NumberFormat('en')

export const digits = (count: number): string => NUMBERS.format(Math.round(count))

/** Maximum number of descriptions in the cache. A WeakMap would slow down each garbage collection. */
const KEPT = 400

const DESCRIBED = new Map<Entry | Event, Described>()

export function describe(of: Entry | Event): Described {
  if ('seq' in of && of.event !== null) return describe(of.event)
  const known = DESCRIBED.get(of)
  if (known !== undefined) return known
  const description = 'seq' in of ? describeEntry(of) : describeEvent(of)
  if (DESCRIBED.size === KEPT) DESCRIBED.clear()
  DESCRIBED.set(of, description)
  return description
}

interface LinkProps {
  readonly reader: Reader
  readonly event: string | number
  readonly text?: string
}

export function EventLink({ reader, event, text }: LinkProps): ComponentChild {
  return (
    <button type="button" class="link mono" onClick={() => reader.goTo(event)}>
      {text ?? safe(typeof event === 'number' ? `#${event + 1}` : event)}
    </button>
  )
}

interface LinksProps {
  readonly reader: Reader
  readonly ids: readonly string[]
  readonly limit?: number
}

export function EventLinks({ reader, ids, limit = 6 }: LinksProps): ComponentChild {
  const some = ids.slice(0, limit)
  return (
    <span>
      {some.map((id, index) => [index === 0 ? '' : ', ', <EventLink key={id} reader={reader} event={id} />])}
      {ids.length > limit ? ` and ${ids.length - limit} more` : ''}
    </span>
  )
}

export function ConversationLink({
  family: { titles, choose, find },
  name,
  event = null,
}: {
  family: Family
  name: string
  event?: string | null
}): ComponentChild {
  const index = titles.findIndex((title) => title.name === name)
  const open = index >= 0 ? choose.bind(null, index) : find?.bind(null, name)
  if (open === undefined)
    return (
      <span class="quiet">
        <span class="mono">{glimpse(name)}</span>, which is not on this page: inspect its file or database
      </span>
    )
  return (
    <button type="button" class="link" onClick={() => open(event)}>
      {glimpse(titles[index]?.title ?? name)}
    </button>
  )
}

const BEGINNING = 8000

export function Json({ value, label }: { value: unknown; label: string }): ComponentChild {
  const [all, showAll] = useState(false)
  const text = hideSecrets(JSON.stringify(maskSecrets(value), null, 2) ?? 'null')
  const cut = !all && text.length > BEGINNING
  const lines = (cut ? `${text.slice(0, BEGINNING)}…` : text).split('\n')
  return (
    <div>
      <p class="form">
        <Copy text={() => text} label={`Copy ${label} as JSON`} />
        {cut && (
          <button
            type="button"
            onClick={() => showAll(true)}
          >{`Show all ${digits(text.length)} characters`}</button>
        )}
      </p>
      <pre tabIndex={0} aria-label={`${label}, JSON`}>
        {lines.map(safe).join('\n')}
      </pre>
    </div>
  )
}

export function Copy({ text: write, label }: { text: () => string; label: string }): ComponentChild {
  const [done, say] = useState<'' | 'copied' | 'could not be copied'>('')
  const copy = (): void => {
    const text = write()
    // The asynchronous clipboard needs a secure origin.
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

// Functions instead of components: the page shows hundreds of descriptions, and components cost more.

export const roleOf = ({ tone, role }: Described): ComponentChild => (
  <span class={`role tone-${tone}`}>{role}</span>
)

export const captionOf = ({ subject, text }: Described): ComponentChild => (
  <span class="said">
    {subject !== '' && <span class="subject">{subject}</span>}
    {text}
  </span>
)

export const wordsOf = (described: Described): ComponentChild => [
  roleOf(described),
  <span class="words">{captionOf(described)}</span>,
]

/** Whether two objects differ in one of the named properties. */
export const differ = <T extends object>(a: T, b: T, names: readonly (keyof T)[]): boolean =>
  names.some((name) => a[name] !== b[name])

/** Shows how many items of a list are omitted. */
export const More = ({ count }: { count: number }): ComponentChild =>
  count > 0 && <p class="quiet">{`and ${count} more`}</p>

interface SectionProps {
  readonly title: string
  readonly children?: ComponentChildren
}

export const Section = ({ title, children }: SectionProps): ComponentChild => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
)

interface TableProps {
  readonly id?: string
  /** Names of the columns. The first `texts` columns contain text, and the others numbers. */
  readonly names: readonly string[]
  readonly texts: number
  readonly children: ComponentChildren
}

export const Table = ({ id, names, texts, children }: TableProps): ComponentChild => (
  <table id={id}>
    <thead>
      <tr>
        {names.map((name, index) => (
          <th class={index < texts ? undefined : 'n'} scope="col" key={name}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

/** Returns table cells with numbers; undefined becomes an empty cell. */
export const numberCells = (counts: readonly (number | undefined)[]): ComponentChild =>
  counts.map((count, index) => (
    <td class="n" key={index}>
      {count === undefined ? '' : digits(count)}
    </td>
  ))

interface FoldProps {
  readonly class?: string
  readonly summary: ComponentChild
  /** Returns the content, which is rendered only while the section is open. */
  readonly children: () => ComponentChild
}

export function Fold({ summary, children, ...look }: FoldProps): ComponentChild {
  const [open, setOpen] = useState(false)
  return (
    <details {...look} onToggle={(event) => setOpen(event.currentTarget.open)}>
      {summary}
      {open && children()}
    </details>
  )
}

export const Pairs = ({ rows }: { rows: readonly (readonly [string, ComponentChild])[] }): ComponentChild => (
  <dl class="pairs">{rows.map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>
)

export const kindText = (entry: Entry): string => kindOf(entry) ?? 'a line that is not an event'
