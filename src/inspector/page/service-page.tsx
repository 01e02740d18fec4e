import type { ComponentChild } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Fact } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import { resolveBlobs } from '../../messages/resolve-blobs.ts'
import { safe } from '../glimpse.ts'
import type { LogDocument, LogTitle } from '../log-document.ts'
import { extended } from '../model/replayed.ts'
import { LogPage } from './log-page.tsx'
import { linesIn, linkWith, named, openLog, rename, type Session, sessionOf } from './session.ts'

export function ServicePage(): ComponentChild {
  const [key, setKey] = useState('')
  const [titles, setTitles] = useState<readonly LogTitle[] | null>(null)
  const [message, say] = useState('')
  useEffect(() => {
    listConversations(key, named('conversation')).then(setTitles, (error: unknown) => {
      const isFirst = key === '' && error instanceof Refused
      say(isFirst ? '' : error instanceof Error ? error.message : 'The service cannot be reached.')
    })
  }, [key])
  if (titles !== null) return <Conversations titles={titles} password={key} />
  return (
    <form
      class="login"
      onSubmit={(event) => {
        event.preventDefault()
        setKey(String(new FormData(event.currentTarget).get('key') ?? ''))
      }}
    >
      <h1>Colloquy inspector</h1>
      <label>
        Key of this service <input type="password" name="key" autocomplete="off" />
      </label>
      <button type="submit">Open</button>
      <p class="quiet">It is sent in a header, and not stored.</p>
      {message !== '' && (
        <p class="note error" role="alert">
          {message}
        </p>
      )}
    </form>
  )
}

interface ConversationsProps {
  readonly titles: readonly LogTitle[]
  readonly password: string
}

function Conversations({ titles, password }: ConversationsProps): ComponentChild {
  const [all, setAll] = useState(titles)
  const [index, setIndex] = useState(() => Math.max(0, indexOfLog(titles, named('conversation'))))
  const chosen = all[index]
  const [session, setSession] = useState<Session | null>(null)
  const [message, say] = useState('Reading the log…')
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
  // Find subagents that were opened in the meantime.
  useEffect(() => {
    const look = (): void =>
      void listPage(password).then(
        ({ items }) =>
          setAll((known) => {
            const news = items.filter(({ id }) => indexOfLog(known, id) < 0)
            return news.length === 0 ? known : [...known, ...news.map(listedTitle)]
          }),
        () => undefined,
      )
    const timer = setTimeout(look, LISTED_AFTER)
    return () => clearTimeout(timer)
  }, [session])
  const choose = (position: number, event: string | null = null): void => {
    rename({ event, at: null })
    setIndex(position)
  }
  const show = (conversation: string, event: string | null): void => {
    const position = indexOfLog(all, conversation)
    if (position === index) location.hash = linkWith({ conversation, event, at: null })
    else if (position >= 0) choose(position, event)
    else
      void readTitle(conversation, password).then((title) => {
        setAll([...all, title])
        choose(all.length, event)
      })
  }
  if (chosen === undefined) return <p class="wait quiet">The service has no conversations yet.</p>
  return (
    <LogPage
      session={session}
      message={message}
      family={{
        titles: all,
        index,
        choose,
        find: show,
        read: async (index) =>
          documentOf(all[index] as LogTitle, await readFacts(all[index]?.conversation ?? '', password)),
      }}
      name={chosen.conversation}
      isLive
      tools={
        <TextSearch
          find={(query, cursor) => findTexts(query, cursor, password)}
          titleOf={(id) => all[indexOfLog(all, id)]?.title ?? id}
          choose={({ conversation_id: conversation, event_id: event }: Hit) => show(conversation, event)}
        />
      }
    />
  )
}

const documentOf = (title: LogTitle, facts: LogDocument['facts']): LogDocument => ({
  ...title,
  lines: null,
  issues: [],
  notes: [],
  findings: null,
  facts,
})

async function read(
  title: LogTitle,
  key: string,
  signal: AbortSignal,
  give: (session: Session) => void,
): Promise<void> {
  let session: Session | null = null
  for await (const { facts, fresh } of followLog(title.conversation, key, signal)) {
    if (signal.aborted) return
    const document = documentOf(title, facts)
    session =
      fresh || session === null
        ? await openLog(document, () => {})
        : sessionOf(extended(session.replayed, facts))
    give(session)
  }
}

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'The service requires a key.',
  403: 'The service requires a key.',
  501: 'The service has no full-text index.',
}

class Refused extends Error {
  readonly status: number

  constructor(status: number) {
    super(MESSAGES[status] ?? `The service returned ${status}.`)
    this.status = status
  }
}

/** Fetches a path. Sends the key in a header, so that it is not logged or stored. */
async function fetchWithKey(
  path: string,
  key: string,
  more: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const headers = { ...more, ...(key !== '' && { 'x-session-api-key': key }) }
  const response = await fetch(path, { headers, cache: 'no-store', ...(signal !== undefined && { signal }) })
  if (!response.ok) throw new Refused(response.status)
  return response
}

async function fetchJson<T>(path: string, key: string): Promise<T> {
  const response = await fetchWithKey(path, key)
  return (await response.json()) as T
}

const pageQuery = (cursor: string | null): string =>
  cursor === null ? '' : `&page_id=${encodeURIComponent(cursor)}`

const findTexts = (query: string, cursor: string | null, key: string): Promise<HitPage> =>
  fetchJson(
    `api/conversations/search-text?include_results=true&query=${encodeURIComponent(query)}${pageQuery(cursor)}`,
    key,
  )

const MAX_TITLES = 2000

/** Milliseconds from new events to the next read of the conversation list. */
const LISTED_AFTER = 1000

interface Listed {
  readonly id: string
  readonly title?: string | null
  readonly parent_conversation_id?: string | null
}

interface ListPage {
  readonly items: readonly Listed[]
  readonly next_page_id?: string | null
}

const indexOfLog = (titles: readonly LogTitle[], id: string | null): number =>
  titles.findIndex(({ conversation }) => conversation === id)

const listedTitle = ({ id, title, parent_conversation_id: parent }: Listed): LogTitle => ({
  title: title ?? id,
  conversation: id,
  name: id,
  parent: parent ?? null,
  call: null,
})

const listPage = (key: string, cursor: string | null = null): Promise<ListPage> =>
  fetchJson(`api/conversations/search?limit=100${pageQuery(cursor)}`, key)

const readTitle = (id: string, key: string): Promise<LogTitle> =>
  fetchJson<Listed>(`api/conversations/${encodeURIComponent(id)}`, key)
    .catch(() => ({ id }))
    .then(listedTitle)

async function listConversations(key: string, linked: string | null): Promise<LogTitle[]> {
  const titles: LogTitle[] = []
  for (let cursor: string | null = null; titles.length < MAX_TITLES;) {
    // oxlint-disable-next-line no-await-in-loop -- each page names the next
    const { items, next_page_id }: ListPage = await listPage(key, cursor)
    titles.push(...items.map(listedTitle))
    cursor = next_page_id ?? null
    if (cursor === null) break
  }
  if (linked !== null && indexOfLog(titles, linked) < 0) titles.push(await readTitle(linked, key))
  return titles
}

async function readFacts(id: string, key: string): Promise<readonly Fact[]> {
  const ended = new AbortController()
  try {
    for await (const { facts } of followLog(id, key, ended.signal)) return facts
    return []
  } finally {
    ended.abort()
  }
}

interface Batch {
  readonly facts: readonly Fact[]
  readonly fresh: boolean
}

interface Frame {
  readonly type: string
  readonly position: number
  readonly event: Event
  /** The hashes of the strings to which the event refers. */
  readonly blobs?: readonly { readonly hash: string }[]
}

/** Milliseconds before a broken stream is requested again. */
const AGAIN = 2000

/**
 * Yields all events of a conversation, then new ones, until `signal` is aborted. Reads a long string once,
 * even if many events contain it. @throws Refused
 */
export async function* followLog(id: string, key: string, signal: AbortSignal): AsyncGenerator<Batch> {
  const conversation = `api/conversations/${encodeURIComponent(id)}`
  const path = `${conversation}/events/stream?format=envelope&blobs=refs`
  const strings = new Map<string, Promise<string>>()
  const read = (hash: string): Promise<string> => {
    const known = strings.get(hash)
    const text =
      known ?? fetchWithKey(`${conversation}/blobs/${hash}`, key).then((response) => response.text())
    if (known === undefined) strings.set(hash, text)
    return text
  }
  const wholeEvent = async ({ event, blobs = [] }: Frame): Promise<Event> => {
    if (blobs.length === 0) return event
    const hashes = new Set(blobs.map(({ hash }) => hash))
    const [whole = event] = await resolveBlobs([event], async (hash) =>
      hashes.has(hash) ? read(hash) : null,
    )
    return whole
  }
  let position = -1
  let fresh = true
  let facts: Fact[] = []
  while (!signal.aborted) {
    try {
      const from = position < 0 ? `${path}&resend_mode=all` : `${path}&after=${position}`
      const { body } = await fetchWithKey(from, key, { accept: 'text/event-stream' }, signal)
      let isOver = position >= 0
      for await (const line of linesIn(body ?? new ReadableStream())) {
        if (!line.startsWith('data: ')) continue
        const frame = JSON.parse(line.slice('data: '.length)) as Frame
        if (frame.type === 'reset') {
          ;[position, fresh, facts] = [-1, true, []]
          break
        }
        if (frame.type === 'event') {
          // The service does not send quarantined lines. Placeholders fill their positions.
          for (let index = position + 1; index < frame.position; index += 1) facts.push(NOT_SENT)
          facts.push(await wholeEvent(frame))
          ;({ position } = frame)
        }
        if (frame.type === 'caught_up') isOver = true
        if (!isOver || (facts.length === 0 && !fresh)) continue
        yield { facts, fresh }
        ;[facts, fresh] = [[], false]
      }
    } catch (error) {
      if (error instanceof Refused || signal.aborted) throw error
    }
    await new Promise((resume) => setTimeout(resume, AGAIN))
  }
}

const NOT_SENT: Fact = Object.freeze({
  quarantined: true,
  raw: '',
  issues: [{ loc: [], msg: 'The service does not send quarantined lines.', type: 'not_given' }],
})

interface Hit {
  readonly conversation_id: string
  readonly event_id: string
  readonly role: string
  readonly timestamp: string
  readonly snippet: string
  readonly ranges: readonly (readonly [start: number, end: number])[]
}

interface HitPage {
  readonly items: readonly Hit[]
  readonly next_page_id: string | null
}

interface TextSearchProps {
  readonly find: (query: string, cursor: string | null) => Promise<HitPage>
  readonly titleOf: (conversation: string) => string
  readonly choose: (hit: Hit) => void
}

function TextSearch({ find, titleOf, choose }: TextSearchProps): ComponentChild {
  const [query, setQuery] = useState('')
  const [page, setPage] = useState<HitPage | null>(null)
  const [message, say] = useState('')
  const search = (text: string, before: readonly Hit[], cursor: string | null): void => {
    setQuery(text)
    say('Searching…')
    find(text, cursor).then(
      ({ items, next_page_id }) => {
        setPage({ items: [...before, ...items], next_page_id })
        say(before.length + items.length === 0 ? 'Nothing found.' : '')
      },
      (error: unknown) => say(error instanceof Error ? error.message : 'The search failed.'),
    )
  }
  return (
    <details class="menu">
      <summary>Search all</summary>
      <div class="hits">
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault()
            setPage(null)
            search(String(new FormData(event.currentTarget).get('query') ?? ''), [], null)
          }}
        >
          <input
            type="search"
            name="query"
            placeholder='words, "a phrase", -without'
            aria-label="Search all conversations"
          />
        </form>
        <p class="quiet" role="status">
          {message}
        </p>
        <ol>
          {page?.items.map((hit) => (
            <li key={`${hit.conversation_id} ${hit.event_id}`}>
              <button type="button" class="link" onClick={() => choose(hit)}>
                {safe(titleOf(hit.conversation_id))}
              </button>
              <span class="quiet">{` ${hit.role} · ${hit.timestamp.slice(0, 16).replace('T', ' ')}`}</span>
              <p>{marked(hit)}</p>
            </li>
          ))}
        </ol>
        {page !== null && page.next_page_id !== null && (
          <button type="button" onClick={() => search(query, page.items, page.next_page_id)}>
            More
          </button>
        )}
      </div>
    </details>
  )
}

function marked({ snippet, ranges }: Hit): ComponentChild[] {
  const parts: ComponentChild[] = []
  let last = 0
  for (const [start, end] of ranges) {
    parts.push(safe(snippet.slice(last, start)), <mark key={start}>{safe(snippet.slice(start, end))}</mark>)
    last = end
  }
  return [...parts, safe(snippet.slice(last))]
}
