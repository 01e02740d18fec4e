/** Model profiles by name, sealed in the store. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { serialQueue } from '../../conversation/async.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Records, recordsOf } from '../records.ts'
import { checkDestination, type Sealed, type SecretBox } from './secret-box.ts'
import { merge } from './settings-schema.ts'
import { hasSecret, shownText } from '../conversations/secrets.ts'

interface StoredProfile {
  readonly llm: Sealed
}

/** All profiles in one record, as their number is limited. */
interface StoredProfiles {
  readonly profiles: readonly (readonly [name: string, profile: StoredProfile])[]
}

const COLLECTION = 'profiles'

/** A profile with its secrets: for the service and its embedder, never for a response. */
export interface Profile {
  readonly name: string
  readonly llm: JsonObject
}

const sealPurpose = (name: string): string => `profile ${name}`

/** The profiles of a service. */
export class Profiles {
  readonly #records: Records<StoredProfiles>
  readonly #secretBox: SecretBox
  readonly #maxProfiles: number
  /** Changes within a process never conflict. */
  readonly #inTurn = serialQueue()

  constructor(store: Store, secretBox: SecretBox, maxProfiles: number) {
    this.#records = recordsOf<StoredProfiles>(store, COLLECTION)
    this.#secretBox = secretBox
    this.#maxProfiles = maxProfiles
  }

  /**
   * In order of their names.
   * @throws HttpProblem 409 for profiles that were encrypted with another secret.
   */
  async all(): Promise<Profile[]> {
    const stored = [...(await this.#all())].toSorted(([a], [b]) => Number(a > b) - Number(a < b))
    return Promise.all(
      stored.map(async ([name, { llm }]) => ({
        name,
        llm: await this.#secretBox.open(sealPurpose(name), llm),
      })),
    )
  }

  async find(name: string): Promise<Profile | null> {
    const stored = (await this.#all()).get(name)
    return stored === undefined
      ? null
      : { name, llm: await this.#secretBox.open(sealPurpose(name), stored.llm) }
  }

  /** @throws HttpProblem 404. */
  async get(name: string): Promise<Profile> {
    const profile = await this.find(name)
    if (profile !== null) return profile
    throw unknownProfile()
  }

  /** Whether a profile exists, even if it cannot be decrypted. */
  async has(name: string): Promise<boolean> {
    return (await this.#all()).has(name)
  }

  /**
   * Stores or replaces a profile. Masked secrets keep their value for the same address.
   * @throws HttpProblem 409 beyond the limit, 422 for a secret that would be sent to another address.
   */
  async save(name: string, llm: JsonObject): Promise<void> {
    await this.#change(async (profiles) => {
      const stored = profiles.get(name)
      if (stored === undefined) this.#checkLimit(profiles.size)
      const before = stored === undefined ? {} : await this.#secretBox.open(sealPurpose(name), stored.llm)
      const known = Object.fromEntries(Object.entries(before).filter(([field]) => Object.hasOwn(llm, field)))
      const merged = merge(known, llm)
      checkDestination(before, merged, llm, ['llm'])
      profiles.set(name, { llm: await this.#secretBox.seal(sealPurpose(name), merged) })
    })
  }

  async remove(name: string): Promise<void> {
    await this.#change((profiles) => void profiles.delete(name))
  }

  /** @throws HttpProblem 404, 409 when the new name is in use. */
  async rename(name: string, newName: string): Promise<void> {
    await this.#change(async (profiles) => {
      const stored = profiles.get(name)
      if (stored === undefined) throw unknownProfile()
      const llm = await this.#secretBox.open(sealPurpose(name), stored.llm)
      if (newName === name) return
      if (profiles.has(newName))
        throw new HttpProblem(409, `Profile ${JSON.stringify(newName)} already exists. Use another name.`)
      profiles.set(newName, { llm: await this.#secretBox.seal(sealPurpose(newName), llm) })
      profiles.delete(name)
    })
  }

  async #all(): Promise<ReadonlyMap<string, StoredProfile>> {
    return mapOf((await this.#records.find(COLLECTION))?.record ?? null)
  }

  async #change(change: (profiles: Map<string, StoredProfile>) => void | Promise<void>): Promise<void> {
    await this.#inTurn(() =>
      this.#records.update(COLLECTION, async (before) => {
        const profiles = mapOf(before)
        await change(profiles)
        return { profiles: [...profiles] }
      }),
    )
  }

  #checkLimit(size: number): void {
    if (size < this.#maxProfiles) return
    throw new HttpProblem(409, `There are ${this.#maxProfiles} profiles, the maximum. Delete one first.`)
  }
}

const mapOf = (record: StoredProfiles | null): Map<string, StoredProfile> => new Map(record?.profiles)

/** The error does not repeat the name: a client may have sent a key in its place. */
const unknownProfile = (): HttpProblem => new HttpProblem(404, 'Profile not found.')

/** Fields that are never sent; not all of their names match a secret's. */
const SECRETS = ['api_key', 'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'] as const

export const isKeySet = (llm: JsonObject): boolean =>
  SECRETS.some((field) => typeof llm[field] === 'string' && llm[field] !== '')

/** A configuration with null for its keys. Secrets in its URLs are removed. */
export function withoutKeys(llm: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(llm).map(([name, value]): [string, JsonValue] => {
      const shown = typeof value === 'string' ? shownText(value) : (value ?? null)
      const isKey = (SECRETS as readonly string[]).includes(name) || hasSecret({ [name]: shown })
      return [name, isKey ? null : shown]
    }),
  )
}
