/** Operations on profiles and settings; no response contains a secret. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { masked, shownText, withoutSecrets } from '../conversations/secrets.ts'
import { listOf, maybe, objectOf, operationsIn, type Operation, string } from '../http/operation.ts'
import { matching, text } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { isKeySet, type Profiles, withoutKeys } from './profiles.ts'
import {
  PROFILE_NAME,
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
const map: JsonObject = { type: 'object' }

export const profileName = matching(
  PROFILE_NAME,
  'Must be 1 to 64 letters, digits and . _ -, beginning with a letter or digit',
)

const params = { name: profileName }
const UNKNOWN = { 404: { description: 'Unknown profile' } }
export const SEALED = {
  409: { description: 'Secrets cannot be stored, or were encrypted with another secret' },
}

const SETTINGS = objectOf({
  agent_settings: map,
  conversation_settings: map,
  misc_settings: map,
  llm_api_key_is_set: { type: 'boolean' },
  active_profile: maybe(string),
  active_agent_profile_id: maybe(string),
})

export const settingsOperations = ({
  profiles,
  settings,
  ask,
  agentProfiles,
}: {
  readonly profiles: Profiles
  readonly settings: Settings
  readonly ask: AskLlm
  readonly agentProfiles: {
    /** @throws HttpProblem 404. */
    readonly byId: (id: string) => Promise<unknown>
    readonly namesFor: (llmProfile: string) => Promise<readonly string[]>
    readonly onProfileRenamed: (name: string, newName: string) => Promise<void>
  }
}): Operation[] => [
  operation('get /api/profiles', {
    name: 'list_profiles',
    replies: {
      200: {
        description: 'By name',
        schema: objectOf({
          profiles: listOf(
            objectOf({
              name: string,
              model: maybe(string),
              base_url: maybe(string),
              api_key_set: { type: 'boolean' },
            }),
          ),
          active_profile: maybe(string),
        }),
      },
      ...SEALED,
    },
    handle: async () => ({
      body: {
        profiles: (await profiles.all()).map(({ name, llm }) => ({
          name,
          model: llm['model'] ?? null,
          base_url: typeof llm['base_url'] === 'string' ? shownText(llm['base_url']) : null,
          api_key_set: isKeySet(llm),
        })),
        active_profile: (await settings.read()).active_profile,
      },
    }),
  }),
  operation('get /api/profiles/{name}', {
    name: 'get_profile',
    params,
    replies: {
      200: {
        description: 'Without its keys',
        schema: objectOf({ name: string, config: map, api_key_set: { type: 'boolean' } }),
      },
      ...UNKNOWN,
      ...SEALED,
    },
    async handle({ path: { name } }) {
      const { llm } = await profiles.get(name)
      return { body: { name, config: withoutKeys(llm), api_key_set: isKeySet(llm) } }
    },
  }),
  operation('post /api/profiles/{name}', {
    name: 'save_profile',
    params,
    body: saveProfileBody,
    replies: {
      201: { description: 'Stored', schema: objectOf({ name: string, message: string }) },
      400: { description: 'A masked secret in a list matches no stored one' },
      409: { description: 'Too many profiles, or secrets cannot be stored' },
    },
    async handle({ path: { name }, body: { llm, include_secrets = true } }) {
      await profiles.save(
        name,
        include_secrets ? (llm as JsonObject) : withoutNulls(withoutKeys(llm as JsonObject)),
      )
      return { status: 201, body: { name, message: 'The profile was saved.' } }
    },
  }),
  operation('delete /api/profiles/{name}', {
    name: 'delete_profile',
    params,
    replies: {
      200: { description: 'Deleted', schema: objectOf({ name: string, message: string }) },
      409: { description: 'An agent profile uses it, or it was encrypted with another secret' },
    },
    async handle({ path: { name } }) {
      const users = await agentProfiles.namesFor(name)
      if (users.length > 0)
        throw new HttpProblem(409, `Agent profiles use this profile: ${users.join(', ')}. Change them first.`)
      await profiles.remove(name)
      await settings.onProfileRenamed(name, null)
      return { body: { name, message: 'The profile was deleted.' } }
    },
  }),
  operation('post /api/profiles/{name}/rename', {
    name: 'rename_profile',
    params,
    body: renameBody,
    replies: {
      200: { description: 'Renamed', schema: objectOf({ name: string, message: string }) },
      ...UNKNOWN,
      409: { description: 'The new name is in use' },
    },
    async handle({ path: { name }, body: { new_name } }) {
      await profiles.rename(name, new_name)
      await settings.onProfileRenamed(name, new_name)
      await agentProfiles.onProfileRenamed(name, new_name)
      return { body: { name: new_name, message: 'The profile was renamed.' } }
    },
  }),
  operation('post /api/profiles/{name}/activate', {
    name: 'activate_profile',
    params,
    replies: {
      200: {
        description: 'The settings use its model',
        schema: objectOf({ name: string, message: string, llm_applied: { type: 'boolean' } }),
      },
      ...UNKNOWN,
      ...SEALED,
    },
    async handle({ path: { name } }) {
      await settings.change({ active_profile: name })
      return { body: { name, message: 'The profile was activated.', llm_applied: true } }
    },
  }),
  operation('post /api/profiles/{name}/validate', {
    name: 'validate_profile',
    params,
    body: validateBody,
    replies: {
      200: {
        description: 'Whether the model can be called, and if not, why',
        schema: objectOf({
          valid: { type: 'boolean' },
          error: maybe(objectOf({ type: string, message: string })),
        }),
      },
      404: { description: 'Nothing to validate, and no such profile' },
      ...SEALED,
    },
    handle: async ({ path: { name }, body: { llm } = {} }) => ({
      body: await validateLlm(llm === undefined ? (await profiles.get(name)).llm : (llm as JsonObject), ask),
    }),
  }),
  operation('get /api/settings', {
    name: 'get_settings',
    replies: { 200: { description: 'Secrets masked', schema: SETTINGS }, ...SEALED },
    handle: async ({ request }) => ({ body: shownSettings(await settings.read(), request) }),
  }),
  operation('patch /api/settings', {
    name: 'update_settings',
    body: settingsBody,
    replies: {
      200: { description: 'The new settings, secrets masked', schema: SETTINGS },
      400: { description: 'The request changes nothing, or a masked secret in a list matches no stored one' },
      ...UNKNOWN,
      ...SEALED,
    },
    async handle({ body, request }) {
      if (Object.values(body).every((value) => value === undefined)) {
        throw new HttpProblem(
          400,
          'The request changes nothing. Send a *_diff field, active_profile or active_agent_profile_id.',
        )
      }
      const agentId = body.active_agent_profile_id ?? null
      if (agentId !== null) await agentProfiles.byId(agentId)
      return { body: shownSettings(await settings.change(body), request) }
    },
  }),
]

/** No client receives a secret; `X-Expose-Secrets` omits them, so that no mask is used as a secret. */
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

const withoutNulls = (llm: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(llm).filter(([, value]) => value !== null))

const PATH = '/api/v1/settings'

export const cloudSettingsOperations = (settings: Settings): Operation[] => [
  operation(`get ${PATH}`, {
    name: 'load_settings',
    tag: 'Settings',
    replies: { 200: { description: 'Secrets masked', schema: { type: 'object' } }, ...SEALED },
    async handle({ request }) {
      const shown = shownSettings(await settings.read(), request)
      const { agent_settings: agent, misc_settings: preferences, llm_api_key_is_set: set, ...rest } = shown
      const llm = objectAt(agent, 'llm')
      return {
        body: {
          ...(isObject(preferences) && preferences),
          ...rest,
          agent_settings: agent,
          llm_model: llm['model'] ?? null,
          llm_base_url: llm['base_url'] ?? null,
          llm_api_key_set: set,
          search_api_key_set: false,
          provider_tokens_set: {},
        },
      }
    },
  }),
  operation(`post ${PATH}`, {
    name: 'store_settings',
    tag: 'Settings',
    body: storeBody,
    replies: {
      200: { description: 'Stored', schema: SUCCESS_SCHEMA },
      400: { description: 'A masked secret in a list matches no stored one' },
      ...SEALED,
    },
    async handle({ body: { agent_settings_diff, conversation_settings_diff, ...preferences } }) {
      await settings.change({
        agent_settings_diff,
        conversation_settings_diff,
        misc_settings_diff: preferences as JsonObject,
      })
      return { body: SUCCESS }
    },
  }),
]

const objectAt = (value: JsonValue | undefined, name: string): JsonObject => {
  const inner = isObject(value) ? value[name] : undefined
  return isObject(inner) ? inner : {}
}

const PROFILE_PATHS = ['/api/v1/settings/profiles', '/api/organizations/{org_id}/profiles']

export const cloudProfileOperations = (operations: readonly Operation[]): Operation[] =>
  PROFILE_PATHS.flatMap((base) =>
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
const CHANGED = { description: 'The new settings, secrets masked', schema: SETTINGS }
const UNKNOWN_SERVER = { 404: { description: 'Unknown server' } }

export const mcpOperations = (settings: Settings): Operation[] => {
  /** Null deletes the server. */
  const change = async (
    key: string,
    server: object | null,
    check: (isThere: boolean) => void,
    request: Request,
  ): Promise<JsonObject> => {
    const diff = { mcp_config: { [key]: server as JsonObject | null } }
    const now = await settings.change({ agent_settings_diff: diff }, (before) =>
      check(hasServer(before, key)),
    )
    return shownSettings(now, request)
  }
  return [
    operation(`post ${MCP_PATH}`, {
      name: 'create_mcp_server',
      params: mcpParams,
      body: newServerBody,
      replies: {
        201: CHANGED,
        409: { description: 'The server already exists, or secrets cannot be stored' },
      },
      async handle({ path: { settings_key: key }, body, request }) {
        const refuse = (isThere: boolean): void => {
          if (isThere)
            throw new HttpProblem(
              409,
              `MCP server ${JSON.stringify(key)} already exists. Change it with PATCH.`,
            )
        }
        return { status: 201, body: await change(key, body, refuse, request) }
      },
    }),
    operation(`patch ${MCP_PATH}`, {
      name: 'patch_mcp_server',
      params: mcpParams,
      body: serverBody,
      replies: {
        200: CHANGED,
        400: { description: 'A masked secret in a list matches no stored one' },
        ...UNKNOWN_SERVER,
        409: { description: 'Secrets cannot be stored' },
      },
      handle: async ({ path: { settings_key: key }, body, request }) => ({
        body: await change(key, body, requireServer(key), request),
      }),
    }),
    operation(`delete ${MCP_PATH}`, {
      name: 'delete_mcp_server',
      params: mcpParams,
      replies: {
        200: CHANGED,
        ...UNKNOWN_SERVER,
        409: { description: 'The settings were encrypted with another secret' },
      },
      handle: async ({ path: { settings_key: key }, request }) => ({
        body: await change(key, null, requireServer(key), request),
      }),
    }),
  ]
}

function hasServer({ agent_settings: { mcp_config: config } }: SettingsValues, key: string): boolean {
  return isObject(config) && Object.hasOwn(config, key)
}

const requireServer = (key: string) => (isThere: boolean) => {
  if (!isThere) throw new HttpProblem(404, `MCP server ${JSON.stringify(key)} was not found.`)
}
