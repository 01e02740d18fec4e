import { attempt } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { isInstant } from '../../event/time.ts'

export interface ValidationError {
  /** Location of the invalid value: the part of the request, then names and indexes. */
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
  readonly input?: JsonValue
  readonly ctx?: JsonObject
}

type Wrong = Omit<ValidationError, 'loc'>

type Read<T> = { readonly value: T } | { readonly wrong: Wrong }

export interface Parameter<T> {
  readonly schema: JsonObject
  /** Value of an omitted parameter; null if the parameter is required. */
  readonly omitted: { readonly value: T } | null
  readonly read: (raw: readonly string[]) => Read<T>
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>

export type ValuesOf<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T : never
}

const wrong = (type: string, msg: string, input: JsonValue, ctx?: JsonObject): { readonly wrong: Wrong } => ({
  wrong: { type, msg, input, ...(ctx !== undefined && { ctx }) },
})

/** A parameter with one value. If a request repeats it, the last value counts. */
const single = <T>(schema: JsonObject, read: (input: string) => Read<T>): Parameter<T> => ({
  schema,
  omitted: null,
  read: (raw) => read(raw.at(-1) ?? ''),
})

export const text = (): Parameter<string> => single({ type: 'string' }, (value) => ({ value }))

/** A text that matches a pattern. The error omits the value, which may be a secret sent by mistake. */
export const matching = (pattern: RegExp, msg: string): Parameter<string> => ({
  schema: { type: 'string', pattern: pattern.source },
  omitted: null,
  read: ([value = '']) =>
    pattern.test(value) ? { value } : { wrong: { type: 'string_pattern_mismatch', msg } },
})

export function integer(range: { readonly min?: number; readonly max?: number }): Parameter<number> {
  const { min: least = Number.MIN_SAFE_INTEGER, max: limit = Number.MAX_SAFE_INTEGER } = range
  const schema = {
    type: 'integer',
    ...(range.min !== undefined && { exclusiveMinimum: range.min - 1 }),
    ...(range.max !== undefined && { maximum: range.max }),
  }
  return single(schema, (input) => {
    if (!/^\s*[+-]?\d+\s*$/.test(input)) {
      return wrong(
        'int_parsing',
        'Input should be a valid integer, unable to parse string as an integer',
        input,
      )
    }
    const value = Number(input)
    if (value < least)
      return wrong('greater_than', `Input should be greater than ${least - 1}`, input, { gt: least - 1 })
    if (value > limit)
      return wrong('less_than_equal', `Input should be less than or equal to ${limit}`, input, { le: limit })
    return { value }
  })
}

export const boolean = (): Parameter<boolean> =>
  single({ type: 'boolean' }, (input) => {
    const word = input.toLowerCase()
    if (['true', '1', 'yes', 'on', 't', 'y'].includes(word)) return { value: true }
    if (['false', '0', 'no', 'off', 'f', 'n'].includes(word)) return { value: false }
    return wrong('bool_parsing', 'Input should be a valid boolean, unable to interpret input', input)
  })

export function oneOf<const W extends readonly [string, ...string[]]>(words: W): Parameter<W[number]> {
  const quoted = words.map((word) => `'${word}'`)
  const expected =
    quoted.length === 1 ? `${quoted[0]}` : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return single({ type: 'string', enum: words }, (input) => {
    const value = words.find((word) => word === input)
    return value === undefined ? wrong('enum', `Input should be ${expected}`, input, { expected }) : { value }
  })
}

/** An instant in ISO 8601; without a zone it is UTC (design D10). */
export const dateTime = (): Parameter<string> =>
  single({ type: 'string', format: 'date-time' }, (raw) => {
    // An unescaped plus sign arrives as a space.
    const input = raw.replace(/ (\d\d:?\d\d)$/, '+$1')
    const value = /^\d{4}-\d\d-\d\d$/.test(input) ? `${input}T00:00:00` : input
    return isInstant(value)
      ? { value }
      : wrong('datetime_from_date_parsing', 'Input should be a valid datetime or date', raw)
  })

export const texts = (): Parameter<readonly string[]> => ({
  schema: { type: 'array', items: { type: 'string' } },
  omitted: null,
  read: (raw) => ({ value: raw }),
})

export const optional = <T>(parameter: Parameter<T>): Parameter<T | null> => ({
  ...parameter,
  schema: { anyOf: [parameter.schema, { type: 'null' }] },
  omitted: { value: null },
})

export const withDefault = <T extends JsonValue>(parameter: Parameter<T>, value: T): Parameter<T> => ({
  ...parameter,
  schema: { ...parameter.schema, default: value },
  omitted: { value },
})

export function readParameters<P extends Parameters>(
  parameters: P,
  part: 'query' | 'path',
  valuesOf: (name: string) => readonly string[],
): { readonly values: ValuesOf<P> } | { readonly errors: readonly ValidationError[] } {
  const values: Record<string, unknown> = {}
  const errors: ValidationError[] = []
  for (const [name, parameter] of Object.entries(parameters)) {
    const texts = valuesOf(name)
    const read = texts.length === 0 ? parameter.omitted : parameter.read(texts)
    if (read === null) errors.push({ type: 'missing', loc: [part, name], msg: 'Field required', input: null })
    else if ('value' in read) values[name] = read.value
    else errors.push({ loc: [part, name], ...read.wrong })
  }
  return errors.length > 0 ? { errors } : { values: values as ValuesOf<P> }
}

export const decoded = (text: string): string => attempt(() => decodeURIComponent(text), text)
