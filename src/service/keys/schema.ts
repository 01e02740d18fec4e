/** The bodies of the operations on keys as zod schemas; how each is checked and described comes out. */

import * as z from 'zod'
import { bodyOf } from '../http/schema.ts'

const time = z.union([z.string().meta({ format: 'date-time' }), z.null()])

const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'Must be well-formed Unicode without NUL.',
      params: { type: 'value_error' },
    })

/** A new key. Without `org_id` it is bound to the caller's organization; with null, to none. */
export const newKeyBody = bodyOf(
  z.strictObject({
    name: text(255),
    not_before: time.optional(),
    expires_at: time.optional(),
    org_id: z.union([text(200), z.null()]).optional(),
  }),
)
