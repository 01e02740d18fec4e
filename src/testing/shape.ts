import * as fc from 'fast-check'

type Parts<T> = { readonly [K in keyof T]: fc.Arbitrary<T[K]> }

export function shape<R extends object>(required: Parts<R>): fc.Arbitrary<R>
export function shape<R extends object, O extends object>(
  required: Parts<R>,
  optional: Parts<O>,
): fc.Arbitrary<R & Partial<O>>
export function shape(required: object, optional: object = {}): fc.Arbitrary<unknown> {
  const model = { ...required, ...optional } as Record<string, fc.Arbitrary<unknown>>
  return fc.record(model, { requiredKeys: Object.keys(required), noNullPrototype: true })
}

export const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { freq: 4 })

export const weighed = <T>(...parts: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })))

export const always = <const T>(value: T): fc.Arbitrary<T> => fc.constant(value)
