import { freezeNew } from '../event/freeze.ts'
import { isLegalId, ROOT } from '../event/ids.ts'
import { isObject } from '../event/json.ts'
import { KINDS } from '../event/kinds.ts'
import { quarantine } from '../event/quarantine.ts'
import type { Content, JsonValue, ToolDefinition } from '../event/shapes.ts'
import { isInstant } from '../event/time.ts'
import type { Event, MessageEvent } from '../event/types.ts'
import { type RawObject, objectsOf } from '../messages/text.ts'
import type { Reply } from '../messages/reply.ts'
import type {
  Session,
  SessionFact,
  SessionFormat,
  SessionNote,
  SessionRecord,
  UnfitRecord,
} from './session.ts'

export interface Origin {
  readonly line: number
  readonly id: string | null
  readonly time: unknown
  /** Parent of the event; null for a root. Default: the previous event. */
  readonly after?: Place | null
}

/** A position in the tree: an event and its parent. */
export interface Place {
  readonly id: string
  readonly line: number
  /** The event; null for a condensation's summary, which is not an event. */
  readonly event: Event | null
  readonly before: Place | null
  /**
   * For a condensation: the places of its summary and of the events that it kept (see `inSight`). Otherwise
   * null.
   */
  remaining: readonly Place[] | null
}

interface KnownCall {
  id: string | null
  tool: string | null
  result: readonly Content[] | null
}

export interface SessionResult {
  readonly callId: string
  readonly tool?: string | undefined
  readonly content: readonly Content[]
  readonly isError: boolean
  readonly child?: string | undefined
}

export function callOrigins(origin: Origin, count: number, separator: string): readonly Origin[] {
  const id = origin.id ?? `line-${origin.line}`
  if (count < 2) return [origin]
  return Array.from({ length: count }, (_, index) => ({ ...origin, id: `${id}${separator}${index + 1}` }))
}

export type HasResult = (callId: string) => boolean

/** Returns a function that finds whether a call has a result. It reads the calls at its first use. */
export function resultsOnDemand(calls: () => readonly string[]): HasResult {
  let ids: ReadonlySet<string> | null = null
  return (callId) => (ids ??= new Set(calls())).has(callId)
}

function repeatsResult(call: KnownCall, content: readonly Content[]): boolean {
  if (call.result !== null && JSON.stringify(call.result) === JSON.stringify(content)) return true
  call.result = content
  return false
}

const isSeen = ({ event }: Place): boolean => event === null || SEEN.has(KINDS[event.kind].unit)

const isPrompt = ({ event }: Place): boolean => event?.kind === 'SystemPromptEvent'

const SEEN: ReadonlySet<unknown> = new Set(['message', 'call', 'result'])

type Unplaced<E = Event> = E extends Event ? Omit<E, 'id' | 'timestamp' | 'parent_id'> : never

const SUBAGENT_RESULT = 'SubagentObservation'

export const TOOL_METADATA = 'tool result metadata'

/** Writes one log. Methods cost O(input) unless stated otherwise. */
export class SessionWriter {
  readonly facts: SessionFact[] = []
  /** Whether the file has a call's result. */
  readonly hasResult: HasResult
  readonly #notes = new Map<string, { count: number; line: number }>()
  readonly #ids = new Set<string>()
  /** For each repeated id, the suffix of its next repetition. Stored, so that each repetition costs O(1). */
  readonly #next = new Map<string, number>()
  readonly #calls = new Map<string, KnownCall>()
  /** Ids of the latest reply's calls without a result, in order, by tool. The key undefined has all the ids. */
  readonly #openCalls = new Map<string | undefined, Set<string>>()
  #head: Place | null = null

  constructor(hasResult: HasResult = () => false) {
    this.hasResult = hasResult
  }

  get head(): Place | null {
    return this.#head
  }

  /**
   * Returns the events that a condensation after a position (default: HEAD) can remove: the events that the
   * last condensation kept, its summary, and later events. O(output).
   */
  inSight(from: Place | null = this.#head): Place[] {
    const path: Place[] = []
    let position = from
    for (; position !== null && position.remaining === null; position = position.before) path.push(position)
    return [...(position?.remaining ?? []), ...path.toReversed()]
  }

  hasCall(id: string): boolean {
    return this.actionOf(id) !== null
  }

  actionOf(callId: string): string | null {
    return this.#calls.get(callId)?.id ?? null
  }

  note(what: string, line: number): void {
    const known = this.#notes.get(what)
    if (known === undefined) this.#notes.set(what, { count: 1, line })
    else known.count += 1
  }

  notes(): SessionNote[] {
    return [...this.#notes].map(([what, { count, line }]) => ({ what, count, line }))
  }

  session(format: SessionFormat): Session {
    const none = { id: null, title: null, parentId: null, createdAt: null, subagent: null, children: [] }
    return { format, ...none, facts: this.facts, notes: this.notes() }
  }

  keep(record: SessionRecord | UnfitRecord, unknown: string): void {
    const { line, raw, value } = record
    const isUnfit = 'unfit' in record
    const what = isUnfit ? record.unfit : unknown
    const type = value === undefined && !isUnfit ? 'json_invalid' : 'unknown_record'
    const msg = `${what.slice(0, 1).toUpperCase()}${what.slice(1)}.`
    this.facts.push({ line, fact: quarantine(raw, [{ loc: [], msg, type }], undefined) })
    this.note(what, line)
  }

  keepValue(value: unknown, line: number, what: string): void {
    this.keep({ line, raw: JSON.stringify(value), value: value as JsonValue }, what)
  }

  objectsIn(list: unknown, what: string, line: number): readonly RawObject[] {
    if (list === null || list === undefined) return []
    const all: readonly unknown[] = Array.isArray(list) ? list : []
    const strays = all === list ? all.filter((one) => !isObject(one)) : [list]
    for (const stray of strays) this.keepValue(stray, line, what)
    return objectsOf(strays.length === 0 ? list : all.filter(isObject))
  }

  /**
   * Adds an event. The type checker proves the event's shape (law E9). So at run time, `add` checks only that
   * JSON and the log can represent the event's values. Returns the event's id, or null if the event is
   * quarantined.
   */
  add(event: Unplaced, { line, id, time, after }: Origin): string | null {
    const placed: { -readonly [K in 'id' | 'timestamp' | 'parent_id']?: string } & Unplaced = event
    const unusedId = this.#unused(id ?? `line-${line}`)
    placed.id = unusedId
    if (typeof time === 'string' && isInstant(time)) placed.timestamp = time
    if (after !== undefined) placed.parent_id = after?.id ?? ROOT
    const issues = freezeNew(placed)
    if (issues.length > 0) {
      const fact = quarantine(JSON.stringify(placed), issues, placed as unknown as JsonValue)
      this.facts.push({ line, fact })
      this.note(`invalid ${event.kind}`, line)
      return null
    }
    const fact = placed as Event
    this.facts.push({ line, fact })
    if (fact.kind === 'ConversationStateUpdateEvent') return unusedId
    const before = after === undefined ? this.#head : after
    this.#head = { id: unusedId, line, event: fact, before, remaining: null }
    return unusedId
  }

  /** Returns the ids of the events since a position, without state updates and quarantined events. */
  idsSince(position: number): string[] {
    return this.facts.slice(position).flatMap(({ fact }) => {
      const isPlace = 'kind' in fact && fact.kind !== 'ConversationStateUpdateEvent'
      return isPlace ? (fact.id ?? []) : []
    })
  }

  update(key: string, value: JsonValue, origin: Origin): void {
    this.add({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value }, origin)
  }

  prompt(text: string, origin: Origin, tools: readonly ToolDefinition[] = []): void {
    this.add(
      { kind: 'SystemPromptEvent', source: 'agent', system_prompt: { type: 'text', text }, tools },
      origin,
    )
  }

  failure(code: string, detail: string, origin: Origin): void {
    this.add({ kind: 'ConversationErrorEvent', source: 'environment', code, detail }, origin)
  }

  say(source: MessageEvent['source'], content: readonly Content[], origin: Origin, name = ''): string | null {
    if (content.length === 0) {
      this.note('messages without content', origin.line)
      return null
    }
    const llm_message = { role: 'user', content, ...(name !== '' && { name }) } as const
    return this.add({ kind: 'MessageEvent', source, llm_message }, origin)
  }

  /**
   * Adds a reply. `origins` has an origin for each call, in order, or one origin for the message. Missing
   * origins are derived from the first one. Results and errors in `reply` are omitted for calls whose result
   * is in the file.
   */
  reply(reply: Reply, origins: readonly Origin[], hasResult = this.hasResult): void {
    const [first] = origins
    if (first === undefined) return
    this.#openCalls.clear()
    let callIndex = 0
    let isPlaced = false
    const put = (event: Unplaced, { line, id, time, after }: Origin): string | null => {
      // Each later event of a reply follows the previous one.
      const position = isPlaced || after === undefined ? {} : { after }
      const eventId = this.add(event, { line, id, time, ...position })
      if (eventId !== null) isPlaced = true
      return eventId
    }
    for (const event of reply.events) {
      if (event.kind === 'ActionEvent') {
        const origin = origins[callIndex] ?? {
          ...first,
          id: first.id === null ? null : `${first.id}.${callIndex}`,
        }
        callIndex += 1
        const id = put(event, origin)
        if (id === null) continue
        const call = this.#call(event.tool_call_id)
        call.id = id
        call.tool = event.tool_name
        // A call id may be reused, so the result of the earlier call does not count.
        call.result = null
        for (const tool of [undefined, event.tool_name]) {
          const open = this.#openCalls.get(tool) ?? new Set()
          this.#openCalls.set(tool, open.add(event.tool_call_id))
        }
      } else if (event.kind === 'MessageEvent') put(event, first)
      else if (!hasResult(event.tool_call_id)) {
        const last = origins[callIndex - 1] ?? first
        const call = this.#calls.get(event.tool_call_id)?.id ?? null
        const named = event.kind === 'ObservationEvent' && call !== null ? { action_id: call } : {}
        put({ ...event, ...named }, { ...last, id: `${last.id ?? `line-${last.line}`}-result` })
      }
    }
  }

  /** Adds a result. Without `callId`, it belongs to the first open call of `tool`, or without `tool` of any tool. */
  result({ callId: givenId, tool, content, isError, child }: SessionResult, origin: Origin): void {
    const [open = ''] = this.#openCalls.get(tool) ?? []
    const callId = givenId || open
    const call = this.#call(callId)
    // Without an id, equal results may be of different calls.
    if (callId !== '' && repeatsResult(call, content))
      return this.note('written twice: a tool result', origin.line)
    this.add(
      {
        kind: 'ObservationEvent',
        source: 'environment',
        tool_name: call.tool ?? tool ?? 'unknown',
        tool_call_id: callId,
        action_id: call.id ?? callId,
        observation: {
          kind: child === undefined ? 'ToolObservation' : SUBAGENT_RESULT,
          content,
          is_error: isError,
          ...(child !== undefined && { conversation_id: child }),
        },
      },
      origin,
    )
  }

  reject(callId: string, reason: string, origin: Origin): void {
    const call = this.#call(callId)
    if (repeatsResult(call, [{ type: 'text', text: reason }]))
      return this.note('written twice: a refusal of a call', origin.line)
    this.add(
      {
        kind: 'UserRejectObservation',
        source: 'user',
        tool_name: call.tool ?? 'unknown',
        tool_call_id: callId,
        action_id: call.id ?? callId,
        rejection_reason: reason,
        rejection_source: 'user',
      },
      origin,
    )
  }

  fail(callId: string, error: string, origin: Origin): void {
    const call = this.#call(callId)
    if (repeatsResult(call, [{ type: 'text', text: error }]))
      return this.note('written twice: an error of a call', origin.line)
    const tool_name = call.tool ?? 'unknown'
    this.add({ kind: 'AgentErrorEvent', source: 'agent', tool_name, tool_call_id: callId, error }, origin)
  }

  /**
   * Removes all events from the view except system prompts and the events whose ids are in `stored`. The
   * summary precedes or follows the kept events (`where`). Does not remove events after `origin.after` (default: HEAD).
   */
  condense(
    stored: ReadonlySet<string>,
    summary: string,
    origin: Origin,
    where: 'front' | 'end' = 'front',
  ): void {
    const sight = this.inSight(origin.after)
    const hasSummary = summary.trim() !== ''
    const isKept = (one: Place): boolean => stored.has(one.id) || isPrompt(one)
    const remaining = sight.filter(isKept)
    const first = where === 'front' ? remaining.findIndex((one) => !isPrompt(one)) : -1
    const before = first < 0 ? remaining : remaining.slice(0, first)
    // The file may use the same id for an event and a summary. The id is listed once.
    const forgotten = new Set(sight.filter((one) => !isKept(one)).map(({ id }) => id))
    const id = this.add(
      {
        kind: 'Condensation',
        source: 'environment',
        llm_response_id: `condensation-${origin.id ?? origin.line}`,
        forgotten_event_ids: [...forgotten],
        ...(hasSummary ? { summary, summary_offset: before.filter(isSeen).length } : {}),
      },
      origin,
    )
    const { line } = origin
    const summaryPlace: Place = { id: `${id}-summary`, line, event: null, before: null, remaining: null }
    const all = remaining.toSpliced(before.length, 0, summaryPlace)
    if (id !== null && this.#head !== null) this.#head.remaining = hasSummary ? all : remaining
  }

  /** Moves HEAD to an event, or to the start if `to` is null. */
  goBack(to: Place | null, origin: Origin): void {
    this.update('leaf_event_id', to?.id ?? null, origin)
    this.#head = to
  }

  /** Returns the call with an id, adding it if it is unknown. Removes the id from the open calls. */
  #call(id: string): KnownCall {
    const known = this.#calls.get(id)
    for (const tool of [undefined, known?.tool ?? '']) this.#openCalls.get(tool)?.delete(id)
    if (known !== undefined) return known
    const call = { id: null, tool: null, result: null }
    this.#calls.set(id, call)
    return call
  }

  #unused(id: string): string {
    const base = isLegalId(id) ? id : 'event'
    const count = this.#ids.size
    if (this.#ids.add(base).size > count) return base
    // The cut may leave half of a surrogate pair, which an id must not contain.
    const cut = `${base.slice(0, 180)}~`
    const stem = isLegalId(cut) ? cut : `${base.slice(0, 179)}~`
    let number = this.#next.get(stem) ?? 2
    while (this.#ids.has(`${stem}${number}`)) number += 1
    this.#next.set(stem, number + 1)
    this.#ids.add(`${stem}${number}`)
    return `${stem}${number}`
  }
}
