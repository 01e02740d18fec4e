import type { ComponentChild } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { safe } from '../glimpse.ts'
import { counted } from '../../explain/explanation.ts'
import { App } from './app.tsx'
import { ConversationLink } from './parts.tsx'
import { type Family, lengthOf, type Session } from './session.ts'

interface LogPageProps {
  readonly session: Session | null
  readonly message: string
  readonly family: Family
  /** Name of the log. It does not change while the log grows. */
  readonly name: string
  readonly isLive: boolean
  readonly tools?: ComponentChild
}

export function LogPage({ session, message, family, name, isLive, tools }: LogPageProps): ComponentChild {
  const { titles, index } = family
  const open = titles[index]
  const title = safe(open?.title ?? '')
  useEffect(() => {
    document.title = `${title} – Colloquy inspector`
    if (session !== null) performance.mark('colloquy:shown')
  }, [session, title])
  const head = [
    titles.length > 1 && (
      <label>
        <span class="out">Conversation</span>
        <select value={String(index)} onChange={(event) => family.choose(Number(event.currentTarget.value))}>
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
    open !== undefined && open.parent !== null && (
      <span id="parent">
        {'started from '}
        <ConversationLink family={family} name={open.parent} event={open.call} />
      </span>
    ),
    session !== null && (
      <span class="quiet" id="count">
        {counted(lengthOf(session), 'event')}
      </span>
    ),
    isLive && session !== null && <span class="chip tone-good">live</span>,
    <span class="space" />,
    tools,
    <span class="quiet">j k step · / search · 1–7 tabs</span>,
    <ThemeButton />,
  ]
  if (session === null)
    return (
      <div class="app">
        <header class="bar">{head}</header>
      </div>
    )
  return <App key={name} session={session} family={family} head={head} />
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
