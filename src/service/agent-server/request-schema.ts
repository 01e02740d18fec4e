import * as z from 'zod'
import { json } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import {
  bodyOf,
  confirmationPolicy,
  content,
  id,
  integer,
  secrets,
  securityAnalyzer,
  sentMessage,
  tags,
  text,
  title,
} from '../http/body-schema.ts'

const serviceFields = {
  conversation_id: id.nullable().optional(),
  parent_conversation_id: id.nullable().optional(),
  title: title.nullable().optional(),
  tags: tags.nullable().optional(),
  owner: id.nullable().optional(),
  workspace: z.looseObject({ working_dir: text(1, 4_096) }).optional(),
  confirmation_policy: confirmationPolicy.nullable().optional(),
  initial_message: z
    .strictObject({ ...sentMessage, run: z.boolean().default(true).optional() })
    .nullable()
    .optional(),
  max_iterations: integer.min(1).default(500).optional(),
}

const startRequest = z.looseObject({
  ...serviceFields,
  secrets: secrets.nullable().optional(),
  security_analyzer: securityAnalyzer.nullable().optional(),
})
export type StartBody = z.input<typeof startRequest>
export const startBody = bodyOf(startRequest, { optional: true })

export const agentFields = (body: object): JsonObject =>
  Object.fromEntries(
    Object.entries(body as JsonObject).filter(([name]) => !Object.hasOwn(serviceFields, name)),
  )

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

const fork = z.strictObject({
  id: id.nullable().optional(),
  title: title.nullable().optional(),
  tags: tags.nullable().optional(),
  owner: id.nullable().optional(),
  from_event_id: z.string().nullable().optional(),
  /** Whether usage is counted from the fork on. */
  reset_metrics: z.boolean().default(true).optional(),
})
export type ForkBody = z.input<typeof fork>
export const forkBody = bodyOf(fork, { optional: true })

export const navigateBody = bodyOf(z.strictObject({ event_id: z.string().nullable().optional() }), {
  optional: true,
})

export const policyBody = bodyOf(z.strictObject({ policy: confirmationPolicy.nullable() }))

export const questionBody = bodyOf(z.strictObject({ question: text(1, 100_000) }))

const map = z.record(z.string(), json)

export const analyzerBody = bodyOf(z.strictObject({ security_analyzer: securityAnalyzer.nullable() }))

export const secretsBody = bodyOf(z.strictObject({ secrets }))

export const llmBody = bodyOf(z.strictObject({ llm: map.and(z.looseObject({ model: text(1, 1_000) })) }))
export const profileBody = bodyOf(z.strictObject({ profile_name: text(1, 64) }))

export const completeBody = bodyOf(
  z.strictObject({
    content: z.union([text(0, 2 ** 22), z.array(content).min(1)]),
    outcome: z.enum(['done', 'failed']).default('done').optional(),
  }),
)

export const cancelBody = bodyOf(z.strictObject({ reason: text(1, 4_096).optional() }), { optional: true })

/** Seconds until the token expires; default: a day. */
export const callTokenBody = bodyOf(
  z.strictObject({
    expires_in: integer
      .min(1)
      .max(30 * 86_400)
      .optional(),
  }),
  { optional: true },
)
