/** Starts the page. */

import { type ComponentChild, h, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LogDocument, PageSource } from '../log-document.ts'
import { counted, safe } from '../glimpse.ts'
import { App } from './app.ts'
import { openLog, readLog, readSource } from './load.ts'
import { lengthOf, type Session } from './session.ts'
import { ThemeButton } from './theme.ts'

type Select = { readonly currentTarget: HTMLSelectElement }

/** The page over logs that were there when it was made. */
function Page({ source }: { source: PageSource }): ComponentChild {
  const [index, setIndex] = useState(source.first)
  const [logs, setLogs] = useState<ReadonlyMap<number, LogDocument>>(new Map())
  const [session, setSession] = useState<Session | null>(null)
  const [said, say] = useState('Reading the log…')
  useEffect(() => {
    let isWanted = true
    const open = async (): Promise<void> => {
      performance.mark('colloquy:begun')
      const log = logs.get(index) ?? (await readLog(source, index))
      performance.mark('colloquy:parsed')
      const opened = await openLog(
        log,
        (done) => isWanted && say(`Folding the log: ${counted(done, 'event')}…`),
      )
      if (!isWanted) return
      setLogs(new Map(logs).set(index, log))
      setSession(opened)
      document.title = `${log.title} – Colloquy inspector`
    }
    open().catch((error: unknown) => say(error instanceof Error ? error.message : 'The log cannot be read.'))
    return () => {
      isWanted = false
    }
  }, [index])
  useEffect(() => {
    if (session !== null) performance.mark('colloquy:shown')
  }, [session])
  if (session === null) return h('p', { class: 'wait', role: 'status' }, said)
  const head = [
    source.logs.length > 1
      ? h(
          'label',
          null,
          h('span', { class: 'out' }, 'Conversation'),
          h(
            'select',
            {
              value: String(index),
              onChange: (event: Select) => setIndex(Number(event.currentTarget.value)),
            },
            source.logs.map(({ title, parent }, at) =>
              h('option', { key: at, value: String(at) }, `${parent === null ? '' : '↳ '}${safe(title)}`),
            ),
          ),
        )
      : null,
    h('h1', null, safe(session.replayed.document.title)),
    h('span', { class: 'quiet' }, counted(lengthOf(session), 'event')),
    h('span', { class: 'space' }),
    h('span', { class: 'quiet' }, 'j k step · / search · 1–6 tabs'),
    h(ThemeButton, null),
  ]
  return h(App, { key: session.replayed.document, session, logs: [...logs.values()], head })
}

const root = document.querySelector('#page')
if (root !== null) render(h(Page, { source: readSource() }), root)
