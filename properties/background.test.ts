/** P12, I8, M18: background calls complete exactly once, and nothing waits for them. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Conversation } from '../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../src/conversation/engine.ts'
import type { Step } from '../src/conversation/run/step.ts'
import { ColloquyError } from '../src/event/errors.ts'
import { checkLog } from '../src/laws/check-log.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { listWarnings, listWorkingCalls } from '../src/state/read.ts'
import { executeCalls } from '../src/steps/step-of.ts'
import { background, type StepTool } from '../src/steps/index.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { hold, same } from '../src/testing/failure.ts'
import { call, says } from '../test/conversation/script.ts'
import { RUNS } from './run.ts'
import { Tally } from './tally.ts'

/** Numbers select a call or an event. */
type Command = { readonly do: 'restart' } | { readonly do: 'say' | 'run' } | Picking

interface Picking {
  readonly do: 'end' | 'fail' | 'complete' | 'cancel' | 'progress' | 'go'
  readonly n: number
}

interface Plan {
  readonly replies: readonly number[]
  readonly resumes: boolean
  readonly commands: readonly Command[]
}

const command = (): fc.Arbitrary<Command> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Command>({ do: 'say' }, { do: 'run' }, { do: 'run' }) },
    { weight: 1, arbitrary: fc.constant<Command>({ do: 'restart' }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom('end', 'end', 'fail', 'complete', 'cancel', 'progress', 'go'),
        n: fc.nat(7),
      }) as fc.Arbitrary<Command>,
    },
  )

const plan = (): fc.Arbitrary<Plan> =>
  fc.record({
    replies: fc.array(fc.nat(3), { maxLength: 6 }),
    resumes: fc.boolean(),
    commands: fc.array(command(), { maxLength: 25, size: 'max' }),
  })

type Work = ReturnType<typeof Promise.withResolvers<string>>

class Play {
  readonly executed = new Map<string, number>()
  readonly works = new Map<string, Work>()
  readonly met = new Set<string>()
  readonly #store = memoryStore()
  readonly #plan: Plan
  #engine: Engine = createEngine({ store: this.#store })
  #requestCount = 0
  #isEnding = false

  constructor(input: Plan) {
    this.#plan = input
  }

  async play(): Promise<void> {
    let conversation = await this.#engine.create({ id: 'c' })
    await conversation.sendMessage('hello')
    for (const each of [{ do: 'run' } as const, ...this.#plan.commands]) {
      if (each.do === 'restart') {
        await this.#engine.close()
        this.#engine = createEngine({ store: this.#store })
        conversation = await this.#engine.open('c')
        this.met.add('restart')
      } else await this.#do(conversation, each)
      await this.#check(conversation)
    }
    this.#isEnding = true
    // Complete all calls, after which a run with pending results must end.
    for (const { action } of listWorkingCalls(await conversation.state()))
      await conversation.cancel(action.id)
    await conversation.sendMessage('and now?')
    const { status } = await conversation.run(this.#step(), { until: 'settled', maxIterations: 40 })
    same(
      'I8',
      'status and working calls at the end',
      [status, listWorkingCalls(await conversation.state()).length],
      ['finished', 0],
    )
    await this.#check(conversation)
    await this.#engine.close()
  }

  async #do(conversation: Conversation, each: Exclude<Command, { readonly do: 'restart' }>): Promise<void> {
    const state = await conversation.state()
    if (each.do === 'say') {
      await conversation.sendMessage('and?')
      return
    }
    if (each.do === 'run') {
      const works = listWorkingCalls(state).length
      const { status } = await conversation.run(this.#step())
      if (works > 0) this.met.add('replied while a call is working')
      hold('I8', status === 'finished', `the run ended ${status}`)
      return
    }
    if (!('n' in each)) return
    if (each.do === 'go') {
      const heads = [...state.log.entries].filter(({ canBeHead }) => canBeHead)
      const position = heads.at(-1 - (each.n % heads.length))
      if (position?.id !== undefined && position.id !== null) await conversation.navigate(position.id)
      return
    }
    const all = [...state.log.entries].flatMap(({ id, event }) =>
      event?.kind === 'ActionEvent' && id !== null ? [id] : [],
    )
    const id = all.at(-1 - (each.n % Math.max(1, all.length)))
    if (id === undefined) return
    const isWorking = listWorkingCalls(state).some(({ action }) => action.id === id)
    this.met.add(`${each.do} ${isWorking ? 'of a working call' : 'of another call'}`)
    try {
      if (each.do === 'end') this.works.get(id)?.resolve('done')
      else if (each.do === 'fail') this.works.get(id)?.reject(new Error('failed'))
      else if (each.do === 'complete') await conversation.complete(id, 'from outside')
      else if (each.do === 'cancel') await conversation.cancel(id)
      else await conversation.reportProgress(id, { progress: each.n, task: each.n })
    } catch (error) {
      hold('P12', error instanceof ColloquyError && error.code === 'unknown_call', String(error))
      hold('P12', !isWorking, 'a working call was rejected')
    }
    // Let the results of finished calls be appended.
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  #step(): Step {
    const tool: StepTool = {
      name: 'work',
      description: 'Works.',
      parameters: { type: 'object' },
      execute: async (_, { call: { id } }) => {
        this.executed.set(id, (this.executed.get(id) ?? 0) + 1)
        return background(this.#work(id), { task: id })
      },
    }
    const callModel = (): Step => (input) => {
      hold(
        'P12',
        input.state.branch.pendingCalls === null || input.approved.length > 0,
        'the model was called with pending calls',
      )
      if (input.approved.length > 0) return executeCalls(input, new Map([['work', tool]]), {})
      this.#requestCount += 1
      const count = this.#isEnding ? 0 : (this.#plan.replies[this.#requestCount - 1] ?? 0)
      const response = `r${this.#requestCount}`
      if (count === 0) return [says(`reply ${this.#requestCount}`)]
      return [
        Array.from({ length: count }, (_, n) =>
          call(`${response}-${n}`, 'work', { llm_response_id: response }),
        ),
      ]
    }
    return Object.assign(callModel(), {
      ...(this.#plan.resumes && {
        resume: ((action) => this.#work(action.id).then((content) => ({ content }))) satisfies Step['resume'],
      }),
    })
  }

  #work(id: string): Promise<string> {
    const known = this.works.get(id) ?? Promise.withResolvers<string>()
    known.promise.catch(() => undefined)
    this.works.set(id, known)
    return known.promise
  }

  async #check(conversation: Conversation): Promise<void> {
    const state = await conversation.state()
    same('P12', 'warnings', listWarnings(state), [])
    for (const [id, times] of this.executed) hold('P12', times === 1, `${id} was executed ${times} times`)
    const facts = [...state.log.entries].flatMap(({ event }) => event ?? [])
    const [violations] = checkLog(facts)
    hold(violations?.law ?? 'P12', violations === undefined, `${violations?.id}: ${violations?.message}`)
    const sent = new Set(
      toMessages(state).flatMap((each) =>
        each.role === 'assistant' ? each.tool_calls.map(({ id }) => id) : [],
      ),
    )
    // The reply is still pending if HEAD is before another call's result.
    if (state.branch.pendingCalls !== null) return
    for (const { action } of listWorkingCalls(state))
      hold('M18', sent.has(action.event.tool_call_id), `${action.id} is not sent`)
  }
}

describe('background calls', () => {
  it('P12, I8 and M18 hold in any order of completions, restarts and moves of HEAD', async () => {
    const tally = new Tally<string>()
    await fc.assert(
      fc.asyncProperty(plan(), async (input) => {
        const played = new Play(input)
        await played.play()
        tally.count([...played.met])
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
    tally.require([
      'restart',
      'replied while a call is working',
      'end of a working call',
      'fail of a working call',
      'complete of a working call',
      'complete of another call',
      'cancel of a working call',
      'progress of a working call',
    ])
  })
})
