/** The commands that were run in sandboxes, and what came of them: the latest, for as long as the process lives. */

import type { SandboxFiles } from './contract.ts'

/** A command, or what came of one. */
export type CommandEvent =
  | {
      readonly kind: 'BashCommand'
      readonly id: string
      readonly timestamp: string
      readonly command: string
      readonly cwd: string
      readonly timeout: number
    }
  | {
      readonly kind: 'BashOutput'
      readonly id: string
      readonly timestamp: string
      readonly command_id: string
      readonly order: number
      readonly exit_code: number
      readonly stdout: string
      readonly stderr: string
    }

/** What is run. */
export interface Command {
  readonly command: string
  readonly cwd: string
  /** Seconds. */
  readonly timeout: number
}

const MOST = 1_000
/** Characters of the output of them all. */
const MOST_TEXT = 2 ** 26

/** The commands of a service. */
export class Commands {
  readonly #events = new Map<string, CommandEvent>()
  #text = 0

  /** In the order in which they came. */
  get all(): readonly CommandEvent[] {
    return [...this.#events.values()]
  }

  find(id: string): CommandEvent | null {
    return this.#events.get(id) ?? null
  }

  /** Gives how many there were. */
  clear(): number {
    const { size } = this.#events
    this.#events.clear()
    this.#text = 0
    return size
  }

  /** Begins one; `output` resolves when it has ended, and rejects for what cannot be run. */
  start(
    files: SandboxFiles,
    { command, cwd, timeout }: Command,
  ): { readonly event: CommandEvent; readonly output: Promise<CommandEvent> } {
    const event = this.#add({ kind: 'BashCommand', ...fresh(), command, cwd, timeout })
    const output = files
      .run(command, cwd, timeout * 1_000)
      .then((told) => this.#add({ kind: 'BashOutput', ...fresh(), command_id: event.id, order: 0, ...told }))
    return { event, output }
  }

  #add(event: CommandEvent): CommandEvent {
    this.#events.set(event.id, event)
    this.#text += sizeOf(event)
    for (const [id, oldest] of this.#events) {
      if (this.#events.size <= MOST && this.#text <= MOST_TEXT) break
      this.#events.delete(id)
      this.#text -= sizeOf(oldest)
    }
    return event
  }
}

const sizeOf = (event: CommandEvent): number =>
  event.kind === 'BashCommand' ? event.command.length : event.stdout.length + event.stderr.length

const fresh = (): { readonly id: string; readonly timestamp: string } => ({
  id: crypto.randomUUID(),
  timestamp: new Date().toISOString(),
})
