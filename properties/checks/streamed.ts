/** B5: every reader of a streamed reply, in any process, receives each character once. */

import { SharedReplies } from '../../src/conversation/shared-replies.ts'
import { Replies, ReplyReader, type ReplyOffset } from '../../src/conversation/streamed.ts'
import { statusUpdate } from '../../src/conversation/decide.ts'
import { hasText } from '../../src/event/text.ts'
import type { Event } from '../../src/event/types.ts'
import type { State } from '../../src/state/state.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { same } from '../../src/testing/failure.ts'
import type { Command } from './stream-commands.ts'

const PROCESSES = 2
const LINGER = 10_000

interface Work {
  readonly of: Process
  readonly call: () => void
  readonly after: number
}

interface Truth {
  content: string
  reasoning: string
  end: 'ended' | 'stopped' | 'lost' | null
  isGone: boolean
}

const INTERRUPT: Event = { kind: 'InterruptEvent', source: 'user' }

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

class Process {
  /** Length of the log that it knows. */
  known = 0
  readonly replies: Replies
  readonly shared: SharedReplies

  constructor(world: World) {
    const { log } = world
    const state = (): State =>
      ({
        log: {
          entries: {
            length: this.known,
            slice: (from: number) => log.slice(from, this.known).map((event) => ({ event })),
          },
        },
      }) as unknown as State
    this.replies = new Replies(state)
    this.shared = new SharedReplies({
      items: world.store,
      id: 'c',
      replies: this.replies,
      isElsewhere: () => world.maker !== this,
      isClosing: () => false,
      schedule: (call, after) => {
        world.works.push({ of: this, call, after })
        return () => {
          world.works = world.works.filter((work) => work.call !== call)
        }
      },
      open: new Set(),
    })
  }
}

class Reader {
  readonly process: Process
  readonly reader: ReplyReader
  readonly unlisten: () => void
  next: number
  /** Progress in its latest reply. */
  offset: ReplyOffset | null
  content = ''
  reasoning = ''
  from: ReplyOffset | null
  /** Whether it received text of this reply itself, not only of one it continues. */
  hasBegun = false

  constructor(process: Process, next: number, had: ReplyOffset | null) {
    this.process = process
    this.next = next
    this.offset = had
    this.from = had
    this.reader = new ReplyReader(process.replies, had)
    const ends = [process.shared.listen(), process.replies.news.add(() => this.reader.notice())]
    this.unlisten = () => {
      for (const end of ends) end()
    }
  }
}

export const streamsSeen = {
  fromTheMiddle: 0,
  elsewhere: 0,
  whole: 0,
  wholeElsewhere: 0,
  resumed: 0,
  lost: 0,
  behindTheEnd: 0,
  stopped: 0,
  heldOn: 0,
}

class World {
  readonly store = memoryStore()
  readonly log: Event[] = []
  works: Work[] = []
  hasStalled = false
  readonly truths = new Map<string, Truth>()
  readonly processes: Process[]
  maker: Process
  underWay: { readonly id: string; isHeld: boolean } | null = null
  readers: Reader[] = []
  departed: Reader[] = []

  constructor() {
    this.processes = Array.from({ length: PROCESSES }, () => new Process(this))
    this.maker = this.processes[0] as Process
  }

  append(event: Event): void {
    this.log.push(event)
    this.maker.known = this.log.length
  }

  async do(command: Command): Promise<void> {
    const pick = 'pick' in command ? command.pick : 0
    switch (command.type) {
      case 'say':
        return this.say(command.content, command.reasoning)
      case 'note':
        return this.append({ kind: 'PauseEvent', id: `p${this.log.length}` })
      case 'resume':
        this.append(statusUpdate('idle'))
        if (this.underWay !== null) this.underWay.isHeld = true
        return
      case 'interrupt':
        return this.interrupt()
      case 'end':
        return this.end()
      case 'crash': {
        const dead = this.crash()
        this.works = this.works.filter(({ of }) => of !== dead)
        return
      }
      case 'stall':
        // It wakes up later, possibly after a takeover.
        this.hasStalled = true
        return void this.crash()
      case 'tick': {
        const [work] = this.works.splice(pick % Math.max(1, this.works.length), 1)
        work?.call()
        await settle()
        if (work?.after === LINGER)
          for (const truth of this.truths.values()) truth.isGone ||= truth.end !== null
        return
      }
      case 'learn':
        ;(this.processes[pick % PROCESSES] as Process).known = this.log.length
        return
      case 'join': {
        // Every second reader resumes for an earlier one.
        const before = pick % 2 === 0 ? this.departed.shift() : undefined
        const process = this.processes[pick % PROCESSES] as Process
        process.known = this.log.length
        const next = before?.next ?? this.log.length
        this.readers.push(new Reader(process, next, before?.offset ?? null))
        if (before?.offset) streamsSeen.resumed += 1
        return settle()
      }
      case 'leave': {
        const [reader] = this.readers.splice(pick % Math.max(1, this.readers.length), 1)
        reader?.unlisten()
        if (reader !== undefined) this.departed.push(reader)
        return
      }
      case 'read': {
        const reader = this.readers[pick % Math.max(1, this.readers.length)]
        if (reader !== undefined) await this.read(reader)
      }
    }
  }

  say(content: string, reasoning: string): void {
    const { replies, shared } = this.maker
    replies.publish({ kind: 'StreamingDeltaEvent', content, reasoning_content: reasoning })
    shared.scheduleWrite()
    const id = replies.latest?.id ?? ''
    same('B5', 'reply', id, this.underWay?.id ?? (this.truths.has(id) ? 'another' : id))
    if (this.underWay?.isHeld === true) streamsSeen.heldOn += 1
    this.underWay = { id, isHeld: false }
    const truth = this.truths.get(id) ?? { content: '', reasoning: '', end: null, isGone: false }
    this.truths.set(id, truth)
    truth.content += content
    truth.reasoning += reasoning
  }

  async end(): Promise<void> {
    const { current } = this.maker.replies
    await this.maker.replies.beforeEnd?.()
    this.append({
      kind: 'MessageEvent',
      id: `m${this.log.length}`,
      source: 'agent',
      llm_message: { role: 'assistant', content: [{ text: 'said' }] },
    })
    const truth = this.truths.get(current?.id ?? '')
    if (truth !== undefined) truth.end ??= 'ended'
    this.underWay = null
  }

  /** Ends only the reasoning: a later message keeps the text. */
  async interrupt(): Promise<void> {
    const { replies } = this.maker
    const id = replies.current?.id ?? ''
    await replies.finish([INTERRUPT])
    this.append({ ...INTERRUPT, id: `i${this.log.length}` })
    const truth = this.truths.get(id)
    if (truth === undefined || hasText(truth.content)) return
    truth.end ??= 'stopped'
    this.underWay = null
    streamsSeen.stopped += 1
    same('B5', 'the streamed reply', replies.current, null)
  }

  /** Also removes the process's readers. */
  crash(): Process {
    const dead = this.maker
    this.underWay = null
    const truth = this.truths.get(dead.replies.current?.id ?? '')
    if (truth !== undefined) truth.end ??= 'lost'
    const index = this.processes.indexOf(dead)
    this.processes[index] = new Process(this)
    const there = this.readers.filter(({ process }) => process === dead)
    for (const reader of there) reader.unlisten()
    this.readers = this.readers.filter((reader) => !there.includes(reader))
    this.departed.push(...there)
    this.maker = this.processes[(index + 1) % PROCESSES] as Process
    this.append({
      kind: 'ConversationErrorEvent',
      id: `x${this.log.length}`,
      source: 'environment',
      code: 'RunLost',
      detail: 'lost',
    })
    return dead
  }

  /** Before each event, reads the text streamed so far. */
  async read(reader: Reader): Promise<void> {
    for (; reader.next < reader.process.known; reader.next += 1) {
      const event = this.log[reader.next] as Event
      if (reader.reader.mayLag) await reader.reader.finish(event)
      this.take(reader, reader.next)
      if (event.kind === 'MessageEvent') this.checkEnd(reader)
    }
    this.take(reader, reader.next)
  }

  take(reader: Reader, seq: number): void {
    for (let next = reader.reader.next(seq); next !== null; next = reader.reader.next(seq)) {
      const { event, offset: text } = next
      const isOther = reader.offset?.reply !== text.reply
      if (isOther) {
        reader.content = ''
        reader.reasoning = ''
        reader.from = null
      }
      reader.content += event.content ?? ''
      reader.reasoning += event.reasoning_content ?? ''
      reader.offset = text
      reader.hasBegun = true
      const truth = this.truths.get(text.reply)
      const from = reader.from ?? { content: 0, reasoning: 0 }
      same('B5', 'text', reader.content, truth?.content.slice(from.content, text.content))
      same('B5', 'reasoning', reader.reasoning, truth?.reasoning.slice(from.reasoning, text.reasoning))
      if (isOther && reader.content.length > 0) streamsSeen.fromTheMiddle += 1
      if (reader.process !== this.maker) streamsSeen.elsewhere += 1
    }
  }

  /** Every reader that began the reply has received all of it. */
  checkEnd(reader: Reader): void {
    const truth = this.truths.get(reader.offset?.reply ?? '')
    if (truth === undefined || reader.offset === null) return
    if (truth.end === 'lost') streamsSeen.lost += 1
    if (truth.end !== 'ended' || truth.isGone || this.hasStalled) return
    if (!reader.hasBegun) return void (streamsSeen.behindTheEnd += 1)
    const { content, reasoning } = reader.offset
    same('B5', 'characters', [content, reasoning], [truth.content.length, truth.reasoning.length])
    streamsSeen.whole += 1
    if (reader.process !== this.maker) streamsSeen.wholeElsewhere += 1
  }
}

export async function checkStreams(commands: readonly Command[]): Promise<void> {
  const world = new World()
  for (const each of commands) await world.do(each)
  for (const reader of world.readers) {
    reader.process.known = world.log.length
    await world.read(reader)
  }
}
