/** Converts the tools of an MCP server. */

import { ColloquyError } from '../event/errors.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { StepTool } from './tool.ts'

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
}

/** A tool as a server lists it. */
export interface McpTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: object
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined
}

export interface McpToolOptions {
  /**
   * Renames a tool for the model, as `(name) => `files_${name}``, if servers share names. Default: unchanged.
   */
  readonly name?: (name: string) => string
  /** Selects tools of the list. Default: all. */
  readonly include?: (tool: McpTool) => boolean
  /**
   * Whether tools that the server declares read-only or idempotent are executed again after a crash. Trust
   * these hints only if you trust the server. Default: no.
   */
  readonly trustHints?: boolean
  /** Options of each request, such as `timeout` (60 seconds in the SDK by default). Default: none. */
  readonly request?: object
  /** Aborts the listing. */
  readonly signal?: AbortSignal
}

/** Maximum number of pages of a list. */
const MAX_PAGES = 1000

/**
 * Returns the tools of an MCP server for a step. A call is a `tools/call` that an interrupt aborts. A result
 * with `isError` is an error result; images, audio, resources and structured content reach the model. The
 * server checks the arguments. The list is read once: call this again after
 * `notifications/tools/list_changed`.
 * @throws ColloquyError `invalid_argument` for two tools with one name, or an endless list; also any error of
 *   the client.
 * @example
 * const client = { listTools: async () => ({ tools: [{ name: 'now', inputSchema: { type: 'object' } }] }),
 *   callTool: async () => ({ content: [{ type: 'text', text: '12:00' }] }) }
 * const tools = await mcpTools(client)
 * tools[0].name // 'now'
 */
export async function mcpTools(client: McpClient, options: McpToolOptions = {}): Promise<StepTool[]> {
  const { name: rename = (name) => name, include = () => true, signal } = options
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
      const name = rename(listed.name)
      if (tools.has(name))
        throw invalid(`The server lists two tools named ${name}. Rename one: mcpTools(client, { name }).`)
      tools.set(name, toolOf(client, listed, name, options))
    }
    cursor = page.nextCursor
    if (cursor !== undefined && (cursors.has(cursor) || cursors.size === MAX_PAGES))
      throw invalid('The list of tools has no end: the server repeats a cursor.')
    if (cursor !== undefined) cursors.add(cursor)
  } while (cursor !== undefined)
  return [...tools.values()]
}

const invalid = (message: string): ColloquyError => new ColloquyError('invalid_argument', message)

type CallTool = (
  params: { name: string; arguments?: Record<string, unknown> },
  ...more: readonly unknown[]
) => PromiseLike<object>

function toolOf(
  client: McpClient,
  listed: McpTool,
  name: string,
  { trustHints = false, request }: McpToolOptions,
): StepTool {
  const { readOnlyHint, idempotentHint } = listed.annotations ?? {}
  return {
    name,
    description: listed.description ?? '',
    parameters: listed.inputSchema as JsonObject,
    ...(trustHints && (readOnlyHint === true || idempotentHint === true) && { repeatable: true }),
    execute(args, { signal }) {
      const params = { name: listed.name, arguments: args as Record<string, unknown> }
      const call = client.callTool.bind(client) as unknown as CallTool
      const more = { ...request, signal }
      // Version 1 has a schema of the result, with a default, before its options; version 2 has only options.
      return call.length === 2 ? call(params, more) : call(params, undefined, more)
    },
  }
}
