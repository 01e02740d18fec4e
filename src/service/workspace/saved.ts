/** Workspaces that clients save for their pages: names of folders, which the service never opens. */

import type { Store } from '../../store/contract/store.ts'
import { listOf, maybe, objectOf, operationsIn, type Operation, string, bool } from '../http/operation.ts'
import { text as anyText } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { MAX_WORKSPACES, parentsBody, workspacesBody } from '../request-schema.ts'
import { type Records, recordsOf } from '../records.ts'

interface Saved {
  readonly workspaces: readonly Item[]
  readonly workspaceParents: readonly Item[]
}

interface Item {
  readonly id: string
  readonly name: string
  readonly path: string
  readonly parentPath?: string | null | undefined
}

const NO_WORKSPACES: Saved = { workspaces: [], workspaceParents: [] }
const COLLECTION = 'saved-workspaces'

const PARENT = objectOf({ id: string, name: string, path: string })
const LIST = {
  description: 'All workspaces',
  returns: objectOf({
    workspaces: listOf(objectOf({ id: string, name: string, path: string, parentPath: maybe(string) })),
    workspaceParents: listOf(PARENT),
  }),
}
const FULL = { 409: `The list would exceed ${MAX_WORKSPACES} entries` }

const operation = operationsIn('Workspaces')

export function savedWorkspaceOperations(store: Store): Operation[] {
  const records: Records<Saved> = recordsOf<Saved>(store, COLLECTION)
  const shown = ({ workspaces, workspaceParents }: Saved): object => ({
    workspaces: workspaces.map((one) => ({ ...one, parentPath: one.parentPath ?? null })),
    workspaceParents,
  })
  const add = async (field: keyof Saved, items: readonly Item[]): Promise<object> => {
    const after = await records.update(COLLECTION, (before) => {
      const all = new Map((before ?? NO_WORKSPACES)[field].map((one) => [one.path, one]))
      for (const one of items) all.set(one.path, one)
      if (all.size > MAX_WORKSPACES)
        throw new HttpProblem(
          409,
          `The list would exceed its maximum of ${MAX_WORKSPACES} entries. Delete some first.`,
        )
      return { ...(before ?? NO_WORKSPACES), [field]: [...all.values()] }
    })
    return shown(after ?? NO_WORKSPACES)
  }
  const remove = async (field: keyof Saved, path: string): Promise<object> => {
    let deleted = false
    await records.update(COLLECTION, (before) => {
      const remaining = (before ?? NO_WORKSPACES)[field].filter((one) => one.path !== path)
      deleted = remaining.length < (before ?? NO_WORKSPACES)[field].length
      return deleted ? { ...(before ?? NO_WORKSPACES), [field]: remaining } : undefined
    })
    return { deleted }
  }
  return [
    operation('get /api/workspaces', {
      name: 'list_workspaces',
      ...LIST,
      handle: async () => shown((await records.find(COLLECTION))?.record ?? NO_WORKSPACES),
    }),
    operation('post /api/workspaces', {
      name: 'add_workspaces',
      body: workspacesBody,
      ...LIST,
      otherwise: FULL,
      handle: ({ body }) => add('workspaces', body.workspaces),
    }),
    operation('post /api/workspaces/parents', {
      name: 'add_workspace_parents',
      body: parentsBody,
      ...LIST,
      otherwise: FULL,
      handle: ({ body }) => add('workspaceParents', body.parents),
    }),
    ...(
      [
        ['', 'workspaces'],
        ['/parents', 'workspaceParents'],
      ] as const
    ).map(([path, field]) =>
      operation(`delete /api/workspaces${path}`, {
        name: `delete_workspace${path === '' ? '' : '_parent'}`,
        query: { path: anyText() },
        returns: objectOf({ deleted: bool }),
        handle: ({ query }) => remove(field, query.path),
      }),
    ),
  ]
}
