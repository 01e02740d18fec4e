/** What is being said: the words of a reply that stand in no event yet, for readers who come and go at any time. */

import { type Fact, isQuarantined } from '../event/quarantine.ts'
import type { Event, StreamingDeltaEvent } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { Listeners } from './listeners.ts'

/** How many characters (UTF-16 code units, as `length` counts) were said. */
export interface Said {
  readonly content: number
  readonly reasoning: number
}

/** How far a reader has come with a reply that is under way. */
export interface ReplyPlace extends Said {
  readonly reply: string
}

/** A place as one text, for a client that keeps it: `REPLY.CONTENT.REASONING`. */
export const writePlace = ({ reply, content, reasoning }: ReplyPlace): string =>
  `${reply}.${content}.${reasoning}`

/** Reads what {@link writePlace} wrote; null for any other text. */
export function readPlace(text: string): ReplyPlace | null {
  const found = /^([\w-]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(text)
  return found && { reply: found[1] ?? '', content: Number(found[2]), reasoning: Number(found[3]) }
}

const NOTHING: Said = { content: 0, reasoning: 0 }

/** A reply that is streamed. Its words only grow, so that a place in them is good for as long as there is the reply. */
export class StreamedReply {
  readonly id: string
  /** Whether it is made in this process. */
  readonly isOwn: boolean
  #content = ''
  #reasoning = ''
  /** How much had been said when the log had grown to each length. */
  readonly #marks: (Said & { readonly at: number })[] = []
  #lastDelta: { readonly name: string; readonly event: StreamingDeltaEvent } | null = null

  constructor(id: string, isOwn: boolean) {
    this.id = id
    this.isOwn = isOwn
  }

  get said(): Said {
    return { content: this.#content.length, reasoning: this.#reasoning.length }
  }

  /** Length of the log when the last of it was said. */
  get at(): number {
    return this.#marks.at(-1)?.at ?? 0
  }

  /** Takes in what was said when the log had a length. */
  add(content: string, reasoning: string, at: number): void {
    this.#content += content
    this.#reasoning += reasoning
    if (this.#marks.at(-1)?.at === at) this.#marks.pop()
    this.#marks.push({ at, ...this.said })
  }

  /** Whether any of it was said before the event at a position. */
  isBegun(seq: number): boolean {
    return (this.#marks[0]?.at ?? Infinity) <= seq
  }

  /** How much was said before the event at a position. */
  before(seq: number): Said {
    return this.#marks.findLast(({ at }) => at <= seq) ?? NOTHING
  }

  /** What was said between two places; the same object for readers who go on together. */
  between(from: Said, to: Said): StreamingDeltaEvent {
    const name = `${from.content} ${from.reasoning} ${to.content} ${to.reasoning}`
    if (this.#lastDelta?.name === name) return this.#lastDelta.event
    const [content, reasoning_content] = this.textBetween(from, to)
    const event: StreamingDeltaEvent = Object.freeze({
      kind: 'StreamingDeltaEvent',
      source: 'agent',
      ...(content !== '' && { content }),
      ...(reasoning_content !== '' && { reasoning_content }),
    })
    this.#lastDelta = { name, event }
    return event
  }

  /** The same as texts: content, reasoning. */
  textBetween(from: Said, to: Said): readonly [content: string, reasoning: string] {
    return [
      this.#content.slice(from.content, to.content),
      this.#reasoning.slice(from.reasoning, to.reasoning),
    ]
  }
}

/** The replies of one conversation as they are streamed, the latest of them. */
export class Replies {
  /** Called when something was said. */
  readonly news = new Listeners<null>()
  /** Called before an append that ends a reply; set by what shares it with other processes. */
  beforeEnd: (() => Promise<void>) | null = null
  /** Fetches what another process has said by now; set by what shares it. */
  catchUp: (() => Promise<void>) | null = null
  readonly #state: () => State
  #latest: StreamedReply | null = null
  #isOver = false

  constructor(state: () => State) {
    this.#state = state
  }

  /** The latest reply, also one that has ended. */
  get latest(): StreamedReply | null {
    return this.#latest
  }

  /** The reply that is under way; null where none is. O(events since it was last heard of). */
  get current(): StreamedReply | null {
    if (this.#latest === null || this.#isOver) return null
    this.#isOver = this.#state()
      .log.entries.slice(this.#latest.at)
      .some(({ event }) => endsReply(event))
    return this.#isOver ? null : this.#latest
  }

  /** Says more of the reply that is made here, or begins one. */
  publish({ content, reasoning_content: reasoning }: StreamingDeltaEvent): void {
    const { current } = this
    const reply = current?.isOwn === true ? current : this.begin(crypto.randomUUID(), true)
    reply.add(content ?? '', reasoning ?? '', this.#state().log.entries.length)
    this.news.tell(null)
  }

  /** Begins a reply, made here or by another process. */
  begin(id: string, isOwn: boolean): StreamedReply {
    this.#isOver = false
    this.#latest = new StreamedReply(id, isOwn)
    return this.#latest
  }
}

/** One reader of the replies of a conversation: each character of a reply comes once and in order. */
export class ReplyReader {
  readonly #replies: Replies
  /** What the reader had before it came. */
  readonly #had: ReplyPlace | null
  #reply: StreamedReply | null = null
  #said: Said = NOTHING

  constructor(replies: Replies, had: ReplyPlace | null) {
    this.#replies = replies
    this.#had = had
  }

  /** Whether there is something to be given before the event at a position. */
  has(seq: number): boolean {
    if (this.#reply !== null && !this.#isDone(this.#reply.said)) return !this.#isDone(this.#reply.before(seq))
    const { current } = this.#replies
    if (current === null) return false
    if (current !== this.#reply) {
      // Of the one before, the rest may still be fetched, until the event that ends it was given.
      if (!current.isBegun(seq)) return false
      // What was not begun of replies before stands in the log.
      this.#reply = current
      this.#said = this.#had?.reply === current.id ? this.#had : NOTHING
    }
    return !this.#isDone(current.before(seq))
  }

  /** All that is to be given before the event at a position, where {@link has} says that there is. */
  next(seq: number): { readonly event: StreamingDeltaEvent; readonly said: ReplyPlace } | null {
    if (!this.has(seq) || this.#reply === null) return null
    const { content, reasoning } = this.#reply.before(seq)
    const to = {
      content: Math.max(content, this.#said.content),
      reasoning: Math.max(reasoning, this.#said.reasoning),
    }
    const event = this.#reply.between(this.#said, to)
    this.#said = to
    return { event, said: { reply: this.#reply.id, ...this.#said } }
  }

  /** Whether another process may have said more of the reply that is being read. */
  get isBehind(): boolean {
    return this.#reply?.isOwn === false
  }

  /** Before an event of the log is given that ends such a reply, the rest of it is fetched. */
  async finish(fact: Fact): Promise<void> {
    if (!isQuarantined(fact) && endsReply(fact)) await this.#replies.catchUp?.()
  }

  /** Leaves out what was said so far. */
  skip(): void {
    this.#reply = this.#replies.latest
    this.#said = this.#reply?.said ?? NOTHING
  }

  #isDone(to: Said): boolean {
    return to.content <= this.#said.content && to.reasoning <= this.#said.reasoning
  }
}

/** Whether an event holds what was streamed before it, or says that nothing will. */
export function endsReply(event: Event | null): boolean {
  switch (event?.kind) {
    case 'ActionEvent':
    case 'ConversationErrorEvent':
      return true
    case 'ConversationStateUpdateEvent':
      // What was asked for before a pause still comes.
      return event.key === 'execution_status' && event.value !== 'paused'
    case 'MessageEvent':
      return event.source === 'agent'
    default:
      // Evicted, or a line that could not be read.
      return event === null
  }
}
