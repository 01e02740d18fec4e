/** The page of a service: asks for a key where one is wanted, lets one choose a conversation, and goes on with it. */

import { type ComponentChild, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LogDocument, LogTitle } from '../log-document.ts'
import { extended } from '../model/replayed.ts'
import { named, rename } from './address.ts'
import { LogPage } from './log-page.ts'
import { openLog, sessionOf } from './load.ts'
import { follow, listConversations, readFacts, Refused } from './service.ts'
import type { Session } from './session.ts'

type Submit = { readonly currentTarget: HTMLFormElement; readonly preventDefault: () => void }

/** First the key, then the conversations. */
export function ServicePage(): ComponentChild {
  const [key, setKey] = useState('')
  const [titles, setTitles] = useState<readonly LogTitle[] | null>(null)
  const [said, say] = useState('')
  useEffect(() => {
    listConversations(key).then(setTitles, (error: unknown) => {
      const isFirst = key === '' && error instanceof Refused
      say(isFirst ? '' : error instanceof Error ? error.message : 'The service cannot be reached.')
    })
  }, [key])
  if (titles !== null) return h(Conversations, { titles, password: key })
  return h(
    'form',
    {
      class: 'login',
      onSubmit: (event: Submit) => {
        event.preventDefault()
        setKey(String(new FormData(event.currentTarget).get('key') ?? ''))
      },
    },
    h('h1', null, 'Colloquy inspector'),
    h(
      'label',
      null,
      'Key of this service ',
      h('input', { type: 'password', name: 'key', autocomplete: 'off' }),
    ),
    h('button', { type: 'submit' }, 'Open'),
    h('p', { class: 'quiet' }, 'It is sent in a header, and kept nowhere.'),
    said !== '' && h('p', { class: 'note error', role: 'alert' }, said),
  )
}

function Conversations({
  titles,
  password,
}: {
  titles: readonly LogTitle[]
  password: string
}): ComponentChild {
  const linked = named('conversation')
  const known = titles.findIndex(({ conversation }) => conversation === linked)
  // A link may name an older one than the list has.
  const all =
    known < 0 && linked !== null
      ? [...titles, { title: linked, conversation: linked, name: linked, parent: null }]
      : titles
  const [index, setIndex] = useState(known < 0 && linked !== null ? all.length - 1 : Math.max(0, known))
  const chosen = all[index]
  const [session, setSession] = useState<Session | null>(null)
  const [said, say] = useState('Reading the log…')
  useEffect(() => {
    if (chosen === undefined) return undefined
    const ended = new AbortController()
    rename({ conversation: chosen.conversation })
    setSession(null)
    read(chosen, password, ended.signal, setSession).catch((error: unknown) => {
      if (!ended.signal.aborted) say(error instanceof Error ? error.message : 'The log cannot be read.')
    })
    return () => ended.abort()
  }, [index])
  if (chosen === undefined) return h('p', { class: 'wait' }, 'The service has no conversations yet.')
  return h(LogPage, {
    session,
    said,
    titles: all,
    index,
    choose: (at) => {
      rename({ event: null, at: null })
      setIndex(at)
    },
    read: async (at) =>
      documentOf(all[at] as LogTitle, await readFacts(all[at]?.conversation ?? '', password)),
    name: chosen.conversation,
    isLive: true,
  })
}

const documentOf = (title: LogTitle, facts: LogDocument['facts']): LogDocument => ({
  ...title,
  lines: null,
  issues: [],
  notes: [],
  findings: null,
  facts,
})

/** Opens a conversation, and gives it anew each time that something has come. */
async function read(
  title: LogTitle,
  key: string,
  signal: AbortSignal,
  give: (session: Session) => void,
): Promise<void> {
  let session: Session | null = null
  for await (const { facts, fresh } of follow(title.conversation, key, signal)) {
    if (signal.aborted) return
    const document = documentOf(title, facts)
    session =
      fresh || session === null
        ? await openLog(document, () => {})
        : sessionOf(extended(session.replayed, facts))
    give(session)
  }
}
