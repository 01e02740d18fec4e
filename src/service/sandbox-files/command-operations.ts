import { ColloquyError } from '../../event/errors.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { Latest } from '../conversations/starts.ts'
import { parseInstant } from '../../event/time.ts'
import { objectOf, operation, type Operation, pageOfSchema } from '../http/operation.ts'
import { firstInBytes } from '../http/page-bytes.ts'
import {
  dateTime,
  integer as whole,
  oneOf,
  optional,
  text as anyText,
  withDefault,
} from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { commandBody } from '../request-schema.ts'
import { REFUSED, requireFiles, type SandboxFiles } from './contract.ts'

type CommandEvent =
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

interface Command {
  readonly command: string
  readonly cwd: string
  /** Seconds. */
  readonly timeout: number
}

const MAX_EVENTS = 1_000
const MAX_SCOPES = 100
const MAX_CHARS = 2 ** 26

const STOPPED = -15

class Commands {
  readonly #events = new Map<string, CommandEvent>()
  readonly #running = new Map<string, AbortController>()
  #text = 0

  get all(): readonly CommandEvent[] {
    return [...this.#events.values()]
  }

  find(id: string): CommandEvent | null {
    return this.#events.get(id) ?? null
  }

  clear(): number {
    const { size } = this.#events
    this.#events.clear()
    this.#text = 0
    return size
  }

  /** Starts a command. `output` resolves when it has ended, and rejects if it cannot be run. */
  start(
    files: SandboxFiles,
    { command, cwd, timeout }: Command,
  ): { readonly event: CommandEvent; readonly output: Promise<CommandEvent> } {
    const event = this.#add({ kind: 'BashCommand', ...fresh(), command, cwd, timeout })
    const stop = new AbortController()
    this.#running.set(event.id, stop)
    const output = files
      .run(command, cwd, timeout * 1_000, stop.signal)
      .finally(() => this.#running.delete(event.id))
      .then((result) =>
        this.#add({
          kind: 'BashOutput',
          ...fresh(),
          command_id: event.id,
          order: 0,
          ...result,
          ...(stop.signal.aborted && { exit_code: STOPPED }),
        }),
      )
    return { event, output }
  }

  stop(id: string): boolean {
    this.#running.get(id)?.abort()
    return this.#events.get(id)?.kind === 'BashCommand'
  }

  #add(event: CommandEvent): CommandEvent {
    this.#events.set(event.id, event)
    this.#text += sizeOf(event)
    for (const [id, oldest] of this.#events) {
      if (this.#events.size <= MAX_EVENTS && this.#text <= MAX_CHARS) break
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

const tag = 'Commands'

const EVENT = { type: 'object', required: ['kind', 'id', 'timestamp'] } as const
const UNKNOWN = { 404: { description: 'Unknown event' } }

function commandOf(body: {
  readonly command: string
  readonly cwd?: string | null | undefined
  readonly timeout?: number | undefined
}): Command {
  const { command, cwd = null, timeout = 300 } = body
  if (cwd === null) throw new HttpProblem(400, '`cwd` is missing. Pass the folder of a sandbox.')
  return { command, cwd, timeout }
}

export function commandOperations(files: SandboxFiles | null): Operation[] {
  const commands = new Commands()
  const scopes = new Latest<Commands>(MAX_SCOPES)
  const historyOf = (path: object): Commands => {
    const { conversation_id: id } = path as { readonly conversation_id?: string }
    if (id === undefined) return commands
    const history = scopes.get(id) ?? new Commands()
    scopes.set(id, history)
    return history
  }
  return [
    operation(
      'post /api/bash/execute_bash_command',
      {
        name: 'execute_bash_command',
        tag,
        body: commandBody,
        replies: { 200: { description: 'The output', schema: EVENT }, ...REFUSED },
      },
      async ({ body, path }) => ({
        body: await historyOf(path).start(requireFiles(files), commandOf(body)).output,
      }),
    ),
    operation(
      'post /api/bash/start_bash_command',
      {
        name: 'start_bash_command',
        tag,
        body: commandBody,
        replies: {
          200: { description: 'Started; its output is appended to the events', schema: EVENT },
          ...REFUSED,
        },
      },
      async ({ body, path }) => {
        const available = requireFiles(files)
        const command = commandOf(body)
        // Report an invalid folder now: the client does not wait for the end.
        await available.list(command.cwd)
        const { event, output } = historyOf(path).start(available, command)
        output.catch(() => undefined)
        return { body: event }
      },
    ),
    operation(
      'get /api/bash/bash_events/search',
      {
        name: 'search_bash_events',
        tag,
        query: {
          kind__eq: optional(oneOf(['BashCommand', 'BashOutput'])),
          command_id__eq: optional(anyText()),
          timestamp__gte: optional(dateTime()),
          timestamp__lt: optional(dateTime()),
          order__gt: optional(whole({})),
          sort_order: withDefault(oneOf(['TIMESTAMP', 'TIMESTAMP_DESC']), 'TIMESTAMP'),
          page_id: optional(anyText()),
          limit: withDefault(whole({ min: 1, max: 100 }), 100),
        },
        replies: {
          200: {
            description:
              'The latest 1,000 of this process; `page_id` is the id of the last event of the previous page, which must still be stored',
            schema: pageOfSchema(EVENT),
          },
          422: { description: 'Invalid query' },
        },
      },
      ({ query: { sort_order, page_id: after, limit, ...filter }, path }) => {
        const events = historyOf(path).all
        const sorted = sort_order === 'TIMESTAMP' ? events : events.toReversed()
        const all = sorted.slice(indexAfter(sorted, after)).filter((event) => fits(event, filter))
        const items = firstInBytes(all, limit)
        return {
          body: { items, next_page_id: all.length > items.length ? (items.at(-1)?.id ?? null) : null },
        }
      },
    ),
    operation(
      'get /api/bash/bash_events/{event_id}',
      { name: 'get_bash_event', tag, replies: { 200: { schema: EVENT }, ...UNKNOWN } },
      ({ path }) => {
        const event = historyOf(path).find(path.event_id)
        if (event === null) throw new HttpProblem(404, 'Event not found.')
        return { body: event }
      },
    ),
    operation(
      'delete /api/bash/bash_events',
      {
        name: 'clear_all_bash_events',
        tag,
        replies: {
          200: {
            description: 'The number of deleted events',
            schema: objectOf({ cleared_count: { type: 'integer' } }),
          },
        },
      },
      ({ path }) => ({ body: { cleared_count: historyOf(path).clear() } }),
    ),
    operation(
      'post /api/bash/bash_commands/{command_id}/stop',
      {
        name: 'stop_bash_command',
        tag,
        replies: {
          200: { description: 'Stopped, or ended before', schema: SUCCESS_SCHEMA },
          404: { description: 'Unknown command' },
        },
      },
      ({ path }) => {
        if (historyOf(path).stop(path.command_id)) return { body: SUCCESS }
        throw new HttpProblem(404, 'Command not found.')
      },
    ),
  ]
}

/**
 * The index after an event.
 * @throws ColloquyError `invalid_cursor` if the event is no longer stored.
 */
function indexAfter(events: readonly CommandEvent[], id: string | null): number {
  if (id === null) return 0
  const index = events.findIndex((event) => event.id === id)
  if (index >= 0) return index + 1
  throw new ColloquyError('invalid_cursor', 'Invalid cursor: its event is no longer stored.', {
    reason: 'altered',
  })
}

interface Filter {
  readonly kind__eq: string | null
  readonly command_id__eq: string | null
  readonly timestamp__gte: string | null
  readonly timestamp__lt: string | null
  readonly order__gt: number | null
}

function fits(event: CommandEvent, filter: Filter): boolean {
  const {
    kind__eq: kind,
    command_id__eq: command,
    timestamp__gte: from,
    timestamp__lt: to,
    order__gt: order,
  } = filter
  const instant = parseInstant(event.timestamp) ?? 0n
  const id = event.kind === 'BashCommand' ? event.id : event.command_id
  return (
    (kind === null || event.kind === kind) &&
    (command === null || id === command) &&
    (from === null || instant >= (parseInstant(from) ?? 0n)) &&
    (to === null || instant < (parseInstant(to) ?? 0n)) &&
    (order === null || (event.kind === 'BashOutput' && event.order > order))
  )
}
