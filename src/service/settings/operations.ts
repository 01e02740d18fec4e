/** Settings, profiles and MCP servers over HTTP. No response contains a secret. */

import { isObject, withoutNulls } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { listOf, maybe, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { matching, text } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { masked, shownText, withoutSecrets } from '../mask-secrets.ts'
import type { SettingsParts } from './agent-profiles.ts'
import { isKeySet, profileName, SEALED, withoutKeys } from './profiles.ts'
import {
  renameBody,
  saveProfileBody,
  settingsBody,
  storeBody,
  validateBody,
  newServerBody,
  serverBody,
} from './settings-schema.ts'
import type { Settings, SettingsValues } from './settings.ts'
import { type AskLlm, validateLlm } from './validate.ts'

const operation = operationsIn('Settings')

const params = { name: profileName }
const UNKNOWN = { 404: 'Unknown profile' }

const SETTINGS = objectOf({
  agent_settings: 'object',
  conversation_settings: 'object',
  misc_settings: 'object',
  llm_api_key_is_set: 'boolean',
  active_profile: 'string?',
  active_agent_profile_id: 'string?',
})

export const settingsOperations = (
  { profiles, settings, agentProfiles }: SettingsParts,
  ask: AskLlm,
): Operation[] => [
  operation('get /api/profiles', {
    name: 'list_profiles',
    returns: objectOf({
      profiles: listOf(
        objectOf({ name: 'string', model: 'string?', base_url: 'string?', api_key_set: 'boolean' }),
      ),
      active_profile: 'string?',
    }),
    description: 'By name',
    otherwise: SEALED,
    handle: async () => ({
      profiles: Array.from(await profiles.all(), ([name, llm]) => ({
        name,
        model: llm['model'] ?? null,
        base_url: typeof llm['base_url'] === 'string' ? shownText(llm['base_url']) : null,
        api_key_set: isKeySet(llm),
      })),
      active_profile: (await settings.read()).active_profile,
    }),
  }),
  operation('get /api/profiles/{name}', {
    name: 'get_profile',
    params,
    returns: objectOf({ name: 'string', config: 'object', api_key_set: 'boolean' }),
    description: 'Without its keys',
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path: { name } }) {
      const llm = await profiles.get(name)
      return { name, config: withoutKeys(llm), api_key_set: isKeySet(llm) }
    },
  }),
  operation('post /api/profiles/{name}', {
    name: 'save_profile',
    params,
    body: saveProfileBody,
    status: 201,
    returns: objectOf({ name: 'string', message: 'string' }),
    otherwise: {
      400: 'A masked secret in a list matches no stored secret',
      409: 'Too many profiles, or secrets cannot be stored',
    },
    async handle({ path: { name }, body: { llm, include_secrets = true } }) {
      await profiles.save(
        name,
        include_secrets ? (llm as JsonObject) : (withoutNulls(withoutKeys(llm as JsonObject)) as JsonObject),
      )
      return { name, message: 'The profile was saved.' }
    },
  }),
  operation('delete /api/profiles/{name}', {
    name: 'delete_profile',
    params,
    returns: objectOf({ name: 'string', message: 'string' }),
    otherwise: { 409: 'An agent profile uses the profile, or the profile was encrypted with another secret' },
    async handle({ path: { name } }) {
      const users = await agentProfiles.namesFor(name)
      if (users.length > 0)
        throw new HttpProblem(
          409,
          `This profile is in use by agent profiles: ${users.join(', ')}. Change them first.`,
        )
      await profiles.remove(name)
      await settings.onProfileRenamed(name, null)
      return { name, message: 'The profile was deleted.' }
    },
  }),
  operation('post /api/profiles/{name}/rename', {
    name: 'rename_profile',
    params,
    body: renameBody,
    returns: objectOf({ name: 'string', message: 'string' }),
    otherwise: { ...UNKNOWN, 409: 'The new name is in use' },
    async handle({ path: { name }, body: { new_name } }) {
      await profiles.rename(name, new_name)
      await settings.onProfileRenamed(name, new_name)
      await agentProfiles.onProfileRenamed(name, new_name)
      return { name: new_name, message: 'The profile was renamed.' }
    },
  }),
  operation('post /api/profiles/{name}/activate', {
    name: 'activate_profile',
    params,
    returns: objectOf({ name: 'string', message: 'string', llm_applied: 'boolean' }),
    description: 'The settings now use the model of the profile',
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path: { name } }) {
      await settings.change({ active_profile: name })
      return { name, message: 'The profile was activated.', llm_applied: true }
    },
  }),
  operation('post /api/profiles/{name}/validate', {
    name: 'validate_profile',
    params,
    body: validateBody,
    returns: objectOf({ valid: 'boolean', error: maybe(objectOf({ type: 'string', message: 'string' })) }),
    description: 'Whether the model can be called, and if not, why',
    otherwise: { 404: 'The body contains no model, and the profile is unknown', ...SEALED },
    handle: async ({ path: { name }, body: { llm } = {} }) =>
      await validateLlm(llm === undefined ? await profiles.get(name) : (llm as JsonObject), ask),
  }),
  operation('get /api/settings', {
    name: 'get_settings',
    returns: SETTINGS,
    description: 'Secrets masked',
    otherwise: SEALED,
    handle: async ({ request }) => shownSettings(await settings.read(), request),
  }),
  operation('patch /api/settings', {
    name: 'update_settings',
    body: settingsBody,
    returns: SETTINGS,
    description: 'The new settings, secrets masked',
    otherwise: {
      400: 'The request changes nothing, or a masked secret in a list matches no stored secret',
      ...UNKNOWN,
      ...SEALED,
    },
    async handle({ body, request }) {
      if (Object.values(body).every((value) => value === undefined)) {
        throw new HttpProblem(
          400,
          'The request changes nothing. Send a `*_diff` field, `active_profile` or `active_agent_profile_id`.',
        )
      }
      const agentId = body.active_agent_profile_id ?? null
      if (agentId !== null) await agentProfiles.byId(agentId)
      return shownSettings(await settings.change(body), request)
    },
  }),
]

/**
 * Masks secrets. If the request has the header `X-Expose-Secrets`, omits secrets instead, because its client
 * would store a mask as the secret.
 */
function shownSettings(
  { agent_settings, active_profile, active_agent_profile_id = null, ...rest }: SettingsValues,
  { headers }: Request,
): JsonObject {
  const llm = agent_settings['llm']
  const show = headers.has('x-expose-secrets') ? withoutSecrets : masked
  return {
    agent_settings: show(agent_settings),
    conversation_settings: show(rest.conversation_settings),
    misc_settings: show(rest.misc_settings),
    llm_api_key_is_set: isObject(llm) && isKeySet(llm),
    active_profile,
    active_agent_profile_id,
  }
}

const PATH = '/api/v1/settings'

export const cloudSettingsOperations = (settings: Settings): Operation[] => [
  operation(`get ${PATH}`, {
    name: 'load_settings',
    tag: 'Settings',
    returns: 'object',
    description: 'Secrets masked',
    otherwise: SEALED,
    async handle({ request }) {
      const shown = shownSettings(await settings.read(), request)
      const { agent_settings: agent, misc_settings: preferences, llm_api_key_is_set: set, ...rest } = shown
      const llm = isObject(agent) && isObject(agent['llm']) ? agent['llm'] : {}
      return {
        ...(isObject(preferences) && preferences),
        ...rest,
        agent_settings: agent,
        llm_model: llm['model'] ?? null,
        llm_base_url: llm['base_url'] ?? null,
        llm_api_key_set: set,
        search_api_key_set: false,
        provider_tokens_set: {},
      }
    },
  }),
  operation(`post ${PATH}`, {
    name: 'store_settings',
    tag: 'Settings',
    body: storeBody,
    otherwise: { 400: 'A masked secret in a list matches no stored secret', ...SEALED },
    async handle({ body: { agent_settings_diff, conversation_settings_diff, ...preferences } }) {
      await settings.change({
        agent_settings_diff,
        conversation_settings_diff,
        misc_settings_diff: preferences as JsonObject,
      })
    },
  }),
]

export const cloudProfileOperations = (operations: readonly Operation[]): Operation[] =>
  ['/api/v1/settings/profiles', '/api/organizations/{org_id}/profiles'].flatMap((base) =>
    operations
      .filter(({ path }) => path.startsWith('/api/profiles') && !path.endsWith('/validate'))
      .map((one) => {
        const path = one.path.replace('/api/profiles', base)
        return {
          ...one,
          path,
          operationId: `${one.method}${path.replaceAll(/\W+/g, '_')}`,
          ...(base.includes('{') && { params: { org_id: text(), ...one.params } }),
        }
      }),
  )

// oxlint-disable-next-line no-control-regex -- rejects control characters
const settingsKey = matching(/^[^\u0000-\u001f]{1,100}$/, 'Must be 1 to 100 characters')

const MCP_PATH = '/api/settings/mcp/{settings_key}'
const mcpParams = { settings_key: settingsKey }
const CHANGED = { description: 'The new settings, secrets masked', returns: SETTINGS }
const UNKNOWN_SERVER = { 404: 'Unknown server' }

export const mcpOperations = (settings: Settings): Operation[] => {
  /** Stores an MCP server; null deletes it. The server must exist if `mustExist` is true; otherwise, it must be new. */
  const change = async (
    key: string,
    server: object | null,
    mustExist: boolean,
    request: Request,
  ): Promise<JsonObject> => {
    const diff = { mcp_config: { [key]: server as JsonObject | null } }
    const now = await settings.change({ agent_settings_diff: diff }, ({ agent_settings: { mcp_config } }) => {
      if ((isObject(mcp_config) && Object.hasOwn(mcp_config, key)) === mustExist) return
      throw mustExist
        ? new HttpProblem(404, `MCP server ${JSON.stringify(key)} was not found.`)
        : new HttpProblem(409, `MCP server ${JSON.stringify(key)} already exists. Change it with PATCH.`)
    })
    return shownSettings(now, request)
  }
  return [
    operation(`post ${MCP_PATH}`, {
      name: 'create_mcp_server',
      params: mcpParams,
      body: newServerBody,
      status: 201,
      ...CHANGED,
      otherwise: { 409: 'The server already exists, or secrets cannot be stored' },
      handle: ({ path: { settings_key: key }, body, request }) => change(key, body, false, request),
    }),
    operation(`patch ${MCP_PATH}`, {
      name: 'patch_mcp_server',
      params: mcpParams,
      body: serverBody,
      ...CHANGED,
      otherwise: {
        400: 'A masked secret in a list matches no stored one',
        ...UNKNOWN_SERVER,
        409: 'Secrets cannot be stored',
      },
      handle: ({ path: { settings_key: key }, body, request }) => change(key, body, true, request),
    }),
    operation(`delete ${MCP_PATH}`, {
      name: 'delete_mcp_server',
      params: mcpParams,
      ...CHANGED,
      otherwise: { ...UNKNOWN_SERVER, 409: 'The settings were encrypted with another secret' },
      handle: ({ path: { settings_key: key }, request }) => change(key, null, true, request),
    }),
  ]
}
