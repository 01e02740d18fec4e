/** The operations on agent profiles; no response holds a secret. */

import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { listOf, maybe, objectOf } from '../http/json-schema.ts'
import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { type AgentProfiles, diagnosed, summaryOf } from './agent-profiles.ts'
import { profileName, SEALED } from './operations.ts'
import type { Profiles } from './profiles.ts'
import { masked } from '../conversations/secrets.ts'
import type { Settings } from './settings.ts'
import { agentProfileBody, renameBody } from './settings-schema.ts'

const tag = 'Agent Profiles'
const string: JsonObject = { type: 'string' }
const map: JsonObject = { type: 'object' }

const params = { name: profileName }
const UNKNOWN = { 404: { description: 'Unknown agent profile' } }
const CHANGED = objectOf({ name: string, message: string })

const BASE = '/api/agent-profiles'

/** What the operations work on. */
export interface AgentProfileParts {
  readonly agentProfiles: AgentProfiles
  readonly profiles: Profiles
  readonly settings: Settings
}

export const agentProfileOperations = ({
  agentProfiles,
  profiles,
  settings,
}: AgentProfileParts): Operation[] => [
  operation(
    {
      method: 'get',
      path: BASE,
      operationId: 'list_agent_profiles_api_agent_profiles_get',
      tag,
      summary: 'List Agent Profiles',
      replies: {
        200: {
          description: 'By name',
          schema: objectOf({
            profiles: listOf(
              objectOf({
                id: string,
                name: string,
                agent_kind: string,
                revision: { type: 'integer' },
                llm_profile_ref: maybe(string),
                mcp_server_refs: maybe(listOf(string)),
              }),
            ),
            active_agent_profile_id: maybe(string),
          }),
        },
        ...SEALED,
      },
    },
    async () => {
      const all = await agentProfiles.list()
      const { active_agent_profile_id: active = null } = await settings.read()
      const active_agent_profile_id = all.some(({ id }) => id === active) ? active : null
      return { body: { profiles: all.map(summaryOf), active_agent_profile_id } }
    },
  ),
  operation(
    {
      method: 'get',
      path: `${BASE}/{name}`,
      operationId: 'get_agent_profile_api_agent_profiles__name__get',
      tag,
      summary: 'Get Agent Profile',
      params,
      replies: {
        200: { description: 'Secrets masked', schema: objectOf({ name: string, profile: map }) },
        ...UNKNOWN,
        ...SEALED,
      },
    },
    async ({ path: { name } }) => ({ body: { name, profile: masked(await agentProfiles.get(name)) } }),
  ),
  operation(
    {
      method: 'post',
      path: `${BASE}/{name}`,
      operationId: 'save_agent_profile_api_agent_profiles__name__post',
      tag,
      summary: 'Save Agent Profile',
      params,
      body: agentProfileBody,
      replies: {
        201: { description: 'Kept', schema: CHANGED },
        400: { description: 'A masked secret in a list is none that is kept' },
        409: { description: 'There are as many as there may be, or secrets cannot be kept' },
      },
    },
    async ({ path: { name }, body }) => {
      await agentProfiles.save(name, body as JsonObject)
      return { status: 201, body: { name, message: 'The agent profile was saved.' } }
    },
  ),
  operation(
    {
      method: 'delete',
      path: `${BASE}/{name}`,
      operationId: 'delete_agent_profile_api_agent_profiles__name__delete',
      tag,
      summary: 'Delete Agent Profile',
      params,
      replies: { 200: { description: 'It is gone', schema: CHANGED }, ...SEALED },
    },
    async ({ path: { name } }) => {
      await agentProfiles.remove(name)
      return { body: { name, message: 'The agent profile was deleted.' } }
    },
  ),
  operation(
    {
      method: 'post',
      path: `${BASE}/{name}/rename`,
      operationId: 'rename_agent_profile_api_agent_profiles__name__rename_post',
      tag,
      summary: 'Rename Agent Profile',
      params,
      body: renameBody,
      replies: {
        200: { description: 'Renamed', schema: CHANGED },
        ...UNKNOWN,
        409: { description: 'The new name is taken' },
      },
    },
    async ({ path: { name }, body: { new_name } }) => {
      await agentProfiles.rename(name, new_name)
      return { body: { name: new_name, message: 'The agent profile was renamed.' } }
    },
  ),
  operation(
    {
      method: 'post',
      path: `${BASE}/{profile_id}/activate`,
      operationId: 'activate_agent_profile_api_agent_profiles__profile_id__activate_post',
      tag,
      summary: 'Activate Agent Profile',
      params: { profile_id: text() },
      replies: {
        200: {
          description: 'It is in use; where there is the profile of a model that it names, so is that',
          schema: objectOf({ id: string, message: string, agent_settings_applied: { type: 'boolean' } }),
        },
        ...UNKNOWN,
        ...SEALED,
      },
    },
    async ({ path }) => {
      const profile = await agentProfiles.byId(path.profile_id)
      const { llm_profile_ref: ref } = summaryOf(profile)
      const applied = typeof ref === 'string' && (await profiles.has(ref))
      await settings.change({
        active_agent_profile_id: profile.id,
        ...(applied && { active_profile: ref }),
      })
      const message = 'The agent profile was activated.'
      return { body: { id: profile.id, message, agent_settings_applied: applied } }
    },
  ),
  operation(
    {
      method: 'post',
      path: `${BASE}/{name}/materialize`,
      operationId: 'materialize_agent_profile_api_agent_profiles__name__materialize_post',
      tag,
      summary: 'Say What An Agent Profile Comes To',
      params,
      replies: {
        200: { description: 'What it names, and what of that there is', schema: map },
        ...UNKNOWN,
        ...SEALED,
      },
    },
    async ({ path: { name } }) => {
      const profile = await agentProfiles.get(name)
      const { llm_profile_ref: ref } = summaryOf(profile)
      const llm = typeof ref === 'string' ? ((await profiles.find(ref))?.llm ?? null) : null
      const { mcp_config: servers } = (await settings.read()).agent_settings
      return { body: diagnosed(profile, llm, isObject(servers) ? servers : {}) }
    },
  ),
]
