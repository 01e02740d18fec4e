/** What is being said: the words of a reply that stand in no event yet, for readers who come and go at any time. */

import { hasText } from '../event/text.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import type { Event, StreamingDeltaEvent } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { Listeners } from './async.ts'

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

/** A part of what was said, when the log had a length. */
export interface SaidPart {
  readonly content: string
  readonly reasoning: string
  readonly at: number
}

/** Whether a place is behind another one. */
const isBehind = (said: Said, than: Said): boolean =>
  said.content < than.content || said.reasoning < than.reasoning

/** A reply that is streamed. Its words only grow, so that a place in them is good for as long as there is the reply. */
export class StreamedReply {
  readonly id: string
  /** Whether it is made in this process. */
  readonly isOwn: boolean
  readonly #content = new Words()
  readonly #reasoning = new Words()
  /** How much had been said each time that the log had grown, or that it was no longer the same sort of words. */
  readonly #marks: (Said & { readonly at: number; readonly sort: string })[] = []
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

  /** Takes in what was said. */
  add({ content, reasoning, at }: SaidPart): void {
    this.#content.add(content)
    this.#reasoning.add(reasoning)
    const sort = `${content !== ''} ${reasoning !== ''}`
    const last = this.#marks.at(-1)
    if (last?.at === at && last.sort === sort && sort !== 'true true') this.#marks.pop()
    this.#marks.push({ ...this.said, at, sort })
  }

  /** Whether any of it was said before the event at a position. */
  isBegun(seq: number): boolean {
    return (this.#marks[0]?.at ?? Infinity) <= seq
  }

  /** Whether an event says that nothing more will come of it, or holds what came. O(1) mostly. */
  isEndedBy(event: Event | null): boolean {
    // Words that an interrupt cut off are kept in a message behind it; reasoning alone is not.
    if (event?.kind === 'InterruptEvent') return !this.#content.some(hasText)
    return endsReply(event)
  }

  /**
   * The next place behind one at which other words begin, if it was said before the event at a position.
   * O(log parts).
   */
  next(said: Said, seq: number): Said | null {
    const mark = this.#marks[lowerBound(this.#marks, (each) => isBehind(said, each))]
    return mark !== undefined && mark.at <= seq ? mark : null
  }

  /** All that was said behind a place. O(length). */
  parts(from: Said): SaidPart[] {
    let before = from
    return this.#marks.flatMap((mark) => {
      if (!isBehind(before, mark)) return []
      const [content, reasoning] = this.#texts(before, mark)
      before = mark
      return [{ content, reasoning, at: mark.at }]
    })
  }

  /** What was said between two places; the same object for readers who go on together. */
  between(from: Said, to: Said): StreamingDeltaEvent {
    const name = `${from.content} ${from.reasoning} ${to.content} ${to.reasoning}`
    if (this.#lastDelta?.name === name) return this.#lastDelta.event
    const [content, reasoning_content] = this.#texts(from, to)
    const event: StreamingDeltaEvent = Object.freeze({
      kind: 'StreamingDeltaEvent',
      source: 'agent',
      ...(content !== '' && { content }),
      ...(reasoning_content !== '' && { reasoning_content }),
    })
    this.#lastDelta = { name, event }
    return event
  }

  #texts(from: Said, to: Said): readonly [content: string, reasoning: string] {
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
    const latest = this.#latest
    if (latest === null || this.#isOver) return null
    this.#isOver = this.#state()
      .log.entries.slice(latest.at)
      .some(({ event }) => latest.isEndedBy(event))
    return this.#isOver ? null : latest
  }

  /** Says more of the reply that is made here, or begins one. */
  publish({ content, reasoning_content: reasoning }: StreamingDeltaEvent): void {
    const { current } = this
    const reply = current?.isOwn === true ? current : this.begin(crypto.randomUUID(), true)
    const at = this.#state().log.entries.length
    reply.add({ content: content ?? '', reasoning: reasoning ?? '', at })
    this.news.tell(null)
  }

  /** Before events are appended: what was said of a reply that they end is shared. */
  async finish(events: readonly Event[]): Promise<void> {
    if (this.beforeEnd !== null && events.some(endsReply)) await this.beforeEnd()
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
  /** The reply that comes behind it. */
  #upcoming: StreamedReply | null = null

  constructor(replies: Replies, had: ReplyPlace | null) {
    this.#replies = replies
    this.#had = had
    this.hear()
  }

  /** Whether there is something to be given before the event at a position. */
  has(seq: number): boolean {
    if (this.#reply !== null && isBehind(this.#said, this.#reply.said))
      return this.#reply.next(this.#said, seq) !== null
    const upcoming = this.#upcoming
    // Of the one before, the rest may still be fetched, until the event that ends it was given.
    if (upcoming === null || !upcoming.isBegun(seq)) return false
    this.#upcoming = null
    this.#reply = upcoming
    this.#said = this.#had?.reply === upcoming.id ? this.#had : NOTHING
    return upcoming.next(this.#said, seq) !== null
  }

  /** Takes note of the reply that is under way; called when something was said. */
  hear(): void {
    const { current } = this.#replies
    // Of one that was not begun when the next one came, all stands in the log.
    if (current !== null && current !== this.#reply) this.#upcoming = current
  }

  /** What is to be given next before the event at a position; null where nothing is. */
  next(seq: number): { readonly event: StreamingDeltaEvent; readonly said: ReplyPlace } | null {
    if (!this.has(seq) || this.#reply === null) return null
    const { content, reasoning } = this.#reply.next(this.#said, seq) ?? this.#said
    const to = {
      content: Math.max(content, this.#said.content),
      reasoning: Math.max(reasoning, this.#said.reasoning),
    }
    const event = this.#reply.between(this.#said, to)
    this.#said = to
    return { event, said: { reply: this.#reply.id, ...to } }
  }

  /** Whether another process may have said more of the reply that is being read. */
  get isBehind(): boolean {
    return this.#reply?.isOwn === false || this.#upcoming?.isOwn === false
  }

  /** Before an event of the log is given that ends such a reply, the rest of it is fetched. */
  async finish(fact: Fact): Promise<void> {
    if (!isQuarantined(fact) && endsReply(fact)) await this.#replies.catchUp?.()
  }

  /** Leaves out what was said so far. */
  skipSaid(): void {
    this.#reply = this.#replies.latest
    this.#said = this.#reply?.said ?? NOTHING
    this.#upcoming = null
  }
}

/** Whether an event holds what was streamed before it, or says that nothing will, as an interrupt may. */
export function endsReply(event: Event | null): boolean {
  switch (event?.kind) {
    case 'ActionEvent':
    case 'ConversationErrorEvent':
    case 'InterruptEvent':
      return true
    case 'ConversationStateUpdateEvent':
      // What was asked for before a pause still comes, also when that has ended.
      return event.key === 'execution_status' && event.value !== 'paused' && event.value !== 'idle'
    case 'MessageEvent':
      return event.source === 'agent'
    default:
      // Evicted, or a line that could not be read.
      return event === null
  }
}

/** A growing text. */
export class Words {
  readonly #pieces: { readonly text: string; readonly start: number }[] = []
  #length = 0

  /** In UTF-16 code units. */
  get length(): number {
    return this.#length
  }

  /** O(1). */
  add(text: string): void {
    if (text === '') return
    this.#pieces.push({ text, start: this.#length })
    this.#length += text.length
  }

  /** What stands between two places. O(pieces there + log of all): for who keeps up, the last piece itself. */
  slice(from: number, to: number): string {
    if (from >= to) return ''
    const first = lowerBound(this.#pieces, ({ start, text }) => start + text.length > from)
    let found = ''
    for (let at = first; at < this.#pieces.length; at += 1) {
      const { text, start } = this.#pieces[at] as { readonly text: string; readonly start: number }
      if (start >= to) break
      found +=
        from <= start && start + text.length <= to ? text : text.slice(Math.max(0, from - start), to - start)
    }
    return found
  }

  /** Whether any of it fits. O(pieces). */
  some(fits: (text: string) => boolean): boolean {
    return this.#pieces.some(({ text }) => fits(text))
  }
}

/** The first place of which it is true; the length where there is none. O(log n). */
function lowerBound<T>(list: readonly T[], isThere: (item: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isThere(list[middle] as T)) high = middle
    else low = middle + 1
  }
  return low
}
