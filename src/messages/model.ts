/** What a scripted model does when it is asked, in no provider's grammar, so that one script serves all of them. */

import type { EarlyEnd } from '../event/reply.ts'

type Raw = Readonly<Record<string, unknown>>

/** What a request says of a tool, in whichever grammar. */
interface Described {
  readonly name: string
  readonly parameters: { readonly required?: readonly string[] } | undefined
}

/**
 * Calls the first tool that it is told of, with the word that the user ends with for each argument that it needs, and
 * then says what that has given; without tools it says what it is told.
 */
export const helpfulModel: Model = (request, no) => {
  const items = itemsOf(request)
  const last = items.at(-1) ?? {}
  const text = textsIn(last).join(' ')
  const [tool] = toolsOf(request)
  if (tool === undefined || isResult(last))
    return { says: [{ think: `thought ${no}` }, text === '' ? 'Hello!' : text] }
  const word = /(\p{L}+)\P{L}*$/u.exec(text)?.[1] ?? ''
  const args = Object.fromEntries((tool.parameters?.required ?? []).map((name) => [name, word]))
  return { says: [{ think: `thought ${no}` }, 'I look.', { call: tool.name, args }] }
}

function itemsOf(request: RequestBody): readonly Raw[] {
  const items = request['messages'] ?? request['input'] ?? request['contents']
  return typeof items === 'string' ? [{ content: items }] : (items as readonly Raw[])
}

/** A result stands in a message of its own role, an item of its own type, or at the end of what a user says. */
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

/** The texts that stand anywhere in a value. */
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
 * A part of a reply: words; a thought, which the provider signs where it signs any; a call of a tool, with its
 * arguments as an object, or as the very text that the model writes; or a search by the provider's own tool.
 */
export type ModelPart =
  | string
  | { readonly think: string }
  | { readonly call: string; readonly args?: object | string; readonly id?: string }
  | { readonly search: string }

/** A reply, and how its stream comes. */
export interface ModelReply {
  /** Its parts in order; a provider gives calls last. */
  readonly says: readonly ModelPart[]
  /** What ends it, where that is not its own end; `failed` is a fault of the provider in the middle of it. */
  readonly end?: Exclude<EarlyEnd, 'broken_off'>
  /** The connection is lost after so many bytes. */
  readonly cut?: number
  /** The bytes come in pieces of this length, wherever these begin. Default: one event after the other. */
  readonly pieces?: number
  /** So many turns of the event loop pass before each piece. Default: 0. */
  readonly slow?: number
  /** True when it never ends: the client has to go. */
  readonly endless?: boolean
}

/** A request that the model gives no reply to. */
export interface ModelFailure {
  /** `silent`: nothing ever comes. `disconnected`: the connection is lost before anything has come. */
  readonly fails: 'too_long' | 'rate_limited' | 'server_error' | 'silent' | 'disconnected'
  /** Seconds after which the provider says to try again. */
  readonly retryAfter?: number
}

export type ModelTurn = ModelReply | ModelFailure

/** What a request holds, as its client has sent it. */
export type RequestBody = Readonly<Record<string, unknown>>

/** A model: what it does with a request, of which `no` counts those that the provider has taken, from 1. */
export type Model = (request: RequestBody, no: number) => ModelTurn | Promise<ModelTurn>

/**
 * A model that does one thing after the other, and then always the last.
 * @param rest what it does once all is done
 * @example
 * const model = playTurns([{ says: [{ call: 'ls', args: {} }] }])
 * model({}, 1) // { says: [{ call: 'ls', args: {} }] }
 * model({}, 2) // { says: ['Done.'] }
 */
export function playTurns(turns: readonly ModelTurn[], rest: ModelTurn = { says: ['Done.'] }): Model {
  const left = [...turns]
  return () => left.shift() ?? rest
}
