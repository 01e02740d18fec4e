/** The rule engine: a provider's table of rules and a view of a request go in, the violations come out. */

type Fault = 'missing-field' | 'unknown-field' | 'wrong-type' | 'unknown-role' | 'unknown-type'

interface ShapeFinding extends Finding {
  readonly fault: Fault
}

/** What is wrong with a value; fields that are `known` need no shape, since they said which shape this is. */
export type Shape = (value: unknown, path: string, known?: readonly string[]) => readonly ShapeFinding[]

const NONE: readonly ShapeFinding[] = []

export const text: Shape = (value, path) =>
  typeof value === 'string' ? NONE : wrongType(path, 'a string', value)

export const flag: Shape = (value, path) =>
  typeof value === 'boolean' ? NONE : wrongType(path, 'a boolean', value)

export const object: Shape = (value, path) => (isObject(value) ? NONE : wrongType(path, 'an object', value))

/** For a field that a rule of its own looks at. */
export const anything: Shape = () => NONE

export function oneOf(...allowed: readonly (string | null)[]): Shape {
  return (value, path) =>
    allowed.some((one) => one === value) ? NONE : wrongType(path, `one of ${JSON.stringify(allowed)}`, value)
}

export function orNull(shape: Shape): Shape {
  return (value, path) => (value === null ? NONE : shape(value, path))
}

export function textOr(shape: Shape): Shape {
  return (value, path) => (typeof value === 'string' ? NONE : shape(value, path))
}

export function listOf(shape: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) return wrongType(path, 'an array', value)
    let found = NONE
    for (const [index, item] of value.entries()) found = both(found, shape(item, `${path}[${index}]`))
    return found
  }
}

/** An object with exactly these fields. */
export function fields(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  const names = Object.keys(required)
  const shapes = new Map([...Object.entries(required), ...Object.entries(optional)])
  return (value, path, known = []) => {
    if (!isObject(value)) return wrongType(path, 'an object', value)
    let found = NONE
    for (const name of names) {
      if (value[name] === undefined)
        found = both(found, [
          { fault: 'missing-field', path: join(path, name), message: 'required field missing' },
        ])
    }
    for (const name of Object.keys(value)) {
      const shape = shapes.get(name)
      const field = value[name]
      if (shape === undefined) {
        if (!known.includes(name))
          found = both(found, [{ fault: 'unknown-field', path: join(path, name), message: 'no such field' }])
      } else if (field !== undefined) found = both(found, shape(field, join(path, name)))
    }
    return found
  }
}

/** An object with at least these fields. */
export function loose(required: Readonly<Record<string, Shape>>): Shape {
  const strict = fields(required)
  return (value, path, known) => strict(value, path, known).filter(({ fault }) => fault !== 'unknown-field')
}

/** An object whose `role` or `type` says which of the shapes its other fields have. */
export function byKey(
  key: 'role' | 'type',
  shapes: Readonly<Record<string, Shape>>,
  fallback?: string,
): Shape {
  const alone = [key]
  return (value, path, known) => {
    if (!isObject(value)) return wrongType(path, 'an object', value)
    const given = value[key] === undefined ? fallback : value[key]
    if (given === undefined)
      return [{ fault: 'missing-field', path: join(path, key), message: 'required field missing' }]
    if (typeof given !== 'string') return wrongType(join(path, key), 'a string', given)
    const shape = Object.hasOwn(shapes, given) ? shapes[given] : undefined
    if (shape !== undefined) return shape(value, path, known === undefined ? alone : [...known, key])
    const message = `${JSON.stringify(given)} is none of ${Object.keys(shapes).join(', ')}`
    return [{ fault: `unknown-${key}`, path: join(path, key), message }]
  }
}

/** What each shape found in a view: the rules of one provider share one walk. */
const FOUND = new WeakMap<object, readonly ShapeFinding[]>()

/** The check of a rule that covers one kind of fault; all such rules of a provider must have one shape and root. */
export function faults(shape: Shape, root: string, fault: Fault) {
  return (view: { readonly request: unknown }): Finding[] => {
    const found = FOUND.get(view) ?? shape(view.request, root)
    FOUND.set(view, found)
    return found.filter((finding) => finding.fault === fault)
  }
}

const both = (some: readonly ShapeFinding[], others: readonly ShapeFinding[]): readonly ShapeFinding[] =>
  others.length === 0 ? some : [...some, ...others]

function wrongType(path: string, expected: string, value: unknown): readonly ShapeFinding[] {
  const found = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return [{ fault: 'wrong-type', path, message: `expected ${expected}, found ${found}` }]
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

type Shapes = Readonly<Record<string, Shape>>

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
export const inputFile = (cached: Shapes): Shape =>
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
