/** Bodies of settings requests. Validation errors omit the input, because it may be a secret. */

import * as z from 'zod'
import { canonicalJson } from '../../event/encode.ts'
import { isObject } from '../../event/json.ts'
import { json } from '../../event/shape-schema.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { bodyOf, closedBody, integer, optionalBody, text as storable } from '../request-schema.ts'
import type { BodySpec } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { isSecret, MASK, maskedField } from '../mask-secrets.ts'

export const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const optionalText = (limit: number) => storable(0, limit).nullish()

const count = integer.min(0).nullish()
const number = z.number().nullish()

const llm = z.strictObject({
  model: storable(1, 500),
  api_key: optionalText(10_000),
  base_url: optionalText(2_000),
  api_version: optionalText(100),
  aws_access_key_id: optionalText(1_000),
  aws_secret_access_key: optionalText(1_000),
  aws_session_token: optionalText(10_000),
  aws_region_name: optionalText(100),
  usage_id: optionalText(200),
  temperature: number,
  top_p: number,
  top_k: number,
  seed: integer.nullish(),
  timeout: number,
  num_retries: count,
  max_input_tokens: count,
  max_output_tokens: count,
  max_message_chars: count,
  input_cost_per_token: number,
  output_cost_per_token: number,
  reasoning_effort: optionalText(50),
  reasoning_summary: optionalText(50),
  extended_thinking_budget: count,
  prompt_cache_retention: optionalText(50),
  drop_params: z.boolean().nullish(),
  modify_params: z.boolean().nullish(),
  disable_vision: z.boolean().nullish(),
  caching_prompt: z.boolean().nullish(),
  native_tool_calling: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  extra_headers: z.record(z.string(), z.string()).nullish(),
  litellm_extra_body: z.record(z.string(), json()).nullish(),
})

function silent<B>(spec: BodySpec<B>): BodySpec<B> {
  return {
    ...spec,
    read(value) {
      const read = spec.read(value)
      if ('value' in read) return read
      return {
        errors: read.errors.map(({ type, loc, msg }) => ({
          type,
          // The name of an unknown field is text of the client, so it may be a secret.
          loc: loc.map((part, index) =>
            type === 'extra_forbidden' && index === loc.length - 1 ? '?' : part,
          ),
          msg,
        })),
      }
    },
  }
}

const silentBody = <Fields extends z.core.$ZodLooseShape>(fields: Fields) => silent(closedBody(fields))

const profileName = z
  .string()
  .regex(PROFILE_NAME, 'Must be letters, digits and . _ -, beginning with a letter or digit.')

export const saveProfileBody = silentBody({ llm, include_secrets: z.boolean().default(true).optional() })

export const validateBody = optionalBody(silentBody({ llm: llm.optional() }))

export const renameBody = silentBody({ new_name: profileName })

const diff = z.record(z.string(), json()).nullish()

export const settingsBody = silentBody({
  agent_settings_diff: diff,
  conversation_settings_diff: diff,
  misc_settings_diff: diff,
  active_profile: profileName.nullish(),
  active_agent_profile_id: storable(1, 64).nullish(),
})

export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

const secretName = z.string().regex(SECRET_NAME, 'Must be letters, digits and _, beginning with a letter.')
const description = storable(0, 1_000).nullish()

export const secretBody = silentBody({ name: secretName, value: storable(1, 65_536), description })
export const describeBody = silentBody({ name: secretName, description })

const some = optionalText(10_000)
const seconds = z.number().min(0).nullish()
const flag = z.boolean().nullish()

/** Values by name. Null deletes a value. */
const values = z.record(storable(1, 200), storable(0, 10_000).nullable()).nullish()

const server = z.strictObject({
  transport: z.enum(['stdio', 'http', 'sse', 'streamable-http']).nullish(),
  command: some,
  args: z.array(storable(0, 10_000)).max(1_000).nullish(),
  env: values,
  cwd: some,
  url: some,
  headers: values,
  auth: z.record(z.string(), json()).nullish(),
  description: some,
  icon: optionalText(100_000),
  timeout: seconds,
  sse_read_timeout: seconds,
  keep_alive: flag,
  enabled: flag,
})

export const newServerBody = silent(
  bodyOf(
    server.refine(({ command, url }) => (command ?? url ?? null) !== null, {
      error: 'Send a `command` or a `url`.',
      params: { type: 'value_error' },
    }),
  ),
)

export const serverBody = silent(bodyOf(server))

/** An agent profile. The service checks only `agent_kind`; clients define all other fields. */
const agentProfile = z.looseObject({ agent_kind: z.enum(['openhands', 'acp']).optional() })

export const agentProfileBody = silent(bodyOf(agentProfile))

export const draftBody = optionalBody(silentBody({ profile: agentProfile.optional() }))

export const storeBody = silent(
  bodyOf(z.looseObject({ agent_settings_diff: diff, conversation_settings_diff: diff })),
)

/**
 * Merges `diff` into an object. Nested objects are merged; lists and other values are replaced. If a value in
 * `diff` is null, its field is deleted. If a value is masked, the stored value is kept.
 * @throws HttpProblem 400 if a list item with a masked secret matches no stored item, or several different
 *   stored items.
 */
export function merge(before: JsonObject, diff: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(before) as [string, JsonValue][])
  for (const [name, value] of Object.entries(diff) as [string, JsonValue][]) {
    const old = merged.get(name)
    if (value === null) merged.delete(name)
    else if (isObject(value)) merged.set(name, merge(isObject(old) ? old : {}, value))
    else if (Array.isArray(value)) merged.set(name, restoreMasked(name, value, Array.isArray(old) ? old : []))
    else if (value !== MASK && !(old !== undefined && value === maskedField(name, old)))
      merged.set(name, value)
  }
  return Object.fromEntries(merged)
}

/** Replaces masked items by stored items. Restores items with equal masks in order, if their number is unchanged. */
function restoreMasked(name: string, list: readonly JsonValue[], before: readonly JsonValue[]): JsonValue[] {
  const shownBefore = maskedField(name, before) as readonly JsonValue[]
  const old = Map.groupBy(before, (_, index) => canonicalJson(shownBefore[index] ?? null))
  const requested = Map.groupBy(list, canonicalJson)
  const used = new Map<string, number>()
  return list.map((item) => {
    const shown = canonicalJson(item)
    const alike = old.get(shown) ?? []
    if (alike.length === 0 && !shown.includes(MASK)) return item
    const index = used.get(shown) ?? 0
    used.set(shown, index + 1)
    const isSure =
      alike.length === requested.get(shown)?.length || new Set(alike.map(canonicalJson)).size === 1
    const stored = isSure ? alike[index % alike.length] : undefined
    if (stored !== undefined) return stored
    throw new HttpProblem(400, 'Cannot tell which masked secret this is. Send the real value.')
  })
}

const labelOf = (name: string): string =>
  name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())

function section(key: string, label: string, shape: z.ZodType, prefix = `${key}.`): JsonObject {
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' })
  const fields = Object.entries(properties).map(([name, field]): JsonObject => ({
    key: prefix + name,
    label: labelOf(name),
    section: key,
    section_label: label,
    value_type: typeOf(field as JsonObject),
    secret: isSecret(name, 'x') && typeOf(field as JsonObject) === 'string',
    default: (field as JsonObject)['default'] ?? null,
    description: null,
    choices: [],
    depends_on: [],
    prominence: name === 'model' || name === 'api_key' ? 'critical' : 'minor',
  }))
  return { key, label, fields }
}

function typeOf(field: JsonObject): JsonValue {
  const { type, anyOf } = field
  if (typeof type === 'string') return type
  const inner = (Array.isArray(anyOf) ? anyOf : []).map((one) => typeOf(one as JsonObject))
  return inner.find((one) => one !== 'null') ?? 'string'
}

const condenser = z.strictObject({
  enabled: z.boolean().default(true),
  max_size: z.int().default(240),
  max_tokens: z.int().nullable(),
  keep_first: z.int().default(2),
})

export const AGENT: JsonObject = {
  model_name: 'AgentSettings',
  sections: [section('llm', 'Model', llm), section('condenser', 'Condenser', condenser)],
}

const verification = z.strictObject({
  confirmation_mode: z.boolean().default(false),
  security_analyzer: z.string().nullable(),
})

export const CONVERSATION: JsonObject = {
  model_name: 'ConversationSettings',
  sections: [
    section('general', 'General', z.strictObject({ max_iterations: z.int() }), ''),
    section('verification', 'Verification', verification, ''),
  ],
}
