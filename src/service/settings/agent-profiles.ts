/** Agent profiles by name: which model an agent asks, with which MCP servers, and what else its clients keep of it. */

import { isObject, textAt } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { checkDestination } from './destination.ts'
import { merge } from './merge.ts'
import { SealedMap } from './sealed-map.ts'
import { hasSecret } from '../conversations/secrets.ts'
import type { SecretBox } from './secret-box.ts'

/** A profile; what clients keep in it beside these stays as they gave it. */
export interface AgentProfile {
  readonly [field: string]: JsonValue
  readonly id: string
  readonly name: string
  /** Goes up with every change. */
  readonly revision: number
}

/** Characters that one may hold, written as JSON. */
const MOST = 2 ** 18

/** The agent profiles of a service. */
export class AgentProfiles {
  readonly #kept: SealedMap
  readonly #most: number

  /** @param most how many there may be */
  constructor(store: Store, secretBox: SecretBox, most: number) {
    this.#kept = new SealedMap(store, secretBox, 'agent-profiles')
    this.#most = most
  }

  /** By name. */
  async list(): Promise<AgentProfile[]> {
    const all = [...(await this.#kept.all())].toSorted(([a], [b]) => Number(a > b) - Number(a < b))
    return all.map(([name, profile]) => profileOf(name, profile))
  }

  /** @throws HttpProblem 404. */
  async get(name: string): Promise<AgentProfile> {
    const profile = (await this.#kept.all()).get(name)
    if (profile === undefined) throw unknownProfile()
    return profileOf(name, profile)
  }

  /** @throws HttpProblem 404. */
  async byId(id: string): Promise<AgentProfile> {
    const profile = (await this.list()).find((one) => one.id === id)
    if (profile === undefined) throw unknownProfile()
    return profile
  }

  /**
   * Keeps one, in place of one with its name, which keeps its id; a secret that is given masked stays what it was, and
   * goes where it went.
   * @throws HttpProblem 409 beyond the limit, 413 for what is too large, 422 for a secret that would go elsewhere.
   */
  async save(name: string, given: JsonObject): Promise<void> {
    if (JSON.stringify(given).length > MOST)
      throw new HttpProblem(413, `An agent profile may take ${MOST} characters.`)
    await this.#kept.change((all) => {
      const before = all.get(name)
      if (before === undefined && all.size >= this.#most)
        throw new HttpProblem(409, `There are ${this.#most} agent profiles already; delete one first.`)
      const known = Object.fromEntries(
        Object.entries(before ?? {}).filter(([field]) => Object.hasOwn(given, field)),
      )
      const revision = typeof before?.['revision'] === 'number' ? before['revision'] + 1 : 0
      const merged = merge(known, given)
      checkDestination(before ?? {}, merged, given, [])
      all.set(name, { ...merged, id: before?.['id'] ?? crypto.randomUUID(), revision })
    })
  }

  /** Nothing for one that is not there. */
  async remove(name: string): Promise<void> {
    await this.#kept.change((all) => void all.delete(name))
  }

  /** @throws HttpProblem 404, 409 when the new name is taken. */
  async rename(name: string, newName: string): Promise<void> {
    await this.#kept.change((all) => {
      const profile = all.get(name)
      if (profile === undefined) throw unknownProfile()
      if (newName === name) return
      if (all.has(newName)) throw new HttpProblem(409, 'An agent profile of this name is there.')
      all.delete(name)
      all.set(newName, profile)
    })
  }
}

const profileOf = (name: string, kept: JsonObject): AgentProfile => ({
  ...kept,
  id: String(kept['id']),
  name,
  revision: Number(kept['revision']),
})

const unknownProfile = (): HttpProblem =>
  new HttpProblem(404, 'There is no agent profile of this name or id.')

/** What a list says of one. */
export const summaryOf = (profile: AgentProfile): JsonObject => ({
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

/** What a profile would come to: the model that it names, null where there is none, and the MCP servers there are. */
export function diagnosed(profile: AgentProfile, llm: JsonObject | null, servers: JsonObject): JsonObject {
  const { name: _name, ...summary } = summaryOf(profile)
  const ref = textAt(profile, 'llm_profile_ref')
  const wanted = refsAt(profile)
  const there = (wanted ?? Object.keys(servers)).filter((server) => isObject(servers[server]))
  const dangling = (wanted ?? []).filter((server) => !isObject(servers[server]))
  const errors = [
    ...(ref !== null && llm === null ? [`There is no profile ${JSON.stringify(ref)}.`] : []),
    ...dangling.map((server) => `There is no MCP server ${JSON.stringify(server)}.`),
  ]
  return {
    ...summary,
    valid: errors.length === 0,
    errors,
    llm_profile_resolved: ref !== null && llm !== null,
    llm_api_key_set: llm !== null && hasSecret(llm),
    resolved_mcp_servers: there,
    resolved_mcp_config_keys: there,
    dangling_mcp_server_refs: dangling,
    acp_api_key_secret_name: null,
    acp_base_url_secret_name: null,
    acp_file_secret_names: [],
    resolved_settings: null,
  }
}
