/** Writes hostile logs from steps; the same steps always give the same log, so that shrinking works. */

import { deriveEventId, ROOT } from '../event/ids.ts'
import type { Fact, Quarantined } from '../event/quarantine.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { Event, EventOf } from '../event/types.ts'
import { frozen } from './event.ts'

interface Written {
  readonly facts: Fact[]
  /** The id of each fact, derived ones included; null for a line without one. */
  readonly ids: (string | null)[]
  readonly calls: { readonly index: number; readonly callId: string; readonly response: string }[]
  readonly ended: Set<number>
}

/** Writes the facts of the steps. Total: a step without a target uses an unknown id. */
export function writeHostileLog(steps: readonly Step[]): readonly Fact[] {
  const written: Written = { facts: [], ids: [], calls: [], ended: new Set() }
  for (const { placing, saying } of steps) {
    const fact = frozen(
      saying.say === 'broken'
        ? broken(written, placing, saying)
        : { ...eventOf(written, saying), ...placed(written, placing) },
    )
    const index = written.facts.length
    written.facts.push(fact)
    written.ids.push(fact.id ?? ('quarantined' in fact ? null : deriveEventId('', index, fact)))
    if ('kind' in fact && fact.kind === 'ActionEvent') {
      written.calls.push({ index: index, callId: fact.tool_call_id, response: fact.llm_response_id })
    }
  }
  return written.facts
}

function position(written: Written, ref: Ref): number | null {
  if (ref.to === 'text') return null
  if (ref.to === 'back')
    return written.facts.length === 0 ? null : (written.facts.length - 1 - ref.n + 512) % written.facts.length
  const calls =
    ref.to === 'call' ? written.calls : written.calls.filter((call) => !written.ended.has(call.index))
  return calls.at(-1 - (ref.n % Math.max(1, calls.length)))?.index ?? null
}

function idOf(written: Written, ref: Ref): string {
  if (ref.to === 'text') return ref.text
  const index = position(written, ref)
  const id = (index === null ? null : written.ids[index]) ?? 'nowhere'
  return ref.summary === true ? `${id}-summary` : id
}

function askedAt(written: Written, requested: Asked): string | true | null | 7 {
  if (requested === 'later') return `e${written.facts.length + 1}`
  return requested === null || requested === true || requested === 7 ? requested : idOf(written, requested)
}

const recordOf = (
  written: Written,
  { after, end }: { readonly after?: Asked; readonly end?: JsonObject },
): JsonObject => ({ ...(after === undefined ? {} : { after: askedAt(written, after) }), ...end })

function placed(written: Written, placing: Placing): Pick<Event, 'id' | 'timestamp' | 'parent_id'> {
  const index = written.facts.length
  const { id, parent, time } = placing
  const ownId =
    id.as === 'fresh' ? `e${index}` : id.as === 'ref' ? idOf(written, id.ref).slice(0, 200) : undefined
  return {
    ...(ownId === undefined ? {} : { id: ownId }),
    ...timeOf(index, time),
    ...(parent.as === 'absent' ? {} : { parent_id: parentOf(written, parent, ownId ?? 'self') }),
  }
}

function timeOf(timestamp: number, time: Placing['time']): { readonly timestamp?: string } {
  if (time === 'absent') return {}
  if (time === 'unreadable') return { timestamp: '2026-13-01T00:00:00Z' }
  const second = time === 'next' ? timestamp : time === 'same' ? 0 : 120 - timestamp
  const clock = `${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}`
  return { timestamp: `2026-01-01T00:${clock}Z` }
}

function parentOf(written: Written, parent: Placing['parent'], ownValue: string): string | null {
  if (parent.as === 'null') return null
  if (parent.as === 'root') return ROOT
  if (parent.as === 'self') return ownValue
  if (parent.as === 'ref') return idOf(written, parent.ref)
  return `e${written.facts.length + 2}`
}

function eventOf(written: Written, saying: Exclude<Saying, { readonly say: 'broken' }>): Event {
  switch (saying.say) {
    case 'event':
      return saying.body
    case 'call': {
      const { body, response, callId } = saying
      const id = callId.as === 'fresh' ? `c${written.facts.length}` : callId.text
      return {
        ...body,
        tool_call_id: id,
        tool_call: {
          ...body.tool_call,
          // A provider's id of a call may differ from the id in the log.
          ...(callId.as === 'fresh' && { id }),
          ...(saying.after === undefined && saying.end === undefined
            ? {}
            : { reply: recordOf(written, saying) }),
        },
        llm_response_id:
          response.as === 'text'
            ? response.text
            : ((response.as === 'same' ? written.calls.at(-1)?.response : undefined) ??
              `r${written.facts.length}`),
      }
    }
    case 'reply': {
      const { body } = saying
      const reply = recordOf(written, saying)
      return { ...body, llm_message: { ...body.llm_message, reply } as typeof body.llm_message }
    }
    case 'result': {
      const index = position(written, saying.call)
      if (index !== null) written.ended.add(index)
      const call = written.calls.find((each) => each.index === index)
      const link = { ...saying.body, tool_call_id: saying.callId ?? call?.callId ?? 'c-none' }
      if (link.kind === 'AgentErrorEvent') return link
      const actionId =
        saying.names === 'call'
          ? idOf(written, saying.call)
          : saying.names === 'other'
            ? idOf(written, saying.other)
            : 'nothing'
      return { ...link, action_id: actionId }
    }
    case 'completion': {
      const completes = { action_id: idOf(written, saying.call), ...saying.field }
      const llm_message = {
        role: 'user',
        content: [{ type: 'text', text: 'it is done' }],
        completes,
      } as const
      return { kind: 'MessageEvent', source: 'environment', llm_message }
    }
    case 'progress': {
      const value = { action_id: idOf(written, saying.call), ...saying.field }
      return { kind: 'ConversationStateUpdateEvent', source: 'environment', key: 'call_progress', value }
    }
    case 'condensation':
      return {
        ...saying.body,
        forgotten_event_ids: [...new Set(saying.list.map((ref) => idOf(written, ref)))],
      }
    case 'head': {
      const { value } = saying
      const head = { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id' } as const
      if (value === 'absent') return head
      return { ...head, value: typeof value === 'object' && value !== null ? idOf(written, value) : value }
    }
  }
}

/** A line in quarantine, with its id and parent if readable (design D16). */
function broken(
  written: Written,
  placing: Placing,
  line: Extract<Saying, { readonly say: 'broken' }>,
): Quarantined {
  const { id, parent_id } = placed(written, placing)
  return {
    quarantined: true,
    raw: line.raw,
    issues: [{ loc: ['kind'], msg: 'Unknown kind of event', type: 'union_tag_invalid' }],
    ...(line.readable && id !== undefined ? { id, ...(parent_id === undefined ? {} : { parent_id }) } : {}),
    ...(line.kind === null ? {} : { event_kind: line.kind }),
  }
}

export type Ref =
  | { readonly to: 'back' | 'call' | 'open'; readonly n: number; readonly summary?: boolean }
  | { readonly to: 'text'; readonly text: string }

/** The event that a reply recorded: a reference, its parent, a later one, nothing, or an unreadable value. */
export type Asked = Ref | 'later' | true | null | 7

/** Nearly always the defaults: one anomaly at a time shows its effect. */
export interface Placing {
  readonly id: { readonly as: 'fresh' | 'absent' } | { readonly as: 'ref'; readonly ref: Ref }
  readonly parent:
    | { readonly as: 'absent' | 'null' | 'root' | 'self' | 'later' }
    | { readonly as: 'ref'; readonly ref: Ref }
  readonly time: 'next' | 'absent' | 'same' | 'earlier' | 'unreadable'
}

export type Saying =
  | { readonly say: 'event'; readonly body: Event }
  | {
      readonly say: 'call'
      readonly body: EventOf<'ActionEvent'>
      readonly response: { readonly as: 'same' | 'fresh' } | { readonly as: 'text'; readonly text: string }
      readonly callId: { readonly as: 'fresh' } | { readonly as: 'text'; readonly text: string }
      readonly after?: Asked
      readonly end?: JsonObject
    }
  | {
      readonly say: 'reply'
      readonly body: EventOf<'MessageEvent'>
      readonly after: Asked
      readonly end: JsonObject
    }
  | {
      readonly say: 'result'
      readonly body:
        | EventOf<'ObservationEvent'>
        | EventOf<'UserRejectObservation'>
        | EventOf<'AgentErrorEvent'>
      readonly call: Ref
      readonly names: 'call' | 'nothing' | 'other'
      readonly other: Ref
      readonly callId: string | null
    }
  | {
      /** Completes a call, or reports progress; `field`: the completion's other fields, valid or not. */
      readonly say: 'completion' | 'progress'
      readonly call: Ref
      readonly field: JsonObject
    }
  | { readonly say: 'condensation'; readonly body: EventOf<'Condensation'>; readonly list: readonly Ref[] }
  | { readonly say: 'head'; readonly value: Ref | null | 7 | 'absent' }
  | {
      readonly say: 'broken'
      readonly readable: boolean
      readonly kind: string | null
      readonly raw: string
    }

export interface Step {
  readonly placing: Placing
  readonly saying: Saying
}
