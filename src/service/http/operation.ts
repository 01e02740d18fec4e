/** Operations of the service: the same definition serves the router and the OpenAPI document. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { text, type Parameter, type Parameters, type ValidationError, type ValuesOf } from './parameters.ts'

export interface BodySpec<B> {
  readonly schema: JsonObject
  readonly read: (value: unknown) => { readonly value: B } | { readonly errors: readonly ValidationError[] }
  readonly optional?: boolean
}

export type BodyOf<S> = S extends BodySpec<infer B> ? B : never

interface Input<Q extends Parameters, P, B> {
  readonly query: ValuesOf<Q>
  readonly path: P
  readonly body: B
  readonly request: Request
}

/** The body of a response, a response itself, or nothing if the operation has no `returns`. */
export type Reply = JsonValue | object | undefined | void

export type Route = `${'get' | 'post' | 'put' | 'patch' | 'delete'} /${string}`

interface Described {
  readonly open?: boolean
  /** Authorizes a request, instead of the usual check of its key. @throws HttpProblem. */
  readonly authorize?: (request: Request) => Promise<void>
  /** Schema of the response. By default the response is `{ success: true }`, whatever the handler returns. */
  readonly returns?: Schema
  readonly description?: string
  readonly status?: number
  readonly mediaType?: string
  /**
   * Descriptions, by status code, of responses whose status is not `status`. Successful responses have the
   * schema `returns`. The OpenAPI document adds a 404 to each path with a conversation's id.
   */
  readonly otherwise?: Readonly<Record<number, string>>
}

/** A whole `operationId`, or a `name` to which the path and the method are appended. */
export type OperationName =
  | { readonly name: string; readonly operationId?: never }
  | { readonly operationId: string; readonly name?: never }

type OperationSpec<R, Q extends Parameters, P extends Parameters, B> = Described &
  OperationName & {
    /** Group in the OpenAPI document. Default: the argument of `operationsIn`. */
    readonly tag?: string
    /** Title in the OpenAPI document. Default: the words of the operation's name. */
    readonly summary?: string
    readonly query?: Q
    /** Path parameters that accept only certain texts. */
    readonly params?: P
    readonly body?: BodySpec<B>
    readonly handle: (input: Input<Q, PathOf<R, P>, B>) => Promise<Reply> | Reply
  }

export interface Operation extends Described {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly query?: Parameters
  readonly params: Parameters
  readonly body?: BodySpec<unknown>
  readonly handle: (
    input: Input<Parameters, Readonly<Record<string, unknown>>, unknown>,
  ) => Promise<Reply> | Reply
}

type NamesIn<R> = R extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

type PathOf<R, P extends Parameters> = {
  readonly [N in NamesIn<R>]: P[N] extends Parameter<infer T> ? T : string
}

export const operationsIn =
  (tag: string) =>
  <
    const R extends Route,
    const Q extends Parameters = Record<never, never>,
    const P extends Parameters = Record<never, never>,
    B = undefined,
  >(
    route: R,
    { name, operationId, summary, params, ...spec }: OperationSpec<R, Q, P, B>,
  ): Operation => {
    const [method = '', path = ''] = route.split(' ')
    const words = (name ?? operationId).split('_')
    // The cast is safe: parameters are read by the same table from which their types are derived.
    return {
      tag,
      ...spec,
      method,
      path,
      operationId: operationId ?? `${name}${path.replaceAll(/\W/g, '_')}_${method}`,
      summary: summary ?? words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' '),
      params: Object.fromEntries(
        Array.from(path.matchAll(/\{(\w+)\}/g), ([, one = '']) => [one, params?.[one] ?? text()]),
      ),
    } as unknown as Operation
  }

const TYPES = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  object: { type: 'object' },
  'date-time': { type: 'string', format: 'date-time' },
} as const

type TypeName = keyof typeof TYPES

/** A JSON Schema, or the name of a type. With `?`, the value may also be null. */
export type Schema = JsonObject | TypeName | `${TypeName}?`

export function schemaOf(schema: Schema): JsonObject {
  if (typeof schema !== 'string') return schema
  const type = TYPES[schema.replace('?', '') as TypeName]
  return schema.endsWith('?') ? maybe(type) : type
}

export const maybe = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })

export const listOf = (items: Schema): JsonObject => ({ type: 'array', items: schemaOf(items) })

export const propertiesOf = (properties: Readonly<Record<string, Schema>>): JsonObject =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, schemaOf(schema)]))

export const objectOf = (properties: Readonly<Record<string, Schema>>): JsonObject => ({
  type: 'object',
  properties: propertiesOf(properties),
  required: Object.keys(properties),
  additionalProperties: false,
})

export const pageOfSchema = (items: Schema): JsonObject =>
  objectOf({ items: listOf(items), next_page_id: 'string?' })

export const SUCCESS = objectOf({ success: 'boolean' })
