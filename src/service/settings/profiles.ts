/** Model profiles by name, sealed in the store. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { serialQueue } from '../../conversation/async.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Records, recordsOf } from '../records.ts'
import { checkDestination, type Kept, type SecretBox } from './secret-box.ts'
import { merge } from './settings-schema.ts'
import { hasSecret, shownText } from '../conversations/secrets.ts'

interface KeptProfile {
  readonly llm: Kept
}

/** All of them, by name: they are few, and their number is bounded. */
interface KeptProfiles {
  readonly profiles: readonly (readonly [name: string, profile: KeptProfile])[]
}

/** What they are kept as; there is one record. */
const PLACE = 'profiles'

/** A profile with its secrets: for the service and its embedder, never for a response. */
export interface Profile {
  readonly name: string
  readonly llm: JsonObject
}

const placeOf = (name: string): string => `profile ${name}`

/** The profiles of a service. */
export class Profiles {
  readonly #records: Records<KeptProfiles>
  readonly #secretBox: SecretBox
  readonly #most: number
  /** Within a process no change has to be tried twice. */
  readonly #inTurn = serialQueue()

  /** @param most how many there may be */
  constructor(store: Store, secretBox: SecretBox, most: number) {
    this.#records = recordsOf<KeptProfiles>(store, PLACE)
    this.#secretBox = secretBox
    this.#most = most
  }

  /** By name. @throws HttpProblem 409 for what was sealed with another secret. */
  async all(): Promise<Profile[]> {
    const kept = [...(await this.#all())].toSorted(([a], [b]) => Number(a > b) - Number(a < b))
    return Promise.all(
      kept.map(async ([name, { llm }]) => ({ name, llm: await this.#secretBox.open(placeOf(name), llm) })),
    )
  }

  /** Null for one that is not there. */
  async find(name: string): Promise<Profile | null> {
    const kept = (await this.#all()).get(name)
    return kept === undefined ? null : { name, llm: await this.#secretBox.open(placeOf(name), kept.llm) }
  }

  /** @throws HttpProblem 404. */
  async get(name: string): Promise<Profile> {
    const profile = await this.find(name)
    if (profile !== null) return profile
    throw unknownProfile()
  }

  /** Whether there is one, however it was sealed. */
  async has(name: string): Promise<boolean> {
    return (await this.#all()).has(name)
  }

  /**
   * Keeps one, in place of one with its name; a masked secret stays what it was, and goes where it went. @throws
   * HttpProblem 409 beyond the limit, 422 for a secret that would go elsewhere.
   */
  async save(name: string, llm: JsonObject): Promise<void> {
    await this.#change(async (profiles) => {
      const kept = profiles.get(name)
      if (kept === undefined) this.#checkRoom(profiles.size)
      const before = kept === undefined ? {} : await this.#secretBox.open(placeOf(name), kept.llm)
      const known = Object.fromEntries(Object.entries(before).filter(([field]) => Object.hasOwn(llm, field)))
      const merged = merge(known, llm)
      checkDestination(before, merged, llm, ['llm'])
      profiles.set(name, { llm: await this.#secretBox.seal(placeOf(name), merged) })
    })
  }

  /** Nothing for one that is not there. */
  async remove(name: string): Promise<void> {
    await this.#change((profiles) => void profiles.delete(name))
  }

  /** @throws HttpProblem 404, 409 when the new name is taken. */
  async rename(name: string, newName: string): Promise<void> {
    await this.#change(async (profiles) => {
      const kept = profiles.get(name)
      if (kept === undefined) throw unknownProfile()
      const llm = await this.#secretBox.open(placeOf(name), kept.llm)
      if (newName === name) return
      if (profiles.has(newName))
        throw new HttpProblem(409, `Profile ${JSON.stringify(newName)} exists already.`)
      profiles.set(newName, { llm: await this.#secretBox.seal(placeOf(newName), llm) })
      profiles.delete(name)
    })
  }

  async #all(): Promise<ReadonlyMap<string, KeptProfile>> {
    return mapOf((await this.#records.find(PLACE))?.record ?? null)
  }

  /** A change of them all is made when no other came in between; else it is asked for again. */
  async #change(change: (profiles: Map<string, KeptProfile>) => void | Promise<void>): Promise<void> {
    await this.#inTurn(() =>
      this.#records.update(PLACE, async (before) => {
        const profiles = mapOf(before)
        await change(profiles)
        return { profiles: [...profiles] }
      }),
    )
  }

  #checkRoom(size: number): void {
    if (size < this.#most) return
    throw new HttpProblem(409, `There are ${this.#most} profiles, the maximum. Delete one first.`)
  }
}

const mapOf = (kept: KeptProfiles | null): Map<string, KeptProfile> => new Map(kept?.profiles)

/** The name is not said again: a key may have been put into its place. */
const unknownProfile = (): HttpProblem => new HttpProblem(404, 'Profile not found.')

/** Fields whose values are never sent, though their names do not all say so. */
const SECRETS = ['api_key', 'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'] as const

/** Whether there is a key in a configuration. */
export const isKeySet = (llm: JsonObject): boolean =>
  SECRETS.some((field) => typeof llm[field] === 'string' && llm[field] !== '')

/** A configuration without its keys, and with null in their place; of a URL that holds one, the rest is left. */
export function withoutKeys(llm: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(llm).map(([name, value]): [string, JsonValue] => {
      const shown = typeof value === 'string' ? shownText(value) : (value ?? null)
      const isKey = (SECRETS as readonly string[]).includes(name) || hasSecret({ [name]: shown })
      return [name, isKey ? null : shown]
    }),
  )
}
