/**
 * An operation of the service: what it is called, what it takes and what it responds, for the router and the OpenAPI
 * document alike.
 */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Parameters, ValidationError, ValuesOf } from './parameters.ts'

/** How a body is checked. */
export interface BodySpec<B> {
  readonly schema: JsonObject
  readonly read: (value: unknown) => { readonly value: B } | { readonly errors: readonly ValidationError[] }
  /** Whether it may be left out. */
  readonly optional?: boolean
}

/** What a handler is given. */
export interface Input<Q extends Parameters, P extends Parameters, B> {
  readonly query: ValuesOf<Q>
  readonly path: ValuesOf<P>
  readonly body: B
  readonly request: Request
}

/** What a handler gives: a status and a JSON body, or a whole response. */
export type Reply = { readonly status?: number; readonly body: JsonValue | object | null } | Response

/** One response, for the document. */
export interface ReplySpec {
  readonly description: string
  /** Left out: nothing is said of the body, or of a failure that it is a problem. */
  readonly schema?: JsonObject
  /** Default: application/json. */
  readonly mediaType?: string
}

/** Everything about an operation but what it does. */
export interface OperationSpec<Q extends Parameters, P extends Parameters, B> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With parameters in braces. */
  readonly path: string
  readonly operationId: string
  readonly tag: string
  readonly summary: string
  /** Whether anybody may call it; the others need a key where keys are configured. */
  readonly open?: boolean
  readonly query?: Q
  readonly params?: P
  readonly body?: BodySpec<B>
  readonly replies: Readonly<Record<number, ReplySpec>>
}

/** An operation, with the types of what it takes forgotten. */
export interface Operation extends OperationSpec<Parameters, Parameters, unknown> {
  readonly handle: (input: Input<Parameters, Parameters, unknown>) => Promise<Reply> | Reply
}

/** Puts an operation together; the handler's input has the types of the parameters. */
export function operation<
  const Q extends Parameters = Record<never, never>,
  const P extends Parameters = Record<never, never>,
  B = undefined,
>(spec: OperationSpec<Q, P, B>, handle: (input: Input<Q, P, B>) => Promise<Reply> | Reply): Operation {
  // Reading the parameters by the same table gives the handler what its types say.
  return { ...spec, handle } as unknown as Operation
}

/** It, or null. */
export const maybe = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })

export const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items })

/** A closed object with all of these fields. */
export const objectOf = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
