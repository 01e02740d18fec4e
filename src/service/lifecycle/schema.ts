/** The bodies of the lifecycle operations as zod schemas; how each is checked and described comes out. */

import * as z from 'zod'
import { LEGAL_ID } from '../../event/ids.ts'
import { integer, textContent } from '../../event/shapes/schema.ts'
import { bodyOf } from '../http/schema.ts'

const ID_RULE = 'Must be 1 to 200 characters of well-formed Unicode, without control characters.'
const TEXT_RULE = 'Must be well-formed Unicode without NUL.'

const id = z.string().regex(LEGAL_ID, ID_RULE)

/** Text that every store keeps. */
const text = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: TEXT_RULE,
      params: { type: 'value_error' },
    })

const title = text(1, 200)

const tags = z.record(z.string().regex(/^[a-z0-9]+$/, 'Must be lower-case letters and digits.'), text(0, 256))

const content = z.union([
  textContent,
  z.strictObject({
    type: z.literal('image').default('image'),
    image_urls: z.array(z.string()).min(1),
    cache_prompt: z.boolean().default(false),
  }),
])

/** What a message is made of; only users speak by this door. */
const said = {
  role: z.literal('user').default('user').optional(),
  content: z.array(content).min(1),
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
