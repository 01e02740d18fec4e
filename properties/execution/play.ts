/** Plays a plan with two engines on one store, in the scheduler's order. */

import type * as fc from 'fast-check'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import { isColloquyError } from '../../src/event/errors.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import { openCallsOf } from '../../src/conversation/decide.ts'
import { redactingStore } from '../../src/context/redaction/store.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import type { AppendResult, Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { LoggedEvent } from '../../src/conversation/logged-event.ts'
import { StepSimulator, FORBIDDEN, SECRET } from './step-simulator.ts'
import { Cues, Fate, Machine, Timers } from './machine.ts'
import type { Command } from './commands.ts'
import type { Plan } from './plan.ts'
import { optionsOfRuns } from './run-options.ts'
import { newStory, type RunStory, type Story } from './story.ts'

const ID = 'c'

/** Microseconds; expires all leases. */
const JUMP = 10n * 1_000_000n * 1_000n
/** Microseconds; expires a lease without duration. */
const MOMENT = 2_000n

export const POLICIES: readonly (JsonObject | null)[] = [
  null,
  { kind: 'NeverConfirm' },
  { kind: 'AlwaysConfirm' },
  { kind: 'ConfirmRisky' },
]

interface Process {
  readonly machine: Machine
  readonly engine: Engine
  readonly conversation: Conversation
  readonly runs: Set<{ readonly story: RunStory; readonly signal: AbortController }>
}

/** At the end, interrupts active runs and recovers crashed ones. */
export async function play(scheduler: fc.Scheduler, plan: Plan): Promise<Story> {
  const fate = new Fate(scheduler)
  const timers = new Timers(fate)
  const stage = new Stage(fate, timers, plan)
  timers.install()
  try {
    await stage.play()
  } finally {
    timers.remove()
  }
  return stage.story
}

const command = (wish: Command['do'], on: number, n = 0): Command => ({ do: wish, on, n, when: 'now' })

class Stage {
  readonly story = newStory()
  readonly #fate: Fate
  readonly #timers: Timers
  readonly #cues = new Cues()
  readonly #plan: Plan
  readonly #simulator: StepSimulator
  readonly #options: (machine: Machine) => RunOptions
  readonly #processes: Process[] = []
  #clock = 1_000_000n
  readonly #store: Store
  #engines = 0
  #length = 0

  constructor(fate: Fate, timers: Timers, plan: Plan) {
    this.#fate = fate
    this.#timers = timers
    this.#plan = plan
    this.#simulator = new StepSimulator(fate, this.#cues, this.story, plan)
    this.#options = optionsOfRuns(this.#cues, this.story, plan)
    const store = memoryStore({ clock: () => this.#clock })
    this.#store = plan.redacts ? redactingStore(store, redactionRules({ secrets: [SECRET] })) : store
  }

  async play(): Promise<void> {
    const { story } = this
    await this.#store.createConversation({ id: ID })
    await this.#during(async () => {
      this.#processes.push(await this.#start(), await this.#start())
      for (const { conversation } of this.#processes) await conversation.state()
      await this.#do(command('prompt', 0))
      await this.#do(command('policy', 0, this.#plan.policy))
      await this.#do(command('send', 0, 1))
    })
    void this.#do(command('run', 0))
    for (const user of this.#plan.users) void this.#user(user)
    do await this.#fate.settle()
    while (this.#cues.giveAny())
    // Send occasional heartbeats, and finally interrupt steps that never end.
    await this.#during(() => this.#do(command('beat', 0)))
    for (const on of [0, 1, 0])
      if (this.#isRunning()) await this.#during(() => this.#do(command('interrupt', on)))
    this.#clock += MOMENT
    const lease = await this.#store.getLease(ID)
    if (story.ranOut.length > 0 && lease === null && !this.#isRunning())
      await this.#during(async () => {
        const { header } = (await this.#processes[0]?.conversation.state()) ?? {}
        story.isAbandoned = header?.status === 'running'
      })
    // Only a crash or a lost lease leaves an expired one.
    const isLive = lease !== null && BigInt(lease.expiresAt) * 1000n > this.#clock
    const isCalm = story.deaths.length === 0 && story.ranOut.length === 0
    story.leaseLeft = lease !== null && (isCalm || isLive) && !this.#isRunning()
    if (story.deaths.length > 0 || story.ranOut.length > 0) {
      this.#clock += JUMP
      await this.#during(() => this.#do(command('recover', 0)))
    }
    await this.#during(async () => {
      for (const { conversation } of this.#processes) story.states.push(await conversation.state())
    })
    story.facts = (await this.#store.read(ID)).map(({ fact }) => fact)
    story.endless = this.#fate.endless
  }

  async #during(work: () => Promise<unknown>): Promise<void> {
    void work()
    await this.#fate.settle()
  }

  #isRunning(): boolean {
    return this.story.runs.some(({ outcome, dead }) => outcome === null && !dead)
  }

  async #start(): Promise<Process> {
    const number = (this.#engines += 1)
    const machine = new Machine(number, this.#fate, this.#store, (call, [id, owner], result) => {
      const { leases } = this.story
      if (call === 'releaseLease') this.#cues.give('released')
      if (call === 'append' && id === ID) this.#length = (result as AppendResult).version
      if (call !== 'acquireLease' || result === null) return
      this.#cues.give('leased')
      if (leases.some((known) => known.owner === owner)) return
      leases.push({ checkpoint: this.#fate.tick(), engine: number, owner, length: this.#length })
    })
    let ids = 0
    const engine = createEngine({
      store: machine.store,
      clock: () => this.#clock,
      newId: () => `e${number}-${(ids += 1)}`,
    })
    return { machine, engine, conversation: await engine.open(ID), runs: new Set() }
  }

  async #user(commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      await this.#cues.wait(command.when)
      await this.#fate.point(`user ${command.do}`)
      await this.#do(command)
    }
  }

  /** Does not wait for runs. */
  async #do(command: Command): Promise<void> {
    const process = this.#processes[command.on] as Process
    const { story } = this
    const begun = this.#fate.tick()
    const note = (events: readonly LoggedEvent[], outcome: string | null): void => {
      const index = this.#fate.tick()
      story.done.push({ command, begun, checkpoint: index, engine: process.machine.number, events, outcome })
    }
    try {
      switch (command.do) {
        case 'run':
          void this.#run(process)
          return
        case 'turn':
          await this.#do({ ...command, do: 'send' })
          void this.#run(process)
          return
        case 'expire':
        case 'take_over':
          this.#clock += JUMP
          story.ranOut.push(begun)
          if (command.do === 'take_over') void this.#run(process)
          return
        case 'beat':
          for (const beat of this.#timers.beats.values()) beat()
          return
        case 'abort':
          for (const run of process.runs) {
            run.story.aborted = true
            run.signal.abort()
          }
          return note([], null)
        case 'crash':
          story.deaths.push(begun)
          process.machine.die()
          for (const run of process.runs) run.story.dead = true
          this.#processes[command.on] = await this.#start()
          return
        case 'recover': {
          const recovery = await process.machine.orDeath(process.conversation.recover())
          return recovery === undefined ? undefined : note(recovery.events, recovery.outcome)
        }
        default: {
          const events = await process.machine.orDeath(this.#ask(process.conversation, command))
          return events === undefined ? undefined : note(events, null)
        }
      }
    } catch (error) {
      if (!isColloquyError(error)) throw error
      note([], error.code)
    }
  }

  async #ask(conversation: Conversation, { do: wish, n }: Command): Promise<readonly LoggedEvent[]> {
    if (wish === 'send') return conversation.sendMessage(n < 3 ? FORBIDDEN : `message ${this.#fate.tick()}`)
    if (wish === 'note' || wish === 'blank') {
      const source = wish === 'note' ? 'environment' : 'user'
      const text = wish === 'note' ? `note ${this.#fate.tick()}` : ' '
      return conversation.append([
        { kind: 'MessageEvent', source, llm_message: { role: 'user', content: [{ type: 'text', text }] } },
      ])
    }
    if (wish === 'prompt') {
      const text = `prompt ${this.#fate.tick()}`
      return conversation.append([
        { kind: 'SystemPromptEvent', system_prompt: { type: 'text', text }, tools: [] },
      ])
    }
    if (wish === 'condense' && this.#plan.builtIn && n % 2 === 1)
      return conversation.append([{ kind: 'CondensationRequest', source: 'user' }])
    if (wish === 'condense') {
      const { view, lastUserMessage } = (await conversation.state()).branch
      const ids = [...viewEventsIn(view)].map(({ id }) => id)
      const end = ids.indexOf(lastUserMessage?.id ?? '')
      return conversation.append([
        {
          kind: 'Condensation',
          llm_response_id: 'condenser',
          forgotten_event_ids: ids.slice(0, Math.max(0, end)),
          ...(n % 2 === 0 ? { summary: 'what was said before', summary_offset: 0 } : {}),
        },
      ])
    }
    if (wish === 'back' || wish === 'fork') {
      const shown = [...viewEventsIn((await conversation.state()).branch.view)]
      const places = wish === 'fork' ? shown : shown.filter(({ event }) => event.kind === 'MessageEvent')
      const from = places.at(-1 - n)?.id ?? null
      if (wish === 'back') return from === null ? [] : conversation.navigate(from)
      const fork = await conversation.fork(from === null ? {} : { from })
      this.story.forks.push(await fork.state())
      return []
    }
    if (wish === 'pause') return conversation.pause()
    if (wish === 'interrupt') return conversation.interrupt()
    if (wish === 'resume') return conversation.resume()
    if (wish === 'policy') return conversation.setConfirmationPolicy(POLICIES[n % POLICIES.length] ?? null)
    const open = openCallsOf(await conversation.state()).map(({ id }) => id)
    const some = n < 5 ? open : open.slice(0, 1)
    return wish === 'approve' ? conversation.approve(some) : conversation.reject(some)
  }

  async #run(process: Process): Promise<void> {
    const { story } = this
    const number = story.runs.length
    const run: RunStory = {
      number: number,
      engine: process.machine.number,
      begun: this.#fate.tick(),
      end: Infinity,
      outcome: null,
      error: null,
      length: 0,
      dead: process.machine.dead,
      aborted: false,
    }
    const entry = { story: run, signal: new AbortController() }
    story.runs.push(run)
    process.runs.add(entry)
    try {
      const { status } = await process.conversation.run(this.#simulator.step(process.machine, number), {
        ...this.#options(process.machine),
        signal: entry.signal.signal,
      })
      run.outcome = status
    } catch (error) {
      run.outcome = isColloquyError(error) ? error.code : 'threw'
      run.error = error
    }
    run.end = this.#fate.tick()
    run.length = this.#length
    process.runs.delete(entry)
    this.#cues.give('ended')
  }
}
