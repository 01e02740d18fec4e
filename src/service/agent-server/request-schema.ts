import * as z from 'zod'
import { json } from '../../event/shape-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import {
  agentSettings,
  bodyOf,
  closedBody,
  confirmationPolicy,
  content,
  id,
  integer,
  optionalBody,
  secrets,
  securityAnalyzer,
  sentMessage,
  tags,
  text,
  title,
} from '../http/body-schema.ts'

const serviceFields = {
  conversation_id: id.nullish(),
  parent_conversation_id: id.nullish(),
  title: title.nullish(),
  tags: tags.nullish(),
  owner: id.nullish(),
  workspace: z.looseObject({ working_dir: text(1, 4_096) }).optional(),
  confirmation_policy: confirmationPolicy.nullish(),
  initial_message: z.strictObject({ ...sentMessage, run: z.boolean().default(true).optional() }).nullish(),
  max_iterations: integer.min(1).default(500).optional(),
}

const startRequest = z.looseObject({ ...serviceFields, ...agentSettings })
export type StartBody = z.input<typeof startRequest>
export const startBody = optionalBody(bodyOf(startRequest))

export const agentFields = (body: object): JsonObject =>
  Object.fromEntries(
    Object.entries(body as JsonObject).filter(([name]) => !Object.hasOwn(serviceFields, name)),
  )

export const updateBody = closedBody({ title: title.nullish(), tags: tags.nullish() })

export const messageBody = closedBody({ ...sentMessage, run: z.boolean().default(false).optional() })

export const confirmationBody = closedBody({ accept: z.boolean(), reason: text(1, 4_096).optional() })

export const approveBody = closedBody({ action_ids: z.array(z.string()).min(1).max(1_000) })

export const rejectBody = closedBody({
  action_ids: z.array(z.string()).min(1).max(1_000),
  reason: text(1, 4_096).optional(),
})

const fork = z.strictObject({
  id: id.nullish(),
  title: title.nullish(),
  tags: tags.nullish(),
  owner: id.nullish(),
  from_event_id: z.string().nullish(),
  /** Whether usage is counted only from the fork on. */
  reset_metrics: z.boolean().default(true).optional(),
})
export type ForkBody = z.input<typeof fork>
export const forkBody = optionalBody(bodyOf(fork))

export const navigateBody = optionalBody(closedBody({ event_id: z.string().nullish() }))

export const policyBody = closedBody({ policy: confirmationPolicy.nullable() })

export const questionBody = closedBody({ question: text(1, 100_000) })

const map = z.record(z.string(), json())

export const analyzerBody = closedBody({ security_analyzer: securityAnalyzer.nullable() })

export const secretsBody = closedBody({ secrets })

export const llmBody = closedBody({ llm: map.and(z.looseObject({ model: text(1, 1_000) })) })
export const profileBody = closedBody({ profile_name: text(1, 64) })

export const completeBody = closedBody({
  content: z.union([text(0, 2 ** 22), z.array(content).min(1)]),
  outcome: z.enum(['done', 'failed']).default('done').optional(),
})

export const cancelBody = optionalBody(closedBody({ reason: text(1, 4_096).optional() }))

/** Body with the seconds until the token expires; default: a day. */
export const callTokenBody = optionalBody(
  closedBody({
    expires_in: integer
      .min(1)
      .max(30 * 86_400)
      .optional(),
  }),
)
