/** The rule engine: checks a request against a provider's table of rules, and returns the violations. */

import type { Kinds } from './blocks.ts'
import { either, integer, optional, record, string } from './shape.ts'
import type { Fields, Judge, Shape, ShapeOf } from './shape.ts'

type Fault = 'missing-field' | 'unknown-field' | 'wrong-type' | 'unknown-role' | 'unknown-type'

interface ShapeFinding extends Finding {
  readonly fault: Fault
}

interface Judging extends Judge {
  readonly path: string
  readonly known: readonly string[]
  readonly findings: ShapeFinding[]
}

/** A shape with its own check, for what the language cannot describe; without a judge no value fits. */
export const customShape =
  <T>(faults: (value: unknown, judging: Judging) => void): Shape<T> =>
  (value, judge): value is T => {
    if (judge !== undefined) faults(value, judge as Judging)
    return judge !== undefined
  }

/** A field that a writer always writes, though the provider does not require it. */
export const written = <T>(shape: Shape<T>): Shape<T> => optional(shape) as unknown as Shape<T>

export const textOr = <T>(shape: Shape<T>): Shape<string | T> => either([string, shape])

type Flat<T> = { [K in keyof T]: T[K] }

/** An object with the fields of the first list, and maybe those of the second. */
export const fields = <const R extends Shapes, const M extends Shapes = Record<never, never>>(
  required: R,
  more: M = {} as M,
) =>
  record({
    ...required,
    ...Object.fromEntries(Object.entries(more).map(([name, shape]) => [name, optional(shape)])),
  }) as Shape<unknown> as Shape<Flat<{ [K in keyof R]: ShapeOf<R[K]> } & { [K in keyof M]?: ShapeOf<M[K]> }>>

/** One of these objects, by the value of a field that they do not list themselves. */
export type ByKey<K extends string, S extends Shapes> = {
  [T in keyof S]: Flat<{ [F in K]: T } & ShapeOf<S[T]>>
}[keyof S]

export const byKey = <const K extends 'role' | 'type', const S extends Shapes>(
  key: K,
  shapes: S,
  fallback?: string,
): Shape<ByKey<K, S>> =>
  customShape((value, { path, known, findings }) => {
    const tagPath = join(path, key)
    if (!isObject(value)) return void findings.push(...wrongType(path, 'an object', value))
    const tag = value[key] === undefined ? fallback : value[key]
    const chosen = typeof tag === 'string' && Object.hasOwn(shapes, tag) ? shapes[tag] : undefined
    if (tag === undefined)
      findings.push({ fault: 'missing-field', path: tagPath, message: 'required field missing' })
    else if (typeof tag !== 'string') findings.push(...wrongType(tagPath, 'a string', tag))
    else if (chosen !== undefined) findings.push(...faultsOf(chosen, value, path, [...known, key]))
    else {
      const message = `${JSON.stringify(tag)} is not one of ${Object.keys(shapes).join(', ')}`
      findings.push({ fault: `unknown-${key}`, path: tagPath, message })
    }
  })

/** An object with one of these fields. */
export type OneField<D extends Shapes> = { [K in keyof D]: { [F in K]: ShapeOf<D[F]> } }[keyof D]

export function oneData<const D extends Shapes>(data: D, others: Shapes = {}): Shape<OneField<D>> {
  const any = fields({}, { ...data, ...others })
  return customShape<OneField<D>>((value, { path, findings }) => {
    findings.push(...faultsOf(any, value, path))
    const present = isObject(value) ? Object.keys(data).filter((name) => value[name] !== undefined) : ['']
    const message = `has ${present.join(' and ') || 'no data'}`
    if (present.length !== 1) findings.push({ fault: 'unknown-type', path, message })
  })
}

export const shapesOf = (
  kinds: Readonly<Record<string, Fields>>,
  shapeOf: (fields: Fields) => Shape<unknown>,
): Shapes => Object.fromEntries(Object.entries(kinds).map(([kind, fields]) => [kind, shapeOf(fields)]))

const TYPE_NAMES = {
  string: 'a string',
  boolean: 'a boolean',
  integer: 'an integer',
  object: 'an object',
} as const

export function faultsOf(
  shape: Shape<unknown>,
  value: unknown,
  path: string,
  known: readonly string[] = [],
): readonly ShapeFinding[] {
  const findings: ShapeFinding[] = []
  const wrong = (expected: string, actual: unknown): boolean => {
    findings.push(...wrongType(path, expected, actual))
    return false
  }
  const add = (more: readonly ShapeFinding[]): boolean => {
    findings.push(...more)
    return more.length === 0
  }
  const judging: Judging = {
    path,
    known,
    findings,
    kind: (name, item) =>
      (name === 'object' ? isObject(item) : name === 'integer' ? integer(item) : typeof item === name) ||
      wrong(TYPE_NAMES[name], item),
    one: (values, item) => values.includes(item) || wrong(`one of ${JSON.stringify(values)}`, item),
    either(shapes, item) {
      const faults = shapes.map((one) => faultsOf(one, item, path, known))
      return faults.some(({ length }) => length === 0) || add(faults.at(-1) ?? [])
    },
    list: (shape, item) =>
      Array.isArray(item)
        ? add(item.flatMap((each, index) => faultsOf(shape, each, `${path}[${index}]`)))
        : wrong('an array', item),
    map: (shape, item) =>
      isObject(item)
        ? add(Object.entries(item).flatMap(([name, each]) => faultsOf(shape, each, join(path, name))))
        : wrong('an object', item),
    typed(kinds, item) {
      const count = findings.length
      byKey('type', shapesOf(kinds, record))(item, judging)
      return findings.length === count
    },
    record: (shapes, isOpen, item) =>
      isObject(item) ? add(recordFaults(shapes, isOpen, item, path, known)) : wrong('an object', item),
  }
  shape(value, judging)
  return findings
}

function recordFaults(
  shapes: Fields,
  isOpen: boolean,
  value: JsonObject,
  path: string,
  known: readonly string[],
): readonly ShapeFinding[] {
  const findings: ShapeFinding[] = []
  for (const [name, field] of Object.entries(shapes))
    if (typeof field === 'function' && value[name] === undefined)
      findings.push({ fault: 'missing-field', path: join(path, name), message: 'required field missing' })
  for (const [name, item] of Object.entries(value)) {
    const field = Object.hasOwn(shapes, name) ? shapes[name] : undefined
    const fieldPath = join(path, name)
    if (field === undefined) {
      if (!isOpen && !known.includes(name))
        findings.push({ fault: 'unknown-field', path: fieldPath, message: 'no such field' })
    } else if (item !== undefined)
      findings.push(...faultsOf(typeof field === 'function' ? field : field.optional, item, fieldPath))
  }
  return findings
}

/** Findings by view, so that the rules of one provider share one walk. */
const FINDINGS = new WeakMap<object, readonly ShapeFinding[]>()

/** Checks one kind of fault; all such rules of a provider share one shape and root. */
export function faults(shape: Shape<unknown>, root: string, fault: Fault) {
  return (view: { readonly request: unknown }): Finding[] => {
    const findings = FINDINGS.get(view) ?? faultsOf(shape, view.request, root)
    FINDINGS.set(view, findings)
    return findings.filter((finding) => finding.fault === fault)
  }
}

function wrongType(path: string, expected: string, value: unknown): readonly ShapeFinding[] {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return [{ fault: 'wrong-type', path, message: `expected ${expected}, found ${actual}` }]
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

type Shapes = Readonly<Record<string, Shape<unknown>>>

export const withMore = (kinds: Readonly<Record<string, Fields>>, more: Fields): Record<string, Fields> =>
  Object.fromEntries(Object.entries(kinds).map(([kind, fields]) => [kind, { ...fields, ...more }]))

export const storedFields = (table: Kinds): Record<string, Fields> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([kind, { in: how, side, needs }]) =>
      how === 'part' && side === 'assistant' && needs !== undefined ? [[kind, needs]] : [],
    ),
  )

export function anthropicFileFault(type: unknown, body: JsonObject): string | undefined {
  if (type === 'container_upload') return blank(body['file_id'])
  if (type === 'search_result') return blank(body['source'], body['title']) ?? pieces(body['content'])
  if (type !== 'document') return undefined
  const { type: from, data, url, file_id, content } = asObject(body['source'])
  const named = blank(body['title'] ?? 'none', body['context'] ?? 'none')
  if (named !== undefined || String(body['title'] ?? '').length > 500)
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

/** Whether a text is base64 in its standard alphabet, padded, and of at least one byte. */
export function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
}

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

/** Finds values that are not JSON: undefined, functions, class instances, infinite numbers, cycles. */
export function notJson(
  value: unknown,
  path: string,
  accept: (value: unknown) => boolean = () => false,
): Finding[] {
  const findings: Finding[] = []
  const ancestors: unknown[] = []
  const visit = (value: unknown, path: string): void => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean' || accept(value)) return
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) findings.push({ path, message: `${value} is not a JSON number` })
    } else if (ancestors.includes(value)) findings.push({ path, message: 'cycle' })
    else if (Array.isArray(value) || isObject(value)) {
      ancestors.push(value)
      eachChild(value, path, visit)
      ancestors.pop()
    } else findings.push({ path, message: `${typeof value} is not a JSON value` })
  }
  visit(value, path)
  return findings
}

/** Finds strings and field names with a lone surrogate; strict JSON parsers refuse the whole body. */
export function illFormedText(value: unknown, path: string): Finding[] {
  const findings: Finding[] = []
  const ancestors: unknown[] = []
  const visit = (value: unknown, path: string, name: string): void => {
    if (!name.isWellFormed()) findings.push({ path, message: 'lone surrogate in field name' })
    if (typeof value === 'string') {
      if (!value.isWellFormed()) findings.push({ path, message: 'lone surrogate in string' })
    } else if ((Array.isArray(value) || isObject(value)) && !ancestors.includes(value)) {
      ancestors.push(value)
      eachChild(value, path, visit)
      ancestors.pop()
    }
  }
  visit(value, path, '')
  return findings
}

/** Whether a text has only white space in JavaScript or Python (which adds U+0085 and U+001C to U+001F). */
export function isBlank(value: string): boolean {
  return BLANK.test(value)
}

export function endsInSpace(value: string): boolean {
  return SPACE_AT_END.test(value)
}

export function parseObject(value: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(value)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

const SPACES = '\\s\u0085\u001c-\u001f'
const BLANK = new RegExp(`^[${SPACES}]*$`, 'u')
const SPACE_AT_END = new RegExp(`[${SPACES}]$`, 'u')

function eachChild(
  value: readonly unknown[] | Readonly<Record<string, unknown>>,
  path: string,
  visit: (child: unknown, path: string, name: string) => void,
): void {
  if (Array.isArray(value)) {
    for (const [index, child] of value.entries()) visit(child, `${path}[${index}]`, '')
  } else {
    for (const [name, child] of Object.entries(value))
      visit(child, path === '' ? name : `${path}.${name}`, name)
  }
}

export interface Finding {
  readonly path: string
  readonly message: string
}

export interface Violation extends Finding {
  readonly rule: string
}

/** One row of a provider's table. `V` is what its validator reads from a request, once. */
export interface Rule<V> {
  readonly id: string
  readonly rule: string
  /** Documentation or error text of the provider; "inferred" marks a rule that no source states. */
  readonly source: string
  /** Total: reports any JSON, and never throws. */
  readonly check: (view: V) => Iterable<Finding>
}

/** Returns all violations of all rules, in table order; empty for a valid request. */
export function judge<V>(rules: readonly Rule<V>[], view: V): Violation[] {
  const violations: Violation[] = []
  for (const { id, check } of rules)
    for (const { path, message } of check(view)) violations.push({ rule: id, path, message })
  return violations
}

const FORM = {
  'wrong-type': ['wrong-type', 'Every field has the type of the API reference.'],
  'missing-field': ['missing-field', 'Every required field is present.'],
  'unknown-field': ['unknown-field', 'There is no field that the API reference does not name.'],
  'known-role': ['unknown-role', 'Every role is one of the API reference.'],
  'known-kind': ['unknown-type', 'A block is of exactly one known kind.'],
} as const

/** The rules of form; a fault without its own source has the common one. Roles are checked where they have one. */
export function formRules<V extends { readonly request: unknown }>(
  shape: Shape<unknown>,
  source: string,
  sources: Readonly<Partial<Record<keyof typeof FORM | 'json-only' | 'text-well-formed', string>>> = {},
  { root = '', accept }: { readonly root?: string; readonly accept?: (value: unknown) => boolean } = {},
): readonly Rule<V>[] {
  return [
    {
      id: 'json-only',
      rule: 'The request is plain JSON, except bytes where the client takes them.',
      source: sources['json-only'] ?? source,
      check: ({ request }) => notJson(request, root, accept),
    },
    {
      id: 'text-well-formed',
      rule: 'No string has a lone surrogate.',
      source: sources['text-well-formed'] ?? 'inferred: UTF-8 has no bytes for a lone surrogate',
      check: ({ request }) => illFormedText(request, root),
    },
    ...(Object.keys(FORM) as (keyof typeof FORM)[])
      .filter((id) => id !== 'known-role' || id in sources)
      .map((id) => {
        const [fault, rule] = FORM[id]
        return { id, rule, source: sources[id] ?? source, check: faults(shape, root, fault) }
      }),
  ]
}

const PAIRS = {
  'calls-have-results': ['Each call has its result directly after the turn that made it.', withoutResult],
  'results-follow-calls': ['Each result is for a call of the turn directly before it.', orphans],
  'one-result-each': ['No call has two results.', secondResults],
  'call-ids-unique': ['No two calls of the request share an id.', repeatedCalls],
} as const

/** The rules of calls and results, by the sources that a provider has for them. */
export const pairRules = <V extends { readonly turns: readonly Turn[] }>(
  sources: Readonly<Partial<Record<keyof typeof PAIRS, string>>>,
): readonly Rule<V>[] =>
  Object.entries(sources).map(([id, source]) => {
    const [rule, check] = PAIRS[id as keyof typeof PAIRS]
    return { id, rule, source, check: ({ turns }) => check(turns) }
  })

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** An object of a request, and its path. */
export interface Part {
  readonly path: string
  readonly body: JsonObject
}

export const listed = (value: unknown, path: string): Part[] =>
  asList(value).map((item, index) => ({ path: `${path}[${index}]`, body: asObject(item) }))

/** Yields a finding for each item with a fault, at a field of it. */
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

/** Names of functions at Google. */
export const functionNameFault = (name: unknown): string | false =>
  typeof name === 'string' && !FUNCTION_NAME.test(name) && JSON.stringify(name)

export const lengthFault = (id: unknown, maximum: number): string | false =>
  typeof id === 'string' && (id.length < 1 || id.length > maximum) && `${id.length} characters`

export const argumentsFault = (args: unknown): string | false =>
  typeof args === 'string' && parseObject(args) === undefined && 'not the JSON text of an object'

export const isSystem = (role: unknown): boolean => role === 'system' || role === 'developer'

/** The first message that is no system message is of the user. */
export function* userFirst(
  messages: readonly { readonly path: string; readonly role: unknown; readonly type?: unknown }[],
  path: string,
): Generator<Finding> {
  const first = messages.find(({ role }) => !isSystem(role))
  if (first === undefined && messages.length > 0) yield { path, message: 'no user message' }
  else if (first !== undefined && first.role !== 'user')
    yield { path: first.path, message: `begins with ${String(first.role ?? first.type)}` }
}

export interface Ref {
  readonly id: unknown
  readonly path: string
}

/** An assistant turn's calls and the results directly after it. Results that follow no call are a turn. */
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
    if (open === undefined || (!results && open.results.length > 0)) {
      open = { calls: [], results: [] }
      turns.push(open)
    }
    if (step === 'assistant') continue
    if ('result' in step) open.results.push(step.result)
    else open.calls.push(step.call)
  }
  return turns
}

export function* withoutResult(turns: readonly Turn[]): Generator<Finding> {
  for (const { calls, results } of turns) {
    for (const { id, path } of calls) {
      if (!results.some((result) => result.id === id)) {
        yield { path, message: `no result for ${String(id)} directly after its turn` }
      }
    }
  }
}

export function* orphans(turns: readonly Turn[]): Generator<Finding> {
  for (const { calls, results } of turns) {
    for (const { id, path } of results) {
      if (!calls.some((call) => call.id === id)) {
        yield { path, message: `no call ${String(id)} in the turn directly before` }
      }
    }
  }
}

export function* secondResults(turns: readonly Turn[]): Generator<Finding> {
  for (const { results } of turns) {
    yield* repeats(results, 'more than one result')
  }
}

export function* repeatedCalls(turns: readonly Turn[]): Generator<Finding> {
  yield* repeats(
    turns.flatMap(({ calls }) => calls),
    'id of an earlier call',
  )
}

export function* repeats(refs: readonly Ref[], message: string): Generator<Finding> {
  const seen = new Set<unknown>()
  for (const { id, path } of refs) {
    if (seen.has(id)) yield { path, message: `${String(id)}: ${message}` }
    seen.add(id)
  }
}
