/**
 * Shapes of JSON that say only whether a value fits, in plain functions: the schema library, which says what is wrong
 * with an event too, is more than all else that a browser loads to write messages.
 */

import { isObject } from '../event/json.ts'
import type { JsonValue } from '../event/shapes.ts'

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
