/** Operations of the service: the same definition serves the router and the OpenAPI document. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Parameters, ValidationError, ValuesOf } from './parameters.ts'

/** The check of a body. */
export interface BodySpec<B> {
  readonly schema: JsonObject
  readonly read: (value: unknown) => { readonly value: B } | { readonly errors: readonly ValidationError[] }
  /** Whether the body may be omitted. */
  readonly optional?: boolean
}

/** The input of a handler. */
export interface Input<Q extends Parameters, P extends Parameters, B> {
  readonly query: ValuesOf<Q>
  readonly path: ValuesOf<P>
  readonly body: B
  readonly request: Request
}

/** The result of a handler: a status and a JSON body, or a whole response. */
export type Reply = { readonly status?: number; readonly body: JsonValue | object | null } | Response

/** One response in the document. */
export interface ReplySpec {
  readonly description: string
  /** Default: no schema; a failure is a Problem. */
  readonly schema?: JsonObject
  /** Default: application/json. */
  readonly mediaType?: string
}

/** An operation without its handler. */
export interface OperationSpec<Q extends Parameters, P extends Parameters, B> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With parameters in braces. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  /** Whether no key is required. */
  readonly open?: boolean
  /** Authorizes a request instead of the check of its key. @throws HttpProblem. */
  readonly authorize?: (request: Request) => Promise<void>
  readonly query?: Q
  readonly params?: P
  readonly body?: BodySpec<B>
  readonly replies: Readonly<Record<number, ReplySpec>>
}

/** An operation without the types of its input. */
export interface Operation extends OperationSpec<Parameters, Parameters, unknown> {
  readonly handle: (input: Input<Parameters, Parameters, unknown>) => Promise<Reply> | Reply
}

/** Builds an operation; the handler's input has the types of the parameters. */
export function operation<
  const Q extends Parameters = Record<never, never>,
  const P extends Parameters = Record<never, never>,
  B = undefined,
>(spec: OperationSpec<Q, P, B>, handle: (input: Input<Q, P, B>) => Promise<Reply> | Reply): Operation {
  // Parameters are read by the same table from which their types are derived.
  return { ...spec, handle } as unknown as Operation
}

/** A schema, or null. */
export const maybe = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })

export const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items })

/** A closed object whose fields are all required. */
export const objectOf = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
