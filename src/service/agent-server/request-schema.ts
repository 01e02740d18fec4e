/** The bodies of the agent server's operations, as zod schemas. */

import * as z from 'zod'
import { integer } from '../../event/shape-schema.ts'
import { bodyOf } from '../http/body-schema.ts'
import { id, sentMessage, tags, text, title } from '../http/field-schema.ts'

const policy = z.looseObject({ kind: z.string().min(1) })

/** How a conversation begins. */
const start = z.strictObject({
  conversation_id: id.nullable().optional(),
  parent_conversation_id: id.nullable().optional(),
  title: title.nullable().optional(),
  tags: tags.optional(),
  workspace: z.strictObject({ working_dir: text(1, 4_096) }).optional(),
  confirmation_policy: policy.optional(),
  initial_message: z.strictObject(sentMessage).nullable().optional(),
  max_iterations: integer.min(1).default(500).optional(),
})
export type StartBody = z.input<typeof start>
export const startBody = bodyOf(start, { optional: true })

export const updateBody = bodyOf(
  z.strictObject({ title: title.nullable().optional(), tags: tags.nullable().optional() }),
)

export const messageBody = bodyOf(
  z.strictObject({ ...sentMessage, run: z.boolean().default(false).optional() }),
)

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
