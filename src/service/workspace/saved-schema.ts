/** The bodies of the operations on saved workspaces, as zod schemas. */

import * as z from 'zod'
import { bodyOf } from '../http/body-schema.ts'
import { text } from '../http/field-schema.ts'

/** How many there may be. */
export const MOST = 1_000

const parent = { id: text(1, 4_096), name: text(1, 500), path: text(1, 4_096) }
export const workspacesBody = bodyOf(
  z.strictObject({
    workspaces: z
      .array(z.strictObject({ ...parent, parentPath: text(1, 4_096).nullable().optional() }))
      .max(MOST),
  }),
)
export const parentsBody = bodyOf(z.strictObject({ parents: z.array(z.strictObject(parent)).max(MOST) }))
