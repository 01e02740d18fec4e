/** The frames that a client may send over a socket: its key, and messages. */

import * as z from 'zod'
import { bodyOf } from '../http/body-schema.ts'
import { sentMessage } from '../http/field-schema.ts'

/** A message that comes over a socket; it is run unless it says otherwise. */
export const socketMessage = bodyOf(
  z.strictObject({ ...sentMessage, run: z.boolean().default(true).optional() }),
)

/** The first frame of a socket that carries no key in its head. */
export const authFrame = bodyOf(z.strictObject({ type: z.literal('auth'), session_api_key: z.string() }))
