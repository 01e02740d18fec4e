import { isObject, textAt } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { listOf, maybe, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { hasSecret, masked } from '../mask-secrets.ts'
import { mergeKnown, profileName, type Profiles, SEALED } from './profiles.ts'
import { SealedMap, type SecretBox } from './secret-box.ts'
import { agentProfileBody, draftBody, renameBody } from './settings-schema.ts'
import type { Settings } from './settings.ts'

interface AgentProfile {
  readonly [field: string]: JsonValue
  readonly id: string
  readonly name: string
  readonly revision: number
}

const MAX_CHARS = 2 ** 18

export class AgentProfiles extends SealedMap {
  constructor(store: Store, secretBox: SecretBox, limit: number) {
    super(store, secretBox, { collection: 'agent-profiles', noun: 'agent profile', limit })
  }

  async list(): Promise<AgentProfile[]> {
    return Array.from(await this.all(), ([name, profile]) => profileOf(name, profile))
  }

  async byId(id: string): Promise<AgentProfile> {
    const profile = (await this.list()).find((one) => one.id === id)
    if (profile === undefined) throw this.unknown()
    return profile
  }

  /**
   * Stores a profile. An existing profile keeps its id. If the profile contains a masked secret, the stored
   * secret is kept.
   * @throws HttpProblem 409 if there are too many profiles, 413 if the profile is too large, 422 if a stored
   *   secret would be sent to another address.
   */
  async save(name: string, profile: JsonObject): Promise<void> {
    if (JSON.stringify(profile).length > MAX_CHARS)
      throw new HttpProblem(413, `The agent profile exceeds ${MAX_CHARS} characters.`)
    await this.put(name, (before = {}) => ({
      ...mergeKnown(before, profile, []),
      id: before['id'] ?? crypto.randomUUID(),
      revision: typeof before['revision'] === 'number' ? before['revision'] + 1 : 0,
    }))
  }

  async namesFor(llmProfile: string): Promise<string[]> {
    return (await this.list()).filter((one) => one['llm_profile_ref'] === llmProfile).map(({ name }) => name)
  }

  async onProfileRenamed(llmProfile: string, newName: string): Promise<void> {
    if ((await this.namesFor(llmProfile)).length === 0) return
    await this.change((all) => {
      for (const [name, profile] of all)
        if (profile['llm_profile_ref'] === llmProfile) all.set(name, { ...profile, llm_profile_ref: newName })
    })
  }
}

const profileOf = (name: string, stored: JsonObject): AgentProfile => ({
  ...stored,
  id: String(stored['id']),
  name,
  revision: Number(stored['revision']),
})

const summaryOf = (profile: AgentProfile): JsonObject => ({
  id: profile.id,
  name: profile.name,
  agent_kind: profile['agent_kind'] ?? 'openhands',
  revision: profile.revision,
  llm_profile_ref: textAt(profile, 'llm_profile_ref'),
  mcp_server_refs: refsAt(profile),
})

function refsAt({ mcp_server_refs: refs }: JsonObject): string[] | null {
  return Array.isArray(refs) ? refs.filter((ref): ref is string => typeof ref === 'string') : null
}

/** Reports whether the profile's MCP servers and model profile (`llm`, null if unknown) exist. */
function diagnosed(profile: AgentProfile, llm: JsonObject | null, servers: JsonObject): JsonObject {
  const { name: _name, ...summary } = summaryOf(profile)
  const ref = textAt(profile, 'llm_profile_ref')
  const refs = refsAt(profile)
  const known = new Set(Object.keys(servers).filter((server) => isObject(servers[server])))
  const resolved = refs?.filter((server) => known.has(server)) ?? [...known]
  const dangling = (refs ?? []).filter((server) => !known.has(server))
  const errors = [
    ...(ref !== null && llm === null ? [`Unknown profile ${JSON.stringify(ref)}.`] : []),
    ...dangling.map((server) => `Unknown MCP server ${JSON.stringify(server)}.`),
  ]
  return {
    ...summary,
    valid: errors.length === 0,
    errors,
    llm_profile_resolved: ref !== null && llm !== null,
    llm_api_key_set: llm !== null && hasSecret(llm),
    resolved_mcp_servers: resolved,
    resolved_mcp_config_keys: resolved,
    dangling_mcp_server_refs: dangling,
    acp_api_key_secret_name: null,
    acp_base_url_secret_name: null,
    acp_file_secret_names: [],
    resolved_settings: null,
  }
}

const operation = operationsIn('Agent Profiles')

const params = { name: profileName }
const UNKNOWN = { 404: 'Unknown agent profile' }
const RESULT = objectOf({ name: 'string', message: 'string' })

const BASE = '/api/agent-profiles'

export interface SettingsParts {
  readonly agentProfiles: AgentProfiles
  readonly profiles: Profiles
  readonly settings: Settings
}

export const agentProfileOperations = ({ agentProfiles, profiles, settings }: SettingsParts): Operation[] => [
  operation(`get ${BASE}`, {
    name: 'list_agent_profiles',
    returns: objectOf({
      profiles: listOf(
        objectOf({
          id: 'string',
          name: 'string',
          agent_kind: 'string',
          revision: 'integer',
          llm_profile_ref: 'string?',
          mcp_server_refs: maybe(listOf('string')),
        }),
      ),
      active_agent_profile_id: 'string?',
    }),
    description: 'By name',
    otherwise: SEALED,
    async handle() {
      const all = await agentProfiles.list()
      const { active_agent_profile_id: active = null } = await settings.read()
      const active_agent_profile_id = all.some(({ id }) => id === active) ? active : null
      return { profiles: all.map(summaryOf), active_agent_profile_id }
    },
  }),
  operation(`get ${BASE}/{name}`, {
    name: 'get_agent_profile',
    params,
    returns: objectOf({ name: 'string', profile: 'object' }),
    description: 'Secrets masked',
    otherwise: { ...UNKNOWN, ...SEALED },
    handle: async ({ path: { name } }) => ({
      name,
      profile: masked(profileOf(name, await agentProfiles.get(name))),
    }),
  }),
  operation(`post ${BASE}/{name}`, {
    name: 'save_agent_profile',
    params,
    body: agentProfileBody,
    status: 201,
    returns: RESULT,
    otherwise: {
      400: 'A masked secret in a list matches no stored secret',
      409: 'Too many agent profiles, or secrets cannot be stored',
    },
    async handle({ path: { name }, body }) {
      await agentProfiles.save(name, body as JsonObject)
      return { name, message: 'The agent profile was saved.' }
    },
  }),
  operation(`delete ${BASE}/{name}`, {
    name: 'delete_agent_profile',
    params,
    returns: RESULT,
    otherwise: SEALED,
    async handle({ path: { name } }) {
      const id = (await agentProfiles.remove(name))?.['id']
      if (id !== undefined && (await settings.read()).active_agent_profile_id === id)
        await settings.change({ active_agent_profile_id: null })
      return { name, message: 'The agent profile was deleted.' }
    },
  }),
  operation(`post ${BASE}/{name}/rename`, {
    name: 'rename_agent_profile',
    params,
    body: renameBody,
    returns: RESULT,
    otherwise: { ...UNKNOWN, 409: 'The new name is in use' },
    async handle({ path: { name }, body: { new_name } }) {
      await agentProfiles.rename(name, new_name)
      return { name: new_name, message: 'The agent profile was renamed.' }
    },
  }),
  operation(`post ${BASE}/{profile_id}/activate`, {
    name: 'activate_agent_profile',
    returns: objectOf({ id: 'string', message: 'string', agent_settings_applied: 'boolean' }),
    description: 'The profile is active, and so is the model profile that it names, if any',
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path }) {
      const profile = await agentProfiles.byId(path.profile_id)
      const { llm_profile_ref: ref } = summaryOf(profile)
      const applied = typeof ref === 'string' && (await profiles.all()).has(ref)
      await settings.change({ active_agent_profile_id: profile.id, ...(applied && { active_profile: ref }) })
      return { id: profile.id, message: 'The agent profile was activated.', agent_settings_applied: applied }
    },
  }),
  operation(`post ${BASE}/{name}/materialize`, {
    name: 'materialize_agent_profile',
    params,
    body: draftBody,
    returns: 'object',
    description: 'The model and the servers that the profile refers to',
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path: { name }, body }) {
      const draft = body?.profile as JsonObject | undefined
      const profile =
        draft === undefined
          ? profileOf(name, await agentProfiles.get(name))
          : { ...draft, id: '', name, revision: 0 }
      const { llm_profile_ref: ref } = summaryOf(profile)
      const llm = typeof ref === 'string' ? ((await profiles.all()).get(ref) ?? null) : null
      const { mcp_config: servers } = (await settings.read()).agent_settings
      return diagnosed(profile, llm, isObject(servers) ? servers : {})
    },
  }),
]
