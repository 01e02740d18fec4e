/** The order in which a router must try operations, and the methods that a path takes. */

import type { Operation } from './operation.ts'

const PARAMETER = /\{\w+\}/g

/** Words before parameters at the first place where two paths differ, so that `/search` is never taken for an id. */
export const byPrecedence = (operations: readonly Operation[]): Operation[] =>
  operations
    .map((operation) => ({ operation, key: keyOf(operation) }))
    .toSorted((a, b) => Number(a.key > b.key) - Number(a.key < b.key))
    .map(({ operation }) => operation)

const keyOf = ({ path }: Operation): string =>
  path
    .split('/')
    .map((part) => (part.startsWith('{') ? '1' : '0'))
    .join('')

/** Which methods are served at a path; none for a path that nothing is at. */
export function methodsAt(operations: readonly Operation[]): (path: string) => string[] {
  const table = operations.map(({ method, path }) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(PARAMETER, '[^/]+')}$`),
  }))
  return (path) => {
    const methods = table.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)]
  }
}
