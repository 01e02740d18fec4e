/** The conversations of a folder, and the operations that clients can request. */

import { createHash, randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Draft, Log } from './log.ts'
import { type Agent, closePending, type Run, startRun } from './run.ts'
import { invalid, Refusal } from './search.ts'

const PROMPT: Draft = {
  kind: 'SystemPromptEvent',
  source: 'agent',
  system_prompt: { type: 'text', text: 'You are helpful.' },
  tools: [],
}

/** Maximum milliseconds of the tool `wait`. */
const MAX_WAIT = 3_600_000

export class Conversations {
  readonly #folder: string
  readonly #agent: Agent
  readonly #logs = new Map<string, Log>()
  readonly #runs = new Map<string, Run>()

  /** Opens a folder. Records that the runs of a dead process have ended. */
  constructor(folder: string, modelUrl: string) {
    this.#folder = folder
    this.#agent = { modelUrl, tools: toolsIn(folder) }
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.jsonl'))) {
      const log = new Log(join(folder, name), decodeURIComponent(name.slice(0, -6)))
      this.#logs.set(log.id, log)
      if (log.status !== 'running') continue
      log.append(...closePending(log, 'The process ended; it is not known whether the call took effect.'))
      const detail = 'The process ended during the run.'
      log.append({ kind: 'ConversationErrorEvent', source: 'environment', code: 'RunLost', detail })
    }
  }

  get(id: string): Log {
    const log = this.#logs.get(id)
    if (log === undefined) throw new Refusal(404, 'Unknown conversation.')
    return log
  }

  find = (id: string): Log | null => this.#logs.get(id) ?? null

  create(id: string = randomUUID(), beginning: readonly Draft[] = [PROMPT]): Log {
    const log = new Log(join(this.#folder, `${encodeURIComponent(id)}.jsonl`), id)
    this.#logs.set(id, log)
    log.append(...beginning)
    return log
  }

  delete(log: Log): void {
    this.#runs.get(log.id)?.stop.abort()
    this.#logs.delete(log.id)
    const file = join(this.#folder, `${encodeURIComponent(log.id)}.jsonl`)
    if (existsSync(file)) rmSync(file)
    for (const reader of log.readers) reader.end()
  }

  /** Copies the path to an event into a new conversation. */
  fork(log: Log, from: string | null, id?: string): Log {
    const path = log.branch()
    const end = from === null ? path.length : path.findIndex((event) => event.id === from) + 1
    if (from !== null && end === 0) throw new Refusal(404, 'Unknown event.')
    return this.create(id, path.slice(0, end))
  }

  /** Appends a user message, at most once per key. */
  sendMessage(log: Log, content: unknown, key: string | null): string {
    if (!Array.isArray(content) || content.length === 0)
      throw invalid('body', 'content', 'list_type', 'Must be a list of parts')
    const id = key === null ? randomUUID() : createHash('sha256').update(key).digest('hex')
    const existing = log.get(id)
    const llm_message = { role: 'user', content }
    if (existing === null) log.append({ kind: 'MessageEvent', source: 'user', id, llm_message })
    else if (JSON.stringify(existing['llm_message']) !== JSON.stringify(llm_message))
      throw new Refusal(409, 'The key was used for another message.')
    return id
  }

  /** Starts a run. @throws Refusal 409 when one is active. */
  run(log: Log, approved?: ReadonlySet<string>): void {
    if (this.#runs.has(log.id)) throw new Refusal(409, 'The conversation is running already.')
    const run = startRun(this.#agent, log, approved)
    this.#runs.set(log.id, run)
    void run.ended.finally(() => {
      if (this.#runs.get(log.id) === run) this.#runs.delete(log.id)
    })
  }

  /** Makes the active run, or a new one, respond to new messages. */
  join(log: Log): void {
    const run = this.#runs.get(log.id)
    if (run === undefined) this.run(log)
    else
      void run.ended.then(() => {
        if (log.status === 'idle' && !this.#runs.has(log.id)) this.run(log)
      })
  }

  pause(log: Log): void {
    log.append({ kind: 'PauseEvent', source: 'user' })
  }

  async interrupt(log: Log): Promise<void> {
    const run = this.#runs.get(log.id)
    run?.stop.abort()
    log.append(...(run === undefined ? [] : closePending(log, 'The call was interrupted.')), {
      kind: 'InterruptEvent',
      source: 'user',
    })
    await run?.ended
  }

  navigate(log: Log, id: string | null): void {
    if (this.#runs.has(log.id)) throw new Refusal(409, 'The conversation is running.')
    const event = id === null ? null : log.get(id)
    if (id !== null && (event === null || event.kind === 'ConversationStateUpdateEvent'))
      throw new Refusal(404, 'Unknown event.')
    log.navigate(id)
  }

  /** Approves or rejects all waiting calls. */
  respond(log: Log, accept: boolean, reason: string | undefined): void {
    if (log.status !== 'waiting_for_confirmation')
      throw new Refusal(409, 'No call of this conversation is waiting for confirmation.')
    const waiting = log.pending()
    if (accept) return this.run(log, new Set(waiting.map(({ id }) => id)))
    const rejections = waiting.map(({ id, tool_name, tool_call_id }) => ({
      kind: 'UserRejectObservation',
      source: 'environment',
      action_id: id,
      tool_name,
      tool_call_id,
      rejection_source: 'user',
      rejection_reason: reason ?? 'User rejected the action',
    }))
    log.append(...rejections)
    log.setStatus('idle')
  }
}

/** `note` appends a line to a file. `wait` waits for a number of seconds, or until it is interrupted. */
const toolsIn = (folder: string): Agent['tools'] => ({
  note: ({ text }) => {
    appendFileSync(join(folder, 'notes.txt'), `${String(text)}\n`)
    return `noted: ${String(text)}`
  },
  wait: ({ seconds }, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve('waited'), Math.min(Number(seconds) * 1_000, MAX_WAIT))
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(new Error('interrupted'))
      })
    }),
})
