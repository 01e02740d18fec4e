/** A log under the bar with its name, from any source. */

import type { ComponentChild } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LogDocument, LogTitle } from '../log-document.ts'
import { safe } from '../glimpse.ts'
import { counted } from '../../explain/explanation.ts'
import { App } from './app.tsx'
import { lengthOf, type Session } from './session.ts'

type Select = { readonly currentTarget: HTMLSelectElement }

interface LogPageProps {
  readonly session: Session | null
  readonly message: string
  readonly titles: readonly LogTitle[]
  readonly index: number
  readonly choose: (index: number) => void
  readonly read: (index: number) => Promise<LogDocument>
  /** Stable while the log grows. */
  readonly name: string
  readonly isLive: boolean
  readonly tools?: ComponentChild
}

export function LogPage({
  session,
  message,
  titles,
  index,
  choose,
  read,
  name,
  isLive,
  tools,
}: LogPageProps): ComponentChild {
  const title = safe(titles[index]?.title ?? '')
  useEffect(() => {
    document.title = `${title} – Colloquy inspector`
    if (session !== null) performance.mark('colloquy:shown')
  }, [session, title])
  const head = [
    titles.length > 1 && (
      <label>
        <span class="out">Conversation</span>
        <select value={String(index)} onChange={(event: Select) => choose(Number(event.currentTarget.value))}>
          {titles.map((each, index) => (
            <option key={index} value={String(index)}>
              {each.parent === null ? '' : '↳ '}
              {safe(each.title)}
            </option>
          ))}
        </select>
      </label>
    ),
    <h1>{session === null ? message : title}</h1>,
    session !== null && (
      <span class="quiet" id="count">
        {counted(lengthOf(session), 'event')}
      </span>
    ),
    isLive && session !== null && <span class="chip tone-good">live</span>,
    <span class="space" />,
    tools,
    <span class="quiet">j k step · / search · 1–6 tabs</span>,
    <ThemeButton />,
  ]
  if (session === null)
    return (
      <div class="app">
        <header class="bar">{head}</header>
      </div>
    )
  return <App key={name} session={session} titles={titles} index={index} read={read} head={head} />
}

const NEXT = { auto: 'light', light: 'dark', dark: 'auto' } as const

type Theme = keyof typeof NEXT

function ThemeButton(): ComponentChild {
  const [theme, set] = useState<Theme>('auto')
  useEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = theme
  }, [theme])
  return <button type="button" onClick={() => set(NEXT[theme])}>{`Theme: ${theme}`}</button>
}
