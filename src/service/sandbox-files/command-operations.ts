import { LRUCache } from 'lru-cache'
import { ColloquyError } from '../../event/errors.ts'
import { parseInstant } from '../../event/time.ts'
import { PAGING } from '../events/search.ts'
import { type BodyOf, objectOf, operationsIn, type Operation, pageOfSchema } from '../http/operation.ts'
import { firstInBytes } from '../http/paging.ts'
import type { ValuesOf } from '../http/parameters.ts'
import { dateTime, integer as whole, oneOf, optional, text as anyText } from '../http/parameters.ts'
import { describeFailure, HttpProblem } from '../http/problem.ts'
import { fresh } from '../live/server-frames.ts'
import { SlowReader } from '../live/start.ts'
import { commandBody } from '../request-schema.ts'
import { type CommandOutput, REFUSED, requireFiles, type SandboxFiles } from './contract.ts'

export type CommandEvent = ReturnType<typeof fresh> &
  (
    | {
        readonly kind: 'BashCommand'
        readonly command: string
        readonly cwd: string
        readonly timeout: number
      }
    | ({ readonly kind: 'BashOutput'; readonly command_id: string; readonly order: number } & CommandOutput)
  )

interface Reader {
  wake: (() => void) | null
}

const MAX_EVENTS = 1_000
const MAX_SCOPES = 100
const MAX_CHARS = 2 ** 26
const MAX_READERS = 50

const STOPPED = -15

/** The latest commands that this process ran for the service, or for one conversation, with their output. */
export class Commands {
  readonly #files: SandboxFiles | null
  #events: CommandEvent[] = []
  /** Number of events that were removed. `#cleared` is the value of this number after the latest `clear`. */
  #dropped = 0
  #cleared = 0
  #text = 0
  readonly #running = new Map<string, AbortController>()
  readonly #readers = new Set<Reader>()

  constructor(files: SandboxFiles | null) {
    this.#files = files
  }

  get all(): readonly CommandEvent[] {
    return this.#events
  }

  find(id: string): CommandEvent | null {
    return this.#events.find((event) => event.id === id) ?? null
  }

  clear(): number {
    const { length } = this.#events
    this.#cleared = this.#dropped += length
    this.#events = []
    this.#text = 0
    return length
  }

  /**
   * Starts a command. `output` resolves when the command has ended. If the command cannot be run, `output`
   * rejects, and readers receive an output event with the error. @throws HttpProblem for a missing or invalid `cwd`.
   */
  async start({ command, cwd: folder = null, timeout = 300 }: BodyOf<typeof commandBody>): Promise<{
    readonly event: CommandEvent
    readonly output: Promise<CommandEvent>
  }> {
    const files = requireFiles(this.#files)
    const cwd = await folderIn(files, folder)
    // Report an invalid folder now: not every client waits for the end.
    await files.list(cwd)
    const event = this.#add({ kind: 'BashCommand', ...fresh(), command, cwd, timeout })
    const stop = new AbortController()
    this.#running.set(event.id, stop)
    const end = (result: CommandOutput): CommandEvent =>
      this.#add({ kind: 'BashOutput', ...fresh(), command_id: event.id, order: 0, ...result })
    const output = files
      .run(command, cwd, timeout * 1_000, stop.signal)
      .finally(() => this.#running.delete(event.id))
      .then(
        (result) => end({ ...result, ...(stop.signal.aborted && { exit_code: STOPPED }) }),
        (error: unknown) => {
          const { detail } = describeFailure(error)
          end({ exit_code: -1, stdout: '', stderr: `Error executing command: ${detail}` })
          throw error
        },
      )
    output.catch(() => undefined)
    return { event, output }
  }

  /** Stops a command. Returns false if the command is unknown. */
  stop(id: string): boolean {
    const running = this.#running.get(id)
    running?.abort()
    return running !== undefined || this.find(id)?.kind === 'BashCommand'
  }

  /**
   * Yields each new event once, in order, until the signal is aborted. If `includeStored` is true, yields all
   * stored events first. A reader has no queue: it reads the stored events, and throws SlowReader if an event
   * was dropped before the reader received it.
   * @throws HttpProblem 429 for too many readers.
   */
  follow(includeStored: boolean, signal: AbortSignal): AsyncGenerator<CommandEvent, void, undefined> {
    if (this.#readers.size >= MAX_READERS)
      throw new HttpProblem(429, 'Too many clients are reading bash events. Try again later.')
    const reader: Reader = { wake: null }
    this.#readers.add(reader)
    signal.addEventListener('abort', () => {
      this.#readers.delete(reader)
      reader.wake?.()
    })
    return this.#read(this.#dropped + (includeStored ? 0 : this.#events.length), reader, signal)
  }

  async *#read(
    begin: number,
    reader: Reader,
    signal: AbortSignal,
  ): AsyncGenerator<CommandEvent, void, undefined> {
    for (let next = begin; !signal.aborted;) {
      next = Math.max(next, this.#cleared)
      if (next < this.#dropped) throw new SlowReader('The reader is too slow.')
      const event = this.#events[next - this.#dropped]
      if (event === undefined) await new Promise<void>((resolve) => (reader.wake = resolve))
      else {
        next += 1
        yield event
      }
    }
  }

  #add(event: CommandEvent): CommandEvent {
    this.#events.push(event)
    this.#text += eventSize(event)
    while (this.#events.length > MAX_EVENTS || this.#text > MAX_CHARS) {
      const [oldest = event] = this.#events.splice(0, 1)
      this.#text -= eventSize(oldest)
      this.#dropped += 1
    }
    for (const { wake } of this.#readers) wake?.()
    return event
  }
}

async function folderIn(files: SandboxFiles, cwd: string | null): Promise<string> {
  if (cwd === null) throw new HttpProblem(400, '`cwd` is missing. Pass the folder of a sandbox.')
  if (cwd.startsWith('/')) return cwd
  const folder = `${files.home}/${cwd}`
  await files.makeFolder(folder)
  return folder
}

const eventSize = (event: CommandEvent): number =>
  event.kind === 'BashCommand' ? event.command.length : event.stdout.length + event.stderr.length

const operation = operationsIn('Commands')

const EVENT = { type: 'object', required: ['kind', 'id', 'timestamp'] } as const

const FILTERS = {
  kind__eq: optional(oneOf(['BashCommand', 'BashOutput'])),
  command_id__eq: optional(anyText()),
  timestamp__gte: optional(dateTime()),
  timestamp__lt: optional(dateTime()),
  order__gt: optional(whole({})),
} as const

export function commandOperations(files: SandboxFiles | null, commands: Commands): Operation[] {
  const scopes = new LRUCache<string, Commands>({ max: MAX_SCOPES })
  const historyOf = (path: object): Commands => {
    const { conversation_id: id } = path as { readonly conversation_id?: string }
    if (id === undefined) return commands
    const history = scopes.get(id) ?? new Commands(files)
    scopes.set(id, history)
    return history
  }
  return [
    operation('post /api/bash/execute_bash_command', {
      name: 'execute_bash_command',
      body: commandBody,
      returns: EVENT,
      description: 'The output',
      otherwise: REFUSED,
      handle: async ({ body, path }) => (await historyOf(path).start(body)).output,
    }),
    operation('post /api/bash/start_bash_command', {
      name: 'start_bash_command',
      body: commandBody,
      returns: EVENT,
      description: 'The command has started; its output is appended to the events',
      otherwise: REFUSED,
      handle: async ({ body, path }) => (await historyOf(path).start(body)).event,
    }),
    operation('get /api/bash/bash_events/search', {
      name: 'search_bash_events',
      query: { ...FILTERS, ...PAGING },
      returns: pageOfSchema(EVENT),
      description:
        'The latest 1,000 of this process; `page_id` is the id of the last event of the previous page, which must still be stored',
      otherwise: { 422: 'Invalid query' },
      handle({ query: { sort_order, page_id: after, limit, ...filter }, path }) {
        const events = historyOf(path).all
        const sorted = sort_order === 'TIMESTAMP' ? events : events.toReversed()
        const all = sorted.slice(indexAfter(sorted, after)).filter((event) => fits(event, filter))
        const items = firstInBytes(all, limit)
        return { items, next_page_id: all.length > items.length ? (items.at(-1)?.id ?? null) : null }
      },
    }),
    operation('get /api/bash/bash_events/{event_id}', {
      name: 'get_bash_event',
      returns: EVENT,
      otherwise: { 404: 'Unknown event' },
      handle({ path }) {
        const event = historyOf(path).find(path.event_id)
        if (event === null) throw new HttpProblem(404, 'Event not found.')
        return event
      },
    }),
    operation('delete /api/bash/bash_events', {
      name: 'clear_all_bash_events',
      returns: objectOf({ cleared_count: 'integer' }),
      description: 'The number of deleted events',
      handle: ({ path }) => ({ cleared_count: historyOf(path).clear() }),
    }),
    operation('post /api/bash/bash_commands/{command_id}/stop', {
      name: 'stop_bash_command',
      description: 'The command has stopped, or had already ended',
      otherwise: { 404: 'Unknown command' },
      handle({ path }) {
        if (!historyOf(path).stop(path.command_id)) throw new HttpProblem(404, 'No command has this id.')
      },
    }),
  ]
}

function indexAfter(events: readonly CommandEvent[], id: string | null): number {
  if (id === null) return 0
  const index = events.findIndex((event) => event.id === id)
  if (index >= 0) return index + 1
  throw new ColloquyError(
    'invalid_cursor',
    'Invalid cursor: its event is no longer stored. Start from the first page.',
    { reason: 'altered' },
  )
}

function fits(event: CommandEvent, filter: ValuesOf<typeof FILTERS>): boolean {
  const { timestamp__gte: from, timestamp__lt: to, order__gt: order } = filter
  const instant = parseInstant(event.timestamp) ?? 0n
  const id = event.kind === 'BashCommand' ? event.id : event.command_id
  return (
    (filter.kind__eq === null || event.kind === filter.kind__eq) &&
    (filter.command_id__eq === null || id === filter.command_id__eq) &&
    (from === null || instant >= (parseInstant(from) ?? 0n)) &&
    (to === null || instant < (parseInstant(to) ?? 0n)) &&
    (order === null || (event.kind === 'BashOutput' && event.order > order))
  )
}
