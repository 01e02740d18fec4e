/**
 * Shapes of JSON values. A shape decides only whether a value fits. The schema library would also explain errors, but
 * is larger than everything else that a browser loads to write messages.
 */

import { isObject } from '../event/json.ts'
import type { JsonValue } from '../event/shapes.ts'
import { isAddress, isBase64, readImage, urlOf } from './files.ts'
import { isWhitespace } from './text.ts'

/**
 * A function that returns whether a value has a shape. The rules of a grammar call it with a judge, which collects
 * errors. The function then passes the value and the shape's description to the judge. It does not check the
 * conditions of {@link where}, because separate rules check them.
 */
export interface Shape<T> {
  (value: unknown, judge?: Judge): value is T
}

type Kind = 'string' | 'boolean' | 'integer' | 'object'

/** Compares values with shapes. Each method returns true if the value fits. */
export interface Judge {
  readonly kind: (name: Kind, value: unknown) => boolean
  readonly one: (values: readonly unknown[], value: unknown) => boolean
  readonly either: (shapes: readonly Shape<unknown>[], value: unknown) => boolean
  readonly list: (shape: Shape<unknown>, value: unknown) => boolean
  readonly record: (fields: Fields, isOpen: boolean, value: unknown) => boolean
  readonly typed: (kinds: Readonly<Record<string, Fields>>, value: unknown) => boolean
}

export type ShapeOf<S> = S extends Shape<infer T> ? T : never

export interface OptionalField<T> {
  readonly optional: Shape<T>
}

export type Fields = Readonly<Record<string, Shape<unknown> | OptionalField<unknown>>>
type OptionalKeys<F> = { [K in keyof F]: F[K] extends OptionalField<unknown> ? K : never }[keyof F]
type Flat<T> = { [K in keyof T]: T[K] }
type RecordOf<F> = Flat<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: ShapeOf<F[K]> } & {
    [K in OptionalKeys<F>]?: F[K] extends OptionalField<infer T> ? T : never
  }
>

const kind =
  <T>(name: Kind, is = (value: unknown): boolean => typeof value === name): Shape<T> =>
  (value, judge): value is T =>
    judge?.kind(name, value) ?? is(value)

export const string = /* @__PURE__ */ kind<string>('string')

export const boolean = /* @__PURE__ */ kind<boolean>('boolean')

export const integer = /* @__PURE__ */ kind<number>('integer', Number.isSafeInteger)

export const object = /* @__PURE__ */ kind<Record<string, JsonValue>>('object', isObject)

export const anything: Shape<unknown> = (value, judge): value is unknown =>
  judge !== undefined || value !== undefined

export const oneOf =
  <const T extends string | null>(...values: readonly T[]): Shape<T> =>
  (value, judge): value is T =>
    judge?.one(values, value) ?? (values as readonly unknown[]).includes(value)

/** Returns the union of several shapes. If a value fits none of the shapes, errors refer to the last one. */
export const either =
  <const S extends readonly Shape<unknown>[]>(shapes: S): Shape<ShapeOf<S[number]>> =>
  (value, judge): value is ShapeOf<S[number]> =>
    judge?.either(shapes, value) ?? shapes.some((shape) => shape(value))

export const nullable = <T>(shape: Shape<T>): Shape<T | null> =>
  either([oneOf(null), shape]) as Shape<T | null>

export const optional = <T>(shape: Shape<T>): OptionalField<T> => ({ optional: shape })

export const where =
  <T>(shape: Shape<T>, holds: (value: T) => boolean): Shape<T> =>
  (value, judge): value is T =>
    shape(value, judge) && (judge !== undefined || holds(value))

export const listOf =
  <T>(shape: Shape<T>, minimum = 0): Shape<T[]> =>
  (value, judge): value is T[] =>
    judge?.list(shape, value) ??
    (Array.isArray(value) && value.length >= minimum && value.every((item) => shape(item)))

/** Returns the shape of an object with any keys. Ignores judges: only the AI SDK's grammar, without rules, uses it. */
export const mapOf =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value): value is Record<string, T> =>
    isObject(value) && Object.values(value).every((item) => shape(item))

export const hasFields = (value: Readonly<Record<string, unknown>>, fields: Fields): boolean =>
  Object.entries(fields).every(([key, field]) =>
    typeof field === 'function'
      ? Object.hasOwn(value, key) && field(value[key])
      : !Object.hasOwn(value, key) || field.optional(value[key]),
  )

const withFields =
  (isOpen: boolean) =>
  <const F extends Fields>(fields: F): Shape<RecordOf<F>> =>
  (value, judge): value is RecordOf<F> =>
    judge?.record(fields, isOpen, value) ??
    (isObject(value) &&
      hasFields(value, fields) &&
      (isOpen || Object.keys(value).every((key) => Object.hasOwn(fields, key))))

/** Returns the shape of an object that has at least the specified fields. */
export const open = /* @__PURE__ */ withFields(true)

/** Returns the shape of an object that has exactly the specified fields. */
export const record = /* @__PURE__ */ withFields(false)

export type Typed<B extends Readonly<Record<string, Fields>>> = {
  [K in keyof B]: Flat<{ type: K } & RecordOf<B[K]>>
}[keyof B]

export const byType =
  <const B extends Readonly<Record<string, Fields>>>(kinds: B): Shape<Typed<B>> =>
  (value, judge): value is Typed<B> =>
    judge?.typed(kinds, value) ??
    (isObject(value) &&
      Object.entries(kinds).some(
        ([type, fields]) => value['type'] === type && record({ type: string, ...fields })(value),
      ))

export const typed = <const F extends Fields>(
  ...forms: readonly F[]
): Shape<Flat<{ type: string } & RecordOf<F>>> =>
  either(forms.map((fields) => record({ type: string, ...fields }))) as never

export const text = /* @__PURE__ */ where(string, (value) => value.isWellFormed())

export const visibleText = /* @__PURE__ */ where(text, (value) => !isWhitespace(value))

export const base64 = /* @__PURE__ */ where(string, isBase64)

export const pdf = /* @__PURE__ */ where(base64, (data) => data.startsWith('JVBERi0'))

export const dataUrl = /* @__PURE__ */ where(string, (url) => {
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,/.exec(url)
  return match !== null && isBase64(url.slice(match[0].length))
})

export const secureUrl = /* @__PURE__ */ where(string, (url) => isAddress(url, true))

export const webUrl = /* @__PURE__ */ where(string, (url) => isAddress(url, false))

export const imageUrl = /* @__PURE__ */ where(string, (url) => {
  const image = readImage(url)
  return image !== null && urlOf(image) === url
})

export const id = /* @__PURE__ */ where(string, (value) => /^[\w-]{1,128}$/.test(value))

export const mediaType = /* @__PURE__ */ where(string, (type) => /^[a-z]+(?:\/[\w.+*-]+)?$/.test(type))

export const objects = /* @__PURE__ */ listOf(object)

export const absent = <T>(shape: Shape<T>): OptionalField<T | null> => optional(nullable(shape))
