/**
 * Shapes of JSON that say only whether a value fits, in plain functions: the schema library, which says what is wrong
 * with an event too, is more than all else that a browser loads to write messages.
 */

import { isObject } from '../event/json.ts'
import type { JsonValue } from '../event/shapes.ts'
import { isAddress, isBase64, readImage } from './files.ts'
import { isWellFormed, isWhitespace } from './text.ts'

/** Whether a value has a shape. */
export type Shape<T> = (value: unknown) => value is T

/** The type of the values of a shape. */
export type ShapeOf<S> = S extends Shape<infer T> ? T : never

/** A field that may be absent; what is there must fit. */
export interface OptionalField<T> {
  readonly optional: Shape<T>
}

/** The shapes of an object's fields. */
export type Fields = Readonly<Record<string, Shape<unknown> | OptionalField<unknown>>>
type OptionalKeys<F> = { [K in keyof F]: F[K] extends OptionalField<unknown> ? K : never }[keyof F]
type Flat<T> = { [K in keyof T]: T[K] }
type RecordOf<F> = Flat<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: ShapeOf<F[K]> } & {
    [K in OptionalKeys<F>]?: F[K] extends OptionalField<infer T> ? T : never
  }
>

export const string: Shape<string> = (value) => typeof value === 'string'

export const boolean: Shape<boolean> = (value) => typeof value === 'boolean'

/** A whole number that JavaScript holds exactly. */
export const integer: Shape<number> = (value): value is number => Number.isSafeInteger(value)

/** Any JSON object. */
export const object: Shape<Record<string, JsonValue>> = isObject

/** Whatever is there. */
export const anything: Shape<unknown> = (value): value is unknown => value !== undefined

export const oneOf =
  <const T extends string>(...values: readonly T[]): Shape<T> =>
  (value): value is T =>
    (values as readonly unknown[]).includes(value)

export const either =
  <const S extends readonly Shape<unknown>[]>(shapes: S): Shape<ShapeOf<S[number]>> =>
  (value): value is ShapeOf<S[number]> =>
    shapes.some((shape) => shape(value))

export const nullable =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value): value is T | null =>
    value === null || shape(value)

export const optional = <T>(shape: Shape<T>): OptionalField<T> => ({
  optional: shape,
})

/** A shape of which only some values will do. */
export const where =
  <T>(shape: Shape<T>, holds: (value: T) => boolean): Shape<T> =>
  (value): value is T =>
    shape(value) && holds(value)

export const listOf =
  <T>(shape: Shape<T>, least = 0): Shape<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.length >= least && value.every((item) => shape(item))

/** An object whose values all have a shape, whatever its keys. */
export const mapOf =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value): value is Record<string, T> =>
    object(value) && Object.values(value).every((item) => shape(item))

/** Whether an object has at least these fields. */
export const hasFields = (value: Readonly<Record<string, unknown>>, fields: Fields): boolean =>
  Object.entries(fields).every(([key, field]) =>
    typeof field === 'function'
      ? Object.hasOwn(value, key) && field(value[key])
      : !Object.hasOwn(value, key) || field.optional(value[key]),
  )

/** An object that has at least these fields. */
export const open =
  <const F extends Fields>(fields: F): Shape<RecordOf<F>> =>
  (value): value is RecordOf<F> =>
    object(value) && hasFields(value, fields)

/** An object that has these fields and no others. */
export const record = <const F extends Fields>(fields: F): Shape<RecordOf<F>> =>
  where(open(fields), (value) => Object.keys(value).every((key) => Object.hasOwn(fields, key)))

/** Text that has bytes. */
export const text = /* @__PURE__ */ where(string, isWellFormed)

/** Text that says something, too. */
export const words = /* @__PURE__ */ where(text, (value) => !isWhitespace(value))

export const base64 = /* @__PURE__ */ where(string, isBase64)

/** Bytes that are a PDF. */
export const pdf = /* @__PURE__ */ where(base64, (data) => data.startsWith('JVBERi0'))

/** A file as a data URL. */
export const dataUrl = /* @__PURE__ */ where(string, (url) => {
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,/.exec(url)
  return match !== null && isBase64(url.slice(match[0].length))
})

export const secureUrl = /* @__PURE__ */ where(string, (url) => isAddress(url, true))

export const webUrl = /* @__PURE__ */ where(string, (url) => isAddress(url, false))

/** An image that every provider reads, as a URL. */
export const imageUrl = /* @__PURE__ */ where(string, (url) => {
  const read = readImage(url)
  return (
    read !== null &&
    (read.from === 'web' ? read.url === url : url === `data:${read.mediaType};base64,${read.data}`)
  )
})

/** An id as providers give and take them. */
export const id = /* @__PURE__ */ where(string, (value) => /^[a-zA-Z0-9_-]{1,128}$/.test(value))

export const mediaType = /* @__PURE__ */ where(string, (type) => /^[a-z]+(?:\/[\w.+*-]+)?$/.test(type))

export const objects = /* @__PURE__ */ listOf(object)

/** A field that may be absent or null. */
export const absent = <T>(shape: Shape<T>): OptionalField<T | null> => optional(nullable(shape))
