/** The bodies of the lifecycle operations as zod schemas; how each is checked and described comes out. */

import * as z from 'zod'
import { integer } from '../../event/shapes/schema.ts'
import { bodyOf } from '../http/schema.ts'
import { id, said as message, tags, text, title } from '../schema.ts'

/** What a message is made of. */
const said = {
  ...message,
  /** The client's own key: a message with a key that was sent before is not sent again. */
  key: text(1, 200).optional(),
  sender: text(1, 200).optional(),
}

const policy = z.looseObject({ kind: z.string().min(1) })

/** How a conversation begins. */
const start = z.strictObject({
  conversation_id: id.nullable().optional(),
  parent_conversation_id: id.nullable().optional(),
  title: title.nullable().optional(),
  tags: tags.optional(),
  workspace: z.strictObject({ working_dir: text(1, 4_096) }).optional(),
  confirmation_policy: policy.optional(),
  initial_message: z.strictObject(said).nullable().optional(),
  max_iterations: integer.min(1).default(500).optional(),
})
export type StartBody = z.input<typeof start>
export const startBody = bodyOf(start, { optional: true })

export const updateBody = bodyOf(
  z.strictObject({ title: title.nullable().optional(), tags: tags.nullable().optional() }),
)

export const messageBody = bodyOf(z.strictObject({ ...said, run: z.boolean().default(false).optional() }))

/** A message that comes over a socket. */
export const socketMessage = bodyOf(z.strictObject(said))

export const confirmationBody = bodyOf(
  z.strictObject({ accept: z.boolean(), reason: text(1, 4_096).optional() }),
)

export const approveBody = bodyOf(z.strictObject({ action_ids: z.array(z.string()).min(1).max(1_000) }))

export const rejectBody = bodyOf(
  z.strictObject({ action_ids: z.array(z.string()).min(1).max(1_000), reason: text(1, 4_096).optional() }),
)

/** How a conversation is forked. */
const fork = z.strictObject({
  id: id.nullable().optional(),
  title: title.nullable().optional(),
  tags: tags.optional(),
  from_event_id: z.string().nullable().optional(),
})
export type ForkBody = z.input<typeof fork>
export const forkBody = bodyOf(fork, { optional: true })

export const navigateBody = bodyOf(z.strictObject({ event_id: z.string().nullable() }))

export const policyBody = bodyOf(z.strictObject({ policy: policy.nullable() }))

/** The first frame of a socket that carries no key in its head. */
export const authFrame = bodyOf(z.strictObject({ type: z.literal('auth'), session_api_key: z.string() }))
