/** Brings conversations of a service into the page, with a key where it wants one, and follows them as they go on. */

import type { Fact } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { LogTitle } from '../log-document.ts'
import { linesIn } from './load.ts'

/** A service that refused. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number) {
    super(status === 401 || status === 403 ? 'The service asks for a key.' : `The service says ${status}.`)
    this.status = status
  }
}

/** Asks the service, with the key in a header, as nothing keeps that. */
async function ask(
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

/** How many conversations can be chosen from. */
const MOST = 2000

interface Listed {
  readonly items: readonly {
    readonly id: string
    readonly title?: string | null
    readonly parent_conversation_id?: string | null
  }[]
  readonly next_page_id?: string | null
}

/** The newest conversations of the service. */
export async function listConversations(key: string): Promise<LogTitle[]> {
  const titles: LogTitle[] = []
  for (let next = ''; titles.length < MOST;) {
    // oxlint-disable-next-line no-await-in-loop -- each page names the next
    const response = await ask(`api/conversations/search?limit=100${next}`, key)
    // oxlint-disable-next-line no-await-in-loop
    const { items, next_page_id: page } = (await response.json()) as Listed
    for (const { id, title, parent_conversation_id: parent } of items)
      titles.push({ title: title ?? id, conversation: id, name: id, parent: parent ?? null })
    if (page === null || page === undefined) break
    next = `&page_id=${encodeURIComponent(page)}`
  }
  return titles
}

/** All that stands in a conversation by now. @throws Refused */
export async function readFacts(id: string, key: string): Promise<readonly Fact[]> {
  const ended = new AbortController()
  try {
    for await (const { facts } of follow(id, key, ended.signal)) return facts
    return []
  } finally {
    ended.abort()
  }
}

/** What is heard of a conversation. */
export interface Heard {
  /** All that stands in the log, or what came since; `fresh` where what was heard before does not hold. */
  readonly facts: readonly Fact[]
  readonly fresh: boolean
}

interface Frame {
  readonly type: string
  readonly position: number
  readonly event: Event
}

/** Milliseconds before a stream that broke off is asked for again. */
const AGAIN = 2000

/** Tells all of a conversation, then what happens in it, until it is aborted. @throws Refused */
export async function* follow(id: string, key: string, signal: AbortSignal): AsyncGenerator<Heard> {
  const path = `api/conversations/${encodeURIComponent(id)}/events/stream?format=envelope`
  let position = -1
  let fresh = true
  let facts: Fact[] = []
  while (!signal.aborted) {
    try {
      const from = position < 0 ? `${path}&resend_mode=all` : `${path}&after=${position}`
      const { body } = await ask(from, key, { accept: 'text/event-stream' }, signal)
      let isOver = position >= 0
      for await (const line of linesIn(body ?? new ReadableStream())) {
        if (!line.startsWith('data: ')) continue
        const frame = JSON.parse(line.slice('data: '.length)) as Frame
        if (frame.type === 'reset') {
          ;[position, fresh, facts] = [-1, true, []]
          break
        }
        if (frame.type === 'event') {
          // Lines that are no events are not given; each keeps its place.
          for (let at = position + 1; at < frame.position; at += 1) facts.push(NOT_GIVEN)
          facts.push(frame.event)
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

const NOT_GIVEN: Fact = Object.freeze({
  quarantined: true,
  raw: '',
  issues: [{ loc: [], msg: 'The service does not give lines that are no events.', type: 'not_given' }],
})
