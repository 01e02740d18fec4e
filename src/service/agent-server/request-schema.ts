/** The bodies of the agent server's operations, as zod schemas. */

import * as z from 'zod'
import { json } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { bodyOf, id, integer, sentMessage, tags, text, title } from '../http/body-schema.ts'

const policy = z.looseObject({ kind: z.string().min(1) })

/** How a conversation begins; what else is given is its agent's to know. */
const start = z.looseObject({
  conversation_id: id.nullable().optional(),
  parent_conversation_id: id.nullable().optional(),
  title: title.nullable().optional(),
  tags: tags.nullable().optional(),
  workspace: z.looseObject({ working_dir: text(1, 4_096) }).optional(),
  confirmation_policy: policy.nullable().optional(),
  // It is always run.
  initial_message: z
    .strictObject({ ...sentMessage, run: z.boolean().optional() })
    .nullable()
    .optional(),
  max_iterations: integer.min(1).default(500).optional(),
})
export type StartBody = z.input<typeof start>
export const startBody = bodyOf(start, { optional: true })

/** The fields that the service itself goes by. */
const OWN: ReadonlySet<string> = new Set(Object.keys(start.shape))

/** What was given beyond them. */
export const beyond = (body: object): JsonObject =>
  Object.fromEntries(Object.entries(body as JsonObject).filter(([name]) => !OWN.has(name)))

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
  tags: tags.nullable().optional(),
  from_event_id: z.string().nullable().optional(),
  /** Whether what it costs is counted from the fork on. */
  reset_metrics: z.boolean().default(true).optional(),
})
export type ForkBody = z.input<typeof fork>
export const forkBody = bodyOf(fork, { optional: true })

export const navigateBody = bodyOf(z.strictObject({ event_id: z.string().nullable().optional() }), {
  optional: true,
})

export const policyBody = bodyOf(z.strictObject({ policy: policy.nullable() }))

export const questionBody = bodyOf(z.strictObject({ question: text(1, 100_000) }))

const map = z.record(z.string(), json)

export const analyzerBody = bodyOf(z.strictObject({ security_analyzer: map.nullable() }))

/** A text, or an object of its kind: what it is, is the agent's to know. */
export const secretsBody = bodyOf(
  z.strictObject({
    secrets: z.record(z.string().regex(/^[^\p{Cc}]{1,200}$/u), z.union([z.string(), map])),
  }),
)

export const llmBody = bodyOf(z.strictObject({ llm: map }))
export const profileBody = bodyOf(z.strictObject({ profile_name: text(1, 64) }))
