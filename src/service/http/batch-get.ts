/** The operation that looks up many things by their ids at once. */

import type { JsonObject } from '../../event/shapes.ts'
import { checkIds, TOO_LARGE, TOO_MANY_IDS } from './ids.ts'
import { listOf, maybe } from './json-schema.ts'
import { type Operation, operation, type OperationSpec } from './operation.ts'
import { type Parameter, texts } from './parameters.ts'

/** How it is called. */
interface Named extends Pick<
  OperationSpec<Record<never, never>, Record<never, never>, undefined>,
  'path' | 'operationId' | 'tag' | 'summary'
> {
  /** What is asked for, in the plural. */
  readonly what: string
  /** What the parameter with the ids is called. */
  readonly by: 'id' | 'ids'
  /** Of one. */
  readonly schema: JsonObject
}

/** @param find gives those with these ids, in their order, null for each that is missing */
export const batchGet = (
  { what, by, schema, ...spec }: Named,
  find: (ids: readonly string[]) => Promise<readonly (object | null)[]>,
): Operation =>
  operation(
    {
      ...spec,
      method: 'get',
      query: { [by]: texts() } as { readonly [name in typeof by]: Parameter<readonly string[]> },
      replies: {
        200: {
          description: 'Those with these ids, in their order, null for each that is missing',
          schema: listOf(maybe(schema)),
        },
        ...TOO_MANY_IDS,
        ...TOO_LARGE,
      },
    },
    async ({ query }) => {
      const ids = query[by]
      checkIds(ids, what)
      return { body: await find(ids) }
    },
  )
