/**
 * The bodies of the operations on profiles and settings as zod schemas; what is wrong with one is sent without what was
 * given, which may be a secret.
 */

import * as z from 'zod'
import { json } from '../../event/shape-schema.ts'
import { SECRET_NAME } from './named-secrets.ts'
import { bodyOf } from '../http/body-schema.ts'
import type { BodySpec } from '../http/operation.ts'
import { integer, text as storable } from '../http/field-schema.ts'

/** How a profile may be called. */
export const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const text = (most: number) => storable(0, most).nullable().optional()

const count = integer.min(0).nullable().optional()
const number = z.number().nullable().optional()

/** What a model is asked with. */
export const llm = z.strictObject({
  model: storable(1, 500),
  api_key: text(10_000),
  base_url: text(2_000),
  api_version: text(100),
  aws_access_key_id: text(1_000),
  aws_secret_access_key: text(1_000),
  aws_session_token: text(10_000),
  aws_region_name: text(100),
  usage_id: text(200),
  temperature: number,
  top_p: number,
  top_k: number,
  seed: integer.nullable().optional(),
  timeout: number,
  num_retries: count,
  max_input_tokens: count,
  max_output_tokens: count,
  max_message_chars: count,
  input_cost_per_token: number,
  output_cost_per_token: number,
  reasoning_effort: text(50),
  reasoning_summary: text(50),
  extended_thinking_budget: count,
  prompt_cache_retention: text(50),
  drop_params: z.boolean().nullable().optional(),
  modify_params: z.boolean().nullable().optional(),
  disable_vision: z.boolean().nullable().optional(),
  caching_prompt: z.boolean().nullable().optional(),
  native_tool_calling: z.boolean().nullable().optional(),
  stream: z.boolean().nullable().optional(),
  extra_headers: z.record(z.string(), z.string()).nullable().optional(),
  litellm_extra_body: z.record(z.string(), json).nullable().optional(),
})

/** Nothing of what was given is said again. */
export function silent<B>(spec: BodySpec<B>): BodySpec<B> {
  return {
    ...spec,
    read(value) {
      const read = spec.read(value)
      if ('value' in read) return read
      return {
        errors: read.errors.map(({ type, loc, msg }) => ({
          type,
          // An unknown field's name is the client's own text.
          loc: loc.map((part, at) => (type === 'extra_forbidden' && at === loc.length - 1 ? '?' : part)),
          msg,
        })),
      }
    },
  }
}

const profileName = z
  .string()
  .regex(PROFILE_NAME, 'Must begin with a letter or digit, and hold letters, digits and . _ - only.')

export const saveProfileBody = silent(
  bodyOf(z.strictObject({ llm, include_secrets: z.boolean().default(true).optional() })),
)

export const validateBody = silent(bodyOf(z.strictObject({ llm: llm.optional() }), { optional: true }))

export const renameBody = silent(bodyOf(z.strictObject({ new_name: profileName })))

const diff = z.record(z.string(), json).nullable().optional()

export const settingsBody = silent(
  bodyOf(
    z.strictObject({
      agent_settings_diff: diff,
      conversation_settings_diff: diff,
      misc_settings_diff: diff,
      active_profile: profileName.nullable().optional(),
      active_agent_profile_id: storable(1, 64).nullable().optional(),
    }),
  ),
)

const called = z.string().regex(SECRET_NAME, 'Must begin with a letter, and hold letters, digits and _ only.')
const description = storable(0, 1_000).nullable().optional()

export const secretBody = silent(
  bodyOf(z.strictObject({ name: called, value: storable(1, 65_536), description })),
)
export const describeBody = silent(bodyOf(z.strictObject({ name: called, description })))

const some = text(10_000)
const seconds = z.number().min(0).nullable().optional()
const flag = z.boolean().nullable().optional()

/** In a change, null takes a value away. */
const values = z.record(storable(1, 200), storable(0, 10_000).nullable()).nullable().optional()

const server = z.strictObject({
  transport: z.enum(['stdio', 'http', 'sse', 'streamable-http']).nullable().optional(),
  command: some,
  args: z.array(storable(0, 10_000)).max(1_000).nullable().optional(),
  env: values,
  cwd: some,
  url: some,
  headers: values,
  auth: z.record(z.string(), json).nullable().optional(),
  description: some,
  icon: text(100_000),
  timeout: seconds,
  sse_read_timeout: seconds,
  keep_alive: flag,
  enabled: flag,
})

export const serverBody = silent(bodyOf(server))

/** What else clients keep in an agent profile is theirs. */
export const agentProfileBody = silent(
  bodyOf(z.looseObject({ agent_kind: z.enum(['openhands', 'acp']).optional() })),
)

/** What else is given are the user's preferences. */
export const storeBody = silent(
  bodyOf(z.looseObject({ agent_settings_diff: diff, conversation_settings_diff: diff })),
)
