import type { JsonObject } from '../../event/shapes.ts'
import { listOf, maybe, operationsIn, type Operation, type OperationName, type Route } from './operation.ts'
import { readByIds } from './paging.ts'
import { type Parameter, texts } from './parameters.ts'
import { HttpProblem } from './problem.ts'

const MAX_IDS = 100

export const TOO_MANY_IDS = { 400: `More than ${MAX_IDS} ids` } as const

export const TOO_LARGE = { 413: 'The response would be too large' } as const

export function checkIds(ids: readonly string[], what: string): void {
  if (ids.length <= MAX_IDS) return
  throw new HttpProblem(
    400,
    `Cannot get more than ${MAX_IDS} ${what} at once: the request has ${ids.length} ids.`,
  )
}

type BatchSpec = OperationName & {
  readonly tag: string
  readonly summary?: string
  /** Plural noun for the items, used in error messages. */
  readonly what: string
  readonly by: 'id' | 'ids'
  readonly schema: JsonObject
  /** Returns the items in the order of the ids, null for each unknown id. Called with a few ids at once. */
  readonly find: (ids: readonly string[], request: Request) => Promise<readonly (object | null)[]>
}

export const batchGet = (route: Route, { what, by, schema, find, ...spec }: BatchSpec): Operation =>
  operationsIn(spec.tag)(route, {
    ...spec,
    query: { [by]: texts() } as { readonly [name in typeof by]: Parameter<readonly string[]> },
    returns: listOf(maybe(schema)),
    description: 'The items in the order of the ids, null for each unknown id',
    otherwise: { ...TOO_MANY_IDS, ...TOO_LARGE },
    async handle({ query, request }) {
      const ids = query[by]
      checkIds(ids, what)
      return readByIds(ids, what, (some) => find(some, request))
    },
  })
