import { parseJson } from '../event/json.ts'
import { asList, asObject, isObject, label } from './request-form.ts'
import type { Finding, JsonObject, Rule, Rules, Violation } from './request-form.ts'

export function anthropicFileFault(type: unknown, body: JsonObject): string | undefined {
  if (type === 'container_upload') return blank(body['file_id'])
  if (type === 'search_result') return blank(body['source'], body['title']) ?? pieces(body['content'])
  if (type !== 'document') return undefined
  const { type: from, data, url, file_id, content } = asObject(body['source'])
  const named = blank(body['title'] ?? 'none', body['context'] ?? 'none')
  if (named !== undefined || label(body['title'] ?? '').length > 500)
    return 'blank title or context, or title too long'
  if (from === 'base64') return isPdf(data)
  if (from === 'url') return isAddress(url, ['https:'])
  if (from === 'file') return blank(file_id)
  return from === 'text' ? blank(data) : typeof content === 'string' ? blank(content) : pieces(content)
}

export function inputFileFault({ file_data, file_url, file_id, filename }: JsonObject): string | undefined {
  const sources = [file_data, file_url, file_id].filter((each) => each !== undefined)
  if (sources.length !== 1) return `${sources.length} sources instead of one`
  if (file_url !== undefined) return isAddress(file_url, ['https:', 'http:'])
  return file_id === undefined ? (blank(filename) ?? isDataUrl(file_data)) : blank(file_id)
}

export function chatFileFault(body: JsonObject): string | undefined {
  if (body['type'] === 'input_audio') return bytes(asObject(body['input_audio'])['data'])
  if (body['type'] !== 'file') return undefined
  const { file_data, file_id, filename } = asObject(body['file'])
  if ((file_data === undefined) === (file_id === undefined)) return 'neither bytes nor an id, or both'
  return file_id === undefined ? (blank(filename) ?? isDataUrl(file_data)) : blank(file_id)
}

const pieces = (content: unknown): string | undefined =>
  asList(content).length === 0
    ? 'no content'
    : asList(content)
        .map(asObject)
        .map(({ type, text: content }) => (type === 'text' ? blank(content) : undefined))
        .find((fault) => fault !== undefined)

const blank = (...texts: readonly unknown[]): string | undefined =>
  texts.some((each) => each === undefined || (typeof each === 'string' && isBlank(each)))
    ? 'blank'
    : undefined

const bytes = (data: unknown): string | undefined =>
  typeof data === 'string' && !isBase64(data) ? 'empty or malformed base64 data' : undefined

const isPdf = (data: unknown): string | undefined =>
  bytes(data) ??
  (typeof data === 'string' && !atob(data.slice(0, 8)).startsWith('%PDF') ? 'not a PDF' : undefined)

function isAddress(url: unknown, schemes: readonly string[]): string | undefined {
  if (typeof url !== 'string') return undefined
  return URL.canParse(url) && schemes.includes(new URL(url).protocol) ? undefined : 'not a web address'
}

function isDataUrl(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,(.*)$/s.exec(url)
  return match === null ? 'not a data URL in base64' : bytes(match[1])
}

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

export const isBase64 = (data: string): boolean =>
  data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

export const ANY_URL = ['https:', 'http:', 'data:']

export function imageUrlFault(url: unknown, schemes: readonly string[]): string | undefined {
  if (typeof url !== 'string') return undefined
  if (url !== url.trim() || !URL.canParse(url)) return 'not a URL'
  const { protocol } = new URL(url)
  if (!schemes.includes(protocol)) return `scheme ${protocol} is not one of ${schemes.join(' ')}`
  return protocol === 'data:' ? dataUrlFault(url) : undefined
}

function dataUrlFault(url: string): string | undefined {
  const match = /^data:([^;,]*);base64,(.*)$/s.exec(url)
  if (match === null) return 'not a base64 data URL'
  const [, mediaType = '', data = ''] = match
  if (!IMAGE_TYPES.includes(mediaType)) return `media type ${JSON.stringify(mediaType)}`
  return isBase64(data) ? undefined : 'empty or malformed base64 data'
}

/**
 * Whether a text is empty or only white space, as defined by JavaScript or by Python. For Python, U+0085 and
 * the characters from U+001C to U+001F are white space, too.
 */
export const isBlank = (value: string): boolean => BLANK.test(value)

export const endsInSpace = (value: string): boolean => SPACE_AT_END.test(value)

export function parseObject(value: string): object | undefined {
  const parsed = parseJson(value)
  return isObject(parsed) ? parsed : undefined
}

const SPACES = '\\s\u0085\u001c-\u001f'
const BLANK = new RegExp(`^[${SPACES}]*$`, 'u')
const SPACE_AT_END = new RegExp(`[${SPACES}]$`, 'u')

export const judge = <V>(rules: Rules<V>, view: V): Violation[] =>
  Object.entries(rules).flatMap(([rule, [, , check]]) =>
    Array.from(check(view), ({ path, message }) => ({ rule, path, message })),
  )

const SHARED = {
  'system-first': [
    'There is at most one system or developer message, and it is first.',
    (_, messages) =>
      each(messages.slice(1), ({ role }) => isSystem(role) && `${label(role)} message after the first`),
  ],
  'roles-alternate': ['No two adjacent messages have the same role.', (_, messages) => sameRole(messages)],
  'calls-have-results': ['Each call has its result directly after the turn that made it.', withoutResult],
  'results-follow-calls': ['Each result is for a call of the turn directly before it.', orphans],
  'one-result-each': ['No call has two results.', secondResults],
  'call-ids-unique': ['No two calls of the request share an id.', repeatedCalls],
} as const satisfies Readonly<
  Record<string, [string, (turns: readonly Turn[], messages: readonly RequestMessage[]) => Iterable<Finding>]>
>

export const sharedRules = <
  V extends { readonly turns: readonly Turn[]; readonly messages?: readonly RequestMessage[] },
>(
  sources: Readonly<Partial<Record<keyof typeof SHARED, string>>>,
): Rules<V> =>
  Object.fromEntries(
    Object.entries(sources).map(([id, source]): [string, Rule<V>] => {
      const [rule, check] = SHARED[id as keyof typeof SHARED]
      return [id, [rule, source, ({ turns, messages = [] }) => check(turns, messages)]]
    }),
  )

export function* each<I extends { readonly path: string }>(
  items: readonly I[],
  faultOf: (item: I, index: number) => string | false | undefined,
  field = '',
): Generator<Finding> {
  for (const [index, item] of items.entries()) {
    const message = faultOf(item, index)
    if (typeof message === 'string') yield { path: `${item.path}${field}`, message }
  }
}

export function* nonEmpty(list: unknown, path: string): Generator<Finding> {
  if (Array.isArray(list) && list.length === 0) yield { path, message: 'empty' }
}

const NAME = /^[a-zA-Z0-9_-]+$/

export const nameFault = (name: unknown, maximum = 64): string | false =>
  typeof name === 'string' && (!NAME.test(name) || name.length > maximum) && JSON.stringify(name)

const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

export const functionNameFault = (name: unknown): string | false =>
  typeof name === 'string' && !FUNCTION_NAME.test(name) && JSON.stringify(name)

export const lengthFault = (id: unknown, maximum: number): string | false =>
  typeof id === 'string' && (id.length < 1 || id.length > maximum) && `${id.length} characters`

export const argumentsFault = (args: unknown): string | false =>
  typeof args === 'string' && parseObject(args) === undefined && 'not the JSON text of an object'

export const blankFault = (text: unknown): string | false =>
  typeof text === 'string' && isBlank(text) && 'blank text'

interface RequestMessage {
  readonly path: string
  readonly role: unknown
  readonly type?: unknown
}

export const notUser =
  (verb: string) =>
  ({ role }: RequestMessage): string | false =>
    role !== 'user' && `${verb} ${label(role)}`

export const sameRole = (messages: readonly RequestMessage[], only?: string): Generator<Finding> =>
  each(
    messages,
    ({ role }, index) =>
      index > 0 && messages[index - 1]?.role === role && role === (only ?? role) && `follows ${label(role)}`,
  )

export const isSystem = (role: unknown): boolean => role === 'system' || role === 'developer'

export function* userFirst(messages: readonly RequestMessage[], path: string): Generator<Finding> {
  const first = messages.find(({ role }) => !isSystem(role))
  if (first === undefined && messages.length > 0) yield { path, message: 'no user message' }
  else if (first !== undefined && first.role !== 'user')
    yield { path: first.path, message: `begins with ${label(first.role ?? first.type)}` }
}

export interface Ref {
  readonly id: unknown
  readonly path: string
}

/** The calls of an assistant turn, and the results directly after it. Other results form turns with empty `calls`. */
export interface Turn<R extends Ref = Ref> {
  readonly calls: readonly R[]
  readonly results: readonly R[]
}

export type Step<R extends Ref = Ref> = { readonly call: R } | { readonly result: R } | 'assistant' | 'break'

export function turnsOf<R extends Ref>(steps: Iterable<Step<R>>): Turn<R>[] {
  const turns: { calls: R[]; results: R[] }[] = []
  let open: { calls: R[]; results: R[] } | undefined
  for (const step of steps) {
    if (step === 'break') {
      open = undefined
      continue
    }
    const results = typeof step === 'object' && 'result' in step
    if (open === undefined || (!results && open.results.length > 0))
      turns.push((open = { calls: [], results: [] }))
    if (step === 'assistant') continue
    if ('result' in step) open.results.push(step.result)
    else open.calls.push(step.call)
  }
  return turns
}

function without(refs: readonly Ref[], others: readonly Ref[], message: (id: string) => string) {
  const ids = new Set(others.map(({ id }) => id))
  return each(refs, ({ id }) => !ids.has(id) && message(label(id)))
}

export function* withoutResult(turns: readonly Turn[]): Generator<Finding> {
  for (const { calls, results } of turns)
    yield* without(calls, results, (id) => `no result for ${id} directly after its turn`)
}

export function* orphans(turns: readonly Turn[]): Generator<Finding> {
  for (const { calls, results } of turns)
    yield* without(results, calls, (id) => `no call ${id} in the turn directly before`)
}

export function* secondResults(turns: readonly Turn[]): Generator<Finding> {
  for (const { results } of turns) yield* repeats(results, 'more than one result')
}

export function repeatedCalls(turns: readonly Turn[]): Generator<Finding> {
  return repeats(
    turns.flatMap((turn) => turn.calls),
    'id of an earlier call',
  )
}

export function* repeats(refs: readonly Ref[], message: string): Generator<Finding> {
  const seen = new Set<unknown>()
  for (const { id, path } of refs) {
    if (seen.has(id)) yield { path, message: `${label(id)}: ${message}` }
    seen.add(id)
  }
}
