import { checkOptionNames, invalid, invalidArgument } from '../event/check-value.ts'
import { hasCode } from '../event/errors.ts'
import type { JsonObject } from '../event/shapes.ts'
import { pause } from '../conversation/async.ts'
import { isObject } from '../event/json.ts'
import { hashText } from '../event/text.ts'
import { objectOf, toolName } from '../messages/text.ts'
import { background, type StepTool, type ToolOutput } from './tool.ts'

/** A `Client` of the MCP SDK (versions 1 and 2), or an object of that shape. */
export interface McpClient {
  listTools(
    params?: { readonly cursor?: string },
    options?: { readonly signal?: AbortSignal },
  ): PromiseLike<{ readonly tools: readonly McpTool[]; readonly nextCursor?: string | undefined }>
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    ...options: never[]
  ): PromiseLike<object>
  request?(...args: never[]): PromiseLike<unknown>
}

/** A tool in a server's list. */
export interface McpTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: object
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined
}

/** Options of `mcpTools`. */
export interface McpToolOptions {
  /**
   * Returns the name that the model sees, for example `files_${name}`. Default: the name on the server. In
   * the name, underscores replace characters that providers reject, such as dots. A name of more than 64
   * characters is shortened to 64 and ends with a digest of the whole name.
   */
  readonly name?: (name: string) => string
  /** Returns whether to include a tool of the server. Default: all tools are included. */
  readonly include?: (tool: McpTool) => boolean
  /**
   * Whether calls of a tool that the server declares read-only or idempotent are repeated after a crash. Use
   * this only for servers that you trust. Default: false.
   */
  readonly trustHints?: boolean
  /**
   * Whether to use MCP tasks for tools that support them (`execution.taskSupport`). A task becomes a
   * background call, and is polled until it ends, even after a crash. Cancelling the call cancels the task.
   * Default: false. If a tool requires tasks, its calls always use tasks.
   */
  readonly tasks?: boolean
  /** Options of each `tools/call` and task request, such as `timeout` (the SDK's default is 60 seconds). */
  readonly request?: object
  /** Aborting it aborts the requests for the list of tools. */
  readonly signal?: AbortSignal
}

const MAX_PAGES = 1000

/**
 * Returns the tools of an MCP server, for a step. The model also receives images, audio, resources and
 * structured content of the tools' results. A result with `isError` is an error result. The server checks the
 * arguments. An interrupt aborts `tools/call`. After `notifications/tools/list_changed`, call `mcpTools`
 * again.
 * @throws ColloquyError `invalid_argument` if two tools have the same name, or if the server's list of tools
 *   repeats a cursor or has more than 1,000 pages; any error of the client.
 * @example
 * const client = { listTools: async () => ({ tools: [{ name: 'now', inputSchema: { type: 'object' } }] }),
 *   callTool: async () => ({ content: [{ type: 'text', text: '12:00' }] }) }
 * const tools = await mcpTools(client)
 * tools[0].name // 'now'
 */
export async function mcpTools(client: McpClient, options: McpToolOptions = {}): Promise<StepTool[]> {
  checkOptionNames(options, 'name include trustHints tasks request signal')
  const { name: rename = (name) => name, include = () => true, signal } = options
  // Without a listener, the SDK requests no progress reports, and `resetTimeoutOnProgress` has no effect.
  const resets = (options.request as { readonly resetTimeoutOnProgress?: unknown })?.resetTimeoutOnProgress
  const request =
    resets === true ? { onprogress: () => undefined, ...options.request } : (options.request ?? {})
  const tools = new Map<string, StepTool>()
  const cursors = new Set<string>()
  let cursor: string | undefined
  do {
    // Each page has the cursor of the next.
    // oxlint-disable-next-line no-await-in-loop
    const page = await client.listTools(
      cursor === undefined ? undefined : { cursor },
      signal === undefined ? undefined : { signal },
    )
    for (const listed of page.tools.filter(include)) {
      const renamed: unknown = rename(listed.name)
      if (typeof renamed !== 'string' || renamed === '')
        invalidArgument('name', 'must return a non-empty string')
      const legal = toolName(renamed, Infinity)
      const name = legal.length <= 64 ? legal : `${legal.slice(0, 55)}_${hashText(renamed).slice(0, 8)}`
      if (tools.has(name))
        throw invalid(
          `Two tools of the server have the name ${name}. Make \`name\` return unique names, or \`include\` reject one of them.`,
        )
      tools.set(name, toolOf(client, listed, name, { ...options, request }))
    }
    // Some servers end the list with an empty cursor.
    cursor = page.nextCursor || undefined
    if (cursor !== undefined && (cursors.has(cursor) || cursors.size === MAX_PAGES))
      throw invalid(
        `The server's tool list repeats a cursor or exceeds ${MAX_PAGES} pages. Fix the pagination of the server.`,
      )
    if (cursor !== undefined) cursors.add(cursor)
  } while (cursor !== undefined)
  // Some servers list tools in random order. A changed order would invalidate caches and signed reasoning.
  return [...tools.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

type CallTool = (
  params: { name: string; arguments?: Record<string, unknown> },
  ...more: readonly unknown[]
) => PromiseLike<object>

function toolOf(
  client: McpClient,
  listed: McpTool,
  name: string,
  { trustHints = false, request, tasks = false }: McpToolOptions,
): StepTool {
  const { readOnlyHint, idempotentHint } = listed.annotations ?? {}
  const described = {
    name,
    description: listed.description ?? '',
    parameters: objectOf(listed.inputSchema) as JsonObject,
  }
  const support = listed.execution?.taskSupport
  if (client.request !== undefined && (support === 'required' || (tasks && support === 'optional')))
    return { ...described, ...taskCalls(client, listed.name, request) }
  return {
    ...described,
    ...(trustHints && (readOnlyHint === true || idempotentHint === true) && { repeatable: true }),
    execute(args, { signal }) {
      const params = { name: listed.name, arguments: args as Record<string, unknown> }
      const call = client.callTool.bind(client) as unknown as CallTool
      const more = { ...request, signal }
      // In version 1, the schema of the result is the second argument. Version 2 has no such argument.
      return call.length === 2 ? call(params, more) : call(params, undefined, more)
    },
  }
}

type McpRequest = (request: object, schema: object, options: object) => PromiseLike<unknown>

/** A schema that accepts any result. Version 1 of the SDK calls `safeParse`, version 2 calls `validate`. */
const ANY_SCHEMA = {
  safeParse: (data: unknown) => ({ success: true, data }),
  '~standard': { version: 1, vendor: 'colloquy', validate: (value: unknown) => ({ value }) },
}

const IMMEDIATE = 'io.modelcontextprotocol/model-immediate-response'
/** Milliseconds between two polls, unless the server asks for another interval. */
const POLL_INTERVAL = 2_000
const MIN_POLL_INTERVAL = 10
const MAX_FAILURES = 5

function taskCalls(client: McpClient, name: string, options = {}): Pick<StepTool, 'execute' | 'resume'> {
  const request = (client.request as unknown as McpRequest).bind(client)
  const send = async (method: string, params: object, signal?: AbortSignal): Promise<JsonObject> => {
    const result = await request({ method, params }, ANY_SCHEMA, { ...options, ...(signal && { signal }) })
    return isObject(result) ? result : {}
  }
  const poll = async (taskId: string, signal: AbortSignal): Promise<ToolOutput> => {
    let wait = POLL_INTERVAL
    for (let failures = 0; ;) {
      if (signal.aborted) {
        // If only this process ends, another process continues to poll the task.
        if (!hasCode(signal.reason, 'closed')) await send('tasks/cancel', { taskId }).catch(() => undefined)
        throw signal.reason
      }
      let isAsking = false
      try {
        const { status, pollInterval, statusMessage } = await send('tasks/get', { taskId }, signal)
        if (typeof pollInterval === 'number') wait = Math.max(MIN_POLL_INTERVAL, pollInterval)
        // The server sends its questions to the client, such as elicitations, before it answers `tasks/result`.
        isAsking = status === 'input_required'
        if (status === 'completed' || status === 'failed' || isAsking)
          return await send('tasks/result', { taskId }, signal)
        if (status === 'cancelled') return new Error(`The server cancelled the task. ${statusMessage ?? ''}`)
        failures = 0
      } catch (error) {
        failures += isAsking ? 0 : 1
        if (failures === MAX_FAILURES && !signal.aborted) throw error
      }
      await pause(wait, signal)
    }
  }
  return {
    async execute(args, { signal }) {
      const created = await send('tools/call', { name, arguments: args, task: {} }, signal)
      const { task, _meta: meta } = created
      const taskId = isObject(task) ? task['taskId'] : undefined
      if (typeof taskId !== 'string') return created
      const content = isObject(meta) ? meta[IMMEDIATE] : undefined
      return background((context) => poll(taskId, context.signal), {
        task: { mcp_task: taskId },
        ...(typeof content === 'string' && { content }),
      })
    },
    resume(task, { signal }) {
      const taskId = isObject(task) ? task['mcp_task'] : undefined
      return typeof taskId === 'string' ? poll(taskId, signal) : new Error('The task is unknown.')
    },
  }
}
