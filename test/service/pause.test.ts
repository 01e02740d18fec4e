/**
 * After an acknowledged pause no step begins until a user requests one (law I3), whatever was requested
 * before, in whichever process.
 */

import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Step, StepInput } from '../../src/conversation/run/step.ts'
import type { Event } from '../../src/event/types.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { scheduledStore } from './scheduled-store.ts'
import { killable } from './killable-store.ts'

interface Process {
  readonly engine: Engine
  readonly service: Service
  readonly dieAfter: (calls: number) => void
}

/** The steps of a history: actions of users, what they wait for, and a process that dies. */
const ACTIONS = [
  'say',
  'run',
  'pause',
  'pause',
  'agent',
  'agent',
  'reply',
  'call',
  'second',
  'crash',
] as const
type Action = (typeof ACTIONS)[number]

const seen = { held: 0, begun: 0, again: 0, late: 0, crashed: 0 }

function gate<T>() {
  const waiting: ((value: T) => void)[] = []
  return {
    wait: () => new Promise<T>((resolve) => void waiting.push(resolve)),
    open(value: T): void {
      for (const resolve of waiting.splice(0)) resolve(value)
    },
  }
}

const replyOf = (kind: Reply, number: string): Event =>
  kind === 'reply'
    ? {
        kind: 'MessageEvent',
        source: 'agent',
        llm_message: { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
      }
    : {
        kind: 'ActionEvent',
        source: 'agent',
        thought: [],
        action: { kind: 'look' },
        tool_name: 'look',
        tool_call_id: `call ${number}`,
        tool_call: { id: `call ${number}`, name: 'look', arguments: '{}', origin: 'completion' },
        llm_response_id: `reply ${number}`,
      }

type Reply = 'reply' | 'call'

const resultOf = ({ id, event }: StepInput['approved'][number]): Event => ({
  kind: 'ObservationEvent',
  source: 'environment',
  action_id: id,
  tool_name: event.tool_name,
  tool_call_id: event.tool_call_id,
  observation: { kind: 'look', content: [] },
})

/** A service and its users; tracks whether a pause is in force. */
class ScheduledService {
  readonly #real = memoryStore()
  readonly #scheduler: fc.Scheduler
  readonly #agents = gate<null>()
  readonly #replies = gate<Reply>()
  readonly #failures: unknown[] = []
  #isPaused = false
  #isLate = false
  #now: Process

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler
    this.#now = this.#start()
  }

  #start(): Process {
    const { store, dieAfter, isDead } = killable(scheduledStore(this.#real, this.#scheduler))
    const engine = createEngine({ store })
    let number = 0
    const think = async (approved: StepInput['approved']): Promise<Event[]> => {
      // A dead process has no effect.
      if (isDead()) return []
      seen.begun += 1
      if (this.#isPaused) this.#failures.push('A step began after a pause that was acknowledged.')
      return approved.length > 0
        ? approved.map(resultOf)
        : [replyOf(await this.#replies.wait(), `${Date.now()} ${(number += 1)}`)]
    }
    const step: Step = async function* ({ approved }) {
      yield await think(approved)
    }
    const service = createService({
      engine,
      agent: async () => {
        await this.#agents.wait()
        return step
      },
      onFailure: (error) => void (isDead() || this.#failures.push(error)),
    })
    return { engine, service, dieAfter }
  }

  async begin(): Promise<void> {
    await (await this.#now.engine.create({ id: 'c' })).sendMessage('Hi')
  }

  async do(action: Action): Promise<void> {
    if (action === 'agent') this.#agents.open(null)
    else if (action === 'reply' || action === 'call') this.#replies.open(action)
    else if (action === 'second') await vi.advanceTimersByTimeAsync(1_000)
    else if (action === 'crash') await this.#crash()
    else if (action === 'pause') await this.#pause()
    else await this.#ask(action)
  }

  async #crash(): Promise<void> {
    this.#now.dieAfter(0)
    vi.setSystemTime(Date.now() + 60_000)
    this.#now = this.#start()
    seen.crashed += 1
    await virtually(this.#now.service.lostRuns.check())
  }

  async #pause(): Promise<void> {
    expect((await this.#post('/pause')).status).toBe(200)
    const { status } = (await virtually((await this.#now.engine.open('c')).state())).header
    if (status !== 'paused') return
    if (this.#isPaused) seen.again += 1
    if (this.#isLate) seen.late += 1
    this.#isPaused = true
    seen.held += 1
  }

  async #ask(action: 'say' | 'run'): Promise<void> {
    this.#isPaused = false
    const from = Date.now()
    if (action === 'run') await this.#post('/run')
    else await this.#post('/events', { content: [{ type: 'text', text: 'Go on' }], run: true })
    this.#isLate = Date.now() - from >= 1_000
  }

  async #post(path: string, body: object = {}): Promise<Response> {
    const init = { method: 'POST', body: JSON.stringify(body) }
    const request = new Request(`http://localhost/api/conversations/c${path}`, init)
    return virtually(Promise.resolve(this.#now.service.fetch(request)))
  }

  /** Releases all waiters repeatedly until everything is idle. */
  async end(): Promise<void> {
    for (let n = 0; n < 8; n += 1) {
      this.#agents.open(null)
      this.#replies.open('reply')
      await vi.advanceTimersByTimeAsync(500)
      await turns()
    }
    expect(this.#failures).toEqual([])
    await this.#now.engine.close()
  }
}

/** Runs everything that is due. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((go) => setImmediate(go))
}

/** Awaits work while its timers advance. */
async function virtually<T>(work: Promise<T>): Promise<T> {
  const state = { isOver: false }
  const end = (): void => void (state.isOver = true)
  work.then(end, end)
  for (let n = 0; !state.isOver; n += 1) {
    if (n > 1_000) throw new Error('It waits without a bound.')
    await turns()
    if (!state.isOver) await vi.advanceTimersByTimeAsync(100)
  }
  return work
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('no step begins after an acknowledged pause, whatever was requested before', async () => {
  const property = fc.asyncProperty(
    fc.scheduler(),
    fc.array(fc.constantFrom(...ACTIONS), { minLength: 3, maxLength: 14 }),
    async (scheduler, actions) => {
      const service = new ScheduledService(scheduler)
      const play = async (): Promise<void> => {
        await service.begin()
        for (const action of actions) await service.do(action)
        await service.end()
      }
      await scheduler.waitFor(play())
    },
  )
  await fc.assert(property, { numRuns: 30 })
  for (const [name, count] of Object.entries(seen)) expect([name, count >= 3]).toEqual([name, true])
})
