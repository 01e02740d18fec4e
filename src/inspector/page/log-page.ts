/** A log under the bar with its name, whichever way it came. */

import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import type { LogDocument, LogTitle } from '../log-document.ts'
import { counted, safe } from '../glimpse.ts'
import { App } from './app.ts'
import { lengthOf, type Session } from './session.ts'
import { ThemeButton } from './theme.ts'

type Select = { readonly currentTarget: HTMLSelectElement }

export interface LogPageProps {
  /** Null while it is being read. */
  readonly session: Session | null
  /** What is said meanwhile. */
  readonly said: string
  readonly titles: readonly LogTitle[]
  readonly index: number
  readonly choose: (index: number) => void
  /** Reads any of the logs. */
  readonly read: (index: number) => Promise<LogDocument>
  /** The same for one log as it goes on. */
  readonly name: string
  readonly isLive: boolean
}

/** The bar, and the log below it. */
export function LogPage({
  session,
  said,
  titles,
  index,
  choose,
  read,
  name,
  isLive,
}: LogPageProps): ComponentChild {
  const title = safe(titles[index]?.title ?? '')
  useEffect(() => {
    document.title = `${title} – Colloquy inspector`
    if (session !== null) performance.mark('colloquy:shown')
  }, [session, title])
  const head = [
    titles.length > 1 &&
      h(
        'label',
        null,
        h('span', { class: 'out' }, 'Conversation'),
        h(
          'select',
          { value: String(index), onChange: (event: Select) => choose(Number(event.currentTarget.value)) },
          titles.map((each, at) =>
            h(
              'option',
              { key: at, value: String(at) },
              `${each.parent === null ? '' : '↳ '}${safe(each.title)}`,
            ),
          ),
        ),
      ),
    h('h1', null, session === null ? said : title),
    session !== null && h('span', { class: 'quiet', id: 'count' }, counted(lengthOf(session), 'event')),
    isLive && session !== null && h('span', { class: 'chip tone-good' }, 'live'),
    h('span', { class: 'space' }),
    h('span', { class: 'quiet' }, 'j k step · / search · 1–6 tabs'),
    h(ThemeButton, null),
  ]
  if (session === null) return h('div', { class: 'app' }, h('header', { class: 'bar' }, head))
  return h(App, { key: name, session, titles, index, read, head })
}
