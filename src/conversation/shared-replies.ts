/**
 * Replies for readers in other processes, by items of the store: who listens says so, and who makes the reply writes
 * what was said since it last wrote, as long as another process listens. Losing any of it costs words that come early,
 * never an event: all of it stands in the log in the end.
 */

import { hasCode } from '../event/errors.ts'
import type { ItemChange, Items } from '../store/contract/items.ts'
import { MAX_PAGE_SIZE } from '../store/contract/query.ts'
import type { Replies, Said, SaidPart, StreamedReply } from './streamed.ts'

/** Calls a work later, unless the function that it returns is called before. */
export type Schedule = (work: () => void, milliseconds: number) => () => void

/** Holds up no process that would end. */
export const realTime: Schedule = (work, milliseconds) => {
  const timer: unknown = setTimeout(work, milliseconds)
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref()
  return () => clearTimeout(timer as number)
}

/** By conversation: its latest reply, and in how many pieces it was written so far. */
const HEADS = 'colloquy.replies'
/** By reply and number: what was said, behind the piece before. */
const PIECES = 'colloquy.reply_pieces'
/** By conversation: heartbeat of remote subscribers. */
const READERS = 'colloquy.reply_readers'

/** Milliseconds between two writes of a reply, and two looks for more of it. */
const EVERY = 250
/** A reader says so many looks later that it is still there, and is forgotten so many looks later. */
const RENEW = 20
const FORGET = 3 * RENEW
/** Milliseconds for which a reply stays behind its end, for readers who are about to look. */
const LINGER = 10_000
/** Leftovers of dead processes expire after this, and the next reply removes them. */
const KEPT = 3_600_000

interface Head {
  readonly reply: string
  readonly pieces: number
}

interface Piece {
  readonly parts: readonly SaidPart[]
}

/** The reply that is written here. */
interface Made {
  readonly reply: StreamedReply
  /** How much of it is in the store, in so many pieces. */
  said: Said
  pieces: number
  /** That of the head; null where there was none. */
  version: number | null
  /** Whether another process has written since. */
  isLost: boolean
  /** Whether it is taken out in a while. */
  isLeaving: boolean
}

const pieceId = (reply: string, no: number): string => `${reply} ${String(no).padStart(9, '0')}`

/** What it needs of a conversation. */
export interface SharedRepliesParts {
  readonly items: Items
  /** The conversation. */
  readonly id: string
  readonly replies: Replies
  /** Whether another process may be making a reply. */
  readonly isElsewhere: () => boolean
  /** Whether nothing more is to be written but the ends of replies. */
  readonly isClosing: () => boolean
  readonly schedule: Schedule
  /** Those that have something in the store, to be closed. */
  readonly open: Set<SharedReplies>
}

/** The replies of one conversation, as one process makes or hears them. */
export class SharedReplies {
  readonly #parts: SharedRepliesParts
  #last: Promise<void> = Promise.resolve()
  #made: Made | null = null
  /** All that were written here and not taken out yet. */
  readonly #written = new Set<Made>()
  /** The readers of other processes: what was seen of them last, and how many looks ago. */
  #readers: { version: number | null; looks: number } = { version: null, looks: FORGET }
  #willWrite = false
  /** The reply that is read here. */
  #heard: { reply: StreamedReply; pieces: number } | null = null
  #listeners = 0
  #looks = 0
  #looking: (() => void) | null = null

  constructor(parts: SharedRepliesParts) {
    this.#parts = parts
    parts.replies.beforeEnd = () => this.#finish()
  }

  /** Something was said here: it is written a little later, if another process listens. */
  said(): void {
    if (this.#willWrite || this.#parts.isClosing()) return
    this.#willWrite = true
    this.#parts.schedule(() => {
      this.#willWrite = false
      void this.write()
    }, EVERY)
  }

  /** Listens to what other processes say, until the function that it returns is called. */
  listen(): () => void {
    this.#listeners += 1
    if (this.#listeners === 1) {
      this.#parts.replies.catchUp = () => this.#alone(() => this.#read())
      this.#looks = 0
      void this.look()
      this.#lookAgain()
    }
    let on = true
    return () => {
      if (!on) return
      on = false
      this.#listeners -= 1
      if (this.#listeners > 0) return
      this.#looking?.()
      this.#looking = null
      this.#parts.replies.catchUp = null
    }
  }

  /** Writes what was said here, where another process listens. */
  write(): Promise<void> {
    return this.#alone(async () => {
      const { current } = this.#parts.replies
      if (current?.isOwn !== true) return this.#removeLater()
      if (await this.#isRead()) await this.#write(current)
      // Nothing may be said for a while, and a reader may come meanwhile.
      else this.said()
    })
  }

  /** Looks for what was said elsewhere, and says that this process listens. */
  look(): Promise<void> {
    return this.#alone(async () => {
      const { items, id, isElsewhere } = this.#parts
      if (!isElsewhere()) return
      const isDue = this.#looks % RENEW === 0
      this.#looks += 1
      if (isDue) await items.changeItems([{ collection: READERS, id, put: { body: {}, dueIn: KEPT } }])
      await this.#read()
    })
  }

  /** Takes out what was written here. */
  close(): Promise<void> {
    return this.#alone(async () => {
      for (const made of this.#written) await this.#remove(made)
    })
  }

  #lookAgain(): void {
    this.#looking = this.#parts.schedule(() => {
      void this.look().then(() => {
        if (this.#looking !== null) this.#lookAgain()
      })
    }, EVERY)
  }

  async #isRead(): Promise<boolean> {
    const version = (await this.#parts.items.getItem(READERS, this.#parts.id))?.version ?? null
    const isNew = version !== null && version !== this.#readers.version
    this.#readers = { version, looks: isNew ? 0 : this.#readers.looks + 1 }
    return this.#readers.looks < FORGET
  }

  async #write(reply: StreamedReply): Promise<void> {
    const made = this.#made?.reply === reply ? this.#made : await this.#begin(reply)
    const { said } = reply
    if (made.isLost || (said.content === made.said.content && said.reasoning === made.said.reasoning)) return
    const { items, id } = this.#parts
    const parts = reply.parts(made.said).map((part) => ({ ...part }))
    const head = { reply: reply.id, pieces: made.pieces + 1 } satisfies Head
    try {
      const [put] = await items.changeItems([
        {
          collection: HEADS,
          id,
          expected: made.version,
          put: { body: head, dueIn: KEPT },
        },
        { collection: PIECES, id: pieceId(reply.id, made.pieces), put: { body: { parts }, dueIn: KEPT } },
      ])
      made.pieces += 1
      made.said = said
      made.version = put?.version ?? null
    } catch (error) {
      // Another process makes replies by now; or it was written, though the store could not say so.
      made.isLost = hasCode(error, 'version_conflict')
      if (!made.isLost) throw error
    }
  }

  async #begin(reply: StreamedReply): Promise<Made> {
    const { items, id, open } = this.#parts
    await sweep(items)
    const version = (await items.getItem(HEADS, id))?.version ?? null
    this.#made = {
      reply,
      said: { content: 0, reasoning: 0 },
      pieces: 0,
      version,
      isLost: false,
      isLeaving: false,
    }
    this.#written.add(this.#made)
    open.add(this)
    return this.#made
  }

  /** All that was said is written before the reply stands in the log, and taken out some time after. */
  async #finish(): Promise<void> {
    const { replies } = this.#parts
    const made = this.#made
    if (made === null || made.pieces === 0 || made.isLost || made.reply !== replies.current) return
    await this.#alone(() => this.#write(made.reply))
    this.#removeLater()
  }

  /** What ends a reply may be another process's to append, as an interrupt is. */
  #removeLater(): void {
    const { replies, schedule } = this.#parts
    const made = this.#made
    if (made === null || made.isLeaving) return
    made.isLeaving = true
    schedule(() => {
      made.isLeaving = false
      if (replies.current !== made.reply) void this.#alone(() => this.#remove(made))
    }, LINGER)
  }

  async #remove(made: Made): Promise<void> {
    if (!this.#written.delete(made)) return
    if (this.#made === made) this.#made = null
    const { items, id, open } = this.#parts
    if (this.#written.size === 0) open.delete(this)
    const { reply, pieces, version } = made
    await removePieces(items, { reply: reply.id, pieces })
    if (version === null) return
    const head = { collection: HEADS, id, expected: version, put: null }
    await items.changeItems([head]).catch((error: unknown) => {
      // It is that of a later reply.
      if (!hasCode(error, 'version_conflict')) throw error
    })
  }

  async #read(): Promise<void> {
    const { items, id, replies } = this.#parts
    const item = await items.getItem(HEADS, id)
    const head = item === null ? null : headIn(item.body)
    const heard = this.#heard
    // The rest of a reply is there for some time, also when another one is under way.
    if (heard !== null && (head?.reply !== heard.reply.id || head.pieces > heard.pieces)) {
      const rest = await this.#pieces(heard.reply.id, heard.pieces)
      for (const { parts } of rest) for (const part of parts) heard.reply.add(part)
      heard.pieces += rest.length
      if (rest.length > 0) replies.news.tell(null)
    }
    if (head === null || head.reply === heard?.reply.id || replies.current?.isOwn === true) return
    if (head.reply === this.#made?.reply.id) return
    const pieces = await this.#pieces(head.reply, 0)
    if (pieces.length === 0) return
    // At once, so that no reader takes a reply without words for one that is over.
    const reply = replies.begin(head.reply, false)
    for (const { parts } of pieces) for (const part of parts) reply.add(part)
    this.#heard = { reply, pieces: pieces.length }
    replies.news.tell(null)
  }

  /** The pieces of a reply from one on, as far as they are there without a gap. */
  async #pieces(reply: string, from: number): Promise<Piece[]> {
    const pieces: Piece[] = []
    for (;;) {
      const query = { from: pieceId(reply, from + pieces.length), below: `${reply} :` }
      const { items } = await this.#parts.items.listItems(PIECES, query)
      for (const { id, body } of items) {
        if (id !== pieceId(reply, from + pieces.length)) return pieces
        pieces.push(body as object as Piece)
      }
      if (items.length < MAX_PAGE_SIZE) return pieces
    }
  }

  /** One after the other. What the store throws costs words that come early, and no more. */
  #alone(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch(() => undefined)
    return this.#last
  }
}

const headIn = (body: object): Head => body as Head

/** Takes out what is shared of a conversation's replies. */
export async function dropShared(items: Items, id: string): Promise<void> {
  const head = await items.getItem(HEADS, id)
  if (head === null) return
  await removePieces(items, headIn(head.body))
  await items.changeItems([
    { collection: HEADS, id, put: null },
    { collection: READERS, id, put: null },
  ])
}

async function removePieces(items: Items, { reply, pieces }: Head): Promise<void> {
  for (let at = 0; at < pieces; at += MAX_PAGE_SIZE) {
    const changes = Array.from({ length: Math.min(MAX_PAGE_SIZE, pieces - at) }, (_, i): ItemChange => ({
      collection: PIECES,
      id: pieceId(reply, at + i),
      put: null,
    }))
    await items.changeItems(changes)
  }
}

/** Takes out what processes that died have left, a page of each. */
async function sweep(items: Items): Promise<void> {
  for (const collection of [HEADS, PIECES, READERS]) {
    const due = await items.claimItems(collection, { ttl: LINGER })
    const changes = due.map(({ id, version }) => ({ collection, id, expected: version, put: null }))
    if (changes.length > 0) await items.changeItems(changes)
  }
}
