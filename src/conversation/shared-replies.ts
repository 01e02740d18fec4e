/**
 * Shares partial replies with other processes through store items. Readers write a heartbeat item. While a
 * heartbeat exists, the replying process writes the text of its reply. If items are lost, readers get the
 * text later, because the log gets the whole reply.
 */

import { hasCode, nullOn } from '../event/errors.ts'
import type { ItemChange, Items } from '../store/contract/items.ts'
import { MAX_PAGE_SIZE } from '../store/contract/query.ts'
import { unref } from './async.ts'
import { isShorter, type Replies, type ReplyLength, type ReplyPart, type StreamedReply } from './streamed.ts'

type Schedule = (work: () => void, milliseconds: number) => () => void

export const realTime: Schedule = (work, milliseconds) => {
  const timer = setTimeout(work, milliseconds)
  unref(timer)
  return () => clearTimeout(timer)
}

/** Collection of each conversation's latest reply, with the number of pieces written. */
const HEADS = 'colloquy.replies'
const PIECES = 'colloquy.reply_pieces'
/** Collection with one heartbeat per conversation, written by remote subscribers. */
const READERS = 'colloquy.reply_readers'

/** Milliseconds between two writes of a reply, and between two polls by a reader. */
const EVERY = 250
/** Number of polls between two heartbeats of a reader. After `FORGET` polls, a silent reader is forgotten. */
const RENEW = 20
const FORGET = 3 * RENEW
/** Milliseconds until a finished reply is removed, so that readers can poll it once more. */
const LINGER = 10_000
/** Milliseconds until items of dead processes expire. The next reply removes expired items. */
const EXPIRY = 3_600_000

interface Head {
  readonly reply: string
  readonly pieces: number
}

interface ReplyPiece {
  readonly parts: readonly ReplyPart[]
}

interface WrittenReply {
  readonly reply: StreamedReply
  length: ReplyLength
  pieces: number
  version: number | null
  isLost: boolean
  isLeaving: boolean
}

const pieceId = (reply: string, sequence: number): string => `${reply} ${String(sequence).padStart(9, '0')}`

interface SharedRepliesParts {
  readonly items: Items
  readonly id: string
  readonly replies: Replies
  readonly isElsewhere: () => boolean
  readonly isClosing: () => boolean
  readonly schedule: Schedule
  readonly open: Set<SharedReplies>
}

export class SharedReplies {
  readonly #parts: SharedRepliesParts
  #last: Promise<void> = Promise.resolve()
  #written: WrittenReply | null = null
  readonly #unremoved = new Set<WrittenReply>()
  #readers: { version: number | null; polls: number } = { version: null, polls: FORGET }
  #willWrite = false
  #remote: { reply: StreamedReply; pieces: number } | null = null
  #listeners = 0
  #polls = 0
  #nextPoll: (() => void) | null = null

  constructor(parts: SharedRepliesParts) {
    this.#parts = parts
    parts.replies.beforeEnd = () => this.#finish()
  }

  scheduleWrite(): void {
    if (this.#willWrite || this.#parts.isClosing()) return
    this.#willWrite = true
    this.#parts.schedule(() => {
      this.#willWrite = false
      void this.write()
    }, EVERY)
  }

  listen(): () => void {
    this.#listeners += 1
    if (this.#listeners === 1) {
      this.#parts.replies.catchUp = () => this.#inOrder(() => this.#read())
      this.#polls = 0
      void this.poll()
      this.#pollAgain()
    }
    let isListening = true
    return () => {
      if (!isListening) return
      isListening = false
      this.#listeners -= 1
      if (this.#listeners > 0) return
      this.#nextPoll?.()
      this.#nextPoll = null
      this.#parts.replies.catchUp = null
    }
  }

  write(): Promise<void> {
    return this.#inOrder(async () => {
      const { current } = this.#parts.replies
      if (current?.isOwn !== true) return this.#removeLater()
      if (await this.#isRead()) await this.#write(current)
      // Try again later: a reader may arrive while the model is silent.
      else this.scheduleWrite()
    })
  }

  poll(): Promise<void> {
    return this.#inOrder(async () => {
      const { items, id, isElsewhere } = this.#parts
      if (!isElsewhere()) return
      const isDue = this.#polls % RENEW === 0
      this.#polls += 1
      if (isDue) await items.changeItems([{ collection: READERS, id, put: { body: {}, dueIn: EXPIRY } }])
      await this.#read()
    })
  }

  close(): Promise<void> {
    return this.#inOrder(async () => {
      for (const written of this.#unremoved) await this.#remove(written)
    })
  }

  #pollAgain(): void {
    const next = this.#parts.schedule(() => {
      void this.poll().then(() => {
        // If listeners left and came back during the poll, they have scheduled another poll.
        if (this.#nextPoll === next) this.#pollAgain()
      })
    }, EVERY)
    this.#nextPoll = next
  }

  async #isRead(): Promise<boolean> {
    const version = (await this.#parts.items.getItem(READERS, this.#parts.id))?.version ?? null
    const isNew = version !== null && version !== this.#readers.version
    this.#readers = { version, polls: isNew ? 0 : this.#readers.polls + 1 }
    return this.#readers.polls < FORGET
  }

  async #write(reply: StreamedReply): Promise<void> {
    const written = this.#written?.reply === reply ? this.#written : await this.#begin(reply)
    const { length } = reply
    if (written.isLost || !isShorter(written.length, length)) return
    const { items, id } = this.#parts
    const parts = reply.parts(written.length).map((part) => ({ ...part }))
    const head = { reply: reply.id, pieces: written.pieces + 1 } satisfies Head
    try {
      const [put] = await items.changeItems([
        { collection: HEADS, id, expected: written.version, put: { body: head, dueIn: EXPIRY } },
        {
          collection: PIECES,
          id: pieceId(reply.id, written.pieces),
          put: { body: { parts }, dueIn: EXPIRY },
        },
      ])
      written.pieces += 1
      written.length = length
      written.version = put?.version ?? null
    } catch (error) {
      // Another process writes replies now, or an earlier write succeeded without a response.
      written.isLost = hasCode(error, 'version_conflict')
      if (!written.isLost) throw error
    }
  }

  async #begin(reply: StreamedReply): Promise<WrittenReply> {
    const { items, id, open } = this.#parts
    await sweep(items)
    const version = (await items.getItem(HEADS, id))?.version ?? null
    this.#written = {
      reply,
      length: { content: 0, reasoning: 0 },
      pieces: 0,
      version,
      isLost: false,
      isLeaving: false,
    }
    this.#unremoved.add(this.#written)
    open.add(this)
    return this.#written
  }

  async #finish(): Promise<void> {
    const { replies } = this.#parts
    const written = this.#written
    if (written === null || written.pieces === 0 || written.isLost || written.reply !== replies.current)
      return
    await this.#inOrder(() => this.#write(written.reply))
    this.#removeLater()
  }

  /**
   * Removes the written reply after `LINGER` milliseconds, unless it is still in progress because the append
   * of its last event failed.
   */
  #removeLater(): void {
    const { replies, schedule } = this.#parts
    const written = this.#written
    if (written === null || written.isLeaving) return
    written.isLeaving = true
    schedule(() => {
      written.isLeaving = false
      if (replies.current !== written.reply) void this.#inOrder(() => this.#remove(written))
    }, LINGER)
  }

  async #remove(written: WrittenReply): Promise<void> {
    if (!this.#unremoved.delete(written)) return
    if (this.#written === written) this.#written = null
    const { items, id, open } = this.#parts
    if (this.#unremoved.size === 0) open.delete(this)
    const { reply, pieces, version } = written
    await removePieces(items, { reply: reply.id, pieces })
    if (version === null) return
    const head = { collection: HEADS, id, expected: version, put: null }
    // A later reply may have replaced this item.
    await items.changeItems([head]).catch(nullOn('version_conflict'))
  }

  async #read(): Promise<void> {
    const { items, id, replies } = this.#parts
    const item = await items.getItem(HEADS, id)
    const head = item === null ? null : headIn(item.body)
    const remote = this.#remote
    // The rest of a reply stays readable for a while, even when the next reply has begun.
    if (remote !== null && (head?.reply !== remote.reply.id || head.pieces > remote.pieces)) {
      const rest = await this.#pieces(remote.reply.id, remote.pieces)
      for (const { parts } of rest) for (const part of parts) remote.reply.add(part)
      remote.pieces += rest.length
      if (rest.length > 0) replies.news.tell(null)
    }
    if (head === null || head.reply === remote?.reply.id || replies.current?.isOwn === true) return
    if (head.reply === this.#written?.reply.id) return
    const pieces = await this.#pieces(head.reply, 0)
    if (pieces.length === 0) return
    // Adds the text at once: a reply without text would look finished to readers.
    const reply = replies.begin(head.reply, false)
    for (const { parts } of pieces) for (const part of parts) reply.add(part)
    this.#remote = { reply, pieces: pieces.length }
    replies.news.tell(null)
  }

  async #pieces(reply: string, from: number): Promise<ReplyPiece[]> {
    const pieces: ReplyPiece[] = []
    for (;;) {
      const query = { from: pieceId(reply, from + pieces.length), below: `${reply} :` }
      const { items } = await this.#parts.items.listItems(PIECES, query)
      for (const { id, body } of items) {
        if (id !== pieceId(reply, from + pieces.length)) return pieces
        pieces.push(body as object as ReplyPiece)
      }
      if (items.length < MAX_PAGE_SIZE) return pieces
    }
  }

  /** Runs `work` after all earlier work. Ignores errors of the store, because they only delay streamed text. */
  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch(() => undefined)
    return this.#last
  }
}

const headIn = (body: object): Head => body as Head

/** Removes a conversation's shared reply. Returns the number of removed items. */
export async function dropShared(items: Items, id: string): Promise<number> {
  const head = await items.getItem(HEADS, id)
  if (head === null) return 0
  await removePieces(items, headIn(head.body))
  await items.changeItems([
    { collection: HEADS, id, put: null },
    { collection: READERS, id, put: null },
  ])
  return headIn(head.body).pieces + 1
}

async function removePieces(items: Items, { reply, pieces }: Head): Promise<void> {
  for (let first = 0; first < pieces; first += MAX_PAGE_SIZE) {
    const changes = Array.from({ length: Math.min(MAX_PAGE_SIZE, pieces - first) }, (_, i): ItemChange => ({
      collection: PIECES,
      id: pieceId(reply, first + i),
      put: null,
    }))
    await items.changeItems(changes)
  }
}

async function sweep(items: Items): Promise<void> {
  for (const collection of [HEADS, PIECES, READERS]) {
    const due = await items.claimItems(collection, { ttl: LINGER })
    const changes = due.map(({ id, version }) => ({ collection, id, expected: version, put: null }))
    if (changes.length > 0) await items.changeItems(changes)
  }
}
