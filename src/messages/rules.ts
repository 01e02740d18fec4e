/** The rule engine: a provider's table of rules and a view of a request go in, the violations come out. */

import {
  anything,
  boolean as flag,
  either,
  type Fields,
  integer,
  type Judge,
  listOf,
  nullable as orNull,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  string,
  string as text,
} from './shape.ts'

type Fault = 'missing-field' | 'unknown-field' | 'wrong-type' | 'unknown-role' | 'unknown-type'

interface ShapeFinding extends Finding {
  readonly fault: Fault
}

/** Where a judge is, and what it has found. */
interface Judging extends Judge {
  readonly path: string
  /** Fields that chose the shape that is looked at. */
  readonly known: readonly string[]
  readonly found: ShapeFinding[]
}

/** A shape with a check of its own, for what the language has no words for; without a judge nothing has it. */
export const judged =
  (faults: (value: unknown, judging: Judging) => void): Shape<unknown> =>
  (value, judge): value is unknown => {
    if (judge !== undefined) faults(value, judge as Judging)
    return judge !== undefined
  }

export const textOr = (shape: Shape<unknown>): Shape<unknown> => either([string, shape])

/** An object with exactly these fields. */
export const fields = (required: Shapes, more: Shapes = {}): Shape<unknown> =>
  record({
    ...required,
    ...Object.fromEntries(Object.entries(more).map(([name, shape]) => [name, optional(shape)])),
  })

/** An object whose `role` or `type` says which of the shapes its other fields have. */
export const byKey = (key: 'role' | 'type', shapes: Shapes, fallback?: string): Shape<unknown> =>
  judged((value, { path, known, found }) => {
    const at = join(path, key)
    if (!isObject(value)) return void found.push(...wrongType(path, 'an object', value))
    const tag = value[key] === undefined ? fallback : value[key]
    const chosen = typeof tag === 'string' && Object.hasOwn(shapes, tag) ? shapes[tag] : undefined
    if (tag === undefined) found.push({ fault: 'missing-field', path: at, message: 'required field missing' })
    else if (typeof tag !== 'string') found.push(...wrongType(at, 'a string', tag))
    else if (chosen !== undefined) found.push(...faultsOf(chosen, value, path, [...known, key]))
    else {
      const message = `${JSON.stringify(tag)} is none of ${Object.keys(shapes).join(', ')}`
      found.push({ fault: `unknown-${key}`, path: at, message })
    }
  })

const KINDS = {
  string: 'a string',
  boolean: 'a boolean',
  integer: 'an integer',
  object: 'an object',
} as const

/** What is wrong with a value; `known`: fields that chose its shape. */
export function faultsOf(
  shape: Shape<unknown>,
  value: unknown,
  path: string,
  known: readonly string[] = [],
): readonly ShapeFinding[] {
  const found: ShapeFinding[] = []
  const wrong = (expected: string, given: unknown): boolean => {
    found.push(...wrongType(path, expected, given))
    return false
  }
  const add = (more: readonly ShapeFinding[]): boolean => {
    found.push(...more)
    return more.length === 0
  }
  const judging: Judging = {
    path,
    known,
    found,
    kind: (name, given) =>
      (name === 'object' ? isObject(given) : name === 'integer' ? integer(given) : typeof given === name) ||
      wrong(KINDS[name], given),
    one: (values, given) => values.includes(given) || wrong(`one of ${JSON.stringify(values)}`, given),
    either(shapes, given) {
      const faults = shapes.map((one) => faultsOf(one, given, path, known))
      return faults.some(({ length }) => length === 0) || add(faults.at(-1) ?? [])
    },
    list: (item, given) =>
      Array.isArray(given)
        ? add(given.flatMap((each, index) => faultsOf(item, each, `${path}[${index}]`)))
        : wrong('an array', given),
    map: (item, given) =>
      isObject(given)
        ? add(Object.entries(given).flatMap(([name, each]) => faultsOf(item, each, join(path, name))))
        : wrong('an object', given),
    record: (shapes, isOpen, given) =>
      isObject(given) ? add(recordFaults(shapes, isOpen, given, path, known)) : wrong('an object', given),
  }
  shape(value, judging)
  return found
}

function recordFaults(
  shapes: Fields,
  isOpen: boolean,
  value: JsonObject,
  path: string,
  known: readonly string[],
): readonly ShapeFinding[] {
  const found: ShapeFinding[] = []
  for (const [name, field] of Object.entries(shapes))
    if (typeof field === 'function' && value[name] === undefined)
      found.push({ fault: 'missing-field', path: join(path, name), message: 'required field missing' })
  for (const [name, item] of Object.entries(value)) {
    const field = Object.hasOwn(shapes, name) ? shapes[name] : undefined
    const at = join(path, name)
    if (field === undefined) {
      if (!isOpen && !known.includes(name))
        found.push({ fault: 'unknown-field', path: at, message: 'no such field' })
    } else if (item !== undefined)
      found.push(...faultsOf(typeof field === 'function' ? field : field.optional, item, at))
  }
  return found
}

/** What each shape found in a view: the rules of one provider share one walk. */
const FOUND = new WeakMap<object, readonly ShapeFinding[]>()

/** The check of a rule that covers one kind of fault; all such rules of a provider must have one shape and root. */
export function faults(shape: Shape<unknown>, root: string, fault: Fault) {
  return (view: { readonly request: unknown }): Finding[] => {
    const found = FOUND.get(view) ?? faultsOf(shape, view.request, root)
    FOUND.set(view, found)
    return found.filter((finding) => finding.fault === fault)
  }
}

function wrongType(path: string, expected: string, value: unknown): readonly ShapeFinding[] {
  const found = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return [{ fault: 'wrong-type', path, message: `expected ${expected}, found ${found}` }]
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

type Shapes = Readonly<Record<string, Shape<unknown>>>

/** Anthropic's, with the shapes that stand inside of them; `cached` is what any block may carry. */
export function anthropicFiles(
  leaves: Shapes,
  cached: Shapes,
): { readonly user: Shapes; readonly result: Shapes } {
  const citations = fields({}, { enabled: flag })
  const document = fields(
    {
      source: byKey('type', {
        base64: fields({ media_type: oneOf('application/pdf'), data: text }),
        text: fields({ media_type: oneOf('text/plain'), data: text }),
        url: fields({ url: text }),
        file: fields({ file_id: text }),
        content: fields({ content: textOr(listOf(byKey('type', leaves))) }),
      }),
    },
    { citations: orNull(citations), context: orNull(text), title: orNull(text), ...cached },
  )
  const search_result = fields(
    { content: listOf(byKey('type', leaves)), source: text, title: text },
    { citations, ...cached },
  )
  return {
    user: { document, search_result, container_upload: fields({ file_id: text }, cached) },
    result: {
      document,
      search_result,
      tool_reference: fields({ tool_name: text }, cached),
      browser_state: fields({ tabs: listOf(object) }, { state_changes: anything, ...cached }),
    },
  }
}

/** That of Responses; it says where its bytes are in one way. */
export const inputFile = (cached: Shapes): Shape<unknown> =>
  fields(
    {},
    {
      file_data: text,
      file_url: text,
      file_id: text,
      filename: text,
      detail: oneOf('auto', 'low', 'high'),
      ...cached,
    },
  )

/** Those of Chat Completions. */
export const chatFiles = (cached: Shapes): Shapes => ({
  input_audio: fields({ input_audio: fields({ data: text, format: oneOf('wav', 'mp3') }) }, cached),
  file: fields({ file: fields({}, { file_data: text, file_id: text, filename: text }) }, cached),
})

/** What is wrong with what a block of Anthropic's holds. */
export function anthropicFileFault(type: unknown, body: JsonObject): string | undefined {
  if (type === 'container_upload') return blank(body['file_id'])
  if (type === 'search_result') return blank(body['source'], body['title']) ?? pieces(body['content'])
  if (type !== 'document') return undefined
  const { type: from, data, url, file_id, content } = asObject(body['source'])
  const named = blank(body['title'] ?? 'none', body['context'] ?? 'none')
  if (named !== undefined || String(body['title'] ?? '').length > 500)
    return 'a title or context that says nothing'
  if (from === 'base64') return isPdf(data)
  if (from === 'url') return isAddress(url, ['https:'])
  if (from === 'file') return blank(file_id)
  return from === 'text' ? blank(data) : typeof content === 'string' ? blank(content) : pieces(content)
}

/** What is wrong with an `input_file` of Responses. */
export function inputFileFault({ file_data, file_url, file_id, filename }: JsonObject): string | undefined {
  const given = [file_data, file_url, file_id].filter((each) => each !== undefined)
  if (given.length !== 1) return `${given.length} places of its bytes`
  if (file_url !== undefined) return isAddress(file_url, ['https:', 'http:'])
  return file_id === undefined ? (blank(filename) ?? isDataUrl(file_data)) : blank(file_id)
}

/** What is wrong with a file or a sound of Chat Completions. */
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
        .map(({ type, text: said }) => (type === 'text' ? blank(said) : undefined))
        .find((fault) => fault !== undefined)

const blank = (...texts: readonly unknown[]): string | undefined =>
  texts.some((each) => each === undefined || (typeof each === 'string' && isBlank(each)))
    ? 'blank'
    : undefined

const bytes = (data: unknown): string | undefined =>
  typeof data === 'string' && !isBase64(data) ? 'empty or malformed base64 data' : undefined

const isPdf = (data: unknown): string | undefined =>
  bytes(data) ??
  (typeof data === 'string' && !atob(data.slice(0, 8)).startsWith('%PDF') ? 'no PDF' : undefined)

function isAddress(url: unknown, schemes: readonly string[]): string | undefined {
  if (typeof url !== 'string') return undefined
  return URL.canParse(url) && schemes.includes(new URL(url).protocol) ? undefined : 'no address of the web'
}

function isDataUrl(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,(.*)$/s.exec(url)
  return match === null ? 'no base64 data URL' : bytes(match[1])
}

/** The image formats that OpenAI and Anthropic both read, and no others. */
export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** Base64 in its standard alphabet, padded, and of at least one byte. */
export function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
}

/** What is wrong with a URL that should lead to an image, where `schemes` are those the provider takes. */
export function imageUrlFault(url: string, schemes: readonly string[]): string | undefined {
  if (url !== url.trim() || !URL.canParse(url)) return 'not a URL'
  const { protocol } = new URL(url)
  if (!schemes.includes(protocol)) return `scheme ${protocol} is none of ${schemes.join(' ')}`
  return protocol === 'data:' ? dataUrlFault(url) : undefined
}

function dataUrlFault(url: string): string | undefined {
  const match = /^data:([^;,]*);base64,(.*)$/s.exec(url)
  if (match === null) return 'not a base64 data URL'
  const [, mediaType = '', data = ''] = match
  if (!IMAGE_TYPES.includes(mediaType)) return `media type ${JSON.stringify(mediaType)}`
  return isBase64(data) ? undefined : 'empty or malformed base64 data'
}

/** What JSON cannot carry: undefined, functions, class instances, infinite numbers, cycles. */
export function notJson(
  value: unknown,
  path: string,
  accept: (value: unknown) => boolean = () => false,
): Finding[] {
  const found: Finding[] = []
  const above: unknown[] = []
  const look = (value: unknown, path: string): void => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean' || accept(value)) return
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) found.push({ path, message: `${value} is no JSON number` })
    } else if (above.includes(value)) found.push({ path, message: 'cycle' })
    else if (Array.isArray(value) || isObject(value)) {
      above.push(value)
      eachChild(value, path, look)
      above.pop()
    } else found.push({ path, message: `${typeof value} is no JSON value` })
  }
  look(value, path)
  return found
}

/** Strings and field names with a lone surrogate, which strict JSON parsers refuse with the whole body. */
export function illFormedText(value: unknown, path: string): Finding[] {
  const found: Finding[] = []
  const above: unknown[] = []
  const look = (value: unknown, path: string, name: string): void => {
    if (!name.isWellFormed()) found.push({ path, message: 'lone surrogate in field name' })
    if (typeof value === 'string') {
      if (!value.isWellFormed()) found.push({ path, message: 'lone surrogate in string' })
    } else if ((Array.isArray(value) || isObject(value)) && !above.includes(value)) {
      above.push(value)
      eachChild(value, path, look)
      above.pop()
    }
  }
  look(value, path, '')
  return found
}

/** Nothing but white space, as JavaScript or Python see it (the second also takes U+0085 and U+001C to U+001F). */
export function isBlank(value: string): boolean {
  return BLANK.test(value)
}

export function endsInSpace(value: string): boolean {
  return SPACE_AT_END.test(value)
}

/** The object that a JSON text says, if it says one. */
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
  look: (child: unknown, at: string, name: string) => void,
): void {
  if (Array.isArray(value)) {
    for (const [index, child] of value.entries()) look(child, `${path}[${index}]`, '')
  } else {
    for (const [name, child] of Object.entries(value))
      look(child, path === '' ? name : `${path}.${name}`, name)
  }
}

/** Where a request breaks a rule, and how. */
export interface Finding {
  /** Where in the request, in the way the providers write it: `messages[2].content[0].text`. */
  readonly path: string
  readonly message: string
}

export interface Violation extends Finding {
  /** The id of the broken rule. */
  readonly rule: string
}

/** One row of a provider's table. `V` is what the provider's validator reads out of a request, once. */
export interface Rule<V> {
  readonly id: string
  /** The rule in one sentence. */
  readonly rule: string
  /** Documentation or error text it comes from; "inferred" marks what no source states outright. */
  readonly source: string
  /** Must be total: whatever JSON comes in, it reports and never throws. */
  readonly check: (view: V) => Iterable<Finding>
}

/** Every violation of every rule, in table order. An empty array means that the request is valid. */
export function judge<V>(rules: readonly Rule<V>[], view: V): Violation[] {
  const found: Violation[] = []
  for (const { id, check } of rules)
    for (const { path, message } of check(view)) found.push({ rule: id, path, message })
  return found
}

/** A grammar's rules of form, which its shape has all in one; `source` names where the shape is from. */
export function formRules(
  shape: Shape<unknown>,
  source: string,
  accept?: (value: unknown) => boolean,
): readonly Rule<{ readonly request: unknown }>[] {
  const ofShape = (id: string, fault: Fault, rule: string): Rule<{ readonly request: unknown }> => ({
    id,
    rule,
    source,
    check: faults(shape, '', fault),
  })
  return [
    {
      id: 'json-only',
      rule: 'The request is plain JSON, except bytes where the client takes them.',
      source,
      check: ({ request }) => notJson(request, '', accept),
    },
    {
      id: 'text-well-formed',
      rule: 'No string has a lone surrogate.',
      source: 'inferred: strings are UTF-8, which has no bytes for a lone surrogate',
      check: ({ request }) => illFormedText(request, ''),
    },
    ofShape('wrong-type', 'wrong-type', 'Every field has the type that the API reference gives it.'),
    ofShape('missing-field', 'missing-field', 'Every required field is there.'),
    ofShape('unknown-field', 'unknown-field', 'There is no field that the API reference does not name.'),
    ofShape('known-kind', 'unknown-type', 'A block is of exactly one known kind.'),
  ]
}

export type JsonObject = Readonly<Record<string, unknown>>

/** True for an object as `JSON.parse` makes them: no array, no class instance. */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The value as an object, for reading fields out of what may be anything. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The value as a list, for walking what may be anything. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A call or a result, by the id that ties them. */
export interface Ref {
  readonly id: unknown
  readonly path: string
}

/** The calls of one assistant turn and the results directly behind it; results behind no call stand alone. */
export interface Turn<R extends Ref = Ref> {
  readonly calls: readonly R[]
  readonly results: readonly R[]
}

/** What a request is made of, seen from the pairing: a call, a result, or what ends the run of either. */
export type Step<R extends Ref = Ref> = { readonly call: R } | { readonly result: R } | 'assistant' | 'break'

/** Groups steps into turns. A turn is a run of assistant steps with its calls, then the run of results behind it. */
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
        yield { path, message: `no result for ${String(id)} directly behind its turn` }
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
