import * as fc from 'fast-check'
import { checkNumber, checkOptionNames } from '../../event/check-value.ts'
import { hold, LawBroken, throwIfFailed } from '../failure.ts'
import { scriptedModel } from '../provider/script.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Model, ModelPart, ModelTurn } from '../../messages/model.ts'
import { shape, weighed } from '../shape.ts'
import { isObject, parseJson } from '../../event/json.ts'
import type { FakeProvider, ProviderRequest } from '../provider/provider.ts'
import type { Received, ServerClient, ServerClientOptions, ServerConversation } from '../server/client.ts'
import { bodyOf, serverClient } from '../server/client.ts'
import { RESTING } from '../server/trial.ts'
import { turn } from '../turn.ts'
import { grammarNamed } from '../../messages/grammars.ts'
import type { ActionEvent, Event } from '../../event/types.ts'
import { checkLog } from '../../laws/check-log.ts'

/** Options of `driveServer`. */
export interface DriveOptions {
  /** Starts a server for one case. */
  start(one: DriveCase): Promise<DrivenServer>
  readonly lacks?: DriveLacks
  /** Names of the tool that the model calls, and of its text argument. Default: `touch` and `key`. */
  readonly tool?: Pick<DriveTool, 'name' | 'argument'>
  /** Number of cases. Default: 100. */
  readonly numRuns?: number
  /** Maximum number of commands per case. Default: 30. */
  readonly maxCommands?: number
  readonly seed?: number
  readonly path?: string
  /** Maximum milliseconds until a conversation is at rest. Default: 10,000. */
  readonly timeout?: number
  /** Whether to search for a smaller failing case. Default: true. */
  readonly shrink?: boolean
  /** Whether replies may last until an interrupt. Default: true, unless the server lacks `interrupt`. */
  readonly endless?: boolean
}

/**
 * Sends random commands to a server whose model plays a random script. The commands are messages (even during a
 * reply), approvals, rejections, pauses, interrupts, resumes, navigation, edits, forks, condensation, two
 * clients at once, restarts and crashes. At random moments, before restarts and at the end, the function waits
 * until all conversations are at rest, then checks the laws: acknowledged messages are in the log once and in
 * order; events do not change; search and the live stream return the same events; the log obeys its laws; after
 * a pause, the agent starts nothing new; no call is executed twice without a second approval; the provider
 * rejects no request; a restart changes nothing.
 * @throws Error with the broken law, its text, and the commands, seed and log of the smallest failing
 *   case.
 * @example
 * // await driveServer({ start: async (one) => startMyServer(one.model, one.tool), numRuns: 20 })
 */
export async function driveServer(options: DriveOptions): Promise<void> {
  checkOptionNames(options, 'start lacks tool numRuns maxCommands seed path timeout shrink endless')
  const { start, seed, path, timeout = 10_000, lacks = {}, shrink = true } = options
  const numRuns = checkNumber('numRuns', options.numRuns ?? 100, { least: 1 })
  const { tool = TOUCH, maxCommands = 30, endless = lacks.interrupt === undefined } = options
  const commands = fc.array(driveCommands(lacks), { maxLength: maxCommands, size: 'max' })
  const script = scriptedModel({
    tools: { [tool.name]: fc.constant({}) },
    endless,
    tooLong: true,
    maxTurns: 12,
  })
  const property = fc.asyncProperty(commands, script, async (all, turns) => {
    const played = playCase(turns, tool)
    const server = await start(played)
    const driver = new Driver(server, played, timeout)
    try {
      await driver.begin()
      for (const command of all) await driver.play(command)
      await driver.look()
    } finally {
      await server.close()
    }
  })
  const result = await fc.check(property, {
    numRuns,
    endOnFailure: !shrink,
    ...(seed !== undefined && { seed }),
    ...(path !== undefined && { path }),
  })
  throwIfFailed(result)
}

export interface DriveTool {
  readonly name: string
  readonly argument: string
  readonly description: string
  readonly parameters: JsonObject
  readonly execute: (args: JsonObject) => string
}

/** One case: the model and the tool of its server. */
export interface DriveCase {
  readonly model: Model
  readonly tool: DriveTool
}

interface PlayedCase extends DriveCase {
  readonly touched: ReadonlyMap<string, number>
  readonly hangs: () => number
}

const TOUCH = { name: 'touch', argument: 'key' }

/**
 * Returns a case whose model plays a script with a unique key for each tool call. The case counts executed
 * calls and hanging replies.
 */
function playCase(
  turns: readonly ModelTurn[],
  { name, argument }: Pick<DriveTool, 'name' | 'argument'>,
): PlayedCase {
  const remaining = [...turns]
  const touched = new Map<string, number>()
  let requestCount = 0
  let hanging = 0
  const keyed = (part: ModelPart, index: number): ModelPart =>
    typeof part === 'string' || !('call' in part) || part.call !== name || typeof part.args === 'string'
      ? part
      : { ...part, args: { [argument]: `key ${requestCount}.${index}` } }
  return {
    touched,
    hangs: () => hanging,
    model() {
      requestCount += 1
      const turn = remaining.shift() ?? { says: ['Done.'] }
      if ('fails' in turn) {
        if (turn.fails === 'silent') hanging += 1
        return turn
      }
      if (turn.endless === true) hanging += 1
      return { ...turn, says: turn.says.map(keyed) }
    },
    tool: {
      name,
      argument,
      description: 'Leaves a text behind.',
      parameters: { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] },
      execute({ [argument]: key }) {
        if (typeof key !== 'string') throw new TypeError(`The ${argument} must be a text.`)
        touched.set(key, (touched.get(key) ?? 0) + 1)
        return `left ${key}`
      },
    },
  }
}

const WEIGHTS = {
  turn: 10,
  send: 3,
  run: 3,
  look: 4,
  pause: 3,
  interrupt: 3,
  resume: 3,
  approve: 4,
  reject: 2,
  policy: 2,
  back: 2,
  edit: 2,
  fork: 2,
  condense: 1,
  restart: 1,
  crash: 2,
}

/** One random command that `driveServer` sends. */
interface DriveCommand {
  readonly do: keyof typeof WEIGHTS
  /** Which conversation receives the command: 0 for the latest, 1 for the one before, and so on. */
  readonly on: number
  readonly n: number
  readonly turns: number
}

/** Commands that a server lacks, each with the reason. */
export type DriveLacks = Readonly<Partial<Record<DriveCommand['do'], string>>>

type DriveCommands = readonly [DriveCommand] | readonly [DriveCommand, DriveCommand]

const command = (kinds: readonly (readonly [number, DriveCommand['do']])[]): fc.Arbitrary<DriveCommand> =>
  shape<DriveCommand>({
    do: weighed<DriveCommand['do']>(...kinds.map(([weight, name]) => [weight, fc.constant(name)] as const)),
    on: fc.constantFrom(0, 0, 0, 1, 2),
    n: fc.nat(3),
    turns: fc.constantFrom(0, 0, 1, 3, 10, 30),
  })

function driveCommands(lacks: DriveLacks): fc.Arbitrary<DriveCommands> {
  const weights = Object.entries(WEIGHTS)
    .map(([name, weight]) => [weight, name as DriveCommand['do']] as const)
    .filter(([, name]) => lacks[name] === undefined)
  const one = command(weights)
  const two = command(weights.filter(([, name]) => name !== 'look' && name !== 'restart' && name !== 'crash'))
  return weighed<DriveCommands>([6, fc.tuple(one)], [1, fc.tuple(two, two)])
}

const describeCommand = ({ do: name, on, n, turns }: DriveCommand): string =>
  `${name}(${[on > 0 ? `on: ${on}` : '', n > 0 ? `n: ${n}` : '', turns > 0 ? `turns: ${turns}` : ''].filter((text) => text !== '').join(', ')})`

/** A server that was started for one case. */
export interface DrivenServer extends ServerClientOptions {
  restart?(how: 'stop' | 'kill'): Promise<ServerClientOptions>
  close(): Promise<void>
  /** Returns the texts that the server's tool received; needed if the server does not run the case's tool. */
  touched?(): readonly string[]
  /** The fake provider that the server calls. A rejected request fails the case. */
  readonly provider?: Pick<FakeProvider, 'requests'>
}

const REFUSED: readonly number[] = [404, 409, 429]

const POLICIES: readonly (JsonObject | null)[] = [{ kind: 'AlwaysConfirm' }, null, { kind: 'NeverConfirm' }]

const ENDS_PAUSE: ReadonlySet<DriveCommand['do']> = new Set(['turn', 'run', 'resume', 'approve', 'edit'])

const LEAVES_HEAD: ReadonlySet<DriveCommand['do']> = new Set(['look', 'restart', 'crash', 'policy', 'fork'])

/** Milliseconds between two polls. */
const PAUSE = 2
/** Number of unchanged polls after which a conversation is at rest. */
const STILL = 12

const AFTER = '\nafter '

class Driver {
  readonly #server: DrivenServer
  readonly #timeout: number
  readonly played: PlayedCase
  readonly conversations: DrivenConversation[] = []
  readonly approvals = new Map<string, number>()
  readonly #done: string[] = []
  #freed = 0
  #isPair = false
  /** Logical clock: counts the starts and ends of commands, so that their order is known. */
  #now = 0
  starts = 1
  client: ServerClient

  constructor(server: DrivenServer, played: PlayedCase, timeout: number) {
    this.#server = server
    this.#timeout = timeout
    this.played = played
    this.client = serverClient(server)
  }

  get requests(): readonly ProviderRequest[] {
    return this.#server.provider?.requests ?? []
  }

  touched(): ReadonlyMap<string, number> {
    if (this.#server.touched === undefined) return this.played.touched
    const times = new Map<string, number>()
    for (const key of this.#server.touched()) times.set(key, (times.get(key) ?? 0) + 1)
    return times
  }

  get #hangs(): boolean {
    return this.played.hangs() > this.#freed
  }

  async begin(): Promise<void> {
    this.conversations.push(newConversation(bodyOf(await this.client.create()).id))
  }

  async play(commands: DriveCommands): Promise<void> {
    this.#done.push(commands.map(describeCommand).join(' & '))
    this.#isPair = commands.length > 1
    await this.#traced(async () => {
      await Promise.all(commands.map((command) => this.#do(command)))
      // The order of concurrent commands is unknown.
      if (this.#isPair) for (const each of this.conversations) forget(each)
    })
  }

  async look(): Promise<void> {
    await this.#traced(async () => {
      for (const conversation of this.conversations) await this.rest(conversation)
      await checkAll(this)
    })
  }

  /** Calls `work`. If it throws because a law is broken, adds the commands so far to the error. */
  async #traced(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof LawBroken) || error.message.includes(AFTER)) throw error
      const detail = error.message.slice(error.law.length + 2)
      const { facts, cause } = error
      throw new LawBroken(error.law, `${detail}${AFTER}${this.#done.join(', ')}`, { facts, cause })
    }
  }

  async #do(command: DriveCommand): Promise<void> {
    for (let n = 0; n < command.turns; n += 1) await turn()
    const { conversations } = this
    const of = conversations.at(-1 - (command.on % conversations.length)) as DrivenConversation
    if (!LEAVES_HEAD.has(command.do)) of.head = undefined
    if (ENDS_PAUSE.has(command.do)) forget(of)
    switch (command.do) {
      case 'look':
        return this.look()
      case 'restart':
      case 'crash':
        return this.#restart(command.do)
      case 'send':
      case 'turn':
        return this.#say(of, command.do === 'turn')
      case 'back':
      case 'edit':
        return this.#back(of, command)
      case 'fork':
        return this.#fork(of, command)
      case 'approve':
      case 'reject':
        return this.#respond(of, command.do === 'approve')
      case 'policy':
        await this.#ask(() => this.client.setPolicy(of.id, POLICIES[command.n % POLICIES.length] ?? null))
        return
      case 'pause':
      case 'interrupt':
        return this.#stop(of, command.do)
      default: {
        const { do: verb } = command
        await this.#ask(() => this.client[verb](of.id))
      }
    }
  }

  /** Sends a request. Returns null if the server refused it, or if a restart makes its effect unknown. */
  async #ask<T>(request: () => Promise<Received<T>>): Promise<T | null> {
    const { starts } = this
    let received: Received<T>
    try {
      received = await request()
    } catch (error) {
      if (starts !== this.starts) return null
      throw new LawBroken('W1', `the server sent no response: ${String(error)}`, { cause: error })
    }
    if (starts !== this.starts || REFUSED.includes(received.status)) return null
    return bodyOf(received)
  }

  async #say(of: DrivenConversation, run: boolean): Promise<void> {
    const begun = (this.#now += 1)
    const text = `message ${begun}`
    const { starts } = this
    const taken = await this.#ask(() => this.client.say(of.id, text, { run }))
    if (taken === null && starts === this.starts) return
    of.sent.push({ text, isSure: taken !== null, begun, ended: (this.#now += 1) })
  }

  async #back(of: DrivenConversation, { do: verb, n }: DriveCommand): Promise<void> {
    const { starts } = this
    const messages = await this.client
      .events(of.id, { kind: 'MessageEvent', ...(verb === 'edit' && { source: 'user' }) })
      .catch(() => [])
    const message = messages.at(-1 - n)
    if (message === undefined) return
    const parent = message.parent_id === '__root__' ? null : (message.parent_id ?? null)
    const position = verb === 'edit' ? parent : (message.id ?? null)
    const moved = await this.#ask(() => this.client.navigate(of.id, position))
    if (moved === null || starts !== this.starts) return
    if (verb === 'edit') await this.#say(of, true)
    else of.head = position
  }

  async #fork(of: DrivenConversation, { n }: DriveCommand): Promise<void> {
    const messages = await this.client.events(of.id, { kind: 'MessageEvent' }).catch(() => [])
    const from = n === 0 ? undefined : messages.at(-n)?.id
    const made = await this.#ask(() =>
      this.client.fork(of.id, from === undefined ? {} : { from_event_id: from }),
    )
    if (made !== null) this.conversations.push(newConversation(made.id))
  }

  async #respond(of: DrivenConversation, accept: boolean): Promise<void> {
    const waiting = (await this.#ask(() => this.client.get(of.id)))?.pending_action_ids ?? []
    const input = await this.#ask(() => this.client.respond(of.id, accept))
    if (input === null || !accept) return
    for (const id of waiting) this.approvals.set(id, (this.approvals.get(id) ?? 0) + 1)
  }

  async #stop(of: DrivenConversation, verb: 'pause' | 'interrupt'): Promise<void> {
    const before = await this.#ask(() => this.client.get(of.id))
    const done = await this.#ask(() => this.client[verb](of.id))
    if (done === null) return
    of.agentEvents = null
    const info = await this.#ask(() => this.client.get(of.id))
    if (info === null) return
    const { execution_status: status } = info
    // A conversation that is finished or waits for confirmation cannot be paused.
    if (status === 'paused') of.pausedAt = this.#now += 1
    else if (before !== null && isLive(before) && isLive(info) && !this.#isPair)
      throw new LawBroken('I3', `a ${verb} was acknowledged, but the status is ${status}`)
  }

  async #restart(how: 'restart' | 'crash'): Promise<void> {
    if (this.#server.restart === undefined) return
    if (how === 'restart') await this.look()
    const before = how === 'restart' ? await this.#portraits() : null
    this.starts += 1
    this.client = serverClient(await this.#server.restart(how === 'restart' ? 'stop' : 'kill'))
    if (before === null) return
    const after = await this.#portraits()
    const position = before.findIndex(({ text, isCut }, index) => !isCut && text !== after[index]?.text)
    const texts = `  before ${before[position]?.text}\n  now    ${after[position]?.text}`
    hold('S5', position < 0, () => `a conversation has changed in a restart\n${texts}`)
  }

  /**
   * Returns what a restart must not change. A conversation that is idle while a step hangs (`isCut`) is not
   * compared, because pause and resume make a conversation idle even if its step hangs.
   */
  async #portraits() {
    const out: { readonly text: string; readonly isCut: boolean }[] = []
    for (const { id } of this.conversations) {
      const info = bodyOf(await this.client.get(id))
      const { execution_status, event_count, leaf_event_id, pending_action_ids } = info
      const all = { id, execution_status, event_count, leaf_event_id, pending_action_ids }
      const text = JSON.stringify(execution_status === 'paused' ? { id, execution_status } : all)
      out.push({ text, isCut: execution_status === 'idle' && this.#hangs })
    }
    return out
  }

  /** Waits until a conversation is at rest; interrupts a hanging reply. @throws LawBroken after the timeout. */
  async rest(of: DrivenConversation): Promise<ServerConversation> {
    const end = Date.now() + this.#timeout
    let still = 0
    let last = ''
    for (;;) {
      const info = bodyOf(await this.client.get(of.id))
      const { execution_status: status, event_count } = info
      // A reply in flight may still arrive after a pause.
      if (RESTING.includes(status) && status !== 'paused') return info
      const now = `${status} ${event_count}`
      still = now === last ? still + 1 : 0
      last = now
      if ((status === 'idle' || status === 'paused') && still > STILL) return info
      if (status === 'running' && still > STILL && this.#hangs) {
        this.#freed += 1
        await this.client.interrupt(of.id)
        forget(of)
        still = 0
      }
      if (Date.now() > end) {
        const facts = await this.client.events(of.id)
        throw new LawBroken('I1', `the status does not change from ${status}`, { facts })
      }
      await new Promise((resolve) => void setTimeout(resolve, PAUSE))
    }
  }
}

const isLive = ({ execution_status: status }: ServerConversation): boolean =>
  status === 'running' || status === 'idle'

function forget(of: DrivenConversation): void {
  of.pausedAt = null
  of.agentEvents = null
  of.head = undefined
}

const PAGE_SIZE = 7

const TRIES = 5

const jsonTexts = (events: readonly Event[]): string[] => events.map((event) => JSON.stringify(event))

async function checkAll(driver: Driver): Promise<void> {
  const [fault] = driver.requests.flatMap(({ refused }) => refused)
  const logs: (readonly Event[])[] = []
  for (const of of driver.conversations) {
    const log = await readBoth(driver, of)
    logs.push(log)
    try {
      await checkOne(driver, of, log)
      hold(
        lawOfRefusal(driver.requests),
        fault === undefined,
        () => `the provider rejected a request: ${fault}`,
      )
    } catch (error) {
      if (!(error instanceof LawBroken)) throw error
      const detail = error.message.slice(error.law.length + 2)
      throw new LawBroken(error.law, detail, { facts: log, cause: error.cause })
    }
    of.seen = log
  }
  checkCalls(driver, logs)
}

/** Returns the law that the refused request violates: M12 if it changed a signed block, else the grammar's law. */
function lawOfRefusal(requests: readonly ProviderRequest[]): string {
  const request = requests.find(({ refused }) => refused.length > 0)
  if (request === undefined || request.refused[0]?.startsWith('block ') === true) return 'M12'
  return grammarNamed(request.grammar).law
}

async function readBoth(driver: Driver, { id }: DrivenConversation): Promise<readonly Event[]> {
  for (let tries = 1; ; tries += 1) {
    const paged = await driver.client.events(id, { limit: PAGE_SIZE })
    const streamed = await readStream(driver.client, id)
    const again = await driver.client.events(id, { limit: PAGE_SIZE })
    if (again.length !== paged.length && tries < TRIES) continue
    const [pages, stream] = [jsonTexts(paged), jsonTexts(streamed)]
    const position = pages.findIndex((text, index) => text !== stream[index])
    if (position < 0 && pages.length === stream.length) return streamed
    const location = position < 0 ? Math.min(pages.length, stream.length) : position
    throw new LawBroken(
      'B1',
      `at ${location} the search and the live stream differ\n  search ${pages[location]}\n  stream ${stream[location]}`,
      { facts: streamed },
    )
  }
}

async function checkOne(driver: Driver, of: DrivenConversation, log: readonly Event[]): Promise<void> {
  const [was, is] = [jsonTexts(of.seen), jsonTexts(log)]
  const changed = was.findIndex((text, index) => text !== is[index])
  hold('S5', changed < 0, () => `event ${changed} changed from\n  ${was[changed]}\nto\n  ${is[changed]}`)
  checkSent(of, log)
  const info = bodyOf(await driver.client.get(of.id))
  const { execution_status: status, leaf_event_id: head } = info
  if (of.head !== undefined && head !== undefined)
    hold('T2', head === of.head, () => `HEAD was moved to ${of.head}, but is ${head}`)
  checkPause(of, status, log)
  const [violation] = checkLog(log, { ended: status !== 'idle' && status !== 'running' })
  if (violation !== undefined)
    throw new LawBroken(violation.law, `event ${violation.seq} (${violation.id}): ${violation.message}`)
}

function checkSent({ sent }: DrivenConversation, log: readonly Event[]): void {
  const messages = log.map((event) =>
    event.kind === 'MessageEvent' && event.source === 'user' ? JSON.stringify(event.llm_message.content) : '',
  )
  const placed = sent.map((each) => {
    const places = [...messages.keys()].filter((index) => messages[index]?.includes(`"${each.text}"`))
    hold('W4', places.length <= 1, () => `the log contains ${each.text} ${places.length} times`)
    hold('W4', !each.isSure || places.length === 1, () => `the log lacks acknowledged ${each.text}`)
    return { ...each, place: places[0] ?? -1 }
  })
  for (const one of placed)
    for (const other of placed) {
      const isLater = one.ended < other.begun && one.place >= 0 && other.place >= 0
      hold('W4', !isLater || one.place < other.place, () => `${other.text} precedes earlier ${one.text}`)
    }
}

/** Checks that the agent adds no event to a paused conversation after the running step has ended. */
function checkPause(of: DrivenConversation, status: string, log: readonly Event[]): void {
  if (of.pausedAt === null) return
  hold('I3', status === 'paused' || status === 'error', () => `the paused conversation has status ${status}`)
  const count = log.filter(({ source }) => source === 'agent').length
  hold('I3', count === (of.agentEvents ?? count), () => 'the agent continues despite a pause')
  of.agentEvents = count
}

/** Checks that each executed call is in a log, was not repeated without approval, and was not rejected. */
function checkCalls(driver: Driver, logs: readonly (readonly Event[])[]): void {
  const { name, argument } = driver.played.tool
  const isTouch = (event: Event): event is ActionEvent =>
    event.kind === 'ActionEvent' && event.tool_name === name
  const agreed = new Map<string, number>()
  const known = new Map<string, readonly Event[]>()
  const ends = new Map<string, Set<string>>()
  for (const log of logs) {
    const calls = new Map(log.filter(isTouch).map((call) => [call.tool_call_id, argumentKey(call, argument)]))
    for (const event of log) {
      const key = 'tool_call_id' in event ? calls.get(event.tool_call_id) : undefined
      if (key === undefined) continue
      known.set(key, log)
      if (event.kind !== 'ActionEvent') ends.set(key, (ends.get(key) ?? new Set()).add(event.kind))
      else agreed.set(key, (agreed.get(key) ?? 0) + (driver.approvals.get(event.id ?? '') ?? 0))
    }
  }
  for (const [key, times] of driver.touched()) {
    const facts = known.get(key) ?? null
    if (facts === null) throw new LawBroken('P6', `${key} was executed, but no log contains it`)
    const limit = 1 + (agreed.get(key) ?? 0)
    if (times > limit) throw new LawBroken('P6', `${key} was executed ${times} times`, { facts })
    const kinds = [...(ends.get(key) ?? [])]
    const isRejected = kinds.length === 1 && kinds[0] === 'UserRejectObservation'
    // After a crash, an executed call may lose its result and be rejected later.
    if (isRejected && driver.starts === 1)
      throw new LawBroken('P7', `${key} was executed although it was rejected`, { facts })
  }
}

function argumentKey({ tool_call }: ActionEvent, argument: string): string {
  const values = parseJson(tool_call.arguments)
  return isObject(values) ? String(values[argument]) : ''
}

async function readStream(client: ServerClient, id: string): Promise<Event[]> {
  const events: Event[] = []
  try {
    for await (const { type, event } of client.stream(id, { after: -1 })) {
      if (type === 'event') events.push(event)
      if (type === 'caught_up') return events
    }
  } catch (error) {
    if (!(error instanceof Error) || error.cause !== 404) throw error
    const socket = client.connect(id, { after: -1 })
    await socket.find(({ type }) => type === 'caught_up').finally(socket.close)
    return socket.frames.flatMap(({ type, event }) => (type === 'event' ? [event] : []))
  }
  throw new Error(`The stream of ${id} ended before it had caught up.`)
}

const newConversation = (id: string) => ({
  id,
  sent: [] as {
    readonly text: string
    readonly isSure: boolean
    readonly begun: number
    readonly ended: number
  }[],
  /** Logical time of the pause; null if the conversation is not paused. */
  pausedAt: null as number | null,
  agentEvents: null as number | null,
  head: undefined as string | null | undefined,
  seen: [] as readonly Event[],
})

type DrivenConversation = ReturnType<typeof newConversation>
