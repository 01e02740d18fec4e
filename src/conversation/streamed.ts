/** Partial replies: text that is not in the log yet, for readers who connect at any time. */

import { hasText } from '../event/text.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import type { Event, StreamingDeltaEvent } from '../event/types.ts'
import type { State } from '../state/state.ts'
import { firstFrom } from '../store/memory/sorted.ts'
import { Listeners } from './async.ts'

/** Number of characters streamed so far, in UTF-16 code units. */
export interface ReplyLength {
  readonly content: number
  readonly reasoning: number
}

export interface ReplyOffset extends ReplyLength {
  readonly reply: string
}

export const writeReplyOffset = ({ reply, content, reasoning }: ReplyOffset): string =>
  `${reply}.${content}.${reasoning}`

export function readReplyOffset(text: string): ReplyOffset | null {
  const match = /^([\w-]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(text)
  return match && { reply: match[1] ?? '', content: Number(match[2]), reasoning: Number(match[3]) }
}

const NO_LENGTH: ReplyLength = { content: 0, reasoning: 0 }

export interface ReplyPart {
  readonly content: string
  readonly reasoning: string
  readonly logLength: number
}

export const isShorter = (offset: ReplyLength, other: ReplyLength): boolean =>
  offset.content < other.content || offset.reasoning < other.reasoning

/** A partial reply. Its text only grows, so positions in the text stay valid. */
export class StreamedReply {
  readonly id: string
  readonly isOwn: boolean
  readonly #content = new GrowingText()
  readonly #reasoning = new GrowingText()
  readonly #marks: (ReplyLength & { readonly logLength: number; readonly channel: string })[] = []
  #lastDelta: { readonly key: string; readonly event: StreamingDeltaEvent } | null = null

  constructor(id: string, isOwn: boolean) {
    this.id = id
    this.isOwn = isOwn
  }

  get length(): ReplyLength {
    return { content: this.#content.length, reasoning: this.#reasoning.length }
  }

  get logLength(): number {
    return this.#marks.at(-1)?.logLength ?? 0
  }

  add({ content, reasoning, logLength }: ReplyPart): void {
    this.#content.add(content)
    this.#reasoning.add(reasoning)
    const channel = `${content !== ''} ${reasoning !== ''}`
    const last = this.#marks.at(-1)
    if (last?.logLength === logLength && last.channel === channel && channel !== 'true true')
      this.#marks.pop()
    this.#marks.push({ ...this.length, logLength, channel })
  }

  hasBegunBefore(seq: number): boolean {
    return (this.#marks[0]?.logLength ?? Infinity) <= seq
  }

  isEndedBy(event: Event | null): boolean {
    // After an interrupt, a message with the text so far follows. Reasoning alone is not appended.
    if (event?.kind === 'InterruptEvent') return !this.#content.some(hasText)
    return endsReply(event)
  }

  /**
   * Returns the end of the part that follows an offset. Null if no part follows, or if the part was streamed
   * after event `seq`. O(log n).
   */
  next(offset: ReplyLength, seq: number): ReplyLength | null {
    const mark = this.#marks[firstFrom(this.#marks, (each) => !isShorter(offset, each))]
    return mark !== undefined && mark.logLength <= seq ? mark : null
  }

  parts(from: ReplyLength): ReplyPart[] {
    let before = from
    return this.#marks.flatMap((mark) => {
      if (!isShorter(before, mark)) return []
      const [content, reasoning] = this.#texts(before, mark)
      before = mark
      return [{ content, reasoning, logLength: mark.logLength }]
    })
  }

  /** Returns the delta between two offsets. A repeated call with the same offsets returns the same object. */
  between(from: ReplyLength, to: ReplyLength): StreamingDeltaEvent {
    const key = `${from.content} ${from.reasoning} ${to.content} ${to.reasoning}`
    if (this.#lastDelta?.key === key) return this.#lastDelta.event
    const [content, reasoning_content] = this.#texts(from, to)
    const event: StreamingDeltaEvent = Object.freeze({
      kind: 'StreamingDeltaEvent',
      source: 'agent',
      ...(content !== '' && { content }),
      ...(reasoning_content !== '' && { reasoning_content }),
    })
    this.#lastDelta = { key, event }
    return event
  }

  #texts(from: ReplyLength, to: ReplyLength): readonly [content: string, reasoning: string] {
    return [
      this.#content.slice(from.content, to.content),
      this.#reasoning.slice(from.reasoning, to.reasoning),
    ]
  }
}

/** The partial replies of a conversation. Only the latest one is kept. */
export class Replies {
  readonly news = new Listeners<null>()
  beforeEnd: (() => Promise<void>) | null = null
  catchUp: (() => Promise<void>) | null = null
  readonly #state: () => State
  #latest: StreamedReply | null = null
  #isOver = false

  constructor(state: () => State) {
    this.#state = state
  }

  get latest(): StreamedReply | null {
    return this.#latest
  }

  /** The reply in progress, or null. O(events since its last delta). */
  get current(): StreamedReply | null {
    const latest = this.#latest
    if (latest === null || this.#isOver) return null
    this.#isOver = this.#state()
      .log.entries.slice(latest.logLength)
      .some(({ event }) => latest.isEndedBy(event))
    return this.#isOver ? null : latest
  }

  publish({ content, reasoning_content: reasoning }: StreamingDeltaEvent): void {
    const { current } = this
    const reply = current?.isOwn === true ? current : this.begin(crypto.randomUUID(), true)
    const logLength = this.#state().log.entries.length
    reply.add({ content: content ?? '', reasoning: reasoning ?? '', logLength })
    this.news.tell(null)
  }

  async finish(events: readonly Event[]): Promise<void> {
    if (this.beforeEnd !== null && events.some(endsReply)) await this.beforeEnd()
  }

  begin(id: string, isOwn: boolean): StreamedReply {
    this.#isOver = false
    this.#latest = new StreamedReply(id, isOwn)
    return this.#latest
  }
}

export class ReplyReader {
  readonly #replies: Replies
  readonly #resumeOffset: ReplyOffset | null
  #reply: StreamedReply | null = null
  #offset: ReplyLength = NO_LENGTH
  #upcoming: StreamedReply | null = null

  constructor(replies: Replies, resumeOffset: ReplyOffset | null) {
    this.#replies = replies
    this.#resumeOffset = resumeOffset
    this.notice()
  }

  has(seq: number): boolean {
    if (this.#reply !== null && isShorter(this.#offset, this.#reply.length))
      return this.#reply.next(this.#offset, seq) !== null
    const upcoming = this.#upcoming
    // Until the event that ends the previous reply is delivered, the rest of that reply may still arrive.
    if (upcoming === null || !upcoming.hasBegunBefore(seq)) return false
    this.#upcoming = null
    this.#reply = upcoming
    this.#offset = this.#resumeOffset?.reply === upcoming.id ? this.#resumeOffset : NO_LENGTH
    return upcoming.next(this.#offset, seq) !== null
  }

  notice(): void {
    const { current } = this.#replies
    // An upcoming reply that is replaced here has ended, so the log contains all of it.
    if (current !== null && current !== this.#reply) this.#upcoming = current
  }

  next(seq: number): { readonly event: StreamingDeltaEvent; readonly offset: ReplyOffset } | null {
    if (!this.has(seq) || this.#reply === null) return null
    const { content, reasoning } = this.#reply.next(this.#offset, seq) ?? this.#offset
    const to = {
      content: Math.max(content, this.#offset.content),
      reasoning: Math.max(reasoning, this.#offset.reasoning),
    }
    const event = this.#reply.between(this.#offset, to)
    this.#offset = to
    return { event, offset: { reply: this.#reply.id, ...to } }
  }

  get mayLag(): boolean {
    return this.#reply?.isOwn === false || this.#upcoming?.isOwn === false
  }

  async finish(fact: Fact): Promise<void> {
    if (!isQuarantined(fact) && endsReply(fact)) await this.#replies.catchUp?.()
  }

  skipStreamed(): void {
    this.#reply = this.#replies.latest
    this.#offset = this.#reply?.length ?? NO_LENGTH
    this.#upcoming = null
  }
}

function endsReply(event: Event | null): boolean {
  switch (event?.kind) {
    case 'ActionEvent':
    case 'ConversationErrorEvent':
    case 'InterruptEvent':
      return true
    case 'ConversationStateUpdateEvent':
      // A reply requested before a pause still arrives, even after the pause has ended.
      return event.key === 'execution_status' && event.value !== 'paused' && event.value !== 'idle'
    case 'MessageEvent':
      return event.source === 'agent'
    default:
      // A null event was evicted or quarantined.
      return event === null
  }
}

export class GrowingText {
  readonly #pieces: { readonly text: string; readonly start: number }[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(text: string): void {
    if (text === '') return
    this.#pieces.push({ text, start: this.#length })
    this.#length += text.length
  }

  /** Returns the text between two offsets. O(k + log n) for k of n pieces. */
  slice(from: number, to: number): string {
    if (from >= to) return ''
    const first = firstFrom(this.#pieces, ({ start, text }) => start + text.length <= from)
    let result = ''
    for (let index = first; index < this.#pieces.length; index += 1) {
      const { text, start } = this.#pieces[index] as { readonly text: string; readonly start: number }
      if (start >= to) break
      result +=
        from <= start && start + text.length <= to ? text : text.slice(Math.max(0, from - start), to - start)
    }
    return result
  }

  some(fits: (text: string) => boolean): boolean {
    return this.#pieces.some(({ text }) => fits(text))
  }
}
