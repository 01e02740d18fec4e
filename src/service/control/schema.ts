/** The bodies of the control plane's operations as zod schemas; how each is checked and described comes out. */

import * as z from 'zod'
import { LEGAL_ID } from '../../event/ids.ts'
import { integer, textContent } from '../../event/shapes/schema.ts'
import { bodyOf } from '../http/schema.ts'

const id = z
  .string()
  .regex(LEGAL_ID, 'Must be 1 to 200 characters of well-formed Unicode, without control characters.')

/** Text that every store keeps. */
const text = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'Must be well-formed Unicode without NUL.',
      params: { type: 'value_error' },
    })

const content = z.union([
  textContent,
  z.strictObject({
    type: z.literal('image').default('image'),
    image_urls: z.array(z.string()).min(1),
    cache_prompt: z.boolean().default(false),
  }),
])

const said = {
  role: z.literal('user').default('user').optional(),
  content: z.array(content).min(1),
}

const PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket_data_center',
  'forgejo',
  'azure_devops',
  'enterprise_sso',
] as const

const TRIGGERS = [
  'resolver',
  'gui',
  'suggested_task',
  'openhands_api',
  'slack',
  'microagent_management',
  'jira',
  'jira_dc',
  'linear',
  'bitbucket',
  'automation',
] as const

/** What a conversation works on. */
const repository = {
  selected_repository: text(1, 500).nullable().optional(),
  selected_branch: text(1, 500).nullable().optional(),
  git_provider: z.enum(PROVIDERS).nullable().optional(),
}

const scalar = z.union([z.string(), z.number(), z.boolean()])

export const startBody = bodyOf(
  z.strictObject({
    sandbox_id: id.nullable().optional(),
    conversation_id: id.nullable().optional(),
    parent_conversation_id: id.nullable().optional(),
    initial_message: z
      .strictObject({ ...said, run: z.boolean().default(true).optional() })
      .nullable()
      .optional(),
    title: text(1, 200).nullable().optional(),
    public: z.boolean().nullable().optional(),
    tags: z
      .record(z.string().regex(/^[a-z0-9]+$/, 'Must be lower-case letters and digits.'), text(0, 256))
      .optional(),
    llm_model: text(1, 500).nullable().optional(),
    trigger: z.enum(TRIGGERS).nullable().optional(),
    pr_number: z.array(integer).max(1_000).optional(),
    ...repository,
    observability_metadata: z
      .record(z.string(), z.union([scalar, z.array(scalar)]))
      .nullable()
      .optional(),
    observability_tags: z.array(text(1, 256)).max(1_000).nullable().optional(),
    observability_span_name: z
      .string()
      .regex(/^[A-Za-z0-9._:/-]{1,128}$/, 'Must be 1 to 128 letters, digits and . _ : / -')
      .nullable()
      .optional(),
  }),
  { optional: true },
)

export const updateBody = bodyOf(
  z.strictObject({
    title: text(1, 200).nullable().optional(),
    public: z.boolean().nullable().optional(),
    ...repository,
  }),
)

export const sendBody = bodyOf(z.strictObject({ ...said, run: z.boolean().default(true).optional() }))

export const pendingBody = bodyOf(z.strictObject(said))
