/**
 * Writes the log that a recorded session becomes: gives events their ids and times, and keeps what later ones refer to.
 */

import { freezeNew } from '../event/freeze.ts'
import { isLegalId, ROOT } from '../event/ids.ts'
import { isObject } from '../event/json.ts'
import { KINDS } from '../event/kinds.ts'
import { quarantine } from '../event/quarantine.ts'
import type { Content, JsonValue } from '../event/shapes.ts'
import { isInstant } from '../event/time.ts'
import type { Event, MessageEvent } from '../event/types.ts'
import { type Found, objectsOf } from '../messages/text.ts'
import type { Reply } from '../messages/reply.ts'
import type { SessionFact, SessionNote, SessionRecord, UnfitRecord } from './session.ts'

/** Where an event comes from. */
export interface Origin {
  readonly line: number
  /** What the file calls it; null for one that has no name there. */
  readonly id: string | null
  /** As the file says it; anything that is no time is left out. */
  readonly time: unknown
  /** What it follows, null for nothing; left out for the event before it. */
  readonly after?: Place | null
}

/** A place in the tree: an event, and what it follows. */
export interface Place {
  readonly id: string
  /** Where it stands in the file. */
  readonly line: number
  /** Null for the summary of a condensation, which no line says. */
  readonly event: Event | null
  readonly before: Place | null
  /** What a condensation has left in sight, its summary first; null for any other event. */
  left: readonly Place[] | null
}

/** What is known of a call, by its id: the event that says it, by which its result finds it, and what that was. */
interface KnownCall {
  id: string | null
  tool: string | null
  result: readonly Content[] | null
}

/** A result of a call, as files have it. */
export interface Result {
  readonly callId: string
  readonly tool?: string
  readonly content: readonly Content[]
  readonly isError: boolean
}

/** Whether a file has the result of a call. */
export type HasResult = (callId: string) => boolean

/** Looks for the calls that have one when the first of them is asked for: in most files none is. */
export function askedLater(calls: () => readonly string[]): HasResult {
  let found: ReadonlySet<string> | null = null
  return (callId) => (found ??= new Set(calls())).has(callId)
}

/** Whether a call has this very result already; it has it from now on. */
function isAgain(call: KnownCall, content: readonly Content[]): boolean {
  if (call.result !== null && JSON.stringify(call.result) === JSON.stringify(content)) return true
  call.result = content
  return false
}

/** Whether a model sees it: a summary, or an event that the view shows. */
const isSeen = ({ event }: Place): boolean => event === null || SEEN.has(KINDS[event.kind].unit)

const SEEN: ReadonlySet<unknown> = new Set(['message', 'call', 'result'])

/** An event without its place. */
type Unplaced<E = Event> = E extends Event ? Omit<E, 'id' | 'timestamp' | 'parent_id'> : never

/** What a tool says of its result to its program, and to no model. */
export const DETAILS = 'details of results that no model sees'

/** Writes one log. Methods cost what they are given, where nothing else is said. */
export class SessionWriter {
  readonly facts: SessionFact[] = []
  readonly #notes = new Map<string, { count: number; line: number }>()
  readonly #ids = new Set<string>()
  /** The number to be tried next behind an id that is taken, so that as many of one id cost no more than others. */
  readonly #next = new Map<string, number>()
  readonly #calls = new Map<string, KnownCall>()
  #head: Place | null = null

  /** The place of the event that the next one follows; null before the first. */
  get head(): Place | null {
    return this.#head
  }

  /**
   * What a condensation behind a place, HEAD's where none is named, can take out: its branch since the last one, and
   * what that left. O(ids given).
   */
  inSight(from: Place | null = this.#head): Place[] {
    const found: Place[] = []
    let at = from
    for (; at !== null && at.left === null; at = at.before) found.push(at)
    return [...(at?.left ?? []), ...found.toReversed()]
  }

  /** Whether a call was said. */
  hasCall(id: string): boolean {
    return (this.#calls.get(id)?.id ?? null) !== null
  }

  /** Counts a record that gives no event of its own. */
  note(what: string, line: number): void {
    const known = this.#notes.get(what)
    if (known === undefined) this.#notes.set(what, { count: 1, line })
    else known.count += 1
  }

  notes(): SessionNote[] {
    return [...this.#notes].map(([what, { count, line }]) => ({ what, count, line }))
  }

  /** Keeps a record as it is, since nothing is known of it. */
  keep(record: SessionRecord | UnfitRecord, unknown: string): void {
    const { line, raw, value } = record
    const isUnfit = 'unfit' in record
    const what = isUnfit ? record.unfit : unknown
    const type = value === undefined && !isUnfit ? 'json_invalid' : 'unknown_record'
    this.facts.push({ line, fact: quarantine(raw, [{ loc: [], msg: `This is ${what}.`, type }], undefined) })
    this.note(what, line)
  }

  /** The objects of a list. What is none, and what stands for a list and is none, is kept as it is. O(list). */
  objectsIn(list: unknown, what: string, line: number): readonly Found[] {
    if (list === null || list === undefined) return []
    const all: readonly unknown[] = Array.isArray(list) ? list : []
    const strays = all === list ? all.filter((one) => !isObject(one)) : [list]
    for (const stray of strays)
      this.keep({ line, raw: JSON.stringify(stray), value: stray as JsonValue }, what)
    return objectsOf(strays.length === 0 ? list : all.filter(isObject))
  }

  /**
   * Adds an event, which becomes the log's own. Its type says that it is one (law E9), so that only what JSON can say
   * and no event can hold is looked for: it is kept in quarantine. Returns its id, or null for what is. O(what is new).
   */
  add(event: Unplaced, { line, id, time, after }: Origin): string | null {
    const placed: { -readonly [K in 'id' | 'timestamp' | 'parent_id']?: string } & Unplaced = event
    const own = this.#unused(id ?? `line-${line}`)
    placed.id = own
    if (typeof time === 'string' && isInstant(time)) placed.timestamp = time
    if (after !== undefined) placed.parent_id = after?.id ?? ROOT
    const issues = freezeNew(placed)
    if (issues.length > 0) {
      const fact = quarantine(JSON.stringify(placed), issues, placed as unknown as JsonValue)
      this.facts.push({ line, fact })
      this.note(`what is no ${event.kind}`, line)
      return null
    }
    const fact = placed as Event
    this.facts.push({ line, fact })
    if (fact.kind === 'ConversationStateUpdateEvent') return own
    this.#head = { id: own, line, event: fact, before: after === undefined ? this.#head : after, left: null }
    return own
  }

  /** Something that stands beside the conversation, under a key that names the format and the record. */
  update(key: string, value: JsonValue, origin: Origin): void {
    this.add({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value }, origin)
  }

  /** What a user or the environment says. Nothing is added where nothing is said. */
  say(source: MessageEvent['source'], content: readonly Content[], origin: Origin, name = ''): string | null {
    if (content.length === 0) {
      this.note('messages without content', origin.line)
      return null
    }
    const named = name === '' ? {} : { name }
    return this.add(
      { kind: 'MessageEvent', source, llm_message: { role: 'user', content, ...named } },
      origin,
    )
  }

  /**
   * A reply, as a reader gave it. `origins` has the place of each call in turn, or of the message; the first one
   * serves where there are fewer. An error that the reader adds to a call is left out where the file has the call's own
   * result.
   */
  reply(reply: Reply, origins: readonly Origin[], hasResult: HasResult): void {
    const [first] = origins
    if (first === undefined) return
    let at = 0
    let isPlaced = false
    const put = (event: Unplaced, { line, id, time, after }: Origin): string | null => {
      // Behind the first event of a reply, each follows the one before it.
      const place = isPlaced || after === undefined ? {} : { after }
      const own = this.add(event, { line, id, time, ...place })
      if (own !== null) isPlaced = true
      return own
    }
    for (const event of reply.events) {
      if (event.kind === 'ActionEvent') {
        const origin = origins[at] ?? { ...first, id: first.id === null ? null : `${first.id}.${at}` }
        at += 1
        const id = put(event, origin)
        if (id === null) continue
        const call = this.#call(event.tool_call_id)
        call.id = id
        call.tool = event.tool_name
        // Ids of calls are used again: this one has no result yet.
        call.result = null
      } else if (event.kind === 'MessageEvent') put(event, first)
      else if (!hasResult(event.tool_call_id)) {
        const last = origins[at - 1] ?? first
        const call = this.#calls.get(event.tool_call_id)?.id ?? null
        const named = event.kind === 'ObservationEvent' && call !== null ? { action_id: call } : {}
        put({ ...event, ...named }, { ...last, id: `${last.id ?? `line-${last.line}`}-result` })
      }
    }
  }

  /** The result of a call. One that says the same again is counted, and one of an unknown call kept as it is. */
  result({ callId, tool, content, isError }: Result, origin: Origin): void {
    const call = this.#call(callId)
    if (isAgain(call, content)) return this.note('written twice: a tool result', origin.line)
    this.add(
      {
        kind: 'ObservationEvent',
        source: 'environment',
        tool_name: call.tool ?? tool ?? 'unknown',
        tool_call_id: callId,
        action_id: call.id ?? callId,
        observation: { kind: 'ToolObservation', content, is_error: isError },
      },
      origin,
    )
  }

  /** A call that its user refused. The same refusal is counted the second time. */
  reject(callId: string, reason: string, origin: Origin): void {
    const call = this.#call(callId)
    if (isAgain(call, [{ type: 'text', text: reason }]))
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

  /** A call that could not be run. The same error is counted the second time. */
  fail(callId: string, error: string, origin: Origin): void {
    const call = this.#call(callId)
    if (isAgain(call, [{ type: 'text', text: error }]))
      return this.note('written twice: an error of a call', origin.line)
    const tool_name = call.tool ?? 'unknown'
    this.add({ kind: 'AgentErrorEvent', source: 'agent', tool_name, tool_call_id: callId, error }, origin)
  }

  /**
   * Takes events out of the model's sight, all of them but those to be kept; `summary` stands in front of what is left,
   * or at its end. What is in sight is what stands behind `origin.after`, where that is given. O(events in sight).
   */
  condense(
    kept: ReadonlySet<string>,
    summary: string,
    origin: Origin,
    where: 'front' | 'end' = 'front',
  ): void {
    const sight = this.inSight(origin.after)
    const isSaid = summary.trim() !== ''
    const left = sight.filter((one) => kept.has(one.id))
    const offset = where === 'front' ? 0 : left.filter(isSeen).length
    // What a file calls as a summary is called counts once.
    const forgotten = new Set<string>()
    for (const one of sight) if (!kept.has(one.id)) forgotten.add(one.id)
    const id = this.add(
      {
        kind: 'Condensation',
        source: 'environment',
        llm_response_id: `condensation-${origin.id ?? origin.line}`,
        forgotten_event_ids: [...forgotten],
        ...(isSaid ? { summary, summary_offset: offset } : {}),
      },
      origin,
    )
    const said: Place = { id: `${id}-summary`, line: origin.line, event: null, before: null, left: null }
    const all = where === 'front' ? [said, ...left] : [...left, said]
    if (id !== null && this.#head !== null) this.#head.left = isSaid ? all : left
  }

  /** Goes back to an event, null for before the first: what comes next follows it. */
  goBack(to: Place | null, origin: Origin): void {
    this.update('leaf_event_id', to?.id ?? null, origin)
    this.#head = to
  }

  #call(id: string): KnownCall {
    const known = this.#calls.get(id)
    if (known !== undefined) return known
    const call = { id: null, tool: null, result: null }
    this.#calls.set(id, call)
    return call
  }

  /** The id as it is, or with a number where it is taken or none that an event can have. */
  #unused(id: string): string {
    const base = isLegalId(id) ? id : 'event'
    const count = this.#ids.size
    if (this.#ids.add(base).size > count) return base
    // What is cut may end in half a character, and is then none.
    const cut = `${base.slice(0, 180)}~`
    const stem = isLegalId(cut) ? cut : `${base.slice(0, 179)}~`
    let no = this.#next.get(stem) ?? 2
    while (this.#ids.has(`${stem}${no}`)) no += 1
    this.#next.set(stem, no + 1)
    this.#ids.add(`${stem}${no}`)
    return `${stem}${no}`
  }
}
