/** Does to a server what a case says, and keeps what the server has acknowledged. */

import type { JsonObject } from '../../event/shapes.ts'
import type { Status } from '../../state/status.ts'
import { LawBroken } from '../law.ts'
import type { FakeProvider, ProviderRequest } from '../provider/provider.ts'
import {
  bodyOf,
  type ServerClient,
  serverClient,
  type ServerClientOptions,
  type ServerConversation,
} from '../server/client.ts'
import type { Received } from '../server/request.ts'
import { turn } from '../turn.ts'
import { checkAll } from './check.ts'
import { type Deed, type Deeds, describeDeed } from './deed.ts'
import { type DrivenConversation, type DriveModel, newConversation } from './model.ts'
import type { PlayedCase } from './script.ts'

/** A server that runs, for one case. */
export interface DrivenServer extends ServerClientOptions {
  /** Ends it, in order or as a crash would, and begins it again over the same data. */
  restart?(how: 'stop' | 'kill'): Promise<ServerClientOptions>
  /** Ends it for good. */
  close(): Promise<void>
  /** What its tool was given, in order, where the tool of the case did not see it itself. */
  touched?(): readonly string[]
  /** The provider that it asks, which has to have nothing to refuse. */
  readonly provider?: Pick<FakeProvider, 'requests'>
}

/** The statuses in which nothing runs any more. */
const RESTING: ReadonlySet<Status> = new Set([
  'finished',
  'paused',
  'waiting_for_confirmation',
  'error',
  'stuck',
])

/** What a server may give where a deed does not fit: it is running, or nothing waits, or there are too many. */
const REFUSED: readonly number[] = [404, 409, 429]

const POLICIES: readonly (JsonObject | null)[] = [{ kind: 'AlwaysConfirm' }, null, { kind: 'NeverConfirm' }]

/** Deeds by which a user ends a pause. */
const ENDS_PAUSE: ReadonlySet<Deed['do']> = new Set(['turn', 'run', 'resume', 'approve', 'edit'])

/** Deeds that leave HEAD where it is. */
const LEAVES_HEAD: ReadonlySet<Deed['do']> = new Set(['look', 'restart', 'crash', 'policy', 'fork'])

/** Milliseconds between two looks, and looks for which a conversation that says nothing must stay as it is. */
const PAUSE = 2
const STILL = 12

const AFTER = '\nafter '

const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))

/** What a server says of a conversation. */
interface Portrait {
  readonly text: string
  /** Whether its end may cut something off. */
  readonly isCut: boolean
}

/** A server, and all that was done to it. */
export class Driver {
  readonly #server: DrivenServer
  readonly #timeout: number
  readonly played: PlayedCase
  readonly done: string[] = []
  #freed = 0
  /** Whether two deeds are done at once. */
  #isPair = false
  client: ServerClient

  /** @param timeout milliseconds in which a conversation has to come to rest */
  constructor(server: DrivenServer, played: PlayedCase, timeout: number) {
    this.#server = server
    this.#timeout = timeout
    this.played = played
    this.client = serverClient(server)
  }

  /** What its provider was asked, where it is known. */
  get requests(): readonly ProviderRequest[] {
    return this.#server.provider?.requests ?? []
  }

  /** How often the tool was given each key. */
  touched(): ReadonlyMap<string, number> {
    if (this.#server.touched === undefined) return this.played.touched
    const times = new Map<string, number>()
    for (const key of this.#server.touched()) times.set(key, (times.get(key) ?? 0) + 1)
    return times
  }

  /** Whether the model has begun what ends only when its client goes, and was not made to. */
  get #hangs(): boolean {
    return this.played.hangs() > this.#freed
  }

  async begin(model: DriveModel): Promise<void> {
    model.conversations.push(newConversation(bodyOf(await this.client.create()).id))
  }

  /** @throws LawBroken with all that was done until then. */
  async play(model: DriveModel, deeds: Deeds): Promise<void> {
    this.done.push(deeds.map(describeDeed).join(' & '))
    try {
      this.#isPair = deeds.length > 1
      await Promise.all(deeds.map((deed) => this.#do(model, deed)))
      // Of what was done at once it is not known what came first.
      if (deeds.length > 1) for (const each of model.conversations) forget(each)
    } catch (error) {
      throw this.#told(error)
    }
  }

  /** Waits until nothing runs, and checks what must hold. @throws LawBroken as `play` does. */
  async look(model: DriveModel): Promise<void> {
    try {
      for (const conversation of model.conversations) await this.rest(conversation)
      await checkAll(this, model)
    } catch (error) {
      throw this.#told(error)
    }
  }

  #told(error: unknown): unknown {
    if (!(error instanceof LawBroken) || error.message.includes(AFTER)) return error
    const detail = error.message.slice(error.law.length + 2)
    const { facts, cause } = error
    return new LawBroken(error.law, `${detail}${AFTER}${this.done.join(', ')}`, { facts, cause })
  }

  async #do(model: DriveModel, deed: Deed): Promise<void> {
    for (let n = 0; n < deed.turns; n += 1) await turn()
    const { conversations } = model
    const of = conversations.at(-1 - (deed.on % conversations.length)) as DrivenConversation
    if (!LEAVES_HEAD.has(deed.do)) of.head = undefined
    if (ENDS_PAUSE.has(deed.do)) forget(of)
    switch (deed.do) {
      case 'look':
        return this.look(model)
      case 'restart':
      case 'crash':
        return this.#restart(model, deed.do)
      case 'send':
      case 'turn':
        return this.#say(model, of, deed.do === 'turn')
      case 'back':
      case 'edit':
        return this.#back(model, of, deed)
      case 'fork':
        return this.#fork(model, of, deed)
      case 'approve':
      case 'reject':
        return this.#respond(model, of, deed.do === 'approve')
      case 'policy':
        await this.#ask(model, () => this.client.setPolicy(of.id, POLICIES[deed.n % POLICIES.length] ?? null))
        return
      case 'pause':
      case 'interrupt':
        return this.#stop(model, of, deed.do)
      default: {
        const { do: verb } = deed
        await this.#ask(model, () => this.client[verb](of.id))
      }
    }
  }

  /**
   * Null where the deed did not fit, or where the server ended meanwhile, so that it is not known what became of it.
   */
  async #ask<T>(model: DriveModel, request: () => Promise<Received<T>>): Promise<T | null> {
    const { starts } = model
    let received: Received<T>
    try {
      received = await request()
    } catch (error) {
      if (starts !== model.starts) return null
      throw new LawBroken('W1', `the server gave no response: ${String(error)}`, { cause: error })
    }
    if (starts !== model.starts || REFUSED.includes(received.status)) return null
    try {
      return bodyOf(received)
    } catch (error) {
      throw new LawBroken('W1', String(error), { cause: error })
    }
  }

  async #say(model: DriveModel, of: DrivenConversation, run: boolean): Promise<void> {
    const begun = (model.now += 1)
    const text = `message ${begun}`
    const { starts } = model
    const taken = await this.#ask(model, () => this.client.say(of.id, text, { run }))
    if (taken === null && starts === model.starts) return
    of.sent.push({ text, isSure: taken !== null, begun, ended: (model.now += 1) })
  }

  async #back(model: DriveModel, of: DrivenConversation, { do: verb, n }: Deed): Promise<void> {
    const { starts } = model
    const messages = await this.client
      .events(of.id, { kind: 'MessageEvent', ...(verb === 'edit' && { source: 'user' }) })
      .catch(() => [])
    const message = messages.at(-1 - n)
    if (message === undefined) return
    const parent = message.parent_id === '__root__' ? null : (message.parent_id ?? null)
    const place = verb === 'edit' ? parent : (message.id ?? null)
    const moved = await this.#ask(model, () => this.client.navigate(of.id, place))
    if (moved === null || starts !== model.starts) return
    if (verb === 'edit') await this.#say(model, of, true)
    else of.head = place
  }

  async #fork(model: DriveModel, of: DrivenConversation, { n }: Deed): Promise<void> {
    const messages = await this.client.events(of.id, { kind: 'MessageEvent' }).catch(() => [])
    const from = n === 0 ? undefined : messages.at(-n)?.id
    const made = await this.#ask(model, () =>
      this.client.fork(of.id, from === undefined ? {} : { from_event_id: from }),
    )
    if (made !== null) model.conversations.push(newConversation(made.id))
  }

  async #respond(model: DriveModel, of: DrivenConversation, accept: boolean): Promise<void> {
    const waiting = (await this.#ask(model, () => this.client.get(of.id)))?.pending_action_ids ?? []
    const given = await this.#ask(model, () => this.client.respond(of.id, accept))
    if (given === null || !accept) return
    for (const id of waiting) model.approvals.set(id, (model.approvals.get(id) ?? 0) + 1)
  }

  async #stop(model: DriveModel, of: DrivenConversation, verb: 'pause' | 'interrupt'): Promise<void> {
    const before = await this.#ask(model, () => this.client.get(of.id))
    const done = await this.#ask(model, () => this.client[verb](of.id))
    if (done === null) return
    of.agentEvents = null
    const info = await this.#ask(model, () => this.client.get(of.id))
    if (info === null) return
    const { execution_status: status } = info
    // What is finished, or waits for a user, has nothing to be paused.
    if (status === 'paused') of.pausedAt = model.now += 1
    else if (before !== null && isLive(before) && isLive(info) && !this.#isPair)
      throw new LawBroken('I3', `a ${verb} was acknowledged, and the conversation is ${status}`)
  }

  async #restart(model: DriveModel, how: 'restart' | 'crash'): Promise<void> {
    if (this.#server.restart === undefined) return
    if (how === 'restart') await this.look(model)
    const before = how === 'restart' ? await this.#portraits(model) : null
    model.starts += 1
    this.client = serverClient(await this.#server.restart(how === 'restart' ? 'stop' : 'kill'))
    if (before === null) return
    const after = await this.#portraits(model)
    const at = before.findIndex(({ text, isCut }, index) => !isCut && text !== after[index]?.text)
    if (at >= 0)
      throw new LawBroken(
        'S5',
        `a conversation after a restart\n  is  ${after[at]?.text}\n  was ${before[at]?.text}`,
      )
  }

  /**
   * What a server says of its conversations, which a restart must not change, but where it cuts off a step that hangs:
   * one that was paused meanwhile and resumed says that it is idle.
   */
  async #portraits(model: DriveModel): Promise<readonly Portrait[]> {
    const out: Portrait[] = []
    for (const { id } of model.conversations) {
      const info = bodyOf(await this.client.get(id))
      const { execution_status, event_count, leaf_event_id, pending_action_ids } = info
      const all = { id, execution_status, event_count, leaf_event_id, pending_action_ids }
      const text = JSON.stringify(execution_status === 'paused' ? { id, execution_status } : all)
      out.push({ text, isCut: execution_status === 'idle' && this.#hangs })
    }
    return out
  }

  /** Waits until nothing runs in a conversation; what would hang for ever is interrupted. @throws LawBroken. */
  async rest(of: DrivenConversation): Promise<ServerConversation> {
    const end = Date.now() + this.#timeout
    let still = 0
    let last = ''
    for (;;) {
      const info = bodyOf(await this.client.get(of.id))
      const { execution_status: status, event_count } = info
      // A reply that was under way when it was paused may still come.
      if (RESTING.has(status) && status !== 'paused') return info
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
        throw new LawBroken('I1', `a conversation says for ever that it is ${status}`, { facts })
      }
      await wait(PAUSE)
    }
  }
}

const isLive = ({ execution_status: status }: ServerConversation): boolean =>
  status === 'running' || status === 'idle'

/** A pause that is over, or of which it is not known. */
function forget(of: DrivenConversation): void {
  of.pausedAt = null
  of.agentEvents = null
  of.head = undefined
}
