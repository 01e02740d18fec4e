/** The body of the operations that run a command, as a zod schema. */

import * as z from 'zod'
import { bodyOf } from '../http/body-schema.ts'
import { integer, text } from '../http/field-schema.ts'

export const commandBody = bodyOf(
  z.strictObject({
    command: text(1, 100_000),
    cwd: text(1, 4_096).nullable().optional(),
    timeout: integer.min(1).max(600).default(300).optional(),
  }),
)
