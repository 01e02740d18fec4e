/** Operations of the service: the same definition serves the router and the OpenAPI document. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Parameters, ValidationError, ValuesOf } from './parameters.ts'

export interface BodySpec<B> {
  readonly schema: JsonObject
  readonly read: (value: unknown) => { readonly value: B } | { readonly errors: readonly ValidationError[] }
  readonly optional?: boolean
}

interface Input<Q extends Parameters, P extends Parameters, B> {
  readonly query: ValuesOf<Q>
  readonly path: ValuesOf<P>
  readonly body: B
  readonly request: Request
}

/** The result of a handler: a status and a JSON body, or a whole response. */
export type Reply = { readonly status?: number; readonly body: JsonValue | object | null } | Response

export interface ReplySpec {
  readonly description: string
  /** Default: no schema; a failure is a Problem. */
  readonly schema?: JsonObject
  /** Default: application/json. */
  readonly mediaType?: string
}

export interface OperationSpec<Q extends Parameters, P extends Parameters, B> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  readonly open?: boolean
  /** Authorizes a request instead of the check of its key. @throws HttpProblem. */
  readonly authorize?: (request: Request) => Promise<void>
  readonly query?: Q
  readonly params?: P
  readonly body?: BodySpec<B>
  readonly replies: Readonly<Record<number, ReplySpec>>
}

export interface Operation extends OperationSpec<Parameters, Parameters, unknown> {
  readonly handle: (input: Input<Parameters, Parameters, unknown>) => Promise<Reply> | Reply
}

export function operation<
  const Q extends Parameters = Record<never, never>,
  const P extends Parameters = Record<never, never>,
  B = undefined,
>(spec: OperationSpec<Q, P, B>, handle: (input: Input<Q, P, B>) => Promise<Reply> | Reply): Operation {
  // Parameters are read by the same table from which their types are derived.
  return { ...spec, handle } as unknown as Operation
}

export const maybe = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })

export const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items })

export const objectOf = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

export const pageOfSchema = (items: JsonObject): JsonObject =>
  objectOf({ items: listOf(items), next_page_id: maybe({ type: 'string' }) })
