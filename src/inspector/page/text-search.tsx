import type { ComponentChild } from 'preact'
import { useState } from 'preact/hooks'
import { safe } from '../glimpse.ts'

export interface Hit {
  readonly conversation_id: string
  readonly event_id: string
  readonly role: string
  readonly timestamp: string
  readonly snippet: string
  readonly ranges: readonly (readonly [start: number, end: number])[]
}

export interface HitPage {
  readonly items: readonly Hit[]
  readonly next_page_id: string | null
}

interface TextSearchProps {
  /** One page. @throws Error */
  readonly find: (query: string, cursor: string | null) => Promise<HitPage>
  readonly titleOf: (conversation: string) => string
  readonly choose: (hit: Hit) => void
}

type Submit = { readonly currentTarget: HTMLFormElement; readonly preventDefault: () => void }

export function TextSearch({ find, titleOf, choose }: TextSearchProps): ComponentChild {
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
          onSubmit={(event: Submit) => {
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
