/** Commands in the folders of sandboxes, as an agent server runs them. */

import { ColloquyError } from '../../event/errors.ts'
import { parseInstant } from '../../event/time.ts'
import { listOf, maybe, objectOf, operation, type Operation } from '../http/operation.ts'
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
import { REFUSED, required, type SandboxFiles } from './contract.ts'

/** A command, or what came of one. */
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

/** What is run. */
interface Command {
  readonly command: string
  readonly cwd: string
  /** Seconds. */
  readonly timeout: number
}

const MOST = 1_000
/** Characters of the output of them all. */
const MOST_TEXT = 2 ** 26

/** The commands of a service. */
class Commands {
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

const tag = 'Commands'

const EVENT = { type: 'object', required: ['kind', 'id', 'timestamp'] } as const
const UNKNOWN = { 404: { description: 'There is no such event, or no more' } }

/** A command says in which sandbox it is run by its folder: there may be several. */
function commandOf(body: {
  readonly command: string
  readonly cwd?: string | null | undefined
  readonly timeout?: number | undefined
}): Command {
  const { command, cwd = null, timeout = 300 } = body
  if (cwd === null) throw new HttpProblem(400, 'Pass the folder of a sandbox as `cwd`.')
  return { command, cwd, timeout }
}

export function commandOperations(files: SandboxFiles | null): Operation[] {
  const commands = new Commands()
  return [
    operation(
      {
        method: 'post',
        path: '/api/bash/execute_bash_command',
        operationId: 'execute_bash_command_api_bash_execute_bash_command_post',
        tag,
        summary: 'Run A Command',
        body: commandBody,
        replies: { 200: { description: 'What came of it', schema: EVENT }, ...REFUSED },
      },
      async ({ body }) => ({ body: await commands.start(required(files), commandOf(body)).output }),
    ),
    operation(
      {
        method: 'post',
        path: '/api/bash/start_bash_command',
        operationId: 'start_bash_command_api_bash_start_bash_command_post',
        tag,
        summary: 'Begin A Command',
        body: commandBody,
        replies: {
          200: { description: 'It goes on; what comes of it is among the events', schema: EVENT },
          ...REFUSED,
        },
      },
      async ({ body }) => {
        const place = required(files)
        const command = commandOf(body)
        // Refused before it is begun: its caller does not wait for the end.
        await place.list(command.cwd)
        const { event, output } = commands.start(place, command)
        output.catch(() => undefined)
        return { body: event }
      },
    ),
    operation(
      {
        method: 'get',
        path: '/api/bash/bash_events/search',
        operationId: 'search_bash_events_api_bash_bash_events_search_get',
        tag,
        summary: 'Search Commands And What Came Of Them',
        query: {
          kind__eq: optional(oneOf(['BashCommand', 'BashOutput'])),
          command_id__eq: optional(anyText()),
          timestamp__gte: optional(dateTime()),
          timestamp__lt: optional(dateTime()),
          order__gt: optional(whole({})),
          sort_order: withDefault(oneOf(['TIMESTAMP', 'TIMESTAMP_DESC']), 'TIMESTAMP'),
          page_id: optional(anyText()),
          limit: withDefault(whole({ least: 1, most: 100 }), 100),
        },
        replies: {
          200: {
            description:
              'The latest 1,000 of this process; `page_id` is the id of the last of the page before, and must be kept still',
            schema: objectOf({ items: listOf(EVENT), next_page_id: maybe({ type: 'string' }) }),
          },
          422: { description: 'The query is wrong' },
        },
      },
      ({ query: { sort_order, page_id: after, limit, ...filter } }) => {
        const sorted = sort_order === 'TIMESTAMP' ? commands.all : commands.all.toReversed()
        const all = sorted.slice(placeAfter(sorted, after)).filter((event) => fits(event, filter))
        const items = firstInBytes(all, limit)
        return {
          body: { items, next_page_id: all.length > items.length ? (items.at(-1)?.id ?? null) : null },
        }
      },
    ),
    operation(
      {
        method: 'get',
        path: '/api/bash/bash_events/{event_id}',
        operationId: 'get_bash_event_api_bash_bash_events__event_id__get',
        tag,
        summary: 'Get A Command, Or What Came Of One',
        params: { event_id: anyText() },
        replies: { 200: { description: 'Successful Response', schema: EVENT }, ...UNKNOWN },
      },
      ({ path }) => {
        const event = commands.find(path.event_id)
        if (event === null) throw new HttpProblem(404, 'Event not found.')
        return { body: event }
      },
    ),
    operation(
      {
        method: 'delete',
        path: '/api/bash/bash_events',
        operationId: 'clear_all_bash_events_api_bash_bash_events_delete',
        tag,
        summary: 'Forget Commands',
        replies: {
          200: {
            description: 'How many there were',
            schema: objectOf({ cleared_count: { type: 'integer' } }),
          },
        },
      },
      () => ({ body: { cleared_count: commands.clear() } }),
    ),
  ]
}

/** Where the page after an event begins. @throws ColloquyError `invalid_cursor` for one that is not there any more. */
function placeAfter(events: readonly CommandEvent[], id: string | null): number {
  if (id === null) return 0
  const at = events.findIndex((event) => event.id === id)
  if (at >= 0) return at + 1
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
  const at = parseInstant(event.timestamp) ?? 0n
  const id = event.kind === 'BashCommand' ? event.id : event.command_id
  return (
    (kind === null || event.kind === kind) &&
    (command === null || id === command) &&
    (from === null || at >= (parseInstant(from) ?? 0n)) &&
    (to === null || at < (parseInstant(to) ?? 0n)) &&
    (order === null || (event.kind === 'BashOutput' && event.order > order))
  )
}
