/** The simulated model and tools of a story, which follow the plan. */

import type { EarlyEnd, ReplyRecord } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import type { Reply as Reader, ReplyOutcome } from '../../src/messages/reply.ts'
import type { Step, StepInput, Yielded } from '../../src/conversation/run/step.ts'
import type { StepTool } from '../../src/steps/index.ts'
import { type ScriptedReply, type Part, recordOf, replyParts, type WireGrammar } from '../wire/reply.ts'
import { rawReply } from '../wire/raw.ts'
import { optionsOf, PARAMETERS, sendState, TOOL_NAMES } from '../wire/sent.ts'
import { same } from '../../src/testing/failure.ts'
import type { Cues, Fate, Machine } from './machine.ts'
import type { Plan, Reply, Tool } from './plan.ts'
import { builtInStep } from './built-in-steps.ts'
import type { Begin, Story } from './story.ts'

export const SECRET = 'the reply'

const NO_MODEL = 'the model is gone'
const NO_TOOL = 'the tool is broken'

export const THROWN: ReadonlySet<string> = new Set([NO_MODEL, NO_TOOL])

export const FORBIDDEN = 'forbidden'

const message = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
})

export const soFar = (number: number): string => `${SECRET} ${number}, so far`

const known = (event: Event, tool: Tool, response: string): Event =>
  event.kind !== 'ActionEvent'
    ? event
    : {
        ...event,
        llm_response_id: response,
        action: tool === 'odd' ? null : { kind: `${tool}Action` },
        security_risk: tool === 'risky' ? 'HIGH' : 'LOW',
      }

type ReportedEnd = Exclude<EarlyEnd, 'broken_off' | 'failed'>

/** The early end is included only if the step reports it. */
function report(
  { end, isReported }: { end: ReportedEnd | null; isReported: boolean },
  events: readonly Event[],
): Yielded {
  if (!isReported) return events
  if (end === null) return { events: events as Reader['events'], outcome: { type: 'done' } }
  const outcome: ReplyOutcome =
    end === 'paused'
      ? { type: end }
      : end === 'refused'
        ? { type: end, explanation: 'no' }
        : { type: end, reason: 'stop' }
  return { events: events as Reader['events'], outcome }
}

const result = (id: string, of: { id: string; tool: string; call: string }): Event => ({
  kind: 'ObservationEvent',
  id,
  tool_name: of.tool,
  tool_call_id: of.call,
  action_id: of.id,
  observation: { kind: `${of.tool}Observation`, content: [{ type: 'text', text: 'done' }] },
})

/** Whether a provider could return this reply to a built-in step. */
const isRaw = (reply: Reply, grammar: WireGrammar): boolean => {
  if (reply.say === 'error' || reply.say === 'silence') return true
  if (reply.say !== 'text' && reply.say !== 'calls') return false
  const isWhole = reply.say === 'text' ? reply.pieces === 1 : !reply.split && !reply.two
  if (!isWhole || (reply.end !== null && reply.end !== 'truncated' && reply.end !== 'paused')) return false
  return reply.end !== 'paused' || grammar === 'anthropic'
}

/** Numbered by step, to recognize them in the log. */
const numbered = (number: number, yielded: Yielded, from: number): Yielded => {
  const name = (event: Event, index: number): Event => ({ ...event, id: `${number}.${from + index}` })
  if (Array.isArray(yielded)) return yielded.map(name)
  const one = yielded as Event | Reader
  if ('kind' in one) return one.kind === 'StreamingDeltaEvent' ? one : name(one, 0)
  return { ...one, events: one.events.map(name) as Reader['events'] }
}

const forever = (): Promise<never> => new Promise(() => undefined)

const PLAIN: Reply = { say: 'text', pieces: 1, thoughts: [], end: null, isReported: false }

export const isRepeatable = ({ tool_name }: { readonly tool_name: string }): boolean => tool_name === 'safe'

/** Only `safe` is repeatable. */
const toolsWith = (execute: () => Promise<string>): StepTool[] =>
  TOOL_NAMES.map((name) => ({
    name,
    description: '',
    parameters: PARAMETERS,
    execute,
    repeatable: isRepeatable({ tool_name: name }),
  }))

const partOf = (request: object): object => {
  const { system, messages, instructions, input, contents } = request as Readonly<Record<string, unknown>>
  return { system, messages, instructions, input, contents }
}

/** Some grammars write a bare list of messages. */
const asRequest = (request: object): object => (Array.isArray(request) ? { messages: request } : request)

export class StepSimulator {
  readonly #fate: Fate
  readonly #cues: Cues
  readonly #story: Story
  readonly #grammar: WireGrammar
  readonly #replies: Reply[]
  readonly #outcomes: Plan['outcomes'][number][]
  readonly #usesBuiltIn: boolean
  #steps = 0

  constructor(fate: Fate, cues: Cues, story: Story, plan: Plan) {
    this.#fate = fate
    this.#cues = cues
    this.#story = story
    this.#grammar = plan.grammar
    this.#replies = [...plan.replies]
    this.#outcomes = [...plan.outcomes]
    this.#usesBuiltIn = plan.builtIn
  }

  step(machine: Machine, run: number): Step {
    const step = (input: StepInput): AsyncGenerator<Yielded> => {
      const { state, approved } = input
      const begin: Begin = {
        checkpoint: this.#fate.tick(),
        number: (this.#steps += 1),
        run,
        engine: machine.number,
        state,
        executes: approved.map(({ id }) => id),
        sent: approved.length > 0 ? null : sendState(this.#grammar, state),
        context: null,
        reply: null,
        streamed: null,
        silent: false,
        end: Infinity,
      }
      this.#story.begins.push(begin)
      return this.#play(machine, begin, input)
    }
    if (!this.#usesBuiltIn) return step
    const { repeats } = builtInStep(this.#grammar, forever, { tools: toolsWith(forever) })
    return repeats === undefined ? step : Object.assign(step, { repeats })
  }

  async *#play(machine: Machine, begin: Begin, input: StepInput): AsyncGenerator<Yielded> {
    try {
      this.#cues.give(begin.executes.length > 0 ? 'executing' : 'asking')
      for (let n = 0; n < 3; n += 1) await machine.point(`step ${begin.number}`)
      if (this.#usesBuiltIn) yield* this.#playBuiltIn(machine, begin, input)
      else
        yield* begin.executes.length > 0 ? this.#execute(machine, begin, input) : this.#reply(machine, begin)
      await machine.point(`step ${begin.number} ends`)
    } finally {
      begin.end = this.#fate.tick()
    }
  }

  /** Uses a built-in step if its provider could return this reply. */
  async *#playBuiltIn(machine: Machine, begin: Begin, input: StepInput): AsyncGenerator<Yielded> {
    const { number, sent } = begin
    const isAsked = begin.executes.length === 0
    const [reply = PLAIN] = this.#replies
    if (isAsked && !isRaw(reply, this.#grammar)) return yield* this.#reply(machine, begin)
    if (isAsked) {
      this.#replies.shift()
      begin.reply = reply
      begin.silent = reply.say === 'silence'
      if (reply.say !== 'error') {
        yield { kind: 'StreamingDeltaEvent', source: 'agent', content: soFar(number) }
        begin.streamed = soFar(number)
        await machine.point(`step ${number} streams`)
      }
    }
    const create = async (request: object): Promise<unknown> => {
      await machine.point(`step ${number} is asked`)
      try {
        same('M15', 'the request of a built-in step', partOf(request), partOf(asRequest(sent?.request ?? {})))
      } catch (error) {
        this.#story.broken.push(error)
      }
      if (reply.say === 'error' && number % 2 === 0)
        throw Object.assign(new Error('full'), { status: 400, code: 'context_length_exceeded' })
      if (reply.say === 'error') throw new RangeError('the model is gone')
      if (reply.say !== 'text' && reply.say !== 'calls') return forever()
      const tools = reply.say === 'calls' ? reply.tools : []
      const lastParts: readonly Part[] = reply.say === 'calls' ? tools.map((): Part => 'call') : ['say']
      const { scripted } = this.#read(begin, [...reply.thoughts, ...lastParts], tools, reply.end)
      return rawReply(
        this.#grammar,
        scripted,
        number,
        reply.end === 'truncated' || reply.end === 'paused' ? reply.end : null,
      )
    }
    const outcome = isAsked ? 'results' : (this.#outcomes.shift() ?? 'results')
    const execute = async (): Promise<string> => {
      await machine.point(`step ${number} executes`)
      if (outcome === 'silence') return forever()
      if (outcome === 'error') throw new TypeError('the tool is broken')
      return outcome === 'nothing' ? '' : 'done'
    }
    const tools = toolsWith(execute)
    const write = (state: StepInput['state']) => toMessages(state, optionsOf(this.#grammar))
    let count = 0
    for await (const yielded of builtInStep(this.#grammar, create, { tools, write })(
      input,
    ) as AsyncIterable<Yielded>) {
      yield numbered(number, yielded, count)
      count += 10
      await machine.point(`step ${number} goes on`)
    }
  }

  async *#reply(machine: Machine, begin: Begin): AsyncGenerator<Yielded> {
    const { number } = begin
    const reply = this.#replies.shift() ?? PLAIN
    begin.reply = reply
    if (reply.say !== 'error' && reply.say !== 'nothing') {
      begin.silent = reply.say === 'silence'
      yield { kind: 'StreamingDeltaEvent', source: 'agent', content: soFar(number) }
      begin.streamed = soFar(number)
      await machine.point(`step ${number} streams`)
    }
    if (reply.say === 'error') throw new RangeError(NO_MODEL)
    if (reply.say === 'silence') await forever()
    if (reply.say === 'lingers') {
      yield message(`${number}.0`, `${SECRET} ${number}`)
      await forever()
    }
    if (reply.say === 'wordless') yield message(`${number}.0`, ' ')
    if (reply.say === 'failed') yield { events: [], outcome: { type: 'failed', explanation: 'overloaded' } }
    if (reply.say === 'broken_off') yield { events: [], outcome: { type: 'broken_off', text: soFar(number) } }
    if (reply.say === 'text') {
      for (let piece = 0; piece < reply.pieces; piece += 1) {
        if (piece > 0) yield message(`${number}.${piece}`, `${SECRET} ${number}`)
        else yield report(reply, this.#read(begin, [...reply.thoughts, 'say'], [], reply.end).events)
        await machine.point(`step ${number} goes on`)
      }
    }
    if (reply.say !== 'calls') return
    const { tools, split, two, end } = reply
    // A split reply may be cut off, so only its leading thought is signed.
    const isWhole = !split && !two
    const thoughts: readonly Part[] = isWhole ? reply.thoughts : ['think']
    const read = this.#read(begin, [...thoughts, ...tools.map((): Part => 'call')], tools, end, isWhole)
    const calls = read.events.map((event, index) =>
      known(event, tools[index] ?? 'safe', two && index > 0 ? `response-${number}-b` : `response-${number}`),
    )
    if (!split) yield report(reply, calls)
    else {
      for (const each of calls) {
        yield each
        await machine.point(`step ${number} goes on`)
      }
    }
  }

  /** Pieces do not keep their order. */
  #read(
    begin: Begin,
    parts: readonly Part[],
    tools: readonly Tool[],
    end: ReportedEnd | null,
    isWhole = true,
  ): { readonly scripted: ScriptedReply; readonly events: readonly Event[] } {
    const { number, sent } = begin
    if (sent === null) throw new Error(`step ${number} did not call the model`)
    const script = {
      number,
      word: `${SECRET} ${number}`,
      tool: (index: number): string => tools[index] ?? 'safe',
    }
    // Only a whole reply's record has call signatures.
    const scripted = isWhole
      ? replyParts(this.#grammar, sent.seen, parts, script)
      : replyParts(this.#grammar, sent.seen, parts, script, false)
    const record: ReplyRecord = recordOf(this.#grammar, scripted, sent.request) ?? {}
    const { digest: _, parts: __, ...about } = record
    begin.context = scripted
    const stop = end === 'paused' ? 'pause_turn' : 'stop'
    const ending = end === null ? {} : { outcome: end, stop_reason: stop }
    return { scripted, events: scripted.events({ ...(isWhole ? record : about), ...ending }) }
  }

  async *#execute(machine: Machine, { number }: Begin, { approved }: StepInput): AsyncGenerator<Yielded> {
    const outcome = this.#outcomes.shift() ?? 'results'
    if (outcome === 'silence') await forever()
    if (outcome === 'nothing') return
    for (const [n, { id, event }] of approved.entries()) {
      await machine.point(`step ${number} executes`)
      yield result(`${number}.${n}`, { id, tool: event.tool_name, call: event.tool_call_id })
      if (outcome === 'error') throw new TypeError(NO_TOOL)
    }
    if (outcome === 'and_reply') yield message(`${number}.r`, `${SECRET} ${number}`)
  }
}
