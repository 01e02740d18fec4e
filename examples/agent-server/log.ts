/** The log of one conversation: JSON lines in a file, a tree with a HEAD, and the derived state. */

import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'

/** The fields of an event that this server reads. */
export interface LogEvent {
  readonly kind: string
  readonly id: string
  readonly timestamp: string
  readonly source: string
  readonly parent_id: string | null
  readonly [field: string]: unknown
}

/** An event before it is appended. */
export interface Draft {
  readonly kind: string
  readonly id?: string
  readonly source: string
  readonly parent_id?: string | null
  readonly [field: string]: unknown
}

export interface Call extends LogEvent {
  readonly tool_name: string
  readonly tool_call_id: string
  readonly tool_call: { readonly arguments: string }
  readonly llm_response_id: string
  /** Null for a call that cannot be executed. */
  readonly action: Readonly<Record<string, unknown>> | null
}

export type Status = 'idle' | 'running' | 'paused' | 'waiting_for_confirmation' | 'finished' | 'error'

export const isResult = ({ kind }: LogEvent): boolean =>
  kind === 'ObservationEvent' || kind === 'UserRejectObservation' || kind === 'AgentErrorEvent'

/** A listener of a conversation. */
export interface Reader {
  readonly event: (event: LogEvent, position: number) => void
  readonly delta: (content: string) => void
  readonly end: () => void
}

/** A conversation. Its file contains everything that must survive this process. */
export class Log {
  readonly id: string
  readonly readers = new Set<Reader>()
  readonly events: LogEvent[] = []
  readonly #file: string
  readonly #positions = new Map<string, number>()
  /** The id of the event at HEAD. */
  head: string | null = null
  status: Status = 'idle'
  isPublic = false
  /** Whether each call needs a user's approval. */
  needsConfirmation = false

  constructor(file: string, id: string) {
    this.id = id
    this.#file = file
    if (!existsSync(file)) return
    const text = readFileSync(file, 'utf8')
    // A line without an end was never acknowledged.
    const acknowledged = text.slice(0, text.lastIndexOf('\n') + 1)
    if (acknowledged !== text) truncateSync(file, Buffer.byteLength(acknowledged))
    for (const batch of acknowledged.split('\n').filter((line) => line !== ''))
      for (const event of JSON.parse(batch) as LogEvent[]) this.#apply(event)
  }

  /** Appends events as one line of the file, so that all or none are kept. */
  append(...drafts: readonly Draft[]): readonly LogEvent[] {
    const from = this.events.length
    const timestamp = this.#now()
    let parent = this.head
    const events = drafts.map((draft): LogEvent => {
      const event = { id: randomUUID(), timestamp, parent_id: parent, ...draft }
      if (event.kind !== 'ConversationStateUpdateEvent') parent = event.id
      return event
    })
    if (events.length === 0) return events
    appendFileSync(this.#file, `${JSON.stringify(events)}\n`)
    for (const event of events) this.#apply(event)
    for (const reader of this.readers) events.forEach((event, index) => reader.event(event, from + index))
    return events
  }

  /** Records a changed setting. */
  update(key: string, value: unknown): void {
    this.append({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value })
  }

  setStatus(status: Status): void {
    if (status !== this.status) this.update('execution_status', status)
  }

  navigate(id: string | null): void {
    this.update('leaf_event_id', id)
  }

  /** Sends live readers a piece of a reply; it is not stored. */
  publish(content: string): void {
    for (const reader of this.readers) reader.delta(content)
  }

  get(id: string): LogEvent | null {
    return this.events[this.#positions.get(id) ?? -1] ?? null
  }

  positionOf(id: string): number {
    return this.#positions.get(id) ?? -1
  }

  branch(): LogEvent[] {
    const path: LogEvent[] = []
    for (let index = this.head; index !== null;) {
      const event = this.get(index)
      if (event === null) break
      path.push(event)
      index = event.parent_id
    }
    return path.toReversed()
  }

  /** The calls on the branch without a result. */
  pending(): Call[] {
    const pending = new Map<string, Call>()
    for (const event of this.branch()) {
      if (event.kind === 'ActionEvent') pending.set(event.id, event as Call)
      else if (isResult(event)) pending.delete(String(event['action_id'] ?? this.#callOf(event, pending)))
    }
    return [...pending.values()]
  }

  /** Returns the id of the call that an AgentErrorEvent ends. The event has only the provider's call id. */
  #callOf(event: LogEvent, pending: ReadonlyMap<string, Call>): string | undefined {
    return [...pending.values()].findLast((call) => call.tool_call_id === event['tool_call_id'])?.id
  }

  #apply(event: LogEvent): void {
    this.#positions.set(event.id, this.events.length)
    this.events.push(event)
    const { kind, key, value } = event
    if (kind !== 'ConversationStateUpdateEvent') this.head = event.id
    else if (key === 'leaf_event_id') {
      this.head = value as string | null
      if (this.status === 'finished') this.status = 'idle'
    } else if (key === 'execution_status') this.status = value as Status
    else if (key === 'public') this.isPublic = value === true
    else if (key === 'confirmation_policy') this.needsConfirmation = isAlwaysConfirm(value)
    if (kind === 'PauseEvent' || kind === 'InterruptEvent') {
      if (this.status === 'idle' || this.status === 'running') this.status = 'paused'
    } else if (kind === 'ConversationErrorEvent') this.status = 'error'
    else if (kind === 'MessageEvent' && event.source === 'user' && this.status === 'finished')
      this.status = 'idle'
  }

  /** Returns the current time, or the latest event's time if that is later. */
  #now(): string {
    const now = new Date().toISOString()
    const last = this.events.at(-1)?.timestamp ?? ''
    return now > last ? now : last
  }
}

const isAlwaysConfirm = (policy: unknown): boolean =>
  typeof policy === 'object' && policy !== null && 'kind' in policy && policy.kind === 'AlwaysConfirm'
