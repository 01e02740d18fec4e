/** The body of the operation that provisions a user, as a zod schema. */

import * as z from 'zod'
import { bodyOf } from '../http/body-schema.ts'
import { text } from '../http/field-schema.ts'

export const userBody = bodyOf(
  z.strictObject({
    email: z.string().regex(/^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,190}$/u, 'Must be an e-mail address.'),
    password: text(8, 256).nullable().optional(),
    api_key_name: text(1, 255).nullable().optional(),
  }),
)
