/** The rules common to all providers: a request must be JSON and must fit its shape. */

import { ownField } from '../event/json.ts'
import type { Kinds } from './blocks.ts'
import { either, integer, optional, record, string } from './shape.ts'
import type { Fields, Judge, Shape, ShapeOf } from './shape.ts'

export interface Finding {
  readonly path: string
  readonly message: string
}

export interface Violation extends Finding {
  readonly rule: string
}

/**
 * A rule: its text, its source, and its check. The source is the documentation or an error text of the
 * provider; "inferred" marks a rule that no source states. The check never throws. `V` is what a validator
 * reads from a request once, for all checks.
 */
export type Rule<V> = readonly [rule: string, source: string, check: (view: V) => Iterable<Finding>]

export type Rules<V> = Readonly<Record<string, Rule<V>>>

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

/** Names a value in an error message. Does not convert an object, which may have no usable `toString`. */
export const label = (value: unknown): string =>
  typeof value === 'object' ? 'an object or null' : String(value)

export interface Part {
  readonly path: string
  readonly body: JsonObject
}

export const listed = (value: unknown, path: string): Part[] =>
  asList(value).map((item, index) => ({ path: `${path}[${index}]`, body: asObject(item) }))

type Fault = 'missing-field' | 'unknown-field' | 'wrong-type' | 'unknown-role' | 'unknown-type'

interface ShapeFinding extends Finding {
  readonly fault: Fault
}

interface Judging extends Judge {
  readonly path: string
  readonly known: readonly string[]
  readonly findings: ShapeFinding[]
}

export const customShape =
  <T>(faults: (value: unknown, judging: Judging) => void): Shape<T> =>
  (value, judge): value is T => {
    if (judge !== undefined) faults(value, judge as Judging)
    return judge !== undefined
  }

/** Returns the shape of a field that the writer always writes, though the provider does not require it. */
export const written = <T>(shape: Shape<T>): Shape<T> => optional(shape) as unknown as Shape<T>

export const textOr = <T>(shape: Shape<T>): Shape<string | T> => either([string, shape])

type Flat<T> = { [K in keyof T]: T[K] }

export const fields = <const R extends Shapes, const M extends Shapes = Record<never, never>>(
  required: R,
  more: M = {} as M,
) =>
  record({
    ...required,
    ...Object.fromEntries(Object.entries(more).map(([name, shape]) => [name, optional(shape)])),
  }) as Shape<unknown> as Shape<Flat<{ [K in keyof R]: ShapeOf<R[K]> } & { [K in keyof M]?: ShapeOf<M[K]> }>>

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
    const chosen = typeof tag === 'string' ? ownField(shapes, tag) : undefined
    if (tag === undefined)
      findings.push({ fault: 'missing-field', path: tagPath, message: 'required field missing' })
    else if (typeof tag !== 'string') findings.push(...wrongType(tagPath, 'a string', tag))
    else if (chosen !== undefined) findings.push(...faultsOf(chosen, value, path, [...known, key]))
    else {
      const message = `${JSON.stringify(tag)} is not one of ${Object.keys(shapes).join(', ')}`
      findings.push({ fault: `unknown-${key}`, path: tagPath, message })
    }
  })

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
      wrong(`${/^[io]/.test(name) ? 'an' : 'a'} ${name}`, item),
    one: (values, item) => values.includes(item) || wrong(`one of ${JSON.stringify(values)}`, item),
    either(shapes, item) {
      const faults = shapes.map((one) => faultsOf(one, item, path, known))
      return faults.some(({ length }) => length === 0) || add(faults.at(-1) ?? [])
    },
    list: (shape, item) =>
      Array.isArray(item)
        ? add(item.flatMap((each, index) => faultsOf(shape, each, `${path}[${index}]`)))
        : wrong('an array', item),
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
    const field = ownField(shapes, name)
    const fieldPath = join(path, name)
    if (field === undefined) {
      if (!isOpen && !known.includes(name))
        findings.push({ fault: 'unknown-field', path: fieldPath, message: 'no such field' })
    } else if (item !== undefined)
      findings.push(...faultsOf(typeof field === 'function' ? field : field.optional, item, fieldPath))
  }
  return findings
}

/** Findings of each request, so that all rules of a provider share one walk through the request. */
const FINDINGS = new WeakMap<object, readonly ShapeFinding[]>()

/** Returns the check for one kind of fault. All checks of a provider must have the same `shape` and `root`. */
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

interface Visit {
  readonly value: unknown
  readonly path: string
  /** Name of the value's field; empty in a list. */
  readonly name: string
  readonly isCycle: boolean
}

/** Visits all values. Not a generator, because nested generators cost O(depth) per value. */
function walk(root: unknown, rootPath: string, visit: (visited: Visit) => void): void {
  const ancestors = new Set<unknown>()
  const walkFrom = (value: unknown, path: string, name: string): void => {
    const isCycle = ancestors.has(value)
    visit({ value, path, name, isCycle })
    if (isCycle || !(Array.isArray(value) || isObject(value))) return
    ancestors.add(value)
    if (Array.isArray(value))
      for (const [index, child] of value.entries()) walkFrom(child, `${path}[${index}]`, '')
    else for (const [key, child] of Object.entries(value)) walkFrom(child, join(path, key), key)
    ancestors.delete(value)
  }
  walkFrom(root, rootPath, '')
}

export function notJson(
  root: unknown,
  rootPath: string,
  accept: (value: unknown) => boolean = () => false,
): Finding[] {
  const findings: Finding[] = []
  walk(root, rootPath, ({ value, path, isCycle }) => {
    if (value === null || typeof value === 'string' || typeof value === 'boolean' || accept(value)) return
    if (isCycle) findings.push({ path, message: 'cycle' })
    else if (typeof value === 'number') {
      if (!Number.isFinite(value)) findings.push({ path, message: `${value} is not a JSON number` })
    } else if (!Array.isArray(value) && !isObject(value))
      findings.push({ path, message: `${typeof value} is not a JSON value` })
  })
  return findings
}

/** Finds lone surrogates: strict JSON parsers refuse a body with one. */
export function illFormedText(root: unknown, rootPath: string): Finding[] {
  const findings: Finding[] = []
  walk(root, rootPath, ({ value, path, name }) => {
    if (!name.isWellFormed()) findings.push({ path, message: 'lone surrogate in field name' })
    if (typeof value === 'string' && !value.isWellFormed())
      findings.push({ path, message: 'lone surrogate in string' })
  })
  return findings
}

const FORM = {
  'wrong-type': ['wrong-type', 'Every field has the type of the API reference.'],
  'missing-field': ['missing-field', 'Every required field is present.'],
  'unknown-field': ['unknown-field', 'Every field is in the API reference.'],
  'known-role': ['unknown-role', 'Every role is one of the API reference.'],
  'known-kind': ['unknown-type', 'A block is of exactly one known kind.'],
} as const

/**
 * Returns the rules about the form of a request. The source of a rule is its entry in `sources`, or else `source`.
 * Without an entry, `text-well-formed` has a fixed source, and `known-role` is left out.
 */
export function formRules<V extends { readonly request: unknown }>(
  shape: Shape<unknown>,
  source: string,
  sources: Readonly<Partial<Record<keyof typeof FORM | 'json-only' | 'text-well-formed', string>>> = {},
  { root = '', accept }: { readonly root?: string; readonly accept?: (value: unknown) => boolean } = {},
): Rules<V> {
  const form = Object.entries(FORM)
    .filter(([id]) => id !== 'known-role' || id in sources)
    .map(([id, [fault, rule]]): [string, Rule<V>] => [
      id,
      [rule, sources[id as keyof typeof FORM] ?? source, faults(shape, root, fault)],
    ])
  return {
    'json-only': [
      'The request is plain JSON, except bytes where the client accepts them.',
      sources['json-only'] ?? source,
      ({ request }) => notJson(request, root, accept),
    ],
    'text-well-formed': [
      'No string has a lone surrogate.',
      sources['text-well-formed'] ?? 'inferred: UTF-8 has no bytes for a lone surrogate',
      ({ request }) => illFormedText(request, root),
    ],
    ...Object.fromEntries(form),
  }
}
