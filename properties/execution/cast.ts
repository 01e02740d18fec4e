/** The model and the tools of a story: what a plan says they do goes in, the step of a run comes out. */

import type { Event } from '../../src/event/types.ts'
import type { Step, StepInput, Yielded } from '../../src/conversation/run/step.ts'
import type { Cues, Fate, Machine } from './machine.ts'
import type { Plan, Reply, Tool } from './plan.ts'
import type { Begin, Story } from './story.ts'

/** The text that a hook lets nobody say. */
export const FORBIDDEN = 'forbidden'

const message = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
})

/** The call of a tool, as one of the calls of a response. */
function call(id: string, tool: Tool, response: string): Event {
  return {
    kind: 'ActionEvent',
    id,
    thought: [],
    tool_name: tool,
    tool_call_id: `call-${id}`,
    tool_call: { id: `call-${id}`, name: tool, arguments: '{}', origin: 'completion' },
    llm_response_id: response,
    action: tool === 'odd' ? null : { kind: `${tool}Action` },
    security_risk: tool === 'risky' ? 'HIGH' : 'LOW',
  }
}

const result = (id: string, of: { id: string; tool: string; call: string }): Event => ({
  kind: 'ObservationEvent',
  id,
  tool_name: of.tool,
  tool_call_id: of.call,
  action_id: of.id,
  observation: { kind: `${of.tool}Observation`, content: [{ type: 'text', text: 'done' }] },
})

const forever = (): Promise<never> => new Promise(() => undefined)

/** Everybody who plays a part, by one script. */
export class Cast {
  readonly #fate: Fate
  readonly #cues: Cues
  readonly #story: Story
  readonly #replies: Reply[]
  readonly #outcomes: Plan['outcomes'][number][]
  #steps = 0

  constructor(fate: Fate, cues: Cues, story: Story, plan: Plan) {
    this.#fate = fate
    this.#cues = cues
    this.#story = story
    this.#replies = [...plan.replies]
    this.#outcomes = [...plan.outcomes]
  }

  /** The step of a run on a machine. */
  step(machine: Machine, run: number): Step {
    return (input) => {
      const { state, approved } = input
      const begin: Begin = {
        at: this.#fate.tick(),
        no: (this.#steps += 1),
        run,
        engine: machine.no,
        state,
        executes: approved.map(({ id }) => id),
        end: Infinity,
      }
      this.#story.begins.push(begin)
      return this.#play(machine, begin, input)
    }
  }

  async *#play(machine: Machine, begin: Begin, input: StepInput): AsyncGenerator<Yielded> {
    try {
      this.#cues.give(begin.executes.length > 0 ? 'executing' : 'asking')
      for (let n = 0; n < 3; n += 1) await machine.point(`step ${begin.no}`)
      yield* begin.executes.length > 0 ? this.#execute(machine, begin, input) : this.#reply(machine, begin)
      await machine.point(`step ${begin.no} ends`)
    } finally {
      begin.end = this.#fate.tick()
    }
  }

  async *#reply(machine: Machine, { no }: Begin): AsyncGenerator<Yielded> {
    const reply = this.#replies.shift() ?? { say: 'text', pieces: 1 }
    if (reply.say === 'error') throw new RangeError('the model is gone')
    if (reply.say === 'silence') await forever()
    if (reply.say === 'lingers') {
      yield message(`${no}.0`, `reply ${no}`)
      await forever()
    }
    if (reply.say === 'text') {
      for (let piece = 0; piece < reply.pieces; piece += 1) {
        yield message(`${no}.${piece}`, `reply ${no}`)
        await machine.point(`step ${no} goes on`)
      }
    }
    if (reply.say !== 'calls') return
    const calls = reply.tools.map((tool, n) =>
      call(`${no}.${n}`, tool, reply.two && n > 0 ? `response-${no}-b` : `response-${no}`),
    )
    if (!reply.split) yield calls
    else {
      for (const each of calls) {
        yield each
        await machine.point(`step ${no} goes on`)
      }
    }
  }

  async *#execute(machine: Machine, { no }: Begin, { approved }: StepInput): AsyncGenerator<Yielded> {
    const outcome = this.#outcomes.shift() ?? 'results'
    if (outcome === 'silence') await forever()
    if (outcome === 'nothing') return
    for (const [n, { id, event }] of approved.entries()) {
      await machine.point(`step ${no} executes`)
      yield result(`${no}.${n}`, { id, tool: event.tool_name, call: event.tool_call_id })
      if (outcome === 'error') throw new TypeError('the tool is broken')
    }
    if (outcome === 'and_reply') yield message(`${no}.r`, `reply ${no}`)
  }
}
