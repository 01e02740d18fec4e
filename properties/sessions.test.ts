/** E9: sessions of other agents, read as logs. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { pathTo, replay, viewEvents } from '../src/index.ts'
import { decodeEvent, type Event, type Fact, isQuarantined, type JsonValue } from '../src/event/index.ts'
import { readSession, type SessionFormat } from '../src/sessions/index.ts'
import { textIn } from '../src/sessions/content.ts'
import { checkGrammars } from './checks/messages.ts'
import { jsonValue } from '../src/testing/json.ts'
import { hold, same, total } from '../src/testing/failure.ts'
import { always, RUNS } from './run.ts'
import * as agents from './sessions/agents.ts'
import * as arrays from './sessions/arrays.ts'
import { geminiCli } from './sessions/gemini.ts'
import { recordsOf } from './sessions/lines.ts'
import {
  type Features,
  type ScriptItem,
  branchItems,
  viewItems,
  script,
  type Script,
} from './sessions/script.ts'
import { Tally } from './tally.ts'

interface Form {
  readonly name: string
  readonly format: SessionFormat
  readonly can: Features
  readonly write: (all: Script) => unknown[]
  readonly recordsErrors: boolean
  /** Whether a summary is recorded as a user message. */
  readonly summaryIsUser?: boolean
}

const WHOLE = { back: true, compact: true }
const NEITHER = { back: false, compact: false }

const FORMS: readonly Form[] = [
  {
    name: 'Claude Code',
    format: 'claude-code',
    can: { ...WHOLE, keep: true },
    write: agents.claudeCode,
    recordsErrors: true,
  },
  { name: 'Codex CLI', format: 'codex', can: WHOLE, write: agents.codex, recordsErrors: false },
  { name: 'pi 3', format: 'pi', can: WHOLE, write: (all) => agents.pi(all, 3), recordsErrors: true },
  {
    name: 'pi 1',
    format: 'pi',
    can: { back: false, compact: true },
    write: (all) => agents.pi(all, 1),
    recordsErrors: true,
  },
  {
    name: 'Gemini CLI, lines',
    format: 'gemini-cli',
    can: { back: true, compact: false },
    write: (all) => geminiCli(all, true),
    recordsErrors: true,
  },
  {
    name: 'Gemini CLI, rewritten histories',
    format: 'gemini-cli',
    can: { back: false, compact: true },
    write: (all) => geminiCli(all, true),
    recordsErrors: true,
    summaryIsUser: true,
  },
  {
    name: 'Gemini CLI, one object',
    format: 'gemini-cli',
    can: NEITHER,
    write: (all) => geminiCli(all, false),
    recordsErrors: true,
  },
  { name: 'ATIF', format: 'atif', can: NEITHER, write: agents.atif, recordsErrors: true },
  { name: 'Anthropic', format: 'anthropic', can: NEITHER, write: arrays.anthropic, recordsErrors: true },
  {
    name: 'OpenAI Chat',
    format: 'openai-chat',
    can: NEITHER,
    write: arrays.openaiChat,
    recordsErrors: false,
  },
  {
    name: 'OpenAI Responses',
    format: 'openai-responses',
    can: NEITHER,
    write: arrays.openaiResponses,
    recordsErrors: false,
  },
  {
    name: 'UI messages 5',
    format: 'ui-messages',
    can: NEITHER,
    write: (all) => arrays.uiMessages(all, 5),
    recordsErrors: true,
  },
  {
    name: 'UI messages 4',
    format: 'ui-messages',
    can: NEITHER,
    write: (all) => arrays.uiMessages(all, 4),
    recordsErrors: false,
  },
]

function itemsOf(event: Event): ScriptItem[] {
  switch (event.kind) {
    case 'MessageEvent':
      return [[event.source === 'agent' ? 'agent' : 'user', textIn(event.llm_message.content ?? [])]]
    case 'ActionEvent': {
      const call: ScriptItem = ['call', event.tool_name, event.tool_call.arguments]
      const text = textIn(event.thought)
      return text === '' ? [call] : [['agent', text], call]
    }
    case 'ObservationEvent':
      return [['result', textIn(event.observation.content ?? []), event.observation.is_error === true]]
    case 'Condensation':
    case 'CondensationSummaryEvent':
      return typeof event.summary === 'string' ? [['summary', event.summary]] : []
    default:
      return []
  }
}

/** Inserted by the Codex client. */
const isInjected = (event: Event): boolean => event.kind === 'MessageEvent' && event.source === 'environment'

const read = (events: readonly Event[]): ScriptItem[] =>
  events.filter((event) => !isInjected(event)).flatMap(itemsOf)

/** Drops distinctions that the format cannot express. */
const plain = (messages: readonly ScriptItem[], { recordsErrors, summaryIsUser }: Form): ScriptItem[] =>
  messages.map((one) => {
    if (one[0] === 'result' && !recordsErrors) return ['result', one[1], false]
    return one[0] === 'summary' && summaryIsUser === true ? ['user', one[1]] : one
  })

type Occurrence = 'went_back' | 'compacted' | 'kept' | 'many_calls' | 'failed' | 'thought'

function occurredIn(all: Script): Occurrence[] {
  const has = (some: (turn: Script[number]) => boolean, name: Occurrence): Occurrence[] =>
    all.some(some) ? [name] : []
  return [
    ...has(({ back }) => back > 0, 'went_back'),
    ...has(({ compacted }) => compacted !== null, 'compacted'),
    ...has(({ keeps }) => keeps === true, 'kept'),
    ...has((turn) => turn.replies.some((reply) => reply.calls.length > 1), 'many_calls'),
    ...has(({ replies }) => replies.some(({ calls }) => calls.some(({ isError }) => isError)), 'failed'),
    ...has(({ replies }) => replies.some(({ thinking }) => thinking !== null), 'thought'),
  ]
}

describe('E9, sessions of other agents', () => {
  for (const form of FORMS) {
    const { name, format, can, write: lines } = form
    it(`E9: a session of ${name} is read completely, and is valid in every grammar`, () => {
      const tally = new Tally<Occurrence>()
      always(
        script(can),
        (all) => {
          tally.count(occurredIn(all))
          const records = recordsOf(lines(all))
          // Messages with only text fit two grammars.
          const options = name === 'Anthropic' || name.startsWith('OpenAI') ? { from: format } : {}
          const session = readSession(records, options)
          same('E9', 'the format', session.format, format)
          same('E9', 'reading again', readSession(records, options), session)
          const facts = session.facts.map(({ fact }) => fact)
          same('E9', 'quarantined lines', facts.filter(isQuarantined), [])
          same('E9', 'invalid events', facts.filter(isNoEvent), [])
          const ids = facts.map(({ id }) => id)
          hold('E9', new Set(ids).size === ids.length, 'an id is repeated')
          const state = replay(facts)
          const path = pathTo(state).flatMap(({ event }) => (event === null ? [] : [event]))
          same('E9', 'the branch', read(path), plain(branchItems(all), form))
          const seen = [...viewEvents(state)].flatMap(({ event }) => (event === null ? [] : [event]))
          const view = read(seen)
          same('E9', 'the view', view, plain(viewItems(all), form))
          checkGrammars(facts)
        },
        RUNS / 8,
      )
      tally.require([
        'many_calls',
        'failed',
        'thought',
        ...(can.back ? ['went_back' as const] : []),
        ...(can.compact ? ['compacted' as const] : []),
        ...(can.keep === true ? ['kept' as const] : []),
      ])
    })
  }

  it('E9: a damaged session file is read without an error, and its requests are valid', () => {
    const form = fc.constantFrom(...FORMS)
    const cut = fc.record({
      index: fc.nat(),
      how: fc.constantFrom('drop', 'twice', 'swap', 'garble'),
      value: jsonValue,
      path: fc.array(fc.nat(), { maxLength: 5 }),
    })
    const input = form.chain((one) =>
      fc.tuple(fc.constant(one), script(one.can), fc.array(cut, { minLength: 1, maxLength: 5 })),
    )
    always(
      input,
      ([{ format, write: lines }, all, cuts]) => {
        const values = cuts.reduce<unknown[]>(damaged, lines(all))
        const session = total('E9', 'readSession', () => readSession(recordsOf(values), { from: format }))
        const facts = session.facts.map(({ fact }) => fact)
        same('E9', 'invalid events', facts.filter(isNoEvent), [])
        // Signed parts stay in place, so a thought need not lead its reply.
        checkGrammars(facts, ['thinking-first'])
      },
      RUNS / 4,
    )
  })

  it.each(FORMS)('E9: reading a session of $name has a constant cost per value', (form) => {
    const reads = (turns: number): number =>
      readsPerValue(form.write(longScript(turns, form.can)), form.format)
    const [short, long] = [reads(20), reads(60)]
    hold('E9', long <= short * 1.1, () => `${long} reads of a value, but ${short} in a short session`)
  })
})

/** Readers rely on types alone, without decoding. */
const isNoEvent = (fact: Fact): boolean => !isQuarantined(fact) && !decodeEvent(fact).ok

function longScript(turns: number, can: Features): Script {
  const call = { name: 'bash', input: { command: 'ls' }, result: 'a', isError: false }
  return Array.from({ length: turns }, (_, index) => ({
    back: can.back && index % 5 === 4 ? 1 : 0,
    user: `question ${index}`,
    replies: [
      { thinking: 'so', text: `look ${index}`, calls: [call, call] },
      { thinking: null, text: `answer ${index}`, calls: [] },
    ],
    compacted: can.compact && index % 5 === 2 ? `summary ${index}` : null,
    keeps: can.keep === true,
    drift: [true, false, true, false, true, false, true, false],
  }))
}

/** Property reads per value while a file is parsed. */
function readsPerValue(values: readonly unknown[], from: SessionFormat): number {
  let reads = 0
  let current = 0
  const watch = (value: unknown): unknown => {
    current += 1
    if (typeof value !== 'object' || value === null) return value
    const inner = Array.isArray(value)
      ? value.map(watch)
      : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, watch(item)]))
    return new Proxy(inner as object, {
      get: (target, key, receiver): unknown => {
        reads += 1
        return Reflect.get(target, key, receiver)
      },
    })
  }
  const records = recordsOf(values).map((one) => ({ ...one, value: watch(one.value) as JsonValue }))
  const { facts } = readSession(records, { from })
  hold('E9', !facts.some(({ fact }) => isQuarantined(fact)), 'a line is quarantined')
  return reads / current
}

interface Cut {
  readonly index: number
  readonly how: string
  readonly value: JsonValue
  readonly path: readonly number[]
}

/** With a line removed, duplicated, moved or changed. */
function damaged(values: unknown[], { index: offset, how, value, path }: Cut): unknown[] {
  if (values.length === 0) return values
  const position = offset % values.length
  const one = values[position]
  const others = values.filter((_, index) => index !== position)
  if (how === 'drop' && values.length > 1) return others
  if (how === 'twice') return [...values.slice(0, position), one, ...values.slice(position)]
  if (how === 'swap') return [...others, one]
  return values.with(position, replaced(one, path, value))
}

function replaced(inside: unknown, [first, ...rest]: readonly number[], value: JsonValue): unknown {
  if (first === undefined || typeof inside !== 'object' || inside === null) return value
  const keys = Object.keys(inside)
  const key = keys[first % Math.max(1, keys.length)]
  if (key === undefined) return value
  const changed = replaced((inside as Record<string, unknown>)[key], rest, value)
  return Array.isArray(inside) ? inside.with(Number(key), changed) : { ...inside, [key]: changed }
}
