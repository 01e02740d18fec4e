import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { Status } from '../../state/status.ts'
import { hold, LawBroken } from '../failure.ts'
import type { Received, ServerClient, ServerClientOptions, ServerConversation } from './client.ts'
import { bodyOf, serverClient } from './client.ts'
import { type ModelCall, type ScriptedTurn, scriptOf, type SentMessage, textOf } from './script.ts'

/** The server to test, and its scripted model. */
export interface ServerConformanceOptions {
  readonly name: string
  /**
   * Starts the server; resolves when it accepts requests. Called by the first case, and again after each
   * `stop` and `kill`. The server must then still have the data that it stored.
   */
  start(): Promise<ServerClientOptions>
  /** Shuts down the server gracefully. Without `stop`, cases of restarts are skipped. */
  stop?(): Promise<void>
  /** Kills the server. Without `kill`, cases of crashes are skipped. */
  kill?(): Promise<void>
  /**
   * Returns the text of a user message that makes the server's model play these turns, one per request.
   * Default: `scriptOf`, which a `fakeProvider` plays with `playScripts`; other models can use `turnOf`.
   */
  script?(turns: readonly ScriptedTurn[]): string
  /**
   * Functions that return the model's calls of two tools, which the server must have. The tool that `note`
   * calls stores a text and returns the text as its result. The tool that `hold` calls runs until it is
   * aborted. Default: calls of a tool `note` with a `text`, and of a tool `wait` with `seconds`.
   */
  readonly tools?: { note(text: string): ModelCall; hold(): ModelCall }
  /** Returns the texts that the tool `note` stored. Without `notes`, cases that need these texts are skipped. */
  notes?(): readonly string[] | Promise<readonly string[]>
  /** Returns the messages of all requests to the model. Without `requests`, cases that need them are skipped. */
  requests?(): readonly (readonly SentMessage[])[] | Promise<readonly (readonly SentMessage[])[]>
  /** Features that the server lacks, each with the reason. */
  readonly lacks?: Readonly<Partial<Record<Capability, string>>>
  /** Cases that the server is known to fail, each with the reason. */
  readonly skip?: readonly { readonly case: string; readonly reason: string }[]
  /** Maximum milliseconds of each wait. Default: 10,000. */
  readonly timeout?: number
}

const PAUSE = 15

export const RESTING: readonly Status[] = ['finished', 'paused', 'waiting_for_confirmation', 'error', 'stuck']

/** The running server, which all cases share. */
export class Trial {
  readonly #options: ServerConformanceOptions
  readonly #timeout: number
  readonly #marks = new Map<string, string>()
  #client: ServerClient | null = null
  /** The conversations of the current case. */
  conversations: string[] = []

  constructor(options: ServerConformanceOptions) {
    this.#options = options
    this.#timeout = options.timeout ?? 10_000
  }

  get client(): ServerClient {
    if (this.#client === null) throw new Error('The server was not started.')
    return this.#client
  }

  async start(): Promise<void> {
    this.#client ??= serverClient(await this.#options.start())
  }

  async restart(how: 'stop' | 'kill'): Promise<void> {
    this.#client = null
    await this.#options[how]?.()
    await this.start()
  }

  async begin(body: JsonObject = {}): Promise<string> {
    const { id } = bodyOf(await this.client.create(body))
    this.conversations.push(id)
    return id
  }

  note(text: string): ModelCall {
    return this.#options.tools?.note(text) ?? { call: 'note', args: { text } }
  }

  hold(): ModelCall {
    return this.#options.tools?.hold() ?? { call: 'wait', args: { seconds: 3_600 } }
  }

  async notes(): Promise<readonly string[]> {
    return (await this.#options.notes?.()) ?? []
  }

  async say(id: string, turns: readonly ScriptedTurn[], run = true): Promise<string | undefined> {
    const { script = scriptOf } = this.#options
    const mark = this.#marks.get(id) ?? `[${crypto.randomUUID()}]`
    this.#marks.set(id, mark)
    return bodyOf(await this.client.say(id, `${script(turns)} ${mark}`, { run })).event_id
  }

  async play(
    id: string,
    turns: readonly ScriptedTurn[],
    ...ends: readonly Status[]
  ): Promise<ServerConversation> {
    await this.say(id, turns)
    return this.rest(id, ...ends)
  }

  /**
   * Waits until a conversation has one of these statuses. Default: finished.
   * @throws LawBroken after the timeout, or if another final status lasts for a third of the timeout.
   */
  async rest(id: string, ...ends: readonly Status[]): Promise<ServerConversation> {
    const wanted = ends.length === 0 ? (['finished'] as const) : ends
    const longest = this.#timeout / 3
    let last = ''
    let since = Date.now()
    const what = (): string => `expected status ${wanted.join(' or ')}, got ${last}`
    return this.until('I1', what, async () => {
      const info = bodyOf(await this.client.get(id))
      const { execution_status: status } = info
      if ((wanted as readonly Status[]).includes(status)) return info
      if (status !== last) since = Date.now()
      last = status
      if (RESTING.includes(status) && Date.now() - since > longest)
        throw new LawBroken('I1', `${what()}; ${await this.#failureOf(id)}`)
      return null
    })
  }

  async #failureOf(id: string): Promise<string> {
    const failures = (await this.log(id)).flatMap((event) =>
      event.kind === 'ConversationErrorEvent' ? [`${event.code}: ${event.detail}`] : [],
    )
    return failures.at(-1) ?? 'the log has no error event'
  }

  /** Calls `look` until it returns a result. @throws LawBroken after the timeout. */
  async until<T>(
    law: string,
    what: string | (() => string),
    look: () => Promise<T | null | false>,
  ): Promise<T> {
    const end = Date.now() + this.#timeout
    for (;;) {
      const result = await look()
      if (result !== null && result !== false) return result
      if (Date.now() > end) throw new LawBroken(law, `timeout: ${typeof what === 'string' ? what : what()}`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
  }

  async running(id: string): Promise<void> {
    await this.until('I1', 'the run did not begin', async () => (await this.status(id)) === 'running')
  }

  async status(id: string): Promise<Status> {
    return bodyOf(await this.client.get(id)).execution_status
  }

  async replies(id: string): Promise<string[]> {
    return messagesOf(await this.log(id), 'agent')
  }

  /** Waits for `work`. @throws LawBroken after the timeout. */
  async within<T>(law: string, what: string, work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new LawBroken(law, `timeout: ${what}`)), this.#timeout)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Sends a request. Retries while the server returns 409, because a finished run may still hold its conversation. */
  async accepted<T>(send: () => Promise<Received<T>>): Promise<T> {
    return this.until('I1', 'the server returns 409 after the run', async () => {
      const input = await send()
      return input.status === 409 ? null : bodyOf(input)
    })
  }

  async log(id: string): Promise<Event[]> {
    return this.client.events(id)
  }

  async requests(id: string): Promise<readonly (readonly SentMessage[])[]> {
    const mark = this.#marks.get(id) ?? '[]'
    const all = (await this.#options.requests?.()) ?? []
    return all.filter((messages) => messages.some(({ content }) => textOf(content).includes(mark)))
  }
}

export const messagesOf = (events: readonly Event[], source: string): string[] =>
  events.flatMap((event) =>
    event.kind === 'MessageEvent' && event.source === source ? [textOf(event.llm_message.content)] : [],
  )

/** Checks a response's status, and that the body is an error (interface section 7). @throws LawBroken. */
export function holdRefusal({ status, body }: Received, wanted: number, what: string): void {
  const problem = `${what}: expected status ${wanted}, got ${status}: ${JSON.stringify(body)}`
  hold('W1', status === wanted, problem)
  const detail = isObject(body as JsonObject) ? (body as JsonObject)['detail'] : undefined
  const isFit =
    wanted === 422
      ? Array.isArray(detail) && detail.length > 0 && detail.every(isIssue)
      : typeof detail === 'string' && detail !== ''
  hold('W1', isFit, () => `${what}: invalid error body: ${JSON.stringify(body)}`)
}

const isIssue = (issue: unknown): boolean => {
  if (typeof issue !== 'object' || issue === null) return false
  const { loc, msg, type } = issue as Readonly<Record<string, unknown>>
  return (
    Array.isArray(loc) &&
    loc.every((index) => typeof index === 'string' || Number.isInteger(index)) &&
    typeof msg === 'string' &&
    typeof type === 'string'
  )
}

const CAPABILITIES = [
  /** Public search (interface section 4.1), which `PATCH /api/v1/app-conversations/{id}` enables. */
  'sharing',
  /** Messages may have parts of any type, even parts with encrypted content. */
  'parts',
  /** Requests need a key: the `apiKey` that `start` returns. */
  'keys',
  /** `/sockets/events/{id}` with `format=envelope`, `after`, and deltas of replies. */
  'sockets',
  /** `/api/conversations/{id}/events/stream`, as server-sent events. */
  'stream',
  'pause',
  'interrupt',
  /** A policy of `AlwaysConfirm`, and `respond_to_confirmation`. */
  'confirmation',
  /** HEAD can be moved. */
  'navigation',
  'fork',
  'deletion',
  'message_keys',
  'stop',
  'kill',
  'notes',
  'requests',
] as const

/** A feature that a server may lack. Cases that need it are skipped. */
export type Capability = (typeof CAPABILITIES)[number]

export interface ServerCheck {
  readonly name: string
  /** Laws that the case may find broken, the most likely first. */
  readonly laws: readonly string[]
  readonly needs: readonly Capability[]
  run(trial: Trial): Promise<void>
}

/** `name` contains the laws, the needed capabilities in brackets, and a sentence: `W2 X1 [parts] No page …`. */
export function test(name: string, run: ServerCheck['run']): ServerCheck {
  const [, laws = '', tags = '', sentence = ''] = /^((?:[A-Z]\d+ )+)(?:\[(.+)\] )?(.+)$/.exec(name) ?? []
  const needs = (tags === '' ? [] : tags.split(' ')) as Capability[]
  if (!needs.every((need) => CAPABILITIES.includes(need))) throw new Error(`Unknown capability: ${name}`)
  return { name: sentence, laws: laws.trim().split(' '), needs, run }
}

export const it = (name: string, run: (trial: Trial, id: string) => Promise<void>): ServerCheck =>
  test(name, async (trial) => run(trial, await trial.begin()))
