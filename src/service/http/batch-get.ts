/** The operation that looks up many things by their ids at once. */

import type { JsonObject } from '../../event/shapes.ts'
import { listOf, maybe, operation, type Operation, type OperationSpec } from './operation.ts'
import { type Parameter, texts } from './parameters.ts'
import { HttpProblem } from './problem.ts'

/** Most that are asked for at once. */
const MOST_IDS = 100

/** For the table of replies. */
export const TOO_MANY_IDS = {
  400: { description: `More than ${MOST_IDS} ids` },
} as const

/** For the table of replies of what can be large. */
export const TOO_LARGE = {
  413: { description: 'The response would be too large: request fewer' },
} as const

/** @param what what is asked for, in the plural. @throws HttpProblem 400. */
export function checkIds(ids: readonly string[], what: string): void {
  if (ids.length <= MOST_IDS) return
  throw new HttpProblem(400, `Cannot get more than ${MOST_IDS} ${what} at once, got ${ids.length}.`)
}

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
