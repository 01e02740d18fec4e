/** M11, M12: replies are written back as read, or without signed parts if their past has changed. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { grammarNamed } from '../src/messages/grammars.ts'
import type { ActionEvent, Event } from '../src/event/types.ts'
import type { NeutralMessage } from '../src/messages/message.ts'
import { NO_SIGNATURE } from '../src/messages/reply-parts.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { NO_ANSWER } from '../src/messages/phrases.ts'
import { requestRecord } from '../src/messages/prefix.ts'
import type { ReadOptions } from '../src/messages/reply.ts'
import { reduce, replay } from '../src/state/reduce.ts'
import { decodeEvent } from '../src/event/decode.ts'
import { jsonValue } from '../src/testing/json.ts'
import { GRAMMARS } from '../test/messages/grammars.ts'
import { always, COSTLY_RUNS, RUNS } from './run.ts'
import { type ReplyWire, type Occurrence, REPLY_WIRES } from './replies/wires.ts'
import { Tally } from './tally.ts'

const BEFORE: readonly Event[] = [
  { kind: 'SystemPromptEvent', id: 'p', system_prompt: { text: 'Be brief.' }, tools: [] },
  {
    kind: 'MessageEvent',
    id: 'u',
    source: 'user',
    llm_message: { role: 'user', content: [{ text: 'Hi.' }] },
  },
]

const TOOLS = [{ name: 'ls' }, { name: 'file_editor', action_type: 'EditAction' }, { name: 'computer' }]

function requests({ write }: ReplyWire): ReadOptions {
  const state = replay(BEFORE)
  return { state, request: write(toMessages(state)), tools: TOOLS }
}

/** Decodes the events from JSON, as a store does. */
function behind(events: readonly Event[]) {
  let state = replay(BEFORE)
  for (const [index, event] of events.entries()) {
    const decoded = decodeEvent(JSON.parse(JSON.stringify({ id: `r${index}`, ...event })))
    if (!decoded.ok) throw new Error(`invalid event: ${JSON.stringify(decoded.issues)}`)
    state = reduce(state, decoded.event)
  }
  return state
}

const shown = (events: readonly Event[]): Event[] =>
  events.flatMap((event, index): Event[] => {
    if (event.kind !== 'ActionEvent' || event.action === null || event.tool_name !== 'computer') return []
    const content = [{ image_urls: ['data:image/png;base64,iVBORw0KGgoA'] }]
    const { tool_name, tool_call_id } = event
    const observation = { kind: 'ScreenObservation', content }
    return [{ kind: 'ObservationEvent', tool_name, tool_call_id, action_id: `r${index}`, observation }]
  })

/** Excludes rules that the provider breaks itself. */
const violations = (messages: readonly NeutralMessage[], allowed: readonly string[]) =>
  Object.values(GRAMMARS)
    .flatMap(({ write, validate }) => validate(write(messages)))
    .filter(({ rule }) => !allowed.includes(rule))

/** What a provider may send in a reply that ends after any of its blocks. */
function allowedInParts(wire: ReplyWire, reply: object): readonly string[] {
  const { content } = reply as { readonly content?: unknown }
  if (!Array.isArray(content)) return wire.allowed(reply)
  return content.flatMap((_, index) => wire.allowed({ ...reply, content: content.slice(0, index + 1) }))
}

/** Replaces what the model saw. */
const OTHER: NeutralMessage = { role: 'user', content: [{ text: 'Hello.' }], name: null }

/** Signed by the provider or by a router. */
function signedIn(request: object): readonly unknown[] {
  const grammar = requestRecord(request)?.grammar ?? ''
  if (grammar !== 'openai-chat')
    return grammarNamed(grammar)
      .sight.see(request)
      .blocks.filter(({ token }) => token !== null)
  return (request as readonly object[]).filter((message) => 'reasoning_details' in message)
}

type SentPart = Readonly<Record<string, unknown>>

/** Excludes the placeholder for Google's signature. */
const isThought = ({ type, thought, signature, reasoningContent }: SentPart): boolean =>
  reasoningContent !== undefined ||
  thought === true ||
  (['thinking', 'redacted_thinking', 'reasoning', 'thought'].includes(String(type)) &&
    signature !== NO_SIGNATURE)

/** The parts that remain when HEAD is at one of the calls. */
function upToCall(
  parts: readonly SentPart[],
  isCall: (part: SentPart) => boolean,
  stored: number,
): { readonly before: readonly SentPart[]; readonly behind: readonly SentPart[] } {
  const [message] = parts
  if (Array.isArray(message?.['tool_calls']))
    return { before: [{ ...message, tool_calls: message['tool_calls'].slice(0, stored) }], behind: [] }
  const positions = parts.flatMap((part, index) => (isCall(part) ? [index] : []))
  const end = (positions[stored - 1] ?? -1) + 1
  return {
    before: parts.slice(0, end),
    behind: parts.slice(end).filter((part) => !isCall(part) && !isThought(part) && !isFixed(part)),
  }
}

/** The sentence that follows thinking at the end is not the reply's. */
const isFixed = ({ text }: SentPart): boolean => text === NO_ANSWER

const isText = ({ text, type }: SentPart): boolean => text !== undefined || type === 'message'

/** Removes blank texts of outputs, which are sent only before signed parts. */
const withoutBlanks = (part: SentPart): readonly SentPart[] => {
  if (part['type'] !== 'model_output') return [part]
  const content = (part['content'] as readonly SentPart[]).filter(
    (one) => !isText(one) || textsOf(one).length > 0,
  )
  return content.length === 0 ? [] : [{ ...part, content }]
}

const textsOf = ({ text, content }: SentPart): readonly string[] =>
  ([text ?? content].flat() as readonly unknown[])
    .map((one) =>
      typeof one === 'object' ? ((one as SentPart)['text'] ?? (one as SentPart)['refusal']) : one,
    )
    .filter((one): one is string => typeof one === 'string' && one.trim() !== '')

/** A signature after a call is bound to it. */
const isBound = ({ type, text, ...part }: SentPart): boolean =>
  text === undefined &&
  type !== 'message' &&
  /"(?:encrypted_content|providerOptions|thoughtSignature)"/.test(JSON.stringify(part))

const storedText = (events: readonly Event[]): string =>
  events
    .flatMap((event) =>
      event.kind === 'MessageEvent'
        ? (event.llm_message.content ?? [])
        : event.kind === 'ActionEvent'
          ? event.thought
          : [],
    )
    .map((part) => ('text' in part ? String(part.text) : ''))
    .join('')

const hasResult = ({ tool_call_id }: ActionEvent, events: readonly Event[]): boolean =>
  events.some((event) => event.kind === 'ObservationEvent' && event.tool_call_id === tool_call_id)

/** All signatures and encrypted values, however deep. Routers name these `data`, as is audio, which is not sent. */
function signaturesIn(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'audio') return []
    return /signature|encrypted_?content|^data$/i.test(key) && inner ? [inner] : signaturesIn(inner)
  })
}

const closing = { pending: { close: 'It was not run.' } } as const

describe.each(Object.entries(REPLY_WIRES))('M11 and M12, a reply of %s', (_, wire) => {
  it('is written unchanged, valid in all grammars, and without signed parts after a changed past', () => {
    let signed = 0
    const tally = new Tally<Occurrence>()
    const check = (reply: object): void => {
      const options = requests(wire)
      const { events } = wire.read(reply, options)
      const messages = toMessages(behind([...events, ...shown(events)]), closing)
      const written = wire.replyIn(wire.write(messages))
      const expected = wire.expected(reply)
      expect(written.slice(0, expected.length)).toEqual(expected)
      expect(violations(messages, wire.allowed(reply))).toEqual([])
      signed += signedIn(wire.write(messages)).length
      expect(signedIn(wire.write(messages.with(BEFORE.length - 1, OTHER)))).toEqual([])
      tally.count(wire.occurred(reply))
    }
    always(wire.reply, check, RUNS / 2)
    expect(signed > 0).toBe(wire.occurs.includes('signed'))
    tally.require(wire.occurs)
  })

  it('loses only its later calls and the thinking before them if HEAD is at one of its calls', () => {
    let cuts = 0
    always(
      wire.reply,
      (reply) => {
        const { events } = wire.read(reply, requests(wire))
        const request = (all: readonly Event[]): object => {
          const messages = toMessages(behind(all), closing)
          expect(violations(messages, wire.allowed(reply))).toEqual([])
          return wire.write(messages)
        }
        const ids: ReadonlySet<unknown> = new Set(
          events.flatMap((event) => (event.kind === 'ActionEvent' ? [event.tool_call_id] : [])),
        )
        const isCall = ({ functionCall, call_id, toolCallId, id, toolUse }: SentPart): boolean =>
          functionCall !== undefined ||
          ids.has(call_id ?? toolCallId ?? id ?? (toolUse as SentPart | undefined)?.['toolUseId'])
        const written = request(events)
        // Nothing signed is sent in an order that the provider would reject.
        if (requestRecord(written)?.leftOut.length !== 0) return
        const whole = wire.replyIn(written) as SentPart[]
        for (let stored = 1; stored < ids.size; stored += 1) {
          const { before, behind: rest } = upToCall(whole.flatMap(withoutBlanks), isCall, stored)
          const cut = (wire.replyIn(request(events.slice(0, stored))) as SentPart[]).flatMap(withoutBlanks)
          const sent = JSON.stringify(cut)
          for (const part of before.filter((one) => textsOf(one).length > 0 || !isText(one)))
            expect(cut).toContainEqual(part)
          for (const text of rest.filter((one) => !isBound(one)).flatMap(textsOf))
            expect(sent).toContain(JSON.stringify(text).slice(1, -1))
          for (const part of rest.filter(
            (one) => one['text'] === undefined && one['type'] !== 'message' && !isBound(one),
          ))
            expect(cut).toContainEqual(part)
          expect(cut.filter((part) => isCall(part) || isThought(part))).toHaveLength(
            before.filter((part) => isCall(part) || isThought(part)).length,
          )
          cuts += 1
        }
      },
      Math.max(50, RUNS / 2),
    )
    expect(cuts).toBeGreaterThan(5)
  })

  it('is the same whole and in any division of its stream, and its deltas add up to its text', () => {
    always(
      fc.tuple(wire.reply, fc.infiniteStream(fc.integer({ min: 1, max: 6 }))),
      ([reply, cuts]) => {
        const collector = wire.collect(requests(wire))
        const stream = wire.stream(reply, () => cuts.next().value as number)
        const deltas = stream.flatMap((event) => collector.push(JSON.parse(JSON.stringify(event)) as object))
        expect(collector.end()).toEqual(wire.read(reply, requests(wire)))
        expect(deltas.map(({ content }) => content ?? '').join('')).toBe(wire.text(reply))
      },
      COSTLY_RUNS,
    )
  })

  it('keeps its streamed text, executes no call and is valid if its stream breaks off', () => {
    let count = 0
    always(
      fc.tuple(wire.reply, fc.nat()),
      ([reply, nat]) => {
        const collector = wire.collect({})
        const stream = wire.stream(reply, () => 3)
        const deltas = stream
          .slice(0, nat % (stream.length - wire.ends))
          .flatMap((event) => collector.push(event))
        const { events, outcome } = collector.end()
        const text = deltas.map(({ content }) => content ?? '').join('')
        expect(outcome).toEqual({ type: 'broken_off', text: text })
        expect(wire.text(reply).startsWith(text)).toBe(true)
        // A whole item may have more text than was streamed.
        const stored = storedText(events)
        expect(stored.startsWith(text) || (stored === '' && text.trim() === '')).toBe(true)
        expect(wire.text(reply).startsWith(stored)).toBe(true)
        for (const event of events)
          if (event.kind === 'ActionEvent' && !hasResult(event, events)) expect(event.action).toBeNull()
        const signed = signaturesIn(wire.read(reply, {}).events)
        for (const signature of signaturesIn(events)) expect(signed).toContain(signature)
        expect(violations(toMessages(behind(events), closing), allowedInParts(wire, reply))).toEqual([])
        count += events.length
      },
      RUNS / 4,
    )
    expect(count).toBeGreaterThan(0)
  })

  it('is read without an error, and gives valid events, if it is damaged', () => {
    always(
      fc.tuple(wire.reply, fc.array(jsonValue, { maxLength: 4 }), fc.nat()),
      ([reply, values, nat]) => {
        const broken = wire.garble(reply, values, nat)
        const { events } = wire.read(broken as never, requests(wire))
        const messages = toMessages(behind(events), closing)
        expect(violations(messages, wire.allowed(reply))).toEqual([])
        const collector = wire.collect({})
        for (const value of [...values, ...wire.stream(reply, () => 2)]) collector.push(value as object)
        collector.end()
      },
      RUNS / 2,
    )
  })
})
