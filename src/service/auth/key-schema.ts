/** The bodies of the operations on API keys, as zod schemas. */

import * as z from 'zod'
import { bodyOf } from '../http/body-schema.ts'
import { text } from '../http/field-schema.ts'

const time = z.union([z.string().meta({ format: 'date-time' }), z.null()])

/** Most characters of an organization's id. */
export const MOST_ORG = 200

/** A new key. Without `org_id` it is bound to the caller's organization; with null, to none. */
export const newKeyBody = bodyOf(
  z.strictObject({
    name: text(1, 255),
    not_before: time.optional(),
    expires_at: time.optional(),
    org_id: z.union([text(1, MOST_ORG), z.null()]).optional(),
  }),
)
