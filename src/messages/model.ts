import type { EarlyEnd } from '../event/reply.ts'

type Raw = Readonly<Record<string, unknown>>

interface Described {
  readonly name: string
  readonly parameters: { readonly required?: readonly string[] } | undefined
}

/**
 * A model that calls the first tool, and then replies with the result. Each required argument is the last
 * word of the user's message. Without tools, the model repeats the message.
 */
export const helpfulModel: Model = (request, requestNumber) => {
  const items = itemsOf(request)
  const last = items.at(-1) ?? {}
  const text = textsIn(last).join(' ')
  const [tool] = toolsOf(request)
  if (tool === undefined || isResult(last))
    return { says: [{ think: `thought ${requestNumber}` }, text === '' ? 'Hello!' : text] }
  const word = /(\p{L}+)\P{L}*$/u.exec(text)?.[1] ?? ''
  const args = Object.fromEntries((tool.parameters?.required ?? []).map((name) => [name, word]))
  return { says: [{ think: `thought ${requestNumber}` }, 'I look.', { call: tool.name, args }] }
}

function itemsOf(request: RequestBody): readonly Raw[] {
  const items = request['messages'] ?? request['input'] ?? request['contents']
  return typeof items === 'string' ? [{ content: items }] : (items as readonly Raw[])
}

const isResult = (item: Raw): boolean =>
  item['role'] === 'tool' ||
  item['type'] === 'function_call_output' ||
  item['type'] === 'function_result' ||
  (Array.isArray(item['content']) && item['content'].at(-1)?.type === 'tool_result') ||
  (Array.isArray(item['content']) && item['content'].at(-1)?.toolResult !== undefined) ||
  (Array.isArray(item['parts']) && item['parts'].at(-1)?.functionResponse !== undefined)

function toolsOf({ tools, toolConfig = {} }: Raw): readonly Described[] {
  const listed = ((tools ?? (toolConfig as Raw)['tools'] ?? []) as readonly Raw[]).flatMap(
    (tool) =>
      (tool['functionDeclarations'] ?? tool['function'] ?? tool['toolSpec'] ?? tool) as Raw | readonly Raw[],
  )
  return listed.map((described) => ({
    name: String(described['name']),
    parameters: (described['parameters'] ??
      described['input_schema'] ??
      (described['inputSchema'] as Raw | undefined)?.['json'] ??
      described['parametersJsonSchema']) as Described['parameters'],
  }))
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, field]) =>
    typeof field === 'string'
      ? ['text', 'content', 'output', 'result'].includes(key)
        ? [field]
        : []
      : textsIn(field),
  )
}

/**
 * A part of a reply: text, a thought, a tool call, or a search by the provider. A thought is signed if the
 * provider signs thoughts. Arguments are an object or raw text.
 */
export type ModelPart =
  | string
  | { readonly think: string }
  | { readonly call: string; readonly args?: object | string; readonly id?: string }
  | { readonly search: string }

/** A reply, and how its stream is sent. */
export interface ModelReply {
  /** Parts of the reply, in order. In most grammars, the calls are sent after all other parts. */
  readonly says: readonly ModelPart[]
  /**
   * How the reply ends early. `failed`: the provider reports an error in the middle. Default: the reply is
   * complete.
   */
  readonly end?: Exclude<EarlyEnd, 'broken_off'>
  /** Number of bytes after which the connection is lost. Default: never. */
  readonly cut?: number
  /**
   * Number of bytes in each piece of the stream. Default: one piece for each event, or with `cut`, one piece
   * for all events.
   */
  readonly pieces?: number
  /** Number of event loop turns to wait before each piece. Default: 0. */
  readonly slow?: number
  /** Whether the stream has no end and stays open until the client disconnects. Default: false. */
  readonly endless?: boolean
}

/** A failure of the request, in place of a reply. */
export interface ModelFailure {
  /** `silent`: no byte is sent. `disconnected`: the connection is lost before the first byte. */
  readonly fails: 'too_long' | 'rate_limited' | 'server_error' | 'silent' | 'disconnected'
  /** Seconds until the provider permits a retry. */
  readonly retryAfter?: number
}

/** What a model does on one request. */
export type ModelTurn = ModelReply | ModelFailure

/** The body of a request to a provider. */
export type RequestBody = Readonly<Record<string, unknown>>

/** Returns the model's turn for a request. `requestNumber` counts the accepted requests from 1. */
export type Model = (request: RequestBody, requestNumber: number) => ModelTurn | Promise<ModelTurn>

/**
 * Returns a scripted model that plays the turns in order, and then repeats `rest`.
 * @param rest the turn for each later request; default: `{ says: ['Done.'] }`
 * @example
 * const model = playTurns([{ says: [{ call: 'ls', args: {} }] }])
 * model({}, 1) // { says: [{ call: 'ls', args: {} }] }
 * model({}, 2) // { says: ['Done.'] }
 */
export function playTurns(turns: readonly ModelTurn[], rest: ModelTurn = { says: ['Done.'] }): Model {
  const remaining = [...turns]
  return () => remaining.shift() ?? rest
}
