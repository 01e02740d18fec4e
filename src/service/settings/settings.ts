import type { JsonObject } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { checkDestination, SealedMap, type SecretBox } from './secret-box.ts'
import { merge } from './settings-schema.ts'
import type { Profiles } from './profiles.ts'

/** All settings, with their secrets. */
export interface SettingsValues {
  readonly agent_settings: JsonObject
  readonly conversation_settings: JsonObject
  readonly misc_settings: JsonObject
  readonly active_profile: string | null
  readonly active_agent_profile_id: string | null
}

/** A change of the settings. Omitted fields are unchanged. */
export interface SettingsDiff {
  readonly agent_settings_diff?: JsonObject | null | undefined
  readonly conversation_settings_diff?: JsonObject | null | undefined
  readonly misc_settings_diff?: JsonObject | null | undefined
  /** Name of the active profile. Null activates no profile, and leaves the model unchanged. */
  readonly active_profile?: string | null | undefined
  readonly active_agent_profile_id?: string | null | undefined
}

const NO_SETTINGS: SettingsValues = {
  agent_settings: {},
  conversation_settings: {},
  misc_settings: {},
  active_profile: null,
  active_agent_profile_id: null,
}

const NAME = 'settings'

/** The settings of a service. */
export class Settings {
  readonly #stored: SealedMap
  readonly #profiles: Profiles

  constructor(store: Store, secretBox: SecretBox, profiles: Profiles) {
    this.#stored = new SealedMap(store, secretBox, { collection: NAME, noun: 'setting', limit: 1 })
    this.#profiles = profiles
  }

  /**
   * Returns the settings with their secrets. @throws HttpProblem 409 if the settings were encrypted with
   * another key.
   */
  async read(): Promise<SettingsValues> {
    const values = settingsIn(await this.#stored.all())
    const { active_profile: active } = values
    // Concurrent requests may have activated and deleted the profile.
    return active === null || (await this.#profiles.all()).has(active)
      ? values
      : { ...values, active_profile: null }
  }

  /**
   * Changes the settings, and returns them with their secrets.
   * @param check called with the settings before the change
   * @throws HttpProblem 400 if a masked secret of a list matches no stored secret, 404 for an unknown profile,
   *   409 if secrets cannot be stored or were encrypted with another key, 422 if a stored secret would be
   *   sent to another address; the error that `check` throws.
   */
  async change(
    diff: SettingsDiff,
    check: (before: SettingsValues) => void = () => undefined,
  ): Promise<SettingsValues> {
    const named = diff.active_profile ?? null
    const profile = named === null ? null : await this.#profiles.get(named)
    return this.#update((before) => {
      check(before)
      const { active_profile = before.active_profile } = diff
      const { active_agent_profile_id: agentId = before.active_agent_profile_id } = diff
      const merged = applyDiff(before, diff, 'agent_settings')
      // A model in the request takes precedence over the profile's.
      const hasModel = (diff.agent_settings_diff?.['llm'] ?? null) !== null
      return {
        agent_settings: profile === null || hasModel ? merged : { ...merged, llm: profile },
        conversation_settings: applyDiff(before, diff, 'conversation_settings'),
        misc_settings: applyDiff(before, diff, 'misc_settings'),
        active_profile,
        active_agent_profile_id: agentId ?? null,
      }
    })
  }

  /** Updates the name of the active profile after a profile was renamed or deleted (`newName` is null). */
  async onProfileRenamed(name: string, newName: string | null): Promise<void> {
    if (settingsIn(await this.#stored.all()).active_profile !== name) return
    await this.#update((before) => ({
      ...before,
      active_profile: before.active_profile === name ? newName : before.active_profile,
    }))
  }

  async #update(decide: (before: SettingsValues) => SettingsValues): Promise<SettingsValues> {
    let values = NO_SETTINGS
    await this.#stored.change((all) => {
      values = decide(settingsIn(all))
      all.set(NAME, values as object as JsonObject)
    })
    return values
  }
}

const settingsIn = (stored: ReadonlyMap<string, JsonObject>): SettingsValues =>
  (stored.get(NAME) as SettingsValues | undefined) ?? NO_SETTINGS

function applyDiff(
  before: SettingsValues,
  diff: SettingsDiff,
  name: 'agent_settings' | 'conversation_settings' | 'misc_settings',
): JsonObject {
  const diffOfField = diff[`${name}_diff`] ?? {}
  const after = merge(before[name], diffOfField)
  checkDestination(before[name], after, diffOfField, [`${name}_diff`], true)
  return after
}
