/** The settings of a service, kept sealed and changed by differences. */

import type { JsonObject } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { type Records, recordsOf } from '../records.ts'
import { checkDestination, type Kept, type SecretBox } from './secret-box.ts'
import { merge } from './settings-schema.ts'
import type { Profiles } from './profiles.ts'

/** All settings, with their secrets. */
export interface SettingsValues {
  /** The model under `llm`. */
  readonly agent_settings: JsonObject
  readonly conversation_settings: JsonObject
  readonly misc_settings: JsonObject
  /** The profile that the model was taken from. */
  readonly active_profile: string | null
  /** The agent profile that is in use. */
  readonly active_agent_profile_id: string | null
}

/** What is changed; what is left out stays. */
export interface SettingsDiff {
  readonly agent_settings_diff?: JsonObject | null | undefined
  readonly conversation_settings_diff?: JsonObject | null | undefined
  readonly misc_settings_diff?: JsonObject | null | undefined
  /** Null: none any more; the model stays. */
  readonly active_profile?: string | null | undefined
  readonly active_agent_profile_id?: string | null | undefined
}

const NONE: SettingsValues = {
  agent_settings: {},
  conversation_settings: {},
  misc_settings: {},
  active_profile: null,
  active_agent_profile_id: null,
}

/** What they are kept as; there is one record. */
const PLACE = 'settings'

/** The settings. */
export class Settings {
  readonly #records: Records<Kept>
  readonly #secretBox: SecretBox
  readonly #profiles: Profiles

  constructor(store: Store, secretBox: SecretBox, profiles: Profiles) {
    this.#records = recordsOf<Kept>(store, PLACE)
    this.#secretBox = secretBox
    this.#profiles = profiles
  }

  /**
   * With secrets: for the service and its embedder. @throws HttpProblem 409 for what was sealed with another secret.
   */
  async read(): Promise<SettingsValues> {
    const values = await this.#read()
    const { active_profile: active } = values
    // It may have gone just as it was made the active one.
    return active === null || (await this.#profiles.has(active))
      ? values
      : { ...values, active_profile: null }
  }

  async #read(): Promise<SettingsValues> {
    return this.#open((await this.#records.find(PLACE))?.record ?? null)
  }

  /**
   * @param check looks at the settings that are changed
   * @throws HttpProblem 404 for a profile that is not known, 422 for a stored secret that would go to another address;
   * what the check throws.
   */
  async change(
    diff: SettingsDiff,
    check: (before: SettingsValues) => void = () => undefined,
  ): Promise<SettingsValues> {
    const named = diff.active_profile ?? null
    const profile = named === null ? null : await this.#profiles.get(named)
    return this.#update((before) => {
      check(before)
      const merged = changed(before, diff, 'agent_settings')
      // A model that is given comes before that of the profile.
      const given = (diff.agent_settings_diff?.['llm'] ?? null) !== null
      return {
        agent_settings: profile === null || given ? merged : { ...merged, llm: profile.llm },
        conversation_settings: changed(before, diff, 'conversation_settings'),
        misc_settings: changed(before, diff, 'misc_settings'),
        active_profile: diff.active_profile === undefined ? before.active_profile : diff.active_profile,
        active_agent_profile_id:
          (diff.active_agent_profile_id === undefined
            ? before.active_agent_profile_id
            : diff.active_agent_profile_id) ?? null,
      }
    })
  }

  /** A profile has another name, or null for none any more. */
  async follow(name: string, newName: string | null): Promise<void> {
    if ((await this.#read()).active_profile !== name) return
    await this.#update((before) => ({
      ...before,
      active_profile: before.active_profile === name ? newName : before.active_profile,
    }))
  }

  async #update(decide: (before: SettingsValues) => SettingsValues): Promise<SettingsValues> {
    let values = NONE
    await this.#records.update(PLACE, async (before) => {
      values = decide(await this.#open(before))
      return this.#secretBox.seal(PLACE, values as object as JsonObject)
    })
    return values
  }

  async #open(kept: Kept | null): Promise<SettingsValues> {
    return kept === null ? NONE : ((await this.#secretBox.open(PLACE, kept)) as object as SettingsValues)
  }
}

function changed(
  before: SettingsValues,
  diff: SettingsDiff,
  name: 'agent_settings' | 'conversation_settings' | 'misc_settings',
): JsonObject {
  const given = diff[`${name}_diff`] ?? {}
  const after = merge(before[name], given)
  checkDestination(before[name], after, given, [`${name}_diff`], true)
  return after
}
